//! An Amplifier server on a socket: the peer of plays against a client, and the mock.
//!
//! [`AmplifierServer`] takes in requests and handshakes, and carries out what whoever steers it decides ([`Steering`]): the steps of a
//! scenario (`step_steering`), or the flaws and freedoms of a mock (`mock_steering`). Behind both is the same [`model::Model`] with an
//! agent that goes by a [`script::Script`]; a [`context::ServerContext`] has it go on by itself. `subscription` serves the events of
//! a session.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::peer::http::server::{Pending, StepHandler};
use crate::peer::http::{Decision, OutgoingResponse, PendingRequest, PendingRequests, line};
use crate::protocol::amplifier::{Endpoint, Route};
use crate::protocol::words::{StopMode, StreamEnd};
use crate::trace::HttpRequest;
use crate::wire::http::{Content, Handler, OnHead, ReceiveError, Received, Responder, Response};
use crate::wire::http_head;
use crate::wire::websocket::{self, Reply, Request, Sender};

use self::deviations::Deviations;
use self::model::{EndpointRequest, Refusal};
use self::open_subscriptions::StreamOrder;
use self::subscription::{EventStreamSubscription, SocketSubscription};

pub mod context;
pub mod deviations;
pub mod format;
pub mod mock;
mod mock_steering;
pub mod model;
mod open_subscriptions;
pub mod script;
mod step_steering;
pub mod steps;
mod subscription;

/// A server that serves.
pub struct AmplifierServer<S> {
    /// Decides on its requests.
    pub steering: S,
    /// The requests that wait for steps; a mock leaves none to them.
    waiting: PendingRequests<PendingExchange>,
}

/// Who steers a server: decides what becomes of its requests.
pub trait Steering: Send + Sync + 'static {
    /// Kept for as long as a subscription lasts.
    type Subscribed<'a>: Send
    where
        Self: 'a;

    /// Decides on a request as it is understood; none where there is no such endpoint.
    fn decide(
        &self,
        received: &Received,
        request: Option<EndpointRequest>,
    ) -> impl Future<Output = RequestDecision> + Send;

    /// Decides on a handshake for the WebSocket of a session.
    fn decide_upgrade(&self, request: &Request, session: &str) -> UpgradeDecision;

    /// Called once a request for an endpoint has been answered.
    fn answered(&self, _endpoint: Endpoint) {}

    /// A subscription begins.
    fn subscribe(&self) -> Self::Subscribed<'_>;

    /// The stream of a subscription is open. Gives the orders for it, where there can be such.
    fn stream_opened(&self, _conn: &str, _session: &str) -> Option<mpsc::Receiver<StreamOrder>> {
        None
    }

    /// The stream of a subscription has ended.
    fn stream_ended(&self, _session: &str) {}

    /// The WebSocket of a subscription is open.
    fn socket_opened(&self, _session: &str, _sender: &Sender) {}

    /// Called for a request whose head alone has come.
    fn on_head(&self, _head: &HttpRequest) {}

    /// Called for a request that could not be received, or whose client left.
    fn on_receive_error(&self, _error: ReceiveError) {}

    /// Ends the streams that steps write into, since the server ends.
    fn end_streams(&self, _how: StopMode, _why: &str, _within: Duration) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// What becomes of a request.
pub enum RequestDecision {
    /// It waits for a step.
    Wait,
    /// This; where it is the response of an endpoint, of which one.
    Now(Decision, Option<Endpoint>),
    /// It is answered with the events of a session.
    Stream(Box<EventStreamSubscription>),
}

impl From<Decision> for RequestDecision {
    fn from(decision: Decision) -> Self {
        Self::Now(decision, None)
    }
}

impl From<OutgoingResponse> for RequestDecision {
    fn from(response: OutgoingResponse) -> Self {
        Decision::Respond(Box::new(response)).into()
    }
}

/// What becomes of a handshake.
pub enum UpgradeDecision {
    /// It waits for a step.
    Wait,
    /// It is refused.
    Refuse(Response),
    /// Its connection is ended without a response, for this reason.
    HangUp(&'static str),
    /// It is accepted, and the events of a session are sent.
    Follow(Box<SocketSubscription>),
}

impl<S> AmplifierServer<S> {
    /// A server that is steered so.
    pub fn new(steering: S) -> Self {
        Self { steering, waiting: PendingRequests::default() }
    }
}

impl<S: Steering> Handler for AmplifierServer<S> {
    fn on_head(&self, head: &HttpRequest) -> OnHead {
        let route = Route::of(head.method(), head.target());
        let socket = route.is_some_and(|route| route.endpoint == Endpoint::Socket);
        if socket && head.header("upgrade").next().is_some() {
            return OnHead::Upgrade;
        }
        self.steering.on_head(head);
        OnHead::Read
    }

    fn on_receive_error(&self, error: ReceiveError) {
        self.steering.on_receive_error(error);
    }

    async fn handle(&self, received: Received, responder: Responder) {
        if let Some(decision) = self.waiting.repeats(&received) {
            let _busy = self.waiting.begin();
            return decision.carry_out(responder).await;
        }
        let route = Route::of(received.head.method(), received.head.target());
        let endpoint = route.as_ref().map(|route| route.endpoint);
        let request = route.map(|route| EndpointRequest::read(route, &received.content));
        match self.steering.decide(&received, request).await {
            RequestDecision::Wait => {
                let conn = received.conn.clone();
                let pending = PendingRequest::new(received, responder);
                self.waiting.add(conn, PendingExchange::Plain(Box::new(pending), endpoint));
            }
            RequestDecision::Now(decision, answered) => {
                let _busy = self.waiting.begin();
                decision.carry_out(responder).await;
                if let Some(endpoint) = answered {
                    self.steering.answered(endpoint);
                }
            }
            RequestDecision::Stream(subscription) => {
                let session = subscription.session.clone();
                let _subscribed = self.steering.subscribe();
                let opened = || self.steering.stream_opened(&received.conn, &session);
                // Rare and large: every request would carry room for it.
                Box::pin(subscription.run(responder, opened)).await;
                self.steering.stream_ended(&session);
            }
        }
    }

    async fn upgrade(&self, request: Request) {
        let session = Route::of("GET", request.target()).and_then(|route| route.name).unwrap_or_default();
        match self.steering.decide_upgrade(&request, &session) {
            UpgradeDecision::Wait => {
                self.waiting.add(request.conn().to_owned(), PendingExchange::Socket(Box::new(request)));
            }
            UpgradeDecision::Refuse(response) => refuse(request, &response).await,
            UpgradeDecision::HangUp(why) => request.hang_up(Some(why)).await,
            UpgradeDecision::Follow(subscription) => {
                let _subscribed = self.steering.subscribe();
                subscription.run(request, |sender| self.steering.socket_opened(&session, sender)).await;
            }
        }
    }
}

impl<S: Steering> StepHandler for AmplifierServer<S> {
    type Pending = PendingExchange;
    const NAME: &'static str = "server";
    const PATH: &'static str = "";
    const PROVES: &'static str = "http/client-endpoint";

    fn waiting(&self) -> &PendingRequests<PendingExchange> {
        &self.waiting
    }

    async fn end_streams(&self, how: StopMode, why: &str, within: Duration) {
        self.steering.end_streams(how, why, within).await;
    }
}

/// A request that waits for its response.
pub enum PendingExchange {
    /// An HTTP request, and the endpoint that it is for.
    Plain(Box<PendingRequest>, Option<Endpoint>),
    /// A handshake for a WebSocket. It can only be refused: what accepts it depends on its key.
    Socket(Box<Request>),
}

impl PendingExchange {
    /// The endpoint that it is for.
    pub fn endpoint(&self) -> Option<Endpoint> {
        match self {
            Self::Plain(_, endpoint) => *endpoint,
            Self::Socket(..) => Some(Endpoint::Socket),
        }
    }
}

impl Pending for PendingExchange {
    fn head(&self) -> HttpRequest {
        match self {
            Self::Plain(request, _) => request.head.clone(),
            Self::Socket(request) => HttpRequest::new(request.head.clone(), 0),
        }
    }

    fn repeatable(&self) -> Option<&PendingRequest> {
        match self {
            Self::Plain(request, _) => Some(request),
            Self::Socket(_) => None,
        }
    }

    async fn send(self, waiting: &PendingRequests<Self>, response: OutgoingResponse) {
        match self {
            Self::Plain(request, _) => waiting.send(*request, response).await,
            Self::Socket(request) => refuse(*request, &response.response).await,
        }
    }

    async fn hang_up(self, how: StreamEnd, why: &str) {
        match (self, how) {
            (Self::Plain(request, _), how) => request.hang_up(how, why).await,
            (Self::Socket(request), StreamEnd::Eof) => request.hang_up(Some(why)).await,
            (Self::Socket(request), StreamEnd::Reset) => {
                request.leave_unanswered(websocket::Options::default()).sender.reset(Some(why)).await;
            }
        }
    }
}

/// Refuses a handshake with a response.
async fn refuse(request: Request, response: &Response) {
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
    let reply = Reply { interim: vec![], head, body, send_options: response.send_options.clone() };
    // Fails only where the client is gone, which is in the trace.
    if let Ok(socket) = request.reply(&reply).await {
        socket.sender.shutdown().await;
    }
}

/// The response with a reply of the model, as deviations change it.
fn response(reply: model::Reply, received: &Received, deviations: &Deviations) -> Response {
    let mut why = reply.why;
    let mut body = reply.body.to_string().into_bytes();
    why = deviations.body(&mut body).or(why);
    let mut response = Response::new(line(reply.status));
    response = response.header("Content-Type", "application/json").content(Content::Whole(body));
    why = deviations.response(&mut response, received).or(why);
    response.deliberate(why)
}

/// The request that the model is to answer.
///
/// # Errors
/// Why it is refused before the model has it.
fn check(received: &Received, request: Option<EndpointRequest>) -> Result<EndpointRequest, Refusal> {
    let request = request.ok_or_else(|| unknown_endpoint(&received.head))?;
    if received.head.header("content-encoding").any(|coding| !coding.eq_ignore_ascii_case("identity")) {
        return Err(Refusal::invalid("requests have no content coding"));
    }
    if request.route.endpoint == Endpoint::Socket {
        return Err(Refusal::invalid("this is a WebSocket: ask for an upgrade"));
    }
    Ok(request)
}

/// The response that refuses a handshake.
fn refusal_response(refusal: &Refusal) -> Response {
    Response::new(line(refusal.status)).json(&refusal.body()).deliberate(refusal.why)
}

/// The refusal of a request for what is no endpoint. Of the fourteen codes only two come with this status.
fn unknown_endpoint(head: &HttpRequest) -> Refusal {
    let code = if head.path().starts_with("/profiles") { "PROFILE_NOT_FOUND" } else { "SESSION_NOT_FOUND" };
    Refusal::new(code, "There is no such endpoint").about("endpoint", Value::from(format!("{} …", head.method())))
}
