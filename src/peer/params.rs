//! Reading the parameters of a verb.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::format::variant;
use crate::peer::fill::MAX_FILL;
use crate::peer::{PeerError, VerbCall};
use crate::protocol::http::verbs::{Body, Fill};
use crate::protocol::words::Deliberate;

/// The verb with its parameters, as a variant of `T`. What its shape lets through and this does not is reported as the
/// scenario's fault: a variable of the wrong type, for instance.
pub fn read<T: DeserializeOwned + JsonSchema + 'static>(act: &VerbCall<'_>) -> Result<T, PeerError> {
    variant(act.verb, Value::Object(act.params.clone())).map_err(|e| wrong(act.verb, e))
}

/// A fault of the scenario in a verb's parameters.
pub fn wrong(verb: &str, what: impl std::fmt::Display) -> PeerError {
    PeerError::Scenario(format!("`{verb}`: {what}"))
}

/// The step's mark for what is wrong on purpose.
pub fn deliberate(act: &VerbCall<'_>, why: Option<&Deliberate>) -> Option<String> {
    why.map(|Deliberate(why)| format!("{}: {why}", act.step))
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

impl Body {
    /// The body as bytes.
    ///
    /// # Errors
    /// That it would be too large, as a fragment.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        match self {
            Self::Json(json) => Ok(json.to_string().into_bytes()),
            Self::Text(text) => Ok(text.clone().into_bytes()),
            Self::Hex(bytes) => Ok(bytes.0.clone()),
            Self::Fill(fill) => fill.bytes(),
        }
    }
}

impl Fill {
    /// The body.
    ///
    /// # Errors
    /// That it would be too large, as a fragment.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let size = self.text.len().saturating_mul(self.times);
        if size > MAX_FILL {
            return Err(format!("`fill` makes {size} bytes; {MAX_FILL} are the most"));
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
        assert!(fill(MAX_FILL).bytes().is_err());
        assert!(fill(usize::MAX).bytes().is_err());
    }

    #[test]
    fn bodies_are_encoded() {
        assert_eq!(encoded("gzip", b"a")[..2], [0x1f, 0x8b]);
        assert_eq!(encoded("deflate", b"a")[0] & 0x0f, 8);
        assert_eq!(encoded("none", b"a"), b"a");
    }
}
