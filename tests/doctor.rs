//! `wirecert doctor` with a subject: whether its programs are there, whether it comes up, which stimuli work, what is missing.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::program::wirecert_program;

fn doctor(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(wirecert_program());
    let output = command.current_dir(dir).arg("doctor").args(args).output().expect("it can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The lines about the subject.
fn of_subject(stdout: &str) -> Vec<&str> {
    stdout.lines().skip_while(|line| !line.is_empty()).skip(1).collect()
}

/// A subject file of our own editor, with stimuli.
fn describe(dir: &Path, launch: &str, stimuli: &str) {
    let text = format!(
        "name: my-editor\nrole: amp-server\nedition: cli\n\
         launch: [\"{launch}\", mock, amp-server, --edition, cli, --workspace, \"{{workspace}}\", --control, \"{{run_dir}}/c\"]\n\
         {stimuli}"
    );
    fs::write(dir.join("wirecert.yaml"), text).expect("it can be written");
}

#[test]
fn a_subject_is_started_and_each_stimulus_is_tried() {
    let dir = TempDir::new().unwrap();
    let program = wirecert_program();
    let steer = |name: &str, params: &str| {
        format!("  {name}: [\"{program}\", mock, amp-server, --steer, \"{{run_dir}}/c\", {name}{params}]\n")
    };
    let [open, close] = ["open", "close"].map(|name| steer(name, ", \"path={path}\""));
    let stimuli = ["stimuli:\n", &open, &close, &steer("message", ", \"message={message}\"")].concat();
    describe(dir.path(), wirecert_program(), &stimuli);
    let (code, stdout, stderr) = doctor(dir.path(), &[]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    let lines = of_subject(&stdout);
    assert_eq!(lines[0], "my-editor (amp-server)", "{stdout}");
    for (line, begins) in lines[1..].iter().zip([
        "ok    launch            ",
        "ok    program of close  ",
        "ok    program of message ",
        "ok    program of open   ",
        "ok    start             edition cli, after ",
        "ok    stimulus open     done after ",
        "ok    stimulus message  done after ",
        "ok    stimulus close    done after ",
        "ok    suite             ",
        "warn  skipped           ",
    ]) {
        assert!(line.starts_with(begins), "{begins}: {stdout}");
    }
    assert!(stdout.contains(" skipped: the subject offers no stimulus `edit`\n"), "{stdout}");
    assert!(!dir.path().join("wirecert-doctor").exists(), "nothing is left behind");
}

#[test]
fn a_stimulus_that_fails_and_a_subject_that_does_not_come_up_are_bad() {
    let dir = TempDir::new().unwrap();
    describe(dir.path(), wirecert_program(), "stimuli:\n  open: [\"/bin/sh\", -c, \"echo no window >&2; exit 7\"]\n");
    let (code, stdout, _) = doctor(dir.path(), &[]);
    assert_eq!(code, Some(3), "{stdout}");
    assert!(stdout.contains("bad   stimulus open     the stimulus `open` failed: "), "{stdout}");
    assert!(stdout.contains("no window"), "its own words: {stdout}");

    describe(dir.path(), "/bin/false", "");
    let (code, stdout, _) = doctor(dir.path(), &[]);
    assert_eq!(code, Some(3), "{stdout}");
    assert!(of_subject(&stdout).iter().any(|line| line.starts_with("bad   start ")), "{stdout}");
}

#[test]
fn programs_that_are_not_there_are_told_all_at_once_and_nothing_is_started() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("plain"), "").unwrap();
    describe(
        dir.path(),
        "my-editor-nobody-has",
        "stimuli:\n  open: [./plain]\n  close: [./nowhere]\n  quit: [sh, -c, exit]\n",
    );
    let (code, stdout, stderr) = doctor(dir.path(), &[]);
    assert_eq!((code, stderr.as_str()), (Some(3), ""), "{stdout}");
    for said in [
        "bad   launch            there is no program `my-editor-nobody-has` in any folder of PATH\n",
        "/plain cannot be executed\n",
        "/nowhere is not there\n",
        "ok    program of quit   /",
    ] {
        assert!(stdout.contains(said), "{said}: {stdout}");
    }
    assert!(!stdout.contains(" start "), "{stdout}");

    describe(dir.path(), wirecert_program(), "");
    let (code, stdout, _) = doctor(dir.path(), &["--no-start"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert_eq!(of_subject(&stdout).len(), 2, "{stdout}");
    fs::write(dir.path().join("wirecert.yaml"), "role: amp-sever\n").unwrap();
    let (code, stdout, stderr) = doctor(dir.path(), &[]);
    assert_eq!(code, Some(2), "{stdout}");
    assert!(stdout.contains("ok    platform") && stderr.contains("wirecert.yaml:1:7"), "{stdout}{stderr}");
}

#[test]
fn what_needs_no_decision_is_mended_when_asked_for() {
    let dir = TempDir::new().unwrap();
    let home = TempDir::new().unwrap();
    let lockfiles = home.path().join("amp/ide");
    fs::create_dir_all(&lockfiles).unwrap();
    let lockfile = |name: &str, pid: u32| fs::write(lockfiles.join(name), format!("{{\"pid\": {pid}}}")).unwrap();
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    lockfile("1.json", gone.id());
    lockfile("2.json", std::process::id());
    fs::write(lockfiles.join("3.json"), "{").unwrap();
    fs::write(dir.path().join("plain"), "#!/bin/sh\n").unwrap();
    describe(dir.path(), wirecert_program(), "stimuli:\n  open: [./plain]\n");
    let doctor = |args: &[&str]| {
        let mut command = Command::new(wirecert_program());
        command.current_dir(dir.path()).env("AMP_DATA_HOME", home.path()).args(["doctor", "--no-start"]).args(args);
        let output = command.output().expect("it can be run");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };

    let (code, stdout) = doctor(&[]);
    assert_eq!(code, Some(3), "{stdout}");
    assert!(stdout.contains("has a lockfile of an editor that has gone, which clients may try"), "{stdout}");
    assert!(stdout.contains("/plain cannot be executed\n"), "{stdout}");
    assert!(lockfiles.join("1.json").exists(), "nothing is mended unasked");

    let (code, stdout) = doctor(&["--fix"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("removed a lockfile of an editor that has gone\n"), "{stdout}");
    assert!(stdout.contains("/plain was made executable\n"), "{stdout}");
    let left = ["1.json", "2.json", "3.json"].map(|name| lockfiles.join(name).exists());
    assert_eq!(left, [false, true, true], "others keep theirs");

    let (code, stdout) = doctor(&[]);
    assert_eq!(code, Some(0), "{stdout}");
}

#[test]
fn a_client_is_met_once() {
    let dir = TempDir::new().unwrap();
    let program = wirecert_program();
    let text = format!("name: my-agent\nrole: openctx-client\nlaunch: [\"{program}\", mock, openctx-client]\n");
    fs::write(dir.path().join("it.yaml"), text).unwrap();
    let (code, stdout, stderr) = doctor(dir.path(), &["--subject", "it.yaml"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert!(
        stdout.contains("\nmy-agent (openctx-client)\n")
            && stdout.contains("ok    start             edition 0.1, after "),
        "{stdout}"
    );
}
