//! `$timestamp`: a date and time with an offset (RFC 3339 section 5.6).

use serde_json::Value;

use super::check::Checker;
use super::pattern::Matcher;
use super::presence::flag;
use super::words::{Word, only_true};

pub(super) const TIMESTAMP: Word = Word {
    name: "$timestamp",
    doc: "A string that is an RFC 3339 date and time with an offset: `2025-12-09T10:00:00.5Z`.",
    argument: only_true,
    compile: |w, v, c| flag(w, v, c, Timestamp),
};

struct Timestamp;

impl Matcher for Timestamp {
    fn check(&self, source: &Value, actual: Option<&Value>, checker: &mut Checker) {
        if !actual.and_then(Value::as_str).is_some_and(is_timestamp) {
            checker.unlike(1, "an RFC 3339 date and time with an offset", source, actual);
        }
    }
}

/// The form is checked here, since parsers of dates accept more forms than RFC 3339; whether there is such a day is left
/// to the parser.
fn is_timestamp(text: &str) -> bool {
    has_form(text) && text.parse::<jiff::Timestamp>().is_ok()
}

fn has_form(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shaped = |part: &[u8], shape: &str| {
        part.len() == shape.len()
            && part.iter().zip(shape.bytes()).all(|(b, s)| match s {
                b'9' => b.is_ascii_digit(),
                b'T' => b.eq_ignore_ascii_case(&b'T'),
                s => *b == s,
            })
    };
    let Some((time, mut rest)) = bytes.split_at_checked(19) else { return false };
    if !shaped(time, "9999-99-99T99:99:99") {
        return false;
    }
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return false;
        }
        rest = &fraction[digits..];
    }
    rest.eq_ignore_ascii_case(b"Z") || shaped(rest, "+99:99") || shaped(rest, "-99:99")
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn only_rfc_3339_with_an_offset_passes() {
        for good in [
            "2025-12-09T10:00:00Z",
            "2025-12-09t10:00:00.123456z",
            "2025-12-09T10:00:00+02:00",
            "2024-02-29T23:59:60Z",
            "1990-12-31T15:59:59-08:00",
        ] {
            assert!(is_timestamp(good), "{good}");
        }
        for bad in [
            "2025-12-09T10:00:00",
            "2025-12-09 10:00:00Z",
            "2025-12-09",
            "2025-02-29T10:00:00Z",
            "2025-12-09T24:00:00Z",
            "2025-12-09T10:00:00.Z",
            "2025-12-09T10:00:00+0200",
            "2025-12-09T10:00:00,5Z",
            "2025-12-09T10:00Z",
            "",
            "ä025-12-09T10:00:00Z",
        ] {
            assert!(!is_timestamp(bad), "{bad}");
        }
    }
}
