//! Which request a call makes.

use std::fmt::Write as _;

use percent_encoding::AsciiSet;
use serde_json::{Map, Value};

use crate::uri;

/// Encodes all of a segment but unreserved characters and `:`.
const SEGMENT: &AsciiSet = &uri::UNRESERVED.remove(b':');

/// A request for a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The call.
    pub call: &'static str,
    pub method: &'static str,
    /// Path and query, below the server's own.
    pub target: String,
    pub body: Option<Value>,
}

/// How parts of a target are encoded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Encoding {
    /// A flaw: a segment of the path is written as it is.
    pub raw_path: bool,
    /// A flaw: a value in the query is written as it is.
    pub raw_query: bool,
    /// A freedom: a colon is encoded, too.
    pub colon: bool,
    /// In a segment of the path and in a value of the query, every byte is encoded.
    pub every: bool,
}

/// The calls that make one request each.
const CALLS: &[&str] = &[
    "createSession",
    "submitPrompt",
    "submitApproval",
    "getSession",
    "deleteSession",
    "listSessions",
    "listProfiles",
    "getProfile",
    "listCollections",
    "listAgents",
    "health",
    "info",
];

/// The request for a call; none where it is another call.
pub fn route(call: &str, params: &Value, encoding: Encoding) -> Option<Route> {
    let call = CALLS.iter().copied().find(|known| *known == call)?;
    let session = |tail: &str| format!("/sessions/{}{tail}", encoding.segment(text(params, "session_id")));
    let query = |path: &str, keys: &[&str]| encoding.query(path, params, keys);
    let (method, target, body) = match call {
        "createSession" => ("POST", "/sessions".to_owned(), Some(params.clone())),
        "submitPrompt" => ("POST", session("/prompt"), Some(without_session(params))),
        "submitApproval" => ("POST", session("/approval"), Some(without_session(params))),
        "getSession" => ("GET", session(""), None),
        "deleteSession" => ("DELETE", session(""), None),
        "listSessions" => ("GET", query("/sessions", &["status", "limit"]), None),
        "listProfiles" => ("GET", query("/profiles", &["collection"]), None),
        "getProfile" => ("GET", format!("/profiles/{}", encoding.segment(text(params, "name"))), None),
        "listCollections" => ("GET", "/collections".to_owned(), None),
        "listAgents" => ("GET", query("/agents", &["collection"]), None),
        "health" => ("GET", "/health".to_owned(), None),
        _ => ("GET", "/info".to_owned(), None),
    };
    Some(Route { call, method, target, body })
}

/// The member that the response to a call must have.
pub fn essence(call: &str) -> &'static str {
    match call {
        "createSession" => "session_id",
        "submitPrompt" => "request_id",
        "listSessions" => "sessions",
        "listProfiles" => "profiles",
        "listCollections" => "collections",
        "listAgents" => "agents",
        "getProfile" => "name",
        "info" => "version",
        _ => "status",
    }
}

/// A text among parameters.
pub fn text<'a>(params: &'a Value, key: &str) -> &'a str {
    params.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn without_session(params: &Value) -> Value {
    let members = params.as_object().into_iter().flatten().filter(|(key, _)| *key != "session_id");
    Value::Object(members.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>())
}

impl Encoding {
    /// A text as one segment of a path (RFC 3986 section 3.3).
    pub fn segment(self, text: &str) -> String {
        if self.raw_path {
            return text.replace(' ', "+");
        }
        if self.every {
            return uri::encode_all(text);
        }
        let set = if self.colon { uri::UNRESERVED } else { SEGMENT };
        match text {
            // They would be taken for steps to another folder.
            "." => "%2E".to_owned(),
            ".." => "%2E%2E".to_owned(),
            _ => uri::encode(text, set),
        }
    }

    fn query(self, path: &str, params: &Value, keys: &[&str]) -> String {
        let mut target = path.to_owned();
        let given = keys.iter().filter_map(|key| Some((key, params.get(key).filter(|value| !value.is_null())?)));
        for (n, (key, value)) in given.enumerate() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let value = match self {
                Self { raw_query: true, .. } => value.replace(' ', "+"),
                Self { every: true, .. } => uri::encode_all(&value),
                _ => uri::encode(&value, uri::UNRESERVED),
            };
            let before = if n == 0 { '?' } else { '&' };
            // Writing into a text does not fail.
            let _ = write!(target, "{before}{key}={value}");
        }
        target
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(call: &str, params: Value) -> String {
        route(call, &params, Encoding::default()).map(|route| format!("{} {}", route.method, route.target)).unwrap()
    }

    #[test]
    fn a_call_goes_to_its_endpoint() {
        assert_eq!(target("createSession", json!({"profile": "dev"})), "POST /sessions");
        assert_eq!(target("submitPrompt", json!({"session_id": "a/b"})), "POST /sessions/a%2Fb/prompt");
        assert_eq!(target("getProfile", json!({"name": "a:b ü"})), "GET /profiles/a:b%20%C3%BC");
        assert_eq!(target("getSession", json!({"session_id": ".."})), "GET /sessions/%2E%2E");
        assert_eq!(target("listSessions", json!({"limit": 5, "status": "idle"})), "GET /sessions?status=idle&limit=5");
        assert_eq!(target("listAgents", json!({"collection": "a&b=c"})), "GET /agents?collection=a%26b%3Dc");
        assert_eq!(target("listProfiles", json!({"collection": null})), "GET /profiles");
        assert_eq!(route("fly", &json!({}), Encoding::default()), None);
    }

    #[test]
    fn the_session_stands_in_the_path_only() {
        let route = route("submitPrompt", &json!({"session_id": "s", "prompt": "p"}), Encoding::default());
        assert_eq!(route.and_then(|route| route.body), Some(json!({"prompt": "p"})));
    }
}
