//! HTTP exchanges in canonical order: what was asked, then what was answered, without what only tells of one run.

use super::Strength;
use super::volatile::{Volatile, mark, neutral};

/// Headers whose values are different in every run, and mean nothing when they are. How long a body is follows from
/// the body, which may hold paths and ports.
pub const VOLATILE: &[(&str, &[&str])] = &[
    ("date", &["date", "last-modified", "expires"]),
    ("length", &["content-length"]),
    ("value", &["age", "etag", "server-timing", "x-response-time", "x-runtime"]),
];

/// The lines of one exchange, in the making. All texts are marked.
#[derive(Default)]
pub struct Exchange {
    asked: Vec<String>,
    answered: Vec<String>,
    /// Which event of the trace the first of each was.
    began: Option<u64>,
    first_answer: Option<u64>,
}

impl Exchange {
    /// Something that the client sent; `i` is the number of its event.
    pub fn ask(&mut self, i: u64, line: String) {
        self.began.get_or_insert(i);
        self.asked.push(line);
    }

    /// Something that the server sent.
    pub fn answer(&mut self, i: u64, line: String) {
        self.first_answer.get_or_insert(i);
        self.answered.push(line);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.answered.is_empty()
    }

    /// Appends the lines.
    pub fn write(&self, text: &mut String) {
        for line in &self.asked {
            *text += &format!("  → {line}\n");
        }
        for line in &self.answered {
            *text += &format!("    ← {line}\n");
        }
    }

    /// Whether this had not been answered when the other one began.
    fn overlaps(&self, next: &Self) -> bool {
        match (self.first_answer, next.began) {
            (Some(answered), Some(began)) => answered > began,
            _ => true,
        }
    }
}

/// The number in the name of an exchange that nobody named: that of `x3` is 3.
pub fn number(name: &str) -> Option<u64> {
    name.strip_prefix('x')
        .filter(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))?
        .parse()
        .ok()
}

/// Puts exchanges that nobody named into order: by their numbers, but those that were under way at once, which come in
/// any order, by what they say. Each has its number and itself; the texts come back with numbers.
pub fn in_order(mut exchanges: Vec<(u64, Exchange, String)>) -> Vec<(u64, String)> {
    exchanges.sort_by_key(|(number, _, _)| *number);
    let mut ordered: Vec<(u64, String)> = vec![];
    let mut begin = 0;
    while begin < exchanges.len() {
        let mut end = begin + 1;
        while end < exchanges.len() && exchanges[begin..end].iter().any(|(_, e, _)| e.overlaps(&exchanges[end].1)) {
            end += 1;
        }
        let mut texts: Vec<String> = exchanges[begin..end].iter_mut().map(|(_, _, t)| std::mem::take(t)).collect();
        texts.sort_by_cached_key(|text| neutral(text));
        ordered.extend(exchanges[begin..end].iter().map(|(number, _, _)| *number).zip(texts));
        begin = end;
    }
    ordered
}

/// A head: its first line and, where values count, its headers.
pub fn head(start: &str, headers: &[(String, String)], volatile: &Volatile, strength: Strength) -> String {
    if strength == Strength::Shape {
        let mut words = start.split(' ');
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = second.split('?').next().unwrap_or_default();
        return if first.starts_with("HTTP/") {
            format!("response {}", volatile.mark_line(path))
        } else {
            format!("request {} {}", volatile.mark_line(first), volatile.mark_line(path))
        };
    }
    let mut text = volatile.mark_line(start);
    for (name, value) in headers {
        let plain = name.to_ascii_lowercase();
        let kind = VOLATILE.iter().find(|(_, names)| names.contains(&plain.as_str()));
        let value = match (kind, plain.as_str()) {
            (Some((kind, _)), _) => mark(kind, ""),
            (None, "server" | "user-agent") => super::conversation::without_versions(value),
            (None, _) => volatile.mark_line(value),
        };
        text += &format!("\n      {}: {value}", volatile.mark_line(name));
    }
    text
}
