//! The types of members in this protocol, dates and times among them (`2025-12-09T10:30:00Z`).

use serde_json::{Value, json};

use super::endpoints::CODES;

pub use crate::protocol::http::rule_context::{BodyObject, Member, OBJECT, STRING, Type};

pub const ANY: Type = Type { name: "any value", is: |_| true, schema: || json!({}) };
pub const BOOLEAN: Type = Type { name: "a boolean", is: Value::is_boolean, schema: || json!({"type":"boolean"}) };
pub const FILLED: Type = Type {
    name: "a string that is not empty",
    is: |v| v.as_str().is_some_and(|s| !s.is_empty()),
    schema: || json!({"type":"string","minLength":1}),
};
pub const STRING_OR_NULL: Type = Type {
    name: "a string or null",
    is: |v| v.is_string() || v.is_null(),
    schema: || json!({"type":["string","null"]}),
};
pub const NUMBER_OR_NULL: Type = Type {
    name: "a number or null",
    is: |v| v.is_number() || v.is_null(),
    schema: || json!({"type":["number","null"]}),
};
pub const OBJECTS: Type = Type {
    name: "a list of objects",
    is: |v| is_list(v, Value::is_object),
    schema: || json!({"type":"array","items":{"type":"object"}}),
};
pub const DIAGNOSTICS: Type = Type {
    schema: || json!({"type":"array","items":{"type":"object","required":["range","severity","message"],"properties":{"range":RANGE.schema(),"severity":SEVERITY.schema(),"message":{"type":"string"},"source":{"type":"string"}}}}),
    ..OBJECTS
};
pub const STRINGS: Type = Type {
    name: "a list of strings",
    is: |v| is_list(v, Value::is_string),
    schema: || json!({"type":"array","items":{"type":"string"}}),
};
pub const OPTIONS: Type = Type {
    name: "a list of strings, which is not empty",
    is: |v| is_list(v, Value::is_string) && v.as_array().is_some_and(|list| !list.is_empty()),
    schema: || json!({"type":"array","items":{"type":"string"},"minItems":1}),
};
pub const COUNT: Type = Type {
    name: "a whole number that is not negative",
    is: is_count,
    schema: || json!({"type":"integer","minimum":0}),
};
pub const AMOUNT: Type = Type {
    name: "a number that is not negative",
    is: |v| v.as_f64().is_some_and(|n| n >= 0.0),
    schema: || json!({"type":"number","minimum":0}),
};
pub const SPAN: Type = Type {
    name: "a number greater than zero",
    is: |v| v.as_f64().is_some_and(|n| n > 0.0),
    schema: || json!({"type":"number","exclusiveMinimum":0}),
};
pub const PORT: Type = Type {
    name: "a port",
    is: |v| is_count(v) && v.as_f64().is_some_and(|n| (1.0..=65535.0).contains(&n)),
    schema: || json!({"type":"integer","minimum":1,"maximum":65535}),
};
pub const MOMENT: Type = Type {
    name: "a date and a time of day with an offset from UTC",
    is: |v| v.as_str().is_some_and(|text| moment(text).is_some()),
    schema: || json!({"type":"string","pattern":r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:?\d{2})$","description":"A date and a time of day with an offset from UTC."}),
};
pub const SEVERITY: Type = Type {
    name: "`error`, `warning`, `info` or `hint`",
    is: |v| matches!(v.as_str(), Some("error" | "warning" | "info" | "hint")),
    schema: || json!({"enum":["error","warning","info","hint"]}),
};
pub const STATUS: Type = Type {
    name: "`idle`, `processing`, `awaiting_approval`, `error` or `stopped`",
    is: |v| v.as_str().is_some_and(|status| crate::protocol::amplifier::STATUSES.contains(&status)),
    schema: || json!({"enum":["idle","processing","awaiting_approval","error","stopped"]}),
};
/// The code of an error: of which string it has to be one, the rule on errors judges.
pub const CODE: Type =
    Type { schema: || json!({ "enum": CODES.iter().map(|(code, ..)| *code).collect::<Vec<_>>() }), ..STRING };
/// The details of an error, which only should be an object.
pub const DETAILS: Type = Type { schema: || json!({}), ..OBJECT };
pub const USAGE: Type = Type {
    name: "an object with the whole numbers `input_tokens` and `output_tokens`",
    is: |v| ["input_tokens", "output_tokens"].iter().all(|key| v.get(key).is_some_and(is_count)),
    schema: || json!({"type":"object","required":["input_tokens","output_tokens"],"properties":{"input_tokens":{"type":"integer","minimum":0},"output_tokens":{"type":"integer","minimum":0}}}),
};
pub const POSITION: Type = Type {
    name: "an object with the whole numbers `line` and `character`",
    is: is_position,
    schema: || json!({"type":"object","required":["line","character"],"properties":{"line":{"type":"integer","minimum":0},"character":{"type":"integer","minimum":0}}}),
};
pub const RANGE: Type = Type {
    name: "an object with the positions `start` and `end`",
    is: |v| ["start", "end"].iter().all(|key| v.get(key).is_some_and(is_position)),
    schema: || json!({"type":"object","required":["start","end"],"properties":{"start":POSITION.schema(),"end":POSITION.schema()}}),
};
pub const MODULES: Type = Type {
    name: "a list of objects with a string `module`",
    is: |v| is_list(v, |module| module.get("module").is_some_and(Value::is_string)),
    schema: || json!({"type":"array","items":{"type":"object","required":["module"],"properties":{"module":{"type":"string"},"source":{"type":"string"},"config":{"type":"object"}}}}),
};

fn is_list(value: &Value, each: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(each))
}

/// A whole number, however it is written, and not negative.
fn is_count(value: &Value) -> bool {
    as_count(value).is_some()
}

/// The value of a whole number that is not negative, however it is written: 2 is 2.0.
pub fn as_count(value: &Value) -> Option<u64> {
    let whole = |n: &f64| *n >= 0.0 && n.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole and not negative; a cast saturates"
    )]
    value.as_u64().or_else(|| value.as_f64().filter(whole).map(|n| n as u64))
}

fn is_position(value: &Value) -> bool {
    ["line", "character"].iter().all(|key| value.get(key).is_some_and(is_count))
}

/// Whether a sound range ends before it starts.
pub fn is_backward(range: &Value) -> bool {
    let at = |key: &str| {
        let position = range.get(key)?;
        Some((position.get("line")?.as_f64()?, position.get("character")?.as_f64()?))
    };
    at("start").zip(at("end")).is_some_and(|(start, end)| end < start)
}

/// A moment as microseconds since 1970; none where the text is no date and time of day with an offset from UTC
/// (RFC 3339 section 5.6).
pub fn moment(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let sign = |at: usize, allowed: &[u8]| bytes.get(at).is_some_and(|b| allowed.contains(b)).then_some(());
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    sign(4, b"-")?;
    sign(7, b"-")?;
    sign(10, b"Tt ")?;
    sign(13, b":")?;
    sign(16, b":")?;
    let lengths = [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let longest = *lengths.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    if !(1..=longest).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut micros = 0;
    if bytes.get(at) == Some(&b'.') {
        let end = bytes[at + 1..].iter().position(|b| !b.is_ascii_digit()).map_or(bytes.len(), |n| at + 1 + n);
        let shown = end.min(at + 7);
        micros = number(at + 1, shown)? * 10_i64.pow(6 - u32::try_from(shown - at - 1).ok()?);
        if shown == at + 1 {
            return None;
        }
        at = end;
    }
    let offset = match &bytes[at..] {
        [b'Z' | b'z'] => 0,
        [b'+' | b'-', _, _, b':', _, _] => number(at + 1, at + 3)? * 60 + number(at + 4, at + 6)?,
        [b'+' | b'-', _, _, _, _] => number(at + 1, at + 3)? * 60 + number(at + 3, at + 5)?,
        _ => return None,
    };
    let offset = if bytes.get(at) == Some(&b'-') { -offset } else { offset };
    let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - offset;
    Some((minutes * 60 + second) * 1_000_000 + micros)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March have the day that is sometimes there at their end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + (month * 153 + 2) / 5 + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn a_moment_has_an_offset() {
        assert_eq!(moment("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(moment("2025-12-09T10:30:00Z"), Some(1_765_276_200_000_000));
        assert_eq!(moment("2025-12-09T11:30:00.25+01:00"), Some(1_765_276_200_250_000));
        assert_eq!(moment("2024-02-29T00:00:00.123456789-0030"), Some(1_709_166_600_123_456));
        for wrong in [
            "",
            "2025-12-09",
            "2025-12-09T10:30:00",
            "2025-12-09T10:30:00.Z",
            "2025-13-09T10:30:00Z",
            "2025-02-29T10:30:00Z",
            "2025-12-09T24:30:00Z",
            "1765276200",
            "2025-12-09T10:30:00Zulu",
            "2025-12-09T10:30:00é",
        ] {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }
}
