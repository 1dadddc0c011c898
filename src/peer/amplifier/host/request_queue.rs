//! Where requests arrive: the agent answers them at once, or they are pending until a step answers them.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::Value;

use crate::diagnostic::{Source, Style, render_all};
use crate::peer::amplifier::server::context::ServerContext;
use crate::peer::amplifier::server::model::{Ask, Feed, FeedEnd, Model, Refusal, Workspace};
use crate::peer::amplifier::server::quirks::Quirks;
use crate::peer::amplifier::server::script::{Script, example};
use crate::peer::hosting::{How, PendingRequest, Sending, Waiting, line};
use crate::protocol::amplifier::{Endpoint, Route};
use crate::trace::{HttpRequest, Message, StreamEvent};
use crate::wire::http::{Content, EventWriter, Handler, OnHead, Received, Responder, Response};
use crate::wire::websocket::{FrameSpec, Incoming, Reply, Request, SendOptions, Socket};
use crate::wire::{http_head, websocket};

use super::steps::Refuses;
use super::streams::{Bytes, CutHow, StreamSink, Streams};

/// The name under which subscriptions are withheld.
pub const SUBSCRIBE: &str = "subscribe";

/// The queue of one server, over all its restarts.
#[derive(Default)]
pub struct RequestQueue {
    plan: Mutex<Plan>,
    /// What waits for steps.
    pub waiting: Waiting<PendingExchange>,
    /// Subscriptions that are open.
    pub streams: Arc<Streams>,
}

/// What a server does by itself. Nothing, where it has no agent.
#[derive(Default, Clone)]
pub struct Plan {
    /// Answers, and tells what happens.
    pub agent: Option<Agent>,
    /// Whether all requests but subscriptions are left to steps.
    pub silent: bool,
    /// Endpoints that are.
    pub withheld: Vec<String>,
    /// Subscriptions that are refused.
    pub refuses: Option<Refuses>,
}

/// A request that waits for its answer.
pub enum PendingExchange {
    /// Of HTTP, and what it asks for.
    Plain(Box<PendingRequest>, Option<Endpoint>),
    /// For a WebSocket. It can only be refused: what accepts it depends on its key.
    Socket(Box<Request>),
}

impl RequestQueue {
    /// From now on requests are answered so.
    pub fn open(&self, plan: Plan) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    fn plan(&self) -> Plan {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The refusal of a subscription, where it is to be refused.
    fn refusal(&self, plan: &Plan) -> Option<Response> {
        let refuses = plan.refuses.filter(|refuses| self.streams.count() >= refuses.after)?;
        let why = plan.agent.as_ref().and_then(Agent::why);
        Some(refuses.response().deliberate(why))
    }

    /// Opens an event stream, and tells what happens in its session until it is over.
    async fn stream(&self, agent: &Agent, conn: &str, session: &str, answer: Responder) {
        // Fails only where the client is gone, which is in the trace.
        let feed = match agent.subscribe(session) {
            Ok(feed) => feed,
            Err(refusal) => return drop(answer.send(&refusal).await),
        };
        let Ok(body) = answer.start(&Response::event_stream()).await else { return };
        let (outlet, writing) = self.streams.open(conn, session, body);
        let telling = async {
            if let Some(feed) = feed {
                agent.tell(feed, &outlet).await;
            }
        };
        tokio::pin!(writing);
        tokio::select! {
            () = &mut writing => {}
            () = telling => writing.await,
        }
    }

    /// Follows a WebSocket that is open, until it is over.
    async fn follow(&self, agent: &Agent, socket: Socket, session: &str, feed: Option<Feed>) {
        let Socket { sender, mut incoming } = socket;
        let conn = sender.conn().to_owned();
        let outlet = StreamSink::Socket(sender);
        self.streams.add(&conn, session, outlet.clone());
        let telling = async {
            if let Some(feed) = feed {
                agent.tell(feed, &outlet).await;
            }
        };
        let listening = async {
            while let Some(came) = incoming.recv().await {
                match came {
                    Incoming::Message(message) => agent.control(session, &text(&message), &outlet).await,
                    Incoming::Closed(_) => return,
                    _ => {}
                }
            }
        };
        tokio::pin!(listening);
        tokio::select! {
            () = &mut listening => {}
            () = telling => listening.await,
        }
    }

    /// Lets a client in by a WebSocket, or refuses it.
    async fn upgraded(&self, agent: &Agent, request: Request, session: &str) {
        if let Some(fault) = request.fault() {
            return self.refuse(request, &Reply::refusing("400 Bad Request", fault)).await;
        }
        match agent.subscribe(session) {
            Ok(feed) => {
                let accepting = Reply::accepting(&request);
                // Fails only where the client is gone, which is in the trace.
                if let Ok(socket) = request.reply(&accepting).await {
                    self.follow(agent, socket, session, feed).await;
                }
            }
            Err(refusal) => self.refuse(request, &reply(&refusal)).await,
        }
    }

    async fn refuse(&self, request: Request, reply: &Reply) {
        // Fails only where the client is gone, which is in the trace.
        if let Ok(socket) = request.reply(reply).await {
            socket.sender.shutdown().await;
        }
    }
}

impl Plan {
    /// Whether a request is left to steps.
    fn leaves(&self, endpoint: Option<Endpoint>) -> bool {
        match endpoint {
            Some(endpoint @ (Endpoint::Events | Endpoint::Socket)) => self.withholds(name(endpoint)),
            Some(endpoint) => self.silent || self.withholds(name(endpoint)),
            None => self.silent,
        }
    }

    fn withholds(&self, name: &str) -> bool {
        self.withheld.iter().any(|withheld| withheld == name)
    }
}

/// The name of an endpoint, as `withholds` has it.
fn name(endpoint: Endpoint) -> &'static str {
    endpoint.name().unwrap_or(SUBSCRIBE)
}

fn route(head: &HttpRequest) -> Option<Route> {
    Route::of(head.method(), head.target())
}

impl Handler for RequestQueue {
    fn on_head(&self, head: &HttpRequest) -> OnHead {
        match route(head) {
            Some(Route { endpoint: Endpoint::Socket, .. }) => OnHead::Upgrade,
            _ => OnHead::Read,
        }
    }

    async fn handle(&self, received: Received, answer: Responder) {
        if let Some(treatment) = self.waiting.repeats(&received) {
            let _busy = self.waiting.begin();
            return treatment.apply(answer).await;
        }
        let plan = self.plan();
        let route = route(&received.head);
        let endpoint = route.as_ref().map(|route| route.endpoint);
        if plan.leaves(endpoint) {
            let conn = received.conn.clone();
            let door = PendingExchange::Plain(Box::new(PendingRequest::new(received, answer)), endpoint);
            return self.waiting.add(conn, door);
        }
        let Some(agent) = &plan.agent else { return answer.close(Some("nobody is there to answer")) };
        if let (Some(Endpoint::Events), Some(route)) = (endpoint, &route) {
            if let Some(refusal) = self.refusal(&plan) {
                // Fails only where the client is gone, which is in the trace.
                return drop(answer.send(&refusal).await);
            }
            let session = route.name.as_deref().unwrap_or_default();
            return self.stream(agent, &received.conn, session, answer).await;
        }
        let _busy = self.waiting.begin();
        // Fails only where the client is gone, which is in the trace.
        let _ = answer.send(&agent.answer(route, &received.content)).await;
    }

    async fn upgrade(&self, request: Request) {
        let plan = self.plan();
        let session = Route::of("GET", request.target()).and_then(|route| route.name).unwrap_or_default();
        if plan.leaves(Some(Endpoint::Socket)) {
            let conn = request.conn().to_owned();
            return self.waiting.add(conn, PendingExchange::Socket(Box::new(request)));
        }
        if let Some(refusal) = self.refusal(&plan) {
            return self.refuse(request, &reply(&refusal)).await;
        }
        match plan.agent {
            Some(agent) => self.upgraded(&agent, request, &session).await,
            None => request.hang_up(Some("nobody is there to answer")).await,
        }
    }
}

impl RequestQueue {
    /// Sends an answer: before the next step, unless that takes its time.
    pub async fn send(&self, door: PendingExchange, sending: Sending) {
        match door {
            PendingExchange::Plain(held, _) => self.waiting.send(*held, sending).await,
            PendingExchange::Socket(request) => self.refuse(*request, &reply(&sending.response)).await,
        }
    }
}

impl PendingExchange {
    /// The head of the request.
    pub fn head(&self) -> HttpRequest {
        match self {
            Self::Plain(held, _) => held.head.clone(),
            Self::Socket(request) => HttpRequest::new(request.head.clone(), 0),
        }
    }

    /// What it asks for.
    pub fn endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Plain(_, endpoint) => *endpoint,
            Self::Socket(..) => Some(Endpoint::Socket),
        }
    }

    /// Ends its connection without an answer; `why` says why that is wrong on purpose.
    pub async fn drop(self, how: How, why: &str) {
        match (self, how) {
            (Self::Plain(held, _), how) => held.hang_up(how, why),
            (Self::Socket(request), How::Eof) => request.hang_up(Some(why)).await,
            (Self::Socket(request), How::Reset) => {
                request.leave_unanswered(websocket::Options::default()).sender.reset(Some(why)).await;
            }
        }
    }
}

/// The text of a message; of JSON, as good a text.
fn text(message: &Message) -> String {
    match (&message.json, &message.payload) {
        (Some(json), _) => json.to_string(),
        (None, Some(payload)) => payload.as_text().unwrap_or_default().to_owned(),
        (None, None) => String::new(),
    }
}

/// The answer to a request for a WebSocket.
fn reply(response: &Response) -> Reply {
    let body = match &response.content {
        Content::None => vec![],
        Content::Whole(bytes) => bytes.clone(),
        Content::Raw(pieces) | Content::Chunked { pieces, .. } => {
            pieces.iter().flat_map(|piece| piece.bytes.clone()).collect()
        }
    };
    let head = match &response.raw {
        Some(raw) => http_head::parse(raw),
        None => response.head(true),
    };
    let manner = SendOptions {
        deliberate: response.manner.deliberate.clone(),
        split: response.manner.split,
        cut: response.manner.cut,
    };
    Reply { head, body, manner }
}

/// How many events are written at a time.
const AT_ONCE: usize = 256;

/// Actions leave nothing behind: the client under test is not to be found out by files.
struct NoWorkspace;

impl Workspace for NoWorkspace {
    fn append(&self, _: Option<&str>, _: &str, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// An agent behind a server, and its sessions.
#[derive(Clone)]
pub struct Agent {
    stage: Arc<ServerContext>,
    /// Whether its events are left to steps.
    quiet: bool,
    /// Why what it does is wrong on purpose, if it is.
    why: Option<String>,
}

impl Agent {
    /// One that goes by a script, or by the example of the mock server where there is none.
    ///
    /// # Errors
    /// What is wrong with the script, for the scenario's author.
    pub fn new(script: Option<&Value>, port: u16, quiet: bool, why: Option<String>) -> Result<Self, String> {
        let script = match script {
            None => example().clone(),
            Some(script) => read(script)?,
        };
        let model = Model::new(Arc::new(script), Quirks::default(), Box::new(NoWorkspace), Timestamp::now(), port);
        Ok(Self { stage: ServerContext::new(model), quiet, why })
    }

    /// Why what it does is wrong on purpose, if it is.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// The answer to a request.
    pub fn answer(&self, route: Option<Route>, body: &[u8]) -> Response {
        let (status, body) = match route {
            Some(route) => {
                let reply = self.stage.ask(Ask::read(route, body));
                (reply.status, reply.body)
            }
            None => (404, Refusal::invalid("there is no such endpoint").body()),
        };
        Response::new(line(status)).json(&body).deliberate(self.why.as_deref())
    }

    /// The head of the stream of a session, and its events; none where these are left to steps. A refusal where there
    /// is no such session.
    pub fn subscribe(&self, session: &str) -> Result<Option<Feed>, Response> {
        // Steps write into the streams of sessions that only they know.
        if self.quiet {
            return Ok(None);
        }
        let refused = |refusal: Refusal| Response::new(line(refusal.status)).json(&refusal.body());
        self.stage.subscribe(session).map(Some).map_err(refused)
    }

    /// Does what a message over a WebSocket says; what went wrong is told to its sender.
    pub async fn control(&self, session: &str, message: &str, outlet: &StreamSink) {
        if self.quiet {
            return;
        }
        if let Err(refusal) = self.stage.control(session, message) {
            outlet
                .frame(&FrameSpec::text(refusal.body().to_string()), &SendOptions::deliberate(self.why.as_deref()))
                .await;
        }
    }

    /// Tells a subscriber what happens in its session, to the end.
    pub async fn tell(&self, mut feed: Feed, outlet: &StreamSink) {
        let why = self.why.as_deref();
        loop {
            match feed.next(AT_ONCE).await {
                Ok(told) if outlet.is_socket() => {
                    for one in told {
                        outlet.frame(&FrameSpec::text(one.json.clone()), &SendOptions::deliberate(why)).await;
                    }
                }
                Ok(told) => {
                    let events = told.iter().map(|one| EventWriter::default().write(&StreamEvent::data(&*one.json)));
                    let bytes = events.collect::<Vec<_>>().concat();
                    outlet.write(Bytes { bytes, ..Bytes::default() }, why).await;
                }
                Err(FeedEnd::Over | FeedEnd::Slow | FeedEnd::Cut { reset: false }) => {
                    return outlet.end(CutHow::End, why).await;
                }
                Err(FeedEnd::Cut { reset: true }) => return outlet.end(CutHow::Reset, why).await,
            }
        }
    }
}

/// A script that stands in a scenario: in the format of a file, whose version need not be said.
fn read(script: &Value) -> Result<Script, String> {
    let mut script = script.clone();
    if let Value::Object(script) = &mut script {
        script.entry("wirecert").or_insert_with(|| 1.into());
    }
    Script::parse(&Source::new("script", script.to_string())).map_err(|wrong| render_all(&wrong, Style::Plain))
}
