//! The roles `amplifier-server` and `amplifier-client`: the words with which scenarios play the client to a server, and the
//! server to a client.
//!
//! [`Described`] has the types of what a server is described with in `wirecert.yaml`; the values themselves are read from
//! [`config::Described`](crate::config::Described).

use schemars::JsonSchema;
use serde::Deserialize;

use crate::format::types::{SecretVariable, Text, WorkspacePath};
use crate::format::{Field, Shape, fields_of};
use crate::protocol::http::exchanges;
use crate::protocol::http::scenario::RESPONSE_TO;
use crate::protocol::words::{ENDED_HOW, HEADER_LINES};
use crate::protocol::{ObservationKind, PATIENCE, Pick, Reach, Role};
use crate::trace::End;

use super::endpoints::ENDPOINTS;
use super::events::EVENT_NAMES;
use super::verbs::{ClientVerb, ServerVerb};

/// A server with an agent behind it.
pub const AMPLIFIER_SERVER: Role = Role {
    name: "amplifier-server",
    subject: End::Server,
    about: "a server with an agent behind it",
    reach: Reach::Url { path: "/", proves: "health/status", module: None },
    verbs: fields_of::<ClientVerb>,
    observations: SERVER_OBSERVATIONS,
    stimuli: || &[],
    calls: &[],
    contact: None,
    described: fields_of::<Described>,
    capabilities: SERVER_CAPABILITIES,
    must_show: &[],
    patience: exchanges::PATIENCE,
    attribution: &super::attribution::SERVER,
    traffic: include_str!("traffic/amplifier-server.yaml"),
    model: Some(super::model::begin),
};

const OF: Field = Field::optional("of", Shape::Bound("subscription"), "The label of the subscription.");
const EXCHANGE: Field = Field::optional("exchange", Shape::Pattern, "The name of the exchange.");
const SESSION: Field = Field::optional("session_id", Shape::Pattern, "The session that its path names.");

const SERVER_OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "response",
        doc: "The server answered a request: its response is whole, or what came of it will not become more. Where it redirects with 307 or 308, what comes from there.",
        on_connection: false,
        selectors: &[RESPONSE_TO],
        fields: &[
            Field::optional("status", Shape::Pattern, "The HTTP status; absent where the response is no HTTP."),
            HEADER_LINES,
            Field::optional("json", Shape::Pattern, "The body, where it is JSON."),
            Field::optional("text", Shape::Pattern, "The body as text, where it is no JSON."),
            Field::optional("error", Shape::Pattern, "The `error` of the body."),
            Field::optional("code", Shape::Pattern, "The `code` of that error."),
            Field::optional("whole", Shape::Pattern, "Whether the response came whole."),
            EXCHANGE,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "subscribed",
        doc: "The server answered a subscription: its head is there, or the response to a handshake.",
        on_connection: false,
        selectors: &[OF],
        fields: &[
            Field::optional("status", Shape::Pattern, "The HTTP status; 101 for a WebSocket."),
            HEADER_LINES,
            SESSION,
            EXCHANGE,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "event",
        doc: "An event came, by event stream or WebSocket.",
        on_connection: false,
        selectors: &[OF, Field::optional("event", Shape::Choice(&EVENT_NAMES), "Its name.")],
        fields: &[
            Field::optional("data", Shape::Pattern, "What belongs to it."),
            Field::optional("json", Shape::Pattern, "The whole message."),
            Field::optional("type", Shape::Pattern, "The event type of a stream; `message` where it has none."),
            Field::optional("id", Shape::Pattern, "The `id` of a stream's event."),
            EXCHANGE,
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "completed",
        doc: "A prompt came to `prompt:complete`: all that was reported of it in this subscription.",
        on_connection: false,
        selectors: &[OF],
        fields: &[
            Field::optional("request_id", Shape::Pattern, "Its `request_id`."),
            Field::optional("response", Shape::Pattern, "Its `response`."),
            Field::optional("joined", Shape::Pattern, "The deltas of the content, joined; a mebibyte at most."),
            Field::optional("deltas", Shape::Pattern, "How many they were."),
            Field::optional("thinking", Shape::Pattern, "The deltas of the thinking, joined; a mebibyte at most."),
            Field::optional(
                "events",
                Shape::Pattern,
                "The names of all its events in order, the same one after the other only once; a thousand at most.",
            ),
            EXCHANGE,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "keep_alive",
        doc: "Something came in an event stream that is no protocol event: a comment, or an event of another kind.",
        on_connection: false,
        selectors: &[OF],
        fields: &[
            Field::optional("comment", Shape::Pattern, "The text of a comment."),
            Field::optional("text", Shape::Pattern, "The data of an event."),
            Field::optional("type", Shape::Pattern, "Its event type."),
            EXCHANGE,
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "frame",
        doc: "The server sent a frame over a WebSocket.",
        on_connection: false,
        selectors: &[OF, Field::optional("opcode", Shape::Integer { min: 0, max: 15 }, "Its opcode.")],
        fields: &[
            Field::optional("fin", Shape::Pattern, "Its FIN bit."),
            Field::optional("text", Shape::Pattern, "Its payload, where it is text."),
            Field::optional("code", Shape::Pattern, "Its close code."),
            EXCHANGE,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "ended",
        doc: "The server ended a subscription: an event stream, or the connection of a WebSocket.",
        on_connection: false,
        selectors: &[OF],
        fields: &[
            Field::optional("how", Shape::Pattern, "`whole` where the stream ended as it should, `eof`, or `reset`."),
            EXCHANGE,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "closed",
        doc: "The server ended the TCP connection of a request before its response was whole, or after it where we held ours.",
        on_connection: false,
        selectors: &[RESPONSE_TO],
        fields: &[ENDED_HOW, EXCHANGE],
        pick: Pick::First,
        default_proves: None,
    },
];

const SERVER_CAPABILITIES: &[(&str, &str)] = &[
    ("agents", "has agents to list"),
    ("approval", "asks for approvals"),
    ("collections", "has collections to list"),
    ("credentials", "looks at the API keys that it is given"),
    ("diagnostics", "reports diagnostics"),
    ("lifecycle", "reports by events how sessions and prompts begin and end"),
    ("profiles", "has profiles to list"),
    ("provider-errors", "reports errors of a model's provider by their codes"),
    ("server-errors", "reports errors of its own by their codes"),
    ("status-updates", "reports how far it has come"),
    ("streaming", "sends its response in pieces"),
    ("thinking", "sends what it thinks"),
    ("tools", "uses tools"),
    ("websocket", "has the WebSocket beside the event stream"),
];

/// An extension that talks to such a server.
pub const AMPLIFIER_CLIENT: Role = Role {
    name: "amplifier-client",
    subject: End::Client,
    about: "an extension that talks to an agent's server",
    reach: Reach::Seeks { data_home: &[] },
    verbs: fields_of::<ServerVerb>,
    observations: CLIENT_OBSERVATIONS,
    stimuli: || &[],
    calls: CLIENT_CALLS,
    contact: Some(("health", &[])),
    described: || &[],
    capabilities: CLIENT_CAPABILITIES,
    must_show: &[],
    patience: PATIENCE,
    attribution: &super::client_attribution::CLIENT,
    traffic: include_str!("traffic/amplifier-client.yaml"),
    model: Some(super::client_model::begin),
};

const CLIENT_EXCHANGE: Field =
    Field::optional("exchange", Shape::Pattern, "The name of the exchange, for `to` and `of`.");

const CLIENT_OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "request",
        doc: "The client sent a request: its body is whole.",
        on_connection: false,
        selectors: &[Field::optional("endpoint", Shape::Choice(ENDPOINTS), "The endpoint.")],
        fields: &[
            CLIENT_EXCHANGE,
            Field::optional("params", Shape::Pattern, "`session_id` and `name` out of the path, and the query."),
            Field::optional("json", Shape::Pattern, "The body, where it is JSON."),
            Field::optional("text", Shape::Pattern, "The body as text, where it is no JSON."),
            Field::optional("verb", Shape::Pattern, "The HTTP method."),
            Field::optional("target", Shape::Pattern, "The request target."),
            Field::optional("version", Shape::Pattern, "The HTTP version, such as `HTTP/1.1`."),
            HEADER_LINES,
            Field::optional("tcp", Shape::Pattern, "The number of the TCP connection in this play."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "subscribe",
        doc: "The client subscribed to the events of a session.",
        on_connection: false,
        selectors: &[Field::optional("transport", Shape::Choice(&["sse", "ws"]), "How.")],
        fields: &[
            CLIENT_EXCHANGE,
            Field::optional("session_id", Shape::Pattern, "The session."),
            Field::optional(
                "pause",
                Shape::Pattern,
                "How long after the end of the last subscription to that session it came, in milliseconds; absent of the first.",
            ),
            Field::optional("target", Shape::Pattern, "The request target."),
            HEADER_LINES,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "control",
        doc: "The client sent a message over a WebSocket.",
        on_connection: false,
        selectors: &[Field::optional("action", Shape::String, "Its `action`.")],
        fields: &[
            CLIENT_EXCHANGE,
            Field::optional("json", Shape::Pattern, "The message, where it is JSON."),
            Field::optional("text", Shape::Pattern, "Its text, where it is no JSON."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "frame",
        doc: "The client sent a frame over a WebSocket.",
        on_connection: false,
        selectors: &[Field::optional("opcode", Shape::Integer { min: 0, max: 15 }, "Its opcode.")],
        fields: &[
            CLIENT_EXCHANGE,
            Field::optional("fin", Shape::Pattern, "Its FIN bit."),
            Field::optional("text", Shape::Pattern, "Its payload, where it is text."),
            Field::optional("code", Shape::Pattern, "Its close code."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "closed",
        doc: "The client ended the TCP connection of a request or subscription.",
        on_connection: false,
        selectors: &[],
        fields: &[CLIENT_EXCHANGE, ENDED_HOW],
        pick: Pick::Any,
        default_proves: None,
    },
];

const CLIENT_CALLS: &[(&str, &str)] = &[
    ("createSession", "The body of the request: a new session."),
    ("submitPrompt", "`{session_id, prompt, context_update?}`: a prompt."),
    ("submitApproval", "`{session_id, decision}`: a decision."),
    ("getSession", "`{session_id}`: the status of a session."),
    ("deleteSession", "`{session_id}`: the end of a session."),
    ("listSessions", "`{status?, limit?}`: sessions."),
    ("listProfiles", "`{collection?}`: profiles."),
    ("getProfile", "`{name}`: a profile."),
    ("listCollections", "`{}`: collections."),
    ("listAgents", "`{collection?}`: agents."),
    ("health", "`{}`: whether the server is ready."),
    ("info", "`{}`: what the server is."),
    (
        "subscribe",
        "`{session_id, transport}`, which is `sse` or `ws`: the events of a session, reported by their names.",
    ),
    ("control", "`{subscription, message}`: a message over a WebSocket."),
    ("unsubscribe", "`{subscription}`: the end of a subscription."),
];

const CLIENT_CAPABILITIES: &[(&str, &str)] = &[
    ("approval", "lets its user decide about approvals"),
    ("catalogs", "lists profiles, collections and agents, and asks for health and information"),
    ("lists", "lists sessions, or filters profiles and agents"),
    ("prompts", "submits prompts"),
    ("reconnection", "subscribes again after a stream was cut"),
    ("sessions", "creates, looks at and stops sessions"),
    ("streams", "subscribes to event streams"),
    ("websocket", "follows sessions by WebSocket"),
];

/// What `wirecert.yaml` says of such a server, beside what it says of all subjects.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Described {
    /// Prompts by what they provoke. `{workspace}` in them is the folder that the session is given as its `workspace_root`.
    pub prompts: Option<Prompts>,
    /// How its approvals are decided, and what shows that the action ran.
    pub approval: Option<Approval>,
    /// Names that it knows.
    pub profiles: Option<Profiles>,
    /// Environment variables that have API keys: their names, never keys.
    pub credentials: Option<Credentials>,
}

/// Prompts by what they provoke.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Prompts {
    /// One that is answered by text, soon.
    pub text: Option<Text>,
    /// One that uses a tool which needs no approval.
    pub tool: Option<Text>,
    /// One that uses a tool which fails.
    pub tool_error: Option<Text>,
    /// One that is thought about.
    pub thinking: Option<Text>,
    /// One that asks for one approval, which stays pending for at least half a minute; `approval: { effect }` says what the
    /// action leaves behind.
    pub approval: Option<Text>,
    /// The same, but with an approval whose time is up within ten seconds.
    pub approval_timeout: Option<Text>,
    /// One that is worked on for some seconds; best one of which something is reported all the time, such as a long
    /// text.
    pub slow: Option<Text>,
    /// One that reports how far it has come.
    pub status: Option<Text>,
    /// One that reports diagnostics, and clears some.
    pub diagnostics: Option<Text>,
    /// One that is accepted, and fails while it is worked on.
    pub failure: Option<Text>,
    #[serde(flatten)]
    pub failures: Failures,
}

/// Prompts by the code with which they fail.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Failures {
    pub invalid_api_key: Option<Failing>,
    pub api_key_unauthorized: Option<Failing>,
    pub rate_limited: Option<Failing>,
    pub server_error: Option<Failing>,
    pub module_load_failed: Option<Failing>,
    pub provider_error: Option<Failing>,
    pub provider_unavailable: Option<Failing>,
}

/// One that fails with this code.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Failing(pub Text);

/// How approvals are decided.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Approval {
    /// Options that allow. Default: by their words.
    pub allow: Option<Vec<String>>,
    /// Options that deny. Default: by their words.
    pub deny: Option<Vec<String>>,
    /// The file that the action leaves behind which the prompts `approval` and `approval_timeout` ask for, if it runs: below
    /// the folder that the session is given as its `workspace_root`.
    pub effect: Option<WorkspacePath>,
}

/// Names that a server knows.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Profiles {
    /// A profile that sessions are created with. Default: `dev` if the server lists it, else one that it lists.
    pub good: Option<Text>,
    /// A collection that has profiles or agents.
    pub collection: Option<Text>,
    /// A model that it has.
    pub model: Option<Text>,
}

/// Environment variables that have API keys.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Credentials {
    /// The one with a valid key. Default: sessions have no key.
    pub good: Option<SecretVariable>,
    /// The one with a key that is not valid. Default: made up.
    pub bad: Option<SecretVariable>,
    /// The one with a key that may not do enough.
    pub unauthorized: Option<SecretVariable>,
}
