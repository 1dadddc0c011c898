//! The role `openctx-provider`: the words with which scenarios play the client at a provider.

use crate::format::{Field, Shape, fields_of};
use crate::protocol::http::exchanges;
use crate::protocol::http::scenario::RESPONSE_TO;
use crate::protocol::words::{ENDED_HOW, HEADER_LINES};
use crate::protocol::{ObservationKind, Pick, Reach, Role};
use crate::trace::End;

use super::verbs::ClientVerb;

/// A provider of context.
pub const OPENCTX_PROVIDER: Role = Role {
    name: "openctx-provider",
    subject: End::Server,
    about: "a provider of context",
    reach: Reach::Url { path: "/", proves: "http/post", module: Some(include_str!("module.mjs")) },
    verbs: fields_of::<ClientVerb>,
    observations: OBSERVATIONS,
    stimuli: || &[],
    calls: &[],
    contact: None,
    described: || &[],
    capabilities: CAPABILITIES,
    patience: exchanges::PATIENCE,
    attribution: &super::attribution::SERVER,
    traffic: include_str!("traffic/openctx-provider.yaml"),
};

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
