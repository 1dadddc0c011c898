//! What the mock server decides on requests and handshakes ([`MockSteering`]): as the model does, and otherwise where flaws and
//! freedoms say so.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use tokio::sync::{Notify, watch};

use crate::peer::deviation::Why;
use crate::peer::deviation::http_server::{ClientMistake, Instead, ReceivedInContext};
use crate::peer::http::server::MockLifecycle;
use crate::peer::http::{CONFUSION, Decision, OutgoingResponse};
use crate::peer::{Draws, Latency, MockEvent};
use crate::protocol::amplifier::Endpoint;
use crate::protocol::words::StreamEnd;
use crate::trace::HttpRequest;
use crate::wire::http::{ReceiveError, Received};
use crate::wire::websocket;

use super::context::ServerContext;
use super::deviations::{Deviations, RequestInContext, RequestMemory, mistake};
use super::model::{EndpointRequest, Feed, FeedMessage, LeakSwitch, Refusal, Reply, feed};
use super::subscription::{EventStreamSubscription, SocketSubscription};
use super::{RequestDecision, Steering, UpgradeDecision, check, refusal_response, response};

/// What a server can do otherwise where it answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteeringSwitch {
    /// A prompt is answered when it is complete.
    AnswersLate,
    /// Requests that come at the same time are confused.
    Confuses,
    /// After many subscriptions there are no events.
    Tires,
    /// Any session has an event stream.
    StreamsNobody,
    /// Any session has a WebSocket.
    SocketsForNobody,
}

/// Decides by the model of the mock, its flaws and its freedoms.
pub struct MockSteering {
    /// The model of the server, with its time and workspace.
    pub context: Arc<ServerContext>,
    /// How the mock ends, and what clients do.
    pub lifecycle: MockLifecycle,
    state: Mutex<MockState>,
    latency: Option<Latency>,
    /// How many subscribers are being served.
    subscribers: watch::Sender<u64>,
    /// Whether a WebSocket broke its protocol.
    socket_broken: Arc<AtomicBool>,
    /// Another request has come, where a flaw wants to know.
    next: Notify,
}

#[derive(Default)]
struct MockState {
    memory: RequestMemory,
    draws: Option<Draws>,
    connections: u64,
    /// The request that came last, where a flaw wants to know.
    last: Option<EndpointRequest>,
}

/// How long a client may take to answer a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// After so many subscribers of a session have left, a server may be tired.
const TIRING: u64 = 30;

/// Counts a subscriber for as long as it is there.
pub struct SubscriberGuard<'a>(&'a MockSteering);

impl Drop for SubscriberGuard<'_> {
    fn drop(&mut self) {
        self.0.subscribers.send_modify(|count| *count -= 1);
        self.0.lifecycle.report(MockEvent::Disconnected);
    }
}

impl MockSteering {
    /// A steering by this model.
    pub fn new(context: Arc<ServerContext>, latency: Option<Latency>) -> Self {
        Self {
            context,
            lifecycle: MockLifecycle::default(),
            state: Mutex::new(MockState { draws: latency.map(|latency| latency.draws(0)), ..MockState::default() }),
            latency,
            subscribers: watch::Sender::new(0),
            socket_broken: Arc::default(),
            next: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, MockState> {
        self.state.lock()
    }

    /// Returns once no subscriber is served any more.
    pub async fn no_subscribers(&self) {
        let mut subscribers = self.subscribers.subscribe();
        // The sender lives as long as we do.
        let _ = subscribers.wait_for(|count| *count == 0).await;
    }

    /// How the messages of the next subscriber are held up.
    fn draws(&self) -> Option<Draws> {
        let latency = self.latency?;
        let mut state = self.state();
        state.connections += 1;
        Some(latency.draws(state.connections))
    }

    /// What is to be answered, unless a deviation does something else.
    fn check_deviations(
        &self,
        received: &Received,
        request: Option<&EndpointRequest>,
    ) -> (Deviations, Option<(Instead<Reply>, Why)>) {
        let deviations = self.context.model().deviations.clone();
        if deviations.is_empty() {
            return (deviations, None);
        }
        deviations.history().message();
        let mut state = self.state();
        if self.socket_broken.load(Ordering::Relaxed) {
            state.memory.http.note_mistake(ClientMistake::Socket);
        }
        let mistake = request.and_then(|request| mistake(received, request));
        let http = ReceivedInContext { received, mistake, history: &state.memory.http };
        let instead = deviations.instead(&RequestInContext { http, request, memory: &state.memory });
        state.memory.note(received, request, mistake);
        (deviations, instead)
    }

    /// The response with a reply, as deviations change and the latency holds it up.
    fn respond(&self, received: &Received, deviations: &Deviations, reply: Reply) -> OutgoingResponse {
        let failed = !reply.is_success();
        let response = response(reply, received, deviations);
        if failed {
            deviations.history().error();
        }
        let after = self.state().draws.as_mut().and_then(Iterator::next).unwrap_or_default();
        OutgoingResponse { after, ..response.into() }
    }

    /// As it is where the request that is answered is kept in one place for all.
    async fn confuse(&self, request: EndpointRequest) -> EndpointRequest {
        // Whoever waited already has its next request.
        self.state().last = Some(request.clone());
        self.next.notify_waiters();
        // Where there is none, its own is the last.
        let _ = tokio::time::timeout(CONFUSION, self.next.notified()).await;
        let last = self.state().last.clone();
        last.filter(|last| last.route.endpoint != Endpoint::DeleteSession).unwrap_or(request)
    }

    /// Prints the API key of a new session, as a flaw has it.
    fn print_key(&self, deviations: &Deviations, request: &EndpointRequest) {
        if let (true, Ok(body)) = (deviations.has(LeakSwitch::Output), &request.body)
            && let Some(credentials) = body.get("credentials")
        {
            // Fails only where nobody reads it.
            let _ = writeln!(std::io::stderr(), "new session with {credentials}");
        }
    }

    fn event_stream(&self, received: &Received, session: &str, deviations: &Deviations) -> RequestDecision {
        let subscribed = match self.context.subscribe(session) {
            Err(_) if deviations.has(SteeringSwitch::StreamsNobody) => Ok(unknown_session_feed(session)),
            Ok(_) if deviations.has(SteeringSwitch::Tires) && self.state().memory.left(session) > TIRING => {
                Ok(unknown_session_feed(session))
            }
            subscribed => subscribed,
        };
        match subscribed {
            Ok(feed) => {
                let mut format = deviations.stream_format();
                let why = deviations.response(&mut format.head, received);
                let why = format.why.or(why).map(str::to_owned);
                format.head.send_options.deliberate.clone_from(&why);
                let (session, began) = (session.to_owned(), self.context.began());
                let stream =
                    EventStreamSubscription { session, feed: Some(feed), format, latency: self.draws(), began, why };
                RequestDecision::Stream(Box::new(stream))
            }
            Err(refusal) => {
                let mut reply = Reply::from(refusal);
                deviations.reply(Some(Endpoint::Events), &mut reply);
                self.respond(received, deviations, reply).into()
            }
        }
    }
}

impl Steering for MockSteering {
    type Subscribed<'a> = SubscriberGuard<'a>;

    fn on_head(&self, head: &HttpRequest) {
        self.state().memory.note_head(head.tcp);
    }

    fn on_receive_error(&self, error: ReceiveError) {
        self.state().memory.note_error(&error);
    }

    async fn decide(&self, received: &Received, request: Option<EndpointRequest>) -> RequestDecision {
        let (deviations, instead) = self.check_deviations(received, request.as_ref());
        if let Some((instead, why)) = instead {
            let reason = why.map(str::to_owned);
            return match instead {
                Instead::Answer(reply) => self.respond(received, &deviations, Reply { why, ..reply }).into(),
                Instead::Refuse => {
                    let refusal = Refusal { why, ..Refusal::invalid("this is not understood") };
                    self.respond(received, &deviations, refusal.into()).into()
                }
                Instead::Respond(response) => OutgoingResponse::from(response.deliberate(why)).into(),
                Instead::Never => Decision::Never(reason).into(),
                Instead::Close => Decision::HangUp(StreamEnd::Eof, reason).into(),
                Instead::Reset => Decision::HangUp(StreamEnd::Reset, reason).into(),
                Instead::Die => self.lifecycle.die().await,
            };
        }
        let known = request.is_some();
        let request = match check(received, request) {
            Ok(request) => request,
            Err(refusal) => {
                let mut reply = Reply::from(refusal);
                if !known {
                    deviations.reply(None, &mut reply);
                }
                return self.respond(received, &deviations, reply).into();
            }
        };
        let endpoint = request.route.endpoint;
        if endpoint == Endpoint::Events {
            return self.event_stream(received, request.name(), &deviations);
        }
        let late = match endpoint {
            Endpoint::SubmitPrompt if deviations.has(SteeringSwitch::AnswersLate) => {
                self.context.subscribe(request.name()).ok()
            }
            _ => None,
        };
        self.print_key(&deviations, &request);
        let request = if deviations.has(SteeringSwitch::Confuses) { self.confuse(request).await } else { request };
        let reply = self.context.handle(request);
        if let (Some(feed), true) = (late, reply.is_success()) {
            prompt_completion(feed).await;
        }
        let response = self.respond(received, &deviations, reply);
        RequestDecision::Now(Decision::Respond(Box::new(response)), Some(endpoint))
    }

    fn decide_upgrade(&self, request: &websocket::Request, session: &str) -> UpgradeDecision {
        let deviations = self.context.model().deviations.clone();
        if let Some(fault) = request.fault() {
            return UpgradeDecision::Refuse(refusal_response(&Refusal::invalid(fault)));
        }
        let followed = match self.context.follow(session) {
            Err(_) if deviations.has(SteeringSwitch::SocketsForNobody) => Ok(unknown_session_feed(session)),
            followed => followed,
        };
        match followed {
            Ok(feed) => {
                let format = deviations.socket_format();
                UpgradeDecision::Follow(Box::new(SocketSubscription {
                    context: Some(self.context.clone()),
                    session: session.to_owned(),
                    feed: Some(feed),
                    // As they show when it begins.
                    deviations: deviations.kept(),
                    why: format.why.map(str::to_owned),
                    format,
                    upgrade_headers: vec![],
                    latency: self.draws(),
                    close_within: Some(CLOSE_TIMEOUT),
                    protocol_broken: self.socket_broken.clone(),
                }))
            }
            Err(refusal) => UpgradeDecision::Refuse(refusal_response(&refusal)),
        }
    }

    fn answered(&self, endpoint: Endpoint) {
        if let Some(name) = endpoint.name() {
            self.lifecycle.report(MockEvent::Request(name.to_owned()));
        }
    }

    fn subscribe(&self) -> SubscriberGuard<'_> {
        self.subscribers.send_modify(|count| *count += 1);
        self.lifecycle.report(MockEvent::Connected);
        SubscriberGuard(self)
    }

    fn stream_ended(&self, session: &str) {
        if self.context.model().deviations.has(SteeringSwitch::Tires) {
            self.state().memory.note_left(session);
        }
    }
}

/// The events of a session that does not exist.
fn unknown_session_feed(session: &str) -> Feed {
    let (sender, feed) = feed();
    let json = json!({"event": "session:start", "data": {"session_id": session, "profile": "dev", "timestamp": "2025-12-09T10:30:00Z"}});
    sender.send(Arc::new(FeedMessage {
        event: "session:start".to_owned(),
        json: json.to_string(),
        at: Duration::ZERO,
        why: None,
    }));
    feed
}

/// Returns once a prompt is complete, or waits for somebody.
async fn prompt_completion(mut feed: Feed) {
    let ended_how = ["prompt:complete", "approval:required", "session:end"];
    while let Ok(messages) = feed.next(64).await {
        if messages.iter().any(|message| ended_how.contains(&message.event.as_str())) {
            return;
        }
    }
}
