//! Chance, from a seed.

/// A source of numbers that depend on nothing but its seed.
#[derive(Clone, Debug)]
pub struct Draw(u64);

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draw {
    /// The source of one case, told from others by its number.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut draw = Self(seed);
        let mixed = draw.number();
        Self(mixed ^ number.wrapping_mul(GOLDEN))
    }

    /// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where there is none.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { usize::try_from(self.number() % n as u64).unwrap_or(0) }
    }

    /// A number within bounds, both inclusive.
    pub fn between(&mut self, min: i64, max: i64) -> i64 {
        let range = u64::try_from(i128::from(max) - i128::from(min)).unwrap_or(0);
        let drawn = if range == u64::MAX { self.number() } else { self.number() % (range + 1) };
        i64::try_from(i128::from(min) + i128::from(drawn)).unwrap_or(min)
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_number_give_the_same_again_and_others_something_else() {
        let drawn = |seed, number| {
            let mut draw = Draw::new(seed, number);
            (0..8).map(|_| draw.number()).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1, 2), drawn(1, 2));
        assert_ne!(drawn(1, 2), drawn(1, 3));
        assert_ne!(drawn(1, 2), drawn(2, 1));
    }

    #[test]
    fn numbers_lie_within_their_bounds_also_the_widest() {
        let mut draw = Draw::new(7, 7);
        for _ in 0..1000 {
            assert!((-3..=3).contains(&draw.between(-3, 3)));
            assert!(draw.below(5) < 5);
        }
        draw.between(i64::MIN, i64::MAX);
        assert_eq!((draw.between(4, 4), draw.below(0)), (4, 0));
    }
}
