//! The options of a replay ([`ReplayOptions`]) and its outcome ([`ReplayOutcome`]).

use std::collections::HashMap;
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

/// How a replay is done.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
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

/// So many departures are kept; the others are only counted.
const MAX_LISTED: usize = 1000;

/// The outcome of a replay.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReplayOutcome {
    /// Where the live side departs from the record, in the order in which that was seen; the first thousand.
    pub departures: Vec<Departure>,
    /// How many things of which kind there were.
    pub counts: DepartureCounts,
    /// What else there is to know, such as what could not be replayed.
    pub notes: Vec<String>,
}

/// How often what was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DepartureCounts {
    /// What the live side did as recorded.
    pub same: u64,
    /// What the live side did otherwise.
    pub different: u64,
    /// What the live side did not do.
    pub missing: u64,
    /// What the live side did that is not in the record.
    pub extra: u64,
}

/// A place in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The number of the event.
    pub event: u64,
    /// The line of the event in the file, from 1.
    pub line: u64,
}

/// How the live side departs from the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DepartureKind {
    /// What the record has did not come.
    Missing,
    /// What came is not in the record.
    Extra,
    /// It came with other content.
    Different,
}

/// Where the live side departs from the record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Departure {
    /// The kind of departure.
    pub kind: DepartureKind,
    /// What of the record it is about; of what is extra, what was recorded last before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Position>,
    /// The connection, by its name in the record.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub conn: String,
    /// A label of the message: `answer "1"`, `event session:start`.
    pub what: String,
    /// What the record has there, with live values in place of recorded ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// What came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
}

impl ReplayOutcome {
    /// Whether the live side did what the record has, and nothing else.
    pub fn is_same(&self) -> bool {
        let DepartureCounts { different, missing, extra, .. } = self.counts;
        different + missing + extra == 0
    }

    /// Adds a departure.
    pub fn add(&mut self, departure: Departure) {
        match departure.kind {
            DepartureKind::Missing => self.counts.missing += 1,
            DepartureKind::Extra => self.counts.extra += 1,
            DepartureKind::Different => self.counts.different += 1,
        }
        if self.departures.len() < MAX_LISTED {
            self.departures.push(departure);
        }
    }

    /// Adds a note, once.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if self.notes.len() < MAX_LISTED && !self.notes.contains(&text) {
            self.notes.push(text);
        }
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
