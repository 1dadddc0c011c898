//! `wirecert fuzz`: generated traffic.

use std::path::Path;

use assert_cmd::Command;

use crate::program::wirecert_program;

struct Reported {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn fuzz(dir: &Path, args: &[&str], flags: Option<&[&str]>) -> Reported {
    let binary = wirecert_program();
    let mut command = Command::new(binary);
    command.current_dir(dir).arg("fuzz").args(args);
    if flags.is_none() {
        command.arg("--self");
    }
    if let Some(flags) = flags {
        let mock = ["mock", "amp-server", "--edition", "cli", "--workspace", "{workspace}"];
        command.arg("--").arg(binary).args(mock).args(flags);
    }
    let run = command.output().expect("it runs");
    Reported {
        code: run.status.code(),
        stdout: String::from_utf8_lossy(&run.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&run.stderr).into_owned(),
    }
}

#[test]
fn a_sound_mock_of_any_role_is_accused_of_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    for (role, edition, cases) in [
        ("amp-server", "cli", 30),
        ("amp-server", "guide", 16),
        ("amp-client", "cli", 12),
        ("amp-client", "guide", 8),
        ("openctx-provider", "0.1", 32),
        ("openctx-client", "0.1", 12),
        ("amplifier-server", "2025-12-09", 24),
        ("amplifier-client", "2025-12-09", 12),
    ] {
        let cases = cases.to_string();
        // A client has a process for each case, which is not looked at; a server needs some for each of its processes.
        let measured = !role.ends_with("-client");
        let jobs = if measured { "2" } else { "8" };
        let mut args = vec![role, "--edition", edition, "--seed", "11", "--cases", &cases, "--strict"];
        args.extend(["--jobs", jobs]);
        let reported = fuzz(dir.path(), &args, None);
        assert_eq!(reported.code, Some(0), "{role} {edition}: {}{}", reported.stdout, reported.stderr);
        let (first, rest) = reported.stdout.split_once('\n').expect("a line");
        assert_eq!(first, format!("seed 11: {cases} cases judged; no requirement violated"), "{role} {edition}");
        assert_eq!(rest.starts_with("note: the subject's processes had "), measured, "{role} {edition}: {rest}");
    }
}

#[test]
fn a_flaw_is_found_and_a_scenario_that_shows_it_is_saved() {
    let dir = tempfile::tempdir().expect("a folder");
    let flawed = ["--flaw", "no-pong"];
    let args = ["amp-server", "--seed", "1", "--cases", "40", "--timeout", "500ms", "--out", "found"];
    let reported = fuzz(dir.path(), &args, Some(&flawed));
    assert_eq!(reported.code, Some(1), "{}{}", reported.stdout, reported.stderr);
    assert!(reported.stdout.contains("violated (must): amp/cli/framing/pong\n"), "{}", reported.stdout);
    let saved: Vec<_> = std::fs::read_dir(dir.path().join("found")).expect("a folder").flatten().collect();
    let of_pong = saved.iter().find(|f| f.file_name().to_string_lossy().starts_with("framing-pong-seed1-case"));
    let file = of_pong.unwrap_or_else(|| panic!("{saved:?}")).path();
    let text = std::fs::read_to_string(&file).expect("it is there");
    let steps: Vec<&str> = text.lines().filter(|line| line.starts_with("  - ")).collect();
    assert!(steps.len() <= 3 && steps.last().is_some_and(|s| s.contains("pong")), "{text}");
    let binary = wirecert_program();
    let again = |flags: &[&str]| {
        let mock = ["mock", "amp-server", "--edition", "cli", "--workspace", "{workspace}"];
        let mut run = Command::new(binary);
        run.env("TMPDIR", dir.path());
        run.args(["run", "--timeout", "500ms", "--progress", "none"]).arg(&file).arg("--").arg(binary);
        run.args(mock).args(flags).output().expect("it runs").status.code()
    };
    assert_eq!((again(&flawed), again(&[])), (Some(1), Some(0)));
}

/// A provider that answers everything, and keeps 64 KiB for each request.
const LEAKS: &str = r#"
import http.server, json, sys
kept = []
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        kept.append(b"x" * 65536)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.dumps({"result": {"name": "leaks"}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

#[test]
fn a_subject_that_keeps_what_it_needs_no_more_is_told_by_a_note_and_never_accused_of_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let report = |flags: &[&str]| {
        let args = ["fuzz", "openctx-provider", "--seed", "3", "--cases", "48", "--jobs", "1", "--report", "json=-"];
        let mut command = Command::new(wirecert_program());
        let run = command.current_dir(dir.path()).args(args).args(flags).output().expect("it runs");
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|e| panic!("{text}: {e}"))
    };
    let leaky = report(&["--", "python3", "-c", LEAKS, "{port}"]);
    let growth = leaky["memory"]["growth_per_case_bytes"].as_f64().expect("it was looked at");
    assert!(growth > 65_536.0, "a case has more than one request: {leaky:#}");
    assert!(leaky["memory"]["peak_bytes"].as_f64().expect("a number") > 40.0 * growth, "{leaky:#}");
    let note = leaky["notes"][0].as_str().expect("a note");
    assert!(note.contains(" more with each case, in the mean of "), "{note}");
    let memory = |finding: &serde_json::Value| finding["message"].to_string().contains("memory");
    assert!(!leaky["violations"].as_array().expect("a list").iter().any(memory), "{leaky:#}");
    let sound = report(&["--self"]);
    assert_eq!((&sound["violations"], &sound["counts"]["judged"]), (&serde_json::json!([]), &serde_json::json!(48)));
    let growth = sound["memory"]["growth_per_case_bytes"].as_f64().expect("it was looked at");
    assert!(growth < 65_536.0, "{sound:#}");
}

#[test]
fn the_same_seed_gives_the_same_cases_and_one_of_them_can_be_had_alone() {
    let dir = tempfile::tempdir().expect("a folder");
    let list = |args: &[&str]| fuzz(dir.path(), &[&["amp-server", "--list"], args].concat(), None).stdout;
    let some = list(&["--seed", "5", "--cases", "10"]);
    assert_eq!(some, list(&["--seed", "5", "--cases", "10"]));
    assert_ne!(some, list(&["--seed", "6", "--cases", "10"]));
    assert!(some.starts_with("# case 0\nwirecert: 1\n"), "{some}");
    assert!(some.contains(&list(&["--seed", "5", "--case", "7"])));
}

#[test]
fn wrong_usage_is_told_from_a_subject_that_does_not_start() {
    let dir = tempfile::tempdir().expect("a folder");
    let reported = fuzz(dir.path(), &["amp-servant"], None);
    assert_eq!(reported.code, Some(2));
    assert!(reported.stderr.contains("there is no role `amp-servant`"), "{}", reported.stderr);
    assert_eq!(fuzz(dir.path(), &["amp-server", "--edition", "cli"], Some(&["--no-such-flag"])).code, Some(3));
}
