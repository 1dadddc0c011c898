//! Answers to requests.

use serde_json::{Map, Value, json};

use crate::protocol::amplifier::CODES;

use super::super::quirks::Why;

/// What a request is answered with.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Value,
    /// The flaw that made it wrong, if one did.
    pub why: Why,
}

impl Reply {
    /// A success.
    pub fn new(status: u16, body: Value) -> Self {
        Self { status, body, why: None }
    }

    /// Whether it is one.
    pub fn is_success(&self) -> bool {
        self.status < 400
    }

    /// The code of the error; empty where it is none.
    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// One of the fourteen codes.
    pub code: &'static str,
    /// The status; that of the code, where no reading has another one.
    pub status: u16,
    /// What is wrong, for humans.
    pub message: String,
    /// What it is about.
    pub details: Map<String, Value>,
    /// The flaw that made it wrong, if one did.
    pub why: Why,
}

impl Refusal {
    /// With the status that belongs to the code; `SERVER_ERROR` where there is no such code.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        let (code, status) = CODES
            .iter()
            .find(|(known, ..)| *known == code)
            .map_or(("SERVER_ERROR", 500), |(code, status, _)| (*code, *status));
        Self { code, status, message: message.into(), details: Map::new(), why: None }
    }

    /// A body that is not as it should be.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new("INVALID_REQUEST", message)
    }

    /// A session that does not exist.
    pub fn no_session(id: &str) -> Self {
        let shown: String = id.chars().take(64).collect();
        Self::new("SESSION_NOT_FOUND", format!("Session with ID '{shown}' not found")).about("session_id", shown)
    }

    /// With this among the details.
    pub fn about(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// With another status.
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The message in the format of an error.
    pub fn body(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message, "details": self.details}})
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Self { status: refusal.status, body: refusal.body(), why: refusal.why }
    }
}
