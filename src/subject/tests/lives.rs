//! Driven clients that live several times.

use std::collections::BTreeMap;

use serde_json::json;

use super::{run_dir, start};
use crate::config::SubjectSpec;
use crate::subject::testing::{Trace, client_spec};
use crate::subject::{Running, Start};
use crate::trace::EventKind;

/// Answers `reset` as it should, and tells how it was told to begin.
const LIVES: &str = r#"while read -r line; do case "$line" in
    *reset*) echo '{"event":"late","data":1}'; echo '{"reset":true}' ;;
    *begin*) echo "{\"event\":\"began\",\"data\":$line}" ;;
    *close*) exit 0 ;;
esac; done"#;

fn begin(running: &Running, spec: &SubjectSpec, run_dir: &crate::subject::RunDir, trace: &Trace) -> bool {
    let (env, server) = (BTreeMap::new(), Some("http://127.0.0.1:1/".to_owned()));
    running.begin(&Start { spec, run_dir, scenario: Some("a/b"), env: &env, server, recorder: trace.recorder() })
}

#[tokio::test]
async fn one_process_lives_once_for_each_trace() {
    let spec = client_spec(&["sh", "-c", LIVES]);
    let (run_dir, first, second) = (run_dir(&spec), Trace::new(), Trace::new());
    let running = start(&spec, &run_dir, &first).await.unwrap();
    assert!(running.reset().await);
    assert_eq!(first.kinds(), "launched told");
    assert!(begin(&running, &spec, &run_dir, &second));
    let stopped = running.stop().await;
    assert!(stopped.graceful && stopped.clean);
    // What comes of a life stands in its own trace.
    assert_eq!(first.kinds(), "launched told");
    assert_eq!(second.kinds(), "launched told exited");
    let [EventKind::Launched(one), _] = &first.events()[..] else { panic!("{}", first.kinds()) };
    let [EventKind::Launched(two), EventKind::Told(told), EventKind::Exited(_)] = &second.events()[..] else {
        panic!("{}", second.kinds())
    };
    assert_eq!(one, two);
    assert_eq!(told.data, json!({"begin": {"scenario": "a/b", "url": "http://127.0.0.1:1/"}}));
}

#[tokio::test]
async fn one_that_does_not_answer_or_ends_instead_does_not_live_again() {
    for script in
        ["while read -r line; do :; done", "read -r line; exit 0", "read -r line; echo '{\"reset\":1}'; read -r line"]
    {
        let spec = client_spec(&["sh", "-c", script]);
        let (run_dir, trace) = (run_dir(&spec), Trace::new());
        let running = start(&spec, &run_dir, &trace).await.unwrap();
        assert!(!running.reset().await, "{script}");
        running.stop().await;
    }
}

#[tokio::test]
async fn one_that_was_told_to_end_does_not_live_again() {
    let spec = client_spec(&["sh", "-c", LIVES]);
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    running.dismiss(true);
    assert!(!running.reset().await);
    running.stop().await;
}
