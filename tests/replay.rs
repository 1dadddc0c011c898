//! `wirecert replay`, from outside: traces of our own mocks, replayed against mocks, and against software that others
//! wrote. `tests/interop/setup` installs the latter.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::wirecert_program;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn wirecert() -> Command {
    let mut command = Command::new(wirecert_program());
    command.current_dir(ROOT).stdin(Stdio::null());
    command
}

/// What a command came to.
struct Done {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Done {
    fn of(command: &mut Command) -> Self {
        let output = command.output().expect("it can be run");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    fn whole(&self) -> String {
        format!("exit {:?}\n{}{}", self.code, self.stdout, self.stderr)
    }

    fn is(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.whole());
        self
    }

    fn says(self, text: &str) -> Self {
        assert!(self.whole().contains(text), "no `{text}` in\n{}", self.whole());
        self
    }
}

fn replay(trace: &Path, side: &str, args: &[&str]) -> Done {
    Done::of(wirecert().arg("replay").arg(trace).args(["--as", side]).args(args))
}

/// The trace of one scenario, played against our own mock of a role.
fn certified(folder: &TempDir, role: &str, scenario: &str) -> PathBuf {
    let edition = scenario.split('/').nth(1).expect("an edition");
    let filter = format!("id({scenario})");
    let mut command = wirecert();
    command.args(["certify", "--self", role, "--edition", edition, "--filter", &filter]);
    Done::of(command.arg("--trace-dir").arg(folder.path())).is(0);
    let path = folder.path().join(format!("{scenario}.trace"));
    assert!(path.exists(), "{} is there", path.display());
    path
}

/// A mock of a server, recorded and killed with this.
struct Server {
    child: Child,
    ready: Value,
    folder: TempDir,
}

impl Server {
    fn start(role: &str, args: &[&str]) -> Self {
        let folder = TempDir::new().expect("a folder");
        std::fs::create_dir(folder.path().join("w")).expect("a workspace");
        std::fs::write(folder.path().join("w/a.txt"), "hello\n").expect("a file");
        let mut command = wirecert();
        command.args(["mock", role, "--workspace"]).arg(folder.path().join("w"));
        command.arg("--data-home").arg(folder.path().join("d")).arg("--trace").arg(folder.path().join("t.trace"));
        let mut child = command.args(args).stdout(Stdio::piped()).spawn().expect("it can be started");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("it is piped")).read_line(&mut line).expect("a line");
        let ready = serde_json::from_str(&line).expect("JSON");
        Self { child, ready, folder }
    }

    fn data_home(&self) -> String {
        self.folder.path().join("d").display().to_string()
    }

    fn workspace(&self) -> String {
        self.folder.path().join("w").display().to_string()
    }

    fn url(&self) -> String {
        self.ready["url"].as_str().expect("a URL").to_owned()
    }

    /// Ends it; gives its trace.
    fn end(mut self) -> (PathBuf, TempDir) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(&pid).status().expect("there is `kill`").success());
        self.child.wait().expect("it ends");
        let folder = std::mem::replace(&mut self.folder, TempDir::new().expect("a folder"));
        (folder.path().join("t.trace"), folder)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The trace of an editor of an edition that was asked to read two files, one of which is not there.
fn read_from_an_editor(edition: &str) -> (PathBuf, TempDir) {
    let server = Server::start("amp-server", &["--edition", edition]);
    let (home, workspace) = (server.data_home(), server.workspace());
    for file in ["a.txt", "none.txt"] {
        let path = format!("path={workspace}/{file}");
        let mut command = wirecert();
        command.args(["call", "amp-server", "readFile", &path, "--edition", edition, "--data-home", &home]);
        Done::of(&mut command);
    }
    server.end()
}

#[test]
fn what_a_client_asked_one_editor_is_asked_another_one_in_its_own_folder_with_its_own_secret() {
    for edition in ["cli", "guide"] {
        let (trace, folder) = read_from_an_editor(edition);
        let other = Server::start("amp-server", &["--edition", edition]);
        let map = format!("{}/w={}", folder.path().display(), other.workspace());
        std::fs::remove_file(folder.path().join("w/a.txt")).expect("it was there");
        let args = ["--data-home", &other.data_home(), "--map", &map];
        replay(&trace, "client", &args).is(0).says("same: all").says("as recorded");
    }
}

/// The trace with the client's messages compressed, as far as a trace shows that; without what they say, if so.
fn compressed(trace: &Path, unread: bool) {
    let text = std::fs::read_to_string(trace).expect("a trace");
    let compress = |line: &str| {
        let mut event: Value = serde_json::from_str(line).expect("JSON");
        let kind = event["kind"].as_str().unwrap_or_default().to_owned();
        let ours = event["dir"] == "c2s";
        let map = event.as_object_mut().expect("an object");
        match kind.as_str() {
            "handshake" => {
                map.remove("raw");
                let headers = map["headers"].as_array_mut().expect("a list");
                headers.push(json!(["Sec-WebSocket-Extensions", "permessage-deflate"]));
            }
            "frame" if ours && map["opcode"] == 1 => {
                map.extend([("rsv".into(), json!(4)), ("length".into(), json!(3))]);
                map.insert("payload".into(), json!({ "base64": "qv+A" }));
            }
            "message" if ours && unread => _ = map.remove("json"),
            _ => {}
        }
        event.to_string() + "\n"
    };
    std::fs::write(trace, text.lines().map(compress).collect::<String>()).expect("it can be written");
}

#[test]
fn compressed_messages_are_sent_uncompressed_and_that_is_told() {
    for unread in [false, true] {
        let (trace, folder) = read_from_an_editor("cli");
        compressed(&trace, unread);
        let other = Server::start("amp-server", &[]);
        let map = format!("{}/w={}", folder.path().display(), other.workspace());
        std::fs::remove_file(folder.path().join("w/a.txt")).expect("it was there");
        let done = replay(&trace, "client", &["--data-home", &other.data_home(), "--map", &map, "--timeout", "1s"]);
        match unread {
            false => _ = done.is(0).says("same: all").says("note: messages that were compressed (permessage-deflate)"),
            true => {
                let done = done.is(1).says("note: the compressed message of event ");
                done.says("record it from the beginning of the connection, or with compression turned off");
            }
        }
    }
}

#[test]
fn an_editor_that_answers_otherwise_departs_at_the_place_that_is_named() {
    let (trace, folder) = read_from_an_editor("cli");
    let other = Server::start("amp-server", &[]);
    std::fs::write(other.folder.path().join("w/a.txt"), "something else\n").expect("a file");
    let (report, out) = (folder.path().join("r.json"), folder.path().join("again.trace"));
    let json_report = format!("json={}", report.display());
    let home = other.data_home();
    let map = format!("{}/w={}", folder.path().display(), other.workspace());
    let args = ["--data-home", &home, "--map", &map, "--report", &json_report, "--out", &out.display().to_string()];
    replay(&trace, "client", &args)
        .is(1)
        .says("different: answer")
        .says("-        \"content\": \"hello\\n\"")
        .says("+        \"content\": \"something else\\n\"")
        .says("first departure: different");
    let read: Value = serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON");
    assert_eq!(read["same"], json!(false), "{read:#}");
    let departure = &read["departures"][0];
    assert_eq!((&departure["kind"], &departure["what"]), (&json!("different"), &json!("answer \"1\"")), "{read:#}");
    let line = departure["position"]["line"].as_u64().expect("a line");
    let text = std::fs::read_to_string(&trace).expect("the trace");
    let there = text.lines().nth(usize::try_from(line).expect("small") - 1).expect("the line is there");
    assert!(there.contains("\"s2c\"") && there.contains("hello"), "{there}");
    // The replay is a trace like any other, in which the subject is the live side.
    Done::of(wirecert().arg("check").arg(&out)).is(0);
    replay(&out, "client", &["--data-home", &home]).is(0);
}

#[test]
fn a_flawed_editor_departs_from_a_sound_one() {
    let folder = TempDir::new().expect("a folder");
    let trace = certified(&folder, "amp-server", "amp-server/cli/ping/echo");
    let bin = wirecert_program();
    let editor = [bin, "mock", "amp-server", "--edition", "cli", "--workspace", "{workspace}"];
    let sound = [&["--"][..], &editor].concat();
    replay(&trace, "client", &sound).is(0);
    let flawed = [&sound[..], &["--flaw", "ping-says-pong"]].concat();
    replay(&trace, "client", &flawed).is(1).says("different: answer");
    for timing in ["recorded", "1000x", "10x"] {
        replay(&trace, "client", &[&["--timing", timing][..], &sound].concat()).is(0);
    }
}

#[test]
fn what_was_sent_wrongly_is_sent_wrongly_again() {
    let folder = TempDir::new().expect("a folder");
    let bin = wirecert_program();
    let editor = ["--", bin, "mock", "amp-server", "--edition", "cli", "--workspace", "{workspace}"];
    for name in ["fragments", "control-between", "refused-frames", "close-without-code"] {
        let scenario = format!("amp-server/cli/framing/{name}");
        let trace = certified(&folder, "amp-server", &scenario);
        let out = folder.path().join("again.trace").display().to_string();
        replay(&trace, "client", &[&["--out", &out][..], &editor].concat()).is(0);
        // Whether the close of a server that refuses a frame is still answered depends on who is faster.
        let reported = |trace: &Path| {
            let refused = |frame: &Value| name == "refused-frames" && frame[2] == 8;
            frames(trace).into_iter().filter(|frame| !refused(frame)).collect::<Vec<Value>>()
        };
        assert_eq!(reported(&trace), reported(Path::new(&out)), "{scenario}");
    }
}

/// What a client's frames of a trace are like.
fn frames(trace: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(trace).expect("a trace");
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let frames = events.filter(|event| event["kind"] == "frame" && event["dir"] == "c2s");
    frames.map(|f| json!([f["fin"], f["rsv"], f["opcode"], f["masked"], f["length_bits"], f["payload"]])).collect()
}

/// A replay as a server, and where it is.
struct Standing {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    place: Value,
    _home: TempDir,
    home: String,
}

impl Standing {
    fn start(trace: &Path, args: &[&str]) -> Self {
        let home = TempDir::new().expect("a folder");
        let path = home.path().display().to_string();
        let mut command = wirecert();
        command.arg("replay").arg(trace).args(["--as", "server", "--data-home", &path, "--timeout", "1s"]).args(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line");
        let place = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
        Self { child, stderr, place, _home: home, home: path }
    }

    fn done(self) -> Done {
        let output = self.child.wait_with_output().expect("it ends");
        let stderr = std::io::read_to_string(self.stderr).expect("UTF-8");
        let stdout = String::from_utf8(output.stdout).expect("UTF-8");
        Done { code: output.status.code(), stdout, stderr }
    }
}

#[test]
fn a_replayed_editor_answers_from_the_record_with_the_live_id_and_key() {
    let (trace, folder) = read_from_an_editor("cli");
    let map = format!("{}/w={}", folder.path().display(), std::path::absolute(ROOT).expect("a path").display());
    let standing = Standing::start(&trace, &["--map", &map]);
    assert!(standing.place["lockfile"].is_string(), "{}", standing.place);
    let here = std::path::absolute(ROOT).expect("a path").display().to_string();
    let call = |file: &str, id: &str| {
        let path = format!("path={here}/{file}");
        Done::of(wirecert().args(["call", "amp-server", id, &path, "--edition", "cli", "--data-home", &standing.home]))
    };
    call("a.txt", "readFile").is(0).says("hello\\n");
    call("none.txt", "readFile").says("success\": false");
    standing.done().is(0).says("same: all");
}

#[test]
fn what_the_record_has_no_answer_to_is_answered_with_an_error_and_told() {
    let (trace, _folder) = read_from_an_editor("cli");
    let standing = Standing::start(&trace, &[]);
    let home = standing.home.clone();
    let mut command = wirecert();
    Done::of(command.args(["call", "amp-server", "ping", "message=x", "--edition", "cli", "--data-home", &home]))
        .is(1)
        .says("-32601");
    standing.done().is(1).says("extra: message clientRequest ping").says("missing: message clientRequest readFile");
}

#[test]
fn a_provider_is_replayed_on_both_sides() {
    let server = Server::start("openctx-provider", &[]);
    let url = server.url();
    let call = |url: &str, args: &[&str]| {
        Done::of(wirecert().args(["call", "openctx-provider"]).args(args).args(["--url", url]))
    };
    let calls: [&[&str]; 2] = [&["meta"], &["mentions", "query=WIRE"]];
    let recorded = calls.map(|args| call(&url, args).is(0).stdout);
    let (trace, _folder) = server.end();
    let other = Server::start("openctx-provider", &[]);
    replay(&trace, "client", &["--url", &other.url()]).is(0);
    let flawed = Server::start("openctx-provider", &["--flaw", "meta-fails"]);
    replay(&trace, "client", &["--url", &flawed.url()]).is(1).says("different: content");
    let standing = Standing::start(&trace, &[]);
    let url = standing.place["url"].as_str().expect("a URL").to_owned();
    assert_eq!(calls.map(|args| call(&url, args).is(0).stdout), recorded);
    standing.done().is(0);
    let standing = Standing::start(&trace, &[]);
    let url = standing.place["url"].as_str().expect("a URL").to_owned();
    call(&url, &["items", "message=x"]).is(3);
    standing.done().is(1).says("extra: request POST / items").says("missing: request POST / meta");
}

#[test]
fn sessions_streams_and_approvals_of_a_server_are_replayed_with_live_ids() {
    let folder = TempDir::new().expect("a folder");
    let trace = certified(&folder, "amplifier-server", "amplifier-server/2025-12-09/approval/allowed");
    let bin = wirecert_program();
    let server = ["--", bin, "mock", "amplifier-server", "--workspace", "{workspace}", "--port", "{port}"];
    replay(&trace, "client", &server).is(0).says("same: all");
}

#[test]
fn a_driven_client_is_driven_as_it_was_and_told_the_same() {
    let folder = TempDir::new().expect("a folder");
    let bin = wirecert_program();
    for (role, scenario) in CLIENTS {
        let trace = certified(&folder, role, scenario);
        let edition = scenario.split('/').nth(1).expect("an edition");
        let client = ["--", bin, "mock", role, "--edition", edition, "--workspace", "{workspace}"];
        replay(&trace, "server", &client).is(0).says("same: all");
    }
}

/// A role of a client, and a scenario in which it is driven.
const CLIENTS: [(&str, &str); 4] = [
    ("amp-client", "amp-client/cli/read-file/content[plain]"),
    ("amp-client", "amp-client/guide/read-file/empty"),
    ("openctx-client", "openctx-client/0.1/items/message-selectors[words]"),
    ("amplifier-client", "amplifier-client/2025-12-09/create/life"),
];

#[test]
fn clients_that_others_wrote_are_answered_from_the_record() {
    let installed = Path::new(ROOT).join("target/interop");
    assert!(installed.join("installed").exists(), "what we talk to is not installed: run tests/interop/setup");
    let folder = TempDir::new().expect("a folder");
    let python = installed.join("venv/bin/python").display().to_string();
    let shim = Path::new(ROOT).join("examples/clients/python/shim.py").display().to_string();
    let trace = certified(&folder, "amp-client", CLIENTS[0].1);
    replay(&trace, "server", &["--", &python, &shim]).is(0).says("same: all");
    // The reference client of OpenCtx finds its library beside the program.
    let shim = installed.join("openctx-client/replay-shim.mjs");
    std::fs::copy(Path::new(ROOT).join("examples/clients/openctx/shim.mjs"), &shim).expect("it can be copied");
    // It leaves selectors to its caller, so that it asks for items where ours asks for the metadata first.
    let trace = certified(&folder, "openctx-client", "openctx-client/0.1/meta/result");
    let done = replay(&trace, "server", &["--", "node", &shim.display().to_string()]);
    // What its own function gives has another form; what it sends is the same.
    done.is(1).says("different: result of call 1").says("1 as recorded, 1 different, 0 missing, 0 extra");
}

#[test]
fn a_server_that_others_wrote_is_asked_again_what_it_was_asked() {
    let python = Path::new(ROOT).join("target/interop/amplifier-server/bin/python");
    assert!(python.exists(), "what we talk to is not installed: run tests/interop/setup");
    let subject = Path::new(ROOT).join("tests/interop/amplifier-server/wirecert.yaml").display().to_string();
    let folder = TempDir::new().expect("a folder");
    let keys = [("GOOD_KEY", "sk-ant-0123456789-full"), ("LIMITED_KEY", "sk-ant-0123456789-limited")];
    let mut command = wirecert();
    command.args(["certify", "--subject", &subject, "--filter", "id(*/approval/allowed)"]);
    command.envs(keys).env("BAD_KEY", "sk-ant-0123456789-wrong");
    Done::of(command.arg("--trace-dir").arg(folder.path())).is(0);
    let trace = folder.path().join("amplifier-server/2025-12-09/approval/allowed.trace");
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let (_, number) = text.split_once("\"anthropic_api_key\":\"<secret:").expect("a secret");
    let secret = format!("{}=GOOD_KEY", number.split('*').next().expect("a number"));
    let mut command = wirecert();
    command.arg("replay").arg(&trace).args(["--as", "client", "--subject", &subject, "--secret", &secret]);
    command.envs(keys).env("BAD_KEY", "sk-ant-0123456789-wrong");
    // The folder in which it was allowed to write is not there any more, and that is all that differs.
    let done = Done::of(&mut command).is(1).says("extra: event tool:error");
    done.says("18 as recorded, 0 different, 1 missing, 1 extra");
}

#[test]
fn what_cannot_be_replayed_is_told_with_what_to_do_next() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("x.trace");
    replay(&path, "client", &[]).is(2).says("cannot be opened");
    std::fs::write(&path, "nonsense\n").expect("a file");
    replay(&path, "client", &[]).is(2).says("no header of a trace");
    let (trace, _kept) = read_from_an_editor("cli");
    replay(&trace, "client", &["--data-home", &folder.path().display().to_string()]).is(3).says("no live lockfile");
    replay(&trace, "client", &["--url", "ws://127.0.0.1:1?auth=x"]).is(3).says("nothing accepts connections");
    replay(&trace, "client", &["--timing", "quickly"]).is(2).says("0.5x");
    replay(&trace, "client", &["--edition", "clu"]).is(2).says("did you mean `cli`?");
    replay(&trace, "client", &["--secret", "2=NO_SUCH_VARIABLE_HERE"]).is(2).says("is not set");
    replay(&trace, "client", &["--report", "junit=x.xml"]).is(2).says("json and text");
    replay(&trace, "server", &["--url", "ws://127.0.0.1:1"]).is(2).says("it is the server that is re-enacted");
    let home = folder.path().display().to_string();
    replay(&trace, "server", &["--data-home", &home, "--wait", "100ms"]).is(3).says("no client came within 100ms");
}
