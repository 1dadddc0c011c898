//! Which parts of a list to try to do without: delta debugging.

/// Proposes what to keep of a list, halving what it takes out at a time, until nothing can be taken out any more.
///
/// It begins with everything, goes from the end to the beginning (what comes late depends on what comes early), and
/// ends once every part has been tried alone since the last one went.
pub struct Chunks {
    keep: Vec<bool>,
    size: usize,
    /// How many of those kept lie behind the place where the next chunk ends.
    passed: usize,
    changed: bool,
}

impl Chunks {
    /// For a list of so many parts, all of which may go.
    pub fn new(parts: usize) -> Self {
        Self { keep: vec![true; parts], size: parts, passed: 0, changed: false }
    }

    /// What to try next: which parts to keep. None once it is over. Asked twice, it says the same.
    pub fn propose(&mut self) -> Option<Vec<bool>> {
        loop {
            let kept = self.kept();
            if self.size == 0 || kept.is_empty() {
                return None;
            }
            if self.passed < kept.len() {
                let mut keep = self.keep.clone();
                self.chunk(&kept).iter().for_each(|&n| keep[n] = false);
                return Some(keep);
            }
            self.passed = 0;
            if self.size > 1 {
                self.size = self.size.min(kept.len()).div_ceil(2).min(self.size - 1);
            } else if self.changed {
                self.changed = false;
            } else {
                return None;
            }
        }
    }

    /// Says whether it does without what the last proposal left out.
    pub fn answer(&mut self, does: bool) {
        let kept = self.kept();
        let chunk = self.chunk(&kept).to_vec();
        if does {
            chunk.iter().for_each(|&n| self.keep[n] = false);
            self.changed |= self.size == 1;
        } else {
            self.passed += chunk.len();
        }
    }

    fn kept(&self) -> Vec<usize> {
        (0..self.keep.len()).filter(|&n| self.keep[n]).collect()
    }

    fn chunk<'a>(&self, kept: &'a [usize]) -> &'a [usize] {
        let end = kept.len().saturating_sub(self.passed);
        &kept[end.saturating_sub(self.size)..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least(parts: usize, fails: impl Fn(&[usize]) -> bool) -> (Vec<usize>, usize) {
        let mut chunks = Chunks::new(parts);
        let (mut left, mut tries): (Vec<usize>, usize) = ((0..parts).collect(), 0);
        while let Some(keep) = chunks.propose() {
            let candidate: Vec<usize> = (0..parts).filter(|&n| keep[n]).collect();
            let does = fails(&candidate);
            tries += 1;
            if does {
                left = candidate;
            }
            chunks.answer(does);
        }
        (left, tries)
    }

    #[test]
    fn what_is_left_is_what_it_takes_and_nothing_else() {
        let needed = |needed: &'static [usize]| move |have: &[usize]| needed.iter().all(|n| have.contains(n));
        for parts in 0..40 {
            assert_eq!(least(parts, |_| true).0, [0; 0]);
            assert_eq!(least(parts, |_| false).0, (0..parts).collect::<Vec<_>>());
        }
        assert_eq!(least(40, needed(&[3])).0, [3]);
        assert_eq!(least(40, needed(&[0, 17, 39])).0, [0, 17, 39]);
        let (left, tries) = least(1000, needed(&[500]));
        assert!(left == [500] && tries < 60, "{tries} tries");
    }

    #[test]
    fn parts_that_depend_on_earlier_ones_go_after_those_that_need_them() {
        // Each part needs the one before it.
        let chain = |have: &[usize]| have.iter().enumerate().all(|(at, n)| at == *n);
        assert_eq!(least(12, |have| chain(have) && have.len() >= 3).0, [0, 1, 2]);
    }
}
