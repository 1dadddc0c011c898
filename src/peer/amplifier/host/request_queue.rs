//! Where requests arrive: the agent answers them at once, or they are pending until a step answers them.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::Value;

use crate::diagnostic::{Source, Style, render_all};
use crate::peer::amplifier::server::context::ServerContext;
use crate::peer::amplifier::server::deviations::Deviations;
use crate::peer::amplifier::server::model::{EndpointRequest, Feed, FeedEnd, Model, Refusal, Workspace};
use crate::peer::amplifier::server::script::{Script, example};
use crate::peer::http::{OutgoingResponse, PendingRequest, PendingRequests, line};
use crate::protocol::amplifier::verbs::{CutHow, SubscriptionRefusal};
use crate::protocol::amplifier::{Endpoint, Route};
use crate::protocol::words::StreamEnd;
use crate::trace::{HttpRequest, Message, StreamEvent};
use crate::wire::http::{Content, EventWriter, Handler, OnHead, Received, Responder, Response};
use crate::wire::http_head;
use crate::wire::websocket::{self, FrameSpec, Incoming, Reply, Request, SendOptions, Socket};

use super::streams::{OpenSubscriptions, PacedBytes, StreamSink};

/// The name under which subscriptions are withheld.
pub const SUBSCRIBE: &str = "subscribe";

/// The queue of one server, over all its restarts.
#[derive(Default)]
pub struct RequestQueue {
    policy: Mutex<ResponsePolicy>,
    /// Requests that wait for steps.
    pub waiting: PendingRequests<PendingExchange>,
    /// Subscriptions that are open.
    pub streams: Arc<OpenSubscriptions>,
}

/// What a server does by itself. Nothing, where it has no agent.
#[derive(Default, Clone)]
pub struct ResponsePolicy {
    /// Responds to requests and sends the events.
    pub agent: Option<HostAgent>,
    /// Whether all requests but subscriptions are left to steps.
    pub silent: bool,
    /// Endpoints that are left to steps.
    pub withheld: Vec<String>,
    /// Subscriptions that are refused.
    pub refuses: Option<SubscriptionRefusal>,
}

/// A request that waits for its response.
pub enum PendingExchange {
    /// An HTTP request, and the endpoint that it is for.
    Plain(Box<PendingRequest>, Option<Endpoint>),
    /// A handshake for a WebSocket. It can only be refused: what accepts it depends on its key.
    Socket(Box<Request>),
}

impl RequestQueue {
    /// Sets the policy for requests from now on.
    pub fn open(&self, policy: ResponsePolicy) {
        *self.policy.lock().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    fn policy(&self) -> ResponsePolicy {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The refusal of a subscription, where it is to be refused.
    fn refusal(&self, policy: &ResponsePolicy) -> Option<Response> {
        let refuses = policy.refuses.filter(|refuses| self.streams.count() >= refuses.after)?;
        let why = policy.agent.as_ref().and_then(HostAgent::why);
        Some(refuses.response().deliberate(why))
    }

    /// Opens an event stream, and sends the events of its session until it is over.
    async fn stream(&self, agent: &HostAgent, conn: &str, session: &str, responder: Responder) {
        // Fails only where the client is gone, which is in the trace.
        let feed = match agent.subscribe(session) {
            Ok(feed) => feed,
            Err(refusal) => return drop(responder.send(&refusal).await),
        };
        let Ok(body) = responder.start(&Response::event_stream()).await else { return };
        let (sink, writing) = self.streams.open(conn, session, body);
        let feeding = async {
            if let Some(feed) = feed {
                agent.send_feed(feed, &sink).await;
            }
        };
        tokio::pin!(writing);
        tokio::select! {
            () = &mut writing => {}
            () = feeding => writing.await,
        }
    }

    /// Follows a WebSocket that is open, until it is over.
    async fn follow(&self, agent: &HostAgent, socket: Socket, session: &str, feed: Option<Feed>) {
        let Socket { sender, incoming: mut receiver } = socket;
        let conn = sender.conn().to_owned();
        let sink = StreamSink::Socket(sender);
        self.streams.add(&conn, session, sink.clone());
        let feeding = async {
            if let Some(feed) = feed {
                agent.send_feed(feed, &sink).await;
            }
        };
        let listening = async {
            while let Some(incoming) = receiver.recv().await {
                match incoming {
                    Incoming::Message(message) => agent.control(session, &text(&message), &sink).await,
                    Incoming::Closed(_) => return,
                    _ => {}
                }
            }
        };
        tokio::pin!(listening);
        tokio::select! {
            () = &mut listening => {}
            () = feeding => listening.await,
        }
    }

    /// Lets a client in by a WebSocket, or refuses it.
    async fn accept_socket(&self, agent: &HostAgent, request: Request, session: &str) {
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

impl ResponsePolicy {
    /// Whether a request is left to steps.
    fn leaves_to_steps(&self, endpoint: Option<Endpoint>) -> bool {
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

    async fn handle(&self, received: Received, responder: Responder) {
        if let Some(treatment) = self.waiting.repeats(&received) {
            let _busy = self.waiting.begin();
            return treatment.apply(responder).await;
        }
        let policy = self.policy();
        let route = route(&received.head);
        let endpoint = route.as_ref().map(|route| route.endpoint);
        if policy.leaves_to_steps(endpoint) {
            let conn = received.conn.clone();
            let pending = PendingExchange::Plain(Box::new(PendingRequest::new(received, responder)), endpoint);
            return self.waiting.add(conn, pending);
        }
        let Some(agent) = &policy.agent else { return responder.close(Some("nobody is there to answer")) };
        if let (Some(Endpoint::Events), Some(route)) = (endpoint, &route) {
            if let Some(refusal) = self.refusal(&policy) {
                // Fails only where the client is gone, which is in the trace.
                return drop(responder.send(&refusal).await);
            }
            let session = route.name.as_deref().unwrap_or_default();
            return self.stream(agent, &received.conn, session, responder).await;
        }
        let _busy = self.waiting.begin();
        // Fails only where the client is gone, which is in the trace.
        let _ = responder.send(&agent.respond(route, &received.content)).await;
    }

    async fn upgrade(&self, request: Request) {
        let policy = self.policy();
        let session = Route::of("GET", request.target()).and_then(|route| route.name).unwrap_or_default();
        if policy.leaves_to_steps(Some(Endpoint::Socket)) {
            let conn = request.conn().to_owned();
            return self.waiting.add(conn, PendingExchange::Socket(Box::new(request)));
        }
        if let Some(refusal) = self.refusal(&policy) {
            return self.refuse(request, &reply(&refusal)).await;
        }
        match policy.agent {
            Some(agent) => self.accept_socket(&agent, request, &session).await,
            None => request.hang_up(Some("nobody is there to answer")).await,
        }
    }
}

impl RequestQueue {
    /// Sends a response: before the next step, unless that takes its time.
    pub async fn send(&self, pending: PendingExchange, sending: OutgoingResponse) {
        match pending {
            PendingExchange::Plain(request, _) => self.waiting.send(*request, sending).await,
            PendingExchange::Socket(request) => self.refuse(*request, &reply(&sending.response)).await,
        }
    }
}

impl PendingExchange {
    /// The head of the request.
    pub fn head(&self) -> HttpRequest {
        match self {
            Self::Plain(request, _) => request.head.clone(),
            Self::Socket(request) => HttpRequest::new(request.head.clone(), 0),
        }
    }

    /// The endpoint that it is for.
    pub fn endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Plain(_, endpoint) => *endpoint,
            Self::Socket(..) => Some(Endpoint::Socket),
        }
    }

    /// Ends its connection without a response; `why` says why that is wrong on purpose.
    pub async fn drop(self, how: StreamEnd, why: &str) {
        match (self, how) {
            (Self::Plain(request, _), how) => request.hang_up(how, why),
            (Self::Socket(request), StreamEnd::Eof) => request.hang_up(Some(why)).await,
            (Self::Socket(request), StreamEnd::Reset) => {
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

/// The response to a request for a WebSocket.
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
const MAX_BATCH: usize = 256;

/// Actions leave nothing behind: the client under test is not to be found out by files.
struct NoWorkspace;

impl Workspace for NoWorkspace {
    fn append(&self, _: Option<&str>, _: &str, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// An agent behind a server, and its sessions.
#[derive(Clone)]
pub struct HostAgent {
    context: Arc<ServerContext>,
    /// Whether its events are left to steps.
    quiet: bool,
    /// Why what it does is wrong on purpose, if it is.
    why: Option<String>,
}

impl HostAgent {
    /// An agent that goes by a script, or by the example of the mock server where there is none.
    ///
    /// # Errors
    /// What is wrong with the script, for the scenario's author.
    pub fn new(script: Option<&Value>, port: u16, quiet: bool, why: Option<String>) -> Result<Self, String> {
        let script = match script {
            None => example().clone(),
            Some(script) => read(script)?,
        };
        let model = Model::new(Arc::new(script), Deviations::default(), Box::new(NoWorkspace), Timestamp::now(), port);
        Ok(Self { context: ServerContext::new(model), quiet, why })
    }

    /// Why what it does is wrong on purpose, if it is.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// The response to a request.
    pub fn respond(&self, route: Option<Route>, body: &[u8]) -> Response {
        let (status, body) = match route {
            Some(route) => {
                let reply = self.context.handle(EndpointRequest::read(route, body));
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
        self.context.subscribe(session).map(Some).map_err(refused)
    }

    /// Does what a message over a WebSocket says; the sender learns of a refusal.
    pub async fn control(&self, session: &str, message: &str, sink: &StreamSink) {
        if self.quiet {
            return;
        }
        if let Err(refusal) = self.context.control(session, message) {
            sink.frame(&FrameSpec::text(refusal.body().to_string()), &SendOptions::deliberate(self.why.as_deref()))
                .await;
        }
    }

    /// Sends a subscriber the events of its session, to the end.
    pub async fn send_feed(&self, mut feed: Feed, sink: &StreamSink) {
        let why = self.why.as_deref();
        loop {
            match feed.next(MAX_BATCH).await {
                Ok(messages) if sink.is_socket() => {
                    for message in messages {
                        sink.frame(&FrameSpec::text(message.json.clone()), &SendOptions::deliberate(why)).await;
                    }
                }
                Ok(messages) => {
                    let events =
                        messages.iter().map(|message| EventWriter::default().write(&StreamEvent::data(&*message.json)));
                    let bytes = events.collect::<Vec<_>>().concat();
                    sink.write(PacedBytes { bytes, ..PacedBytes::default() }, why).await;
                }
                Err(FeedEnd::Over | FeedEnd::Slow | FeedEnd::Cut { reset: false }) => {
                    return sink.end(CutHow::End, why).await;
                }
                Err(FeedEnd::Cut { reset: true }) => return sink.end(CutHow::Reset, why).await,
            }
        }
    }
}

/// Reads a script of a scenario: in the format of a file, whose version need not be given.
fn read(script: &Value) -> Result<Script, String> {
    let mut script = script.clone();
    if let Value::Object(script) = &mut script {
        script.entry("wirecert").or_insert_with(|| 1.into());
    }
    Script::parse(&Source::new("script", script.to_string())).map_err(|wrong| render_all(&wrong, Style::Plain))
}
