//! The endpoints of the document and the routes to them, the statuses of sessions, the error codes; and what an event is in
//! these words ([`summarize`]).

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use crate::protocol::{Channel, ChannelKind, MessageSort, MessageSummary, QueryParameter, QueryValues};
use crate::trace::{Direction, Event, EventKind};
use crate::uri::decode;

/// The twelve endpoints, by the names that the driver contract gives them.
pub const ENDPOINTS: &[&str] = &[
    "createSession",
    "submitPrompt",
    "getSession",
    "submitApproval",
    "deleteSession",
    "listSessions",
    "listProfiles",
    "getProfile",
    "listCollections",
    "listAgents",
    "health",
    "info",
];

/// The values that the status of a session has.
pub const STATUSES: &[&str] = &["idle", "processing", "awaiting_approval", "error", "stopped"];

/// The two ways to follow events.
pub const CHANNELS: &[Channel] = &[
    Channel {
        name: "events",
        kind: ChannelKind::EventStream,
        host: "127.0.0.1",
        path: "/sessions/{session_id}/events",
        query: &[],
        about: "The events of a session, as an event stream.",
    },
    Channel {
        name: "socket",
        kind: ChannelKind::WebSocket,
        host: "127.0.0.1",
        path: "/sessions/{session_id}/ws",
        query: &[],
        about: "The events of a session, and what a client says to it, over a WebSocket.",
    },
];

/// The parameters that the query of a request may have, by the name of the message type.
pub fn query(message: &str) -> &'static [QueryParameter] {
    const OF_SESSIONS: &[QueryParameter] = &[
        optional("status", QueryValues::OneOf(STATUSES), "Only sessions with this status."),
        optional("limit", QueryValues::Integer, "At most so many sessions."),
    ];
    const OF_COLLECTION: &[QueryParameter] =
        &[optional("collection", QueryValues::Text, "Only what belongs to this collection.")];
    match message {
        "listSessions.request" => OF_SESSIONS,
        "listProfiles.request" | "listAgents.request" => OF_COLLECTION,
        _ => &[],
    }
}

const fn optional(name: &'static str, values: QueryValues, about: &'static str) -> QueryParameter {
    QueryParameter { name, required: false, values, about }
}

/// The fourteen codes, each with its status and the slug of its requirement.
pub const CODES: &[(&str, u16, &str)] = &[
    ("INVALID_REQUEST", 400, "errors/invalid-request"),
    ("MISSING_CREDENTIALS", 401, "errors/missing-credentials"),
    ("INVALID_API_KEY", 401, "errors/invalid-api-key"),
    ("API_KEY_UNAUTHORIZED", 403, "errors/api-key-unauthorized"),
    ("RATE_LIMITED", 429, "errors/rate-limited"),
    ("SESSION_NOT_FOUND", 404, "errors/session-not-found"),
    ("PROFILE_NOT_FOUND", 404, "errors/profile-not-found"),
    ("SESSION_BUSY", 409, "errors/session-busy"),
    ("APPROVAL_TIMEOUT", 408, "errors/approval-timeout"),
    ("APPROVAL_INVALID", 400, "errors/approval-invalid"),
    ("SERVER_ERROR", 500, "errors/server-error"),
    ("MODULE_LOAD_FAILED", 500, "errors/module-load-failed"),
    ("PROVIDER_ERROR", 502, "errors/provider-error"),
    ("PROVIDER_UNAVAILABLE", 503, "errors/provider-unavailable"),
];

/// An endpoint: one of the twelve, or a way to follow events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Endpoint {
    CreateSession,
    SubmitPrompt,
    GetSession,
    SubmitApproval,
    DeleteSession,
    ListSessions,
    ListProfiles,
    GetProfile,
    ListCollections,
    ListAgents,
    Health,
    Info,
    /// The event stream.
    #[serde(skip)]
    Events,
    /// The WebSocket.
    #[serde(skip)]
    Socket,
}

impl Endpoint {
    /// The name that the driver contract gives it; none for what follows events.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::CreateSession => "createSession",
            Self::SubmitPrompt => "submitPrompt",
            Self::GetSession => "getSession",
            Self::SubmitApproval => "submitApproval",
            Self::DeleteSession => "deleteSession",
            Self::ListSessions => "listSessions",
            Self::ListProfiles => "listProfiles",
            Self::GetProfile => "getProfile",
            Self::ListCollections => "listCollections",
            Self::ListAgents => "listAgents",
            Self::Health => "health",
            Self::Info => "info",
            Self::Events | Self::Socket => return None,
        })
    }

    /// Whether it takes a body.
    pub fn has_body(self) -> bool {
        matches!(self, Self::CreateSession | Self::SubmitPrompt | Self::SubmitApproval)
    }
}

/// What a request line means.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub endpoint: Endpoint,
    /// The session or profile that its path names, decoded.
    pub name: Option<String>,
    /// The parameters of its query, decoded, in order.
    pub query: Vec<(String, String)>,
}

impl Route {
    /// The route of a method and a target; none where there is no such endpoint.
    pub fn of(method: &str, target: &str) -> Option<Self> {
        let target = target.strip_prefix("http://").map_or(target, |rest| rest.find('/').map_or("/", |at| &rest[at..]));
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        let (endpoint, name) = match (method, segments.as_slice()) {
            ("POST", ["sessions"]) => (Endpoint::CreateSession, None),
            ("GET", ["sessions"]) => (Endpoint::ListSessions, None),
            ("GET", ["sessions", id]) => (Endpoint::GetSession, Some(*id)),
            ("DELETE", ["sessions", id]) => (Endpoint::DeleteSession, Some(*id)),
            ("POST", ["sessions", id, "prompt"]) => (Endpoint::SubmitPrompt, Some(*id)),
            ("POST", ["sessions", id, "approval"]) => (Endpoint::SubmitApproval, Some(*id)),
            ("GET", ["sessions", id, "events"]) => (Endpoint::Events, Some(*id)),
            ("GET", ["sessions", id, "ws"]) => (Endpoint::Socket, Some(*id)),
            ("GET", ["profiles"]) => (Endpoint::ListProfiles, None),
            ("GET", ["profiles", name]) => (Endpoint::GetProfile, Some(*name)),
            ("GET", ["collections"]) => (Endpoint::ListCollections, None),
            ("GET", ["agents"]) => (Endpoint::ListAgents, None),
            ("GET", ["health"]) => (Endpoint::Health, None),
            ("GET", ["info"]) => (Endpoint::Info, None),
            _ => return None,
        };
        if name.is_some_and(str::is_empty) {
            return None;
        }
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let query = pairs.map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key.replace('+', " ")), decode(value.replace('+', " ")))
        });
        Some(Self { endpoint, name: name.map(decode), query: query.collect() })
    }

    /// The first value of a query parameter.
    pub fn param(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// The summary of the head of a request, an error, an event in a stream, or what passes over a socket.
pub fn summarize(event: &Event) -> Option<MessageSummary<'_>> {
    match &event.kind {
        EventKind::HttpRequest(head) => request_summary(head.method(), head.target()),
        EventKind::Handshake(head) if event.dir == Some(Direction::ToServer) => {
            let mut words = head.start.split(' ');
            request_summary(words.next()?, words.next()?)
        }
        EventKind::Message(message) => {
            let json = message.json.as_ref()?;
            if event.dir == Some(Direction::ToServer) {
                let action = json.get("action")?.as_str()?;
                return Some(MessageSummary::new(MessageSort::Request).named(action).carrying(Some(json)));
            }
            if let Some(error) = json.get("error") {
                let summary = MessageSummary::new(MessageSort::Failure).carrying(Some(error));
                let code = error.get("code").and_then(Value::as_str);
                return Some(code.map_or(summary.clone(), |code| summary.named(code)));
            }
            let name = json.get("event")?.as_str()?;
            Some(MessageSummary::new(MessageSort::Notification).named(name).carrying(json.get("data")))
        }
        EventKind::StreamEvent(event) => {
            let mut json: Value = serde_json::from_str(event.data.as_deref()?).ok()?;
            let name = json.get("event")?.as_str()?.to_owned();
            let content = json.get_mut("data").map(|data| Cow::Owned(data.take()));
            Some(MessageSummary { content, ..MessageSummary::new(MessageSort::Notification).named(name) })
        }
        _ => None,
    }
}

fn request_summary<'a>(method: &str, target: &str) -> Option<MessageSummary<'a>> {
    let endpoint = Route::of(method, target)?.endpoint;
    let name = match endpoint {
        Endpoint::Events | Endpoint::Socket => "subscribe",
        other => other.name()?,
    };
    Some(MessageSummary::new(MessageSort::Request).named(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::protocol::amplifier::testing::Play;

    use super::*;

    fn of(method: &str, target: &str) -> Option<(Endpoint, Option<String>)> {
        Route::of(method, target).map(|route| (route.endpoint, route.name))
    }

    #[test]
    fn every_endpoint_is_found_by_method_and_path() {
        assert_eq!(of("POST", "/sessions"), Some((Endpoint::CreateSession, None)));
        assert_eq!(of("GET", "/sessions/a%2Fb"), Some((Endpoint::GetSession, Some("a/b".to_owned()))));
        assert_eq!(of("GET", "http://a:1/profiles/x:y"), Some((Endpoint::GetProfile, Some("x:y".to_owned()))));
        assert_eq!(of("GET", "/sessions/a/events?x"), Some((Endpoint::Events, Some("a".to_owned()))));
        for (method, target) in [
            ("PUT", "/sessions"),
            ("GET", "/api/v1/health"),
            ("GET", "/sessions/"),
            ("POST", "/health"),
            ("GET", "health"),
            ("POST", "/sessions/a/b/prompt"),
        ] {
            assert_eq!(of(method, target), None, "{method} {target}");
        }
    }

    #[test]
    fn a_query_is_decoded() {
        let route = Route::of("GET", "/sessions?status=idle&limit=%35&x&a+b=c%20d").unwrap();
        assert_eq!(route.param("limit"), Some("5"));
        assert_eq!(route.param("a b"), Some("c d"));
        assert_eq!((route.param("x"), route.param("y")), (Some(""), None));
    }

    fn names(play: &Play) -> Vec<String> {
        let summaries = play.events.iter().filter_map(summarize);
        summaries.map(|summary| format!("{:?} {}", summary.sort, summary.name.unwrap_or_default())).collect()
    }

    #[test]
    fn endpoints_errors_and_events_have_names() {
        let error = json!({"error": {"code": "SESSION_BUSY", "message": "m"}});
        let play = Play::new().posts("/sessions/a/prompt", &json!({"prompt": "p"})).returns(409, &error);
        assert_eq!(names(&play), ["Request submitPrompt", "Failure SESSION_BUSY"]);
        let play = Play::new().subscribes("s").sends_event("prompt:submit", json!({"request_id": "r"}));
        assert_eq!(names(&play), ["Request subscribe", "Notification prompt:submit"]);
        let play = Play::new().upgrades("s").client_message(&json!({"action": "stop"}));
        assert_eq!(names(&play), ["Request subscribe", "Request stop"]);
    }
}
