//! What a script has that is sent as it stands there: profiles, collections, agents, what the server says of itself, statuses
//! and diagnostics. The types say what it may be; [`maps`] gives it as JSON.

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::format::types::FileRange;

/// A profile.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Profile {
    /// Its name: `dev`, or `collection:name`.
    name: String,
    /// Its collection. Default: none.
    collection: Option<String>,
    /// What it is.
    #[serde(default)]
    description: String,
    /// The profile that it is based on. Default: none.
    extends: Option<String>,
    /// Its providers.
    #[serde(default)]
    providers: Vec<Module>,
    /// Its tools.
    #[serde(default)]
    tools: Vec<Module>,
    /// Its hooks.
    #[serde(default)]
    hooks: Vec<Module>,
    /// Its agents.
    #[serde(default)]
    agents: Vec<String>,
}

/// A module of a profile or an agent.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Module {
    /// Its name.
    module: String,
    /// Where it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// How it is set up.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<Map<String, Value>>,
}

/// A collection.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Collection {
    /// Its name.
    name: String,
    /// What it is.
    #[serde(default)]
    description: String,
    /// Its version. Default: 1.0.0.
    #[serde(default = "first_version")]
    version: String,
    /// Its profiles.
    #[serde(default)]
    profiles: Vec<String>,
    /// Its agents.
    #[serde(default)]
    agents: Vec<String>,
}

fn first_version() -> String {
    "1.0.0".to_owned()
}

/// An agent.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct Agent {
    /// Its name.
    name: String,
    /// Its collection. Default: none.
    collection: Option<String>,
    /// What it is.
    #[serde(default)]
    description: String,
    /// Its providers.
    #[serde(skip_serializing_if = "Option::is_none")]
    providers: Option<Vec<Module>>,
}

/// What a server says of itself.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(super) struct ServerInfo {
    /// The version of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// The version of what is behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    amplifier_core_version: Option<String>,
    /// What it can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<Map<String, Value>>,
    /// How it is set up. Default: `host` and `port` are its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<Map<String, Value>>,
}

/// How it stands: what `status:update` has beside the session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatusStep {
    /// What it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// How far it has come, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    progress: Option<u8>,
    /// Default: `processing`.
    #[serde(default = "processing")]
    status: String,
}

fn processing() -> String {
    "processing".to_owned()
}

/// A diagnostic of a file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FileDiagnostic {
    /// Where.
    range: FileRange,
    /// How bad it is.
    severity: Severity,
    /// What is wrong.
    message: String,
    /// Who says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-wirecert-noun" = "severity"))]
enum Severity {
    Error,
    Warning,
    Info,
    Hint,
}

/// A map of this type, with the members that it must have.
pub(super) fn map<'de, T: DeserializeOwned + Serialize, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    let value = T::deserialize(Value::deserialize(deserializer)?).and_then(serde_json::to_value);
    match value.map_err(D::Error::custom)? {
        Value::Object(map) => Ok(map),
        other => Err(D::Error::custom(format!("{other} is no object"))),
    }
}

/// Maps of this type, each with the members that it must have.
pub(super) fn maps<'de, T: DeserializeOwned + Serialize, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Map<String, Value>>, D::Error> {
    let values = Vec::<Value>::deserialize(deserializer)?;
    values.into_iter().map(|value| map::<T, _>(value).map_err(D::Error::custom)).collect()
}
