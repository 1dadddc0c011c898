//! How a replay is done.

use std::collections::HashMap;
use std::str::FromStr;
use std::time::Duration;

/// How a replay is done.
#[derive(Clone, Debug)]
pub struct Options {
    /// When our steps are due.
    pub timing: Timing,
    /// How long to wait for each thing that the record has next.
    pub patience: Duration,
    /// How long a live client may take to come at all.
    pub arrival: Duration,
    /// What our side does wrong on purpose, by the number of the recorded event: for the trace of the replay.
    pub deliberate: HashMap<u64, String>,
}

/// When our steps are due, beyond their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timing {
    /// As soon as their order allows.
    Fast,
    /// After the pause that the record has before them, divided by this factor: 1 is the recorded pace, 10 is ten times
    /// as fast.
    Paced(f64),
}

impl Timing {
    /// How long to pause before a step that came so many microseconds after the one before.
    pub fn pause(self, micros: u64) -> Duration {
        match self {
            Self::Fast => Duration::ZERO,
            Self::Paced(factor) => Duration::from_micros(micros).div_f64(factor),
        }
    }
}

impl FromStr for Timing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let factor = match text {
            "fast" => return Ok(Self::Fast),
            "recorded" => Some(1.0),
            _ => text.strip_suffix('x').and_then(|factor| factor.parse::<f64>().ok()),
        };
        let sensible = factor.filter(|factor| (0.001..=1_000_000.0).contains(factor));
        sensible.map(Self::Paced).ok_or_else(|| {
            "expected `fast`, `recorded`, or a factor from 0.001x to 1000000x such as 0.5x or 10x".into()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_divides_the_recorded_pauses() {
        let pause = |text: &str| text.parse::<Timing>().map(|timing| timing.pause(1_000_000).as_millis());
        assert_eq!(pause("fast"), Ok(0));
        assert_eq!(pause("recorded"), Ok(1000));
        assert_eq!(pause("10x"), Ok(100));
        assert_eq!(pause("0.5x"), Ok(2000));
        for wrong in ["slow", "0x", "-1x", "x", "NaNx", "infx", "2"] {
            assert!(pause(wrong).is_err(), "{wrong}");
        }
    }
}
