//! Kinds of values that say more than their JSON type does ([`Special`]): times within bounds, sizes, URIs, expressions.

use std::fmt;

use regex::Regex;
use serde_json::{Value, json};

use super::Kind;
use super::literal::{has_scheme, parse_bound, parse_delay, parse_delay_range, parse_size};

/// A kind of value with a check of its own. The types of [`types`](super::types) name it in their schemas.
pub struct Special {
    /// The name, under the keyword `x-wirecert-kind`.
    pub name: &'static str,
    /// What a value is not that is refused, such as "time"; empty where its kind of YAML says it.
    pub noun: &'static str,
    /// The kinds of YAML that it may be.
    pub takes: &'static [Kind],
    /// What is expected instead.
    pub expected: &'static str,
    /// The last part of the code of the error.
    pub code: &'static str,
    /// Why a value is refused; nothing where the noun says it all.
    pub check: fn(&Value) -> Result<(), Option<String>>,
    /// The JSON Schema.
    pub schema: fn() -> Value,
}

impl fmt::Debug for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Special").field(&self.name).finish()
    }
}

impl Special {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }
}

/// A string that a function reads.
fn text<T>(value: &Value, read: impl FnOnce(&str) -> Option<T>) -> Result<(), Option<String>> {
    value.as_str().and_then(read).map(drop).ok_or(None)
}

static KINDS: [Special; 7] = [
    Special {
        name: "wait",
        noun: "time",
        takes: &[Kind::String],
        expected: "a number with a unit, more than nothing: 200ms, 10s, 1m",
        code: "type",
        check: |value| text(value, |text| parse_bound(text).ok()),
        schema: || json!({"type": "string", "pattern": "^[0-9.]+(us|ms|s|m|h)$"}),
    },
    Special {
        name: "delay",
        noun: "time",
        takes: &[Kind::String],
        expected: "a time such as 200ms; an hour at most",
        code: "type",
        check: |value| text(value, parse_delay),
        schema: || json!({"type": "string", "pattern": "^[0-9.]+(us|ms|s|m|h)$"}),
    },
    Special {
        name: "delay range",
        noun: "time",
        takes: &[Kind::String],
        expected: "a time such as 200ms, or two as its bounds: 20ms..1s; an hour at most",
        code: "type",
        check: |value| text(value, parse_delay_range),
        schema: || json!({"type": "string", "pattern": "^[0-9.]+(us|ms|s|m|h)(\\.\\.[0-9.]+(us|ms|s|m|h))?$"}),
    },
    Special {
        name: "size",
        noun: "size",
        takes: &[Kind::Number, Kind::String],
        expected: "a number of bytes: 512, 64KiB, 1MiB",
        code: "type",
        check: |value| match value {
            Value::Number(number) if number.is_u64() => Ok(()),
            value => text(value, parse_size),
        },
        schema: || json!({"type": ["integer", "string"], "minimum": 0}),
    },
    Special {
        name: "uri",
        noun: "URI",
        takes: &[Kind::String],
        expected: "a scheme at the beginning, such as `https:`",
        code: "uri",
        check: |value| text(value, |text| has_scheme(text).then_some(())),
        schema: || json!({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9+.-]*:"}),
    },
    Special {
        name: "regex",
        noun: "regular expression",
        takes: &[Kind::String],
        expected: "an expression as the regex crate has it, without look-around",
        code: "regex",
        check: |value| {
            let error = Regex::new(value.as_str().ok_or(None)?).err();
            error.map_or(Ok(()), |error| {
                Err(Some(error.to_string().lines().last().unwrap_or_default().replace("error: ", "")))
            })
        },
        schema: || json!({"type": "string"}),
    },
    Special {
        name: "mock command",
        noun: "",
        takes: &[Kind::Map],
        expected: "an object of one key, such as {open: {path: a.txt}}",
        code: "type",
        check: |value| if value.is_object() { Ok(()) } else { Err(None) },
        schema: || {
            json!({
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": {"type": "object"},
                "description": "A command, as it steers a mock: {open: {path: a.txt}}"
            })
        },
    },
];
