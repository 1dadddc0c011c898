//! Which events of a feed are shown: a [`Query`], and the [`View`] that remembers what fits it.

use std::ops::Range;

use memchr::memmem::Finder;

use crate::export::{Bits, TONES};
use crate::scenario::filter::glob;
use crate::trace::KINDS;

use super::index::Entry;

/// A choice of events. What is empty lets every event pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// A text that the line of the event in the trace has, in upper or lower case.
    pub text: String,
    /// Patterns for the name of the connection, in which `*` stands for any text.
    pub connections: Vec<String>,
    /// Tones of rows.
    pub tones: Vec<String>,
    /// Kinds of events.
    pub kinds: Vec<String>,
    /// Whether only events with findings are shown.
    pub findings: bool,
    /// Whether frames and pieces are shown that the event after them tells again.
    pub pieces: bool,
    /// Whether each notification of a run is shown. Where a text is looked for, each is.
    pub runs: bool,
}

impl Query {
    /// From the parameters of a URL. Others are ignored.
    ///
    /// # Errors
    /// A tone or kind that does not exist, as a sentence.
    pub fn from_parameters<'a>(parameters: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut query = Self::default();
        let known = |what: &str, value: &str, all: &[&str]| match all.contains(&value) {
            true => Ok(value.to_owned()),
            false => Err(format!("there is no {what} `{value:.40}`; there are {}", all.join(", "))),
        };
        for (name, value) in parameters {
            match name {
                "q" => query.text = value.to_owned(),
                "conn" => query.connections.push(value.to_owned()),
                "tone" => query.tones.push(known("tone", value, &TONES)?),
                "kind" => query.kinds.push(known("kind", value, KINDS)?),
                "findings" => query.findings = is_on(value),
                "pieces" => query.pieces = is_on(value),
                "runs" => query.runs = is_on(value),
                _ => {}
            }
        }
        Ok(query)
    }

    /// Whether events have to be looked at one by one.
    fn is_plain(&self) -> bool {
        self.text.is_empty() && self.connections.is_empty() && self.tones.is_empty() && self.kinds.is_empty()
    }

    /// Whether runs are shown by their first events.
    pub fn folds(&self) -> bool {
        !self.runs && self.text.is_empty()
    }

    /// Whether the lines of the events have to be read.
    pub fn needs_lines(&self) -> bool {
        !self.text.is_empty()
    }
}

fn is_on(value: &str) -> bool {
    !matches!(value, "" | "0" | "false")
}

/// What is known of 64 events: a bit for each.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventWords {
    /// Whether the event after it tells the same.
    pub repeated: u64,
    /// Whether it is a piece of another.
    pub pieces: u64,
    /// Whether it continues a run.
    pub folded: u64,
    /// Whether something was found at it.
    pub found: u64,
}

/// The events of a feed that fit a query, as far as they have been looked at.
pub struct View {
    query: Query,
    matches: Bits,
    scanned: usize,
    text: TextFinder,
}

impl View {
    /// Nothing looked at yet.
    pub fn new(query: Query) -> Self {
        Self { text: TextFinder::new(&query.text), query, matches: Bits::default(), scanned: 0 }
    }

    /// The query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// How many events have been looked at, of so many.
    pub fn scanned(&self, events: usize) -> usize {
        if self.query.is_plain() { events } else { self.scanned }
    }

    /// Takes in the next events: what is known of them, and where their lines are in `bytes`, if the query needs lines.
    pub fn scan(&mut self, entries: &[Entry], name: impl Fn(usize) -> String, lines: &[Range<usize>], bytes: &[u8]) {
        let (mut last, mut last_fits) = (None, false);
        for (n, entry) in entries.iter().enumerate() {
            if entry.place() != last || n == 0 {
                last = entry.place();
                last_fits = self.query.connections.is_empty()
                    || entry.place().is_some_and(|at| {
                        let name = name(at);
                        self.query.connections.iter().any(|pattern| glob(pattern, &name))
                    });
            }
            let word = |list: &[&'static str], at: u8| list.get(usize::from(at)).copied().unwrap_or_default();
            let is_one = |wanted: &[String], word: &str| wanted.is_empty() || wanted.iter().any(|w| w == word);
            let fits = last_fits
                && is_one(&self.query.tones, word(&TONES, entry.tone()))
                && is_one(&self.query.kinds, word(KINDS, entry.kind()))
                && (!self.query.needs_lines()
                    || lines.get(n).and_then(|at| bytes.get(at.clone())).is_some_and(|line| self.text.is_in(line)));
            if fits {
                self.matches.set((self.scanned + n) as u64);
            }
        }
        self.scanned += entries.len();
    }

    /// Which of the 64 events from `64 * at` are shown; `events` is how many there are. The words say of the same events which
    /// are told again by others, pieces, continuations of a run, or have findings.
    pub fn word(&self, at: usize, events: usize, words: EventWords) -> u64 {
        let EventWords { repeated, pieces, folded, found } = words;
        let fits = match self.query.is_plain() {
            true => first_bits(events.saturating_sub(64 * at)),
            false => self.matches.word(at),
        };
        let whole = if self.query.pieces { u64::MAX } else { !(repeated | pieces) | found };
        let first = if self.query.folds() { !folded | found } else { u64::MAX };
        let found = if self.query.findings { found } else { u64::MAX };
        fits & whole & first & found
    }
}

/// A word whose lowest bits are set, so many of them.
fn first_bits(count: usize) -> u64 {
    match count {
        64.. => u64::MAX,
        _ => (1 << count) - 1,
    }
}

/// Finds a text in lines of JSON, in upper or lower case.
struct TextFinder {
    /// The text as it is, and as JSON writes it; in lower case.
    texts: Vec<Finder<'static>>,
    ascii: bool,
}

impl TextFinder {
    fn new(text: &str) -> Self {
        let text = text.to_lowercase();
        let escaped = serde_json::Value::from(text.as_str()).to_string();
        let escaped = escaped[1..escaped.len() - 1].to_owned();
        let mut texts = vec![Finder::new(&text).into_owned()];
        if escaped != text {
            texts.push(Finder::new(&escaped).into_owned());
        }
        Self { texts, ascii: text.is_ascii() }
    }

    fn is_in(&self, line: &[u8]) -> bool {
        let lower = match self.ascii {
            true => line.to_ascii_lowercase(),
            false => String::from_utf8_lossy(line).to_lowercase().into_bytes(),
        };
        self.texts.iter().any(|text| text.find(&lower).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_in_any_case_and_as_json_writes_it() {
        let found = |text: &str, line: &str| TextFinder::new(text).is_in(line.as_bytes());
        assert!(found("READfile", r#"{"readFile":1}"#));
        assert!(found("say \"hi\"", r#"{"text":"Say \"Hi\""}"#));
        assert!(found("ÄRGER", r#"{"text":"Ärger"}"#));
        assert!(!found("other", r#"{"readFile":1}"#));
    }

    #[test]
    fn parameters_make_a_query_and_what_does_not_exist_is_told() {
        let query = |pairs: &[(&'static str, &'static str)]| Query::from_parameters(pairs.iter().copied());
        let made = query(&[("q", "a"), ("conn", "c*"), ("tone", "request"), ("findings", "1"), ("from", "3")]).unwrap();
        assert_eq!((made.text.as_str(), made.findings, made.pieces), ("a", true, false));
        assert!(query(&[("tone", "loud")]).unwrap_err().starts_with("there is no tone `loud`; there are request,"));
        assert!(query(&[("kind", "x")]).is_err());
    }

    #[test]
    fn what_others_tell_is_shown_where_something_was_found_or_it_is_asked_for() {
        let words = EventWords { repeated: 0b0001, pieces: 0b0010, ..EventWords::default() };
        let plain = View::new(Query::default());
        assert_eq!(plain.word(0, 4, words), 0b1100);
        assert_eq!(plain.word(0, 4, EventWords { found: 0b0010, ..words }), 0b1110);
        let all = View::new(Query { pieces: true, ..Query::default() });
        assert_eq!(all.word(0, 4, words), 0b1111);
        let found = View::new(Query { findings: true, ..Query::default() });
        assert_eq!(found.word(0, 4, EventWords { found: 0b0101, ..words }), 0b0101);
        let run = EventWords { folded: 0b1110, found: 0b0100, ..EventWords::default() };
        assert_eq!(plain.word(0, 4, run), 0b0101);
        assert_eq!(View::new(Query { runs: true, ..Query::default() }).word(0, 4, run), 0b1111);
        assert_eq!((first_bits(0), first_bits(64), first_bits(200)), (0, u64::MAX, u64::MAX));
    }
}
