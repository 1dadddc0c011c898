//! `--watch`: runs again when a file changes, and ends when it is told to.

use crate::hostile;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::hostile::{GREET, Live, Place};
use crate::program::wirecert_program;
use serde_json::Value;

const WAITS: &str = " for changes; Ctrl-C ends";
const AGAIN: &str = " changed: running again";

/// Starts a command that watches, and writes its report to `r.json`.
fn start(place: &Place, args: &[&str], command: &[&str]) -> Live {
    let watch = ["--watch", "--progress", "none", "--run-dir", "runs", "--report", "json=r.json"];
    Live::start(&mut place.wirecert(&[args, &watch, command].concat()))
}

/// The verdict of the last report.
fn verdict(place: &Place) -> String {
    let report: Value = serde_json::from_slice(&fs::read(place.path("r.json")).unwrap()).unwrap();
    report["verdict"].as_str().unwrap().to_owned()
}

/// Waits until it has noticed that a file changed, and has run again.
fn again(run: &mut Live, file: &str) {
    run.hear(&format!("{file}{AGAIN}"));
    run.hear(WAITS);
}

/// An interrupt ends it: the last report stays, and nothing else.
fn ends(place: &Place, run: Live) {
    let before = fs::read(place.path("r.json")).unwrap();
    run.signal("INT");
    let outcome = run.outcome();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert_eq!(fs::read(place.path("r.json")).unwrap(), before);
    place.assert_nothing_left();
}

/// An editor that is a script, wrong in a way.
fn editor(place: &Place, flaw: &str) {
    let program = wirecert_program();
    let text = format!("#!/bin/sh\nexec {program} mock amp-server --edition cli --workspace \"$1\" {flaw}\n");
    let path = place.write("editor", text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_scenario_that_changes_is_played_again_and_an_interrupt_ends_it() {
    let place = Place::new();
    let command = ["--", wirecert_program(), "mock", "amp-server", "--edition", "cli", "--workspace", "{workspace}"];
    let mut run = start(&place, &["run", "greet.yaml"], &command);
    run.hear(WAITS);
    assert_eq!(verdict(&place), "partial");
    place.write("greet.yaml", GREET.replace("result: { message: hello }", "result: { message: goodbye }"));
    again(&mut run, "greet.yaml");
    assert_eq!(verdict(&place), "nonconforming");
    place.write("greet.yaml", GREET);
    again(&mut run, "greet.yaml");
    assert_eq!(verdict(&place), "partial");
    ends(&place, run);
}

#[test]
fn what_is_wrong_with_a_file_is_told_and_its_next_change_is_waited_for() {
    let place = Place::new();
    place.write("mine/greet.yaml", "wirecert: 1\ntitel: A misspelt key\n");
    let mut run = start(&place, &["run", "mine", "--self"], &[]);
    run.hear("titel");
    run.hear(WAITS);
    assert!(!place.path("r.json").exists());
    place.write("mine/greet.yaml", GREET);
    again(&mut run, "mine/greet.yaml");
    assert_eq!(verdict(&place), "partial");
    place.write("mine/other.yaml", GREET.replace("result: { message: hello }", "result: { message: goodbye }"));
    again(&mut run, "mine/other.yaml");
    assert_eq!(verdict(&place), "nonconforming");
    fs::remove_file(place.path("mine/other.yaml")).unwrap();
    again(&mut run, "mine/other.yaml");
    assert_eq!(verdict(&place), "partial");
    ends(&place, run);
}

#[test]
fn the_subjects_own_file_is_watched() {
    let place = Place::new();
    editor(&place, "--flaw ping-says-pong");
    let mut run = start(&place, &["run", "greet.yaml"], &["--", "./editor", "{workspace}"]);
    run.hear(WAITS);
    assert_eq!(verdict(&place), "nonconforming");
    editor(&place, "");
    again(&mut run, "/editor");
    assert_eq!(verdict(&place), "partial");
    ends(&place, run);
}

#[test]
fn the_description_of_the_subject_and_the_baseline_are_watched() {
    let place = Place::new();
    editor(&place, "--flaw ping-says-pong");
    let about = "role: amp-server\nedition: cli\nlaunch: [./editor, \"{workspace}\"]\nbaseline: known.yaml\n";
    place.write("wirecert.yaml", format!("name: first\n{about}"));
    place.write("known.yaml", "[]\n");
    let mut run = start(&place, &["certify", "--filter", "id(amp-server/cli/ping/echo*)"], &[]);
    run.hear(WAITS);
    assert_eq!(verdict(&place), "nonconforming");
    place.write("known.yaml", "- requirement: amp/cli/ping/echo\n  reason: known\n");
    again(&mut run, "known.yaml");
    assert_eq!(verdict(&place), "partial");
    place.write("wirecert.yaml", format!("name: second\n{about}"));
    again(&mut run, "wirecert.yaml");
    assert!(fs::read_to_string(place.path("r.json")).unwrap().contains("\"second\""));
    ends(&place, run);
}

#[test]
fn a_script_is_watched_and_what_a_subject_writes_to_is_no_change() {
    let place = Place::new();
    let script = |flaw: &str| {
        let program = wirecert_program();
        let text =
            format!("echo x >> \"$2\"\nexec {program} mock amp-server --edition cli --workspace \"$1\" {flaw}\n");
        place.write("editor.sh", text)
    };
    let path = script("--flaw ping-says-pong").display().to_string();
    let data = place.write("data", "").display().to_string();
    let mut run = start(&place, &["run", "greet.yaml"], &["--", "sh", &path, "{workspace}", &data]);
    run.hear(WAITS);
    script("");
    // Had it taken the other file for a change, it would say so first.
    let heard = run.next_line();
    assert!(heard.ends_with(&format!("editor.sh{AGAIN}\n")), "{heard}");
    run.hear(WAITS);
    assert_eq!(verdict(&place), "partial");
    ends(&place, run);
}

#[test]
fn an_interrupt_in_the_middle_of_a_run_is_reported_as_ever() {
    let place = Place::new();
    let mut pipe = place.pipe();
    let editor = hostile::editor();
    let mut command = place.run(&["greet.yaml", "--watch"], "never");
    assert!(command.get_args().any(|word| word == editor.as_str()));
    let run = Live::start(command.env("WIRECERT_TEST_TELL", &pipe.path));
    assert_eq!(pipe.word(), "started");
    run.signal("INT");
    let outcome = run.outcome();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert!(outcome.stdout.contains("interrupted: what is known so far"), "{}", outcome.stdout);
    place.assert_nothing_left();
}

#[test]
fn there_has_to_be_something_to_watch() {
    let place = Place::new();
    let outcome = place.outcome(&["certify", "--self", "--watch"]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.starts_with("error[usage]: there is no file to watch\n"), "{}", outcome.stderr);
    let listed = place.outcome(&["certify", "--list", "--watch"]);
    assert_eq!(listed.code, Some(2), "{}", listed.stderr);
}
