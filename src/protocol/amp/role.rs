//! The role `amp-server`: the words with which scenarios play the Amp client at an editor.

use crate::protocol::{Field, ObservationKind, Pick, Reach, Role, Shape, Verb};
use crate::trace::End;

use super::lockfile;

/// An editor that serves an agent.
pub const AMP_SERVER: Role = Role {
    name: "amp-server",
    subject: End::Server,
    about: "an editor that serves an agent",
    reach: Reach::Lockfile {
        folder: lockfile::FOLDER,
        data_home: &["AMP_DATA_HOME"],
        read: lockfile::read,
        proves: "discovery/lockfile-place",
        accepting: &["discovery/port-accepting", "connection/loopback"],
    },
    verbs: VERBS,
    observations: OBSERVATIONS,
    stimuli: STIMULI,
    calls: &[],
    capabilities: CAPABILITIES,
};

const ON: Field = Field::optional("on", Shape::Bound("connection"), "On which connection; `main` where not said.");
const AS: Field = Field::optional("as", Shape::Binds("connection"), "The connection's name; `main` where not said.");
const DELIBERATE: Field =
    Field::optional("deliberate", Shape::String, "Why this is wrong on purpose. Without it, it is judged as sound.");
const PATH: Field = Field::required("path", Shape::String, "The absolute path of the file.");

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
                Field::optional("text", Shape::String, "A text message."),
                Field::optional("json", Shape::Any, "A text message with this JSON."),
                Field::optional("binary", Shape::Hex, "A binary message, as hexadecimal digits."),
                Field::optional("frames", Shape::List(&FRAME), "Frames, sent as they are described."),
                Field::optional(
                    "bytes",
                    Shape::OneOf(&[
                        Field::optional("text", Shape::String, "As text."),
                        Field::optional("hex", Shape::Hex, "As hexadecimal digits."),
                    ]),
                    "Bytes, sent as they are.",
                ),
                Field::optional(
                    "split",
                    Shape::Integer { min: 1, max: 1 << 20 },
                    "Writes pieces of so many bytes, each in a TCP segment of its own.",
                ),
                Field::optional("repeat", Shape::Integer { min: 1, max: 100_000 }, "Sends the same so many times."),
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
    Verb {
        name: "ping",
        doc: "Sends a ping frame.",
        shape: Shape::Object(&[ON, Field::optional("payload", Shape::String, "Its payload; empty where not said.")]),
    },
    Verb {
        name: "close",
        doc: "Sends a close frame.",
        shape: Shape::Object(&[
            ON,
            Field::optional("code", Shape::Integer { min: 0, max: 65_535 }, "Its code; 1000 where not said."),
            Field::optional("reason", Shape::String, "Its reason; empty where not said."),
            DELIBERATE,
        ]),
    },
    Verb {
        name: "drop",
        doc: "Ends the TCP connection without a close frame.",
        shape: Shape::Object(&[
            ON,
            Field::optional("how", Shape::Choice(&["eof", "reset"]), "With FIN (where not said) or with RST."),
        ]),
    },
];

pub(super) const FRAME: Shape = Shape::Object(&[
    Field::required(
        "opcode",
        Shape::Either(&[
            Shape::Choice(&["text", "binary", "continuation", "close", "ping", "pong"]),
            Shape::Integer { min: 0, max: 15 },
        ]),
        "The opcode, by name or number.",
    ),
    Field::optional("fin", Shape::Bool, "The FIN bit; set where not said."),
    Field::optional("rsv", Shape::Integer { min: 0, max: 7 }, "The reserved bits, RSV1 being 4; 0 where not said."),
    Field::optional("masked", Shape::Bool, "Whether to mask; masked where not said."),
    Field::optional("text", Shape::String, "The payload as text."),
    Field::optional("hex", Shape::Hex, "The payload as hexadecimal digits."),
    Field::optional("code", Shape::Integer { min: 0, max: 65_535 }, "The code of a close frame."),
    Field::optional("reason", Shape::String, "The reason of a close frame."),
    Field::optional(
        "length",
        Shape::Object(&[
            Field::optional(
                "bits",
                Shape::Integer { min: 7, max: 64 },
                "How many bits carry the length: 7, 16 or 64; the fewest that do where not said.",
            ),
            Field::optional(
                "says",
                Shape::Integer { min: 0, max: i64::MAX },
                "The length to announce; the true one where not said.",
            ),
        ]),
        "How the length is written.",
    ),
    Field::optional("cut", Shape::Integer { min: 0, max: 1 << 30 }, "Sends only the first so many bytes of the frame."),
]);

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
            Field::optional(
                "headers",
                Shape::Pattern,
                "The header lines: names in lower case, values; of repeated ones joined by a comma.",
            ),
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
        fields: &[
            Field::optional("json", Shape::Pattern, "Its JSON; absent where it is none."),
            Field::optional("text", Shape::Pattern, "Its text, where it is no JSON."),
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "frame",
        doc: "The server sent a frame.",
        on_connection: true,
        selectors: &[],
        fields: &[
            Field::optional("opcode", Shape::Pattern, "Its opcode: the name, or the number of one without a name."),
            Field::optional("fin", Shape::Pattern, "The FIN bit."),
            Field::optional("rsv", Shape::Pattern, "The reserved bits as a number."),
            Field::optional("masked", Shape::Pattern, "Whether it was masked."),
            Field::optional("length", Shape::Pattern, "The length that it announced."),
            Field::optional("text", Shape::Pattern, "The payload, where it is valid UTF-8."),
            Field::optional("hex", Shape::Pattern, "The payload as hexadecimal digits."),
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "ping",
        doc: "The server sent a ping.",
        on_connection: true,
        selectors: &[],
        fields: &[Field::optional("payload", Shape::Pattern, "Its payload, where it is valid UTF-8.")],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "pong",
        doc: "The server sent a pong.",
        on_connection: true,
        selectors: &[],
        fields: &[Field::optional("payload", Shape::Pattern, "Its payload, where it is valid UTF-8.")],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "close",
        doc: "The server sent a close frame.",
        on_connection: true,
        selectors: &[],
        fields: &[
            Field::optional("code", Shape::Pattern, "Its code; absent where it carried none."),
            Field::optional("reason", Shape::Pattern, "Its reason; absent where it carried no code."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "closed",
        doc: "The server ended the TCP connection.",
        on_connection: true,
        selectors: &[],
        fields: &[Field::optional("how", Shape::Pattern, "`eof` where it closed, `reset` where it cut.")],
        pick: Pick::First,
        default_proves: None,
    },
];

const POSITION: Shape = Shape::Integer { min: 0, max: i32::MAX as i64 };
const MESSAGE: Field = Field::required("message", Shape::String, "The text.");

pub(super) const STIMULI: &[Verb] = &[
    Verb { name: "open", doc: "Makes a file visible in the editor.", shape: Shape::Object(&[PATH]) },
    Verb { name: "close", doc: "Closes a file in the editor.", shape: Shape::Object(&[PATH]) },
    Verb {
        name: "select",
        doc: "Selects text in a file; a range that ends where it begins is a caret.",
        shape: Shape::Object(&[
            PATH,
            Field::required("start_line", POSITION, "The line where it begins, from 0."),
            Field::required("start_col", POSITION, "The column where it begins, from 0."),
            Field::required("end_line", POSITION, "The line where it ends, from 0."),
            Field::required("end_col", POSITION, "The column where it ends, from 0, exclusive."),
        ]),
    },
    Verb {
        name: "edit",
        doc: "Replaces the text of an open file, and does not save it.",
        shape: Shape::Object(&[PATH, Field::required("text", Shape::String, "The new text.")]),
    },
    Verb {
        name: "diagnostics",
        doc: "Sets the diagnostics of a file.",
        shape: Shape::Object(&[PATH, Field::required("items", Shape::List(&DIAGNOSTIC), "The diagnostics.")]),
    },
    Verb {
        name: "message",
        doc: "Sends a user's message to the agent from the editor.",
        shape: Shape::Object(&[MESSAGE]),
    },
    Verb { name: "prompt", doc: "Adds text to the agent's prompt from the editor.", shape: Shape::Object(&[MESSAGE]) },
    Verb { name: "quit", doc: "Has the editor exit in an orderly way.", shape: Shape::Object(&[]) },
];

const DIAGNOSTIC: Shape = Shape::Object(&[
    Field::required("start_line", POSITION, "The line where it begins, from 0."),
    Field::required("start_col", POSITION, "The column where it begins, from 0."),
    Field::required("end_line", POSITION, "The line where it ends, from 0."),
    Field::required("end_col", POSITION, "The column where it ends, from 0, exclusive."),
    Field::required("severity", Shape::Choice(&["error", "warning", "info", "hint"]), "How grave it is."),
    Field::required("message", Shape::String, "Its text."),
]);

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
