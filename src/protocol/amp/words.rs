//! The verbs, fields and stimuli that both roles have in common.

use crate::protocol::{Field, Shape, Verb};

/// The connection that a step is about.
pub const ON: Field = Field::optional("on", Shape::Bound("connection"), "On which connection; `main` where not said.");

/// A message that is sent as text.
pub const TEXT: Field = Field::optional("text", Shape::String, "A text message.");

/// A message that is sent as JSON.
pub const JSON: Field = Field::optional("json", Shape::Any, "A text message with this JSON.");

/// A message that is sent as binary data.
pub const BINARY: Field = Field::optional("binary", Shape::Hex, "A binary message, as hexadecimal digits.");

/// Bytes that are sent without a frame.
pub const BYTES: Field = Field::optional(
    "bytes",
    Shape::OneOf(&[
        Field::optional("text", Shape::String, "As text."),
        Field::optional("hex", Shape::Hex, "As hexadecimal digits."),
    ]),
    "Bytes, sent as they are.",
);

/// How often it is sent.
pub const REPEAT: Field =
    Field::optional("repeat", Shape::Integer { min: 1, max: 100_000 }, "Sends the same so many times.");

/// The step that pings.
pub const PING: Verb = Verb {
    name: "ping",
    doc: "Sends a ping frame.",
    shape: Shape::Object(&[ON, Field::optional("payload", Shape::String, "Its payload; empty where not said.")]),
};

/// The code of a close frame.
pub const CLOSE_CODE: Field =
    Field::optional("code", Shape::Integer { min: 0, max: 65_535 }, "Its code; 1000 where not said.");

/// The reason of a close frame.
pub const CLOSE_REASON: Field = Field::optional("reason", Shape::String, "Its reason; empty where not said.");

/// A frame, as it is to be sent.
pub const FRAME: Shape = Shape::Object(&[
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

const PATH: Field = Field::required("path", Shape::String, "The absolute path of the file.");

const POSITION: Shape = Shape::Integer { min: 0, max: i32::MAX as i64 };
const MESSAGE: Field = Field::required("message", Shape::String, "The text.");

/// The stimuli: events in an editor.
pub const STIMULI: &[Verb] = &[
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
