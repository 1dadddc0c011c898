//! What scenarios have our side do: the verbs of the client and of the provider, with their parameters.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::format::types::{Binds, Bound, Request as Label, given};
use crate::protocol::http::verbs::{
    Answered, Delivery, DropRequest, DropUnanswered, Headers, Http, Read, Respond, StopServer,
};
use crate::protocol::words::{Deliberate, OpenTcp, ResponsePolicy};

/// What the client does, in scenarios of the role `openctx-provider`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientVerb {
    Request(Box<Request>),
    Http(Box<Http>),
    Open(OpenTcp<Label>),
    Drop(DropRequest),
}

/// What the provider does, in scenarios of the role `openctx-client`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderVerb {
    Serve(Box<Serve>),
    /// Ends the provider: nobody listens any more.
    Stop(StopServer),
    Answer(Box<Answer>),
    Respond(Box<Respond>),
    Drop(DropUnanswered),
}

/// Sends a request as the reference client does, and goes on at once.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Request {
    #[serde(rename = "as")]
    pub label: Option<Binds<Label>>,
    /// An earlier request, over whose TCP connection it goes. Default: over one of its own.
    pub over: Option<Bound<Label>>,
    /// The method.
    pub method: String,
    /// Its parameters. Default: an empty object; null leaves them out.
    #[serde(default, deserialize_with = "given")]
    pub params: Option<Value>,
    /// Its settings; those that the subject was described with by default, none being an empty object, and null leaves
    /// them out.
    #[serde(default, deserialize_with = "given")]
    pub settings: Option<Value>,
    /// An earlier response of the provider's, of which the parameters are made: of `mentions` for `items` (a mention
    /// that it gave), of `meta` for `annotations` (a resource that a selector matches), of `annotations` for
    /// `annotations` (the `content` of `params`, cut at the end of an annotation). Where nothing can be made of
    /// it, the scenario is skipped with that reason.
    #[serde(default, deserialize_with = "given")]
    pub about: Option<Value>,
    /// Which of them, from 1, where there are several. It goes round. Default: 1.
    #[schemars(range(min = 1, max = 1000))]
    pub number: Option<usize>,
    /// With `about` of `annotations`: the `content` is not cut, but is the annotated text, between these two.
    pub around: Option<Around>,
    /// Further members of the request.
    #[serde(default)]
    pub extra: Map<String, Value>,
    #[serde(default)]
    pub headers: Headers,
    /// Sends the same so many times, at once.
    #[schemars(range(min = 1, max = 10_000))]
    pub repeat: Option<u64>,
    pub read: Option<Read>,
    pub deliberate: Option<Deliberate>,
}

/// The text before and after the annotated text.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Around {
    pub before: String,
    pub after: String,
}

/// Starts the provider at the URL that the client is given, and answers requests from its data. After `stop` it starts at the
/// same URL again, with other data if need be. Sets `port` and `url` to its own. The URL's path and query are
/// `/openctx/v1/?for=wire%20cert&flag&empty=&a=b%2Fc+d`; requests with any other are served alike.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Serve {
    /// What its methods give; for each that is not said, an example that has everything.
    pub data: Results,
    /// `all` (the default): it answers every request. `none`: only the steps `answer` and `respond` do.
    pub answers: ResponsePolicy,
    /// Methods that only the steps `answer` and `respond` answer, while it answers all others: clients may ask `meta` before
    /// anything else.
    pub withholds: Vec<String>,
    /// How its own responses are carried. Default: plainly.
    pub carried: Delivery,
    pub deliberate: Option<Deliberate>,
}

/// What methods give.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Results {
    /// The result of `meta`.
    #[serde(deserialize_with = "given")]
    pub meta: Option<Value>,
    /// The result of `mentions`.
    #[serde(deserialize_with = "given")]
    pub mentions: Option<Value>,
    /// The result of `items`.
    #[serde(deserialize_with = "given")]
    pub items: Option<Value>,
    /// The result of `annotations`.
    #[serde(deserialize_with = "given")]
    pub annotations: Option<Value>,
}

impl Results {
    /// The result of a method, where it is said.
    pub fn of(&self, method: &str) -> Option<&Value> {
        match method {
            "meta" => self.meta.as_ref(),
            "mentions" => self.mentions.as_ref(),
            "items" => self.items.as_ref(),
            "annotations" => self.annotations.as_ref(),
            _ => None,
        }
    }
}

/// Answers a request in the protocol's envelope: with a `result` or an `error`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Answer {
    #[serde(flatten)]
    pub to: Answered,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Further members of the response.
    #[serde(default)]
    pub extra: Map<String, Value>,
    /// How the response is carried. Default: plainly.
    #[serde(default)]
    pub carried: Delivery,
    pub deliberate: Option<Deliberate>,
}

/// What came of a request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// What the method gave.
    Result(Value),
    /// What it failed with.
    Error(Value),
}
