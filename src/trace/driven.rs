//! What passes between wirecert and a client that it drives: calls, what came of them, what the client told.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Something that the driven client was asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its number, unique in the trace.
    pub id: u64,
    /// What to do.
    pub call: String,
    /// With what.
    pub params: Value,
    /// Settings that go with it, where the protocol has such.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    pub settings: Option<Value>,
}

/// What came of a call: a result, an error, or that the client has no such thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Returned {
    /// The number of the call.
    pub id: u64,
    /// What the client's own API gave.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    pub result: Option<Value>,
    /// What it failed with.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    pub error: Option<Value>,
    /// Whether the client says that it has no such thing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsupported: bool,
}

/// Something that reached the client's user by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientEvent {
    /// Its name.
    pub event: String,
    /// What came with it.
    #[serde(default)]
    pub data: Value,
    /// The subscription it belongs to, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    pub subscription: Option<Value>,
}

/// `null` is a value, not the absence of one.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
