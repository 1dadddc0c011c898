//! The role `openctx-client`: the words with which scenarios play the provider to a client.

use crate::protocol::http::scenario::{
    ANSWER_TO, CHUNKED, CUT, ENCODING, ENDLESS, FILLED, HEADERS, HEX, INTERIM, JSON, LENGTH, PACE, RAW_ANSWER, REPEATS,
    TEXT, THEN, TRAILERS,
};
use crate::protocol::words::{DELIBERATE, ENDED_HOW, HEADER_LINES, HOW, SPLIT};
use crate::protocol::{Field, ObservationKind, PATIENCE, Pick, Reach, Role, Shape, Verb};
use crate::trace::End;

/// The path and query of the URL at which clients find the provider that we play: more than a slash, so that it shows
/// whether they keep both.
pub const TARGET: &str = "/openctx?for=wire%20cert";

/// A client that asks providers for context.
pub const OPENCTX_CLIENT: Role = Role {
    name: "openctx-client",
    subject: End::Client,
    about: "a client that asks providers for context",
    reach: Reach::Seeks { data_home: &[] },
    verbs: VERBS,
    observations: OBSERVATIONS,
    stimuli: &[],
    calls: CALLS,
    contact: Some(("meta", &[])),
    described: &[],
    capabilities: CAPABILITIES,
    patience: PATIENCE,
    attribution: &super::attribution::CLIENT,
    traffic: include_str!("traffic/openctx-client.yaml"),
};

const STATUS: Field = Field::optional(
    "status",
    Shape::Either(&[Shape::Integer { min: 100, max: 999 }, Shape::String]),
    "The status, or the status line's code and reason; 200 where not said.",
);
const AFTER: Field =
    Field::optional("after", Shape::Duration, "The time that passes before the answer; none where not said.");

/// How an answer is carried, where it is another way than a plain body with its length.
const CARRIED: Shape =
    Shape::Object(&[STATUS, HEADERS, ENCODING, CHUNKED, TRAILERS, LENGTH, INTERIM, SPLIT, PACE, CUT, AFTER, THEN]);

const VERBS: &[Verb] = &[
    Verb {
        name: "serve",
        doc: "Starts the provider at the URL that the client is given, and answers requests from its data. After `stop` it \
              starts at the same URL again, with other data if need be. Sets `port` and `url` to its own. The URL's path and \
              query are `/openctx?for=wire%20cert`; requests with any other are served alike.",
        shape: Shape::Object(&[
            Field::optional(
                "data",
                Shape::Object(&[
                    Field::optional("meta", Shape::Any, "The result of `meta`."),
                    Field::optional("mentions", Shape::Any, "The result of `mentions`."),
                    Field::optional("items", Shape::Any, "The result of `items`."),
                    Field::optional("annotations", Shape::Any, "The result of `annotations`."),
                ]),
                "What its methods give; for each that is not said, an example that has everything.",
            ),
            Field::optional(
                "answers",
                Shape::Choice(&["all", "none"]),
                "`all` (where not said): it answers every request. `none`: only the steps `answer` and `respond` do.",
            ),
            Field::optional(
                "withholds",
                Shape::List(&Shape::String),
                "Methods that only the steps `answer` and `respond` answer, while it answers all others: clients may ask \
                 `meta` before anything else.",
            ),
            Field::optional("carried", CARRIED, "How its own answers are carried; plainly where not said."),
            DELIBERATE,
        ]),
    },
    Verb {
        name: "stop",
        doc: "Ends the provider: nobody listens any more.",
        shape: Shape::Object(&[Field::optional(
            "how",
            Shape::Choice(&["quit", "kill"]),
            "`quit` (where not said): answers that are due are sent first. `kill`: connections are cut.",
        )]),
    },
    Verb {
        name: "answer",
        doc: "Answers a request in the protocol's envelope: with a `result` or an `error`.",
        shape: Shape::Choose(
            &[
                ANSWER_TO,
                REPEATS,
                Field::optional("result", Shape::Any, "What the method gave."),
                Field::optional("error", Shape::Any, "What it failed with."),
                Field::optional("extra", Shape::Map(&Shape::Any), "Further members of the answer."),
                Field::optional("carried", CARRIED, "How the answer is carried; plainly where not said."),
                DELIBERATE,
            ],
            &["result", "error"],
        ),
    },
    Verb {
        name: "respond",
        doc: "Answers a request by HTTP of any kind: at most one of `json`, `text`, `hex` and `fill` is the body.",
        shape: Shape::Object(&[
            ANSWER_TO, REPEATS, STATUS, HEADERS, JSON, TEXT, HEX, FILLED, ENDLESS, RAW_ANSWER, ENCODING, CHUNKED,
            TRAILERS, LENGTH, INTERIM, SPLIT, PACE, CUT, AFTER, THEN, DELIBERATE,
        ]),
    },
    Verb {
        name: "drop",
        doc: "Ends the TCP connection of a request without an answer.",
        shape: Shape::Object(&[ANSWER_TO, REPEATS, HOW, DELIBERATE]),
    },
];

const EXCHANGE: Field = Field::optional("exchange", Shape::Pattern, "The name of the exchange, for `to`.");

const OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "request",
        doc: "The client sent a request: its body is whole.",
        on_connection: false,
        selectors: &[Field::optional("method", Shape::String, "The method.")],
        fields: &[
            EXCHANGE,
            Field::optional("params", Shape::Pattern, "Its parameters."),
            Field::optional("settings", Shape::Pattern, "Its settings."),
            Field::optional("json", Shape::Pattern, "The whole body, where it is JSON."),
            Field::optional("text", Shape::Pattern, "The body as text, where it is no JSON."),
            Field::optional("verb", Shape::Pattern, "The HTTP method."),
            Field::optional("target", Shape::Pattern, "The request target."),
            Field::optional("version", Shape::Pattern, "The HTTP version, such as `HTTP/1.1`."),
            HEADER_LINES,
            Field::optional("tcp", Shape::Pattern, "The number of the TCP connection in this play."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "message",
        doc: "The body of a request is there, whatever it is.",
        on_connection: false,
        selectors: &[],
        fields: &[
            EXCHANGE,
            Field::optional("json", Shape::Pattern, "Its JSON; absent where it is none."),
            Field::optional("text", Shape::Pattern, "Its text, where it is no JSON."),
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "closed",
        doc: "The client ended the TCP connection before its request or our answer was whole.",
        on_connection: false,
        selectors: &[],
        fields: &[EXCHANGE, ENDED_HOW],
        pick: Pick::Any,
        default_proves: None,
    },
];

const CALLS: &[(&str, &str)] = &[
    ("meta", "`{}`: what the provider says of itself."),
    ("mentions", "`{query?, uri?, codebase?, autoInclude?}`: what can be mentioned."),
    ("items", "`{message?, mention?}`: items for a message or a mention."),
    ("annotations", "`{uri, content}`: annotations of a document."),
];

const CAPABILITIES: &[(&str, &str)] = &[
    ("meta", "has the call `meta`"),
    ("mentions", "has the call `mentions`"),
    ("items", "has the call `items`"),
    ("annotations", "has the call `annotations`"),
    ("settings", "lets its user give settings to a provider"),
];
