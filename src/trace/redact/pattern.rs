//! Finding known secrets in bytes, in every encoded form.
//!
//! Each character of a secret may be plain, percent-encoded, or escaped as in JSON, independently of the others: the
//! output of `encodeURIComponent`, of an encoder of every byte, and of `JSON.stringify` is found.

use std::sync::{Arc, LazyLock};

/// Fewer bytes than this of the beginning of a secret reveal nothing, and occur by chance.
const REVEALING_LENGTH: usize = 4;

/// Within a secret that was found, another one is searched for from this many of its last bytes on. Searching from all
/// of them would take quadratic time for a repetitive secret.
const OVERLAP: usize = 256;

/// The forms of the ASCII characters: making them for each secret of each trace takes longer than the search.
static ASCII: LazyLock<[Arc<[Form]>; 128]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        u8::try_from(code).map_or_else(|_| Arc::default(), |code| forms(char::from(code)).into())
    })
});

/// The secrets to search for.
#[derive(Debug, Default)]
pub struct Secrets {
    secrets: Vec<Secret>,
    /// The pairs of bytes with which any form of a secret can begin.
    starts: BytePairs,
    /// The bytes with which any form of a secret can begin.
    first_bytes: FirstBytes,
    bytes: usize,
}

#[derive(Debug)]
struct Secret {
    /// For each character, the forms it may have.
    chars: Vec<Arc<[Form]>>,
    /// For each character, how many bytes of the secret come before it.
    before: Vec<usize>,
}

/// One way to write a character.
#[derive(Debug)]
struct Form {
    bytes: Vec<u8>,
    /// Whether the form is an escape, in which hexadecimal digits may have either case.
    escape: bool,
}

/// How far a secret has been matched: within which form of which of its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progress {
    secret: usize,
    character: usize,
    form: usize,
    offset: usize,
}

/// Matches that were incomplete at the end of the last piece of a stream.
#[derive(Clone, Debug, Default)]
pub struct PartialMatches(Vec<Progress>);

impl PartialMatches {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A range of bytes to hide, with the number of the secret if the range is all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretHit {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The secret, by the order in which they were added; none for a part of one.
    pub secret: Option<usize>,
}

impl Secrets {
    /// Adds a secret, which gets the next number. An empty one is never found.
    pub fn add(&mut self, secret: &str) {
        let known = |character: char| match ASCII.get(character as usize) {
            Some(forms) => forms.clone(),
            None => forms(character).into(),
        };
        let chars: Vec<Arc<[Form]>> = secret.chars().map(known).collect();
        for form in chars.first().into_iter().flat_map(|forms| forms.iter()) {
            self.first_bytes.insert(form.bytes[0]);
            match form.bytes[..] {
                [first, second, ..] => self.starts.insert(first, second),
                [first] => match chars.get(1) {
                    Some(forms) => forms.iter().for_each(|form| self.starts.insert(first, form.bytes[0])),
                    None => (0..=u8::MAX).for_each(|second| self.starts.insert(first, second)),
                },
                [] => {}
            }
        }
        let before = secret.char_indices().map(|(at, _)| at).collect();
        self.secrets.push(Secret { chars, before });
        self.bytes += secret.len();
    }

    /// How many bytes they have together.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Finds secrets in a text that is no part of a stream.
    pub fn find(&self, data: &[u8]) -> Vec<SecretHit> {
        let mut hits = Vec::new();
        if !self.secrets.is_empty() {
            self.scan(data, 0, &mut hits, None);
        }
        hits
    }

    /// Finds secrets in the next piece of a stream: those that are in it, the end of those that began in an earlier
    /// piece, and the beginning of those that may end in a later one.
    pub fn find_next(&self, data: &[u8], carry: &mut PartialMatches) -> Vec<SecretHit> {
        let mut hits = Vec::new();
        if self.secrets.is_empty() || data.is_empty() {
            return hits;
        }
        let mut live = std::mem::take(&mut carry.0);
        let mut next = Vec::new();
        let mut done = 0;
        for (at, byte) in data.iter().enumerate() {
            if live.is_empty() {
                break;
            }
            if self.advance(&live, *byte, &mut next).is_some() {
                done = at + 1;
            }
            std::mem::swap(&mut live, &mut next);
        }
        if self.reveals_secret(&live) {
            hits.push(SecretHit { start: 0, end: data.len(), secret: None });
        } else if done > 0 {
            hits.push(SecretHit { start: 0, end: done, secret: None });
        }
        carry.0 = live;
        self.scan(data, done, &mut hits, Some(carry));
        hits
    }

    /// Searches for secrets that begin at `from` or later. Where one begins within another one, the rest of it is
    /// hidden as a part.
    fn scan(&self, data: &[u8], from: usize, hits: &mut Vec<SecretHit>, mut carry: Option<&mut PartialMatches>) {
        let (mut live, mut next) = (Vec::new(), Vec::new());
        let mut start = from;
        let mut hidden = from;
        while start < data.len() {
            let may_begin = match data.get(start + 1) {
                Some(second) => self.starts.contains(data[start], *second),
                None => self.first_bytes.contains(data[start]),
            };
            if !may_begin {
                start += 1;
                continue;
            }
            live.clear();
            for secret in 0..self.secrets.len() {
                self.begin(secret, 0, &mut live);
            }
            let mut found = None;
            for (at, byte) in data.iter().enumerate().skip(start) {
                if let Some(secret) = self.advance(&live, *byte, &mut next) {
                    found = Some((at + 1, secret));
                }
                std::mem::swap(&mut live, &mut next);
                if live.is_empty() {
                    break;
                }
            }
            if let Some(carry) = &mut carry {
                if self.reveals_secret(&live) {
                    hits.push(SecretHit { start: start.max(hidden), end: data.len(), secret: None });
                }
                for progress in &live {
                    if !carry.0.contains(progress) {
                        carry.0.push(*progress);
                    }
                }
            }
            start = match found {
                Some((end, secret)) if start >= hidden => {
                    hits.push(SecretHit { start, end, secret: Some(secret) });
                    hidden = end;
                    (start + 1).max(end.saturating_sub(OVERLAP))
                }
                Some((end, _)) if end > hidden => {
                    hits.push(SecretHit { start: hidden, end, secret: None });
                    hidden = end;
                    start + 1
                }
                _ => start + 1,
            };
        }
    }

    /// Starts to match every form of a character of a secret.
    fn begin(&self, secret: usize, character: usize, live: &mut Vec<Progress>) {
        let forms = self.secrets[secret].chars.get(character).map_or(0, |forms| forms.len());
        for form in 0..forms {
            let progress = Progress { secret, character, form, offset: 0 };
            if !live.contains(&progress) {
                live.push(progress);
            }
        }
    }

    /// Matches one more byte: matches that continue go to `next`; returns a secret that is now complete.
    fn advance(&self, live: &[Progress], byte: u8, next: &mut Vec<Progress>) -> Option<usize> {
        next.clear();
        let mut complete = None;
        for progress in live {
            let secret = &self.secrets[progress.secret];
            let form = &secret.chars[progress.character][progress.form];
            let wanted = form.bytes[progress.offset];
            if !(wanted == byte || form.escape && wanted.eq_ignore_ascii_case(&byte)) {
                continue;
            }
            if progress.offset + 1 < form.bytes.len() {
                next.push(Progress { offset: progress.offset + 1, ..*progress });
            } else if progress.character + 1 < secret.chars.len() {
                self.begin(progress.secret, progress.character + 1, next);
            } else {
                complete = Some(progress.secret);
            }
        }
        complete
    }

    /// Whether enough of some secret has been seen to hide the piece.
    fn reveals_secret(&self, live: &[Progress]) -> bool {
        live.iter().any(|progress| {
            let secret = &self.secrets[progress.secret];
            let raw = !secret.chars[progress.character][progress.form].escape;
            secret.before[progress.character] + if raw { progress.offset } else { 0 } >= REVEALING_LENGTH
        })
    }
}

/// A set of bytes, which does not tell letters of different case apart.
#[derive(Debug, Default)]
struct FirstBytes([u64; 4]);

impl FirstBytes {
    fn insert(&mut self, byte: u8) {
        let byte = byte.to_ascii_lowercase();
        self.0[usize::from(byte / 64)] |= 1 << (byte % 64);
    }

    fn contains(&self, byte: u8) -> bool {
        let byte = byte.to_ascii_lowercase();
        self.0[usize::from(byte / 64)] & 1 << (byte % 64) != 0
    }
}

/// A set of pairs of bytes, which does not tell letters of different case apart.
#[derive(Debug)]
struct BytePairs(Box<[u64; 1024]>);

impl Default for BytePairs {
    fn default() -> Self {
        Self(Box::new([0; 1024]))
    }
}

impl BytePairs {
    fn insert(&mut self, first: u8, second: u8) {
        let (word, bit) = Self::place(first, second);
        self.0[word] |= bit;
    }

    fn contains(&self, first: u8, second: u8) -> bool {
        let (word, bit) = Self::place(first, second);
        self.0[word] & bit != 0
    }

    fn place(first: u8, second: u8) -> (usize, u64) {
        let pair = usize::from(first.to_ascii_lowercase()) << 8 | usize::from(second.to_ascii_lowercase());
        (pair / 64, 1 << (pair % 64))
    }
}

/// The forms that a character may have.
fn forms(character: char) -> Vec<Form> {
    let mut utf8 = [0; 4];
    let raw = character.encode_utf8(&mut utf8).as_bytes();
    let escape = |text: String| Form { bytes: text.into_bytes(), escape: true };
    let mut utf16 = [0; 2];
    let units = character.encode_utf16(&mut utf16);
    let mut forms = vec![
        Form { bytes: raw.to_vec(), escape: false },
        escape(raw.iter().map(|byte| format!("%{byte:02x}")).collect()),
        escape(units.iter().map(|unit| format!("\\u{unit:04x}")).collect()),
    ];
    // A text of JSON within other JSON is escaped twice.
    forms.push(escape(units.iter().map(|unit| format!("\\\\u{unit:04x}")).collect()));
    let short = match character {
        '"' => Some("\\\""),
        '\\' => Some("\\\\"),
        '/' => Some("\\/"),
        '\u{8}' => Some("\\b"),
        '\u{c}' => Some("\\f"),
        '\n' => Some("\\n"),
        '\r' => Some("\\r"),
        '\t' => Some("\\t"),
        ' ' => Some("+"),
        _ => None,
    };
    forms.extend(short.map(|text| escape(text.to_owned())));
    let twice = short.filter(|text| text.starts_with('\\'));
    forms.extend(twice.map(|text| escape(text.replace('\\', "\\\\").replace('"', "\\\""))));
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(texts: &[&str]) -> Secrets {
        let mut secrets = Secrets::default();
        for text in texts {
            secrets.add(text);
        }
        secrets
    }

    fn complete_hit(start: usize, end: usize, secret: usize) -> SecretHit {
        SecretHit { start, end, secret: Some(secret) }
    }

    #[test]
    fn a_secret_is_found_in_each_of_its_forms() {
        let secrets = secrets(&["a/b \"ü𝄞\\"]);
        for form in [
            "a/b \"ü𝄞\\",
            "a%2Fb%20%22%C3%BC%F0%9D%84%9E%5C",
            "%61%2f%62%20%22%c3%bc%f0%9d%84%9e%5c",
            "a/b+%22%c3%BC𝄞%5c",
            r#"a\/b \"ü𝄞\\"#,
            r"a/b\u0020\u0022\u00FC\uD834\udd1e\\",
            r#"a/b \\\"ü𝄞\\\\"#,
        ] {
            assert_eq!(secrets.find(format!("x{form}y").as_bytes()), [complete_hit(1, form.len() + 1, 0)], "{form}");
        }
        assert_eq!(secrets.find(b"a/b \"u"), []);
    }

    #[test]
    fn the_longest_of_several_secrets_is_the_one_found() {
        let secrets = secrets(&["token", "token-two", "other"]);
        assert_eq!(
            secrets.find(b"token-two token token-t"),
            [complete_hit(0, 9, 1), complete_hit(10, 15, 0), complete_hit(16, 21, 0)]
        );
    }

    #[test]
    fn a_secret_that_begins_within_another_one_is_hidden_to_its_end() {
        assert_eq!(
            secrets(&["abcab"]).find(b"abcabcabcab."),
            [
                complete_hit(0, 5, 0),
                SecretHit { start: 5, end: 8, secret: None },
                SecretHit { start: 8, end: 11, secret: None },
            ]
        );
        // Taken for an escaped one, the first reaches into the second.
        let both = secrets(&[r"\\00\"]).find(br"\\\\00\\\00\");
        assert_eq!(both, [complete_hit(0, 8, 0), SecretHit { start: 8, end: 12, secret: None }]);
        let mut carry = PartialMatches::default();
        let secrets = secrets(&["abcdab"]);
        assert_eq!(
            secrets.find_next(b"abcdabcd", &mut carry),
            [complete_hit(0, 6, 0), SecretHit { start: 6, end: 8, secret: None }]
        );
        assert_eq!(secrets.find_next(b"ab", &mut carry), [SecretHit { start: 0, end: 2, secret: None }]);
    }

    #[test]
    fn a_secret_split_into_pieces_is_hidden_but_for_a_beginning_that_tells_nothing() {
        let secrets = secrets(&["0123456789"]);
        let mut carry = PartialMatches::default();
        assert_eq!(secrets.find_next(b"x01", &mut carry), []);
        assert_eq!(secrets.find_next(b"2", &mut carry), []);
        assert_eq!(secrets.find_next(b"3", &mut carry), [SecretHit { start: 0, end: 1, secret: None }]);
        assert_eq!(secrets.find_next(b"%345678", &mut carry), [SecretHit { start: 0, end: 7, secret: None }]);
        assert_eq!(secrets.find_next(b"9 after", &mut carry), [SecretHit { start: 0, end: 1, secret: None }]);
        assert!(carry.is_empty());
    }

    #[test]
    fn what_only_began_like_a_secret_does_not_hide_what_follows() {
        let secrets = secrets(&["0123456789"]);
        let mut carry = PartialMatches::default();
        assert_eq!(secrets.find_next(b"012345", &mut carry), [SecretHit { start: 0, end: 6, secret: None }]);
        assert_eq!(secrets.find_next(b"others", &mut carry), []);
        assert!(carry.is_empty());
    }

    #[test]
    fn a_secret_that_repeats_itself_is_found_from_its_later_beginning_too() {
        let secrets = secrets(&["ababac"]);
        let mut carry = PartialMatches::default();
        secrets.find_next(b"abab", &mut carry);
        assert_eq!(secrets.find_next(b"abac", &mut carry), [SecretHit { start: 0, end: 4, secret: None }]);
    }
}
