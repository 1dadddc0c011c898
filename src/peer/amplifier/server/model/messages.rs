//! Requests as they are understood, before anything is looked up, and the replies to them.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::peer::deviation::Why;
use crate::protocol::amplifier::{CODES, Endpoint, PROTOCOL, Route};
use crate::trace::read_json;

/// A request for an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointRequest {
    /// The endpoint, the name in its path, and its query.
    pub route: Route,
    /// The body of the request, where the endpoint has one.
    pub body: Result<Map<String, Value>, Refusal>,
}

impl EndpointRequest {
    /// A request with this body, checked as the document has it. Nothing that a client sent is repeated in a refusal.
    pub fn read(route: Route, body: &[u8]) -> Self {
        let body = match route.endpoint {
            Endpoint::CreateSession => read(body, &CREATE),
            Endpoint::SubmitPrompt => read(body, &PROMPT),
            Endpoint::SubmitApproval => read(body, &DECISION),
            _ => Ok(Map::new()),
        };
        Self { route, body }
    }

    /// A member of the body that is a text; empty where it is not there.
    pub fn text(&self, member: &str) -> &str {
        self.body.as_ref().ok().and_then(|body| body.get(member)).and_then(Value::as_str).unwrap_or_default()
    }

    /// The name in the path; empty where it has none.
    pub fn name(&self) -> &str {
        self.route.name.as_deref().unwrap_or_default()
    }
}

type Check = LazyLock<Option<Validator>>;

static CREATE: Check = LazyLock::new(|| schema("createSession.request", &["credentials"]));
static PROMPT: Check = LazyLock::new(|| schema("submitPrompt.request", &[]));
static DECISION: Check = LazyLock::new(|| schema("submitApproval.request", &[]));

/// The schema of a body, without what is refused in another way where it is missing.
fn schema(name: &str, spared: &[&str]) -> Option<Validator> {
    let mut schema = PROTOCOL.default_edition().schema(name)?.clone();
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|member| !spared.iter().any(|spared| member == spared));
    }
    // That the schemas of the protocol are such is held by a test.
    jsonschema::draft7::new(&schema).ok()
}

fn read(body: &[u8], check: &Check) -> Result<Map<String, Value>, Refusal> {
    let Some(value) = std::str::from_utf8(body).ok().and_then(read_json).map(|read| read.value) else {
        return Err(Refusal::invalid("the body is not JSON"));
    };
    let error = check.as_ref().and_then(|check| check.iter_errors(&value).next().map(|error| location(&error)));
    match (value, error) {
        (_, Some(location)) => Err(Refusal::invalid(format!("{location} is not as the interface has it"))),
        (Value::Object(body), None) => Ok(body),
        (_, None) => Err(Refusal::invalid("the body is no object")),
    }
}

/// Where something is wrong, as a subject of a sentence. A path has names of members of the document alone.
fn location(error: &jsonschema::ValidationError<'_>) -> String {
    if let jsonschema::error::ValidationErrorKind::Required { property } = &error.kind() {
        let inside = error.instance_path().to_string();
        let property = property.as_str().unwrap_or_default();
        return format!("`{inside}/{property}`, which is needed,");
    }
    match error.instance_path().to_string() {
        path if path.is_empty() => "the body".to_owned(),
        path => format!("`{path}`"),
    }
}

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(target: &str, body: &str) -> EndpointRequest {
        EndpointRequest::read(Route::of("POST", target).unwrap(), body.as_bytes())
    }

    fn wrong(target: &str, body: &Value) -> String {
        parse(target, &body.to_string()).body.unwrap_err().message
    }

    #[test]
    fn a_body_is_checked_and_what_is_wrong_is_told_without_repeating_it() {
        assert!(CREATE.is_some() && PROMPT.is_some() && DECISION.is_some());
        assert!(parse("/sessions", r#"{"profile":"dev"}"#).body.is_ok(), "credentials are looked at later");
        let key = json!({"profile": "dev", "credentials": {"anthropic_api_key": ["sk-secret"]}});
        assert_eq!(wrong("/sessions", &key), "`/credentials/anthropic_api_key` is not as the interface has it");
        let context = json!({"profile": "dev", "context": {"open_files": []}});
        let message = wrong("/sessions", &context);
        assert_eq!(message, "`/context/workspace_root`, which is needed, is not as the interface has it");
        assert_eq!(wrong("/sessions/x/prompt", &json!([])), "the body is not as the interface has it");
        let deep = parse("/sessions/x/prompt", &"[".repeat(100_000)).body.unwrap_err();
        assert_eq!((deep.code, deep.status), ("INVALID_REQUEST", 400));
        assert_eq!(parse("/sessions/x/approval", r#"{"decision":"Allow"}"#).text("decision"), "Allow");
    }
}
