//! The bodies of requests and responses, as data: [`BODIES`]. One entry has the endpoint of a body and the types of its
//! object; a row of such a type has a member, its type, and the requirement on it. The catalogue, the rule on members and
//! the JSON Schemas follow from them.

pub mod requests;
pub mod responses;

use serde_json::Value;

use crate::protocol::http::rule_context::RuleContext;
use crate::trace::End;

use super::endpoints::Endpoint;
use super::members::BodyObject;
use super::objects::{self, ObjectType};

use requests::{CONTEXT, DECISION, NEW_SESSION, PROMPT, WORKSPACE};
use responses::{
    ACCEPTED_DECISION, ACCEPTED_PROMPT, AGENT_LIST, COLLECTION_LIST, CREATED, FAILURE, HEALTH, INFO, PROFILE,
    PROFILE_DETAILS, PROFILE_LIST, SESSION, SESSION_LIST, STOPPED,
};

/// The body of a request or a response that the document describes.
pub struct BodyType {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Who sends it: the body of a request or of a response.
    pub sender: End,
    /// What it is, as the title of its schema.
    pub title: &'static str,
    /// The types of its object, all of which it has.
    pub kinds: &'static [&'static ObjectType],
}

/// Every body.
pub const BODIES: &[BodyType] = &[
    request(Endpoint::CreateSession, "What is asked for when a session is created", &[&NEW_SESSION]),
    request(Endpoint::SubmitPrompt, "A prompt", &[&PROMPT]),
    request(Endpoint::SubmitApproval, "A decision", &[&DECISION]),
    response(Endpoint::CreateSession, "A session that was created", &[&CREATED]),
    response(Endpoint::SubmitPrompt, "A prompt that was accepted", &[&ACCEPTED_PROMPT]),
    response(Endpoint::GetSession, "The status of a session", &[&SESSION]),
    response(Endpoint::SubmitApproval, "A decision that was accepted", &[&ACCEPTED_DECISION]),
    response(Endpoint::DeleteSession, "A session that was stopped", &[&STOPPED]),
    response(Endpoint::ListSessions, "Sessions", &[&SESSION_LIST]),
    response(Endpoint::ListProfiles, "Profiles", &[&PROFILE_LIST]),
    response(Endpoint::GetProfile, "A profile", &[&PROFILE]),
    response(Endpoint::ListCollections, "Collections", &[&COLLECTION_LIST]),
    response(Endpoint::ListAgents, "Agents", &[&AGENT_LIST]),
    response(Endpoint::Health, "A server's health", &[&HEALTH]),
    response(Endpoint::Info, "What a server is", &[&INFO]),
];

const fn request(endpoint: Endpoint, title: &'static str, kinds: &'static [&'static ObjectType]) -> BodyType {
    BodyType { endpoint, sender: End::Client, title, kinds }
}

const fn response(endpoint: Endpoint, title: &'static str, kinds: &'static [&'static ObjectType]) -> BodyType {
    BodyType { endpoint, sender: End::Server, title, kinds }
}

/// What is no whole body, or that of several endpoints: the name of its schema, a title, and its types.
const PARTS: [(&str, &str, &[&ObjectType]); 2] =
    [("context", "A workspace as a context", &[&WORKSPACE, &CONTEXT]), ("error", "An error", &[&FAILURE])];

/// The body that this end sends at an endpoint.
pub fn find(endpoint: Endpoint, sender: End) -> Option<&'static BodyType> {
    BODIES.iter().find(|body| body.endpoint == endpoint && body.sender == sender)
}

impl BodyType {
    /// Judges the members of a body.
    pub fn check(&self, body: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
        self.kinds.iter().for_each(|kind| kind.check(body, ctx));
    }

    /// The name of its schema.
    fn schema_name(&self) -> String {
        let part = if self.sender == End::Client { "request" } else { "response" };
        format!("{}.{part}", self.endpoint.name().unwrap_or_default())
    }
}

/// The types of the objects that are bodies, or parts of several.
pub fn kinds() -> impl Iterator<Item = &'static ObjectType> {
    let parts = PARTS.iter().flat_map(|(.., kinds)| *kinds);
    BODIES.iter().flat_map(|body| body.kinds).chain(parts).chain([&&PROFILE_DETAILS]).copied()
}

/// The JSON Schemas of all bodies and parts of them, by name.
pub fn schemas() -> impl Iterator<Item = (String, Value)> {
    let bodies = BODIES.iter().map(|body| (body.schema_name(), objects::message_schema(body.title, body.kinds)));
    bodies.chain(PARTS.into_iter().map(|(name, title, kinds)| (name.to_owned(), objects::message_schema(title, kinds))))
}
