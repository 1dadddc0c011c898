//! `wirecert snapshot`, from outside, in a folder without a cargo project.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

use crate::program::wirecert_program;

fn snapshot(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(wirecert_program());
    let output = command.arg("snapshot").args(args).current_dir(dir).write_stdin("").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A changed snapshot and a new one.
fn project() -> TempDir {
    let dir = TempDir::new().unwrap();
    let area = dir.path().join("snapshots/amp-server/cli/ping");
    fs::create_dir_all(&area).unwrap();
    let document = |body: &str| format!("---\nsource: wirecert\ndescription: \"x\"\ninput_file: \"y\"\n---\n{body}\n");
    fs::write(area.join("echo.snap"), document("connection main\n  → one")).unwrap();
    fs::write(area.join("echo.snap.new"), document("connection main\n  → two")).unwrap();
    fs::write(area.join("late.snap.new"), document("connection main")).unwrap();
    dir
}

fn tree(dir: &Path) -> Vec<String> {
    let area = dir.join("snapshots/amp-server/cli/ping");
    let mut names: Vec<String> =
        fs::read_dir(area).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn list_shows_what_is_pending_and_with_v_what_would_change() {
    let dir = project();
    let both = "snapshots/amp-server/cli/ping/echo.snap\nsnapshots/amp-server/cli/ping/late.snap\n";
    assert_eq!(snapshot(dir.path(), &["list"]), (0, both.into(), String::new()));
    let (_, stdout, _) = snapshot(dir.path(), &["list", "-v", "echo"]);
    let expected = "snapshots/amp-server/cli/ping/echo.snap\n--- snapshots/amp-server/cli/ping/echo.snap\n\
        +++ snapshots/amp-server/cli/ping/echo.snap.new\n@@ -1,2 +1,2 @@\n connection main\n-  → one\n+  → two\n";
    assert_eq!(stdout, expected);
}

#[test]
fn accept_and_reject_decide_about_what_the_filter_matches() {
    let dir = project();
    let (code, stdout, _) = snapshot(dir.path(), &["accept", "echo"]);
    assert_eq!((code, stdout.as_str()), (0, "accepted snapshots/amp-server/cli/ping/echo.snap\n"));
    assert_eq!(tree(dir.path()), ["echo.snap", "late.snap.new"]);
    let accepted = fs::read_to_string(dir.path().join("snapshots/amp-server/cli/ping/echo.snap")).unwrap();
    assert!(accepted.ends_with("---\nconnection main\n  → two\n"), "{accepted}");
    let (code, stdout, _) = snapshot(dir.path(), &["reject"]);
    assert_eq!((code, stdout.as_str()), (0, "rejected snapshots/amp-server/cli/ping/late.snap\n"));
    assert_eq!(tree(dir.path()), ["echo.snap"]);
    let nothing = (0, String::new(), "nothing is pending in snapshots\n".to_owned());
    assert_eq!(snapshot(dir.path(), &["accept"]), nothing);
}

#[test]
fn wrong_usage_decides_about_nothing() {
    let dir = project();
    for (args, complaint) in [
        (&["accept", "nowhere"][..], "no pending snapshot in snapshots matches `nowhere`"),
        (&["list", "--snapshots", "absent"], "there is no folder absent"),
        (&["review"], "there is nobody to ask: stdin is no terminal"),
    ] {
        let (code, stdout, stderr) = snapshot(dir.path(), args);
        assert_eq!((code, stdout.as_str()), (2, ""), "{args:?}");
        assert!(stderr.contains(complaint), "{stderr}");
    }
    assert_eq!(tree(dir.path()), ["echo.snap", "echo.snap.new", "late.snap.new"]);
}
