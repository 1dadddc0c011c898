//! Answers what comes over HTTP.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, broadcast, watch};

use crate::peer::deviation::Why;
use crate::peer::deviation::http_server::{ClientMistake, Instead, ReceivedInContext};
use crate::peer::http::{CONFUSION, line};
use crate::peer::{Draws, Ended, Latency, MockEvent};
use crate::protocol::amplifier::{Endpoint, Route};
use crate::trace::HttpRequest;
use crate::wire::http::{Content, Handler, OnHead, ReceiveError, Received, Responder, Response};
use crate::wire::websocket;

use super::context::ServerContext;
use super::deviations::{Deviations, RequestInContext, RequestMemory, mistake};
use super::model::{EndpointRequest, Feed, FeedMessage, LeakSwitch, Refusal, Reply, feed};
use super::subscription::{self, EventStreamSubscription, SocketSubscription};

/// How many happenings wait for whoever reads them.
const HAPPENINGS: usize = 1024;

/// What a server can do otherwise where it answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceSwitch {
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

/// A server that answers requests.
pub struct Service {
    /// The model of the server, with its time and workspace.
    pub context: Arc<ServerContext>,
    state: Mutex<ServiceState>,
    latency: Option<Latency>,
    ended_how: watch::Sender<Option<Ended>>,
    happenings: broadcast::Sender<MockEvent>,
    /// How many subscribers are being served.
    subscribers: watch::Sender<u64>,
    /// Whether a WebSocket broke its protocol.
    socket_broken: Arc<AtomicBool>,
    /// Another request has come, where a flaw wants to know.
    next: Notify,
}

#[derive(Default)]
struct ServiceState {
    memory: RequestMemory,
    draws: Option<Draws>,
    connections: u64,
    /// The request that came last, where a flaw wants to know.
    last: Option<EndpointRequest>,
}

/// After so many subscribers of a session have left, a server may be tired.
const TIRING: u64 = 30;

/// Counts a subscriber for as long as it is there.
struct SubscriberGuard<'a>(&'a Service);

impl Drop for SubscriberGuard<'_> {
    fn drop(&mut self) {
        self.0.subscribers.send_modify(|count| *count -= 1);
        self.0.report(MockEvent::Disconnected);
    }
}

impl Service {
    /// A service with this state.
    pub fn new(context: Arc<ServerContext>, latency: Option<Latency>) -> Self {
        Self {
            context,
            state: Mutex::new(ServiceState {
                draws: latency.map(|latency| latency.draws(0)),
                ..ServiceState::default()
            }),
            latency,
            ended_how: watch::Sender::new(None),
            happenings: broadcast::channel(HAPPENINGS).0,
            subscribers: watch::Sender::new(0),
            socket_broken: Arc::default(),
            next: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, ServiceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the service stop, and notes why.
    pub fn end(&self, how: Ended) {
        self.ended_how.send_if_modified(|ended_how| ended_how.is_none() && ended_how.replace(how).is_none());
    }

    /// Ends as a crash does: whoever waits for a response keeps its connection until the process is gone.
    async fn die(&self) {
        self.end(Ended::Died);
        std::future::pending().await
    }

    /// Returns once it is to serve no more.
    pub async fn ended(&self) -> Ended {
        let mut ended_how = self.ended_how.subscribe();
        // The sender lives as long as we do.
        ended_how.wait_for(Option::is_some).await.ok().and_then(|ended_how| *ended_how).unwrap_or(Ended::Quit)
    }

    /// Returns once no subscriber is served any more.
    pub async fn no_subscribers(&self) {
        let mut subscribers = self.subscribers.subscribe();
        // The sender lives as long as we do.
        let _ = subscribers.wait_for(|count| *count == 0).await;
    }

    /// What clients do.
    pub fn happenings(&self) -> broadcast::Receiver<MockEvent> {
        self.happenings.subscribe()
    }

    fn report(&self, what: MockEvent) {
        // An error means that nobody wants to know.
        let _ = self.happenings.send(what);
    }

    fn subscribed(&self) -> SubscriberGuard<'_> {
        self.subscribers.send_modify(|count| *count += 1);
        self.report(MockEvent::Connected);
        SubscriberGuard(self)
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

    async fn respond(&self, received: &Received, deviations: &Deviations, reply: Reply, responder: Responder) {
        let mut why = reply.why;
        let mut body = reply.body.to_string().into_bytes();
        why = deviations.body(&mut body).or(why);
        let mut response = Response::new(line(reply.status));
        response = response.header("Content-Type", "application/json").content(Content::Whole(body));
        why = deviations.response(&mut response, received).or(why);
        response.manner.deliberate = why.map(str::to_owned);
        if !reply.is_success() {
            deviations.history().error();
        }
        let delay = self.state().draws.as_mut().and_then(Iterator::next).unwrap_or_default();
        self.delay(delay, &responder).await;
        // Fails only where the client is gone.
        let _ = responder.send(&response).await;
    }

    /// Lets a time pass, unless the client leaves.
    async fn delay(&self, time: Duration, responder: &Responder) {
        if !time.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(time) => {}
                _ = responder.gone() => {}
            }
        }
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

    async fn subscribe(
        &self,
        received: &Received,
        request: &EndpointRequest,
        deviations: &Deviations,
        responder: Responder,
    ) {
        let subscribed = match self.context.subscribe(request.name()) {
            Err(_) if deviations.has(ServiceSwitch::StreamsNobody) => Ok(unknown_session_feed(request.name())),
            Ok(_) if deviations.has(ServiceSwitch::Tires) && self.state().memory.left(request.name()) > TIRING => {
                Ok(unknown_session_feed(request.name()))
            }
            subscribed => subscribed,
        };
        match subscribed {
            Ok(feed) => {
                let mut format = deviations.stream_format();
                let why = deviations.response(&mut format.head, received);
                format.why = format.why.or(why);
                let _subscribed = self.subscribed();
                let stream =
                    EventStreamSubscription { feed, format, latency: self.draws(), began: self.context.began() };
                stream.run(responder).await;
                if deviations.has(ServiceSwitch::Tires) {
                    self.state().memory.note_left(request.name());
                }
            }
            Err(refusal) => {
                let mut reply = Reply::from(refusal);
                deviations.reply(Some(Endpoint::Events), &mut reply);
                self.respond(received, deviations, reply, responder).await;
            }
        }
    }
}

impl Handler for Service {
    fn on_head(&self, request: &HttpRequest) -> OnHead {
        let route = Route::of(request.method(), request.target());
        match route {
            Some(Route { endpoint: Endpoint::Socket, .. }) if request.header("upgrade").next().is_some() => {
                OnHead::Upgrade
            }
            _ => {
                self.state().memory.note_head(request.tcp);
                OnHead::Read
            }
        }
    }

    fn on_receive_error(&self, error: ReceiveError) {
        self.state().memory.note_error(&error);
    }

    async fn handle(&self, received: Received, responder: Responder) {
        let route = Route::of(received.head.method(), received.head.target());
        let request = route.map(|route| EndpointRequest::read(route, &received.content));
        let (deviations, instead) = self.check_deviations(&received, request.as_ref());
        if let Some((instead, why)) = instead {
            match instead {
                Instead::Answer(reply) => {
                    let reply = Reply { why, ..reply };
                    return self.respond(&received, &deviations, reply, responder).await;
                }
                Instead::Refuse => {
                    let refusal = Refusal { why, ..Refusal::invalid("this is not understood") };
                    return self.respond(&received, &deviations, refusal.into(), responder).await;
                }
                Instead::Respond(response) => {
                    // Fails only where the client is gone.
                    let _ = responder.send(&response.deliberate(why)).await;
                }
                Instead::Never => responder.never(why),
                Instead::Close => responder.close(why),
                Instead::Reset => responder.reset(why),
                Instead::Die => self.die().await,
            }
            return;
        }
        let Some(request) = request else {
            let mut reply = Reply::from(unknown_endpoint(&received.head));
            deviations.reply(None, &mut reply);
            return self.respond(&received, &deviations, reply, responder).await;
        };
        if received.head.header("content-encoding").any(|coding| !coding.eq_ignore_ascii_case("identity")) {
            let refusal = Refusal::invalid("requests have no content coding");
            return self.respond(&received, &deviations, refusal.into(), responder).await;
        }
        let endpoint = request.route.endpoint;
        match endpoint {
            Endpoint::Events => return self.subscribe(&received, &request, &deviations, responder).await,
            Endpoint::Socket => {
                let refusal = Refusal::invalid("this is a WebSocket: ask for an upgrade");
                return self.respond(&received, &deviations, refusal.into(), responder).await;
            }
            _ => {}
        }
        let late = match endpoint {
            Endpoint::SubmitPrompt if deviations.has(ServiceSwitch::AnswersLate) => {
                self.context.subscribe(request.name()).ok()
            }
            _ => None,
        };
        self.print_key(&deviations, &request);
        let request = if deviations.has(ServiceSwitch::Confuses) { self.confuse(request).await } else { request };
        let reply = self.context.handle(request);
        if let (Some(feed), true) = (late, reply.is_success()) {
            prompt_completion(feed).await;
        }
        self.respond(&received, &deviations, reply, responder).await;
        if let Some(name) = endpoint.name() {
            self.report(MockEvent::Request(name.to_owned()));
        }
    }

    async fn upgrade(&self, request: websocket::Request) {
        let deviations = self.context.model().deviations.clone();
        let session = Route::of("GET", request.target()).and_then(|route| route.name).unwrap_or_default();
        if let Some(fault) = request.fault() {
            return subscription::refuse(request, &Refusal::invalid(fault), None).await;
        }
        let followed = match self.context.follow(&session) {
            Err(_) if deviations.has(ServiceSwitch::SocketsForNobody) => Ok(unknown_session_feed(&session)),
            followed => followed,
        };
        match followed {
            Ok(feed) => {
                let _subscribed = self.subscribed();
                let reply = websocket::Reply::accepting(&request);
                // As they show when it begins.
                let (context, format, deviations) =
                    (self.context.clone(), deviations.socket_format(), deviations.kept());
                let (latency, protocol_broken) = (self.draws(), self.socket_broken.clone());
                SocketSubscription { context, session, deviations, format, latency, protocol_broken }
                    .run(request, reply, feed)
                    .await;
            }
            Err(refusal) => subscription::refuse(request, &refusal, refusal.why).await,
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

/// The refusal of a request for what is no endpoint. Of the fourteen codes only two come with this status.
fn unknown_endpoint(head: &HttpRequest) -> Refusal {
    let code = if head.path().starts_with("/profiles") { "PROFILE_NOT_FOUND" } else { "SESSION_NOT_FOUND" };
    Refusal::new(code, "There is no such endpoint").about("endpoint", Value::from(format!("{} …", head.method())))
}
