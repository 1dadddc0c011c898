//! The role `openctx-client`: the words with which scenarios play the provider to a client.

use crate::protocol::{Field, ObservationKind, Pick, Reach, Role, Shape, Verb};
use crate::trace::End;

use super::role::{CHUNKED, CUT, DELIBERATE, FILL, LENGTH, PACE, SPLIT};

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
    capabilities: CAPABILITIES,
};

const TO: Field = Field::optional(
    "to",
    Shape::String,
    "The exchange, as `$capture` took it from a `request`; the oldest one that waits for its answer where not said.",
);
const STATUS: Field = Field::optional(
    "status",
    Shape::Either(&[Shape::Integer { min: 100, max: 999 }, Shape::String]),
    "The status, or the status line's code and reason; 200 where not said.",
);
const HEADERS: Field = Field::optional(
    "headers",
    Shape::Map(&Shape::Any),
    "Header lines to add or to replace, name and value (a list for several lines); null leaves one out.",
);
const ENCODING: Field = Field::optional(
    "encoding",
    Shape::Choice(&["gzip", "deflate", "offered"]),
    "The content coding of the body: `offered` for one that the request allows, if we know any; none where not said.",
);
const THEN: Field = Field::optional(
    "then",
    Shape::Choice(&["keep", "announce", "close", "reset"]),
    "What becomes of the TCP connection: it stays (where not said), it is closed and the head says so, it is closed \
     without a word, or it is cut.",
);
const AFTER: Field =
    Field::optional("after", Shape::Duration, "The time that passes before the answer; none where not said.");
const TRAILERS: Field =
    Field::optional("trailers", Shape::Map(&Shape::String), "Trailers behind the last chunk, name and value.");
const INTERIM: Field = Field::optional(
    "interim",
    Shape::List(&Shape::Integer { min: 100, max: 199 }),
    "Interim answers to send before it, by their status.",
);

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
                TO,
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
            TO,
            STATUS,
            HEADERS,
            Field::optional("json", Shape::Any, "The body as JSON."),
            Field::optional("text", Shape::String, "The body as text."),
            Field::optional("hex", Shape::Hex, "The body as hexadecimal digits."),
            Field::optional("fill", FILL, "A large body, made of a text repeated."),
            Field::optional("endless", Shape::Bool, "Sends the body over and over again, as long as anybody reads it."),
            Field::optional(
                "raw",
                Shape::String,
                "The whole answer as it is to be sent, instead of status, headers and body.",
            ),
            ENCODING,
            CHUNKED,
            TRAILERS,
            LENGTH,
            INTERIM,
            SPLIT,
            PACE,
            CUT,
            AFTER,
            THEN,
            DELIBERATE,
        ]),
    },
    Verb {
        name: "drop",
        doc: "Ends the TCP connection of a request without an answer.",
        shape: Shape::Object(&[
            TO,
            Field::optional("how", Shape::Choice(&["eof", "reset"]), "With FIN (where not said) or with RST."),
            DELIBERATE,
        ]),
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
            Field::optional(
                "headers",
                Shape::Pattern,
                "The header lines: names in lower case, values; of repeated ones joined by a comma.",
            ),
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
        fields: &[EXCHANGE, Field::optional("how", Shape::Pattern, "`eof` where it closed, `reset` where it cut.")],
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
