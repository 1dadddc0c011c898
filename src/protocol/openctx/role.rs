//! The role `openctx-provider`: the words with which scenarios play the client at a provider.

use crate::protocol::{Field, ObservationKind, Pick, Reach, Role, Shape, Verb};
use crate::trace::End;

/// A provider of context.
pub const OPENCTX_PROVIDER: Role = Role {
    name: "openctx-provider",
    subject: End::Server,
    about: "a provider of context",
    reach: Reach::Url { path: "/", proves: "http/post", module: Some(include_str!("module.mjs")) },
    verbs: VERBS,
    observations: OBSERVATIONS,
    stimuli: &[],
    calls: &[],
    capabilities: CAPABILITIES,
};

const AS: Field = Field::optional(
    "as",
    Shape::Binds("request"),
    "A label by which expectations name the request, and the name of its exchange in the trace.",
);
const OVER: Field = Field::optional(
    "over",
    Shape::Bound("request"),
    "An earlier request, over whose TCP connection it goes; over one of its own where not said.",
);
const READ: Field = Field::optional("read", Shape::Bool, "Whether the answer is read; it is where not said.");
const HEADERS: Field = Field::optional(
    "headers",
    Shape::Map(&Shape::Any),
    "Header lines to add or to replace, name and value (a list for several lines); null leaves one out.",
);
pub(super) const DELIBERATE: Field =
    Field::optional("deliberate", Shape::String, "Why this is wrong on purpose. Without it, it is judged as sound.");
pub(super) const SPLIT: Field = Field::optional(
    "split",
    Shape::Integer { min: 1, max: 1 << 20 },
    "Writes pieces of so many bytes, each in a TCP segment of its own.",
);
pub(super) const PACE: Field =
    Field::optional("pace", Shape::Duration, "The time between two pieces of `split`; none where not said.");
pub(super) const CUT: Field = Field::optional(
    "cut",
    Shape::Integer { min: 0, max: 1 << 30 },
    "Sends only the first so many bytes, head and body together, and nothing after them.",
);
pub(super) const LENGTH: Field = Field::optional(
    "length",
    Shape::Either(&[Shape::Choice(&["none"]), Shape::Integer { min: 0, max: i64::MAX }]),
    "The length that the head says, or `none` for no such line; the true one where not said.",
);
pub(super) const CHUNKED: Field = Field::optional(
    "chunked",
    Shape::Integer { min: 1, max: 1 << 30 },
    "Sends the body in chunks of so many bytes, instead of with a length.",
);

const VERBS: &[Verb] = &[
    Verb {
        name: "request",
        doc: "Sends a request as the reference client does, and goes on at once.",
        shape: Shape::Object(&[
            AS,
            OVER,
            Field::required("method", Shape::String, "The method."),
            Field::optional(
                "params",
                Shape::Any,
                "Its parameters; an empty object where not said, and null leaves them out.",
            ),
            Field::optional(
                "settings",
                Shape::Any,
                "Its settings; those that the subject was described with where not said, none being an empty object, and null leaves them out.",
            ),
            Field::optional(
                "about",
                Shape::Any,
                "An earlier answer of the provider's, of which the parameters are made: of `mentions` for `items` (a mention that it gave), of `meta` for `annotations` (a resource that a selector matches). Where nothing can be made of it, the scenario is skipped with that reason.",
            ),
            Field::optional(
                "number",
                Shape::Integer { min: 1, max: 1000 },
                "Which of them, from 1, where there are several; it goes round, and is 1 where not said.",
            ),
            Field::optional("extra", Shape::Map(&Shape::Any), "Further members of the request."),
            HEADERS,
            Field::optional("repeat", Shape::Integer { min: 1, max: 10_000 }, "Sends the same so many times, at once."),
            READ,
            DELIBERATE,
        ]),
    },
    Verb {
        name: "http",
        doc: "Sends an HTTP request of any kind, and goes on at once: at most one of `json`, `text`, `hex` and `fill` is its body.",
        shape: Shape::Object(&[
            AS,
            OVER,
            Field::optional("method", Shape::String, "The HTTP method; POST where not said."),
            Field::optional("target", Shape::String, "The request target; that of the provider's URL where not said."),
            Field::optional("version", Shape::String, "The HTTP version; HTTP/1.1 where not said."),
            HEADERS,
            Field::optional("json", Shape::Any, "The body as JSON."),
            Field::optional("text", Shape::String, "The body as text."),
            Field::optional("hex", Shape::Hex, "The body as hexadecimal digits."),
            Field::optional("fill", FILL, "A large body, made of a text repeated."),
            Field::optional("raw", Shape::String, "The whole request as it is to be sent, instead of all the above."),
            Field::optional(
                "encoding",
                Shape::Choice(&["gzip", "deflate"]),
                "The content coding with which the body is sent; none where not said.",
            ),
            CHUNKED,
            LENGTH,
            SPLIT,
            PACE,
            CUT,
            Field::optional(
                "hold",
                Shape::Bool,
                "Keeps our side of the connection open after the answer, so that `closed` tells when the provider ends its; \
                 not where not said.",
            ),
            Field::optional(
                "continue",
                Shape::Bool,
                "Sends `Expect: 100-continue`, and the body after a moment in which that is to be answered; not where not said.",
            ),
            READ,
            DELIBERATE,
        ]),
    },
    Verb { name: "open", doc: "Opens a TCP connection and sends nothing.", shape: Shape::Object(&[AS, DELIBERATE]) },
    Verb {
        name: "drop",
        doc: "Ends the TCP connection of a request.",
        shape: Shape::Object(&[
            Field::required("of", Shape::Bound("request"), "The label of the request."),
            Field::optional("how", Shape::Choice(&["eof", "reset"]), "With FIN (where not said) or with RST."),
            DELIBERATE,
        ]),
    },
];

pub(super) const FILL: Shape = Shape::Object(&[
    Field::optional("before", Shape::String, "What comes before it."),
    Field::required("text", Shape::String, "The text."),
    Field::required("times", Shape::Integer { min: 1, max: 1 << 30 }, "How many times; 64 MiB in all at most."),
    Field::optional("after", Shape::String, "What comes after it."),
]);

const TO: Field = Field::optional("to", Shape::Bound("request"), "The label of the request.");

const OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "response",
        doc: "The provider answered a request: its answer is whole, or what came of it will not become more. Where it redirects with 307 or 308, what comes from there.",
        on_connection: false,
        selectors: &[TO],
        fields: &[
            Field::optional("status", Shape::Pattern, "The HTTP status; absent where the answer is no HTTP."),
            Field::optional(
                "headers",
                Shape::Pattern,
                "The header lines: names in lower case, values; of repeated ones joined by a comma.",
            ),
            Field::optional("result", Shape::Pattern, "The `result` of the answer."),
            Field::optional("error", Shape::Pattern, "The `error` of the answer."),
            Field::optional("json", Shape::Pattern, "The whole body, where it is JSON."),
            Field::optional("text", Shape::Pattern, "The body as text, where it is no JSON."),
            Field::optional("whole", Shape::Pattern, "Whether the answer came whole."),
            Field::optional("exchange", Shape::Pattern, "The name of the exchange."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "message",
        doc: "The body of an answer is there, whatever it is.",
        on_connection: false,
        selectors: &[TO],
        fields: &[
            Field::optional("json", Shape::Pattern, "Its JSON; absent where it is none."),
            Field::optional("text", Shape::Pattern, "Its text, where it is no JSON."),
            Field::optional("exchange", Shape::Pattern, "The name of the exchange."),
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "closed",
        doc: "The provider ended the TCP connection before its answer was whole, or after it where we held ours.",
        on_connection: false,
        selectors: &[TO],
        fields: &[
            Field::optional("how", Shape::Pattern, "`eof` where it closed, `reset` where it cut."),
            Field::optional("exchange", Shape::Pattern, "The name of the exchange."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
];

const CAPABILITIES: &[(&str, &str)] = &[
    ("mentions", "has things that can be mentioned"),
    ("items", "has items"),
    ("annotations", "has annotations for documents"),
    ("errors", "tells of failures in the envelope"),
    ("redirects", "sends clients elsewhere"),
];
