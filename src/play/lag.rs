//! The harness's own delay, so that a busy machine is not blamed on the subject.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

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

    /// How late the job has been, all told.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
