//! Whether a subject got a processor while something was awaited of it: [`StarvationMeter`].

use std::pin::pin;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::subject::{ProcessorTimes, Running};

/// How long is waited before a look is worth its time.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// The share of a time in which a subject that waited for a processor could not do what was awaited of it.
const STARVED: f64 = 0.5;

/// Measures what the subject gets of the machine's processors while something is awaited of it. On Linux only: elsewhere a
/// subject is never known to be starved.
pub(super) struct StarvationMeter {
    began: Instant,
    before: Option<(Instant, ProcessorTimes)>,
}

impl StarvationMeter {
    /// Something is awaited from now on.
    pub(super) fn start() -> Self {
        Self { began: Instant::now(), before: None }
    }

    /// Looks at the subject, unless what is awaited may still come at once, or it was looked at before.
    pub(super) fn look(&mut self, subject: Option<&Running>) {
        if self.before.is_none() && self.began.elapsed() >= LOOK_AFTER {
            self.before = subject.and_then(Running::processor_times).map(|times| (Instant::now(), times));
        }
    }

    /// Waits for what depends on the subject, and measures meanwhile.
    pub(super) async fn during<T>(&mut self, subject: Option<&Running>, awaited: impl Future<Output = T>) -> T {
        let mut awaited = pin!(awaited);
        match timeout(LOOK_AFTER, &mut awaited).await {
            Ok(result) => result,
            Err(_) => {
                self.look(subject);
                awaited.await
            }
        }
    }

    /// How long the subject had to wait for a processor, if it had to most of the time since the first look.
    pub(super) fn starved(&self, subject: Option<&Running>) -> Option<Duration> {
        let (looked, before) = self.before?;
        let now = subject.and_then(Running::processor_times)?;
        starved(before, now, looked.elapsed())
    }
}

/// How long a subject waited for a processor in this time, if it did so most of it, and not for its own threads.
fn starved(before: ProcessorTimes, now: ProcessorTimes, time: Duration) -> Option<Duration> {
    let waited = now.waited.saturating_sub(before.waited);
    let ran = now.ran.saturating_sub(before.ran);
    (waited > time.mul_f64(STARVED) && ran < waited).then_some(waited)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(ran: u64, waited: u64) -> ProcessorTimes {
        ProcessorTimes { ran: Duration::from_millis(ran), waited: Duration::from_millis(waited) }
    }

    #[test]
    fn a_subject_is_starved_that_waited_for_a_processor_most_of_the_time() {
        let time = Duration::from_secs(4);
        assert_eq!(starved(times(100, 50), times(200, 3050), time), Some(Duration::from_secs(3)));
        assert_eq!(starved(times(100, 50), times(200, 1050), time), None);
        // One that hangs waits for nothing.
        assert_eq!(starved(times(100, 50), times(100, 50), time), None);
    }

    #[test]
    fn a_subject_that_takes_the_processors_itself_is_not_starved() {
        assert_eq!(starved(times(0, 0), times(7800, 3900), Duration::from_secs(4)), None);
    }
}
