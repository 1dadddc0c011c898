//! The role `amp-client`: the verbs and observations of scenarios that play the editor opposite an agent.

use crate::protocol::words::{DELIBERATE, ENDED_HOW, HEADER_LINES, HOW, SPLIT};
use crate::protocol::{Field, ObservationKind, PATIENCE, Pick, Reach, Role, Shape, Verb};
use crate::trace::End;

use super::words::{
    BINARY, BYTES, CLOSE_CODE, CLOSE_FIELDS, CLOSE_REASON, FRAME, FRAME_FIELDS, JSON, MESSAGE_FIELDS, ON, PING,
    PING_FIELDS, REPEAT, STIMULI, TEXT,
};

/// An agent that works with an editor.
pub const AMP_CLIENT: Role = Role {
    name: "amp-client",
    subject: End::Client,
    about: "an agent that works with an editor",
    reach: Reach::Seeks { data_home: &["AMP_DATA_HOME"] },
    verbs: VERBS,
    observations: OBSERVATIONS,
    stimuli: &[],
    calls: CALLS,
    contact: Some(("readFile", &[("path", "{root}/wirecert.txt")])),
    described: &[],
    capabilities: CAPABILITIES,
    patience: PATIENCE,
    attribution: &super::client_attribution::CLIENT,
    traffic: include_str!("traffic/amp-client.yaml"),
};

const OF: Field =
    Field::optional("of", Shape::Bound("connection"), "Which editor, by its first connection; `main` where not said.");

const LOCKFILE: Shape = Shape::Either(&[
    Shape::Choice(&["none"]),
    Shape::Object(&[
        Field::optional("data_home", Shape::String, "The data home it lies below; `${data_home}` where not said."),
        Field::optional("name", Shape::String, "Its file name; `<port>.json` where not said."),
        Field::optional("keys", Shape::Map(&Shape::Any), "Keys to add or to replace; null leaves one out."),
        Field::optional(
            "text",
            Shape::String,
            "The whole file as text, instead of JSON made from the editor; `$${port}` and the like in it are the JSON of \
             the editor's keys.",
        ),
    ]),
]);

const UPGRADE: Shape = Shape::Object(&[
    Field::optional(
        "status",
        Shape::String,
        "The status line's code and reason; `101 Switching Protocols` where not said.",
    ),
    Field::optional(
        "headers",
        Shape::Map(&Shape::Any),
        "Header lines to add or to replace, name and value; null leaves one out. `$${accept}` in a value is the right \
         key.",
    ),
    Field::optional("body", Shape::String, "A body, as of a refusal."),
    Field::optional(
        "raw",
        Shape::String,
        "The whole answer as it is to be sent, instead of all the above; `$${accept}` in it is the right key.",
    ),
    Field::optional("never", Shape::Bool, "Does not answer at all."),
    SPLIT,
    Field::optional("frames", Shape::List(&FRAME), "Frames to send in the same segment, right behind it."),
]);

const VERBS: &[Verb] = &[
    Verb {
        name: "serve",
        doc: "Starts an editor: it listens, writes its lockfile, and answers requests from the files of its folder. \
              Sets `port`, `token`, `token_encoded` (as in a URL), `url` and `lockfile` (its path) to its own.",
        shape: Shape::Object(&[
            Field::optional(
                "as",
                Shape::Binds("connection"),
                "The name of its first connection, and of the editor; `main` where not said.",
            ),
            Field::optional(
                "then",
                Shape::List(&Shape::Binds("connection")),
                "The names of its further connections, in the order in which they come; any more are called after the \
                 editor and their number, such as `main-2`. What sends nothing is none.",
            ),
            Field::optional(
                "host",
                Shape::Choice(&["127.0.0.1", "::1"]),
                "Where it listens; 127.0.0.1 where not said.",
            ),
            Field::optional(
                "port",
                Shape::Either(&[
                    Shape::Choice(&["guide", "any"]),
                    Shape::Integer { min: 1, max: 65_535 },
                    Shape::String,
                ]),
                "Its port: `guide` for one of 8000 to 8100 (where not said, in the edition `guide`, whose clients may look \
                 for no others), `any` for any free one (where not said, in `cli`).",
            ),
            Field::optional("folder", Shape::String, "The folder that it has open; `${root}` where not said."),
            Field::optional(
                "token",
                Shape::String,
                "Its secret; one that needs percent-encoding is made up where not said.",
            ),
            Field::optional("lockfile", LOCKFILE, "What its lockfile is like, or `none`."),
            Field::optional(
                "answers",
                Shape::Choice(&["all", "none"]),
                "`all` (where not said): it answers every request. `none`: only the steps `answer` and `send` do.",
            ),
            Field::optional(
                "withholds",
                Shape::List(&Shape::String),
                "Methods that only the steps `answer` and `send` answer, while it answers all others: clients may ask \
                 `ping` before anything else.",
            ),
            Field::optional(
                "upgrade",
                UPGRADE,
                "How it answers handshakes, whatever token they show; rightly where not said. An answer that is wrong \
                 needs `deliberate`.",
            ),
            Field::optional(
                "pings",
                Shape::Choice(&["answer", "ignore"]),
                "Whether it answers pings; it does where not said.",
            ),
            Field::optional(
                "close",
                Shape::Choice(&["answer", "ignore"]),
                "Whether it answers close frames; it does where not said.",
            ),
            Field::optional("read", Shape::Bool, "Whether it reads what clients send; it does where not said."),
            DELIBERATE,
        ]),
    },
    Verb {
        name: "restart",
        doc: "Ends an editor and starts it again: on another port, with another token and a new lockfile. Its further \
              connections have the names that `then` of `serve` gave.",
        shape: Shape::Object(&[
            OF,
            Field::optional(
                "how",
                Shape::Choice(&["quit", "kill"]),
                "`quit` (where not said): connections are closed and the old lockfile goes. `kill`: they are cut, and it \
                 stays with the pid of a process that has ended.",
            ),
        ]),
    },
    Verb {
        name: "stop",
        doc: "Ends an editor.",
        shape: Shape::Object(&[OF, Field::optional("how", Shape::Choice(&["quit", "kill"]), "As for `restart`.")]),
    },
    Verb {
        name: "lockfile",
        doc: "Writes a file into the folder of lockfiles that belongs to no editor of ours.",
        shape: Shape::Choose(
            &[
                Field::required("name", Shape::String, "Its file name."),
                Field::optional(
                    "data_home",
                    Shape::String,
                    "The data home it lies below; `${data_home}` where not said.",
                ),
                Field::optional("json", Shape::Any, "Its content as JSON; `${dead_pid}` is that of no process."),
                Field::optional("text", Shape::String, "Its content as text."),
                Field::optional("hex", Shape::Hex, "Its content as hexadecimal digits."),
                Field::optional("folder", Shape::Bool, "Makes a folder of that name instead."),
                DELIBERATE,
            ],
            &["json", "text", "hex", "folder"],
        ),
    },
    Verb {
        name: "editor",
        doc: "Has something done in an editor, as its user would; clients are notified of what follows from it.",
        shape: Shape::Choose(
            &[
                OF,
                Field::optional("open", STIMULI[0].shape, STIMULI[0].doc),
                Field::optional("close", STIMULI[1].shape, STIMULI[1].doc),
                Field::optional("select", STIMULI[2].shape, STIMULI[2].doc),
                Field::optional("edit", STIMULI[3].shape, STIMULI[3].doc),
                Field::optional("diagnostics", STIMULI[4].shape, STIMULI[4].doc),
                Field::optional("message", STIMULI[5].shape, STIMULI[5].doc),
                Field::optional("prompt", STIMULI[6].shape, STIMULI[6].doc),
            ],
            &["open", "close", "select", "edit", "diagnostics", "message", "prompt"],
        ),
    },
    Verb {
        name: "notify",
        doc: "Sends a notification in the edition's envelope.",
        shape: Shape::Object(&[
            ON,
            Field::required("name", Shape::String, "Its name in the edition."),
            Field::optional("data", Shape::Any, "Its data; an empty object where not said."),
            DELIBERATE,
        ]),
    },
    Verb {
        name: "answer",
        doc: "Sends a response in the edition's envelope: with a `result` or an `error`.",
        shape: Shape::Choose(
            &[
                ON,
                Field::required("id", Shape::Any, "The id of the request, as `$capture` took it from a `request`."),
                Field::optional("method", Shape::String, "The method; in `cli` the key of the result. Needed there."),
                Field::optional("result", Shape::Any, "What the method gave."),
                Field::optional("error", Shape::Any, "What it failed with."),
                Field::optional("extra", Shape::Map(&Shape::Any), "Further keys of the response."),
                DELIBERATE,
            ],
            &["result", "error"],
        ),
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
                Field::optional(
                    "frames",
                    Shape::List(&FRAME),
                    "Frames, sent as they are described, in one write; not masked where not said.",
                ),
                BYTES,
                SPLIT,
                REPEAT,
                DELIBERATE,
            ],
            &["text", "json", "binary", "frames", "bytes"],
        ),
    },
    PING,
    Verb {
        name: "close",
        doc: "Sends a close frame, and ends the connection once it is answered.",
        shape: Shape::Object(&[ON, CLOSE_CODE, CLOSE_REASON, DELIBERATE]),
    },
    Verb {
        name: "drop",
        doc: "Ends the TCP connection without a close frame.",
        shape: Shape::Object(&[ON, HOW, DELIBERATE]),
    },
];

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
