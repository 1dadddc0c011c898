//! What several subjects, and our own mocks, may ask for at the same time.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::json;
use tempfile::TempDir;

use crate::program::wirecert_program;

const FILTER: &str = "id(*/ping/echo)";

/// Exit code, stdout, stderr of `wirecert` with these arguments in a folder, outside of CI.
fn wirecert(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(wirecert_program());
    let output = command.args(args).current_dir(dir).env_remove("CI").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Our mock of an editor as a subject of this name.
fn editor(name: &str) -> serde_json::Value {
    let program = wirecert_program();
    let launch = [program, "mock", "amp-server", "--edition", "cli", "--workspace", "{workspace}"];
    json!({"name": name, "role": "amp-server", "edition": "cli", "launch": launch})
}

fn files(dir: &Path) -> Vec<String> {
    fn walk(dir: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, root, found);
            } else {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    let mut found = vec![];
    walk(dir, dir, &mut found);
    found.sort();
    found
}

#[test]
fn subjects_of_one_role_do_not_write_over_each_others_traces() {
    let dir = TempDir::new().unwrap();
    let both = json!({"subjects": [editor("my editor"), editor("another")]}).to_string();
    fs::write(dir.path().join("wirecert.yaml"), both).unwrap();
    let (code, stdout, stderr) = wirecert(dir.path(), &["certify", "--filter", FILTER, "--trace-dir", "traces", "-q"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let expected = ["another", "my-editor"].map(|name| format!("{name}/amp-server/cli/ping/echo.trace"));
    assert_eq!(files(&dir.path().join("traces")), expected);

    fs::write(dir.path().join("wirecert.yaml"), editor("my editor").to_string()).unwrap();
    wirecert(dir.path(), &["certify", "--filter", FILTER, "--trace-dir", "one", "-q"]);
    assert_eq!(files(&dir.path().join("one")), ["amp-server/cli/ping/echo.trace"]);
}

#[test]
fn subjects_of_one_role_have_snapshots_of_their_own() {
    let dir = TempDir::new().unwrap();
    let both = json!({"subjects": [editor("my editor"), editor("another")]}).to_string();
    fs::write(dir.path().join("wirecert.yaml"), both).unwrap();
    let args = ["certify", "--filter", FILTER, "--snapshots", "kept", "-q"];
    let (code, stdout, stderr) = wirecert(dir.path(), &args);
    assert_eq!(code, 5, "{stdout}{stderr}");
    let expected = ["another", "my-editor"].map(|name| format!("{name}/amp-server/cli/ping/echo.snap.new"));
    assert_eq!(files(&dir.path().join("kept")), expected);
    wirecert(dir.path(), &["snapshot", "accept", "--snapshots", "kept"]);
    let (code, stdout, stderr) = wirecert(dir.path(), &args);
    assert_eq!(code, 0, "{stdout}{stderr}");

    // What is known to be another edition plays other scenarios.
    let mut guide = editor("another");
    guide["edition"] = json!("guide");
    guide["launch"][4] = json!("guide");
    fs::write(dir.path().join("wirecert.yaml"), json!({"subjects": [editor("my editor"), guide]}).to_string()).unwrap();
    wirecert(dir.path(), &["certify", "--filter", "id(*/discovery/lockfile)", "--snapshots", "one", "-q"]);
    let expected = ["cli", "guide"].map(|edition| format!("amp-server/{edition}/discovery/lockfile.snap.new"));
    assert_eq!(files(&dir.path().join("one")), expected);
}

#[test]
fn our_own_mocks_are_not_observed() {
    let dir = TempDir::new().unwrap();
    for args in [&["certify", "--self", "--observe", "1s"][..], &["certify", "amp-client", "--self", "--observe", "1s"]]
    {
        let (code, stdout, stderr) = wirecert(dir.path(), args);
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains("`--self` certifies our own mocks, which are driven"), "{stderr}");
        assert!(stderr.contains("leave out `--observe`"), "{stderr}");
    }
}

#[test]
fn snapshots_are_as_strong_as_is_asked_for_and_otherwise_as_the_one_that_is_there() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let subject = editor("editor").to_string();
    fs::write(dir.join("wirecert.yaml"), &subject).unwrap();
    let run = |more: &[&str]| {
        let args = [&["certify", "--filter", FILTER, "--snapshots", "pinned"], more].concat();
        let (code, stdout, stderr) = wirecert(dir, &args);
        assert!(code == 0 || code == 5, "{stdout}{stderr}");
        (code, files(&dir.join("pinned")))
    };
    let accept = || wirecert(dir, &["snapshot", "accept", "--snapshots", "pinned"]);
    let shape = "amp-server/cli/ping/echo.shape.snap";
    let exact = "amp-server/cli/ping/echo.snap";
    assert_eq!(run(&["--snapshot-strength", "shape"]), (5, vec![format!("{shape}.new")]));
    accept();
    let text = fs::read_to_string(dir.join("pinned").join(shape)).unwrap();
    assert!(text.contains("\"message\": string") && !text.contains("\"message\": \""), "{text}");
    assert_eq!(run(&[]), (0, vec![shape.to_owned()]), "what is pinned by its shape stays so");
    assert_eq!(run(&["--snapshot-strength", "exact"]), (5, vec![shape.to_owned(), format!("{exact}.new")]));
    accept();
    assert_eq!(run(&[]), (0, vec![shape.to_owned(), exact.to_owned()]));

    let mut chosen = editor("editor");
    chosen["snapshots"] = json!("chosen");
    chosen["snapshot_strength"] = json!("shape");
    fs::write(dir.join("wirecert.yaml"), chosen.to_string()).unwrap();
    wirecert(dir, &["certify", "--filter", FILTER]);
    assert_eq!(files(&dir.join("chosen")), [format!("{shape}.new")]);
    chosen["snapshot_strength"] = json!("shapes");
    fs::write(dir.join("wirecert.yaml"), chosen.to_string()).unwrap();
    let (code, _, stderr) = wirecert(dir, &["certify", "--filter", FILTER]);
    assert!(code == 2 && stderr.contains("shapes"), "{stderr}");
}
