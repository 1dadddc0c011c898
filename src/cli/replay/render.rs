//! What came of a replay, for people.

use serde_json::Value;

use crate::diagnostic::{Style, difference};
use crate::replay::{Counts, Departure, Kind, Outcome};
use crate::trace::Header;

/// So many departures are shown; the report has all of them.
const SHOWN: usize = 20;
/// So many lines of one value are shown.
const LINES: usize = 60;

/// What was replayed.
pub struct ReplayRenderer<'a> {
    /// The trace file.
    pub file: &'a str,
    /// `client` or `server`.
    pub side: &'a str,
    /// The live side, in a few words.
    pub opposite: &'a str,
    /// What the trace is about.
    pub header: &'a Header,
}

/// The whole text.
pub fn text(outcome: &Outcome, about: &ReplayRenderer<'_>, style: Style) -> String {
    let ReplayRenderer { file, side, opposite, header } = about;
    let mut text = format!("{file} as {side} against {opposite} ({}, {})\n", header.protocol, header.edition);
    for departure in outcome.departures.iter().take(SHOWN) {
        text += &format!("\n{}\n", headline(departure, file));
        text += &values(departure, style);
    }
    let Counts { same, different, missing, extra } = outcome.counts;
    let all = different + missing + extra;
    if all > SHOWN as u64 {
        text += &format!("\nand {} more departures\n", all - SHOWN as u64);
    }
    for note in &outcome.notes {
        text += &format!("\nnote: {note}\n");
    }
    text += &match all {
        0 => format!("\nsame: all {same} as recorded\n"),
        _ => format!("\ndeparted: {same} as recorded, {different} different, {missing} missing, {extra} extra\n"),
    };
    if let Some(first) = outcome.departures.first() {
        text += &format!("first departure: {}\n", headline(first, file));
    }
    text
}

fn headline(departure: &Departure, file: &str) -> String {
    let kind = match departure.kind {
        Kind::Missing => "missing",
        Kind::Extra => "extra",
        Kind::Different => "different",
    };
    let mut line = format!("{kind}: {}", departure.what);
    if !departure.conn.is_empty() {
        line += &format!(" on {}", departure.conn);
    }
    if let Some(at) = departure.position {
        let how = if departure.kind == Kind::Extra { "after event" } else { "event" };
        line += &format!(" ({how} {} at {file}:{})", at.event, at.line);
    }
    line
}

fn values(departure: &Departure, style: Style) -> String {
    // The order of keys says nothing.
    let sorted = |value: &Value| {
        let mut value = value.clone();
        value.sort_all_objects();
        format!("{value:#}\n")
    };
    let pretty = |value: &Value| {
        let text = sorted(value);
        let lines: Vec<&str> = text.lines().collect();
        match lines.len() > LINES {
            true => format!("{}\n… and {} more lines\n", lines[..LINES].join("\n"), lines.len() - LINES),
            false => text,
        }
    };
    match (&departure.expected, &departure.actual) {
        (Some(expected), Some(actual)) => difference(&sorted(expected), &sorted(actual), ("recorded", "live"), style),
        (Some(one), None) | (None, Some(one)) => pretty(one),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::replay::Position;

    #[test]
    fn a_departure_is_shown_with_its_place_and_both_values() {
        let mut outcome = Outcome::default();
        outcome.counts.same = 2;
        outcome.depart(Departure {
            kind: Kind::Different,
            position: Some(Position { event: 7, line: 9 }),
            conn: "main".into(),
            what: "answer \"1\"".into(),
            expected: Some(json!({"a": 1})),
            actual: Some(json!({"a": 2})),
        });
        let header = Header::new("p", "e");
        let about = ReplayRenderer { file: "t", side: "client", opposite: "http://127.0.0.1:1", header: &header };
        let expected = "t as client against http://127.0.0.1:1 (p, e)\n\n\
            different: answer \"1\" on main (event 7 at t:9)\n\
            --- recorded\n+++ live\n@@ -1,3 +1,3 @@\n {\n-  \"a\": 1\n+  \"a\": 2\n }\n\n\
            departed: 2 as recorded, 1 different, 0 missing, 0 extra\n\
            first departure: different: answer \"1\" on main (event 7 at t:9)\n";
        assert_eq!(text(&outcome, &about, Style::Plain), expected);
    }
}
