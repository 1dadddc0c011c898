//! The role `amplifier-server`: the words with which scenarios play the client to a server.

use crate::protocol::http::exchanges;
use crate::protocol::http::scenario::{
    AS, CHUNKED, CUT, FILLED, HEADERS, HEX, HOLD, JSON, LENGTH, OVER, PACE, READ, RESPONSE_TO, TEXT,
};
use crate::protocol::words::{DELIBERATE, ENDED_HOW, HEADER_LINES, HOW, SPLIT};
use crate::protocol::{Field, ObservationKind, Pick, Reach, Role, Shape, Verb};
use crate::trace::End;

use super::events::EVENT_NAMES;
use super::words::{ENDPOINTS, FRAMES};

/// A server with an agent behind it.
pub const AMPLIFIER_SERVER: Role = Role {
    name: "amplifier-server",
    subject: End::Server,
    about: "a server with an agent behind it",
    reach: Reach::Url { path: "/", proves: "health/status", module: None },
    verbs: VERBS,
    observations: OBSERVATIONS,
    stimuli: &[],
    calls: &[],
    contact: None,
    described: DESCRIBED,
    capabilities: CAPABILITIES,
    patience: exchanges::PATIENCE,
    attribution: &super::attribution::SERVER,
    traffic: include_str!("traffic/amplifier-server.yaml"),
};

/// What a prompt may have to provoke: the keys of `prompts:`.
const PROVOKED: &[&str] = &[
    "text",
    "tool",
    "tool_error",
    "thinking",
    "approval",
    "approval_timeout",
    "slow",
    "diagnostics",
    "status",
    "INVALID_API_KEY",
    "API_KEY_UNAUTHORIZED",
    "RATE_LIMITED",
    "SERVER_ERROR",
    "MODULE_LOAD_FAILED",
    "PROVIDER_ERROR",
    "PROVIDER_UNAVAILABLE",
];

const PROMPTS: &[Field] = &[
    Field::optional("text", Shape::String, "One that is answered by text, soon."),
    Field::optional("tool", Shape::String, "One that uses a tool which needs no approval."),
    Field::optional("tool_error", Shape::String, "One that uses a tool which fails."),
    Field::optional("thinking", Shape::String, "One that is thought about."),
    Field::optional(
        "approval",
        Shape::String,
        "One that asks for one approval, which stays pending for at least half a minute; `approval: { effect }` says what \
         the action leaves behind.",
    ),
    Field::optional(
        "approval_timeout",
        Shape::String,
        "The same, but with an approval whose time is up within ten seconds.",
    ),
    Field::optional(
        "slow",
        Shape::String,
        "One that is worked on for some seconds; best one of which is told all the time, such as a long text.",
    ),
    Field::optional("status", Shape::String, "One that tells how far it has come."),
    Field::optional("diagnostics", Shape::String, "One that tells of diagnostics, and clears some."),
    Field::optional("INVALID_API_KEY", Shape::String, "One that fails with this code."),
    Field::optional("API_KEY_UNAUTHORIZED", Shape::String, "One that fails with this code."),
    Field::optional("RATE_LIMITED", Shape::String, "One that fails with this code."),
    Field::optional("SERVER_ERROR", Shape::String, "One that fails with this code."),
    Field::optional("MODULE_LOAD_FAILED", Shape::String, "One that fails with this code."),
    Field::optional("PROVIDER_ERROR", Shape::String, "One that fails with this code."),
    Field::optional("PROVIDER_UNAVAILABLE", Shape::String, "One that fails with this code."),
];

/// What `wirecert.yaml` says of such a server, beside what it says of all subjects.
const DESCRIBED: &[Field] = &[
    Field::optional(
        "prompts",
        Shape::Object(PROMPTS),
        "Prompts by what they provoke. `{workspace}` in them is the folder that the session is given as its \
         `workspace_root`.",
    ),
    Field::optional(
        "approval",
        Shape::Object(&[
            Field::optional("allow", Shape::List(&Shape::String), "Options that allow; by their words where not said."),
            Field::optional("deny", Shape::List(&Shape::String), "Options that deny; by their words where not said."),
            Field::optional(
                "effect",
                Shape::Path,
                "The file that the action leaves behind which the prompts `approval` and `approval_timeout` ask for, if it \
                 runs: below the folder that the session is given as its `workspace_root`.",
            ),
        ]),
        "How its approvals are decided, and what shows that the action ran.",
    ),
    Field::optional(
        "profiles",
        Shape::Object(&[
            Field::optional(
                "good",
                Shape::String,
                "A profile that sessions are created with; where not said, `dev` if the server lists it, else one that it lists.",
            ),
            Field::optional("collection", Shape::String, "A collection that has profiles or agents."),
            Field::optional("model", Shape::String, "A model that it has."),
        ]),
        "Names that it knows.",
    ),
    Field::optional(
        "credentials",
        Shape::Object(&[
            Field::optional("good", Shape::Variable, "The one with a valid key; sessions have no key where not said."),
            Field::optional("bad", Shape::Variable, "The one with a key that is not valid; made up where not said."),
            Field::optional("unauthorized", Shape::Variable, "The one with a key that may not do enough."),
        ]),
        "Environment variables that have API keys: their names, never keys.",
    ),
];

const CREATED_BY: Field = Field::optional(
    "created_by",
    Shape::Bound("request"),
    "The label of the request that is to create the session, where that may be refused: its answer is waited for, and \
     where it creates none, nothing is sent.",
);
const DECISION: Shape = Shape::Choice(&["allow", "deny", "miscased", "first", "second", "third", "fourth"]);
const DECIDES: &str = "Has as its `decision` an option of the approval that was last required in the session: one that allows \
                       or denies, one that allows but in another case, or one by its place.";
const SUBSCRIPTION: Field = Field::required("of", Shape::Bound("subscription"), "The label of the subscription.");

const VERBS: &[Verb] = &[
    Verb {
        name: "request",
        doc: "Sends a request to one of the twelve endpoints, and goes on at once.",
        shape: Shape::Object(&[
            AS,
            OVER,
            Field::required("endpoint", Shape::Choice(ENDPOINTS), "Which one."),
            Field::optional(
                "params",
                Shape::Map(&Shape::Any),
                "`session_id` and `name` go into the path, encoded where need be, everything else into the query.",
            ),
            CREATED_BY,
            Field::optional(
                "encode",
                Shape::Choice(&["every"]),
                "Encodes every character of what goes into the path, also where it need not be.",
            ),
            Field::optional(
                "body",
                Shape::Any,
                "The members of the body. For a new session, `profile` and `credentials` are those that the subject was \
                 described with where not said, and `context` has the play's folder as its `workspace_root`; null leaves one out.",
            ),
            Field::optional(
                "provokes",
                Shape::Described("prompts", PROVOKED),
                "Has the `prompt` that provokes this, as the subject was described.",
            ),
            Field::optional("decides", DECISION, DECIDES),
            Field::optional(
                "key",
                Shape::Choice(&["good", "bad", "unauthorized", "none"]),
                "Which API key a new session has; `good` where not said.",
            ),
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
            Field::optional("method", Shape::String, "The HTTP method; GET where not said."),
            Field::optional("target", Shape::String, "The request target, below the server's URL; `/` where not said."),
            Field::optional("version", Shape::String, "The HTTP version; HTTP/1.1 where not said."),
            HEADERS,
            JSON,
            TEXT,
            HEX,
            FILLED,
            Field::optional("raw", Shape::String, "The whole request as it is to be sent, instead of all the above."),
            CHUNKED,
            LENGTH,
            SPLIT,
            PACE,
            CUT,
            HOLD,
            READ,
            DELIBERATE,
        ]),
    },
    Verb {
        name: "subscribe",
        doc: "Subscribes to the events of a session, and goes on at once.",
        shape: Shape::Object(&[
            Field::optional(
                "as",
                Shape::Binds("subscription"),
                "A label by which expectations name the subscription, and the name of its exchange in the trace.",
            ),
            Field::optional("session_id", Shape::String, "The session."),
            CREATED_BY,
            Field::optional("transport", Shape::Choice(&["sse", "ws"]), "Event stream (where not said) or WebSocket."),
            HEADERS,
            READ,
            DELIBERATE,
        ]),
    },
    Verb {
        name: "control",
        doc: "Sends a control message over a WebSocket, or anything else: exactly one of `message`, `text` and `hex`.",
        shape: Shape::Choose(
            &[
                SUBSCRIPTION,
                Field::optional("message", Shape::Map(&Shape::Any), "The message: `action`, and what belongs to it."),
                Field::optional("text", Shape::String, "Text instead."),
                Field::optional("hex", Shape::Hex, "Bytes instead, as hexadecimal digits."),
                Field::optional(
                    "provokes",
                    Shape::Described("prompts", PROVOKED),
                    "Has the `prompt` that provokes this, as the subject was described.",
                ),
                Field::optional("decides", DECISION, DECIDES),
                FRAMES[0],
                FRAMES[1],
                FRAMES[2],
                FRAMES[3],
                FRAMES[4],
                Field::optional("fragments", Shape::Integer { min: 1, max: 1024 }, "Sends it in so many frames."),
                DELIBERATE,
            ],
            &["message", "text", "hex"],
        ),
    },
    Verb {
        name: "unsubscribe",
        doc: "Ends a subscription: the connection is closed or cut, or a WebSocket closed by its handshake.",
        shape: Shape::Object(&[
            SUBSCRIPTION,
            Field::optional(
                "how",
                Shape::Choice(&["close", "eof", "reset"]),
                "`close` (where not said) as a well-behaved client does; `eof` with FIN; `reset` with RST.",
            ),
            DELIBERATE,
        ]),
    },
    Verb {
        name: "await_session",
        doc: "Waits until a session is as far with its prompt as is said, for a minute at most: by its events, or by its status, \
              which is asked for outside of the trace. Where a prompt is over too soon, or nothing is told of it, the scenario \
              is skipped.",
        shape: Shape::Object(&[
            Field::required("session_id", Shape::String, "The session."),
            Field::required(
                "until",
                Shape::Choice(&["working", "telling", "over"]),
                "`working`: it works on the prompt; `telling`: content, thinking, tools or a status were told; `over`: the \
                 prompt is complete, or the session does not work on it any more.",
            ),
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

const OF: Field = Field::optional("of", Shape::Bound("subscription"), "The label of the subscription.");
const EXCHANGE: Field = Field::optional("exchange", Shape::Pattern, "The name of the exchange.");
const SESSION: Field = Field::optional("session_id", Shape::Pattern, "The session that its path names.");

const OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "response",
        doc: "The server answered a request: its answer is whole, or what came of it will not become more. Where it redirects with 307 or 308, what comes from there.",
        on_connection: false,
        selectors: &[RESPONSE_TO],
        fields: &[
            Field::optional("status", Shape::Pattern, "The HTTP status; absent where the answer is no HTTP."),
            HEADER_LINES,
            Field::optional("json", Shape::Pattern, "The body, where it is JSON."),
            Field::optional("text", Shape::Pattern, "The body as text, where it is no JSON."),
            Field::optional("error", Shape::Pattern, "The `error` of the body."),
            Field::optional("code", Shape::Pattern, "The `code` of that error."),
            Field::optional("whole", Shape::Pattern, "Whether the answer came whole."),
            EXCHANGE,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "subscribed",
        doc: "The server answered a subscription: its head is there, or the answer to a handshake.",
        on_connection: false,
        selectors: &[OF],
        fields: &[
            Field::optional("status", Shape::Pattern, "The HTTP status; 101 for a WebSocket."),
            HEADER_LINES,
            SESSION,
            EXCHANGE,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "event",
        doc: "An event came, by event stream or WebSocket.",
        on_connection: false,
        selectors: &[OF, Field::optional("event", Shape::Choice(&EVENT_NAMES), "Its name.")],
        fields: &[
            Field::optional("data", Shape::Pattern, "What belongs to it."),
            Field::optional("json", Shape::Pattern, "The whole message."),
            Field::optional("type", Shape::Pattern, "The event type of a stream; `message` where it has none."),
            Field::optional("id", Shape::Pattern, "The `id` of a stream's event."),
            EXCHANGE,
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "completed",
        doc: "A prompt came to `prompt:complete`: all that was told of it in this subscription.",
        on_connection: false,
        selectors: &[OF],
        fields: &[
            Field::optional("request_id", Shape::Pattern, "Its `request_id`."),
            Field::optional("response", Shape::Pattern, "Its `response`."),
            Field::optional("joined", Shape::Pattern, "The deltas of the content, joined; a mebibyte at most."),
            Field::optional("deltas", Shape::Pattern, "How many they were."),
            Field::optional("thinking", Shape::Pattern, "The deltas of the thinking, joined; a mebibyte at most."),
            Field::optional(
                "events",
                Shape::Pattern,
                "The names of all its events in order, the same one after the other only once; a thousand at most.",
            ),
            EXCHANGE,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "keep_alive",
        doc: "Something came in an event stream that is no protocol event: a comment, or an event of another kind.",
        on_connection: false,
        selectors: &[OF],
        fields: &[
            Field::optional("comment", Shape::Pattern, "The text of a comment."),
            Field::optional("text", Shape::Pattern, "The data of an event."),
            Field::optional("type", Shape::Pattern, "Its event type."),
            EXCHANGE,
        ],
        pick: Pick::Any,
        default_proves: None,
    },
    ObservationKind {
        name: "frame",
        doc: "The server sent a frame over a WebSocket.",
        on_connection: false,
        selectors: &[OF, Field::optional("opcode", Shape::Integer { min: 0, max: 15 }, "Its opcode.")],
        fields: &[
            Field::optional("fin", Shape::Pattern, "Its FIN bit."),
            Field::optional("text", Shape::Pattern, "Its payload, where it is text."),
            Field::optional("code", Shape::Pattern, "Its close code."),
            EXCHANGE,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "ended",
        doc: "The server ended a subscription: an event stream, or the connection of a WebSocket.",
        on_connection: false,
        selectors: &[OF],
        fields: &[
            Field::optional("how", Shape::Pattern, "`whole` where the stream ended as it should, `eof`, or `reset`."),
            EXCHANGE,
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "closed",
        doc: "The server ended the TCP connection of a request before its answer was whole, or after it where we held ours.",
        on_connection: false,
        selectors: &[RESPONSE_TO],
        fields: &[ENDED_HOW, EXCHANGE],
        pick: Pick::First,
        default_proves: None,
    },
];

const CAPABILITIES: &[(&str, &str)] = &[
    ("agents", "has agents to list"),
    ("approval", "asks for approvals"),
    ("collections", "has collections to list"),
    ("credentials", "looks at the API keys that it is given"),
    ("diagnostics", "tells of diagnostics"),
    ("lifecycle", "tells by events how sessions and prompts begin and end"),
    ("profiles", "has profiles to list"),
    ("provider-errors", "tells errors of a model's provider by their codes"),
    ("server-errors", "tells errors of its own by their codes"),
    ("status-updates", "tells how far it has come"),
    ("streaming", "tells its response in pieces"),
    ("thinking", "tells what it thinks"),
    ("tools", "uses tools"),
    ("websocket", "has the WebSocket beside the event stream"),
];
