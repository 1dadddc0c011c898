use std::sync::mpsc::{Receiver, Sender, channel};

use crate::config::own;
use crate::diagnostic::{Source, SourceSpan, Span};
use crate::format::fields_of;
use crate::protocol::protocols;
use crate::protocol::words::SubjectVerb;
use crate::scenario::{Expectation, Step, StepKind};

use super::*;

/// Holds up the thread of each play until another one has begun.
struct ConcurrencyProbe {
    sender: Sender<()>,
    receiver: Mutex<Receiver<()>>,
    met: AtomicBool,
    first: AtomicBool,
}

impl Progress for ConcurrencyProbe {
    fn scenario_started(&self, _: &str) {
        if self.first.swap(false, Ordering::SeqCst) {
            let receiver = self.receiver.lock().recv_timeout(Duration::from_secs(60));
            self.met.store(receiver.is_ok(), Ordering::SeqCst);
        } else {
            let _ = self.sender.send(());
        }
    }
}

/// A plan that nobody can play, so that no subject is needed.
fn plan(name: &str) -> Plan {
    let role = protocols()[0].roles[0].name;
    Plan {
        id: name.to_owned(),
        title: String::new(),
        file: String::new(),
        role,
        edition: protocols()[0].default_edition(),
        requires: vec!["stimulus:none-such".to_owned()],
        process: ProcessSharing::Shared,
        vars: serde_json::Map::new(),
        workspace: vec![],
        steps: [].into(),
        finally: vec![],
        timeout: Some(Duration::from_secs(1)),
        requirements: vec![],
    }
}

#[test]
fn what_waits_longest_comes_first_and_then_what_has_a_process_of_its_own() {
    let pause = fields_of::<SubjectVerb>().iter().find(|verb| verb.name == "pause").unwrap();
    let source = Source::new("any.yaml", String::new());
    let step = |kind| Step { kind, place: SourceSpan { source: source.clone(), span: Span { start: 0, end: 0 } } };
    let expect = |within| {
        let expectation = Expectation {
            any_of: vec![],
            proves: vec![],
            is_preparation: false,
            within: Some(Duration::from_secs(within)),
            needed: false,
        };
        step(StepKind::Expect(expectation))
    };
    let wait = |time: &str| step(StepKind::Act { verb: pause, params: time.into() });
    let plans = [
        plan("short"),
        Plan { process: ProcessSharing::Own, ..plan("own") },
        Plan { steps: [wait("30ms")].into(), ..plan("some") },
        Plan { steps: [expect(9000)].into(), ..plan("may") },
        Plan { steps: [wait("2s")].into(), ..plan("must") },
        Plan {
            steps: [step(StepKind::Repeat { times: 2, each: None, steps: vec![wait("20ms")] })].into(),
            ..plan("most")
        },
        Plan {
            steps: [step(StepKind::Repeat { times: u64::MAX, each: None, steps: vec![wait("9h")] })].into(),
            ..plan("ever")
        },
    ];
    let ids = |longest_first| order(&plans, longest_first).iter().map(|n| plans[*n].id.as_str()).collect::<Vec<_>>();
    assert_eq!(ids(true), ["ever", "must", "may", "most", "some", "own", "short"]);
    assert_eq!(ids(false), ["own", "short", "some", "may", "must", "most", "ever"]);
}

fn probe() -> Arc<ConcurrencyProbe> {
    let (sender, receiver) = channel();
    let (met, first) = (AtomicBool::new(false), AtomicBool::new(true));
    Arc::new(ConcurrencyProbe { sender, receiver: Mutex::new(receiver), met, first })
}

fn subject() -> SubjectSpec {
    let protocol = protocols()[0];
    own(protocol, &protocol.roles[0], protocol.default_edition(), &[], crate::config::Described::default())
}

fn two_jobs() -> Run {
    let options = PlayOptions {
        patience: Duration::from_secs(1),
        longest: None,
        traces: Traces::None,
        strict: false,
        snapshotter: None,
        watcher: None,
    };
    let until = StopCondition::AllPlayed;
    Run {
        options,
        jobs: 2,
        spare_jobs: 0,
        repeat: 1,
        retries: 0,
        until,
        weigh_every: None,
        longest_first: true,
        until_silent: false,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_busy_holds_up_no_other_and_results_keep_their_order() {
    let (probe, spec, run) = (probe(), subject(), two_jobs());
    let plans: Arc<[Plan]> = ["one", "two", "three"].map(plan).into();
    let played = suite(&spec, plans, &run, None, probe.clone(), &Cancel::default()).await.unwrap();
    assert!(probe.met.load(Ordering::SeqCst), "the second play waited for the first");
    let ids: Vec<&str> = played.iter().map(|p| p.id.as_str()).collect();
    assert_eq!(ids, ["one", "two", "three"]);
    assert!(played.iter().all(|p| p.plays.len() == 1 && p.plays[0].status == ScenarioStatus::Skipped));
}

#[test]
fn what_was_held_up_is_played_again_when_all_is_done_until_it_is_judged() {
    let plans: Arc<[Plan]> = ["one", "two", "three"].map(plan).into();
    let state = SuiteState::new(subject(), plans.clone(), two_jobs(), probe(), Cancel::default());
    state.queue.lock().clear();
    let played = |n: usize, play: Play| Played { plays: vec![play], ..not_played_yet(&plans[n]) };
    let error = || Play::error("it could not be judged".to_owned());
    state.results.lock().insert(0, played(0, Play::new(ScenarioStatus::Passed)));
    state.results.lock().insert(1, played(1, Play { held_up: true, ..error() }));
    state.results.lock().insert(2, played(2, error()));
    assert!(state.queue_held_up());
    assert_eq!(state.queue.lock().drain(..).collect::<Vec<_>>(), [1]);
    state.results.lock().entry(1).and_modify(|it| it.plays.push(Play::new(ScenarioStatus::Passed)));
    assert!(!state.queue_held_up() && state.queue.lock().is_empty());
}
