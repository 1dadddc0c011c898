//! Texts and what they can do without.

use crate::matcher::template::{Piece, pieces};

/// A text as the parts that may be taken out of it one by one. Variables stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Characters, and variables (`${…}`), which are not removable.
    Characters(Vec<(String, bool)>),
    /// Bytes as pairs of hexadecimal digits.
    Bytes(Vec<String>),
}

impl Parts {
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

    #[test]
    fn variables_stay_whole_and_everything_else_may_go() {
        let parts = Parts::of_text("a${x.0}b$${c");
        assert_eq!(parts.removable(), 4);
        assert_eq!(parts.without(&[true; 4]), "a${x.0}b$${c");
        assert_eq!(parts.without(&[false, true, false, true]), "${x.0}bc");
        let bytes = Parts::of_hex("00 ff1 2");
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
