//! Where requests arrive: answered by the agent at once, or held until a step says what becomes of them.

use std::sync::{Arc, Mutex, PoisonError};

use crate::peer::hosting::{Held, How, Sending, Waiting};
use crate::protocol::amplifier::{Endpoint, Route};
use crate::trace::HttpRequest;
use crate::wire::http::{Content, Handler, OnHead, Received, Responder, Response};
use crate::wire::websocket::{Incoming, Manner, Reply, Request, Socket};
use crate::wire::{http_head, websocket};

use super::streams::{Outlet, Streams};

/// The name under which subscriptions are withheld.
pub const SUBSCRIBE: &str = "subscribe";

/// The desk of one server, over all its restarts.
#[derive(Default)]
pub struct Desk {
    plan: Mutex<Plan>,
    /// What waits for steps.
    pub waiting: Waiting<Door>,
    /// Subscriptions that are open.
    pub streams: Arc<Streams>,
}

/// What a server does by itself.
#[derive(Default, Clone)]
pub struct Plan {
    /// Whether all requests but subscriptions are left to steps.
    pub silent: bool,
    /// Endpoints that are.
    pub withheld: Vec<String>,
    /// Why what it does is wrong on purpose, if it is.
    pub why: Option<String>,
}

/// A request that waits for its answer.
pub enum Door {
    /// Of HTTP, and what it asks for.
    Plain(Held, Option<Endpoint>),
    /// For a WebSocket, and the session that it is to follow.
    Socket(Box<Request>, String),
}

impl Desk {
    /// From now on requests are answered so.
    pub fn open(&self, plan: Plan) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }

    fn plan(&self) -> Plan {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Follows a WebSocket that is open.
    async fn follow(&self, socket: Socket, session: &str) {
        let Socket { sender, mut incoming } = socket;
        let conn = sender.conn().to_owned();
        self.streams.add(&conn, session, Outlet::Socket(sender));
        while let Some(came) = incoming.recv().await {
            if let Incoming::Closed(_) = came {
                return;
            }
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

impl Handler for Desk {
    fn on_head(&self, head: &HttpRequest) -> OnHead {
        match route(head) {
            Some(Route { endpoint: Endpoint::Socket, .. }) => OnHead::Upgrade,
            _ => OnHead::Read,
        }
    }

    async fn handle(&self, received: Received, answer: Responder) {
        let plan = self.plan();
        let route = route(&received.head);
        let endpoint = route.as_ref().map(|route| route.endpoint);
        if plan.leaves(endpoint) {
            let door = Door::Plain(Held { head: received.head, answer }, endpoint);
            return self.waiting.add(received.conn, door);
        }
        if endpoint == Some(Endpoint::Events) {
            let session = route.and_then(|route| route.name).unwrap_or_default();
            let stream = Response::event_stream().deliberate(plan.why.as_deref());
            // Fails only where the client is gone, which is in the trace.
            if let Ok(body) = answer.start(&stream).await {
                self.streams.open(&received.conn, &session, body).await;
            }
        }
    }

    async fn upgrade(&self, request: Request) {
        let plan = self.plan();
        let session = Route::of("GET", request.target()).and_then(|route| route.name).unwrap_or_default();
        if plan.leaves(Some(Endpoint::Socket)) {
            let conn = request.conn().to_owned();
            return self.waiting.add(conn, Door::Socket(Box::new(request), session));
        }
        let reply = match request.fault() {
            None => Reply::accepting(&request),
            Some(fault) => Reply::refusing("400 Bad Request", fault),
        };
        // Fails only where the client is gone, which is in the trace.
        if let Ok(socket) = request.reply(&reply).await {
            self.answered(socket, &reply, &session).await;
        }
    }
}

impl Desk {
    /// Goes on after the answer to a request for a WebSocket.
    async fn answered(&self, socket: Socket, reply: &Reply, session: &str) {
        if reply.head.status() == Some(101) {
            self.follow(socket, session).await;
        } else {
            socket.sender.shutdown().await;
        }
    }

    /// Sends an answer: before the next step, unless that takes its time.
    pub async fn send(self: &Arc<Self>, door: Door, sending: Sending) {
        match door {
            Door::Plain(held, _) => {
                let guard = self.waiting.begin();
                let slow = sending.is_slow();
                let sent = async move {
                    // Fails only where the client is gone, which is in the trace.
                    let _ = sending.send(held.answer).await;
                    drop(guard);
                };
                if slow {
                    tokio::spawn(sent);
                } else {
                    sent.await;
                }
            }
            Door::Socket(request, session) => {
                let reply = reply(&sending.response);
                if let Ok(socket) = request.reply(&reply).await {
                    let desk = self.clone();
                    tokio::spawn(async move { desk.answered(socket, &reply, &session).await });
                }
            }
        }
    }
}

impl Door {
    /// The head of the request.
    pub fn head(&self) -> HttpRequest {
        match self {
            Self::Plain(held, _) => held.head.clone(),
            Self::Socket(request, _) => HttpRequest::new(request.head.clone(), 0),
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
            (Self::Plain(held, _), how) => held.drop(how, why),
            (Self::Socket(request, _), How::Eof) => request.hang_up(Some(why)).await,
            (Self::Socket(request, _), How::Reset) => {
                request.leave_unanswered(websocket::Options::default()).sender.reset(Some(why)).await;
            }
        }
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
    let manner = Manner {
        deliberate: response.manner.deliberate.clone(),
        split: response.manner.split,
        cut: response.manner.cut,
    };
    Reply { head, body, manner }
}
