//! Where requests arrive: answered by the agent at once, or held until a step says what becomes of them.

use std::sync::{Arc, Mutex, PoisonError};

use crate::peer::amplifier::server::model::Feed;
use crate::peer::hosting::{DropMode, OutgoingResponse, PendingRequest, PendingRequests};
use crate::protocol::amplifier::{Endpoint, Route};
use crate::trace::{HttpRequest, Message};
use crate::wire::http::{Content, Handler, OnHead, Received, Responder, Response};
use crate::wire::websocket::{Incoming, Reply, Request, SendOptions, Socket};
use crate::wire::{http_head, websocket};

use super::agent::Agent;
use super::steps::Refuses;
use super::streams::{StreamSink, Streams};

/// The name under which subscriptions are withheld.
pub const SUBSCRIBE: &str = "subscribe";

/// The queue of one server, over all its restarts.
#[derive(Default)]
pub struct RequestQueue {
    plan: Mutex<Plan>,
    /// What waits for steps.
    pub waiting: PendingRequests<PendingExchange>,
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
    pub async fn send(&self, door: PendingExchange, sending: OutgoingResponse) {
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
    pub async fn drop(self, how: DropMode, why: &str) {
        match (self, how) {
            (Self::Plain(held, _), how) => held.hang_up(how, why),
            (Self::Socket(request), DropMode::Eof) => request.hang_up(Some(why)).await,
            (Self::Socket(request), DropMode::Reset) => {
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
