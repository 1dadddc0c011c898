//! The parameters of the verbs but `serve` and `send`.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::peer::params::given;
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::envelope::response_message;
use crate::protocol::parse_hex;

use super::lockfile::LockfileContent;

/// The parameters of `stop` and `restart`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EndStep {
    pub of: Option<String>,
    pub how: EditorEnd,
}

/// How an editor ends.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditorEnd {
    #[default]
    Quit,
    Kill,
}

/// The parameters of `lockfile`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LockfileStep {
    pub name: String,
    pub data_home: Option<String>,
    #[serde(deserialize_with = "given")]
    json: Option<Value>,
    text: Option<String>,
    hex: Option<String>,
    folder: Option<bool>,
    pub deliberate: Option<String>,
}

impl LockfileStep {
    /// The content of the file, or a folder.
    ///
    /// # Errors
    /// The fault of the parameters, for the scenario's author.
    pub fn content(&self) -> Result<LockfileContent, String> {
        match (&self.json, &self.text, &self.hex, self.folder) {
            (Some(json), None, None, None) => Ok(LockfileContent::File(json.to_string().into_bytes())),
            (None, Some(text), None, None) => Ok(LockfileContent::File(text.clone().into_bytes())),
            (None, None, Some(hex), None) => Ok(LockfileContent::File(parse_hex(hex)?)),
            (None, None, None, Some(true)) => Ok(LockfileContent::Folder),
            _ => Err("say exactly one of `json`, `text`, `hex` and `folder: true`".to_owned()),
        }
    }
}

/// Of `editor`: all keys but `of` are the command.
#[derive(Deserialize)]
#[serde(from = "Map<String, Value>")]
pub struct EditorStep {
    pub of: Option<String>,
    pub command: Map<String, Value>,
}

impl From<Map<String, Value>> for EditorStep {
    fn from(mut command: Map<String, Value>) -> Self {
        let of = command.shift_remove("of").and_then(|of| of.as_str().map(str::to_owned));
        Self { of, command }
    }
}

/// The parameters of `notify`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotifyStep {
    pub on: Option<String>,
    pub name: String,
    #[serde(default, deserialize_with = "given")]
    pub data: Option<Value>,
    pub deliberate: Option<String>,
}

/// The parameters of `answer`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerStep {
    pub on: Option<String>,
    id: Value,
    method: Option<String>,
    #[serde(default, deserialize_with = "given")]
    result: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    error: Option<Value>,
    #[serde(default)]
    extra: Map<String, Value>,
    pub deliberate: Option<String>,
}

impl AnswerStep {
    /// The response.
    ///
    /// # Errors
    /// The fault of the parameters, for the scenario's author.
    pub fn message(&self, edition: &AmpEdition) -> Result<Value, String> {
        let (key, body) = match (&self.result, &self.error, edition.envelope.result_key, &self.method) {
            (None, Some(error), ..) => ("error", error),
            (Some(result), None, Some(key), _) => (key, result),
            (Some(result), None, None, Some(method)) => (method.as_str(), result),
            (Some(_), None, None, None) => {
                let id = edition.id;
                return Err(format!("in the edition `{id}` a `result` needs the `method`, which is its key"));
            }
            _ => return Err("say exactly one of `result` and `error`".to_owned()),
        };
        Ok(response_message(&self.id, key, body, &self.extra))
    }
}

/// The parameters of `ping`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PingStep {
    pub on: Option<String>,
    pub payload: String,
}

/// The parameters of `close`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CloseStep {
    pub on: Option<String>,
    pub code: Option<u16>,
    pub reason: String,
    pub deliberate: Option<String>,
}

/// The parameters of `drop`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DropStep {
    pub on: Option<String>,
    pub how: StreamEnd,
    pub deliberate: Option<String>,
}

/// How a TCP connection ends.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamEnd {
    #[default]
    Eof,
    Reset,
}
