//! Reading the parameters of a verb.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::peer::{PeerError, VerbCall};

/// How large a body made of a text repeated may be, in bytes.
const MOST_FILL: usize = 64 << 20;

/// The parameters as a type of ours. What the descriptor's shapes let through and this does not is told as the
/// scenario's fault: a variable of the wrong type, for instance.
pub fn read<T: DeserializeOwned>(act: &VerbCall<'_>) -> Result<T, PeerError> {
    serde_json::from_value(Value::Object(act.params.clone())).map_err(|e| wrong(act.verb, e))
}

/// A fault of the scenario in a verb's parameters.
pub fn wrong(verb: &str, what: impl std::fmt::Display) -> PeerError {
    PeerError::Scenario(format!("`{verb}`: {what}"))
}

/// The step's mark for what is wrong on purpose.
pub fn deliberate(act: &VerbCall<'_>, why: Option<&String>) -> Option<String> {
    why.map(|why| format!("{}: {why}", act.step))
}

/// Tells a null that is given from a parameter that is not.
pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Header lines in the order given: null leaves one out, a list is several lines.
pub fn headers(map: &Map<String, Value>) -> Vec<(String, Option<String>)> {
    let text = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let lines = map.iter().flat_map(|(name, value)| {
        let values = if let Value::Array(values) = value { &values[..] } else { std::slice::from_ref(value) };
        values.iter().map(move |value| (name.clone(), text(value)))
    });
    lines.collect()
}

/// A large body, made of a text repeated.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    #[serde(default)]
    before: String,
    text: String,
    times: usize,
    #[serde(default)]
    after: String,
}

impl Fill {
    /// The body.
    ///
    /// # Errors
    /// That it would be too large, as a fragment.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let size = self.text.len().saturating_mul(self.times);
        if size > MOST_FILL {
            return Err(format!("`fill` makes {size} bytes; {MOST_FILL} are the most"));
        }
        Ok([&self.before, &self.text.repeat(self.times), &self.after].map(|part| part.as_bytes()).concat())
    }
}

/// A body in this content coding, `gzip` or `deflate` (RFC 9110 section 8.4.1); as it is in any other.
pub fn encoded(coding: &str, bytes: &[u8]) -> Vec<u8> {
    let level = Compression::default();
    let done = match coding {
        "gzip" => {
            let mut encoder = GzEncoder::new(vec![], level);
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(vec![], level);
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        _ => Ok(bytes.to_vec()),
    };
    // A vector takes everything.
    done.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_are_lines_in_their_order() {
        let Value::Object(map) = json!({"a": "1", "b": ["2", 3], "c": null}) else { panic!("an object") };
        let line = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        let expected = [line("a", Some("1")), line("b", Some("2")), line("b", Some("3")), line("c", None)];
        assert_eq!(headers(&map), expected);
    }

    #[test]
    fn a_filled_body_is_bounded() {
        let fill = |times| Fill { before: "<".into(), text: "ab".into(), times, after: ">".into() };
        assert_eq!(fill(2).bytes(), Ok(b"<abab>".to_vec()));
        assert!(fill(MOST_FILL).bytes().is_err());
        assert!(fill(usize::MAX).bytes().is_err());
    }

    #[test]
    fn bodies_are_encoded() {
        assert_eq!(encoded("gzip", b"a")[..2], [0x1f, 0x8b]);
        assert_eq!(encoded("deflate", b"a")[0] & 0x0f, 8);
        assert_eq!(encoded("none", b"a"), b"a");
    }
}
