//! What the two editions call the same things, and how each wraps requests, responses and notifications.

use serde_json::{Map, Value, json};

/// A dated description of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edition {
    /// The messages that Amp's own CLI and the editors' plugins exchange.
    Cli,
    /// The published quick reference.
    Guide,
}

/// The id of [`Edition::Cli`].
pub const CLI: &str = "cli";
/// The id of [`Edition::Guide`].
pub const GUIDE: &str = "guide";

impl Edition {
    /// The edition of this id.
    pub fn parse(id: &str) -> Option<Self> {
        match id {
            CLI => Some(Self::Cli),
            GUIDE => Some(Self::Guide),
            _ => None,
        }
    }

    /// The id of the edition, as scenarios and options name it.
    pub fn id(self) -> &'static str {
        match self {
            Self::Cli => CLI,
            Self::Guide => GUIDE,
        }
    }
}

/// A method that a client can request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Ping,
    Authenticate,
    ReadFile,
    EditFile,
    GetDiagnostics,
    OpenUri,
}

impl Method {
    /// The method of this name, if the edition has it.
    pub fn parse(edition: Edition, name: &str) -> Option<Self> {
        let all = [Self::Ping, Self::Authenticate, Self::ReadFile, Self::EditFile, Self::GetDiagnostics, Self::OpenUri];
        let has = |m: &Self| edition == Edition::Cli || !matches!(m, Self::Ping | Self::Authenticate);
        all.into_iter().find(|m| m.name() == name && has(m))
    }

    /// The name of the method on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Authenticate => "authenticate",
            Self::ReadFile => "readFile",
            Self::EditFile => "editFile",
            Self::GetDiagnostics => "getDiagnostics",
            Self::OpenUri => "openURI",
        }
    }
}

/// A kind of notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationKind {
    Selection,
    VisibleFiles,
    Message,
    Prompt,
    Metadata,
}

impl NotificationKind {
    /// The name of the notification, if the edition has it.
    pub fn name(self, edition: Edition) -> Option<&'static str> {
        match (self, edition) {
            (Self::Selection, Edition::Cli) => Some("selectionDidChange"),
            (Self::Selection, Edition::Guide) => Some("selectionChanged"),
            (Self::VisibleFiles, Edition::Cli) => Some("visibleFilesDidChange"),
            (Self::VisibleFiles, Edition::Guide) => Some("visibleFilesChanged"),
            (Self::Message, Edition::Cli) => Some("userSentMessage"),
            (Self::Prompt, Edition::Cli) => Some("appendToPrompt"),
            (Self::Metadata, Edition::Cli) => Some("pluginMetadata"),
            (Self::Message | Self::Prompt | Self::Metadata, Edition::Guide) => None,
        }
    }
}

/// A request as a message: `{"clientRequest":{"id":…,"<method>":{…}}}` in the edition `cli`
/// (docs/amp.md, Messages), with a `method` around it in `guide` (quick reference, section 4).
pub fn request(edition: &str, id: &Value, method: &str, params: &Value) -> Value {
    let mut call = Map::new();
    call.insert(method.to_owned(), params.clone());
    match edition {
        "guide" => json!({"clientRequest": {"id": id, "method": call}}),
        _ => {
            let mut inner = Map::new();
            inner.insert("id".to_owned(), id.clone());
            inner.extend(call);
            json!({"clientRequest": inner})
        }
    }
}

/// The id of a response; none where the message is none.
pub fn response_id(message: &Value) -> Option<&Value> {
    message.get("serverResponse")?.get("id")
}

/// A notification: `{"serverNotification":{"<name>":{…}}}` in the edition `cli` (docs/amp.md, Messages), with a
/// `method` around it in `guide` (quick reference, section 4).
pub fn notification(edition: Edition, name: &str, data: Value) -> Value {
    let named = Value::Object(Map::from_iter([(name.to_owned(), data)]));
    match edition {
        Edition::Cli => json!({"serverNotification": named}),
        Edition::Guide => json!({"serverNotification": {"method": named}}),
    }
}

/// A response: its id, one key with what came of the request, and whatever else is to be in it.
pub fn response(id: &Value, key: &str, body: &Value, extra: &Map<String, Value>) -> Value {
    let mut inner = Map::from_iter([("id".to_owned(), id.clone()), (key.to_owned(), body.clone())]);
    inner.extend(extra.clone());
    json!({"serverResponse": inner})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_edition_has_its_envelope() {
        let params = json!({"path": "/a"});
        assert_eq!(
            request("cli", &json!("1"), "readFile", &params).to_string(),
            r#"{"clientRequest":{"id":"1","readFile":{"path":"/a"}}}"#
        );
        assert_eq!(
            request("guide", &json!("1"), "readFile", &params).to_string(),
            r#"{"clientRequest":{"id":"1","method":{"readFile":{"path":"/a"}}}}"#
        );
    }
}
