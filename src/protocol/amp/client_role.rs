//! The role `amp-client`: the verbs and observations of scenarios that play the editor opposite an agent.

use crate::format::{Field, Shape, fields_of};
use crate::protocol::words::{ENDED_HOW, HEADER_LINES};
use crate::protocol::{ObservationKind, PATIENCE, Pick, Reach, Role};
use crate::trace::End;

use super::verbs::EditorVerb;
use super::words::{CLOSE_FIELDS, FRAME_FIELDS, MESSAGE_FIELDS, PING_FIELDS};

/// An agent that works with an editor.
pub const AMP_CLIENT: Role = Role {
    name: "amp-client",
    subject: End::Client,
    about: "an agent that works with an editor",
    reach: Reach::Seeks { data_home: &["AMP_DATA_HOME"] },
    verbs: fields_of::<EditorVerb>,
    observations: OBSERVATIONS,
    stimuli: || &[],
    calls: CALLS,
    contact: Some(("readFile", &[("path", "{root}/wirecert.txt")])),
    described: || &[],
    capabilities: CAPABILITIES,
    patience: PATIENCE,
    attribution: &super::client_attribution::CLIENT,
    traffic: include_str!("traffic/amp-client.yaml"),
};

const OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "handshake",
        doc: "The client asked for a WebSocket connection.",
        on_connection: true,
        selectors: &[],
        fields: &[
            Field::optional("method", Shape::Pattern, "The HTTP method."),
            Field::optional(
                "target",
                Shape::Pattern,
                "The request target; a secret in it is replaced, as in every trace.",
            ),
            Field::optional("path", Shape::Pattern, "The target up to its `?`."),
            Field::optional("version", Shape::Pattern, "The HTTP version, such as `HTTP/1.1`."),
            HEADER_LINES,
            Field::optional(
                "valid",
                Shape::Pattern,
                "Whether it is a valid WebSocket handshake (RFC 6455 section 4.2.1).",
            ),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "admitted",
        doc: "Our editor answered a handshake. It lets in who shows the token of its lockfile, percent-encoded as a URL \
              component, and answers 401 to others.",
        on_connection: true,
        selectors: &[],
        fields: &[Field::optional(
            "status",
            Shape::Pattern,
            "The status of the answer: 101 where the client was let in.",
        )],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "request",
        doc: "The client sent a request.",
        on_connection: true,
        selectors: &[Field::optional("method", Shape::String, "The method.")],
        fields: &[
            Field::optional("id", Shape::Pattern, "Its id."),
            Field::optional("id_json", Shape::Pattern, "Its id as JSON, to be put into a text that is sent."),
            Field::optional("params", Shape::Pattern, "Its parameters."),
            Field::optional("json", Shape::Pattern, "The whole message."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "message",
        doc: "The client sent a message, whatever it is.",
        on_connection: true,
        selectors: &[],
        fields: MESSAGE_FIELDS,
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "frame",
        doc: "The client sent a frame.",
        on_connection: true,
        selectors: &[],
        fields: FRAME_FIELDS,
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "ping",
        doc: "The client sent a ping.",
        on_connection: true,
        selectors: &[],
        fields: PING_FIELDS,
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "pong",
        doc: "The client sent a pong.",
        on_connection: true,
        selectors: &[],
        fields: PING_FIELDS,
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "close",
        doc: "The client sent a close frame.",
        on_connection: true,
        selectors: &[],
        fields: CLOSE_FIELDS,
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "closed",
        doc: "The client ended the TCP connection.",
        on_connection: true,
        selectors: &[],
        fields: &[ENDED_HOW],
        pick: Pick::First,
        default_proves: None,
    },
];

const CALLS: &[(&str, &str)] = &[
    ("readFile", "`{path}`: reads a file through the editor."),
    ("editFile", "`{path, fullContent}` in `cli`, `{path, start, end, newText}` in `guide`: changes a file."),
    ("getDiagnostics", "`{path}` in `cli`, nothing in `guide`: asks for diagnostics."),
    ("openURI", "`{uri}`: has the editor open a URI."),
    ("ping", "`{message}`, in `cli`: asks whether the editor is there."),
    ("authenticate", "`{authToken}`, in `cli`: shows the secret."),
];

const CAPABILITIES: &[(&str, &str)] = &[
    ("read_file", "has the call `readFile`"),
    ("edit_file", "has the call `editFile`"),
    ("diagnostics", "has the call `getDiagnostics`"),
    ("open_uri", "has the call `openURI`"),
    ("ping", "has the call `ping`"),
    ("authenticate", "has the call `authenticate`"),
    ("notifications", "tells its user what the editor notifies it of"),
    ("metadata", "tells its user the version of the editor's plugin"),
    ("reconnect", "connects again after it has lost the editor"),
];
