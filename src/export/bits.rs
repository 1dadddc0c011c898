//! A set of event numbers: a bit for each event up to the last one in it.

/// Which of a trace's events something is true of.
#[derive(Clone, Debug, Default)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// Puts a number in.
    pub fn set(&mut self, n: u64) {
        let Ok(word) = usize::try_from(n / 64) else { return };
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (n % 64);
    }

    /// Whether a number is in it.
    pub fn has(&self, n: u64) -> bool {
        let word = usize::try_from(n / 64).ok().and_then(|word| self.0.get(word));
        word.is_some_and(|word| word & (1 << (n % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_in_it_and_nothing_else() {
        let mut bits = Bits::default();
        [0, 63, 64, 1000].into_iter().for_each(|n| bits.set(n));
        let found: Vec<u64> = (0..2000).filter(|n| bits.has(*n)).collect();
        assert_eq!(found, [0, 63, 64, 1000]);
    }
}
