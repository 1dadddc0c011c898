//! One of several parts of a suite that are played on different machines: [`Shard`].

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
