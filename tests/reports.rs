//! Reports from outside: where they go, and what happens where they cannot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::program::wirecert_program;

const TRACE: &str = concat!(
    r#"{"version":1,"suite":"wirecert 0.1.0","protocol":"amp","edition":"cli","client":{"is":"peer","name":"wirecert"},"#,
    r#""server":{"is":"subject","name":"editor"},"clock":{"unit":"us","start":"2026-01-02T03:04:05Z"}}"#,
    "\n",
    r#"{"i":0,"t":5,"kind":"mark","mark":"step","text":"begin"}"#,
    "\n",
    r#"{"end":"complete","events":1}"#,
    "\n"
);

fn folder() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("t.jsonl"), TRACE).unwrap();
    dir
}

fn check(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(wirecert_program());
    command.current_dir(dir).args(["check", "t.jsonl"]).args(args);
    command
}

fn run(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = check(dir, args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn every_report_that_is_asked_for_is_written_and_folders_are_made() {
    let dir = folder();
    let reports = ["--report", "json=out/a/r.json", "--report", "junit=out/r.xml", "--report", "text=r.txt"];
    let (code, stdout, stderr) = run(dir.path(), &reports);
    assert_eq!((code, stderr.as_str()), (Some(4), ""));
    let read = |path: &str| fs::read_to_string(dir.path().join(path)).unwrap();
    assert!(stdout.starts_with("incomplete  editor (amp-server, edition cli)\n"), "{stdout}");
    assert!(read("r.txt").starts_with("incomplete  editor"));
    assert!(read("out/r.xml").starts_with("<?xml"));
    let report: serde_json::Value = serde_json::from_str(&read("out/a/r.json")).unwrap();
    assert_eq!((&report["version"], &report["verdict"]), (&1.into(), &"incomplete".into()));
}

#[test]
fn a_test_runner_and_a_page_are_told_that_a_run_is_not_green() {
    let dir = folder();
    let kinds = ["--report", "tap=r.tap", "--report", "badge=r.svg", "--report", "badge-json=r.json"];
    let (code, _, stderr) = run(dir.path(), &kinds);
    assert_eq!((code, stderr.as_str()), (Some(4), ""));
    let read = |path: &str| fs::read_to_string(dir.path().join(path)).unwrap();
    let tap = concat!(
        "TAP version 14\n# wirecert 0.1.0: incomplete\n1..1\n# Subtest: editor (amp-server, edition cli)\n    1..1\n",
        "    ok 1 - t.jsonl # SKIP nothing in it is covered by a rule\nnot ok 1 - editor (amp-server, edition cli): incomplete\n  ---\n",
        "  message: \"a `must` was neither assessed nor excused, or nothing was assessed\"\n  severity: fail\n  ...\n",
    );
    assert_eq!(read("r.tap"), tap);
    let badge: serde_json::Value = serde_json::from_str(&read("r.json")).unwrap();
    assert_eq!((&badge["label"], &badge["message"]), (&"wirecert amp-server".into(), &"incomplete".into()));
    assert!(read("r.svg").contains("<title id=\"title\">wirecert amp-server: incomplete</title>"));
}

/// What a parser of the Test Anything Protocol reads out of a report. `tests/interop/setup` installs it.
fn parsed_tap(file: &Path) -> (Option<i32>, serde_json::Value) {
    let parser = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/interop/descriptions/node_modules/.bin/tap-parser");
    assert!(parser.exists(), "what reads TAP is not installed: run tests/interop/setup");
    let input = fs::File::open(file).expect("a report");
    let output = Command::new(parser).args(["--json", "--strict"]).stdin(input).output().expect("it can be run");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    (output.status.code(), serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}")))
}

#[test]
fn a_parser_of_the_test_anything_protocol_reads_what_passed_and_what_failed() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("greet.yaml"), GREET).unwrap();
    let report = |flaws: &[&str], expected: i32| {
        let (code, ..) = played(&dir, &["greet.yaml", "--trace-dir", "traces", "--report", "tap=r.tap"], flaws);
        assert_eq!(code, Some(expected));
        let (code, read) = parsed_tap(&dir.path().join("r.tap"));
        let end = read.as_array().and_then(|events| events.iter().find(|event| event[0] == "complete"));
        (code, end.unwrap_or_else(|| panic!("no end: {read}"))[1].clone())
    };
    let (code, sound) = report(&[], 0);
    assert_eq!((code, &sound["ok"], &sound["failures"]), (Some(0), &true.into(), &serde_json::json!([])));
    let (code, flawed) = report(&["ping-says-pong"], 1);
    assert_eq!((code, &flawed["ok"]), (Some(1), &false.into()), "{flawed}");
    assert!(flawed["fail"].as_u64() >= Some(1), "{flawed}");
}

#[test]
fn a_report_on_stdout_has_it_alone_and_people_read_stderr() {
    let dir = folder();
    let (code, stdout, stderr) = run(dir.path(), &["--report", "json=-"]);
    assert_eq!(code, Some(4));
    assert!(serde_json::from_str::<serde_json::Value>(&stdout).is_ok(), "{stdout}");
    assert!(stderr.starts_with("incomplete  editor"), "{stderr}");
}

#[test]
fn a_report_that_cannot_be_written_is_told_and_loses_nothing_else() {
    let dir = folder();
    let (code, stdout, stderr) = run(dir.path(), &["--report", "json=t.jsonl/r.json", "--report", "text=r.txt"]);
    assert_eq!(code, Some(2));
    assert!(stdout.starts_with("incomplete  editor"), "{stdout}");
    assert!(stderr.starts_with("error[report]: cannot write the report t.jsonl/r.json: "), "{stderr}");
    assert!(dir.path().join("r.txt").exists());
    assert_eq!(fs::read_to_string(dir.path().join("t.jsonl")).unwrap(), TRACE);
}

#[test]
fn a_kind_of_report_that_does_not_exist_is_wrong_usage() {
    let dir = folder();
    let (code, _, stderr) = run(dir.path(), &["--report", "jnuit=r.xml"]);
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains(
            "there is no report `jnuit`, only json, junit, sarif, html, markdown, github, tap, badge, badge-json, certificate, text; \
             did you mean `junit`?"
        ),
        "{stderr}"
    );
}

#[test]
fn the_exit_code_tells_the_outcome_although_nobody_reads_the_report() {
    let dir = folder();
    let mut child = check(dir.path(), &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(4), &b""[..]));
}

#[test]
fn a_failed_play_keeps_its_trace_when_it_is_played_again() {
    let dir = TempDir::new().unwrap();
    let wirecert = wirecert_program();
    let mut certify = Command::new(wirecert);
    certify.current_dir(dir.path()).args([
        "certify",
        "amp-server",
        "--edition",
        "cli",
        "--repeat",
        "2",
        "--timeout",
        "1s",
        "-q",
    ]);
    certify.args([
        "--filter",
        "id(amp-server/cli/connection/token-wrong)",
        "--trace-dir",
        "t",
        "--report",
        "json=r.json",
    ]);
    certify.arg("--").arg(wirecert).args(["mock", "amp-server", "--flaw", "accepts-wrong-token"]);
    assert_eq!(certify.output().unwrap().status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&fs::read(dir.path().join("r.json")).unwrap()).unwrap();
    let scenario = "t/amp-server/cli/connection/token-wrong";
    let shown = &report["subjects"][0]["findings"][0]["trace"];
    assert_eq!(shown, &format!("{scenario}.1.trace"), "{report}");
    for trace in [format!("{scenario}.1.trace"), format!("{scenario}.trace")] {
        assert!(dir.path().join(trace).exists());
    }
}

/// A scenario in which the subject has to answer with the message that was sent.
const GREET: &str = "wirecert: 1
title: A greeting is answered
role: amp-server
edition: cli
steps:
  - connect: {}
  - request: { as: a, method: ping, params: { message: hello } }
  - expect: { response: { to: a, result: { message: hello } }, proves: ping/echo }
";

/// Plays scenarios at our own mock of an editor, wrong in some ways, with a temporary folder of its own: `tmp`. Gives the
/// exit code, stderr and the report.
fn played(dir: &TempDir, options: &[&str], flaws: &[&str]) -> (Option<i32>, String, serde_json::Value) {
    let wirecert = wirecert_program();
    let temporary = dir.path().join("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let mut run = Command::new(wirecert);
    run.current_dir(dir.path()).env("TMPDIR", &temporary).args([
        "run",
        "--progress",
        "none",
        "--report",
        "json=r.json",
    ]);
    run.args(["--jobs", "1"]).args(options).arg("--").arg(wirecert).args(["mock", "amp-server", "--edition", "cli"]);
    run.args(["--workspace", "{workspace}"]).args(flaws.iter().flat_map(|flaw| ["--flaw", *flaw]));
    let output = run.output().unwrap();
    let report = serde_json::from_slice(&fs::read(dir.path().join("r.json")).unwrap()).unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap(), report)
}

/// What is left in the temporary folder.
fn left(dir: &TempDir) -> Vec<PathBuf> {
    fs::read_dir(dir.path().join("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn the_traces_of_failed_plays_are_kept_unasked_and_nothing_else_is_left_behind() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("greet.yaml"), GREET).unwrap();
    let (code, stderr, report) = played(&dir, &["greet.yaml", "--repeat", "2"], &["ping-says-pong"]);
    assert_eq!(code, Some(1), "{stderr}");
    let [folder] = &left(&dir)[..] else { panic!("one folder is left: {stderr}") };
    assert!(folder.file_name().unwrap().to_str().unwrap().starts_with("wirecert-"), "{folder:?}");
    let reported =
        format!("the traces of the 2 plays that failed or could not be judged are in {}\n", folder.display());
    assert_eq!(stderr.matches(&reported).count(), 1, "{stderr}");
    let trace = folder.join("amp-server/cli/user/greet.trace");
    let subject = &report["subjects"][0];
    assert_eq!(subject["findings"][0]["trace"], trace.to_str().unwrap());
    assert_eq!(subject["scenarios"][0]["trace"], trace.to_str().unwrap());
    assert!(folder.join("amp-server/cli/user/greet.2.trace").exists());
    let check = Command::new(wirecert_program()).arg("check").arg(&trace).output().unwrap();
    assert_eq!(check.status.code(), Some(1), "it can be judged again: {check:?}");
    let text = fs::read_to_string(&trace).unwrap();
    assert!(text.lines().last().unwrap().starts_with("{\"end\":\"complete\""), "{text}");
    fs::remove_dir_all(folder).unwrap();

    let (code, stderr, report) = played(&dir, &["greet.yaml"], &[]);
    assert_eq!((code, left(&dir).len()), (Some(0), 0), "{stderr}");
    assert_eq!(report["subjects"][0]["scenarios"][0]["trace"], serde_json::Value::Null);

    // What is known is nothing to be looked at, and what was asked for is where it was asked for.
    fs::write(dir.path().join("known.yaml"), "- requirement: amp/cli/ping/echo\n  reason: known\n").unwrap();
    for options in [["greet.yaml", "--baseline", "known.yaml"], ["greet.yaml", "--trace-dir", "traces"]] {
        let (_, stderr, _) = played(&dir, &options, &["ping-says-pong"]);
        assert_eq!(left(&dir).len(), 0, "{stderr}");
    }
}

#[test]
fn a_report_tells_in_which_order_the_scenarios_were_played_at_a_process() {
    let dir = TempDir::new().unwrap();
    for name in ["a", "b", "d"] {
        fs::write(dir.path().join(format!("{name}.yaml")), GREET).unwrap();
    }
    fs::write(dir.path().join("c.yaml"), GREET.replace("steps:", "isolation: own\nsteps:")).unwrap();
    let files = ["a.yaml", "b.yaml", "c.yaml", "d.yaml"];
    let (code, stderr, report) = played(&dir, &[&files[..], &["--repeat", "2"]].concat(), &[]);
    assert_eq!(code, Some(0), "{stderr}");
    let turns = |list: &serde_json::Value| -> Vec<(u64, u64)> {
        let number = |item: &serde_json::Value, key: &str| item[key].as_u64().unwrap();
        list.as_array().unwrap().iter().map(|item| (number(item, "process"), number(item, "position"))).collect()
    };
    let scenarios = &report["subjects"][0]["scenarios"];
    assert!(scenarios.as_array().unwrap().iter().all(|s| s["job"] == 1), "{scenarios:#}");
    // The process that finds out the edition is the first; what has one of its own comes first.
    assert_eq!(turns(scenarios), [(1, 1), (1, 3), (2, 1), (1, 5)], "{scenarios:#}");
    assert_eq!(turns(&scenarios[1]["attempts"]), [(1, 3), (1, 4)]);
    assert_eq!(turns(&scenarios[2]["attempts"]), [(2, 1), (3, 1)]);
}
