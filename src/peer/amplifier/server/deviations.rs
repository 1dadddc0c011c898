//! What is different about a mock server: the effects of flaws and freedoms ([`AmplifierServerEffect`]), their [`TABLE`], and what
//! a flawed server remembers.
//!
//! Most effects are data: functions that rewrite a request, a response or a message. The rest are switches, listed in the file
//! where the behaviour is decided. Flaws are what real servers get wrong, or might; their tables follow the areas of the
//! requirements.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::peer::deviation::http_server::{ClientMistake, Instead, ReceivedInContext, RequestHistory, ResponseEffect};
use crate::peer::deviation::websocket::{self, SocketEffect, SocketSwitch};
use crate::peer::deviation::{DeviationTable, Why, http_faults, includes, switches};
use crate::protocol::amplifier::Endpoint;
use crate::wire::http::{ReceiveError, Received};

use super::format::{SocketFormat, StreamFormat};
use super::mock_steering::SteeringSwitch;
use super::model::{
    ActionSwitch, ApprovalSwitch, EndpointRequest, FeedSwitch, LeakSwitch, Model, PromptSwitch, Refusal, Reply,
    SessionListSwitch, StopSwitch, WorkSwitch,
};

mod events;
mod freedoms;
mod http;
mod prompts;
mod sessions;

/// What a flaw or freedom does.
#[derive(Clone, Copy, Debug)]
pub enum AmplifierServerEffect {
    /// Does something else than to respond to a request, where it says so.
    Instead(fn(&RequestInContext<'_>) -> Option<Instead<Reply>>),
    /// Changes the request.
    Request(fn(&mut EndpointRequest)),
    /// Refuses the request.
    Refuse(fn(&EndpointRequest, &Model) -> Option<Refusal>),
    /// Changes the responses of an endpoint, or of all, be they successes or not.
    Reply(Option<Endpoint>, fn(&mut Reply)),
    /// Changes what an endpoint gives where it succeeds.
    Result(Endpoint, fn(&mut Value)),
    /// Changes each item of a list in that.
    EachOf(Endpoint, &'static str, fn(&mut Value)),
    /// Gives the successes of an endpoint this status.
    Status(Endpoint, u16),
    /// Changes responses that are errors.
    Failed(fn(&mut Reply)),
    /// Changes what belongs to an event of this name, or to any where it is empty.
    Data(&'static str, fn(&mut Value)),
    /// Changes each item of a list in that.
    DataEach(&'static str, &'static str, fn(&mut Value)),
    /// Changes the messages for an event of this name, or of any where it is empty: it is given the one message.
    Messages(&'static str, fn(&mut Vec<Value>)),
    /// Changes how a response is carried.
    Http(ResponseEffect),
    /// Changes how event streams are written.
    Stream(fn(&mut StreamFormat)),
    /// Changes which messages go over WebSockets.
    Frames(fn(&mut SocketFormat)),
    /// Changes what goes over WebSockets.
    Socket(SocketEffect),
    /// As any end of a WebSocket decides.
    SocketSwitch(SocketSwitch),
    /// What [`SessionListSwitch`] lists.
    SessionListSwitch(SessionListSwitch),
    /// What [`PromptSwitch`] lists.
    PromptSwitch(PromptSwitch),
    /// What [`LeakSwitch`] lists.
    LeakSwitch(LeakSwitch),
    /// What [`ApprovalSwitch`] lists.
    ApprovalSwitch(ApprovalSwitch),
    /// What [`FeedSwitch`] lists.
    FeedSwitch(FeedSwitch),
    /// What [`StopSwitch`] lists.
    StopSwitch(StopSwitch),
    /// What [`ActionSwitch`] lists.
    ActionSwitch(ActionSwitch),
    /// What [`WorkSwitch`] lists.
    WorkSwitch(WorkSwitch),
    /// What [`SteeringSwitch`] lists.
    SteeringSwitch(SteeringSwitch),
}

includes!(AmplifierServerEffect: Http(ResponseEffect), Socket(SocketEffect), SocketSwitch(SocketSwitch));
switches!(
    AmplifierServerEffect:
    SessionListSwitch, PromptSwitch, LeakSwitch, ApprovalSwitch, FeedSwitch, StopSwitch, ActionSwitch, WorkSwitch,
    SteeringSwitch,
);

/// The items of a list in an object.
fn items<'v>(object: &'v mut Value, list: &str) -> impl Iterator<Item = &'v mut Value> + use<'v> {
    object.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten()
}

/// A request that came, and what came before it.
pub struct RequestInContext<'a> {
    /// As it came.
    pub http: ReceivedInContext<'a>,
    /// As it is understood; none where there is no such endpoint.
    pub request: Option<&'a EndpointRequest>,
    /// What came before.
    pub memory: &'a RequestMemory,
}

impl<'a> Deref for RequestInContext<'a> {
    type Target = ReceivedInContext<'a>;

    fn deref(&self) -> &Self::Target {
        &self.http
    }
}

impl RequestInContext<'_> {
    /// Whether it is for this endpoint.
    pub fn is(&self, endpoint: Endpoint) -> bool {
        self.request.is_some_and(|request| request.route.endpoint == endpoint)
    }
}

/// All that is on.
pub type Deviations = crate::peer::deviation::Deviations<AmplifierServerEffect>;

/// Every flaw and freedom of the mock server, in the order of the areas.
pub static TABLE: LazyLock<DeviationTable<AmplifierServerEffect>> = LazyLock::new(|| {
    DeviationTable::new("amplifier-server")
        .with_shared_flaws(http_faults::RESPONSES)
        .with_flaws(http::HTTP)
        .with_shared_flaws(http_faults::REQUESTS)
        .with_shared_flaws(http_faults::ROBUSTNESS)
        .with_flaws(http::REQUESTS)
        .with_flaws(http::ERRORS)
        .with_flaws(sessions::SESSIONS)
        .with_flaws(prompts::PROMPTS)
        .with_flaws(prompts::APPROVALS)
        .with_flaws(events::STREAMS)
        .with_shared_flaws(websocket::SENDING)
        .with_shared_flaws(websocket::TAKING)
        .with_flaws(events::WEBSOCKETS)
        .with_flaws(events::EVENTS)
        .with_flaws(events::LIFECYCLES)
        .with_flaws(sessions::CATALOGS)
        .with_flaws(prompts::SAFETY)
        .with_freedoms(freedoms::READINGS)
        .with_shared_freedoms(http_faults::FREEDOMS)
        .with_freedoms(freedoms::CARRIED)
        .with_freedoms(freedoms::STREAMS)
});

impl Deviations {
    /// What is done instead of a response, and why that is wrong, if it is.
    pub fn instead(&self, context: &RequestInContext<'_>) -> Option<(Instead<Reply>, Why)> {
        self.choose_with_why(|effect| match effect {
            AmplifierServerEffect::Instead(decide) => decide(context),
            AmplifierServerEffect::Http(ResponseEffect::Instead(decide)) => decide(context).map(Instead::of_protocol),
            _ => None,
        })
    }

    /// Changes a request.
    pub fn request(&self, request: &mut EndpointRequest) -> Why {
        self.rewrite(
            request,
            |effect| {
                if let AmplifierServerEffect::Request(change) = effect { Some(change) } else { None }
            },
        )
    }

    /// Why a request is refused that would not be otherwise.
    pub fn refuse(&self, request: &EndpointRequest, model: &Model) -> Option<Refusal> {
        let refusal = self.choose_with_why(|effect| match effect {
            AmplifierServerEffect::Refuse(decide) => decide(request, model),
            _ => None,
        });
        refusal.map(|(refusal, why)| Refusal { why, ..refusal })
    }

    /// Changes a response.
    pub fn reply(&self, endpoint: Option<Endpoint>, reply: &mut Reply) {
        let why = self.apply(reply, |effect, reply| match effect {
            AmplifierServerEffect::Reply(of, change) if of.is_none() || of == endpoint => change(reply),
            AmplifierServerEffect::Result(of, change) if reply.is_success() && Some(of) == endpoint => {
                change(&mut reply.body)
            }
            AmplifierServerEffect::EachOf(of, list, change) if reply.is_success() && Some(of) == endpoint => {
                items(&mut reply.body, list).for_each(change);
            }
            AmplifierServerEffect::Status(of, status) if reply.is_success() && Some(of) == endpoint => {
                reply.status = status
            }
            AmplifierServerEffect::Failed(change) if !reply.is_success() => change(reply),
            _ => {}
        });
        reply.why = why.or(reply.why);
    }

    /// Changes the messages for an event.
    pub fn messages(&self, event: &str, messages: &mut Vec<Value>) -> Why {
        self.apply(messages, |effect, messages| match effect {
            AmplifierServerEffect::Messages(name, change) if name.is_empty() || name == event => change(messages),
            AmplifierServerEffect::Data(name, change) if name.is_empty() || name == event => {
                messages.iter_mut().filter_map(|message| message.get_mut("data")).for_each(change);
            }
            AmplifierServerEffect::DataEach(name, list, change) if name == event => {
                let data = messages.iter_mut().filter_map(|message| message.get_mut("data"));
                data.flat_map(|data| items(data, list)).for_each(change);
            }
            _ => {}
        })
    }

    /// How event streams are written.
    pub fn stream_format(&self) -> StreamFormat {
        let mut format = StreamFormat::default();
        for (deviation, effect) in self.effects() {
            if let AmplifierServerEffect::Stream(change) = effect {
                change(&mut format);
                format.why = format.why.or(deviation.why());
            }
        }
        format
    }

    /// How messages go over WebSockets.
    pub fn socket_format(&self) -> SocketFormat {
        let mut format = SocketFormat::default();
        for (deviation, effect) in self.effects() {
            if let AmplifierServerEffect::Frames(change) = effect {
                change(&mut format);
                format.why = format.why.or(deviation.why());
            }
        }
        format
    }
}

/// What a flawed server remembers of the requests so far.
#[derive(Clone, Debug, Default)]
pub struct RequestMemory {
    /// The requests, whatever they were for.
    pub http: RequestHistory,
    /// How many requests for the same endpoint came, one after the other.
    pub repeated: u64,
    /// The endpoint of the last request.
    last: Option<Endpoint>,
    /// How many subscribers have left each session.
    left: BTreeMap<String, u64>,
    /// The numbers of the TCP connections with a request of which the head alone has come.
    incomplete: BTreeSet<u64>,
}

impl RequestMemory {
    /// Whether the last request was for this endpoint.
    pub fn was(&self, endpoint: Endpoint) -> bool {
        self.last == Some(endpoint)
    }

    /// How many subscribers have left a session.
    pub fn left(&self, session: &str) -> u64 {
        self.left.get(session).copied().unwrap_or_default()
    }

    /// Remembers that a subscriber has left a session.
    pub fn note_left(&mut self, session: &str) {
        *self.left.entry(session.to_owned()).or_default() += 1;
    }

    /// Whether another TCP connection than this has a request that is not complete.
    pub fn waits_for_another(&self, tcp: u64) -> bool {
        self.incomplete.iter().any(|incomplete| *incomplete != tcp)
    }

    /// Remembers that the head of a request has come.
    pub fn note_head(&mut self, tcp: u64) {
        self.incomplete.insert(tcp);
    }

    /// Remembers a request, and what is wrong with it.
    pub fn note(&mut self, received: &Received, request: Option<&EndpointRequest>, mistake: Option<ClientMistake>) {
        let endpoint = request.map(|request| request.route.endpoint);
        self.repeated = if endpoint == self.last { self.repeated + 1 } else { 0 };
        self.last = endpoint;
        self.incomplete.remove(&received.head.tcp);
        self.http.note(received, mistake);
    }

    /// Remembers why no request came.
    pub fn note_error(&mut self, error: &ReceiveError) {
        // Which request it was is not known.
        self.incomplete.clear();
        self.http.note_error(error);
    }
}

/// What is wrong with a request that is for an endpoint.
pub fn mistake(received: &Received, request: &EndpointRequest) -> Option<ClientMistake> {
    request.body.as_ref().err()?;
    let json = serde_json::from_slice::<Value>(&received.content).is_ok();
    Some(if json { ClientMistake::NoRequest } else { ClientMistake::NoJson })
}

/// Changes what an endpoint gives.
pub(super) const fn result(endpoint: Endpoint, change: fn(&mut Value)) -> AmplifierServerEffect {
    AmplifierServerEffect::Result(endpoint, change)
}

/// Gives a success of an endpoint another status.
pub(super) const fn status(endpoint: Endpoint, status: u16) -> AmplifierServerEffect {
    AmplifierServerEffect::Status(endpoint, status)
}

/// Changes a response of an endpoint, be it a success or not.
pub(super) const fn reply(endpoint: Endpoint, change: fn(&mut Reply)) -> AmplifierServerEffect {
    AmplifierServerEffect::Reply(Some(endpoint), change)
}

/// Changes what belongs to an event.
pub(super) const fn data(event: &'static str, change: fn(&mut Value)) -> AmplifierServerEffect {
    AmplifierServerEffect::Data(event, change)
}

/// Has a request taken for a sound one, where its body is refused for a reason with these words.
pub(super) fn lenient(request: &mut EndpointRequest, endpoint: Endpoint, words: &str) {
    let invalid = request.body.as_ref().is_err_and(|refusal| refusal.message.contains(words));
    if request.route.endpoint == endpoint && invalid {
        request.body = Ok(sound(endpoint));
    }
}

/// A sound body.
fn sound(endpoint: Endpoint) -> Map<String, Value> {
    let body = match endpoint {
        Endpoint::CreateSession => json!({"profile": "dev", "credentials": {"anthropic_api_key": "any"}}),
        Endpoint::SubmitPrompt => json!({"prompt": "text"}),
        _ => json!({"decision": "Deny"}),
    };
    body.as_object().cloned().unwrap_or_default()
}

/// A refusal of requests for an endpoint that have something in their body.
pub(super) fn refuse(
    request: &EndpointRequest,
    endpoint: Endpoint,
    invalid: impl Fn(&Map<String, Value>) -> bool,
) -> Option<Refusal> {
    let concerned = request.route.endpoint == endpoint && request.body.as_ref().is_ok_and(invalid);
    concerned.then(|| Refusal::invalid("this is not understood"))
}

/// Makes a refusal look like a success.
pub(super) fn pretend(reply: &mut Reply, status: u16, code: u16, body: Value) {
    if reply.status == status {
        *reply = Reply { status: code, body, ..reply.clone() };
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        // Who takes longer than a proof waits is caught by what they withhold, and a reader that is too slow takes
        // minutes.
        crate::peer::deviation::fits_the_catalogue("amplifier-server", &["http/timely", "stream/slow-reader"]);
    }
}
