//! Scripts of `wirecert mock amp-server`, with clients that others wrote. `tests/interop/setup` installs the clients.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::mock_editor::{Editor, ROOT, message, node, python, request, url};

use crate::program::wirecert_program;

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
    assert_eq!(message(&mut client, "visibleFilesDidChange"), json!({"uris": [uri]}));
    assert_eq!(message(&mut client, "userSentMessage"), json!({"message": "welcome"}));
    for id in ["1", "2"] {
        client.send(&request(id, "ping", &json!({"message": id})));
        assert_eq!(
            message(&mut client, "ping"),
            json!({"message": id}),
            "the response comes before what follows from it"
        );
        assert_eq!(message(&mut client, "appendToPrompt"), json!({"message": "asked"}));
    }
    assert_eq!(client.receive_key("closed")[0], 1001);
    let ide = old.parent().expect("a folder");
    let started = Instant::now();
    let lockfile = loop {
        let mut files = std::fs::read_dir(ide).expect("a folder").map(|e| e.expect("an entry").path());
        let new = |f: &PathBuf| std::fs::read_to_string(f).is_ok_and(|text| text.contains("the-second-token"));
        if let Some(file) = files.find(|f| f.extension().is_some_and(|e| e == "json") && new(f)) {
            break file;
        }
        let there = editor.process.child.try_wait();
        assert!(started.elapsed() < Duration::from_secs(20), "the editor is not there again; it ended: {there:?}");
        std::thread::yield_now();
    };
    let mut client = node(&url(&lockfile));
    assert_eq!(message(&mut client, "userSentMessage"), json!({"message": "again"}));
    client.send(&json!({"close": [1000, ""]}));
    assert_eq!(editor.process.exit_code(), Some(0));
    assert!(!lockfile.exists());
}

/// Runs a mock that cannot go on; gives its exit code, what it said, and what it said of its error.
fn fails(script: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("script.yaml"), script).expect("a script");
    let mut command = Command::new(wirecert_program());
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
    message(&mut client, "visibleFilesDidChange");
    editor.process.signal(Signal::TERM);
    assert_eq!(editor.process.exit_code(), Some(0), "the mock takes it, and plays it");
    let output = Command::new(wirecert_program()).args(["schema", "mock-script"]).output().expect("it runs");
    let schema: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let source = wirecert::diagnostic::Source::new("example", example);
    let tree = wirecert::diagnostic::yaml::parse(&source).expect("YAML").to_json();
    let validator = jsonschema::draft7::new(&schema).expect("a schema");
    let faults: Vec<String> = validator.iter_errors(&tree).map(|e| e.to_string()).collect();
    assert_eq!(faults, [""; 0]);
}
