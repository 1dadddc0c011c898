//! Parameters that steps of protocols over HTTP have in common.

use crate::protocol::{Field, Shape};

/// Header lines beside those that belong to a message.
pub const HEADERS: Field = Field::optional(
    "headers",
    Shape::Map(&Shape::Any),
    "Header lines to add or to replace, name and value (a list for several lines); null leaves one out.",
);

/// How fast what is cut into segments is sent.
pub const PACE: Field =
    Field::optional("pace", Shape::Duration, "The time between two pieces of `split`; none where not said.");

/// A message that is not sent to its end.
pub const CUT: Field = Field::optional(
    "cut",
    Shape::Integer { min: 0, max: 1 << 30 },
    "Sends only the first so many bytes, head and body together, and nothing after them.",
);

/// What the head says of the length of the body.
pub const LENGTH: Field = Field::optional(
    "length",
    Shape::Either(&[Shape::Choice(&["none"]), Shape::Integer { min: 0, max: i64::MAX }]),
    "The length that the head says, or `none` for no such line; the true one where not said.",
);

/// A body in chunks.
pub const CHUNKED: Field = Field::optional(
    "chunked",
    Shape::Integer { min: 1, max: 1 << 30 },
    "Sends the body in chunks of so many bytes, instead of with a length.",
);

/// A text repeated, for what is large.
pub const FILL: Shape = Shape::Object(&[
    Field::optional("before", Shape::String, "What comes before it."),
    Field::required("text", Shape::String, "The text."),
    Field::required("times", Shape::Integer { min: 1, max: 1 << 30 }, "How many times; 64 MiB in all at most."),
    Field::optional("after", Shape::String, "What comes after it."),
]);

/// A request's label.
pub const AS: Field = Field::optional(
    "as",
    Shape::Binds("request"),
    "A label by which expectations name the request, and the name of its exchange in the trace.",
);

/// Over which TCP connection a request goes.
pub const OVER: Field = Field::optional(
    "over",
    Shape::Bound("request"),
    "An earlier request, over whose TCP connection it goes; over one of its own where not said.",
);

/// Whether our client reads.
pub const READ: Field = Field::optional("read", Shape::Bool, "Whether the answer is read; it is where not said.");

/// The request that an answer belongs to.
pub const RESPONSE_TO: Field = Field::optional("to", Shape::Bound("request"), "The label of the request.");

/// The request that our server answers.
pub const ANSWER_TO: Field = Field::optional(
    "to",
    Shape::String,
    "The exchange, as `$capture` took it from a `request`; the oldest one that waits for its answer where not said.",
);

/// What becomes of a request that is sent again.
pub const REPEATS: Field = Field::optional(
    "repeats",
    Shape::Bool,
    "Whether repeats of the request, which a client may send by itself where it failed (RFC 9110 section 9.2.2), are \
     treated alike, and are no `request` of their own; where not said, each is a request like any other.",
);

/// The content coding of an answer.
pub const ENCODING: Field = Field::optional(
    "encoding",
    Shape::Choice(&["gzip", "deflate", "offered"]),
    "The content coding of the body: `offered` for one that the request allows, if we know any; none where not said.",
);

/// What becomes of a TCP connection after an answer.
pub const THEN: Field = Field::optional(
    "then",
    Shape::Choice(&["keep", "announce", "close", "reset"]),
    "What becomes of the TCP connection: it stays (where not said), it is closed and the head says so, it is closed \
     without a word, or it is cut.",
);

/// Trailers of an answer.
pub const TRAILERS: Field =
    Field::optional("trailers", Shape::Map(&Shape::String), "Trailers behind the last chunk, name and value.");

/// Answers before the answer.
pub const INTERIM: Field = Field::optional(
    "interim",
    Shape::List(&Shape::Integer { min: 100, max: 199 }),
    "Interim answers to send before it, by their status.",
);

/// A body as JSON.
pub const JSON: Field = Field::optional("json", Shape::Any, "The body as JSON.");

/// A body as text.
pub const TEXT: Field = Field::optional("text", Shape::String, "The body as text.");

/// A body as bytes.
pub const HEX: Field = Field::optional("hex", Shape::Hex, "The body as hexadecimal digits.");

/// A large body.
pub const FILLED: Field = Field::optional("fill", FILL, "A large body, made of a text repeated.");

/// A body without an end.
pub const ENDLESS: Field =
    Field::optional("endless", Shape::Bool, "Sends the body over and over again, as long as anybody reads it.");

/// An answer that is written out.
pub const RAW_ANSWER: Field =
    Field::optional("raw", Shape::String, "The whole answer as it is to be sent, instead of status, headers and body.");

/// Whether our client leaves the end of the connection to the server.
pub const HOLD: Field = Field::optional(
    "hold",
    Shape::Bool,
    "Keeps our side of the connection open after the answer, so that `closed` tells when the server ends its; \
     not where not said.",
);
