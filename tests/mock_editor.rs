//! `wirecert mock amp-server`, as other projects' tests use it: the binary, steered, with clients that others wrote.
//! `tests/interop/setup` installs the clients.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A process that is talked to in JSON lines, and killed when the test is over.
struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Talk {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it can be started");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, stdin, stdout }
    }

    fn say(&mut self, value: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(format!("{value}\n").as_bytes()).expect("it reads");
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it can be read");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?} is no JSON: {e}"))
    }

    /// Passes over what comes until something has this key; gives its value.
    fn hear_of(&mut self, key: &str) -> Value {
        loop {
            if let Some(value) = self.hear().get(key) {
                return value.clone();
            }
        }
    }

    /// The next message of the server that has this key inside its wrapper.
    fn message(&mut self, key: &str) -> Value {
        loop {
            let text = self.hear_of("text");
            let message: Value = serde_json::from_str(text.as_str().expect("a text")).expect("JSON");
            let inside = message.get("serverResponse").or(message.get("serverNotification")).cloned();
            if let Some(value) = inside.and_then(|v| v.get(key).cloned()) {
                return value;
            }
        }
    }

    fn ask(&mut self, order: &Value) -> Value {
        self.say(order);
        self.hear()
    }

    fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().expect("it can be waited for").code()
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Editor {
    talk: Talk,
    ready: Value,
    folder: tempfile::TempDir,
}

impl Editor {
    fn start(args: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().expect("a folder"), args)
    }

    fn scripted(script: &str, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("script.yaml"), script).expect("a script");
        Self::start_in(folder, &[&["--script", "script.yaml"], args].concat())
    }

    fn start_in(folder: tempfile::TempDir, args: &[&str]) -> Self {
        std::fs::create_dir(folder.path().join("w")).expect("a workspace");
        std::fs::write(folder.path().join("w/a.txt"), "hello\nwörld\n").expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirecert"));
        command.args(["mock", "amp-server", "--workspace"]).arg(folder.path().join("w"));
        command.arg("--data-home").arg(folder.path().join("d")).args(args);
        command.current_dir(folder.path());
        let mut talk = Talk::start(&mut command);
        let ready = talk.hear();
        Self { talk, ready, folder }
    }

    fn lockfile(&self) -> PathBuf {
        self.ready["lockfile"].as_str().expect("a path").into()
    }

    fn url(&self) -> String {
        url(&self.lockfile())
    }

    fn steer(&self, words: &[&str]) -> (Option<i32>, Value) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirecert"));
        command.args(["mock", "amp-server", "--steer"]).arg(self.folder.path().join("c.sock")).args(words);
        let output = command.output().expect("it can be run");
        (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default())
    }

    fn signal(&self, name: &str) {
        let pid = self.talk.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().expect("there is a kill").success());
    }
}

fn python(url: &str) -> Talk {
    client(
        Command::new(Path::new(ROOT).join("target/interop/venv/bin/python")).arg("tests/interop/client.py"),
        url,
        &[],
    )
}

fn node(url: &str) -> Talk {
    let mut command = Command::new("node");
    // `ws` fails a connection to a server that takes none of the subprotocols that it offered.
    command.arg("tests/interop/client.mjs").env("INTEROP", Path::new(ROOT).join("target/interop"));
    client(&mut command, url, &["--no-subprotocol"])
}

fn client(command: &mut Command, url: &str, args: &[&str]) -> Talk {
    let installed = Path::new(ROOT).join("target/interop/installed");
    assert!(installed.exists(), "what we talk to is not installed: run tests/interop/setup");
    Talk::start(command.arg(url).args(args).current_dir(ROOT))
}

fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({"send": json!({"clientRequest": {"id": id, method: params}}).to_string()})
}

fn is_served(connect: fn(&str) -> Talk) {
    let mut editor = Editor::start(&["--stdin"]);
    let mut client = connect(&editor.url());
    assert_eq!(client.message("pluginMetadata"), json!({"version": env!("CARGO_PKG_VERSION")}));
    assert_eq!(client.message("visibleFilesDidChange"), json!({"uris": []}));

    assert_eq!(editor.talk.ask(&json!({"edit": {"path": "a.txt", "text": "unsaved ä😀\n"}})), json!({"ok": {}}));
    let uri = format!("file://{}/a.txt", editor.ready["workspace"].as_str().unwrap());
    assert_eq!(client.message("visibleFilesDidChange"), json!({"uris": [uri]}));

    let path = format!("{}/a.txt", editor.ready["workspace"].as_str().unwrap());
    client.say(&request("1", "readFile", &json!({"path": path})));
    let read = json!({"success": true, "content": "unsaved ä😀\n", "isDirty": true});
    assert_eq!(client.message("readFile"), read);

    client.say(&request("2", "editFile", &json!({"path": path, "fullContent": "saved\n"})));
    assert_eq!(client.message("editFile"), json!({"success": true, "appliedChanges": true}));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "saved\n");

    client.say(&json!({"send": "nonsense"}));
    assert_eq!(client.message("error")["code"], -32700);
    client.say(&json!({"ping": "there?"}));
    assert_eq!(client.hear_of("pong"), "there?");

    assert_eq!(editor.talk.ask(&json!({"quit": {}})), json!({"ok": {}}));
    assert_eq!(client.hear_of("closed")[0], 1001);
    assert_eq!(editor.talk.exit_code(), Some(0));
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
    assert_eq!(python(&wrong).hear(), json!({"refused": true}));
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
    assert_eq!(editor.talk.exit_code(), Some(0));
    assert!(!editor.folder.path().join("c.sock").exists(), "the socket is removed");
    assert_eq!(editor.steer(&["state"]).0, Some(3));
}

#[test]
fn every_way_to_end_a_mock_removes_its_lockfile() {
    for (signal, code) in [("INT", 130), ("TERM", 0), ("HUP", 0)] {
        let mut editor = Editor::start(&[]);
        assert!(editor.lockfile().exists());
        editor.signal(signal);
        assert_eq!(editor.talk.exit_code(), Some(code), "{signal}");
        assert!(!editor.lockfile().exists(), "{signal}");
    }
    let mut editor = Editor::start(&["--stdin"]);
    drop(editor.talk.stdin.take());
    assert_eq!(editor.talk.exit_code(), Some(0));
    assert!(!editor.lockfile().exists());
}

#[test]
fn a_flaw_may_leave_the_lockfile_behind() {
    let mut editor = Editor::start(&["--flaw", "lockfile-left-behind"]);
    editor.signal("TERM");
    assert_eq!(editor.talk.exit_code(), Some(0));
    assert!(editor.lockfile().exists());
}

/// The URL that a lockfile says.
fn url(lockfile: &Path) -> String {
    let lock: Value = serde_json::from_slice(&std::fs::read(lockfile).expect("a lockfile")).expect("JSON");
    let token: String = lock["authToken"].as_str().expect("a token").bytes().map(|b| format!("%{b:02X}")).collect();
    format!("ws://127.0.0.1:{}/?auth={token}", lock["port"])
}

#[test]
fn a_restart_moves_the_editor_to_another_port_with_another_token_and_its_files_open() {
    let mut editor = Editor::start(&["--stdin"]);
    let (old_url, old_lockfile) = (editor.url(), editor.lockfile());
    assert_eq!(editor.talk.ask(&json!({"edit": {"path": "a.txt", "text": "unsaved"}})), json!({"ok": {}}));
    let mut client = python(&old_url);
    client.message("selectionDidChange");

    let place = editor.talk.ask(&json!({"restart": {}}))["ok"].clone();
    assert_eq!(client.hear_of("closed")[0], 1001);
    assert!(!old_lockfile.exists(), "the old lockfile is removed");
    let lockfile = PathBuf::from(place["lockfile"].as_str().expect("a path"));
    assert_ne!(place["port"], editor.ready["port"]);
    assert_eq!(place["url"], format!("ws://127.0.0.1:{}", place["port"]));
    let token = |url: &str| url.rsplit_once('=').expect("a token").1.to_owned();
    assert_ne!(token(&url(&lockfile)), token(&old_url));

    let old_token = url(&lockfile).replace(&token(&url(&lockfile)), &token(&old_url));
    assert_eq!(python(&old_token).hear(), json!({"refused": true}));
    let mut client = python(&url(&lockfile));
    let uri = format!("file://{}/a.txt", editor.ready["workspace"].as_str().unwrap());
    assert_eq!(client.message("visibleFilesDidChange"), json!({"uris": [uri]}));
    assert_eq!(editor.talk.ask(&json!({"clients": {}})), json!({"ok": {"count": 1}}));

    assert_eq!(editor.talk.ask(&json!({"quit": {}})), json!({"ok": {}}));
    assert_eq!(client.hear_of("closed")[0], 1001);
    assert_eq!(editor.talk.exit_code(), Some(0));
    assert!(!lockfile.exists());
}

#[test]
fn a_restart_can_keep_the_port_and_say_the_token() {
    let mut editor = Editor::start(&["--stdin"]);
    let port = editor.ready["port"].clone();
    let place = editor.talk.ask(&json!({"restart": {"port": port, "token": "say friend"}}))["ok"].clone();
    assert_eq!(place["port"], port);
    let mut client = python(&format!("ws://127.0.0.1:{port}/?auth=say%20friend"));
    assert_eq!(client.message("visibleFilesDidChange"), json!({"uris": []}));
}

#[test]
fn a_restart_on_a_port_that_is_taken_leaves_the_editor_as_it_is() {
    let mut editor = Editor::start(&["--stdin"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let answer = editor.talk.ask(&json!({"restart": {"port": port}}));
    let error = answer["error"].as_str().expect("an error");
    assert!(error.starts_with(&format!("cannot listen on port {port} of the loopback address: ")), "{error}");
    assert_eq!(python(&editor.url()).message("visibleFilesDidChange"), json!({"uris": []}));
}

#[test]
fn a_flaw_leaves_the_lockfile_of_before_a_restart_behind() {
    let mut editor = Editor::start(&["--stdin", "--flaw", "lockfile-left-behind"]);
    let place = editor.talk.ask(&json!({"restart": {}}))["ok"].clone();
    assert!(editor.lockfile().exists() && Path::new(place["lockfile"].as_str().expect("a path")).exists());
}

#[test]
fn answers_and_notifications_are_held_back_in_their_order() {
    let mut editor = Editor::start(&["--stdin", "--latency", "100ms..400ms", "--seed", "5"]);
    let begin = std::time::Instant::now();
    let mut client = python(&editor.url());
    for id in 1..=20 {
        client.say(&request(&id.to_string(), "ping", &json!({"message": "x"})));
    }
    let ids: Vec<Value> = (1..=20).map(|_| client.message("id")).collect();
    assert_eq!(ids, (1..=20).map(|id| id.to_string()).collect::<Vec<_>>());
    assert!(begin.elapsed() >= std::time::Duration::from_millis(100));
    // Whoever steers does not wait for what is on its way.
    assert_eq!(editor.talk.ask(&json!({"open": {"path": "a.txt"}})), json!({"ok": {}}));
    assert!(client.message("visibleFilesDidChange")["uris"][0].as_str().expect("a uri").ends_with("/a.txt"));
}

#[test]
fn a_script_is_played_on_as_clients_connect_and_ask() {
    let script = "
wirecert: 1
steps:
  - do: { open: { path: a.txt } }
  - when: connected
    do: { message: { message: welcome } }
  - when: { request: ping }
    repeat: 2
    do:
      - prompt: { message: asked }
      - switch: { name: pretty-json, on: true }
  - when: { after: 1ms }
    do: { restart: { token: the-second-token } }
  - when: connected
    do: { message: { message: again } }
  - when: disconnected
    do: { quit: {} }
";
    let mut editor = Editor::scripted(script, &[]);
    let old = editor.lockfile();
    let mut client = python(&editor.url());
    let uri = format!("file://{}/a.txt", editor.ready["workspace"].as_str().unwrap());
    assert_eq!(client.message("visibleFilesDidChange"), json!({"uris": [uri]}));
    assert_eq!(client.message("userSentMessage"), json!({"message": "welcome"}));
    for id in ["1", "2"] {
        client.say(&request(id, "ping", &json!({"message": id})));
        assert_eq!(client.message("ping"), json!({"message": id}), "the response comes before what follows from it");
        assert_eq!(client.message("appendToPrompt"), json!({"message": "asked"}));
    }
    assert_eq!(client.hear_of("closed")[0], 1001);
    let ide = old.parent().expect("a folder");
    let started = Instant::now();
    let lockfile = loop {
        let mut files = std::fs::read_dir(ide).expect("a folder").map(|e| e.expect("an entry").path());
        let new = |f: &PathBuf| std::fs::read_to_string(f).is_ok_and(|text| text.contains("the-second-token"));
        if let Some(file) = files.find(|f| f.extension().is_some_and(|e| e == "json") && new(f)) {
            break file;
        }
        let there = editor.talk.child.try_wait();
        assert!(started.elapsed() < Duration::from_secs(20), "the editor is not there again; it ended: {there:?}");
        std::thread::yield_now();
    };
    let mut client = node(&url(&lockfile));
    assert_eq!(client.message("userSentMessage"), json!({"message": "again"}));
    client.say(&json!({"close": [1000, ""]}));
    assert_eq!(editor.talk.exit_code(), Some(0));
    assert!(!lockfile.exists());
}

/// Runs a mock that cannot go on; gives its exit code, what it said, and what it said of its error.
fn fails(script: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("script.yaml"), script).expect("a script");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wirecert"));
    command.args(["mock", "amp-server", "--edition", "guide", "--data-home", "d", "--script", "script.yaml"]);
    let output = command.current_dir(folder.path()).output().expect("it can be run");
    let ide = folder.path().join("d/amp/ide");
    assert_eq!(std::fs::read_dir(ide).map_or(0, Iterator::count), 0, "no lockfile is left");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn all_that_is_wrong_with_a_script_is_told_before_the_mock_serves() {
    let script = "
wirecert: 1
steps:
  - when: conected
    do: { open: { path: a.txt } }
  - do: { opn: { path: a.txt } }
  - do:
      - switch: { name: no-pnog, on: true }
      - message: { message: the guide has no messages }
";
    let (code, said, wrong) = fails(script);
    assert_eq!((code, said.as_str()), (Some(2), ""));
    for reported in [
        "script.yaml:4:11",
        "did you mean `connected`?",
        "script.yaml:6:9",
        "there is no command `opn`",
        "script.yaml:8:9",
        "did you mean `no-pong`?",
        "script.yaml:9:9",
        "the edition `guide` has no such notification",
    ] {
        assert!(wrong.contains(reported), "{reported} in\n{wrong}");
    }
}

#[test]
fn a_script_that_cannot_be_played_on_ends_the_mock() {
    let (code, said, wrong) = fails("wirecert: 1\nsteps:\n  - do: { open: { path: missing.txt } }\n");
    assert_eq!((code, said.lines().count()), (Some(2), 1));
    assert!(wrong.contains("script.yaml:3:9") && wrong.contains("missing.txt"), "{wrong}");
}

#[test]
fn the_schema_of_scripts_takes_the_example_of_the_manual() {
    let manual = std::fs::read_to_string(Path::new(ROOT).join("docs/mock.md")).expect("the manual");
    let (_, rest) = manual.split_once("```yaml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let mut editor = Editor::scripted(example, &[]);
    let mut client = python(&editor.url());
    client.message("visibleFilesDidChange");
    editor.signal("TERM");
    assert_eq!(editor.talk.exit_code(), Some(0), "the mock takes it, and plays it");
    let output =
        Command::new(env!("CARGO_BIN_EXE_wirecert")).args(["schema", "mock-script"]).output().expect("it runs");
    let schema: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let source = wirecert::diagnostic::Source::new("example", example);
    let tree = wirecert::diagnostic::yaml::parse(&source).expect("YAML").to_json();
    let validator = jsonschema::draft7::new(&schema).expect("a schema");
    let faults: Vec<String> = validator.iter_errors(&tree).map(|e| e.to_string()).collect();
    assert_eq!(faults, [""; 0]);
}

/// What a client that others wrote makes of an editor with a flaw, in the first thing that it tells of it.
fn met(flaw: &str, connect: fn(&str) -> Talk) -> Value {
    let editor = Editor::start(&["--flaw", flaw]);
    let mut client = connect(&editor.url());
    match client.hear() {
        opened if opened.get("open").is_some() => {}
        other => return other,
    }
    for id in 1..=3 {
        client.say(&request(&id.to_string(), "ping", &json!({"message": "x"})));
    }
    client.hear_of("closed")
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
        client.say(&request("1", "ping", &json!({"message": "x"})));
        assert_eq!(client.message("ping"), json!({"message": "x"}), "{freedom}");
    }
}
