//! The role `amplifier-client`: the words with which scenarios play the server to a client.

use crate::format::{Field, Shape, fields_of};
use crate::protocol::words::{ENDED_HOW, HEADER_LINES};
use crate::protocol::{ObservationKind, PATIENCE, Pick, Reach, Role};
use crate::trace::End;

use super::verbs::ServerVerb;
use super::words::ENDPOINTS;

/// An extension that talks to such a server.
pub const AMPLIFIER_CLIENT: Role = Role {
    name: "amplifier-client",
    subject: End::Client,
    about: "an extension that talks to an agent's server",
    reach: Reach::Seeks { data_home: &[] },
    verbs: fields_of::<ServerVerb>,
    observations: OBSERVATIONS,
    stimuli: || &[],
    calls: CALLS,
    contact: Some(("health", &[])),
    described: || &[],
    capabilities: CAPABILITIES,
    patience: PATIENCE,
    attribution: &super::client_attribution::CLIENT,
    traffic: include_str!("traffic/amplifier-client.yaml"),
};

const EXCHANGE: Field = Field::optional("exchange", Shape::Pattern, "The name of the exchange, for `to` and `of`.");

const OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "request",
        doc: "The client sent a request: its body is whole.",
        on_connection: false,
        selectors: &[Field::optional("endpoint", Shape::Choice(ENDPOINTS), "The endpoint.")],
        fields: &[
            EXCHANGE,
            Field::optional("params", Shape::Pattern, "`session_id` and `name` out of the path, and the query."),
            Field::optional("json", Shape::Pattern, "The body, where it is JSON."),
            Field::optional("text", Shape::Pattern, "The body as text, where it is no JSON."),
            Field::optional("verb", Shape::Pattern, "The HTTP method."),
            Field::optional("target", Shape::Pattern, "The request target."),
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
            EXCHANGE,
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
            EXCHANGE,
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
            EXCHANGE,
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
        fields: &[EXCHANGE, ENDED_HOW],
        pick: Pick::Any,
        default_proves: None,
    },
];

const CALLS: &[(&str, &str)] = &[
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
    ("subscribe", "`{session_id, transport}`, which is `sse` or `ws`: the events of a session, told by their names."),
    ("control", "`{subscription, message}`: a message over a WebSocket."),
    ("unsubscribe", "`{subscription}`: the end of a subscription."),
];

const CAPABILITIES: &[(&str, &str)] = &[
    ("approval", "lets its user decide about approvals"),
    ("catalogs", "lists profiles, collections and agents, and asks for health and information"),
    ("lists", "lists sessions, or filters profiles and agents"),
    ("prompts", "submits prompts"),
    ("reconnection", "subscribes again after a stream was cut"),
    ("sessions", "creates, looks at and stops sessions"),
    ("streams", "subscribes to event streams"),
    ("websocket", "follows sessions by WebSocket"),
];
