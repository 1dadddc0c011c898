//! Reading the parameters of a verb.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::peer::{PeerError, VerbCall};

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

/// A header's value as text; none for null, which leaves the header out.
pub fn header(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Header lines in the order given.
pub fn headers(map: &Map<String, Value>) -> Vec<(String, Option<String>)> {
    map.iter().map(|(name, value)| (name.clone(), header(value))).collect()
}
