//! The role `amplifier-server`: the words with which scenarios play the client to a server.

use crate::format::{Field, Shape, fields_of};
use crate::protocol::http::exchanges;
use crate::protocol::http::scenario::RESPONSE_TO;
use crate::protocol::words::{ENDED_HOW, HEADER_LINES};
use crate::protocol::{ObservationKind, Pick, Reach, Role};
use crate::trace::End;

use super::described::Described;
use super::events::EVENT_NAMES;
use super::verbs::ClientVerb;

/// A server with an agent behind it.
pub const AMPLIFIER_SERVER: Role = Role {
    name: "amplifier-server",
    subject: End::Server,
    about: "a server with an agent behind it",
    reach: Reach::Url { path: "/", proves: "health/status", module: None },
    verbs: fields_of::<ClientVerb>,
    observations: OBSERVATIONS,
    stimuli: || &[],
    calls: &[],
    contact: None,
    described: fields_of::<Described>,
    capabilities: CAPABILITIES,
    patience: exchanges::PATIENCE,
    attribution: &super::attribution::SERVER,
    traffic: include_str!("traffic/amplifier-server.yaml"),
};

const OF: Field = Field::optional("of", Shape::Bound("subscription"), "The label of the subscription.");
const EXCHANGE: Field = Field::optional("exchange", Shape::Pattern, "The name of the exchange.");
const SESSION: Field = Field::optional("session_id", Shape::Pattern, "The session that its path names.");

const OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "response",
        doc: "The server answered a request: its answer is whole, or what came of it will not become more. Where it redirects with 307 or 308, what comes from there.",
        on_connection: false,
        selectors: &[RESPONSE_TO],
        fields: &[
            Field::optional("status", Shape::Pattern, "The HTTP status; absent where the answer is no HTTP."),
            HEADER_LINES,
            Field::optional("json", Shape::Pattern, "The body, where it is JSON."),
            Field::optional("text", Shape::Pattern, "The body as text, where it is no JSON."),
            Field::optional("error", Shape::Pattern, "The `error` of the body."),
            Field::optional("code", Shape::Pattern, "The `code` of that error."),
            Field::optional("whole", Shape::Pattern, "Whether the answer came whole."),
            EXCHANGE,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "subscribed",
        doc: "The server answered a subscription: its head is there, or the answer to a handshake.",
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
        doc: "A prompt came to `prompt:complete`: all that was told of it in this subscription.",
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
        doc: "The server ended the TCP connection of a request before its answer was whole, or after it where we held ours.",
        on_connection: false,
        selectors: &[RESPONSE_TO],
        fields: &[ENDED_HOW, EXCHANGE],
        pick: Pick::First,
        default_proves: None,
    },
];

const CAPABILITIES: &[(&str, &str)] = &[
    ("agents", "has agents to list"),
    ("approval", "asks for approvals"),
    ("collections", "has collections to list"),
    ("credentials", "looks at the API keys that it is given"),
    ("diagnostics", "tells of diagnostics"),
    ("lifecycle", "tells by events how sessions and prompts begin and end"),
    ("profiles", "has profiles to list"),
    ("provider-errors", "tells errors of a model's provider by their codes"),
    ("server-errors", "tells errors of its own by their codes"),
    ("status-updates", "tells how far it has come"),
    ("streaming", "tells its response in pieces"),
    ("thinking", "tells what it thinks"),
    ("tools", "uses tools"),
    ("websocket", "has the WebSocket beside the event stream"),
];
