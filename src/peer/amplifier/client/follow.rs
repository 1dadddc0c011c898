//! Following a session: by its event stream, with reconnection as an `EventSource` does it (HTML standard, section
//! 9.2.3), or by its WebSocket, with control messages.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::peer::deviation::Includes;
use crate::peer::deviation::websocket::{FrameKind, SocketSwitch};
use crate::peer::http::fetch::{Failure, FetchedResponse, Fetcher, Kind, json_of};
use crate::trace::{HttpResponse, StreamEvent, opcode};
use crate::wire::Limits;
use crate::wire::http::{BodyDecoder, Exchange, Incoming};
use crate::wire::websocket::{self, ClientRequest, FrameSpec, HandshakeError, Receiver, Sender, Socket};

use super::deviations::AmplifierClientEffect;
use super::reader::EventStreamReader;
use super::request_client::{PATIENCE, RequestClient};
use super::subscriptions::{ConnectionSlot, EventReporter};
use super::{event_stream_request, events_path, socket_path};

/// The time that passes before a stream is subscribed to again, where the server has not said otherwise.
const RETRY: Duration = Duration::from_millis(100);
/// The retry time doubles with every attempt that fails, up to this.
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// The most of what a server can ask for.
const MAX_RETRY: Duration = Duration::from_secs(3600);
/// After this silence a flaw takes a stream for dead.
const SILENCE: Duration = Duration::from_millis(120);

/// What a client can do otherwise with the connection of a subscription, and where it connects again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowSwitch {
    /// A content coding is offered for streams, and not undone.
    Undecoded,
    /// A stream with parameters in its content type is not taken.
    ExactStreamType,
    /// Whatever its content type, a response is a stream.
    AnyStreamType,
    /// A stream whose content type is written in upper case is not taken.
    StreamTypeByCase,
    /// An event without data is reported.
    TellsNothing,
    /// A stream that is silent for a moment is given up.
    NoSilence,
    /// A stream that was cut is not subscribed to again.
    NoReconnection,
    /// A stream that the server ended is not subscribed to again.
    NotAfterEnd,
    /// One attempt is made to subscribe again.
    NotAfterRefusal,
    /// It subscribes again to what is gone.
    NeverGone,
    /// The time that the server gives makes no difference.
    OwnRetryTime,
    /// It does not say which event was the last.
    NoLastEventId,
    /// It sends the last id of any of its streams.
    LastIdShared,
    /// It closes a stream when the session has ended.
    EndsWithSession,
    /// Nobody learns that a WebSocket was closed or refused.
    SilentClose,
    /// `Sec-WebSocket-Accept` is not looked at.
    AcceptUnchecked,
}

/// An event stream that is followed.
pub struct EventStreamFollower {
    requester: Arc<RequestClient>,
    reporter: EventReporter,
    slot: ConnectionSlot,
    retry: Duration,
    last_id: String,
}

/// Why a stream is not there.
pub enum SubscribeError {
    /// The server did not respond: it may be tried again.
    Unreached(Failure),
    /// The server refused it.
    Refused(Failure),
}

/// How a stream came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamEnding {
    /// The server ended it.
    Ended,
    /// The connection was cut.
    Cut,
    /// The client gave it up.
    GivenUp,
}

impl From<SubscribeError> for Failure {
    fn from(refusal: SubscribeError) -> Self {
        match refusal {
            SubscribeError::Unreached(failure) | SubscribeError::Refused(failure) => failure,
        }
    }
}

/// An event stream whose response has begun.
pub struct OpenEventStream {
    exchange: Exchange,
    /// Undoes the content coding; none where it is not known.
    coding: Option<BodyDecoder>,
}

/// Subscribes to the events of a session, from the last event on that is known.
///
/// # Errors
/// Where no event stream comes.
pub async fn open_stream(
    requester: &RequestClient,
    session: &str,
    last_id: &str,
) -> Result<OpenEventStream, SubscribeError> {
    let path = events_path(&requester.encoding().segment(session));
    let mut request = event_stream_request(requester.target(&path));
    if !last_id.is_empty() && !requester.deviations.has(FollowSwitch::NoLastEventId) {
        request = request.header("Last-Event-ID", last_id);
    }
    if requester.deviations.has(FollowSwitch::Undecoded) {
        request = request.header("Accept-Encoding", "gzip");
    }
    let change = |effect| if let AmplifierClientEffect::Subscription(change) = effect { Some(change) } else { None };
    let why = requester.deviations.rewrite(&mut request, change);
    requester.apply_deviations(&mut request, why);
    // It is held for as long as it lasts: it takes no connection from anybody.
    request.fresh = true;
    let sent = requester.client.send(None, &request).await;
    let mut exchange = sent.map_err(|e| SubscribeError::Unreached(Failure::new(Kind::Refused, e.to_string())))?;
    let head = match timeout(PATIENCE, exchange.head()).await {
        Ok(Ok(head)) => head,
        Ok(Err(broken)) => return Err(SubscribeError::Unreached(Failure::of_exchange(&broken, false))),
        Err(_) => return Err(SubscribeError::Unreached(Failure::new(Kind::Late, "the server did not answer in time"))),
    };
    if is_stream(requester, &head) {
        let coding = head.header("content-encoding").filter(|_| !requester.deviations.has(FollowSwitch::Undecoded));
        Ok(OpenEventStream { exchange, coding: BodyDecoder::of(coding) })
    } else {
        Err(SubscribeError::Refused(refusal_failure(head, exchange).await))
    }
}

/// Whether a response is the event stream that was requested.
fn is_stream(requester: &RequestClient, head: &HttpResponse) -> bool {
    let has = |switch| requester.deviations.has(switch);
    let given = head.header("content-type").next().unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    let fits = if has(FollowSwitch::ExactStreamType) {
        given == "text/event-stream"
    } else if has(FollowSwitch::StreamTypeByCase) {
        essence == "text/event-stream"
    } else {
        has(FollowSwitch::AnyStreamType) || essence.eq_ignore_ascii_case("text/event-stream")
    };
    head.status() == Some(200) && fits
}

/// Why a response is no stream, with what its body says of it.
async fn refusal_failure(head: HttpResponse, mut exchange: Exchange) -> Failure {
    let status = head.status().unwrap_or_default();
    if status < 400 {
        exchange.control.close(None).await;
        let what = format!("the response with the status {status} is no event stream");
        return Failure::new(Kind::Status, what).with_status(status);
    }
    let mut body = vec![];
    let limits = Fetcher::limits(PATIENCE);
    while let Some(incoming) = exchange.recv().await {
        if let Incoming::Body(piece) = incoming {
            let room = limits.head.saturating_sub(body.len());
            body.extend(piece.bytes.as_bytes().iter().take(room));
        }
    }
    RequestClient::failure(&FetchedResponse::new("subscribe", head).with_body(body))
}

impl EventStreamFollower {
    /// Follows a session; `slot` gets the connection that the stream goes over.
    pub fn new(requester: Arc<RequestClient>, reporter: EventReporter, slot: ConnectionSlot) -> Self {
        Self { requester, reporter, slot, retry: RETRY, last_id: String::new() }
    }

    fn has<K: PartialEq>(&self, switch: K) -> bool
    where
        AmplifierClientEffect: Includes<K>,
    {
        self.requester.deviations.has(switch)
    }

    /// Follows it until it is not to be subscribed to again.
    pub async fn follow(mut self, stream: OpenEventStream) {
        let mut stream = Some(stream);
        while let Some(open) = stream.take() {
            self.slot.set_stream(open.exchange.control.clone());
            self.reporter.report_state("connected").await;
            let ending = self.read(open).await;
            self.reporter.release().await;
            if self.reconnects(ending) {
                stream = self.reconnect().await;
            }
        }
        self.slot.clear();
        self.reporter.report_state("disconnected").await;
    }

    fn reconnects(&self, ending: StreamEnding) -> bool {
        match ending {
            StreamEnding::GivenUp => false,
            _ if self.reporter.session_ended() || self.has(FollowSwitch::NoReconnection) => false,
            StreamEnding::Ended => !self.has(FollowSwitch::NotAfterEnd),
            StreamEnding::Cut => true,
        }
    }

    /// Subscribes again, over and over; none where that is of no use.
    async fn reconnect(&mut self) -> Option<OpenEventStream> {
        let mut pause = if self.has(FollowSwitch::OwnRetryTime) { RETRY } else { self.retry };
        loop {
            self.reporter.report_state("reconnecting").await;
            sleep(pause).await;
            if self.has(FollowSwitch::LastIdShared) {
                self.last_id.clone_from(&self.requester.memory.lock().last_event_id);
            }
            match open_stream(&self.requester, self.reporter.session(), &self.last_id).await {
                Ok(stream) => {
                    self.reporter.reconnected().await;
                    return Some(stream);
                }
                Err(SubscribeError::Refused(_)) if !self.has(FollowSwitch::NeverGone) => return None,
                Err(SubscribeError::Unreached(_)) if self.has(FollowSwitch::NotAfterRefusal) => return None,
                Err(_) => pause = (pause * 2).clamp(RETRY, MAX_BACKOFF.max(self.retry)),
            }
        }
    }

    /// Reads a stream to its end.
    async fn read(&mut self, stream: OpenEventStream) -> StreamEnding {
        let OpenEventStream { mut exchange, mut coding } = stream;
        let mut reader = EventStreamReader::new(self.requester.deviations.clone());
        let mut ending = StreamEnding::Ended;
        loop {
            let wake = self.reporter.release_at();
            let incoming = tokio::select! {
                incoming = exchange.recv() => incoming,
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {
                    self.reporter.release().await;
                    continue;
                }
                () = sleep(SILENCE), if self.has(FollowSwitch::NoSilence) => {
                    self.reporter.give_up();
                    return StreamEnding::GivenUp;
                }
            };
            match incoming {
                Some(Incoming::Body(body)) => {
                    let plain = coding.as_mut().map(|coding| coding.decode(body.bytes.as_bytes())).unwrap_or_default();
                    let read = reader.read(&plain);
                    if read.stops_responding {
                        self.reporter.stop_responding();
                    }
                    if read.exits {
                        self.reporter.exit().await;
                    }
                    for event in read.events {
                        self.event(event).await;
                    }
                    if read.gives_up {
                        self.reporter.give_up();
                    }
                    if self.has(FollowSwitch::EndsWithSession) && self.reporter.session_ended() {
                        return StreamEnding::GivenUp;
                    }
                }
                Some(Incoming::Broken(_)) => ending = StreamEnding::Cut,
                Some(_) => {}
                None => break,
            }
        }
        for event in reader.incomplete_events() {
            self.event(event).await;
        }
        ending
    }

    async fn event(&mut self, event: StreamEvent) {
        if let Some(id) = &event.id {
            self.last_id.clone_from(id);
            self.requester.memory.lock().last_event_id.clone_from(id);
        }
        if let Some(retry) = event.retry {
            self.retry = Duration::from_millis(retry).min(MAX_RETRY);
        }
        if self.requester.deviations.any(|effect| matches!(effect, AmplifierClientEffect::EndsAt(ends) if ends(&event)))
        {
            self.reporter.give_up();
        }
        let Some(data) = &event.data else {
            if self.has(FollowSwitch::TellsNothing) && event.comment.is_none() {
                self.reporter.receive(serde_json::json!({"event": "message", "data": null})).await;
            }
            return;
        };
        // The document's extension listens to messages alone. What is no JSON keeps the stream alive.
        if event.event_type() == "message"
            && let Ok(message) = serde_json::from_str(data)
        {
            self.reporter.receive(message).await;
        }
    }
}

/// Opens the WebSocket of a session.
///
/// # Errors
/// Where it is refused, or the server does not respond.
pub async fn open_socket(requester: &RequestClient, session: &str) -> Result<Socket, Failure> {
    let path = socket_path(&requester.encoding().segment(session));
    let mut request = ClientRequest::new(requester.target(&path));
    request.options.pong = !requester.deviations.has(SocketSwitch::NoPong);
    request.options.close = !requester.deviations.has(SocketSwitch::CloseIgnored);
    request.send_options.deliberate = requester.deviations.handshake_request(&mut request).map(str::to_owned);
    let opened =
        websocket::connect(&requester.url.address, &request, requester.exchanges.tap(None), &Limits::default()).await;
    let opened = opened.map_err(|e| Failure::new(Kind::Refused, e.to_string()))?;
    let Some(fault) = opened.why_not else { return Ok(opened.socket) };
    if matches!(fault, HandshakeError::Accept(_)) && requester.deviations.has(FollowSwitch::AcceptUnchecked) {
        return Ok(opened.socket);
    }
    let status = opened.response.as_ref().and_then(|head| head.status());
    let body = opened.response.as_ref().and_then(|head| head.body.as_ref());
    let json = body.and_then(|body| json_of(body.as_bytes()).ok());
    let failure = match json.as_ref().and_then(|json| json.get("error")).filter(|error| error.is_object()) {
        Some(error) => Failure::of_error(error),
        None => Failure::new(Kind::Status, fault.to_string()),
    };
    Err(match status {
        Some(status) => failure.with_status(status),
        None => failure,
    })
}

/// Tells what comes over it, until it is closed.
pub async fn follow_socket(
    requester: &RequestClient,
    mut reporter: EventReporter,
    slot: ConnectionSlot,
    mut receiver: Receiver,
) {
    reporter.report_state("connected").await;
    loop {
        let wake = reporter.release_at();
        let incoming = tokio::select! {
            incoming = receiver.recv() => incoming,
            () = tokio::time::sleep_until(wake.unwrap_or_else(tokio::time::Instant::now)), if wake.is_some() => {
                reporter.release().await;
                continue;
            }
        };
        match incoming {
            Some(websocket::Incoming::Message(message)) => {
                let complete = message.frames == 1 || !requester.deviations.has(SocketSwitch::IgnoresFragments);
                if let Some(json) = message.json.filter(|_| complete) {
                    reporter.receive(json).await;
                }
            }
            Some(websocket::Incoming::Frame(_) | websocket::Incoming::Bytes(_)) => {}
            Some(websocket::Incoming::Closed(_)) | None => break,
        }
    }
    reporter.release().await;
    if requester.deviations.has(FollowSwitch::SilentClose) {
        return;
    }
    slot.clear();
    reporter.report_state("disconnected").await;
}

/// Sends a control message.
///
/// # Errors
/// Where the WebSocket has been closed.
pub async fn control(requester: &RequestClient, sender: &Sender, mut message: Value) -> Result<Value, Failure> {
    let change = |effect| if let AmplifierClientEffect::Control(change) = effect { Some(change) } else { None };
    let mut why = requester.deviations.rewrite(&mut message, change);
    let mut text = message.to_string().into_bytes();
    why = requester.deviations.message_text(&mut text).or(why);
    let mut sent = Ok(());
    for (frame, flaw) in requester.deviations.frames(FrameKind::Message, FrameSpec::new(opcode::TEXT, text)) {
        sent = sender.send_unless_closing(&frame, flaw.or(why)).await;
        if sent.is_err() {
            break;
        }
    }
    match sent {
        Ok(()) if !sender.has_ended() => Ok(Value::Null),
        _ if requester.deviations.has(FollowSwitch::SilentClose) => Ok(Value::Null),
        Ok(()) => Err(Failure::new(Kind::Closed, "the WebSocket has been closed")),
        Err(e) => Err(Failure::new(Kind::Closed, e.to_string())),
    }
}
