//! Subjects that misbehave as processes or on the wire: always a verdict, in bounded time, and nothing left behind.

use crate::hostile;

use crate::hostile::{Place, editor};

/// What the finding says where the subject died.
const DIED: &str = "the subject's process ended although nobody asked it to";

#[test]
fn one_that_behaves_conforms_as_far_as_it_was_asked() {
    let place = Place::new();
    let outcome = place.play("good");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.verdict(), "  played  2 passed · 0 failed");
    assert!(outcome.stdout.starts_with("partial  python3 (amp-server, edition cli)\n"), "{}", outcome.stdout);
}

#[test]
fn one_that_dies_of_a_request_is_blamed_and_started_again_for_the_rest() {
    let place = Place::new();
    let outcome = place.play("crash");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let reported = [format!("{DIED} (exit code 7)"), "the editor's process ended with code 7, unasked".to_owned()];
    assert!(reported.iter().any(|reported| outcome.stdout.contains(reported)), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("played  1 passed · 1 failed"), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("starting the subject again: it had ended"), "{}", outcome.stderr);
}

#[test]
fn one_that_dies_after_all_went_well_is_not_let_off_even_at_the_end_of_the_run() {
    let place = Place::new();
    let outcome = place.run(&["greet.yaml"], "crash-on-close").output().unwrap().into();
    place.assert_nothing_left();
    let hostile::Outcome { code, stdout, stderr } = outcome;
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    // It may have ended while the play was under way, or after it.
    let reported = [format!("{DIED} (exit code 9)"), "the editor's process ended with code 9, unasked".to_owned()];
    assert!(reported.iter().any(|reported| stdout.contains(reported)), "{stdout}");
}

#[test]
fn one_that_is_halted_or_falls_silent_costs_its_scenario_and_no_other() {
    let place = Place::new();
    for mode in ["halt", "mute"] {
        let outcome = place.run(&["ask.yaml", "greet.yaml", "--timeout", "500ms"], mode).output().unwrap().into();
        place.assert_nothing_left();
        let hostile::Outcome { code, stdout, stderr } = outcome;
        assert_eq!(code, Some(1), "{stdout}{stderr}");
        assert!(stdout.contains("played  1 passed · 1 failed"), "{mode}: {stdout}");
        assert!(!stdout.contains(DIED), "{mode}: {stdout}");
        assert_eq!(stderr.contains("starting the subject again: it no longer served"), mode == "halt", "{stderr}");
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_told_as_what_it_is_where_it_was_awaited() {
    let place = Place::new();
    let outcome = place.play("latin-1");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    for reported in ["violated must amp/cli/framing/utf8", "the text of a message is not UTF-8", "--> ask.yaml:"] {
        assert!(outcome.stdout.contains(reported), "{}", outcome.stdout);
    }
    assert!(outcome.stdout.contains("message, not UTF-8: "), "{}", outcome.stdout);
}

fn assert_only_its_scenario_fails(mode: &str) {
    let place = Place::new();
    let outcome = place.play(mode);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("played  1 passed · 1 failed"), "{}", outcome.stdout);
}

#[test]
fn a_flood_of_small_messages_costs_its_scenario_and_no_other() {
    assert_only_its_scenario_fails("flood");
}

#[test]
fn a_flood_of_large_messages_costs_its_scenario_and_no_other() {
    assert_only_its_scenario_fails("flood-large");
}

#[test]
fn a_frame_that_is_too_large_costs_its_scenario_and_no_other() {
    assert_only_its_scenario_fails("huge");
}

#[test]
fn a_frame_that_says_it_is_large_and_never_comes_costs_its_scenario_and_no_other() {
    assert_only_its_scenario_fails("huge-head");
}

#[test]
fn one_that_writes_without_end_or_never_closes_is_judged_all_the_same() {
    let place = Place::new();
    for mode in ["shout", "never-close"] {
        let outcome = place.play(mode);
        assert_eq!(outcome.code, Some(0), "{mode}: {outcome:?}");
        assert!(outcome.stdout.contains("played  2 passed · 0 failed"), "{mode}: {}", outcome.stdout);
    }
}

#[test]
fn what_a_subject_starts_goes_with_it_however_far_it_went() {
    let place = Place::new();
    for mode in ["daemons", "forks"] {
        let outcome = place.play(mode);
        assert_eq!(outcome.code, Some(0), "{mode}: {outcome:?}");
    }
}

#[test]
fn one_that_ignores_the_signal_is_killed_when_its_time_is_up() {
    let place = Place::new();
    let launch = format!("[python3, '{}', stubborn]", editor());
    place.write(
        "s.yaml",
        format!("role: amp-server\nedition: cli\nlaunch: {launch}\nstop: {{ signal: TERM, within: 200ms }}\n"),
    );
    let outcome = place.outcome(&["run", "greet.yaml", "--subject", "s.yaml", "--run-dir", "runs"]);
    place.assert_nothing_left();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}

#[test]
fn the_good_lockfile_is_found_among_hundreds_of_torn_stale_wrong_and_unreadable_ones() {
    let place = Place::new();
    let outcome = place.play("torn-locks");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}

#[test]
fn one_that_ends_at_once_is_told_once_with_its_last_words_and_what_to_do() {
    let place = Place::new();
    for edition in ["cli", "auto"] {
        let args = ["run", "ask.yaml", "greet.yaml", "--run-dir", "runs", "--edition", edition, "--"];
        let editor = editor();
        let outcome = place.outcome(&[&args[..], &["python3", &editor, "exit"]].concat());
        place.assert_nothing_left();
        assert_eq!(outcome.code, Some(3), "{outcome:?}");
        let error = "error[subject/ended]: the subject ended before it was ready: exit code 3\n |\n \
             = note: it wrote last:\n         there is no display\n \
             = help: run the command by hand, or see its output in the trace\n";
        assert_eq!(outcome.stderr.matches(error).count(), 1, "{}", outcome.stderr);
        assert!(outcome.verdict().starts_with("incomplete  "), "{}", outcome.stdout);
    }
}

#[test]
fn the_token_of_one_that_ends_before_it_is_ready_is_hidden_in_its_last_words() {
    let place = Place::new();
    place.write(
        "tells.py",
        "import json, os, sys\n\
         folder = os.path.join(os.environ['AMP_DATA_HOME'], 'amp/ide')\n\
         os.makedirs(folder, exist_ok=True)\n\
         lock = {'port': 1, 'authToken': 'a-token-of-mine', 'workspaceFolders': [], 'ideName': 'x', 'pid': os.getpid()}\n\
         json.dump(lock, open(os.path.join(folder, '1.json'), 'w'))\n\
         print('the token is a-token-of-mine', file=sys.stderr)\n\
         sys.exit(3)\n",
    );
    let outcome = place.outcome(&[
        "run",
        "ask.yaml",
        "--run-dir",
        "runs",
        "--edition",
        "cli",
        "--",
        "python3",
        "{config_dir}/tells.py",
    ]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(outcome.stderr.contains("the token is <secret:"), "{}", outcome.stderr);
    assert!(!format!("{outcome:?}").contains("a-token-of-mine"), "{outcome:?}");
}

#[test]
fn one_that_never_becomes_ready_is_told_with_where_was_looked() {
    let place = Place::new();
    let launch = format!("[python3, '{}', never]", editor());
    place.write("s.yaml", format!("role: amp-server\nedition: cli\nlaunch: {launch}\nready: {{ within: 400ms }}\n"));
    let outcome = place.outcome(&["run", "ask.yaml", "greet.yaml", "--subject", "s.yaml", "--run-dir", "runs"]);
    place.assert_nothing_left();
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    let error = "error[subject/not-ready]: the subject was not ready within 400ms: no lockfile came in ";
    assert_eq!(outcome.stderr.matches(error).count(), 1, "{}", outcome.stderr);
}
