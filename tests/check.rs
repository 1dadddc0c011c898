//! `wirecert check`, from outside: what it prints, how it ends.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

use crate::program::wirecert_program;

const HEADER: &str = r#"{"version":1,"suite":"wirecert 0.1.0","protocol":"amp","edition":"cli","client":{"is":"peer","name":"wirecert"},"server":{"is":"subject","name":"editor"},"clock":{"unit":"us","start":"2026-01-02T03:04:05Z"}}"#;
const EVENT: &str = r#"{"i":0,"t":5,"kind":"mark","mark":"step","text":"begin"}"#;
const END: &str = r#"{"end":"complete","events":1}"#;

/// Exit code, stdout, stderr of `wirecert check` with these arguments, in a folder with these files.
fn check(files: &[(&str, &str)], args: &[&str]) -> (i32, String, String) {
    let dir = TempDir::new().unwrap();
    for (name, content) in files {
        fs::write(dir.path().join(name), content).unwrap();
    }
    run(dir.path(), args)
}

fn run(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(wirecert_program()).arg("check").args(args).current_dir(dir).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_trace_that_gives_no_rule_an_occasion_is_not_green() {
    let (code, stdout, stderr) = check(&[("t.jsonl", &lines(&[HEADER, EVENT, END]))], &["t.jsonl"]);
    assert_eq!(code, 4, "{stdout}{stderr}");
    assert!(stdout.contains("nothing in it is covered by a rule"), "{stdout}");
    assert_eq!(stderr, "");
}

/// A connection, a request with the id "1", and a response with this id.
fn answered(id: &str) -> String {
    let wire = |i: u32, dir: &str, json: &str| {
        let (masked, length, text) = (dir == "c2s", json.len(), serde_json::Value::from(json));
        let frame = format!(
            r#"{{"i":{i},"t":{i},"conn":"main","dir":"{dir}","kind":"frame","fin":true,"opcode":1,"masked":{masked},"length":{length},"payload":{{"text":{text}}}}}"#
        );
        let next = i + 1;
        let message = format!(
            r#"{{"i":{next},"t":{next},"conn":"main","dir":"{dir}","kind":"message","text":true,"json":{json},"frames":1}}"#
        );
        [frame, message]
    };
    let [request, asked] = wire(3, "c2s", r#"{"clientRequest":{"id":"1","ping":{"message":"hi"}}}"#);
    let answer = format!(r#"{{"serverResponse":{{"id":{id},"ping":{{"message":"hi"}}}}}}"#);
    let [response, answered] = wire(5, "s2c", &answer);
    lines(&[
        HEADER,
        r#"{"i":0,"t":0,"conn":"main","kind":"connected","address":"127.0.0.1:8123"}"#,
        r#"{"i":1,"t":1,"conn":"main","dir":"c2s","kind":"handshake","start":"GET /?auth=<secret:1***> HTTP/1.1","headers":[["Host","localhost:8123"],["Upgrade","websocket"],["Connection","Upgrade"],["Sec-WebSocket-Key","dGhlIHNhbXBsZSBub25jZQ=="],["Sec-WebSocket-Version","13"]]}"#,
        r#"{"i":2,"t":2,"conn":"main","dir":"s2c","kind":"handshake","start":"HTTP/1.1 101 Switching Protocols","headers":[["Upgrade","websocket"],["Connection","Upgrade"],["Sec-WebSocket-Accept","s3pPLMBiTxaQ9kYGzzhZRbK+xOo="]]}"#,
        &request,
        &asked,
        &response,
        &answered,
        r#"{"end":"complete","events":7}"#,
    ])
}

#[test]
fn a_sound_conversation_violates_nothing_and_the_verdict_is_partial() {
    let (code, stdout, stderr) = check(&[("t.jsonl", &answered("\"1\""))], &["t.jsonl"]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    assert!(stdout.starts_with("partial  editor (amp-server, edition cli)\n"), "{stdout}");
}

#[test]
fn a_violation_is_told_with_its_event_and_the_events_before_it() {
    let (code, stdout, _) = check(&[("t.jsonl", &answered("1"))], &["t.jsonl", "--report", "json=-"]);
    assert_eq!(code, 1);
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let findings = report["subjects"][0]["findings"].as_array().unwrap();
    let finding = findings.iter().find(|f| f["requirement"] == "amp/cli/envelope/id-string").unwrap();
    assert_eq!(finding["blame"], "subject");
    assert_eq!(finding["index"], 6);
    assert_eq!((&finding["expected"], &finding["actual"]), (&"1".into(), &1.into()));
    assert_eq!(finding["repro"], "wirecert check t.jsonl");
    let last = finding["last_events"].as_array().unwrap().last().unwrap();
    assert_eq!(last, r#"#6 0.000006s main ← message {"serverResponse":{"id":1,"ping":{"message":"hi"}}}"#);
}

#[test]
fn a_violation_that_the_baseline_lists_is_known() {
    let known =
        "- requirement: amp/cli/envelope/id-string\n  reason: old\n- requirement: amp/cli/envelope/id\n  reason: old\n";
    let files = [("t.jsonl", answered("1")), ("known.yaml", known.to_owned())];
    let files = files.each_ref().map(|(name, content)| (*name, content.as_str()));
    let (code, stdout, stderr) = check(&files, &["t.jsonl", "--baseline", "known.yaml"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert_eq!(check(&files, &["t.jsonl", "--baseline", "absent.yaml"]).0, 2);
}

#[test]
fn what_was_open_where_a_trace_was_cut_is_held_against_nobody() {
    let whole = answered("\"1\"");
    let request: String = whole.lines().take(6).map(|line| format!("{line}\n")).collect();
    let late = r#"{"i":5,"t":60000000,"kind":"mark","mark":"step","text":"a minute later"}"#;
    let (code, stdout, _) = check(&[("t", &format!("{request}{late}\n"))], &["t"]);
    assert_eq!(code, 0, "{stdout}");
    let end = r#"{"end":"complete","events":6}"#;
    let (code, stdout, _) = check(&[("t", &format!("{request}{late}\n{end}\n"))], &["t"]);
    assert_eq!(code, 1, "{stdout}");
}

#[test]
fn a_cut_trace_says_so() {
    let (code, stdout, _) = check(&[("t.jsonl", &lines(&[HEADER, EVENT]))], &["t.jsonl"]);
    assert_eq!(code, 4);
    assert!(stdout.contains("t.jsonl was cut after 1 events: what was open then is not judged"), "{stdout}");
}

#[test]
fn a_trace_that_cannot_be_read_is_told_with_its_place_and_a_remedy_and_hides_no_other_one() {
    let torn = lines(&[HEADER, r#"{"i":0,"t":"x"}"#]);
    let whole = lines(&[HEADER, EVENT, END]);
    let (code, stdout, stderr) = check(&[("torn", &torn), ("whole", &whole)], &["torn", "absent", "whole"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("torn:2:14: invalid type: string \"x\", expected u64"), "{stderr}");
    assert!(stderr.contains("record it again"), "{stderr}");
    assert!(stderr.contains("absent: cannot be opened: No such file or directory"), "{stderr}");
    assert!(stdout.contains("whole"), "{stdout}");
}

#[test]
fn an_unknown_protocol_or_edition_is_wrong_usage_with_a_suggestion() {
    let trace = lines(&[HEADER, EVENT, END]);
    let (code, stdout, stderr) = check(&[("t", &trace)], &["t", "--edition", "cil"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(
        stderr.contains("amp has no edition `cil`") && stderr.contains("did you mean `--edition cli`?"),
        "{stderr}"
    );
    let other = trace.replace("\"amp\"", "\"gopher\"");
    let (code, _, stderr) = check(&[("t", &other)], &["t"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("the protocol `gopher` is not known here"), "{stderr}");
}

#[test]
fn a_trace_comes_from_stdin_too() {
    let output = Command::new(wirecert_program()).args(["check", "-"]).write_stdin("junk\n").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("<stdin>:1:1: the first line is no header of a trace: expected value"), "{stderr}");
}

#[test]
fn the_json_report_names_trace_and_verdict() {
    let trace = lines(&[HEADER, EVENT, END]);
    let (_, stdout, _) = check(&[("t.jsonl", &trace)], &["t.jsonl", "--report", "json=-"]);
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["verdict"], "incomplete");
    assert_eq!(report["subjects"][0]["name"], "editor");
    assert_eq!(report["subjects"][0]["role"], "amp-server");
    assert_eq!(report["subjects"][0]["scenarios"][0]["trace"], "t.jsonl");
}
