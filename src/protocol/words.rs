//! The words of the scenario language that every role has, whatever its protocol: they concern the
//! subject's process and files, not the wire. And parameters that steps of several protocols have in common.

use super::{Field, ObservationKind, Pick, Shape, Verb};

/// Marks what our side does wrong on purpose.
pub const DELIBERATE: Field =
    Field::optional("deliberate", Shape::String, "Why this is wrong on purpose. Without it, it is judged as sound.");

/// How what is sent is cut into TCP segments.
pub const SPLIT: Field = Field::optional(
    "split",
    Shape::Integer { min: 1, max: 1 << 20 },
    "Writes pieces of so many bytes, each in a TCP segment of its own.",
);

/// How our side ends a TCP connection.
pub const HOW: Field =
    Field::optional("how", Shape::Choice(&["eof", "reset"]), "With FIN (where not said) or with RST.");

/// How the subject ended a TCP connection.
pub const ENDED_HOW: Field = Field::optional("how", Shape::Pattern, "`eof` where it closed, `reset` where it cut.");

/// The header lines of a head that the subject sent.
pub const HEADER_LINES: Field = Field::optional(
    "headers",
    Shape::Pattern,
    "The header lines: names in lower case, values; of repeated ones joined by a comma.",
);

/// Steps that concern the subject's process, files and stimuli.
pub const VERBS: &[Verb] = &[
    Verb {
        name: "write_file",
        doc: "Writes a file into this scenario's corner of the workspace, behind the subject's back.",
        shape: Shape::Choose(
            &[
                Field::required("path", Shape::Path, "Path below the scenario's corner of the workspace."),
                Field::optional("content", Shape::String, "Its text."),
                Field::optional("hex", Shape::Hex, "Its bytes, as hexadecimal digits, instead of `content`."),
            ],
            &["content", "hex"],
        ),
    },
    Verb {
        name: "remove_file",
        doc: "Removes a file from this scenario's corner of the workspace.",
        shape: Shape::Object(&[Field::required(
            "path",
            Shape::Path,
            "Path below the scenario's corner of the workspace.",
        )]),
    },
    Verb {
        name: "pause",
        doc: "Lets time pass. For behaviour in time (a slow sender), never to wait for something.",
        shape: Shape::Duration,
    },
    Verb {
        name: "launch",
        doc: "Starts the subject again, with other environment variables. For scenarios with `isolation: own`.",
        shape: Shape::Object(&[Field::optional(
            "env",
            Shape::Map(&Shape::String),
            "Environment variables to set; an empty string removes one.",
        )]),
    },
    Verb {
        name: "signal",
        doc: "Sends a signal to the subject. For scenarios with `isolation: own`.",
        shape: Shape::Object(&[Field::required(
            "name",
            Shape::Choice(&["TERM", "INT", "HUP", "KILL", "STOP", "CONT"]),
            "Which signal.",
        )]),
    },
];

/// What expectations can say about the subject's process and files.
pub const OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "exit",
        doc: "The subject's process ended.",
        on_connection: false,
        selectors: &[],
        fields: &[
            Field::optional("code", Shape::Pattern, "Its exit code; absent where a signal ended it."),
            Field::optional("signal", Shape::Pattern, "The number of the signal that ended it."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "file",
        doc: "A file or folder below the scenario's corner of the workspace is as described, now or before the time is up.",
        on_connection: false,
        selectors: &[Field::required("path", Shape::Path, "Path below the scenario's corner of the workspace.")],
        fields: &[
            Field::optional(
                "content",
                Shape::Pattern,
                "Its text; absent where it is no UTF-8 or too large to look at.",
            ),
            Field::optional("size", Shape::Pattern, "Its size in bytes, where it is a file."),
            Field::optional("exists", Shape::Pattern, "Whether it is there."),
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "lockfile",
        doc: "The subject's lockfile is as described, now or before the time is up.",
        on_connection: false,
        selectors: &[],
        fields: &[
            Field::optional("content", Shape::Pattern, "Its JSON; absent where it does not parse."),
            Field::optional("name", Shape::Pattern, "Its file name."),
            Field::optional(
                "running",
                Shape::Pattern,
                "Whether the process runs whose id its `pid` is; absent where there is no such number.",
            ),
            Field::optional(
                "folder",
                Shape::Pattern,
                "Where the nearest folder that it names lies: `same` for the workspace itself, `around` it, `inside` it, or \
                 `elsewhere`; absent where it names none.",
            ),
            Field::optional("exists", Shape::Pattern, "Whether it is there."),
        ],
        pick: Pick::Any,
        default_proves: None,
    },
];

/// Steps that concern a client that is driven.
pub const DRIVEN_VERBS: &[Verb] = &[
    Verb {
        name: "call",
        doc: "Has the client do something, and goes on at once. What comes of it is `returned`. A client that does not \
              offer it has the scenario skipped.",
        shape: Shape::Object(&[
            Field::optional("as", Shape::Binds("call"), "A label by which `returned` names the call."),
            Field::required("method", Shape::String, "What to do, by the name that the driver contract gives it."),
            Field::optional("params", Shape::Any, "With what; an empty object where not said."),
            Field::optional("settings", Shape::Any, "Settings that go with it, where the protocol has such."),
        ]),
    },
    Verb {
        name: "dismiss",
        doc: "Tells the client to end.",
        shape: Shape::Object(&[Field::optional(
            "how",
            Shape::Choice(&["close", "stdin"]),
            "By the line that says so (where not said), or by the end of its stdin.",
        )]),
    },
];

/// What expectations can say about a client that is driven.
pub const DRIVEN_OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "returned",
        doc: "A call came to its end.",
        on_connection: false,
        selectors: &[Field::optional("to", Shape::Bound("call"), "The label of the call.")],
        fields: &[
            Field::optional(
                "result",
                Shape::Pattern,
                "What the client's own API gave: perhaps the whole result, perhaps its essence. `$somewhere` looks for it.",
            ),
            Field::optional(
                "error",
                Shape::Pattern,
                "What it failed with: `code`, `message`, `status`, where it has them.",
            ),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "told",
        doc: "Something reached the client's user by itself. Of a stream of more than a thousand of one name, the first \
              thousand and the newest can be met.",
        on_connection: false,
        selectors: &[Field::optional("event", Shape::String, "Its name.")],
        fields: &[
            Field::optional("data", Shape::Pattern, "What came with it."),
            Field::optional("subscription", Shape::Pattern, "The subscription it belongs to."),
            Field::optional("number", Shape::Pattern, "Which one of its name it is in this play, from 1."),
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "state",
        doc: "The client said how it stands with its server. Clients need not.",
        on_connection: false,
        selectors: &[],
        fields: &[Field::optional("is", Shape::Pattern, "`connected`, `disconnected`, `reconnecting` or `no_server`.")],
        pick: Pick::Any,
        default_proves: None,
    },
];
