//! `wirecert view`, from outside: what it prints and writes, how it ends.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::wirecert_program;

const HEADER: &str = r#"{"version":1,"suite":"wirecert 0.1.0","protocol":"amp","edition":"cli","client":{"is":"peer","name":"wirecert"},"server":{"is":"subject","name":"editor"},"clock":{"unit":"us","start":"2026-01-02T03:04:05Z"}}"#;

/// A trace of a WebSocket, then of these messages: `>` to the server, `<` to the client, and JSON.
fn trace(messages: &[&str]) -> String {
    let mut events = vec![
        json!({"conn": "main", "dir": "c2s", "kind": "connected", "address": "127.0.0.1:8123"}),
        json!({"conn": "main", "dir": "c2s", "kind": "handshake", "start": "GET /?auth=<secret:1***> HTTP/1.1", "headers": [
            ["Host", "localhost:8123"], ["Upgrade", "websocket"], ["Connection", "Upgrade"],
            ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="], ["Sec-WebSocket-Version", "13"]]}),
        json!({"conn": "main", "dir": "s2c", "kind": "handshake", "start": "HTTP/1.1 101 Switching Protocols", "headers": [
            ["Upgrade", "websocket"], ["Connection", "Upgrade"], ["Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="]]}),
    ];
    for message in messages {
        let (way, text) = message.split_at(1);
        let dir = if way == ">" { "c2s" } else { "s2c" };
        let json: Value = serde_json::from_str(text).unwrap();
        events
            .push(json!({"conn": "main", "dir": dir, "kind": "frame", "fin": true, "opcode": 1, "masked": way == ">",
            "length": text.len(), "payload": {"text": text}}));
        events.push(json!({"conn": "main", "dir": dir, "kind": "message", "text": true, "json": json, "frames": 1}));
    }
    lines(&events)
}

fn lines(events: &[Value]) -> String {
    let mut text = format!("{HEADER}\n");
    for (i, event) in events.iter().enumerate() {
        let mut line = json!({"i": i, "t": i * 1000});
        line.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
        text += &format!("{line}\n");
    }
    text + &format!("{{\"end\":\"complete\",\"events\":{}}}\n", events.len())
}

const ASK: &str = r#">{"clientRequest":{"id":"1","ping":{"message":"hi"}}}"#;
const RIGHT: &str = r#"<{"serverResponse":{"id":"1","ping":{"message":"hi"}}}"#;
const WRONG: &str = r#"<{"serverResponse":{"id":1,"ping":{"message":"hi"}}}"#;

/// A folder with these traces.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    files.iter().for_each(|(name, content)| fs::write(dir.path().join(name), content).unwrap());
    dir
}

/// Exit code, stdout, stderr.
fn view(dir: &Path, args: &[&str]) -> (i32, String, String) {
    run(Command::new(wirecert_program()).arg("view").args(args).current_dir(dir))
}

fn run(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_trace_is_drawn_with_every_message_told_once() {
    let dir = folder(&[("t.trace", &trace(&[ASK, RIGHT]))]);
    let (code, stdout, stderr) = view(dir.path(), &["t.trace", "--width", "100"]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(
        stdout
            .starts_with("t.trace  amp, edition cli\nclient: wirecert (our own mock) · server: editor (the subject)\n")
    );
    assert_eq!(stdout.matches("ping #1").count(), 2, "{stdout}");
    assert!(stdout.contains("GET /?auth=<secret:1***>"), "{stdout}");
    assert!(stdout.ends_with("\n7 events · 5 shown · 1 connection · 6.00 ms · no findings\n"), "{stdout}");
    assert!(stdout.lines().all(|line| line.chars().count() <= 100), "{stdout}");
    let (_, every, _) = view(dir.path(), &["t.trace", "--every"]);
    assert!(every.contains("frame text") && every.contains("7 shown"), "{every}");
}

#[test]
fn stdin_is_a_trace_too() {
    let dir = folder(&[("t.trace", &trace(&[ASK, RIGHT]))]);
    let (_, from_file, _) = view(dir.path(), &["t.trace"]);
    let mut command = Command::new(wirecert_program());
    let (code, from_stdin, _) = run(command.args(["view", "-"]).write_stdin(trace(&[ASK, RIGHT])));
    assert_eq!((code, from_stdin), (0, from_file.replace("t.trace", "<stdin>")));
}

#[test]
fn what_the_rules_found_stands_below_its_event_unless_nobody_wants_to_know() {
    let dir = folder(&[("t.trace", &trace(&[ASK, WRONG]))]);
    let (code, stdout, _) = view(dir.path(), &["t.trace"]);
    assert_eq!(code, 0, "looking at a trace is no verdict");
    let lines: Vec<&str> = stdout.lines().collect();
    let at = lines.iter().position(|line| line.trim_start().starts_with("✗ must server breaks amp/cli/")).unwrap();
    assert!(lines[..at].iter().rev().find(|line| line.contains("ping")).unwrap().contains("├◀"), "{stdout}");
    let (_, silent, _) = view(dir.path(), &["t.trace", "--no-findings"]);
    assert!(!silent.contains('✗') && !silent.contains("finding"), "{silent}");
    let (_, only, _) = view(dir.path(), &["t.trace", "--only-findings"]);
    assert!(only.contains("ping #1") && !only.contains("handshake"), "{only}");
    let (_, around, _) = view(dir.path(), &["t.trace", "--only-findings", "-C", "1"]);
    assert!(around.contains("├─ ping #1"), "{around}");
}

/// What a play of our own was found to be, as its trace tells it.
fn finding(at: u64, requirement: &str) -> Value {
    json!({"kind": "finding", "at": at, "requirement": requirement, "blame": "server", "message": "it is not so",
        "path": "/result", "step": "expect response", "file": "scenarios/a.yaml", "line": 7,
        "awaited": {"way": "different", "since": 3, "until": 6, "outcomes": []}})
}

/// [`trace`] with further events at its end.
fn trace_and(messages: &[&str], more: &[Value]) -> String {
    let events = trace(messages);
    let mut events: Vec<Value> = events.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    events.pop();
    lines(&[&events[..], more].concat())
}

#[test]
fn a_trace_that_tells_its_findings_is_shown_with_these_unless_an_edition_is_asked_for() {
    let judged = json!({"kind": "judged", "findings": 1});
    let reported = [finding(6, "amp/cli/ping/echo"), judged.clone()];
    let dir = folder(&[
        ("reported.trace", &trace_and(&[ASK, WRONG], &reported)),
        ("sound.trace", &trace_and(&[ASK, WRONG], &[json!({"kind": "judged", "findings": 0})])),
        ("lost.trace", &trace_and(&[ASK, WRONG], &[judged])),
        ("unjudged.trace", &trace_and(&[ASK, WRONG], &reported[..1])),
    ]);
    let breaks = |args: &[&str]| {
        let (code, stdout, stderr) = view(dir.path(), args);
        assert_eq!((code, stderr.as_str()), (0, ""));
        let lines = stdout.lines().filter_map(|line| line.trim_start().strip_prefix("✗ must server breaks "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let by_rules = ["amp/cli/envelope/id-string", "amp/cli/envelope/id"];
    assert_eq!(breaks(&["reported.trace"]), ["amp/cli/ping/echo"]);
    assert_eq!(breaks(&["reported.trace", "--edition", "cli"]), by_rules);
    assert_eq!(breaks(&["sound.trace"]), [""; 0]);
    assert_eq!(breaks(&["lost.trace"]), by_rules, "what the trace has lost is not taken for all there was");
    assert_eq!(breaks(&["unjudged.trace"]), by_rules);

    let (_, reported, _) = view(dir.path(), &["reported.trace", "--only-findings"]);
    assert!(reported.contains("step     expect response at scenarios/a.yaml:7\n"), "{reported}");
    assert!(reported.ends_with("\n9 events · 1 shown · 1 connection · 6.00 ms · 1 finding: 1 must\n"), "{reported}");
    let (_, plain, _) = view(dir.path(), &["reported.trace", "--no-findings"]);
    assert!(!plain.contains("ping/echo") && plain.contains("5 shown"), "{plain}");
    let (_, every, _) = view(dir.path(), &["reported.trace", "--every"]);
    assert!(every.contains("finding at #6: amp/cli/ping/echo") && every.contains("judged: 1 finding"), "{every}");
    let (code, _, _) = view(dir.path(), &["reported.trace", "--html", "page.html"]);
    assert_eq!(code, 0);
}

#[test]
fn nothing_but_looking_at_findings_is_changed_by_what_a_trace_tells_of_them() {
    let reported = [finding(6, "amp/cli/ping/echo"), json!({"kind": "judged", "findings": 1})];
    let (reported, plain) = (trace_and(&[ASK, RIGHT], &reported), trace(&[ASK, RIGHT]));
    let dir = folder(&[("reported.trace", &reported), ("plain.trace", &plain), ("other.trace", &plain)]);
    let same = |args: &[&str]| {
        let of = |name: &str| {
            let args: Vec<&str> = args.iter().map(|arg| if *arg == "TRACE" { name } else { *arg }).collect();
            let (code, stdout, _) = run(Command::new(wirecert_program()).args(args).current_dir(dir.path()));
            (code, stdout.replace(name, "TRACE"))
        };
        assert_eq!(of("reported.trace"), of("plain.trace"), "{args:?}");
    };
    same(&["check", "TRACE"]);
    same(&["view", "TRACE", "--har", "-"]);
    same(&["view", "TRACE", "--diff", "other.trace"]);
    same(&["scenario", "TRACE", "--as", "client", "--observed"]);
}

/// The requirement and the sentence of everything in a list.
fn said(findings: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut said: Vec<_> =
        findings.iter().map(|finding| (text(&finding["requirement"]), text(&finding["message"]))).collect();
    said.sort();
    said
}

#[test]
fn what_certify_reported_of_a_play_is_what_its_trace_tells_and_what_is_shown() {
    let program = wirecert_program();
    // An expectation fails where no rule is broken; a rule is broken by what only follows from a fault of another.
    for (flaw, filter) in [("meta-fails", "id(*/meta/offered)"), ("mention-without-title", "id(*/items/of-mention*)")] {
        let dir = folder(&[("settings.json", "{}")]);
        let role = "openctx-provider";
        let mut command = Command::new(wirecert_program());
        command.args(["certify", role, "--settings", "settings.json", "--filter", filter, "--trace-dir", "traces"]);
        command.args(["--report", "json=report.json", "--", program, "mock", role, "--flaw", flaw, "--port", "{port}"]);
        let (_, stdout, stderr) = run(command.current_dir(dir.path()));
        let report: Value = serde_json::from_slice(&fs::read(dir.path().join("report.json")).unwrap()).unwrap();
        let subject = &report["subjects"][0];
        let mut shown_any = false;
        for scenario in subject["scenarios"].as_array().unwrap() {
            let reported = subject["findings"].as_array().unwrap().iter();
            let reported: Vec<Value> = reported.filter(|f| f["scenario"] == scenario["id"]).cloned().collect();
            let trace = scenario["trace"].as_str().unwrap();
            let text = fs::read_to_string(dir.path().join(trace)).unwrap();
            let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let recorded: Vec<Value> = events.iter().filter(|event| event["kind"] == "finding").cloned().collect();
            // What is folded across scenarios is found in the play all the same.
            let folded = scenario["blocked"].as_array().map_or(0, Vec::len);
            let in_trace = said(&recorded);
            assert!(said(&reported).iter().all(|one| in_trace.contains(one)), "{flaw}: {text}\n{stdout}{stderr}");
            let mut distinct = in_trace;
            distinct.dedup();
            assert!(distinct.len() <= reported.len() + folded, "{flaw}: {text}\n{stdout}{stderr}");
            let judged = &events[events.len() - 2];
            assert_eq!((&judged["kind"], &judged["findings"]), (&json!("judged"), &json!(recorded.len())), "{text}");
            let (_, chart, _) = view(dir.path(), &[trace]);
            assert_eq!(chart.matches(" server breaks ").count(), recorded.len(), "{flaw}: {chart}");
            shown_any |= !recorded.is_empty();
        }
        assert!(shown_any, "{flaw}: {stdout}{stderr}");
    }
}

#[test]
fn filters_narrow_what_is_shown() {
    let dir = folder(&[("t.trace", &trace(&[ASK, RIGHT]))]);
    let shown = |args: &[&str]| {
        let (code, stdout, stderr) = view(dir.path(), &[&["t.trace"], args].concat());
        assert_eq!((code, stderr.as_str()), (0, ""));
        stdout.lines().last().unwrap().split(" · ").nth(1).unwrap().to_owned()
    };
    assert_eq!(shown(&["--kind", "handshake"]), "2 shown");
    assert_eq!(shown(&["--conn", "m*"]), "5 shown");
    assert_eq!(shown(&["--conn", "other"]), "0 shown");
    assert_eq!(shown(&["--grep", "SERVERRESPONSE"]), "1 shown");
    assert_eq!(shown(&["--from", "1ms", "--to", "#2"]), "2 shown");
    let (code, _, stderr) = view(dir.path(), &["t.trace", "--kind", "mesage"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("did you mean `message`?"), "{stderr}");
    assert_eq!(view(dir.path(), &["t.trace", "--from", "#x"]).0, 2);
}

#[test]
fn payloads_are_whole_where_that_is_asked_for() {
    let long = format!(r#">{{"clientRequest":{{"id":"1","ping":{{"message":"{}"}}}}}}"#, "x".repeat(500));
    let dir = folder(&[("t.trace", &trace(&[&long]))]);
    let (_, stdout, _) = view(dir.path(), &["t.trace", "--full"]);
    assert!(stdout.contains(&"x".repeat(500)) && stdout.contains("Sec-WebSocket-Version: 13"), "{stdout}");
    assert!(!view(dir.path(), &["t.trace"]).1.contains(&"x".repeat(500)));
}

#[test]
fn nothing_in_a_trace_steers_the_terminal() {
    let hostile = "\u{1b}[2J\u{9b}1m\u{202e}\r";
    let event =
        json!({"conn": hostile, "dir": "s2c", "kind": "bytes", "bytes": {"text": hostile}, "deliberate": hostile});
    let dir = folder(&[("t.trace", &lines(&[event]))]);
    for args in [vec!["t.trace"], vec!["t.trace", "--full"], vec!["t.trace", "--diff", "t.trace"]] {
        let (_, stdout, stderr) = view(dir.path(), &args);
        let all = stdout + &stderr;
        assert!(!all.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{all:?}");
    }
}

#[test]
fn a_trace_that_cannot_be_read_keeps_no_other_from_being_shown() {
    let dir = folder(&[("t.trace", &trace(&[ASK])), ("bad.trace", "no trace")]);
    let (code, stdout, stderr) = view(dir.path(), &["bad.trace", "t.trace", "missing.trace"]);
    assert_eq!(code, 2);
    assert!(stdout.contains("ping #1") && stderr.contains("bad.trace") && stderr.contains("missing.trace"), "{stderr}");
}

#[test]
fn a_cut_trace_is_shown_as_far_as_it_goes() {
    let whole = trace(&[ASK, RIGHT]);
    let cut = whole.lines().take(6).collect::<Vec<_>>().join("\n");
    let (code, stdout, _) = view(folder(&[("t.trace", &cut)]).path(), &["t.trace"]);
    assert_eq!(code, 0);
    assert!(stdout.ends_with("the trace was cut: its end is missing\n"), "{stdout}");
}

#[test]
fn a_page_is_one_file_that_needs_no_other() {
    let dir = folder(&[("t.trace", &trace(&[ASK, WRONG]))]);
    let (code, stdout, stderr) = view(dir.path(), &["t.trace", "--html", "out/page.html"]);
    assert_eq!((code, stdout.as_str()), (0, ""), "{stderr}");
    let page = fs::read_to_string(dir.path().join("out/page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    for outside in ["http://", "https://", " src=", "<link", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(fs::read_dir(dir.path().join("out")).unwrap().count(), 1);
    let (code, _, stderr) = view(dir.path(), &["t.trace", "--html", "t.trace/page.html"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("cannot write t.trace/page.html"), "{stderr}");
    assert_eq!(view(dir.path(), &["t.trace", "t.trace", "--html", "x.html"]).0, 2);
}

#[test]
fn an_archive_has_the_socket_and_its_messages() {
    let dir = folder(&[("t.trace", &trace(&[ASK, RIGHT]))]);
    let (code, stdout, _) = view(dir.path(), &["t.trace", "--har", "-", "-q"]);
    assert_eq!(code, 0);
    let archive: Value = serde_json::from_str(&stdout).unwrap();
    let entry = &archive["log"]["entries"][0];
    assert_eq!(entry["request"]["url"], "ws://localhost:8123/?auth=<secret:1***>");
    assert_eq!(entry["response"]["status"], 101);
    let sorts: Vec<&str> =
        entry["_webSocketMessages"].as_array().unwrap().iter().map(|m| m["type"].as_str().unwrap()).collect();
    assert_eq!(sorts, ["send", "receive"]);
    assert_eq!(entry["_webSocketMessages"][1]["data"], &RIGHT[1..]);
}

#[test]
fn a_comparison_tells_what_is_different_and_ends_with_1_where_anything_is() {
    let other = r#">{"clientRequest":{"id":"9","ping":{"message":"ho"}}}"#;
    let dir = folder(&[("a.trace", &trace(&[ASK, RIGHT])), ("b.trace", &trace(&[other, RIGHT]))]);
    let (code, stdout, stderr) = view(dir.path(), &["a.trace", "--diff", "b.trace"]);
    assert_eq!((code, stderr.as_str()), (1, ""));
    assert!(stdout.starts_with("--- a.trace\n+++ b.trace\n"), "{stdout}");
    assert!(stdout.contains("    /clientRequest/ping/message\n      - \"hi\"\n      + \"ho\"\n"), "{stdout}");
    assert!(stdout.ends_with("different: 1 changed, 4 the same\n"), "{stdout}");
    let (code, stdout, _) = view(dir.path(), &["a.trace", "--diff", "a.trace"]);
    assert_eq!(code, 0);
    assert!(stdout.ends_with("no difference: 5 the same\n"), "{stdout}");
    assert_eq!(view(dir.path(), &["a.trace", "--diff", "missing.trace"]).0, 2);
    let (code, _, _) = view(dir.path(), &["a.trace", "--diff", "b.trace", "--html", "page.html"]);
    assert_eq!(code, 1);
    assert!(dir.path().join("page.html").exists());
}
