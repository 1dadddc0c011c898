//! Answers what comes over HTTP.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, broadcast, watch};

use crate::peer::hosting::{CONFUSION, line};
use crate::peer::{Draws, Ended, Latency, MockEvent};
use crate::protocol::amplifier::{Endpoint, Route};
use crate::trace::HttpRequest;
use crate::wire::http::{Content, Handler, OnHead, ReceiveError, Received, Responder, Response};
use crate::wire::websocket;

use super::context::ServerContext;
use super::model::{Ask, Feed, FeedMessage, Refusal, Reply, feed};
use super::quirks::{ClientMistake, Instead, Memory, Quirks, RequestInContext, Switch, Why};
use super::subscription::{self, Follower, Stream};

/// How many happenings wait for whoever reads them.
const HAPPENINGS: usize = 1024;

/// A server that answers requests.
pub struct Service {
    /// Its state.
    pub stage: Arc<ServerContext>,
    state: Mutex<State>,
    latency: Option<Latency>,
    over: watch::Sender<Option<Ended>>,
    happenings: broadcast::Sender<MockEvent>,
    /// How many subscribers are being served.
    subscribers: watch::Sender<u64>,
    /// Whether a WebSocket broke its protocol.
    odd: Arc<AtomicBool>,
    /// Another request has come, where a flaw wants to know.
    next: Notify,
}

#[derive(Default)]
struct State {
    memory: Memory,
    draws: Option<Draws>,
    connections: u64,
    /// The request that came last, where a flaw wants to know.
    last: Option<Ask>,
}

/// After so many subscribers of a session have left, a server may be tired.
const TIRING: u64 = 30;

/// Counts a subscriber for as long as it is there.
struct Subscribed<'a>(&'a Service);

impl Drop for Subscribed<'_> {
    fn drop(&mut self) {
        self.0.subscribers.send_modify(|count| *count -= 1);
        self.0.happen(MockEvent::Disconnected);
    }
}

impl Service {
    /// One with this state.
    pub fn new(stage: Arc<ServerContext>, latency: Option<Latency>) -> Self {
        Self {
            stage,
            state: Mutex::new(State { draws: latency.map(|latency| latency.draws(0)), ..State::default() }),
            latency,
            over: watch::Sender::new(None),
            happenings: broadcast::channel(HAPPENINGS).0,
            subscribers: watch::Sender::new(0),
            odd: Arc::default(),
            next: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It is to serve no more.
    pub fn end(&self, how: Ended) {
        self.over.send_if_modified(|over| over.is_none() && over.replace(how).is_none());
    }

    /// Ends as a crash does: whoever waits for an answer keeps its connection until the process is gone.
    async fn die(&self) {
        self.end(Ended::Died);
        std::future::pending().await
    }

    /// Returns once it is to serve no more.
    pub async fn ended(&self) -> Ended {
        let mut over = self.over.subscribe();
        // The sender lives as long as we do.
        over.wait_for(Option::is_some).await.ok().and_then(|over| *over).unwrap_or(Ended::Quit)
    }

    /// Returns once no subscriber is served any more.
    pub async fn deserted(&self) {
        let mut subscribers = self.subscribers.subscribe();
        // The sender lives as long as we do.
        let _ = subscribers.wait_for(|count| *count == 0).await;
    }

    /// What clients do.
    pub fn happenings(&self) -> broadcast::Receiver<MockEvent> {
        self.happenings.subscribe()
    }

    fn happen(&self, what: MockEvent) {
        // An error means that nobody wants to know.
        let _ = self.happenings.send(what);
    }

    fn subscribed(&self) -> Subscribed<'_> {
        self.subscribers.send_modify(|count| *count += 1);
        self.happen(MockEvent::Connected);
        Subscribed(self)
    }

    /// How the messages of the next subscriber are held up.
    fn draws(&self) -> Option<Draws> {
        let latency = self.latency?;
        let mut state = self.state();
        state.connections += 1;
        Some(latency.draws(state.connections))
    }

    /// What is to be answered, unless a quirk does something else.
    fn look(&self, received: &Received, ask: Option<&Ask>) -> (Quirks, Option<(Instead, Why)>) {
        let quirks = self.stage.model().quirks.clone();
        if quirks.is_empty() {
            return (quirks, None);
        }
        quirks.course().message();
        let mut state = self.state();
        if self.odd.load(Ordering::Relaxed) {
            state.memory.trouble(ClientMistake::Socket);
        }
        let instead = quirks.instead(&RequestInContext { received, ask, memory: &state.memory });
        state.memory.note(received, ask);
        (quirks, instead)
    }

    async fn respond(&self, received: &Received, quirks: &Quirks, reply: Reply, answer: Responder) {
        let mut why = reply.why;
        let mut body = reply.body.to_string().into_bytes();
        why = quirks.body(&mut body).or(why);
        let mut response = Response::new(line(reply.status));
        response = response.header("Content-Type", "application/json").content(Content::Whole(body));
        why = quirks.carried(&mut response, received).or(why);
        response.manner.deliberate = why.map(str::to_owned);
        if !reply.is_success() {
            quirks.course().error();
        }
        let held = self.state().draws.as_mut().and_then(Iterator::next).unwrap_or_default();
        self.hold(held, &answer).await;
        // Fails only where the client is gone.
        let _ = answer.send(&response).await;
    }

    /// Lets a time pass, unless the client leaves.
    async fn hold(&self, time: Duration, answer: &Responder) {
        if !time.is_zero() {
            tokio::select! {
                () = tokio::time::sleep(time) => {}
                _ = answer.gone() => {}
            }
        }
    }

    /// As it is where the request that is answered is kept in one place for all.
    async fn confuse(&self, ask: Ask) -> Ask {
        // Whoever waited already has its next request.
        self.state().last = Some(ask.clone());
        self.next.notify_waiters();
        // Where there is none, its own is the last.
        let _ = tokio::time::timeout(CONFUSION, self.next.notified()).await;
        let last = self.state().last.clone();
        last.filter(|last| last.route.endpoint != Endpoint::DeleteSession).unwrap_or(ask)
    }

    /// Prints the API key of a new session, as a flaw has it.
    fn leak(&self, quirks: &Quirks, ask: &Ask) {
        if let (true, Ok(body)) = (quirks.on(Switch::LeaksInOutput), &ask.body)
            && let Some(credentials) = body.get("credentials")
        {
            // Fails only where nobody reads it.
            let _ = writeln!(std::io::stderr(), "new session with {credentials}");
        }
    }

    async fn subscribe(&self, received: &Received, ask: &Ask, quirks: &Quirks, answer: Responder) {
        let subscribed = match self.stage.subscribe(ask.name()) {
            Err(_) if quirks.on(Switch::StreamsNobody) => Ok(nobody(ask.name())),
            Ok(_) if quirks.on(Switch::Tires) && self.state().memory.left(ask.name()) > TIRING => {
                Ok(nobody(ask.name()))
            }
            subscribed => subscribed,
        };
        match subscribed {
            Ok(feed) => {
                let mut form = quirks.form();
                let why = quirks.carried(&mut form.head, received);
                form.why = form.why.or(why);
                let _subscribed = self.subscribed();
                let stream = Stream { feed, form, latency: self.draws(), began: self.stage.began() };
                stream.run(answer).await;
                if quirks.on(Switch::Tires) {
                    self.state().memory.note_left(ask.name());
                }
            }
            Err(refusal) => {
                let mut reply = Reply::from(refusal);
                quirks.reply(Some(Endpoint::Events), &mut reply);
                self.respond(received, quirks, reply, answer).await;
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

    fn on_mishap(&self, error: ReceiveError) {
        self.state().memory.note_mishap(&error);
    }

    async fn handle(&self, received: Received, answer: Responder) {
        let route = Route::of(received.head.method(), received.head.target());
        let ask = route.map(|route| Ask::read(route, &received.content));
        let (quirks, instead) = self.look(&received, ask.as_ref());
        if let Some((instead, why)) = instead {
            match instead {
                Instead::Reply(reply) => {
                    let reply = Reply { why, ..reply };
                    return self.respond(&received, &quirks, reply, answer).await;
                }
                Instead::Respond(response) => {
                    // Fails only where the client is gone.
                    let _ = answer.send(&response.deliberate(why)).await;
                }
                Instead::Never => answer.never(why),
                Instead::Close => answer.close(why),
                Instead::Reset => answer.reset(why),
                Instead::Die => self.die().await,
            }
            return;
        }
        let Some(ask) = ask else {
            let mut reply = Reply::from(nowhere(&received.head));
            quirks.reply(None, &mut reply);
            return self.respond(&received, &quirks, reply, answer).await;
        };
        if received.head.header("content-encoding").any(|coding| !coding.eq_ignore_ascii_case("identity")) {
            let refusal = Refusal::invalid("requests have no content coding");
            return self.respond(&received, &quirks, refusal.into(), answer).await;
        }
        let endpoint = ask.route.endpoint;
        match endpoint {
            Endpoint::Events => return self.subscribe(&received, &ask, &quirks, answer).await,
            Endpoint::Socket => {
                let refusal = Refusal::invalid("this is a WebSocket: ask for an upgrade");
                return self.respond(&received, &quirks, refusal.into(), answer).await;
            }
            _ => {}
        }
        let late = match endpoint {
            Endpoint::SubmitPrompt if quirks.on(Switch::AnswersLate) => self.stage.subscribe(ask.name()).ok(),
            _ => None,
        };
        self.leak(&quirks, &ask);
        let ask = if quirks.on(Switch::Confuses) { self.confuse(ask).await } else { ask };
        let reply = self.stage.ask(ask);
        if let (Some(feed), true) = (late, reply.is_success()) {
            completion(feed).await;
        }
        self.respond(&received, &quirks, reply, answer).await;
        if let Some(name) = endpoint.name() {
            self.happen(MockEvent::Request(name.to_owned()));
        }
    }

    async fn upgrade(&self, request: websocket::Request) {
        let quirks = self.stage.model().quirks.clone();
        let session = Route::of("GET", request.target()).and_then(|route| route.name).unwrap_or_default();
        if let Some(fault) = request.fault() {
            return subscription::refuse(request, &Refusal::invalid(fault), None).await;
        }
        let followed = match self.stage.follow(&session) {
            Err(_) if quirks.on(Switch::SocketsForNobody) => Ok(nobody(&session)),
            followed => followed,
        };
        match followed {
            Ok(feed) => {
                let _subscribed = self.subscribed();
                let reply = websocket::Reply::accepting(&request);
                let (stage, frames) = (self.stage.clone(), quirks.frames());
                let (latency, odd) = (self.draws(), self.odd.clone());
                Follower { stage, session, frames, latency, odd }.run(request, reply, feed).await;
            }
            Err(refusal) => subscription::refuse(request, &refusal, refusal.why).await,
        }
    }
}

/// The events of a session that does not exist.
fn nobody(session: &str) -> Feed {
    let (outlet, feed) = feed();
    let json = json!({"event": "session:start", "data": {"session_id": session, "profile": "dev", "timestamp": "2025-12-09T10:30:00Z"}});
    outlet.put(Arc::new(FeedMessage {
        event: "session:start".to_owned(),
        json: json.to_string(),
        at: Duration::ZERO,
        why: None,
    }));
    feed
}

/// Returns once a prompt is complete, or waits for somebody.
async fn completion(mut feed: Feed) {
    let over = ["prompt:complete", "approval:required", "session:end"];
    while let Ok(told) = feed.next(64).await {
        if told.iter().any(|told| over.contains(&told.event.as_str())) {
            return;
        }
    }
}

/// The refusal of a request for what is no endpoint. Of the fourteen codes only two come with this status.
fn nowhere(head: &HttpRequest) -> Refusal {
    let code = if head.path().starts_with("/profiles") { "PROFILE_NOT_FOUND" } else { "SESSION_NOT_FOUND" };
    Refusal::new(code, "There is no such endpoint").about("endpoint", Value::from(format!("{} …", head.method())))
}
