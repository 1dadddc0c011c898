//! Why a call gave nothing.

use serde_json::{Value, json};

use crate::wire::http::Broken;

/// What kind of trouble it was; flaws make fragile clients of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server answered with an error of the protocol.
    Error,
    /// The status is none of 200 to 299, and the answer is no error of the protocol.
    Status,
    /// The body is no JSON.
    Json,
    /// It is nested too deep.
    Deep,
    /// It does not decode by its content coding.
    Coding,
    /// It is no answer of the protocol.
    Envelope,
    /// The result has the wrong type.
    Type,
    /// What came is no HTTP.
    Http,
    /// The connection ended before anything came.
    Closed,
    /// The answer was cut short.
    Cut,
    /// Nobody listens.
    Refused,
    /// It took too long.
    Late,
    /// A flaw does not take it.
    Flaw,
}

/// A failed call.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What kind of trouble it was.
    pub kind: Kind,
    message: String,
    code: Option<Value>,
    status: Option<u16>,
}

impl Failure {
    /// With a message for the caller.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None, status: None }
    }

    /// From a status that is none of 200 to 299.
    pub fn of_status(status: u16) -> Self {
        Self { status: Some(status), ..Self::new(Kind::Status, format!("HTTP error {status}")) }
    }

    /// From the `error` of an answer.
    pub fn of_error(error: &Value) -> Self {
        let message = error.get("message").or(Some(error)).and_then(Value::as_str).unwrap_or("the server failed");
        Self { code: error.get("code").cloned(), ..Self::new(Kind::Error, message) }
    }

    /// With the status of the answer.
    pub fn with_status(self, status: u16) -> Self {
        Self { status: Some(status), ..self }
    }

    /// From an exchange that broke; `begun` where a part of the answer had come.
    pub fn of_exchange(broken: &Broken, begun: bool) -> Self {
        let kind = match broken {
            Broken::Fault(_) => Kind::Http,
            Broken::Late { .. } => Kind::Late,
            _ if begun => Kind::Cut,
            _ => Kind::Closed,
        };
        Self::new(kind, broken.to_string())
    }

    /// As the caller is told.
    pub fn told(&self) -> Value {
        let mut error = json!({"message": self.message});
        if let Some(code) = &self.code {
            error["code"] = code.clone();
        }
        if let Some(status) = self.status {
            error["status"] = status.into();
        }
        error
    }
}
