//! Time limits: the bound of a play, the harness's own delay (so that a busy machine is not blamed on the subject), what
//! rules say of lateness without that delay, and the early end of a run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::format::parse_duration;
use crate::protocol::{Judgements, RequirementId, Violation};
use crate::scenario::{Plan, Step, StepKind, Until};

/// Every play has so much time, where its scenario does not say.
const MIN_BOUND: Duration = Duration::from_secs(30);
/// No play has more, unless its scenario says so.
const MAX_BOUND: Duration = Duration::from_secs(600);

/// The bound for a play of this plan in a run of this patience: what the scenario says. Where it says nothing, enough for
/// each step to wait as long as it may, so that a subject which is slow all the time is not cut off.
pub fn bound_of_play(plan: &Plan, patience: Duration) -> Duration {
    plan.timeout.unwrap_or_else(|| waiting_time(&plan.steps, patience).clamp(MIN_BOUND, MAX_BOUND))
}

/// How long these steps may wait in all. Those without a time of their own wait for `patience`.
pub fn waiting_time(steps: &[Step], patience: Duration) -> Duration {
    steps.iter().map(|step| bound_of_step(&step.kind, patience)).fold(Duration::ZERO, Duration::saturating_add)
}

/// How long these steps wait in any case, also where all that is awaited comes at once.
pub fn least_waiting_time(steps: &[Step]) -> Duration {
    let of_step = |step: &Step| match &step.kind {
        StepKind::Never { until: Until::Quiet(time), .. } => *time,
        StepKind::Act { verb, params: Value::String(time) } if verb.name == "pause" => {
            parse_duration(time).unwrap_or_default()
        }
        StepKind::Repeat { times, steps, .. } => {
            least_waiting_time(steps).saturating_mul(u32::try_from(*times).unwrap_or(u32::MAX))
        }
        _ => Duration::ZERO,
    };
    steps.iter().map(of_step).fold(Duration::ZERO, Duration::saturating_add)
}

fn bound_of_step(kind: &StepKind, patience: Duration) -> Duration {
    match kind {
        StepKind::Expect(expectation) => expectation.within.unwrap_or(patience),
        StepKind::Collect(collect) => collect.within.unwrap_or(patience),
        StepKind::Never { until: Until::Quiet(time), .. } => (*time).max(patience),
        StepKind::Act { verb, params: Value::String(time) } if verb.name == "pause" => {
            parse_duration(time).unwrap_or(patience)
        }
        // Most acts do not wait. Those that do, wait for the response to what was sent before.
        StepKind::Never { until: Until::Barrier, .. }
        | StepKind::Barrier { .. }
        | StepKind::Act { .. }
        | StepKind::Stimulate { .. } => patience,
        StepKind::Set(_) => Duration::ZERO,
        StepKind::Repeat { times, steps, .. } => {
            waiting_time(steps, patience).saturating_mul(u32::try_from(*times).unwrap_or(u32::MAX))
        }
    }
}

const TICK: Duration = Duration::from_millis(5);

/// Measures by how much one job is late: [`LagMeter::run`] wakes every few milliseconds beside its plays, on the same
/// task, and adds up what it woke too late: because the machine was busy, because other jobs had all the threads, or
/// because the job itself was busy with what it got. Whichever it was, what this job did not do or see in time is not
/// the subject's fault, and a job that only others are waiting for is none the later for it.
/// Deadlines are extended by what was added while they ran.
#[derive(Default)]
pub struct LagMeter {
    late_micros: AtomicU64,
    /// The longest delay at a time since [`LagMeter::begin`].
    worst_micros: AtomicU64,
    /// How late the job was at [`LagMeter::begin`].
    before_micros: AtomicU64,
}

impl LagMeter {
    /// Measures for as long as it is polled. It has to be polled before the plays are.
    pub async fn run(&self) {
        loop {
            let due = Instant::now() + TICK;
            sleep_until(due).await;
            // Timers are a millisecond coarse: only what exceeds that is lateness.
            let late = due.elapsed().saturating_sub(Duration::from_millis(2));
            let late = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
            self.late_micros.fetch_add(late, Ordering::Relaxed);
            self.worst_micros.fetch_max(late, Ordering::Relaxed);
        }
    }

    /// Another play begins.
    pub fn begin(&self) {
        self.worst_micros.store(0, Ordering::Relaxed);
        self.before_micros.store(self.late_micros.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// How late the job has been at a time since the play began.
    pub fn worst(&self) -> Duration {
        Duration::from_micros(self.worst_micros.load(Ordering::Relaxed))
    }

    /// How late the job has been since the play began, all delays added up.
    pub fn in_all(&self) -> Duration {
        self.total().saturating_sub(Duration::from_micros(self.before_micros.load(Ordering::Relaxed)))
    }

    /// How late the job has been, all delays added up.
    pub fn total(&self) -> Duration {
        Duration::from_micros(self.late_micros.load(Ordering::Relaxed))
    }

    /// A deadline `within` from now.
    pub fn deadline(&self, within: Duration) -> Deadline<'_> {
        Deadline { meter: self, start: Instant::now(), lag_at_start: self.total(), within }
    }
}

/// A time by which something must have come, the harness's own delay taken out.
#[derive(Clone, Copy)]
pub struct Deadline<'a> {
    meter: &'a LagMeter,
    start: Instant,
    lag_at_start: Duration,
    within: Duration,
}

impl Deadline<'_> {
    /// The time left; none once it is over.
    pub fn left(&self) -> Option<Duration> {
        let lag = self.meter.total().saturating_sub(self.lag_at_start);
        (self.within + lag).checked_sub(self.start.elapsed()).filter(|left| !left.is_zero())
    }
}

/// How many times our own delay somebody else may be late: what reads the wire is not what measures the delay, and may
/// have waited longer.
const TOLERATED_DELAYS: u32 = 2;

/// Drops what may have been late by no more than we were in this play, all delays added up. Whether the bound was kept
/// is not known then.
pub fn discount_harness_delay(judged: &mut Judgements, our_delay: Duration) {
    let delay = TOLERATED_DELAYS * our_delay;
    let forgiven = |violation: &Violation| violation.late.is_some_and(|late| Duration::from_micros(late) <= delay);
    let unknown: BTreeSet<RequirementId> =
        judged.violations.iter().filter(|v| forgiven(v)).map(|violation| violation.requirement).collect();
    judged.violations.retain(|violation| !forgiven(violation));
    let violated: BTreeSet<RequirementId> = judged.violations.iter().map(|violation| violation.requirement).collect();
    judged.assessed.retain(|id| violated.contains(id) || !unknown.contains(id));
}

/// Whether an observation of this kind that is not as it has to be may only say that the subject waited for us in vain: a call
/// that failed, or the end of a connection. Whatever else came would be wrong as well had we been in time.
pub fn is_giving_up(kind: &str, actual: &Value) -> bool {
    match kind {
        "returned" => actual.get("error").is_some(),
        "close" | "closed" | "state" => true,
        _ => false,
    }
}

/// Whether what a subject did instead of what a step needs may be due to our delay: nothing, or telling us that we are late by
/// the status 408 (RFC 9110 section 15.5.9).
pub fn is_lateness(actual: Option<&Value>) -> bool {
    actual.is_none_or(|actual| *actual == 408)
}

/// Ends a run early. Cheap to clone; clones end the same run.
#[derive(Clone)]
pub struct Cancel {
    cancelled: watch::Sender<bool>,
    idle: Arc<AtomicBool>,
}

impl Default for Cancel {
    fn default() -> Self {
        Self { cancelled: watch::Sender::new(false), idle: Arc::default() }
    }
}

impl Cancel {
    /// Ends the run; what is known is kept.
    pub fn cancel(&self) {
        self.cancelled.send_replace(true);
    }

    /// Whether it was ended.
    pub fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// Says that no subject is left that would have to be stopped.
    pub fn nothing_runs(&self) {
        self.idle.store(true, Ordering::SeqCst);
    }

    /// Whether there may be subjects that have to be stopped.
    pub fn something_runs(&self) -> bool {
        !self.idle.load(Ordering::SeqCst)
    }

    /// Waits until it is ended.
    pub async fn cancelled(&self) {
        let mut receiver = self.cancelled.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = receiver.wait_for(|cancelled| *cancelled).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::ViolationDetail;
    use crate::scenario::load_str;
    use crate::trace::End;

    const BEGINNING: &str = "wirecert: 1\ntitle: t\nrole: openctx-provider\nedition: \"0.1\"\n";
    const ASKED: &str = "  - request: { as: a, method: meta }\n  - expect: { response: { to: a } }\n";

    fn bound(text: &str, patience: u64) -> Duration {
        let loaded = load_str("it.yaml", &format!("{BEGINNING}{text}"));
        bound_of_play(loaded.plans.first().expect("a sound scenario"), Duration::from_secs(patience))
    }

    #[test]
    fn a_play_may_take_as_long_as_each_of_its_steps_may_wait() {
        assert_eq!(bound(&format!("steps:\n{}", ASKED.repeat(4)), 12), Duration::from_secs(96));
        let repeated =
            format!("steps:\n  - repeat:\n      times: 3\n      steps:\n{}", ASKED.replace("  -", "        -"));
        assert_eq!(bound(&repeated, 12), Duration::from_secs(72));
        let within = ASKED.replace("} }", "}, within: 60s }");
        assert_eq!(bound(&format!("steps:\n{within}"), 12), Duration::from_secs(72));
    }

    #[test]
    fn what_a_play_waits_for_in_any_case_is_known_beforehand() {
        let quiet = "  - never: { response: { to: a }, until: 200ms, proves: envelope/answered }\n";
        let repeated = "  - repeat:\n      times: 3\n      steps:\n        - pause: 1s\n";
        let loaded = load_str("it.yaml", &format!("{BEGINNING}steps:\n{ASKED}{quiet}{repeated}  - pause: 50ms\n"));
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        assert_eq!(least_waiting_time(&loaded.plans[0].steps), Duration::from_millis(3250));
    }

    #[test]
    fn a_play_has_neither_too_little_time_nor_too_much() {
        assert_eq!(bound(&format!("steps:\n{ASKED}"), 1), MIN_BOUND);
        assert_eq!(bound(&format!("steps:\n{}", ASKED.repeat(100)), 12), MAX_BOUND);
    }

    #[test]
    fn what_a_scenario_says_is_the_last_word() {
        let steps = format!("steps:\n{}", ASKED.repeat(4));
        assert_eq!(bound(&format!("timeout: 2s\n{steps}"), 12), Duration::from_secs(2));
        assert_eq!(bound(&format!("timeout: 1h\n{steps}"), 12), Duration::from_hours(1));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_job_is_late_by_what_keeps_its_own_thread_though_others_are_free() {
        const BUSY: Duration = Duration::from_millis(200);
        let job = tokio::spawn(async {
            let meter = LagMeter::default();
            let deadline = meter.deadline(BUSY / 2);
            let plays = async {
                tokio::task::yield_now().await;
                std::thread::sleep(BUSY);
                tokio::task::yield_now().await;
            };
            tokio::select! {
                biased;
                () = meter.run() => {}
                () = plays => {}
            }
            (meter.total(), deadline.left())
        });
        let (late, left) = job.await.unwrap();
        assert!(late > BUSY / 2, "{late:?}");
        assert!(left.is_some(), "what is due meanwhile is not over");
    }

    #[test]
    fn a_deadline_is_put_off_by_the_delay_of_the_harness_itself_and_by_nothing_else() {
        let meter = LagMeter::default();
        let late = |time: Duration| meter.late_micros.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
        late(Duration::from_secs(60));
        let deadline = meter.deadline(Duration::ZERO);
        assert!(deadline.left().is_none(), "what was late before it began does not count");
        late(Duration::from_secs(60));
        assert!(deadline.left().is_some_and(|left| left > Duration::from_secs(30)));
    }

    #[test]
    fn the_delays_of_a_play_are_those_since_it_began() {
        let meter = LagMeter::default();
        let late = |time: Duration| meter.late_micros.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
        late(Duration::from_secs(60));
        meter.begin();
        assert_eq!(meter.in_all(), Duration::ZERO);
        late(Duration::from_secs(1));
        late(Duration::from_secs(2));
        assert_eq!(meter.in_all(), Duration::from_secs(3));
    }

    #[test]
    fn what_is_no_later_than_our_own_delay_is_not_known_and_what_is_later_is_violated() {
        let late = |id, late| ViolationDetail::new("late").late(late).by(End::Server, id, 1);
        let other = ViolationDetail::new("wrong").by(End::Server, "wrong", 1);
        let mut judged = Judgements::default();
        judged.assess("kept");
        [late("a", 400_000), late("b", 100_000), late("b", 400_001), other].into_iter().for_each(|v| judged.violate(v));
        discount_harness_delay(&mut judged, Duration::from_millis(200));
        let left: Vec<_> = judged.violations.iter().map(|v| (v.requirement, v.late)).collect();
        assert_eq!(left, [("b", Some(400_001)), ("wrong", None)]);
        assert_eq!(judged.assessed, ["kept", "b", "b", "wrong"]);
    }

    #[test]
    fn our_delay_explains_what_did_not_come_and_nothing_that_is_wrong_in_itself() {
        let explained = [
            ("returned", json!({"error": {"message": "no response in time"}})),
            ("closed", json!({"how": "eof"})),
            ("close", json!({"code": 1001})),
        ];
        assert!(explained.iter().all(|(kind, actual)| is_giving_up(kind, actual)));
        let wrong = [
            ("returned", json!({"result": {"content": "of another file"}})),
            ("request", json!({"method": "readFile", "params": {}})),
            ("response", json!({"error": {"code": -32601}})),
            ("frame", json!({"opcode": "binary"})),
        ];
        assert!(!wrong.iter().any(|(kind, actual)| is_giving_up(kind, actual)));
        assert!(is_lateness(None) && is_lateness(Some(&json!(408))));
        assert!(!is_lateness(Some(&json!(101))) && !is_lateness(Some(&json!(401))));
    }
}
