//! `wirecert mock amplifier-server`, as other projects' tests use it: the binary, with the clients of HTTP, event streams
//! and WebSockets that they have. `tests/interop/setup` installs these.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use wirecert::protocol::amplifier::EVENTS;

use crate::program::wirecert_program;

/// Prompts of the built-in script, and what is told of each, by names; the same one after the other only once. Where a
/// prompt ends in "no", clients deny what it asks for.
const PROMPTS: &[(&str, &str)] = &[
    ("text", "content_block:start content_block:delta content_block:end"),
    ("thinking", "thinking:delta thinking:final content_block:start content_block:delta content_block:end"),
    (
        "tool",
        "content_block:start content_block:delta content_block:end tool:pre tool:post \
         content_block:start content_block:delta content_block:end",
    ),
    ("tool_error", "tool:pre tool:error content_block:start content_block:delta content_block:end"),
    (
        "approval",
        "tool:pre approval:required approval:granted tool:post \
         content_block:start content_block:delta content_block:end",
    ),
    (
        "approval no",
        "tool:pre approval:required approval:denied tool:error \
         content_block:start content_block:delta content_block:end",
    ),
    ("status", "status:update content_block:start content_block:delta content_block:end"),
    ("diagnostics", "diagnostic:add content_block:start content_block:delta content_block:end diagnostic:clear"),
    (
        "everything",
        "status:update thinking:delta thinking:final content_block:start content_block:delta content_block:end \
         tool:pre tool:post tool:pre tool:error diagnostic:add diagnostic:clear \
         tool:pre approval:required approval:granted tool:post tool:pre approval:required approval:granted tool:post \
         status:update content_block:start content_block:delta content_block:end",
    ),
];

fn interop() -> PathBuf {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/interop");
    assert!(installed.join("installed").exists(), "the clients are not installed: run tests/interop/setup");
    installed
}

/// A mock that listens, killed when dropped.
struct Mock {
    child: Child,
    url: String,
    _workspace: tempfile::TempDir,
}

impl Mock {
    fn start() -> Self {
        let workspace = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(wirecert_program());
        command.args(["mock", "amplifier-server", "--workspace"]).arg(workspace.path());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it can be run");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        stdout.read_line(&mut line).expect("it can be read");
        let ready: Value = serde_json::from_str(&line).expect("JSON");
        let url = ready["url"].as_str().expect("a text").to_owned();
        Self { child, url, _workspace: workspace }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a client was told of the prompts, by the ways in which it followed the session.
fn reported(program: &Path, script: &str) -> BTreeMap<String, Vec<Value>> {
    let mock = Mock::start();
    let prompts: Vec<&str> = PROMPTS.iter().map(|(prompt, _)| *prompt).collect();
    let mut command = Command::new(program);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop").join(script));
    command.arg(&mock.url).arg(Value::from(prompts).to_string()).env("INTEROP", interop());
    let output = command.stderr(Stdio::inherit()).output().expect("it can be run");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn name(message: &Value) -> &str {
    message["event"].as_str().unwrap_or_default()
}

/// Holds what was reported in one way to the script.
fn is_the_script(way: &str, messages: &[Value]) {
    let complete = |message: &&[Value]| message.last().is_some_and(|last| name(last) == "prompt:complete");
    let chunks: Vec<&[Value]> = messages.split_inclusive(|message| name(message) == "prompt:complete").collect();
    let [prompts @ .., end] = &chunks[..] else { panic!("{way} was reported nothing") };
    assert_eq!(end.iter().map(name).collect::<Vec<_>>(), ["session:end"], "{way}");
    assert_eq!(prompts.iter().filter(|chunk| complete(chunk)).count(), PROMPTS.len(), "{way}");
    for ((prompt, expected), chunk) in PROMPTS.iter().zip(prompts) {
        let mut names: Vec<&str> = chunk.iter().map(name).filter(|name| *name != "session:start").collect();
        names.dedup();
        assert_eq!(names.join(" "), format!("prompt:submit {expected} prompt:complete"), "{way}: {prompt}");
        let deltas = chunk.iter().filter(|message| name(message) == "content_block:delta");
        let joined: String = deltas.filter_map(|message| message["data"]["delta"].as_str()).collect();
        assert_eq!(chunk.last().map(|last| &last["data"]["response"]), Some(&Value::from(joined)), "{way}: {prompt}");
    }
    let names: BTreeSet<&str> = messages.iter().map(name).collect();
    assert_eq!(names, EVENTS.iter().map(|event| event.name).collect(), "{way}");
}

fn every_way_tells_the_script(program: &Path, script: &str, ways: &[&str]) {
    let reported = reported(program, script);
    assert_eq!(reported.keys().collect::<Vec<_>>(), ways);
    for (way, messages) in &reported {
        is_the_script(way, messages);
        assert_eq!(messages, &reported[ways[0]], "{way} and {}", ways[0]);
    }
}

#[test]
fn node_is_told_everything_in_order_by_eventsource_fetch_and_ws() {
    every_way_tells_the_script(Path::new("node"), "amplifier_client.mjs", &["eventsource", "fetch", "ws"]);
}

#[test]
fn python_is_told_everything_in_order_by_httpx_and_websockets() {
    let python = interop().join("amplifier-client/venv/bin/python");
    every_way_tells_the_script(&python, "amplifier_client.py", &["httpx", "websockets"]);
}
