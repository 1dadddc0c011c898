//! The role `amp-server`: the verbs and observations of scenarios that play the Amp client opposite an editor.

use crate::format::{Field, Shape, fields_of};
use crate::protocol::words::{ENDED_HOW, HEADER_LINES};
use crate::protocol::{ObservationKind, PATIENCE, Pick, Reach, Role};
use crate::trace::End;

use super::lockfile;
use super::verbs::{ClientVerb, Stimulus};
use super::words::{CLOSE_FIELDS, FRAME_FIELDS, MESSAGE_FIELDS, PING_FIELDS};

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
    verbs: fields_of::<ClientVerb>,
    observations: OBSERVATIONS,
    stimuli: fields_of::<Stimulus>,
    calls: &[],
    contact: None,
    described: || &[],
    capabilities: CAPABILITIES,
    patience: PATIENCE,
    attribution: &super::attribution::SERVER,
    traffic: include_str!("traffic/amp-server.yaml"),
};

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
