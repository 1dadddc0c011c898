//! The fields of observations that both roles have in common.

use crate::format::{Field, Shape};

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
