//! Which parts of a list or of a text to try to do without.

use crate::matcher::template::{Piece, pieces};

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
    pub fn report(&mut self, does: bool) {
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

/// A text as the parts that may be taken out of it one by one. Variables stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextParts {
    /// Characters, and variables (`${…}`), which are not removable.
    Characters(Vec<(String, bool)>),
    /// Bytes as pairs of hexadecimal digits.
    Bytes(Vec<String>),
}

impl TextParts {
    /// The parts of a text.
    pub fn of_text(text: &str) -> Self {
        // What looks like a variable and is none stays as it is.
        let Ok(found) = pieces(text) else { return Self::Characters(vec![(text.to_owned(), false)]) };
        let mut parts = vec![];
        for piece in found {
            match piece {
                Piece::Text(words) => parts.extend(escaped(&words).into_iter().map(|part| (part, true))),
                Piece::Variable(names) => parts.push((format!("${{{}}}", names.join(".")), false)),
            }
        }
        Self::Characters(parts)
    }

    /// The parts of hexadecimal digits; blanks between them are dropped.
    pub fn of_hex(hex: &str) -> Self {
        let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
        Self::Bytes(digits.chunks(2).map(|pair| pair.iter().collect()).collect())
    }

    /// How many may be taken out.
    pub fn removable(&self) -> usize {
        match self {
            Self::Characters(parts) => parts.iter().filter(|(_, may)| *may).count(),
            Self::Bytes(pairs) => pairs.len(),
        }
    }

    /// The text without those removable parts that `keep` does not have.
    pub fn without(&self, keep: &[bool]) -> String {
        let mut keep = keep.iter().copied();
        let mut kept = || keep.next().unwrap_or(true);
        match self {
            Self::Characters(parts) => {
                parts.iter().filter(|(_, may)| !*may || kept()).map(|(part, _)| part.as_str()).collect()
            }
            Self::Bytes(pairs) => pairs.iter().filter(|_| kept()).map(String::as_str).collect::<Vec<_>>().join(" "),
        }
    }
}

/// The characters of a text; `${` as it has to be written in a scenario is one.
fn escaped(words: &str) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    let mut chars = words.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '$' && chars.peek() == Some(&'{') {
            chars.next();
            out.push("$${".to_owned());
        } else {
            out.push(c.to_string());
        }
    }
    out
}

/// Whether a text may be cut into another one. Cutting must not make an absolute path, a URI or a way out of a folder of
/// what was none: the subject may write where it leads.
pub fn is_harmless(was: &str, is: &str) -> bool {
    let leads_out = |text: &str| {
        let scheme = text.split_once(':').is_some_and(|(scheme, rest)| {
            let word = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
            word && rest.starts_with(|c: char| !c.is_whitespace())
        });
        text.starts_with(['/', '~']) || scheme || text.contains("..") || text.contains("\"/")
    };
    // What leads somewhere stays whole: half a path is another path.
    was == is || (!leads_out(was) && !leads_out(is))
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
            chunks.report(does);
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

    #[test]
    fn variables_stay_whole_and_everything_else_may_go() {
        let parts = TextParts::of_text("a${x.0}b$${c");
        assert_eq!(parts.removable(), 4);
        assert_eq!(parts.without(&[true; 4]), "a${x.0}b$${c");
        assert_eq!(parts.without(&[false, true, false, true]), "${x.0}bc");
        let bytes = TextParts::of_hex("00 ff1 2");
        assert_eq!((bytes.removable(), bytes.without(&[true, false, true])), (3, "00 12".to_owned()));
    }

    #[test]
    fn nothing_is_cut_so_that_it_leads_elsewhere() {
        for (was, is) in [
            ("x/etc", "/etc"),
            ("a.b.", ".."),
            ("/a/b", "/a"),
            ("file:///a/b", "file:///"),
            ("a b:c", "b:c"),
            ("a: b", "a:b"),
        ] {
            assert!(!is_harmless(was, is), "{was} {is}");
        }
        for (was, is) in [("hello", ""), ("${workspace}/a b", "${workspace}/a"), ("/same", "/same"), ("a: b", "a b")] {
            assert!(is_harmless(was, is), "{was} {is}");
        }
    }
}
