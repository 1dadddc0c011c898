//! Files and places that are no good: reported all at once, with what to do, and the verdict that is known is reported as well.

use crate::hostile;

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::hostile::{Outcome, Place, names};

/// The headlines of all errors on stderr.
fn errors(outcome: &Outcome) -> Vec<&str> {
    outcome.stderr.lines().filter(|line| line.starts_with("error")).collect()
}

fn bad_files(place: &Place) {
    place.write("bad/bomb.yaml", include_str!("scenario_errors/bomb.yaml"));
    place.write("bad/cycle.yaml", include_str!("scenario_errors/cycle.yaml"));
    place.write("bad/empty.yaml", "");
    place.write("bad/huge.yaml", "#".repeat(9 << 20));
    symlink("loop.yaml", place.path("bad/loop.yaml")).unwrap();
    place.write("bad/not-utf8.yaml", b"wirecert: 1\ntitle: \"\xff\"\n");
    assert!(Command::new("mkfifo").arg(place.path("bad/pipe.yaml")).status().unwrap().success());
    place.write("bad/typo.yaml", hostile::GREET.replace("steps:", "stepz:"));
    place.write("bad/zz-good.yaml", hostile::GREET);
}

#[test]
fn every_bad_scenario_file_is_told_and_none_hides_another() {
    let place = Place::new();
    bad_files(&place);
    let outcome = place.outcome(&["run", "bad", "nowhere.yaml"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
    for name in ["bomb", "cycle", "empty", "huge", "loop", "not-utf8", "pipe", "typo"] {
        assert!(outcome.stderr.contains(&format!("bad/{name}.yaml")), "{name}: {}", outcome.stderr);
    }
    assert!(outcome.stderr.contains("nowhere.yaml") && !outcome.stderr.contains("zz-good"), "{}", outcome.stderr);
    assert_eq!(names(&place.path("runs")), [""; 0]);
}

#[test]
fn a_bad_subject_or_baseline_file_is_told_by_its_name() {
    let place = Place::new();
    bad_files(&place);
    for name in ["bomb", "cycle", "empty", "huge", "loop", "not-utf8", "pipe", "nowhere"] {
        let file = format!("bad/{name}.yaml");
        for args in [&["certify", "--subject", &file][..], &["run", "greet.yaml", "--self", "--baseline", &file]] {
            let outcome = place.outcome(args);
            if (name, args[0]) == ("empty", "run") {
                continue;
            }
            assert_eq!(outcome.code, Some(2), "{args:?}: {outcome:?}");
            assert_eq!(errors(&outcome).len(), 1, "{args:?}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(&file), "{args:?}: {}", outcome.stderr);
        }
    }
}

#[test]
fn a_place_that_no_run_directory_can_be_made_in_is_told_with_another_way() {
    let place = Place::new();
    place.write("file", "");
    for place_of_run in ["file", "/dev/null"] {
        for outcome in [
            place.outcome(&["run", "greet.yaml", "--self", "--run-dir", place_of_run]),
            place.outcome(&["run", "greet.yaml", "--edition", "cli", "--run-dir", place_of_run, "--", "true"]),
        ] {
            assert_eq!(outcome.code, Some(3), "{outcome:?}");
            let reported =
                format!("error[subject/file]: could not make the folder {}", place.path(place_of_run).display());
            assert_eq!(errors(&outcome).len(), 1, "{}", outcome.stderr);
            assert!(errors(&outcome)[0].starts_with(&reported), "{}", outcome.stderr);
            assert!(
                outcome.stderr.contains(" = help: choose another place with `--run-dir DIR`\n"),
                "{}",
                outcome.stderr
            );
            assert!(outcome.verdict().starts_with("incomplete  "), "{}", outcome.stdout);
        }
    }
}

#[test]
fn a_place_that_no_trace_can_be_written_to_is_told_before_anything_is_played() {
    let place = Place::new();
    place.write("file", "");
    for dir in ["file", "file/below"] {
        let outcome = place.outcome(&["run", "greet.yaml", "--self", "--trace-dir", dir, "--run-dir", "runs"]);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(errors(&outcome)[0].starts_with(&format!("error[usage]: cannot keep traces in {dir}: ")));
        assert!(outcome.stderr.ends_with(" = help: give --trace-dir a folder that can be written\n"));
        assert!(!outcome.stderr.contains("PASS"), "{}", outcome.stderr);
    }
}

#[test]
fn a_report_that_cannot_be_written_keeps_neither_the_verdict_nor_the_other_reports() {
    let place = Place::new();
    place.write("file", "");
    let options = ["--report", "json=file/r.json", "--report", "text=runs", "--report", "junit=good.xml"];
    let outcome = place.run(&[&["greet.yaml"], &options[..]].concat(), "good").output().unwrap().into();
    let Outcome { code, stderr, .. } = &outcome;
    assert_eq!(*code, Some(2), "{stderr}");
    assert_eq!(errors(&outcome).len(), 2, "{stderr}");
    assert_eq!(stderr.matches(" = help: the verdict stands; run again with another --report path").count(), 2);
    assert!(outcome.stdout.contains("played  1 passed · 0 failed"), "{}", outcome.stdout);
    assert!(std::fs::read_to_string(place.path("good.xml")).unwrap().contains("<testsuites"));
    assert_eq!(names(&place.path("")), ["ask.yaml", "file", "good.xml", "greet.yaml", "runs"]);
}

/// Runs it where no file may grow beyond 1 KiB, which is to it what a full disk is.
#[test]
fn a_disk_that_fills_up_loses_the_trace_and_not_the_verdict() {
    let place = Place::new();
    let run = place.run(&["greet.yaml", "--trace-dir", "traces", "--report", "json=r.json"], "good");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 2 && exec \"$@\"", "sh"]).arg(run.get_program()).args(run.get_args());
    limited.current_dir(place.path("")).envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let outcome: Outcome = limited.output().unwrap().into();
    place.assert_nothing_left();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    let lost = "greet: cannot write trace traces/amp-server/cli/user/greet.trace: File too large";
    assert!(outcome.stderr.contains(lost), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("error[report]: cannot write the report r.json: File too large"));
    assert!(outcome.verdict().starts_with("incomplete  "), "{}", outcome.stdout);
    assert!(!place.path("r.json").exists(), "no half report");
    let trace = std::fs::read_to_string(place.path("traces/amp-server/cli/user/greet.trace")).unwrap();
    assert!(trace.lines().count() > 1, "what was recorded before is kept");
}

#[cfg(target_os = "linux")]
#[test]
fn a_verdict_that_cannot_be_printed_is_an_error_and_the_reports_are_written() {
    let place = Place::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let options = ["greet.yaml", "--report", "json=r.json", "--report", "junit=/dev/full"];
    let outcome: Outcome = place
        .run(&options, "good")
        .stdout(full)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap()
        .into();
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert_eq!(
        errors(&outcome),
        [
            "error[report]: cannot write the report /dev/full: No space left on device (os error 28)",
            "error[output]: cannot write the result to stdout: No space left on device (os error 28)",
        ]
    );
    assert!(place.path("r.json").exists());
}

#[test]
fn run_directories_are_kept_where_that_is_asked_for_also_those_of_our_own_mocks() {
    let place = Place::new();
    let own = place.outcome(&["run", "greet.yaml", "--self", "--run-dir", "runs", "--keep-run-dir"]);
    assert_eq!(own.code, Some(0), "{own:?}");
    let [kept] = &names(&place.path("runs"))[..] else { panic!("one is kept") };
    let reported =
        format!("the run directory stays: {}\n", place.path("runs").canonicalize().unwrap().join(kept).display());
    assert!(own.stderr.contains(&reported), "{}", own.stderr);
    assert!(place.path("runs").join(kept).join("workspace").is_dir());
    let other: Outcome = place.run(&["greet.yaml", "--keep-run-dir"], "good").output().unwrap().into();
    assert_eq!((other.code, names(&place.path("runs")).len()), (Some(0), 2), "{other:?}");
    // A path that is too long for a socket is none of a user's concern.
    let long = format!("runs/{}", "long-".repeat(40));
    let deep = place.outcome(&["run", "greet.yaml", "--self", "--run-dir", &long]);
    assert_eq!(deep.code, Some(0), "{deep:?}");
}
