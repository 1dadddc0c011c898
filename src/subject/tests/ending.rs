//! Ending: whatever a subject does, nothing of it stays.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::subject::testing::{TestTrace, spec};
use crate::subject::{Running, Start, tree};
use crate::trace::Exited;

use super::{pids, refusal, run_dir, server, sh, start, with};

#[tokio::test]
async fn one_that_ignores_sigterm_is_killed() {
    let spec = with(server(&["deaf"]), |launch| launch.stop.within = Duration::from_millis(50));
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let pid = running.pid().unwrap();
    let stopped = running.stop().await;
    assert_eq!((stopped.graceful, stopped.clean), (false, true));
    assert_eq!(stopped.exited, Some(Exited { pid, code: None, signal: Some(9), asked: true }));
    assert_eq!(trace.kinds(), "launched file:read exited file:read");
}

#[tokio::test]
async fn one_that_was_halted_is_stopped_all_the_same() {
    let spec = server(&[]);
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    running.signal("STOP").unwrap();
    let stopped = running.stop().await;
    assert!(stopped.graceful && stopped.clean);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_daemon_that_left_session_parent_and_environment_is_found_and_killed() {
    let spec = server(&["daemon"]);
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let daemons = pids(&run_dir);
    assert!(daemons.iter().all(|pid| tree::is_alive(*pid)));
    let stopped = running.stop().await;
    assert_eq!((stopped.graceful, stopped.left, stopped.clean), (true, 1, true));
    assert!(!daemons.iter().any(|pid| tree::is_alive(*pid)));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_swarm_of_sessions_is_killed_to_the_last() {
    let spec = server(&["swarm"]);
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let stopped = running.stop().await;
    let swarm = pids(&run_dir);
    assert_eq!(swarm.len(), 160);
    assert_eq!((stopped.left, stopped.clean), (160, true));
    assert!(!swarm.iter().any(|pid| tree::is_alive(*pid)));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn one_that_puts_itself_into_the_background_is_reported_so_and_leaves_nothing() {
    let (error, trace) = refusal(&sh("setsid sleep 600 & exit 0")).await;
    assert_eq!(error.to_string(), "the subject ended before it was ready: exit code 0");
    let note = &error.diagnostic().notes[0];
    assert!(note.starts_with("it left another process running in the background (process "), "{note}");
    assert_eq!(trace.kinds(), "launched exited");
    let pid: u32 = note.split(['(', ')', ' ']).find_map(|word| word.parse().ok()).unwrap();
    assert!(!tree::is_alive(pid));
}

#[tokio::test]
async fn a_flood_of_output_hinders_nothing_and_fills_nothing() {
    let mut spec = server(&["flood"]);
    spec.limits.output = 10_000;
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let stopped = running.stop().await;
    assert!(stopped.clean);
    let output: usize = trace.output().iter().map(|(_, text)| text.len()).sum();
    assert!(output <= 3 * 10_000, "{output}");
}

#[tokio::test]
async fn dropping_it_kills_it() {
    let spec = server(&["deaf"]);
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let pid = running.pid().unwrap();
    drop(running);
    assert!(!tree::is_alive(pid));
}

#[tokio::test]
async fn giving_up_a_start_kills_it() {
    let spec = sh("echo $$ > pids; sleep 600");
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let file = run_dir.workspace().join("pids");
    let written = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while !std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')) {
            ticks.tick().await;
        }
    };
    tokio::select! {
        _ = start(&spec, &run_dir, &trace) => panic!("it cannot become ready"),
        () = written => {}
    }
    assert!(!tree::is_alive(pids(&run_dir)[0]));
}

#[tokio::test]
async fn an_end_that_was_not_requested_is_marked_so() {
    let spec = server(&["crash"]);
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    std::fs::write(run_dir.workspace().join("crash"), "").unwrap();
    let exited = running.wait(Duration::from_secs(30)).await.unwrap();
    assert_eq!((exited.code, exited.asked), (Some(7), false));
    assert!(!running.alive().await);
    assert_eq!(running.exited(), Some(exited));
    assert_eq!(running.last_output(), ["it broke"]);
    assert!(running.signal("TERM").is_err());
    assert!(running.stop().await.clean);
    assert_eq!(trace.kinds(), "launched file:read output exited file:read");
}

#[tokio::test]
async fn it_is_started_again_in_the_same_place_with_another_environment() {
    let spec = server(&["env", "messy"]);
    let run_dir = run_dir(&spec);
    let (first, second) = (TestTrace::new(), TestTrace::new());
    let before = start(&spec, &run_dir, &first).await.unwrap();
    let stale = before.lockfile_path().unwrap().to_owned();
    before.stop().await;
    assert!(stale.exists());
    let elsewhere = run_dir.root().join("elsewhere").display().to_string();
    let env = BTreeMap::from([("TEST_DATA_HOME".to_owned(), None), ("XDG_DATA_HOME".to_owned(), Some(elsewhere))]);
    let start = Start { env: &env, ..Start::new(&spec, &run_dir, second.recorder()) };
    let after = Running::launch(start).await.unwrap();
    assert!(after.lockfile_path().unwrap().starts_with(run_dir.root().join("elsewhere/test/ide")));
    after.stop().await;
}

#[tokio::test]
async fn output_goes_to_the_trace_that_is_current() {
    let spec = server(&[]);
    let (run_dir, first, second) = (run_dir(&spec), TestTrace::new(), TestTrace::new());
    let running = start(&spec, &run_dir, &first).await.unwrap();
    running.record_to(second.recorder());
    running.stop().await;
    assert_eq!((first.kinds().as_str(), second.kinds().as_str()), ("launched file:read", "output exited file:absent"));
}

#[tokio::test]
async fn what_a_subject_says_last_reveals_no_secret_that_it_is_described_with() {
    let mut spec = spec(&["sh", "-c", "echo the key is hush-hush; exit 3"]);
    let secrets = BTreeMap::from([("KEY".to_owned(), "hush-hush".to_owned())]);
    spec.described = crate::config::Described::new(serde_json::Map::new(), secrets);
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let error = start(&spec, &run_dir, &trace).await.err().unwrap();
    let debug = format!("{error:?}");
    assert!(debug.contains("the key is ") && !debug.contains("hush-hush"), "{debug}");
}
