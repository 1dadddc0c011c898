//! The role `amp-server`: the verbs and observations of scenarios that play the Amp client opposite an editor.

use crate::protocol::words::{DELIBERATE, ENDED_HOW, HEADER_LINES, HOW, SPLIT};
use crate::protocol::{Field, ObservationKind, PATIENCE, Pick, Reach, Role, Shape, Verb};
use crate::trace::End;

use super::lockfile;
use super::words::{
    BINARY, BYTES, CLOSE_CODE, CLOSE_FIELDS, CLOSE_REASON, FRAME, FRAME_FIELDS, JSON, MESSAGE_FIELDS, ON, PING,
    PING_FIELDS, REPEAT, STIMULI, TEXT,
};

/// An editor that serves an agent.
pub const AMP_SERVER: Role = Role {
    name: "amp-server",
    subject: End::Server,
    about: "an editor that serves an agent",
    reach: Reach::Lockfile {
        folder: lockfile::FOLDER,
        data_home: &["AMP_DATA_HOME"],
        port_key: "port",
        proves: "discovery/lockfile-place",
        accepting: &["discovery/port-accepting", "connection/loopback"],
    },
    verbs: VERBS,
    observations: OBSERVATIONS,
    stimuli: STIMULI,
    calls: &[],
    contact: None,
    described: &[],
    capabilities: CAPABILITIES,
    patience: PATIENCE,
    attribution: &super::attribution::SERVER,
    traffic: include_str!("traffic/amp-server.yaml"),
};

const AS: Field = Field::optional("as", Shape::Binds("connection"), "The connection's name; `main` where not said.");

const VERBS: &[Verb] = &[
    Verb {
        name: "connect",
        doc: "Opens a connection and does the WebSocket handshake.",
        shape: Shape::Object(&[
            AS,
            Field::optional(
                "token",
                Shape::Either(&[
                    Shape::Choice(&["right", "absent", "empty", "beginning"]),
                    Shape::Object(&[Field::required("value", Shape::String, "The token to send.")]),
                ]),
                "The token: the one from the lockfile (`right`, where not said), none, an empty one, all of the right one but its last character, or another one.",
            ),
            Field::optional(
                "encode",
                Shape::Choice(&["component", "all", "none"]),
                "How the token is percent-encoded: as a URL component (where not said), every character, or not at all.",
            ),
            Field::optional("target", Shape::String, "The request target, instead of one made from the token."),
            Field::optional(
                "host",
                Shape::Choice(&["127.0.0.1", "localhost", "::1"]),
                "Where to connect to; where not said, what the edition's clients use: `localhost` in `cli`, 127.0.0.1 in `guide`.",
            ),
            Field::optional("method", Shape::String, "The HTTP method; GET where not said."),
            Field::optional("version", Shape::String, "The HTTP version; HTTP/1.1 where not said."),
            Field::optional(
                "headers",
                Shape::Map(&Shape::Any),
                "Header lines to add or to replace, name and value; null leaves one out.",
            ),
            Field::optional("raw", Shape::String, "The whole head as it is to be sent, instead of all the above."),
            Field::optional("subprotocols", Shape::List(&Shape::String), "Subprotocols to offer."),
            Field::optional(
                "handshake",
                Shape::Choice(&["open", "any"]),
                "`open` (where not said): anything but a valid acceptance fails the step. `any`: expect `handshake`.",
            ),
            Field::optional(
                "pings",
                Shape::Choice(&["answer", "ignore"]),
                "Whether pings from the server are answered; they are where not said.",
            ),
            Field::optional(
                "close",
                Shape::Choice(&["answer", "ignore"]),
                "Whether a close frame from the server is answered; it is where not said.",
            ),
            Field::optional("read", Shape::Bool, "Whether to read what the server sends; it is read where not said."),
            DELIBERATE,
        ]),
    },
    Verb {
        name: "open",
        doc: "Opens a TCP connection and sends nothing; `send` with `bytes` goes on from there.",
        shape: Shape::Object(&[AS, DELIBERATE]),
    },
    Verb {
        name: "request",
        doc: "Sends a request in the edition's envelope.",
        shape: Shape::Object(&[
            ON,
            Field::optional("as", Shape::Binds("request"), "A label by which expectations name the request."),
            Field::required("method", Shape::String, "The method."),
            Field::optional("params", Shape::Any, "Its parameters; an empty object where not said."),
            Field::optional(
                "id",
                Shape::Any,
                "The request's id; the connection's next number, as a string, where not said.",
            ),
            DELIBERATE,
        ]),
    },
    Verb {
        name: "send",
        doc: "Sends a message, frames or bytes: exactly one of `text`, `json`, `binary`, `frames` and `bytes`.",
        shape: Shape::Choose(
            &[
                ON,
                TEXT,
                JSON,
                BINARY,
                Field::optional("frames", Shape::List(&FRAME), "Frames, sent as they are described, in one write."),
                BYTES,
                SPLIT,
                REPEAT,
                Field::optional(
                    "as",
                    Shape::Binds("request"),
                    "A label for the request that the message is; needs `id`.",
                ),
                Field::optional("id", Shape::Any, "The id of the request that the message is."),
                DELIBERATE,
            ],
            &["text", "json", "binary", "frames", "bytes"],
        ),
    },
    PING,
    Verb {
        name: "close",
        doc: "Sends a close frame.",
        shape: Shape::Object(&[ON, CLOSE_CODE, CLOSE_REASON, DELIBERATE]),
    },
    Verb { name: "drop", doc: "Ends the TCP connection without a close frame.", shape: Shape::Object(&[ON, HOW]) },
];

const OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "handshake",
        doc: "The server answered the handshake.",
        on_connection: true,
        selectors: &[],
        fields: &[
            Field::optional("status", Shape::Pattern, "The HTTP status; absent where the answer is no HTTP."),
            Field::optional(
                "accepted",
                Shape::Pattern,
                "Whether it is a valid acceptance: 101 with the right `Upgrade`, `Connection` and `Sec-WebSocket-Accept`.",
            ),
            HEADER_LINES,
            Field::optional("body", Shape::Pattern, "The text that came with it."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "response",
        doc: "The server answered a request.",
        on_connection: true,
        selectors: &[
            Field::optional("to", Shape::Bound("request"), "The label of the request."),
            Field::optional("id", Shape::Any, "The id in the response."),
        ],
        fields: &[
            Field::optional(
                "result",
                Shape::Pattern,
                "What the method gave: `result` in the edition `guide`, the value of the method's key in `cli`.",
            ),
            Field::optional("error", Shape::Pattern, "The error."),
            Field::optional("method", Shape::Pattern, "The method's key; edition `cli` only."),
            Field::optional("json", Shape::Pattern, "The whole message."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "notification",
        doc: "The server notified the client of something.",
        on_connection: true,
        selectors: &[Field::optional("name", Shape::String, "The notification's name in the edition.")],
        fields: &[
            Field::optional("data", Shape::Pattern, "Its data."),
            Field::optional("json", Shape::Pattern, "The whole message."),
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "message",
        doc: "The server sent a message, whatever it is.",
        on_connection: true,
        selectors: &[],
        fields: MESSAGE_FIELDS,
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "frame",
        doc: "The server sent a frame.",
        on_connection: true,
        selectors: &[],
        fields: FRAME_FIELDS,
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "ping",
        doc: "The server sent a ping.",
        on_connection: true,
        selectors: &[],
        fields: PING_FIELDS,
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "pong",
        doc: "The server sent a pong.",
        on_connection: true,
        selectors: &[],
        fields: PING_FIELDS,
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "close",
        doc: "The server sent a close frame.",
        on_connection: true,
        selectors: &[],
        fields: CLOSE_FIELDS,
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "closed",
        doc: "The server ended the TCP connection.",
        on_connection: true,
        selectors: &[],
        fields: &[ENDED_HOW],
        pick: Pick::First,
        default_proves: None,
    },
];

const CAPABILITIES: &[(&str, &str)] = &[
    ("selections", "tells clients what is selected"),
    ("visible_files", "tells clients which files are visible"),
    ("diagnostics", "has diagnostics to report"),
    ("unsaved", "keeps changes that are not saved yet"),
    ("open_uri", "can be asked to open a URI"),
    ("messages", "sends users' messages to the agent"),
    ("prompts", "adds to the agent's prompt"),
    ("metadata", "tells the version of its plugin"),
    ("authenticate", "has the method `authenticate` beside the token of the handshake"),
];
