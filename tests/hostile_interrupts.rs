//! Ctrl-C and its kin at every moment of a run: exit code 130, what is known is reported, and nothing is left behind.

mod hostile;

use std::process::Command;

use hostile::{Live, Outcome, Pipe, Place, editor};

const SAID: &str = "interrupted: stopping, and reporting what is known\n";

fn assert_reported(place: &Place, outcome: &Outcome) {
    place.assert_nothing_left();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert!(outcome.stdout.contains("interrupted: what is known so far"), "{}", outcome.stdout);
}

/// The command, with a subject that says how far it is.
fn telling(command: &mut Command, pipe: &Pipe) -> Live {
    Live::start(command.env("WIRECERT_TEST_TELL", &pipe.path))
}

#[test]
fn while_a_subject_gets_ready() {
    for (signal, edition) in [("INT", "cli"), ("TERM", "auto"), ("HUP", "cli")] {
        let place = Place::new();
        let mut pipe = place.pipe();
        let editor = editor();
        let args =
            ["run", "ask.yaml", "--edition", edition, "--run-dir", "runs", "--jobs", "1", "--", "python3", &editor];
        let run = telling(&mut place.wirecert(&[&args[..], &["never"]].concat()), &pipe);
        assert_eq!(pipe.word(), "started");
        run.signal(signal);
        let outcome = run.outcome();
        assert_reported(&place, &outcome);
        assert!(outcome.stderr.contains(SAID), "{}", outcome.stderr);
    }
}

#[test]
fn in_the_middle_of_a_play() {
    for signal in ["INT", "TERM"] {
        let place = Place::new();
        let mut pipe = place.pipe();
        let patient = hostile::ASK.replace("300ms", "9s");
        place.write("patient.yaml", patient);
        let options = ["greet.yaml", "patient.yaml", "--report", "json=r.json"];
        let run = telling(&mut place.run(&options, "mute"), &pipe);
        assert_eq!(pipe.word(), "asked");
        run.signal(signal);
        let outcome = run.outcome();
        assert_reported(&place, &outcome);
        assert!(outcome.stdout.contains("played  1 passed · 0 failed · 1 skipped"), "{}", outcome.stdout);
        assert!(outcome.stderr.contains(SAID), "{}", outcome.stderr);
        let report: serde_json::Value = serde_json::from_slice(&std::fs::read(place.path("r.json")).unwrap()).unwrap();
        assert_eq!(report["subjects"][0]["counts"]["passed"], 1);
    }
}

#[test]
fn while_a_subject_is_stopped() {
    let place = Place::new();
    let mut pipe = place.pipe();
    let launch = format!("[python3, '{}', stubborn]", editor());
    let stop = "stop: { within: 1s }";
    place.write("s.yaml", format!("role: amp-server\nedition: cli\nlaunch: {launch}\n{stop}\n"));
    let args = ["run", "greet.yaml", "--subject", "s.yaml", "--run-dir", "runs"];
    let run = telling(&mut place.wirecert(&args), &pipe);
    assert_eq!(pipe.word(), "stopping");
    run.signal("INT");
    let outcome = run.outcome();
    assert_reported(&place, &outcome);
    assert!(outcome.stdout.contains("played  1 passed · 0 failed"), "{}", outcome.stdout);
}

#[test]
fn while_a_report_goes_to_a_pipe_that_nobody_reads_a_second_one_ends_it() {
    let place = Place::new();
    assert!(Command::new("mkfifo").arg(place.path("fifo")).status().unwrap().success());
    let mut run = Live::start(&mut place.run(&["greet.yaml", "--report", "json=fifo"], "good"));
    run.read("played  1 passed");
    run.signal("INT");
    run.signal("TERM");
    let outcome = run.outcome();
    place.assert_nothing_left();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
}

#[test]
fn while_our_own_mocks_are_certified() {
    let place = Place::new();
    let mut run = Live::start(&mut place.wirecert(&["certify", "--self", "--run-dir", "runs"]));
    run.hear("PASS");
    run.signal("INT");
    let outcome = run.outcome();
    assert_reported(&place, &outcome);
    assert!(outcome.stderr.contains(SAID), "{}", outcome.stderr);
}
