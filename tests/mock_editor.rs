//! `wirecert mock amp-server`, as other projects' tests use it: the binary, steered, with clients that others wrote.
//! `tests/interop/setup` installs the clients.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::line_process::LineProcess;

use crate::program::wirecert_program;

pub const ROOT: &str = env!("CARGO_MANIFEST_DIR");

pub struct Editor {
    pub process: LineProcess,
    pub ready: Value,
    folder: tempfile::TempDir,
}

impl Editor {
    fn start(args: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder"), args)
    }

    pub fn scripted(script: &str, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("script.yaml"), script).expect("a script");
        Self::start_in(folder, &[&["--script", "script.yaml"], args].concat())
    }

    fn start_in(folder: tempfile::TempDir, args: &[&str]) -> Self {
        std::fs::create_dir(folder.path().join("w")).expect("a workspace");
        std::fs::write(folder.path().join("w/a.txt"), "hello\nwörld\n").expect("a file");
        let mut command = Command::new(wirecert_program());
        command.args(["mock", "amp-server", "--workspace"]).arg(folder.path().join("w"));
        command.arg("--data-home").arg(folder.path().join("d")).args(args);
        command.current_dir(folder.path());
        let mut process = LineProcess::start(&mut command);
        let ready = process.receive();
        Self { process, ready, folder }
    }

    pub fn lockfile(&self) -> PathBuf {
        self.ready["lockfile"].as_str().expect("a path").into()
    }

    pub fn url(&self) -> String {
        url(&self.lockfile())
    }

    fn steer(&self, words: &[&str]) -> (Option<i32>, Value) {
        let mut command = Command::new(wirecert_program());
        command.args(["mock", "amp-server", "--steer"]).arg(self.folder.path().join("c.sock")).args(words);
        let output = command.output().expect("it can be run");
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default())
    }
}

pub fn python(url: &str) -> LineProcess {
    client(
        Command::new(Path::new(ROOT).join("target/interop/venv/bin/python")).arg("tests/interop/client.py"),
        url,
        &[],
    )
}

pub fn node(url: &str) -> LineProcess {
    let mut command = Command::new("node");
    // `ws` fails a connection to a server that takes none of the subprotocols that it offered.
    command.arg("tests/interop/client.mjs").env("INTEROP", Path::new(ROOT).join("target/interop"));
    client(&mut command, url, &["--no-subprotocol"])
}

fn client(command: &mut Command, url: &str, args: &[&str]) -> LineProcess {
    let installed = Path::new(ROOT).join("target/interop/installed");
    assert!(installed.exists(), "what we talk to is not installed: run tests/interop/setup");
    LineProcess::start(command.arg(url).args(args).current_dir(ROOT))
}

/// The next message of the server that has this key inside its wrapper: its value.
pub fn message(client: &mut LineProcess, key: &str) -> Value {
    loop {
        let text = client.receive_key("text");
        let message: Value = serde_json::from_str(text.as_str().expect("a text")).expect("JSON");
        let inside = message.get("serverResponse").or(message.get("serverNotification")).cloned();
        if let Some(value) = inside.and_then(|v| v.get(key).cloned()) {
            return value;
        }
    }
}

pub fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({"send": json!({"clientRequest": {"id": id, method: params}}).to_string()})
}

fn is_served(connect: fn(&str) -> LineProcess) {
    let mut editor = Editor::start(&["--stdin"]);
    let mut client = connect(&editor.url());
    assert_eq!(message(&mut client, "pluginMetadata"), json!({"version": env!("CARGO_PKG_VERSION")}));
    assert_eq!(message(&mut client, "visibleFilesDidChange"), json!({"uris": []}));

    assert_eq!(editor.process.request(&json!({"edit": {"path": "a.txt", "text": "unsaved ä😀\n"}})), json!({"ok": {}}));
    let uri = format!("file://{}/a.txt", editor.ready["workspace"].as_str().unwrap());
    assert_eq!(message(&mut client, "visibleFilesDidChange"), json!({"uris": [uri]}));

    let path = format!("{}/a.txt", editor.ready["workspace"].as_str().unwrap());
    client.send(&request("1", "readFile", &json!({"path": path})));
    let read = json!({"success": true, "content": "unsaved ä😀\n", "isDirty": true});
    assert_eq!(message(&mut client, "readFile"), read);

    client.send(&request("2", "editFile", &json!({"path": path, "fullContent": "saved\n"})));
    assert_eq!(message(&mut client, "editFile"), json!({"success": true, "appliedChanges": true}));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "saved\n");

    client.send(&json!({"send": "nonsense"}));
    assert_eq!(message(&mut client, "error")["code"], -32700);
    client.send(&json!({"ping": "there?"}));
    assert_eq!(client.receive_key("pong"), "there?");

    assert_eq!(editor.process.request(&json!({"quit": {}})), json!({"ok": {}}));
    assert_eq!(client.receive_key("closed")[0], 1001);
    assert_eq!(editor.process.exit_code(), Some(0));
    assert!(!editor.lockfile().exists());
}

#[test]
fn a_client_of_python_is_served_and_told_when_the_editor_quits() {
    is_served(python);
}

#[test]
fn a_client_of_node_is_served_and_told_when_the_editor_quits() {
    is_served(node);
}

#[test]
fn a_client_with_a_wrong_token_is_refused() {
    let editor = Editor::start(&[]);
    let wrong = format!("{}x", editor.url());
    assert_eq!(python(&wrong).receive(), json!({"refused": true}));
}

#[test]
fn a_mock_is_steered_by_one_shot_commands_through_its_socket() {
    let mut editor = Editor::start(&["--control", "c.sock"]);
    assert_eq!(editor.steer(&["open", "path=a.txt"]), (Some(0), json!({})));
    let select = ["select", "path=a.txt", "start_line:=1", "start_col:=0", "end_line:=1", "end_col:=99"];
    assert_eq!(editor.steer(&select), (Some(0), json!({})));
    let (code, state) = editor.steer(&["state"]);
    assert_eq!(code, Some(0));
    assert_eq!(state["selection"]["end"], json!({"line": 1, "col": 5}));
    assert_eq!(editor.steer(&["open", "path=missing.txt"]).0, Some(2));
    assert_eq!(editor.steer(&["switch", "name=no-pong", "on:=true"]), (Some(0), json!({})));
    assert_eq!(editor.steer(&["state"]).1["switched_on"], json!(["no-pong"]));
    assert_eq!(editor.steer(&["quit"]).0, Some(0));
    assert_eq!(editor.process.exit_code(), Some(0));
    assert!(!editor.folder.path().join("c.sock").exists(), "the socket is removed");
    assert_eq!(editor.steer(&["state"]).0, Some(3));
}

#[test]
fn every_way_to_end_a_mock_removes_its_lockfile() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 0), (Signal::HUP, 0)] {
        let mut editor = Editor::start(&[]);
        assert!(editor.lockfile().exists());
        editor.process.signal(signal);
        assert_eq!(editor.process.exit_code(), Some(code), "{signal:?}");
        assert!(!editor.lockfile().exists(), "{signal:?}");
    }
    let mut editor = Editor::start(&["--stdin"]);
    editor.process.end_stdin();
    assert_eq!(editor.process.exit_code(), Some(0));
    assert!(!editor.lockfile().exists());
}

#[test]
fn a_flaw_may_leave_the_lockfile_behind() {
    let mut editor = Editor::start(&["--flaw", "lockfile-left-behind"]);
    editor.process.signal(Signal::TERM);
    assert_eq!(editor.process.exit_code(), Some(0));
    assert!(editor.lockfile().exists());
}

/// The URL that a lockfile says.
pub fn url(lockfile: &Path) -> String {
    let lock: Value = serde_json::from_slice(&std::fs::read(lockfile).expect("a lockfile")).expect("JSON");
    let token: String = lock["authToken"].as_str().expect("a token").bytes().map(|b| format!("%{b:02X}")).collect();
    format!("ws://127.0.0.1:{}/?auth={token}", lock["port"])
}

#[test]
fn a_restart_moves_the_editor_to_another_port_with_another_token_and_its_files_open() {
    let mut editor = Editor::start(&["--stdin"]);
    let (old_url, old_lockfile) = (editor.url(), editor.lockfile());
    assert_eq!(editor.process.request(&json!({"edit": {"path": "a.txt", "text": "unsaved"}})), json!({"ok": {}}));
    let mut client = python(&old_url);
    message(&mut client, "selectionDidChange");

    let place = editor.process.request(&json!({"restart": {}}))["ok"].clone();
    assert_eq!(client.receive_key("closed")[0], 1001);
    assert!(!old_lockfile.exists(), "the old lockfile is removed");
    let lockfile = PathBuf::from(place["lockfile"].as_str().expect("a path"));
    assert_ne!(place["port"], editor.ready["port"]);
    assert_eq!(place["url"], format!("ws://127.0.0.1:{}", place["port"]));
    let token = |url: &str| url.rsplit_once('=').expect("a token").1.to_owned();
    assert_ne!(token(&url(&lockfile)), token(&old_url));

    let old_token = url(&lockfile).replace(&token(&url(&lockfile)), &token(&old_url));
    assert_eq!(python(&old_token).receive(), json!({"refused": true}));
    let mut client = python(&url(&lockfile));
    let uri = format!("file://{}/a.txt", editor.ready["workspace"].as_str().unwrap());
    assert_eq!(message(&mut client, "visibleFilesDidChange"), json!({"uris": [uri]}));
    assert_eq!(editor.process.request(&json!({"clients": {}})), json!({"ok": {"count": 1}}));

    assert_eq!(editor.process.request(&json!({"quit": {}})), json!({"ok": {}}));
    assert_eq!(client.receive_key("closed")[0], 1001);
    assert_eq!(editor.process.exit_code(), Some(0));
    assert!(!lockfile.exists());
}

#[test]
fn a_restart_can_keep_the_port_and_say_the_token() {
    let mut editor = Editor::start(&["--stdin"]);
    let port = editor.ready["port"].clone();
    let place = editor.process.request(&json!({"restart": {"port": port, "token": "say friend"}}))["ok"].clone();
    assert_eq!(place["port"], port);
    let mut client = python(&format!("ws://127.0.0.1:{port}/?auth=say%20friend"));
    assert_eq!(message(&mut client, "visibleFilesDidChange"), json!({"uris": []}));
}

#[test]
fn a_restart_on_a_port_that_is_taken_leaves_the_editor_as_it_is() {
    let mut editor = Editor::start(&["--stdin"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let answer = editor.process.request(&json!({"restart": {"port": port}}));
    let error = answer["error"].as_str().expect("an error");
    assert!(error.starts_with(&format!("cannot listen on port {port} of the loopback address: ")), "{error}");
    assert_eq!(message(&mut python(&editor.url()), "visibleFilesDidChange"), json!({"uris": []}));
}

#[test]
fn a_flaw_leaves_the_lockfile_of_before_a_restart_behind() {
    let mut editor = Editor::start(&["--stdin", "--flaw", "lockfile-left-behind"]);
    let place = editor.process.request(&json!({"restart": {}}))["ok"].clone();
    assert!(editor.lockfile().exists() && Path::new(place["lockfile"].as_str().expect("a path")).exists());
}

#[test]
fn answers_and_notifications_are_held_back_in_their_order() {
    let mut editor = Editor::start(&["--stdin", "--latency", "100ms..400ms", "--seed", "5"]);
    let begin = std::time::Instant::now();
    let mut client = python(&editor.url());
    for id in 1..=20 {
        client.send(&request(&id.to_string(), "ping", &json!({"message": "x"})));
    }
    let ids: Vec<Value> = (1..=20).map(|_| message(&mut client, "id")).collect();
    assert_eq!(ids, (1..=20).map(|id| id.to_string()).collect::<Vec<_>>());
    assert!(begin.elapsed() >= std::time::Duration::from_millis(100));
    // Whoever steers does not wait for what is on its way.
    assert_eq!(editor.process.request(&json!({"open": {"path": "a.txt"}})), json!({"ok": {}}));
    assert!(message(&mut client, "visibleFilesDidChange")["uris"][0].as_str().expect("a uri").ends_with("/a.txt"));
}

/// What a client that others wrote makes of an editor with a flaw, in the first thing that it tells of it.
fn met(flaw: &str, connect: fn(&str) -> LineProcess) -> Value {
    let editor = Editor::start(&["--flaw", flaw]);
    let mut client = connect(&editor.url());
    match client.receive() {
        opened if opened.get("open").is_some() => {}
        other => return other,
    }
    for id in 1..=3 {
        client.send(&request(&id.to_string(), "ping", &json!({"message": "x"})));
    }
    client.receive_key("closed")
}

#[test]
fn a_handshake_can_be_answered_in_every_wrong_way() {
    for flaw in [
        "upgrade-fails",
        "upgrade-answered-with-page",
        "upgrade-hung-up-on",
        "upgrade-cut",
        "upgrade-nonsense",
        "accept-key-wrong",
        "upgrade-to-other",
    ] {
        assert_eq!(met(flaw, python), json!({"refused": true}), "{flaw}");
    }
    // `websockets` would go where it is sent.
    assert_eq!(met("upgrade-redirected", node), json!({"refused": true}));
}

#[test]
fn a_connection_can_break_down_in_every_way() {
    for (flaw, code) in [
        ("cut-in-frame", 1006),
        ("hangs-up", 1006),
        ("closes-with-1011", 1011),
        ("closes-with-1000", 1000),
        ("closes-with-4000", 4000),
        ("message-within-fragments", 1002),
        ("bad-byte", 1007),
    ] {
        let closed = met(flaw, python);
        // Who fails a connection says with which code, but is not reported one.
        let seen = closed[0].as_u64();
        assert!(seen == Some(code) || code == 1002 || code == 1007, "{flaw}: {closed}");
    }
}

#[test]
fn a_client_that_others_wrote_copes_with_what_is_no_fault_of_the_editor() {
    for freedom in ["ping-storm", "unknown-notifications", "lockfile-late", "lockfile-in-two-writes"] {
        let editor = Editor::start(&["--freedom", freedom]);
        let whole = |path: &Path| {
            let text = std::fs::read(path).ok()?;
            serde_json::from_slice::<Value>(&text).ok()
        };
        while whole(&editor.lockfile()).is_none() {
            std::thread::yield_now();
        }
        let mut client = python(&editor.url());
        client.send(&request("1", "ping", &json!({"message": "x"})));
        assert_eq!(message(&mut client, "ping"), json!({"message": "x"}), "{freedom}");
    }
}
