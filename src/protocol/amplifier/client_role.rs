//! The role `amplifier-client`: the words with which scenarios play the server to a client.

use crate::protocol::http::scenario::{
    ANSWER_TO, CHUNKED, CUT, ENCODING, ENDLESS, FILL, FILLED, HEADERS, HEX, INTERIM, JSON, LENGTH, PACE, RAW_ANSWER,
    REPEATS, TEXT, THEN, TRAILERS,
};
use crate::protocol::words::{DELIBERATE, ENDED_HOW, HEADER_LINES, HOW, SPLIT};
use crate::protocol::{Field, ObservationKind, PATIENCE, Pick, Reach, Role, Shape, Verb};
use crate::trace::End;

use super::words::{ENDPOINTS, FRAMES};

/// An extension that talks to such a server.
pub const AMPLIFIER_CLIENT: Role = Role {
    name: "amplifier-client",
    subject: End::Client,
    about: "an extension that talks to an agent's server",
    reach: Reach::Seeks { data_home: &[] },
    verbs: VERBS,
    observations: OBSERVATIONS,
    stimuli: &[],
    calls: CALLS,
    contact: Some(("health", &[])),
    described: &[],
    capabilities: CAPABILITIES,
    patience: PATIENCE,
    attribution: &super::client_attribution::CLIENT,
    traffic: include_str!("traffic/amplifier-client.yaml"),
};

const OF: Field = Field::optional(
    "of",
    Shape::String,
    "The exchange, as `$capture` took it from a `subscribe`; the newest subscription where not said.",
);
const STATUS: Field = Field::optional(
    "status",
    Shape::Either(&[Shape::Integer { min: 100, max: 999 }, Shape::String]),
    "The status, or the status line's code and reason; that of the endpoint where not said.",
);
const AFTER: Field = Field::optional("after", Shape::Duration, "The time that passes before it; none where not said.");

const VERBS: &[Verb] = &[
    Verb {
        name: "serve",
        doc: "Starts the server at the URL that the client is given, with an agent that goes by a script. After `stop` it \
              starts at the same URL again. Sets `port` and `url` to its own.",
        shape: Shape::Object(&[
            Field::optional(
                "script",
                Shape::Any,
                "What its agent does, by prompt, and what it has; the example of the mock server where not said.",
            ),
            Field::optional(
                "answers",
                Shape::Choice(&["all", "none"]),
                "`all` (where not said): it answers every request. `none`: only the steps `answer` and `respond` do, but it \
                 accepts subscriptions.",
            ),
            Field::optional(
                "withholds",
                Shape::List(&Shape::String),
                "Endpoints, by name, that only the steps `answer` and `respond` answer, `subscribe` among them.",
            ),
            Field::optional(
                "quiet",
                Shape::Bool,
                "Sends no events by itself, but accepts subscriptions to any session: only the steps `event` and `stream` \
                 send some.",
            ),
            Field::optional(
                "refuses",
                Shape::Object(&[
                    Field::optional(
                        "after",
                        Shape::Integer { min: 0, max: 1000 },
                        "How many are accepted before; none where not said.",
                    ),
                    Field::required("status", Shape::Integer { min: 200, max: 599 }, "The status."),
                ]),
                "Refuses subscriptions with a status: with an error in its body, from 400 on.",
            ),
            DELIBERATE,
        ]),
    },
    Verb {
        name: "stop",
        doc: "Ends the server: nobody listens any more.",
        shape: Shape::Object(&[Field::optional(
            "how",
            Shape::Choice(&["quit", "kill"]),
            "`quit` (where not said): streams are ended first. `kill`: connections are cut.",
        )]),
    },
    Verb {
        name: "event",
        doc: "Sends an event to the client, as a sound server does.",
        shape: Shape::Object(&[
            OF,
            Field::required("event", Shape::String, "Its name."),
            Field::optional("data", Shape::Any, "What belongs to it; `session_id` is added where it is not there."),
            Field::optional("type", Shape::String, "The event type of the stream; none where not said."),
            Field::optional("id", Shape::String, "The `id` of the stream's event."),
            Field::optional(
                "retry",
                Shape::Integer { min: 0, max: 600_000 },
                "The `retry` of the stream, in milliseconds.",
            ),
            Field::optional("line_end", Shape::Choice(&["lf", "crlf", "cr"]), "How lines end; `lf` where not said."),
            Field::optional(
                "lines",
                Shape::Integer { min: 1, max: 1024 },
                "Over how many lines `data` goes; one where not said.",
            ),
            Field::optional("space", Shape::Bool, "Whether a space follows the colon; it does where not said."),
            Field::optional("repeat", Shape::Integer { min: 1, max: 1_000_000 }, "Sends it so many times."),
            Field::optional("fragments", Shape::Integer { min: 1, max: 1024 }, "Over a WebSocket, in so many frames."),
            SPLIT,
            PACE,
            DELIBERATE,
        ]),
    },
    Verb {
        name: "stream",
        doc: "Writes into an event stream or WebSocket what it is given: exactly one of `text`, `hex` and `fill`.",
        shape: Shape::Choose(
            &[
                OF,
                Field::optional("text", Shape::String, "Text."),
                Field::optional("hex", Shape::Hex, "Bytes, as hexadecimal digits."),
                Field::optional("fill", FILL, "A text repeated."),
                FRAMES[0],
                FRAMES[1],
                FRAMES[2],
                FRAMES[3],
                FRAMES[4],
                SPLIT,
                PACE,
                DELIBERATE,
            ],
            &["text", "hex", "fill"],
        ),
    },
    Verb {
        name: "cut",
        doc: "Ends a subscription: the stream ends, or its TCP connection is closed or cut.",
        shape: Shape::Object(&[
            OF,
            Field::optional(
                "how",
                Shape::Choice(&["end", "eof", "reset"]),
                "`end` (where not said): as HTTP or the WebSocket has it. `eof` with FIN; `reset` with RST.",
            ),
            DELIBERATE,
        ]),
    },
    Verb {
        name: "answer",
        doc: "Answers a request as the endpoint does: with `json`, or with an `error` that has its code's status.",
        shape: Shape::Choose(
            &[
                ANSWER_TO,
                REPEATS,
                STATUS,
                Field::optional("json", Shape::Any, "The body."),
                Field::optional(
                    "error",
                    Shape::Object(&[
                        Field::required("code", Shape::String, "Its code."),
                        Field::optional("message", Shape::String, "Its message."),
                        Field::optional("details", Shape::Any, "Its details; null leaves them out."),
                    ]),
                    "An error.",
                ),
                HEADERS,
                AFTER,
                DELIBERATE,
            ],
            &["json", "error"],
        ),
    },
    Verb {
        name: "respond",
        doc: "Answers a request by HTTP of any kind: at most one of `json`, `text`, `hex` and `fill` is the body.",
        shape: Shape::Object(&[
            ANSWER_TO, REPEATS, STATUS, HEADERS, JSON, TEXT, HEX, FILLED, ENDLESS, RAW_ANSWER, ENCODING, INTERIM,
            TRAILERS, CHUNKED, LENGTH, SPLIT, PACE, CUT, AFTER, THEN, DELIBERATE,
        ]),
    },
    Verb {
        name: "drop",
        doc: "Ends the TCP connection of a request without an answer.",
        shape: Shape::Object(&[ANSWER_TO, REPEATS, HOW, DELIBERATE]),
    },
];

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
