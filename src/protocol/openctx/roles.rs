//! The roles `openctx-provider` and `openctx-client`: the words with which scenarios play the client at a provider, and the
//! provider to a client.
//!
//! [`Described`] has the types of what a provider is described with in `wirecert.yaml`; the values themselves are read from
//! [`config::Described`](crate::config::Described).

use schemars::JsonSchema;
use serde::Deserialize;

use crate::format::types::Text;
use crate::format::{Field, Shape, fields_of};
use crate::protocol::http::exchanges;
use crate::protocol::http::scenario::RESPONSE_TO;
use crate::protocol::words::{ENDED_HOW, HEADER_LINES};
use crate::protocol::{ObservationKind, PATIENCE, Pick, Reach, Role};
use crate::trace::End;

use super::verbs::{ClientVerb, ProviderVerb};

/// A provider of context.
pub const OPENCTX_PROVIDER: Role = Role {
    name: "openctx-provider",
    subject: End::Server,
    about: "a provider of context",
    reach: Reach::Url { path: "/", proves: "http/post", module: Some(include_str!("module.mjs")) },
    verbs: fields_of::<ClientVerb>,
    observations: PROVIDER_OBSERVATIONS,
    stimuli: || &[],
    calls: &[],
    contact: None,
    described: fields_of::<Described>,
    capabilities: PROVIDER_CAPABILITIES,
    must_show: &["mentions/title", "items/title", "annotations/uri"],
    patience: exchanges::PATIENCE,
    attribution: &super::attribution::SERVER,
    traffic: include_str!("traffic/openctx-provider.yaml"),
    model: Some(super::provider_model::begin),
};

const PROVIDER_OBSERVATIONS: &[ObservationKind] = &[
    ObservationKind {
        name: "response",
        doc: "The provider answered a request: its response is whole, or what came of it will not become more. Where it redirects with 307 or 308, what comes from there.",
        on_connection: false,
        selectors: &[RESPONSE_TO],
        fields: &[
            Field::optional("status", Shape::Pattern, "The HTTP status; absent where the response is no HTTP."),
            HEADER_LINES,
            Field::optional("result", Shape::Pattern, "The `result` of the response."),
            Field::optional("error", Shape::Pattern, "The `error` of the response."),
            Field::optional("json", Shape::Pattern, "The whole body, where it is JSON."),
            Field::optional("text", Shape::Pattern, "The body as text, where it is no JSON."),
            Field::optional("whole", Shape::Pattern, "Whether the response came whole."),
            Field::optional("exchange", Shape::Pattern, "The name of the exchange."),
        ],
        pick: Pick::First,
        default_proves: None,
    },
    ObservationKind {
        name: "message",
        doc: "The body of a response is there, whatever it is.",
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
        doc: "The provider ended the TCP connection before its response was whole, or after it where we held ours.",
        on_connection: false,
        selectors: &[RESPONSE_TO],
        fields: &[ENDED_HOW, Field::optional("exchange", Shape::Pattern, "The name of the exchange.")],
        pick: Pick::First,
        default_proves: None,
    },
];

/// What `wirecert.yaml` says of a provider, beside what it says of all subjects: what it shows something for.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Described {
    /// A query for which it has mentions.
    pub query: Option<Text>,
    /// A message of a user for which it has items.
    pub message: Option<Text>,
    /// A document for which it has annotations.
    pub document: Option<Document>,
}

/// A document.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Document {
    /// Its URI.
    pub uri: Option<Text>,
    /// Its text.
    pub content: Option<Text>,
}

const PROVIDER_CAPABILITIES: &[(&str, &str)] = &[
    ("mentions", "has things that can be mentioned"),
    ("items", "has items"),
    ("annotations", "has annotations for documents"),
    ("errors", "reports failures in the envelope"),
    ("redirects", "sends clients elsewhere"),
];

/// The path and query of the URL at which clients find the provider that we play: more than a slash, so that it shows
/// whether they keep both.
pub const TARGET: &str = "/openctx/v1/?for=wire%20cert&flag&empty=&a=b%2Fc+d";

/// A client that asks providers for context.
pub const OPENCTX_CLIENT: Role = Role {
    name: "openctx-client",
    subject: End::Client,
    about: "a client that asks providers for context",
    reach: Reach::Seeks { data_home: &[] },
    verbs: fields_of::<ProviderVerb>,
    observations: CLIENT_OBSERVATIONS,
    stimuli: || &[],
    calls: CLIENT_CALLS,
    contact: Some(("meta", &[])),
    described: || &[],
    capabilities: CLIENT_CAPABILITIES,
    must_show: &[],
    patience: PATIENCE,
    attribution: &super::attribution::CLIENT,
    traffic: include_str!("traffic/openctx-client.yaml"),
    model: Some(super::model::begin),
};

const EXCHANGE: Field = Field::optional("exchange", Shape::Pattern, "The name of the exchange, for `to`.");

const CLIENT_OBSERVATIONS: &[ObservationKind] = &[
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
        doc: "The client ended the TCP connection before its request or our response was whole.",
        on_connection: false,
        selectors: &[],
        fields: &[EXCHANGE, ENDED_HOW],
        pick: Pick::Any,
        default_proves: None,
    },
];

const CLIENT_CALLS: &[(&str, &str)] = &[
    ("meta", "`{}`: what the provider says of itself."),
    ("mentions", "`{query?, uri?, codebase?, autoInclude?}`: what can be mentioned."),
    ("items", "`{message?, mention?}`: items for a message or a mention."),
    ("annotations", "`{uri, content}`: annotations of a document."),
];

const CLIENT_CAPABILITIES: &[(&str, &str)] = &[
    ("meta", "has the call `meta`"),
    ("mentions", "has the call `mentions`"),
    ("items", "has the call `items`"),
    ("annotations", "has the call `annotations`"),
    ("settings", "lets its user give settings to a provider"),
];
