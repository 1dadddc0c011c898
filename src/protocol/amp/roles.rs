//! The roles `amp-server` and `amp-client`: the verbs and observations of scenarios that play the Amp client opposite an
//! editor, and the editor opposite an agent.

use crate::format::{Field, Shape, fields_of};
use crate::protocol::words::{ENDED_HOW, HEADER_LINES};
use crate::protocol::{ObservationKind, PATIENCE, Pick, Reach, Role};
use crate::trace::End;

use super::lockfile;
use super::verbs::{ClientVerb, EditorVerb, Stimulus};

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
    observations: SERVER_OBSERVATIONS,
    stimuli: fields_of::<Stimulus>,
    calls: &[],
    contact: None,
    described: || &[],
    capabilities: SERVER_CAPABILITIES,
    must_show: &[],
    patience: PATIENCE,
    attribution: &super::attribution::SERVER,
    traffic: include_str!("traffic/amp-server.yaml"),
    model: Some(super::model::begin),
};

const SERVER_OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "handshake",
        doc: "The server answered the handshake.",
        on_connection: true,
        selectors: &[],
        fields: &[
            Field::optional("status", Shape::Pattern, "The HTTP status; absent where the response is no HTTP."),
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

const SERVER_CAPABILITIES: &[(&str, &str)] = &[
    ("selections", "notifies clients of what is selected"),
    ("visible_files", "notifies clients of which files are visible"),
    ("diagnostics", "has diagnostics to report"),
    ("unsaved", "keeps changes that are not saved yet"),
    ("open_uri", "can be asked to open a URI"),
    ("messages", "sends users' messages to the agent"),
    ("prompts", "adds to the agent's prompt"),
    ("metadata", "sends the version of its plugin"),
    ("authenticate", "has the method `authenticate` beside the token of the handshake"),
];

/// An agent that works with an editor.
pub const AMP_CLIENT: Role = Role {
    name: "amp-client",
    subject: End::Client,
    about: "an agent that works with an editor",
    reach: Reach::Seeks { data_home: &["AMP_DATA_HOME"] },
    verbs: fields_of::<EditorVerb>,
    observations: CLIENT_OBSERVATIONS,
    stimuli: || &[],
    calls: CLIENT_CALLS,
    contact: Some(("readFile", &[("path", "{root}/wirecert.txt")])),
    described: || &[],
    capabilities: CLIENT_CAPABILITIES,
    must_show: &[],
    patience: PATIENCE,
    attribution: &super::client_attribution::CLIENT,
    traffic: include_str!("traffic/amp-client.yaml"),
    model: Some(super::agent_model::begin),
};

const CLIENT_OBSERVATIONS: &[ObservationKind] = &[
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
            "The status of the response: 101 where the client was let in.",
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

const CLIENT_CALLS: &[(&str, &str)] = &[
    ("readFile", "`{path}`: reads a file through the editor."),
    ("editFile", "`{path, fullContent}` in `cli`, `{path, start, end, newText}` in `guide`: changes a file."),
    ("getDiagnostics", "`{path}` in `cli`, nothing in `guide`: asks for diagnostics."),
    ("openURI", "`{uri}`: has the editor open a URI."),
    ("ping", "`{message}`, in `cli`: asks whether the editor is there."),
    ("authenticate", "`{authToken}`, in `cli`: shows the secret."),
];

const CLIENT_CAPABILITIES: &[(&str, &str)] = &[
    ("read_file", "has the call `readFile`"),
    ("edit_file", "has the call `editFile`"),
    ("diagnostics", "has the call `getDiagnostics`"),
    ("open_uri", "has the call `openURI`"),
    ("ping", "has the call `ping`"),
    ("authenticate", "has the call `authenticate`"),
    ("notifications", "reports to its user what the editor notifies it of"),
    ("metadata", "reports to its user the version of the editor's plugin"),
    ("reconnect", "connects again after it has lost the editor"),
];

/// The fields of an observed message.
pub const MESSAGE_FIELDS: &[Field] = &[
    Field::optional("json", Shape::Pattern, "Its JSON; absent where it is none."),
    Field::optional("text", Shape::Pattern, "Its text, where it is no JSON."),
];

/// The fields of an observed frame.
pub const FRAME_FIELDS: &[Field] = &[
    Field::optional("opcode", Shape::Pattern, "Its opcode: the name, or the number of one without a name."),
    Field::optional("fin", Shape::Pattern, "The FIN bit."),
    Field::optional("rsv", Shape::Pattern, "The reserved bits as a number."),
    Field::optional("masked", Shape::Pattern, "Whether it was masked."),
    Field::optional("length", Shape::Pattern, "The length that it announced."),
    Field::optional("text", Shape::Pattern, "The payload, where it is valid UTF-8."),
    Field::optional("hex", Shape::Pattern, "The payload as hexadecimal digits."),
];

/// The fields of an observed ping.
pub const PING_FIELDS: &[Field] =
    &[Field::optional("payload", Shape::Pattern, "Its payload, where it is valid UTF-8.")];

/// The fields of an observed close frame.
pub const CLOSE_FIELDS: &[Field] = &[
    Field::optional("code", Shape::Pattern, "Its code; absent where it carried none."),
    Field::optional("reason", Shape::Pattern, "Its reason; absent where it carried no code."),
];
