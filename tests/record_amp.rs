//! `wirecert record amp`: a client that finds an editor through the recording.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::line_process::LineProcess;
use super::record::{check, kinds, lines, path, started, whole, wirecert};

use crate::program::wirecert_program;

/// An editor, and what a client needs to find it: the folder, its data home, and its workspace.
struct Editor {
    _running: LineProcess,
    dir: TempDir,
    ready: Value,
}

impl Editor {
    fn start(flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("workspace")).unwrap();
        std::fs::write(dir.path().join("workspace/a.txt"), "hello\n").unwrap();
        let mut command = wirecert();
        command.args(["mock", "amp-server", "--workspace"]).arg(dir.path().join("workspace"));
        command.arg("--data-home").arg(dir.path().join("data")).args(flags);
        let mut running = started(&mut command);
        let ready = running.receive();
        Self { _running: running, dir, ready }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `wirecert record amp` of it, with these options and this client.
    fn record(&self, options: &[&str], client: &[&str]) -> Command {
        let mut command = wirecert();
        command.args(["record", "amp", "--out"]).arg(self.at("t.trace")).arg("--data-home").arg(self.at("data"));
        command.args(options).arg("--").args(client).current_dir(self.at("workspace"));
        command
    }

    fn token(&self) -> String {
        let lockfile = std::fs::read_to_string(self.ready["lockfile"].as_str().unwrap()).unwrap();
        serde_json::from_str::<Value>(&lockfile).unwrap()["authToken"].as_str().unwrap().to_owned()
    }
}

/// Our own client, which is driven over stdin, and finds editors as its environment says.
fn client(edition: &str) -> Vec<String> {
    let binary = wirecert_program();
    [binary, "mock", "amp-client", "--edition", edition].map(str::to_owned).to_vec()
}

/// Records our client while it reads a file of an editor.
fn recorded(editor: &Editor, edition: &str, options: &[&str]) -> (Option<i32>, String) {
    let client = client(edition);
    let client: Vec<&str> = client.iter().map(String::as_str).collect();
    let mut recording = started(&mut editor.record(options, &client));
    let params = json!({"path": editor.at("workspace/a.txt")});
    recording.send(&json!({"id": 1, "call": "readFile", "params": params}));
    while recording.receive().get("id").is_none() {}
    recording.send(&json!({"close": true}));
    recording.finish()
}

#[test]
fn a_client_finds_the_editor_through_us_in_both_editions_and_its_token_is_not_told() {
    for edition in ["cli", "guide"] {
        let editor = Editor::start(&["--edition", edition]);
        let (code, stderr) = recorded(&editor, edition, &[]);
        assert_eq!(code, Some(0), "{stderr}");
        let trace = editor.at("t.trace");
        let text = std::fs::read_to_string(&trace).unwrap();
        assert!(!text.contains(&editor.token()));
        let header = &lines(&trace)[0];
        assert_eq!((&header["protocol"], &header["edition"]), (&json!("amp"), &json!(edition)));
        let events = whole(&trace);
        let address = format!("127.0.0.1:{}", editor.ready["port"]);
        assert!(events.iter().any(|e| e["kind"] == "connected" && e["address"] == address), "{text}");
        assert!(events.iter().any(|e| e["kind"] == "handshake" && e["dir"] == "s2c"), "{text}");
        assert!(text.contains("hello\\n"), "the file was read: {text}");
        let pids: Vec<&Value> =
            events.iter().filter(|e| e["kind"] == "launched" || e["kind"] == "exited").map(|e| &e["pid"]).collect();
        assert!(matches!(pids[..], [began, ended] if began == ended), "{pids:?}");
        if edition == "guide" {
            let offered = events.iter().find(|e| e["mark"] == "offered").unwrap()["text"].as_str().unwrap();
            let port: u16 = offered.rsplit(':').next().unwrap().parse().unwrap();
            assert!((8000..=8100).contains(&port), "{offered}");
        }
        let output = check(&trace);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(Path::new(editor.ready["lockfile"].as_str().unwrap()).exists(), "the editor's own is untouched");
    }
}

#[test]
fn live_findings_are_told_as_they_come_and_the_verdict_is_that_of_check() {
    let editor = Editor::start(&["--edition", "cli", "--flaw", "id-as-number"]);
    let client = client("cli");
    let client: Vec<&str> = client.iter().map(String::as_str).collect();
    let mut recording = started(&mut editor.record(&["--check", "--color", "never"], &client));
    recording.send(&json!({"id": 1, "call": "ping", "params": {"message": "hi"}}));
    let mut stderr = BufReader::new(recording.child.stderr.take().unwrap());
    let mut line = String::new();
    // The client still runs.
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("server  must    amp/cli/envelope/id-string"), "{line}");
    recording.send(&json!({"close": true}));
    recording.end_stdin();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(recording.child.wait().unwrap().code(), Some(1), "{rest}");
    let output = check(&editor.at("t.trace"));
    assert_eq!(output.status.code(), Some(1));
    let verdict = String::from_utf8(output.stdout).unwrap();
    assert!(rest.ends_with(&verdict), "{rest}\n--- check says:\n{verdict}");
}

#[test]
fn the_data_home_of_the_client_looks_like_the_real_one_but_for_the_lockfiles() {
    let editor = Editor::start(&["--edition", "cli"]);
    std::fs::write(editor.at("data/amp/settings"), "mine").unwrap();
    std::fs::write(editor.at("data/amp/ide/1.json"), "{torn").unwrap();
    let script = "cat $XDG_DATA_HOME/amp/settings $AMP_DATA_HOME/amp/ide/1.json; ls $XDG_DATA_HOME/amp/ide; \
                  echo {data_home} $XDG_DATA_HOME; echo new > $XDG_DATA_HOME/amp/login; exit 7";
    let output = editor.record(&[], &["sh", "-c", script]).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("exit code 7"), "{stderr}");
    let words: Vec<&str> = stdout.split_whitespace().collect();
    let [files, ours, placeholder, variable] = words[..] else { panic!("{stdout}") };
    assert_eq!(files, "mine{torn1.json", "the two files, and the first name: {stdout}");
    assert_eq!(placeholder, variable);
    assert_ne!(ours, format!("{}.json", editor.ready["port"]));
    assert_eq!(std::fs::read_to_string(editor.at("data/amp/login")).unwrap(), "new\n");
    assert!(!Path::new(variable).exists(), "it is cleaned up");
}

#[test]
fn without_a_command_it_is_told_what_to_set_and_an_editor_that_comes_later_is_offered() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("data");
    let trace = dir.path().join("t.trace");
    let mut recording = started(wirecert().args([
        "record",
        "amp",
        "--edition",
        "cli",
        "--data-home",
        path(&home),
        "--out",
        path(&trace),
    ]));
    let ready = recording.receive();
    assert_eq!(ready["env"]["AMP_DATA_HOME"], ready["env"]["XDG_DATA_HOME"]);
    let ours = PathBuf::from(ready["env"]["AMP_DATA_HOME"].as_str().unwrap()).join("amp/ide");
    assert!(ours.is_dir() && std::fs::read_dir(&ours).unwrap().next().is_none());
    let folder = home.join("amp/ide");
    std::fs::create_dir_all(&folder).unwrap();
    let content = json!({
        "port": 9, "authToken": "a-secret-token", "pid": std::process::id(), "ideName": "ed", "workspaceFolders": ["/w"],
    });
    std::fs::write(folder.join("part"), content.to_string()).unwrap();
    std::fs::rename(folder.join("part"), folder.join("9.json")).unwrap();
    let copy = loop {
        if let Some(Ok(entry)) = std::fs::read_dir(&ours)
            .unwrap()
            .find(|e| e.as_ref().is_ok_and(|e| e.path().extension().is_some_and(|e| e == "json")))
        {
            break entry.path();
        }
        thread::yield_now();
    };
    let mut shown: Value = serde_json::from_slice(&std::fs::read(&copy).unwrap()).unwrap();
    let port = shown["port"].take();
    assert_eq!(copy.file_name().unwrap().to_str().unwrap(), format!("{port}.json"));
    shown["port"] = json!(9);
    assert_eq!(shown, content);
    std::fs::remove_file(folder.join("9.json")).unwrap();
    while copy.exists() {
        thread::yield_now();
    }
    recording.signal(Signal::TERM);
    let (code, stderr) = recording.finish();
    assert_eq!(code, Some(0), "{stderr}");
    let events = whole(&trace);
    assert_eq!(kinds(&events), ["- - file", "- - mark", "- - file"]);
    assert_eq!((&events[0]["change"], &events[2]["change"]), (&json!("read"), &json!("removed")));
    assert!(!std::fs::read_to_string(&trace).unwrap().contains("a-secret-token"));
}
