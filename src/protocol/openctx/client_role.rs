//! The role `openctx-client`: the words with which scenarios play the provider to a client.

use crate::format::{Field, Shape, fields_of};
use crate::protocol::words::{ENDED_HOW, HEADER_LINES};
use crate::protocol::{ObservationKind, PATIENCE, Pick, Reach, Role};
use crate::trace::End;

use super::verbs::ProviderVerb;

/// The path and query of the URL at which clients find the provider that we play: more than a slash, so that it shows
/// whether they keep both.
pub const TARGET: &str = "/openctx?for=wire%20cert";

/// A client that asks providers for context.
pub const OPENCTX_CLIENT: Role = Role {
    name: "openctx-client",
    subject: End::Client,
    about: "a client that asks providers for context",
    reach: Reach::Seeks { data_home: &[] },
    verbs: fields_of::<ProviderVerb>,
    observations: OBSERVATIONS,
    stimuli: || &[],
    calls: CALLS,
    contact: Some(("meta", &[])),
    described: || &[],
    capabilities: CAPABILITIES,
    patience: PATIENCE,
    attribution: &super::attribution::CLIENT,
    traffic: include_str!("traffic/openctx-client.yaml"),
};

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
