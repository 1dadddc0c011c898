//! Driven clients that live several times, stimuli, and other commands of a subject.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::{CommandLine, StimulusWay, StopHow, SubjectSpec};
use crate::subject::testing::{TestTrace, client_spec};
use crate::subject::{RunDir, Running, Start, SubjectError, tree};
use crate::trace::EventKind;

use super::{pids, run_dir, server, start, with};

/// Answers `reset` as it should, and reports how it was requested to begin.
const LIVES: &str = r#"while read -r line; do case "$line" in
    *reset*) echo '{"event":"late","data":1}'; echo '{"reset":true}' ;;
    *begin*) echo "{\"event\":\"began\",\"data\":$line}" ;;
    *close*) exit 0 ;;
esac; done"#;

fn begin(running: &Running, spec: &SubjectSpec, run_dir: &crate::subject::RunDir, trace: &TestTrace) -> bool {
    let server = Some("http://127.0.0.1:1/".to_owned());
    running.begin(&Start { scenario: Some("a/b"), server, ..Start::new(spec, run_dir, trace.recorder()) })
}

#[tokio::test]
async fn one_process_lives_once_for_each_trace() {
    let spec = client_spec(&["sh", "-c", LIVES]);
    let (run_dir, first, second) = (run_dir(&spec), TestTrace::new(), TestTrace::new());
    let running = start(&spec, &run_dir, &first).await.unwrap();
    assert!(running.reset().await);
    assert_eq!(first.kinds(), "launched reported");
    assert!(begin(&running, &spec, &run_dir, &second));
    let stopped = running.stop().await;
    assert!(stopped.graceful && stopped.clean);
    // What comes of a life stands in its own trace.
    assert_eq!(first.kinds(), "launched reported");
    assert_eq!(second.kinds(), "launched reported exited");
    let [EventKind::Launched(one), _] = &first.events()[..] else { panic!("{}", first.kinds()) };
    let [EventKind::Launched(two), EventKind::Reported(reported), EventKind::Exited(_)] = &second.events()[..] else {
        panic!("{}", second.kinds())
    };
    assert_eq!(one, two);
    assert_eq!(reported.data, json!({"begin": {"scenario": "a/b", "url": "http://127.0.0.1:1/"}}));
}

#[tokio::test]
async fn one_that_does_not_respond_or_ends_instead_does_not_live_again() {
    for script in
        ["while read -r line; do :; done", "read -r line; exit 0", "read -r line; echo '{\"reset\":1}'; read -r line"]
    {
        let spec = client_spec(&["sh", "-c", script]);
        let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
        let running = start(&spec, &run_dir, &trace).await.unwrap();
        assert!(!running.reset().await, "{script}");
        running.stop().await;
    }
}

#[tokio::test]
async fn one_that_was_requested_to_end_does_not_live_again() {
    let spec = client_spec(&["sh", "-c", LIVES]);
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    running.dismiss(true);
    assert!(!running.reset().await);
    running.stop().await;
}

fn stimulus(spec: SubjectSpec, command: &[&str]) -> SubjectSpec {
    let line = CommandLine(command.iter().map(|s| (*s).to_owned()).collect());
    SubjectSpec { stimuli: BTreeMap::from([("poke", StimulusWay::Command(line))]), ..spec }
}

async fn poked(spec: &SubjectSpec, params: Value) -> (Result<(), SubjectError>, TestTrace, RunDir) {
    let (run_dir, trace) = (run_dir(spec), TestTrace::new());
    let running = start(spec, &run_dir, &trace).await.unwrap();
    let Value::Object(params) = params else { panic!("params are a map") };
    let result = running.stimulate("poke", &params).await;
    running.stop().await;
    (result, trace, run_dir)
}

#[tokio::test]
async fn a_stimulus_is_a_command_with_its_parameters() {
    let script = r#"printf '%s|' "$@" "$HOME" > poked"#;
    let spec =
        stimulus(server(&[]), &["sh", "-c", script, "sh", "{path}", "{line}", "{items}", "{nothing}", "{run_dir}"]);
    let (result, trace, run_dir) = poked(&spec, json!({"path": "a b", "line": 3, "items": [{"x": "y"}]})).await;
    result.unwrap();
    let root = run_dir.root().display();
    let written = std::fs::read_to_string(run_dir.workspace().join("poked")).unwrap();
    assert_eq!(written, format!(r#"a b|3|[{{"x":"y"}}]||{root}|{root}/home|"#));
    let event =
        trace.events().into_iter().find_map(|what| if let EventKind::Stimulus(s) = what { Some(s) } else { None });
    let event = event.unwrap();
    assert_eq!((event.name.as_str(), event.outcome.as_str(), &event.params["line"]), ("poke", "exit 0", &json!(3)));
    assert_eq!(event.command[4..7], ["a b", "3", r#"[{"x":"y"}]"#]);
}

#[tokio::test]
async fn a_failed_stimulus_is_reported_with_its_output() {
    let spec = stimulus(server(&[]), &["sh", "-c", "echo no such window; exit 2"]);
    let (result, trace, _run_dir) = poked(&spec, json!({})).await;
    let error = result.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the stimulus `poke` failed: `sh -c 'echo no such window; exit 2'` ended with exit code 2"
    );
    assert_eq!(error.diagnostic().notes, ["it wrote last:\nno such window"]);
    assert!(trace.kinds().contains("stimulus"));
}

#[tokio::test]
async fn a_stimulus_can_say_that_the_subject_cannot_do_it() {
    let spec = stimulus(server(&[]), &["sh", "-c", "echo it has no tabs; exit 77"]);
    let error = poked(&spec, json!({})).await.0.unwrap_err();
    assert_eq!(error.to_string(), "the subject cannot do the stimulus `poke` here: it has no tabs");
    let spec = stimulus(server(&[]), &["sh", "-c", "exit 77"]);
    let error = poked(&spec, json!({})).await.0.unwrap_err();
    assert!(error.to_string().ends_with("ended with exit code 77"), "without a reason it is a failure: {error}");
}

#[tokio::test]
async fn a_stimulus_that_hangs_or_is_not_there_ends_in_an_error() {
    let mut spec = stimulus(server(&[]), &["sh", "-c", "trap '' TERM; echo $$ > pids; setsid sleep 600 & wait"]);
    spec.timeouts.stimulus = Duration::from_millis(300);
    let (result, _trace, _run_dir) = poked(&spec, json!({})).await;
    assert!(result.unwrap_err().to_string().ends_with("did not end within 300ms"));
    let spec = stimulus(server(&[]), &["no-such-tool"]);
    let (result, _trace, _run_dir) = poked(&spec, json!({})).await;
    assert!(result.unwrap_err().to_string().contains("could not be run: "));
}

#[tokio::test]
async fn what_a_stimulus_leaves_running_goes_with_the_subject() {
    let script = "sleep 600 >/dev/null 2>&1 & echo $! > pids";
    let spec = stimulus(server(&[]), &["sh", "-c", script]);
    let (result, _trace, run_dir) = poked(&spec, json!({})).await;
    result.unwrap();
    assert!(!pids(&run_dir).into_iter().any(tree::is_alive));
}

#[tokio::test]
async fn a_stimulus_that_is_not_described_is_reported_by_name() {
    let spec = server(&[]);
    let (result, _trace, _run_dir) = poked(&spec, json!({})).await;
    let error = result.unwrap_err().to_string();
    assert_eq!(error, "the subject has no stimulus `poke`; add it to `stimuli:` of its subject file");
}

#[tokio::test]
async fn it_is_stopped_by_the_command_that_it_names() {
    let spec = with(server(&[]), |launch| {
        let stop = ["sh", "-c", "kill -TERM $(sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/' {data_home}/test/ide/*.json)"];
        launch.stop.how = StopHow::Command(CommandLine(stop.map(str::to_owned).to_vec()));
    });
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let stopped = running.stop().await;
    assert!(stopped.graceful && stopped.clean, "{stopped:?}");
    assert!(trace.kinds().contains("stimulus"), "{}", trace.kinds());
}
