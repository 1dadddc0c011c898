//! How long a mock holds its messages back.

use std::time::Duration;

/// How messages of a mock are held up: as if the way to the client were long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The shortest time.
    pub min: Duration,
    /// The longest time; not less than the shortest.
    pub max: Duration,
    /// What the times between them are drawn with: the same times come of the same seed.
    pub seed: u64,
}

impl Latency {
    /// The times of one connection, told from others by its number.
    pub fn draws(self, connection: u64) -> Draws {
        Draws { latency: self, state: self.seed ^ connection.wrapping_mul(GOLDEN) }
    }
}

/// The times by which the messages of a connection are held up, one after the other.
#[derive(Clone, Debug)]
pub struct Draws {
    latency: Latency,
    state: u64,
}

impl Iterator for Draws {
    type Item = Duration;

    /// The next time; there is always one.
    fn next(&mut self) -> Option<Duration> {
        let Latency { min, max, .. } = self.latency;
        let range = u64::try_from(max.saturating_sub(min).as_micros()).unwrap_or(u64::MAX);
        let drawn = self.number() % range.saturating_add(1);
        Some((min + Duration::from_micros(drawn)).min(max))
    }
}

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draws {
    /// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(seed: u64) -> Latency {
        Latency { min: Duration::from_millis(20), max: Duration::from_millis(200), seed }
    }

    fn times(seed: u64, connection: u64) -> Vec<Duration> {
        latency(seed).draws(connection).take(50).collect()
    }

    #[test]
    fn a_seed_gives_each_connection_the_same_times_again() {
        assert_eq!(times(1, 1), times(1, 1));
        assert_ne!(times(1, 1), times(1, 2));
        assert_ne!(times(1, 1), times(2, 1));
    }

    #[test]
    fn times_lie_within_their_bounds_and_are_spread() {
        let times = times(7, 1);
        assert!(times.iter().all(|t| (latency(0).min..=latency(0).max).contains(t)), "{times:?}");
        let short = times.iter().filter(|t| t.as_millis() < 110).count();
        assert!((6..=44).contains(&short), "{times:?}");
    }

    #[test]
    fn a_range_of_one_time_is_that_time() {
        let time = Duration::from_millis(5);
        let latency = Latency { min: time, max: time, seed: 3 };
        assert!(latency.draws(1).take(5).all(|t| t == time));
    }
}
