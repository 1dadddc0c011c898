//! The role `openctx-provider`: the words with which scenarios play the client at a provider.

use crate::protocol::http::exchanges;
use crate::protocol::http::scenario::{
    AS, CHUNKED, CUT, FILLED, HEADERS, HEX, HOLD, JSON, LENGTH, OVER, PACE, READ, RESPONSE_TO, TEXT,
};
use crate::protocol::words::{DELIBERATE, ENDED_HOW, HEADER_LINES, HOW, SPLIT};
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
    contact: None,
    described: &[],
    capabilities: CAPABILITIES,
    patience: exchanges::PATIENCE,
    attribution: &super::attribution::SERVER,
    traffic: include_str!("traffic/openctx-provider.yaml"),
};

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
            JSON,
            TEXT,
            HEX,
            FILLED,
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
            HOLD,
            Field::optional(
                "continue",
                Shape::Bool,
                "Sends `Expect: 100-continue`, and the body once it is told to go on, or after five seconds; not where not said.",
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
            HOW,
            DELIBERATE,
        ]),
    },
];

const OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "response",
        doc: "The provider answered a request: its answer is whole, or what came of it will not become more. Where it redirects with 307 or 308, what comes from there.",
        on_connection: false,
        selectors: &[RESPONSE_TO],
        fields: &[
            Field::optional("status", Shape::Pattern, "The HTTP status; absent where the answer is no HTTP."),
            HEADER_LINES,
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
        selectors: &[RESPONSE_TO],
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
        selectors: &[RESPONSE_TO],
        fields: &[ENDED_HOW, Field::optional("exchange", Shape::Pattern, "The name of the exchange.")],
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
