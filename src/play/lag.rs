//! The harness's own delay, so that a busy machine is not blamed on the subject.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

const TICK: Duration = Duration::from_millis(5);

/// Measures by how much this process is late: a task wakes every few milliseconds and adds up what
/// it woke too late. Deadlines are extended by what was added while they ran.
pub struct LagMeter {
    late_micros: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl LagMeter {
    /// Starts measuring.
    pub fn start() -> Self {
        let late_micros = Arc::new(AtomicU64::new(0));
        let total = late_micros.clone();
        let task = tokio::spawn(async move {
            loop {
                let due = Instant::now() + TICK;
                sleep_until(due).await;
                // Timers are a millisecond coarse: only what exceeds that is lateness.
                let late = due.elapsed().saturating_sub(Duration::from_millis(2));
                total.fetch_add(u64::try_from(late.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        });
        Self { late_micros, task }
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

impl Drop for LagMeter {
    fn drop(&mut self) {
        self.task.abort();
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

    #[tokio::test]
    async fn a_deadline_is_put_off_by_the_delay_of_the_harness_itself_and_by_nothing_else() {
        let meter = LagMeter::start();
        meter.task.abort();
        let late = |time: Duration| meter.late_micros.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
        late(Duration::from_secs(60));
        let deadline = meter.deadline(Duration::ZERO);
        assert!(deadline.left().is_none(), "what was late before it began does not count");
        late(Duration::from_secs(60));
        assert!(deadline.left().is_some_and(|left| left > Duration::from_secs(30)));
    }
}
