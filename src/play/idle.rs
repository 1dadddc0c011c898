//! Whether the machine has processors to spare: [`IdleMeter`].

use std::fs::File;
use std::io::{BufRead as _, BufReader};

/// From this share of idle time on, another job can only gain time.
const SPARE: f64 = 0.5;

/// Measures the share of time in which no processor had anything to do, from one look to the next. On Linux only: elsewhere
/// the machine is never known to be idle.
pub(super) struct IdleMeter {
    before: Option<Times>,
}

/// Times of all processors since the machine was started, in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    idle: u64,
    all: u64,
}

impl IdleMeter {
    pub(super) fn start() -> Self {
        Self { before: Times::now() }
    }

    /// Whether more than half of the processors' time was left since the last look.
    pub(super) fn is_idle(&mut self) -> bool {
        let (before, now) = (self.before, Times::now());
        self.before = now;
        before.zip(now).is_some_and(|(before, now)| now.share_since(before) > SPARE)
    }
}

impl Times {
    fn now() -> Option<Self> {
        let mut line = String::new();
        BufReader::new(File::open("/proc/stat").ok()?).read_line(&mut line).ok()?;
        Self::parse(&line)
    }

    /// Reads the first line of `/proc/stat` (proc_stat(5)): user, nice, system, idle and more.
    fn parse(line: &str) -> Option<Self> {
        let times = line.strip_prefix("cpu ")?.split_whitespace().map(|time| time.parse::<u64>().ok());
        let times: Vec<u64> = times.collect::<Option<_>>()?;
        Some(Self { idle: *times.get(3)?, all: times.iter().sum() })
    }

    /// The share of idle time; 0 where no time has passed.
    fn share_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all);
        if all == 0 { 0.0 } else { self.idle.saturating_sub(before.idle) as f64 / all as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_idle_time_is_that_since_the_last_look() {
        let before = Times::parse("cpu  100 0 50 850 0 0 0 0 0 0\n").unwrap();
        let after = Times::parse("cpu  110 0 60 930 0 0 0 0 0 0\n").unwrap();
        assert_eq!(before, Times { idle: 850, all: 1000 });
        assert!((after.share_since(before) - 0.8).abs() < 1e-9);
        assert_eq!(before.share_since(before), 0.0);
        assert_eq!(Times::parse("cpu0 1 2 3 4\n"), None);
        assert_eq!(Times::parse("cpu  1 2\n"), None);
    }
}
