//! `wirecert shrink`: the least of a scenario that still fails.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use assert_cmd::Command;

use crate::program::wirecert_program;

struct Bench {
    dir: tempfile::TempDir,
}

/// What came of a run of the command.
struct Reported {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder") }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).expect("it is written");
        path
    }

    /// Runs a command at our own editor with these flags.
    fn at(&self, command: &[&str], file: &Path, flags: &[&str]) -> Reported {
        let binary = wirecert_program();
        let mock = ["mock", "amp-server", "--edition", "cli", "--workspace", "{workspace}"];
        let run = Command::new(binary)
            .current_dir(self.dir.path())
            .args(&command[..1])
            .arg(file)
            .args(&command[1..])
            .arg("--")
            .arg(binary)
            .args(mock)
            .args(flags)
            .output()
            .expect("it runs");
        Reported {
            code: run.status.code(),
            stdout: String::from_utf8_lossy(&run.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&run.stderr).into_owned(),
        }
    }
}

const LONG: &str = r#"# About a day in the life of an editor.
wirecert: 1
title: A file is read after much else
role: amp-server
edition: [cli, guide]
vars: { name: notes.txt }
workspace: { notes.txt: "one\\two\n", other.txt: "other\n" }
steps:
  - connect: { as: other }
  - connect: {}
  # Somebody asks first.
  - request: { on: other, as: first, method: readFile, params: { path: "${workspace}/other.txt" } }
  - expect: { response: { on: other, to: first, result: { content: "other\n" } }, proves: read-file/content }
  - repeat:
      times: 2
      steps:
        - request: { as: again, method: readFile, params: { path: "${workspace}/other.txt" } }
        - expect: { response: { to: again } }
  # This is the one.
  - request: { as: read, method: readFile, params: { path: "${workspace}/${name}" } }
  - expect:
      response: { to: read, result: { content: "one\\two\n" }, error: { $absent: true } }
      proves: read-file/escapes
finally:
  - barrier: {}
"#;

fn steps(scenario: &str) -> Vec<&str> {
    scenario.lines().filter_map(|line| line.strip_prefix("  - ")?.split(':').next()).collect()
}

#[test]
fn what_is_left_of_a_failing_scenario_is_what_it_takes_to_fail() {
    let bench = Bench::new();
    let file = bench.file("long.yaml", LONG);
    let reported =
        bench.at(&["shrink", "--out", "least.yaml", "--repeat", "2"], &file, &["--flaw", "backslashes-doubled"]);
    assert_eq!(reported.code, Some(1), "{}{}", reported.stdout, reported.stderr);
    assert!(reported.stderr.contains("fails 2 of 2 times: amp/cli/read-file/escapes"), "{}", reported.stderr);
    let least = std::fs::read_to_string(bench.dir.path().join("least.yaml")).expect("it is there");
    assert_eq!(steps(&least), ["connect", "request", "expect"], "{least}");
    assert!(least.starts_with("# Shrunk by wirecert from long.yaml: 10 steps became 3.\n"), "{least}");
    assert!(
        least.contains("violates amp/cli/read-file/escapes") && least.contains("# Play it: wirecert run "),
        "{least}"
    );
    assert!(least.contains("# This is the one.\n") && !least.contains("Somebody asks first"), "{least}");
    assert!(!least.contains("other.txt") && !least.contains("finally") && least.contains(r#""\\""#), "{least}");
    // It is a scenario as any other: it fails there, and passes where nothing is wrong.
    let least = bench.dir.path().join("least.yaml");
    assert_eq!(bench.at(&["run", "--progress", "none"], &least, &["--flaw", "backslashes-doubled"]).code, Some(1));
    assert_eq!(bench.at(&["run", "--progress", "none"], &least, &[]).code, Some(0));
}

#[test]
fn what_does_not_fail_is_told_from_what_cannot_be_played() {
    let bench = Bench::new();
    let file = bench.file("long.yaml", LONG);
    let reported = bench.at(&["shrink", "--edition", "cli"], &file, &[]);
    assert_eq!((reported.code, reported.stdout.as_str()), (Some(0), "it does not fail here: passed 3 of 3 times\n"));
    let reported = bench.at(&["shrink", "--edition", "cli"], &file, &["--no-such-flag"]);
    assert_eq!((reported.code, reported.stdout.as_str()), (Some(3), ""), "{}", reported.stderr);
    let other = bench.at(&["shrink", "--requirement", "ping/echo"], &file, &["--flaw", "backslashes-doubled"]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("ping/echo is not violated here, but amp/cli/read-file/escapes"), "{}", other.stderr);
}

#[test]
fn it_ends_when_it_is_told_to_with_the_best_so_far() {
    let bench = Bench::new();
    let file = bench.file("long.yaml", LONG);
    let arguments = ["shrink", "--repeat", "1", "--max-plays", "8", "--edition", "cli"];
    let reported = bench.at(&arguments, &file, &["--flaw", "backslashes-doubled"]);
    assert_eq!(reported.code, Some(1), "{}", reported.stderr);
    assert!(
        reported.stdout.contains("# There were to be no more plays: there may be more to take out.\n"),
        "{}",
        reported.stdout
    );
    assert!(steps(&reported.stdout).len() < 8, "{}", reported.stdout);
}

#[test]
fn an_interrupt_ends_it_with_the_best_so_far() {
    let bench = Bench::new();
    let file = bench.file("long.yaml", LONG);
    let binary = wirecert_program();
    let mut child = std::process::Command::new(binary)
        .args(["shrink", "--repeat", "1"])
        .arg(&file)
        .arg("--")
        .arg(binary)
        .args(["mock", "amp-server", "--edition", "cli", "--workspace", "{workspace}", "--flaw", "backslashes-doubled"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains(" plays: ") {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("text") > 0, "it ended before it took anything out");
    }
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
    std::io::copy(&mut stderr, &mut std::io::sink()).expect("it is read to its end");
    let run = child.wait_with_output().expect("it ends");
    let best = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(run.status.code(), Some(130), "{best}");
    assert!(best.contains("# It was interrupted: there may be more to take out.\n"), "{best}");
    assert!(steps(&best).len() < 8 && best.contains("proves: read-file/escapes"), "{best}");
}
