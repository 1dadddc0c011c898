//! JSON as it stands in the body of an answer.

use serde_json::Value;

/// The JSON of a body, past a byte order mark.
///
/// # Errors
/// Where it is none, or nested too deep.
pub fn json_of(body: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body))
}
