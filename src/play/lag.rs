//! The harness's own delay, so that a busy machine is not blamed on the subject.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

const TICK: Duration = Duration::from_millis(5);

/// Measures by how much the plays are late: [`LagMeter::run`] wakes every few milliseconds beside them, on the same
/// task, and adds up what it woke too late, because the machine was busy or because one of them held up the others.
/// Deadlines are extended by what was added while they ran.
#[derive(Default)]
pub struct LagMeter {
    late_micros: AtomicU64,
}

impl LagMeter {
    /// Measures for as long as it is polled. It has to be polled before the plays are.
    pub async fn run(&self) {
        loop {
            let due = Instant::now() + TICK;
            sleep_until(due).await;
            // Timers are a millisecond coarse: only what exceeds that is lateness.
            let late = due.elapsed().saturating_sub(Duration::from_millis(2));
            self.late_micros.fetch_add(u64::try_from(late.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }

    /// How late this process has been, all told.
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
}
