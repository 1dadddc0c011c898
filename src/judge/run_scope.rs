//! What conclusions rest on beside the plays: the options of the run, its [`Shard`], and what was selected. A report says
//! it, so that the reports of shards can be put together.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::glob;

/// What was asked of a run, of all its subjects alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunOptions {
    /// Whether a violated `should` counted like a `must`.
    pub strict: bool,
    /// The filter, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Which part of the scenarios was played, where they were parted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// A subject of which nothing is said: it could not be started, reached or judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unjudged {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// The edition it was to be judged by; `auto` where that was to be found out.
    pub edition: String,
    /// What went wrong.
    pub reason: String,
}

/// How much of the suite a run stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The whole suite of the role and edition was played.
    Full,
    /// Only part of it was asked for: nothing is said about completeness or stale baseline lines.
    Partial,
    /// It ended before its time: interrupted, or at the first failure.
    CutShort,
}

/// Which scenarios a run, with all its shards, consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// How many there are.
    pub scenarios: usize,
    /// Whether they are the whole suite of the role and edition.
    pub whole: bool,
}

/// What the conclusions about a subject rest on, beside how its scenarios went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunScope {
    /// How much was asked for and reached.
    pub scope: Scope,
    /// How many scenarios were asked for, in all shards together.
    pub scenarios: usize,
    /// Whether these are the whole suite of the role and edition.
    pub whole: bool,
    /// The capabilities that it declares missing.
    pub missing: Vec<String>,
    /// The lines of the baseline that speak of what is asked of it.
    pub baseline: Vec<BaselineLine>,
    /// Snapshots that no scenario refers to, where only a full run may tell them as drift.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreferenced: Vec<String>,
}

/// A line of the baseline, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineLine {
    /// The requirement's whole id.
    pub requirement: String,
    /// The scenario's id, where it is known in that scenario only; `*` stands for any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// Why it is put up with.
    pub reason: String,
    /// The last day on which it is, as a date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Whether that day was over.
    pub expired: bool,
    /// Whether it covered a violation.
    pub used: bool,
}

impl BaselineLine {
    /// Whether it speaks of this scenario.
    pub fn concerns(&self, scenario: &str) -> bool {
        self.scenario.as_deref().is_none_or(|pattern| glob(pattern, scenario))
    }

    /// Whether both stand for the same line of the same file, whatever came of it.
    pub(super) fn is_same_line(&self, other: &Self) -> bool {
        let content = |line: &Self| Self { expired: false, used: false, ..line.clone() };
        content(self) == content(other)
    }
}

/// One of several parts of a suite: `2/5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Shard {
    /// Which one, from 1.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

impl Shard {
    /// Whether the scenario at this position of the sorted suite belongs to this shard.
    pub fn takes(self, position: usize) -> bool {
        position % self.of == self.index - 1
    }

    /// How many of so many scenarios belong to this shard.
    pub fn share(self, scenarios: usize) -> usize {
        scenarios / self.of + usize::from(self.index <= scenarios % self.of)
    }

    /// Whether there can be such a shard.
    pub fn is_sound(self) -> bool {
        (1..=self.of).contains(&self.index)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parsed.map(|(index, of)| Self { index, of }) {
            Some(shard) if shard.is_sound() => Ok(shard),
            _ => Err("expected I/N with 1 ≤ I ≤ N, such as 2/5".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_part_a_suite_without_overlap_or_gap() {
        let shards = ["1/3", "2/3", "3/3"].map(|s| s.parse::<Shard>().unwrap());
        for position in 0..20 {
            assert_eq!(shards.iter().filter(|s| s.takes(position)).count(), 1);
            assert_eq!(shards.iter().map(|s| s.share(position)).sum::<usize>(), position);
        }
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0", "-1/2", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
