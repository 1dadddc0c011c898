//! Ctrl-C and its kin at every moment of a run: exit code 130, what is known is reported, and nothing is left behind.

use crate::hostile;

use std::process::Command;

use crate::hostile::{Live, Outcome, Pipe, Place, editor};

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
        // What may wait longest is played first.
        place.write("greet.yaml", hostile::GREET.replace("proves:", "within: 9500ms, proves:"));
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
fn by_a_kill_that_nothing_can_be_done_about_no_process_of_the_subject_is_left() {
    let place = Place::new();
    let mut pipe = place.pipe();
    // Each process of it has the name of the place in its arguments.
    let words = r#"trap '' TERM
        for start in env setsid; do $start sh -c 'while :; do sleep 1; done' "$0" & done
        echo started > "$WIRECERT_TEST_TELL"
        wait"#;
    let script = place.write("subject.sh", words);
    let script = script.to_string_lossy();
    let args = ["run", "ask.yaml", "--edition", "cli", "--run-dir", "runs", "--jobs", "1", "--", "sh", &script];
    let run = telling(&mut place.wirecert(&args), &pipe);
    assert_eq!(pipe.word(), "started");
    assert!(place.processes().len() >= 3, "{:?}", place.processes());
    run.signal("KILL");
    run.outcome();
    // The guard ends them without delay; a machine under load may take its time.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !place.processes().is_empty() && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(place.processes(), [""; 0], "processes are left");
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

/// A trace of the ping that the subject answers, made here.
fn asked(place: &Place) -> String {
    let outcome: Outcome = place.run(&["ask.yaml", "--trace-dir", "traces"], "good").output().unwrap().into();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let mut folders = vec![place.path("traces")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => return path.to_string_lossy().into_owned(),
            }
        }
    }
    panic!("there is no trace");
}

/// Whether a trace ends as it should, and can be judged.
fn assert_whole(place: &Place, trace: &str) {
    let text = std::fs::read_to_string(place.path(trace)).unwrap();
    assert!(text.lines().next_back().is_some_and(|line| line.starts_with("{\"end\":\"complete\"")), "{text}");
    // That it is unreadable would be 2; that it shows little is 4.
    assert!(matches!(place.outcome(&["check", trace]).code, Some(0 | 1 | 4)), "{text}");
}

#[test]
fn while_a_server_is_replayed_to_that_does_not_answer() {
    let place = Place::new();
    let trace = asked(&place);
    let mut pipe = place.pipe();
    let editor = editor();
    let args =
        ["replay", &trace, "--as", "client", "--timeout", "5m", "--out", "again.trace", "--report", "json=r.json"];
    let mut command = place.wirecert(&[&args[..], &["--", "python3", &editor, "mute"]].concat());
    let run = telling(command.env("TMPDIR", place.path("runs")), &pipe);
    assert_eq!(pipe.word(), "asked");
    run.signal("INT");
    let outcome = run.outcome();
    place.assert_nothing_left();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert!(outcome.stdout.contains("missing: answer"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("interrupted: what came after that was not replayed"), "{}", outcome.stdout);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(place.path("r.json")).unwrap()).unwrap();
    assert_eq!(report["counts"]["missing"], 1, "{report:#}");
    assert_whole(&place, "again.trace");
}

#[test]
fn while_a_replay_waits_for_its_server_or_its_client() {
    let place = Place::new();
    let trace = asked(&place);
    let mut pipe = place.pipe();
    let editor = editor();
    let mut command = place.wirecert(&["replay", &trace, "--as", "client", "--", "python3", &editor, "never"]);
    let run = telling(command.env("TMPDIR", place.path("runs")), &pipe);
    assert_eq!(pipe.word(), "started");
    run.signal("INT");
    let outcome = run.outcome();
    place.assert_nothing_left();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    let mut run = Live::start(&mut place.wirecert(&["replay", &trace, "--as", "server", "--data-home", "data"]));
    run.hear("lockfile");
    let lockfiles = place.path("data/amp/ide");
    assert_eq!(hostile::names(&lockfiles).len(), 1);
    run.signal("INT");
    assert_eq!(run.outcome().code, Some(130));
    assert_eq!(hostile::names(&lockfiles), [""; 0], "the lockfile is left");
    place.assert_nothing_left();
}

#[test]
fn in_the_middle_of_a_fuzz() {
    let place = Place::new();
    let editor = editor();
    let args = ["fuzz", "amp-server", "--edition", "cli", "--seed", "1", "--cases", "1000000", "--jobs", "1"];
    let more = ["--timeout", "200ms", "--out", "found", "--report", "json=r.json", "--run-dir", "runs"];
    let mut run = Live::start(&mut place.wirecert(&[&args[..], &more, &["--", "python3", &editor, "good"]].concat()));
    run.hear("64 of 1000000 cases");
    run.signal("INT");
    let outcome = run.outcome();
    place.assert_nothing_left();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert!(outcome.stdout.contains("seed 1: "), "{}", outcome.stdout);
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(place.path("r.json")).unwrap()).unwrap();
    let judged = report["counts"]["judged"].as_u64().unwrap();
    assert!((64..1_000_000).contains(&judged), "{report:#}");
    let violations = report["violations"].as_array().unwrap();
    assert_eq!(hostile::names(&place.path("found")).len(), violations.len(), "{report:#}");
    for file in hostile::names(&place.path("found")) {
        let text = std::fs::read_to_string(place.path("found").join(&file)).unwrap();
        assert!(text.starts_with("wirecert: 1\n") && text.ends_with('\n'), "{file}: {text}");
    }
}

#[test]
fn in_the_middle_of_a_shrinking() {
    let place = Place::new();
    let editor = editor();
    let args = ["shrink", "ask.yaml", "--out", "least.yaml", "--edition", "cli", "--run-dir", "runs", "-v"];
    let mut run = Live::start(&mut place.wirecert(&[&args[..], &["--", "python3", &editor, "mute"]].concat()));
    run.hear("our own sound mock passes");
    run.signal("INT");
    let outcome = run.outcome();
    place.assert_nothing_left();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    let text = std::fs::read_to_string(place.path("least.yaml")).unwrap();
    assert!(text.contains("It was interrupted: there may be more to take out."), "{text}");
    assert_eq!(place.run(&["least.yaml"], "mute").output().unwrap().status.code(), Some(1), "{text}");
}

#[test]
fn while_a_client_is_recorded() {
    let place = Place::new();
    let args = ["record", "openctx", "--upstream", "http://127.0.0.1:9", "--out", "t.trace"];
    let mark = place.path("mark").to_string_lossy().into_owned();
    let client = ["--", "sh", "-c", "echo up >&2; sleep 600 & wait", &mark];
    let mut run = Live::start(&mut place.wirecert(&[&args[..], &client].concat()));
    run.hear("up");
    run.signal("INT");
    let outcome = run.outcome();
    place.assert_nothing_left();
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert_whole(&place, "t.trace");
}
