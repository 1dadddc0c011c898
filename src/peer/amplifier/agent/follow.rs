//! Following a session: by its event stream, with reconnection as an `EventSource` does it (HTML standard, section 9.2.3), or
//! by its WebSocket, with control messages.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::peer::fetch::{Failure, FetchedResponse, Fetcher, Kind, json_of};
use crate::trace::{HttpResponse, StreamEvent};
use crate::wire::Limits;
use crate::wire::http::{Exchange, Incoming, Request};
use crate::wire::websocket::{self, ClientRequest, FrameSpec, Receiver, Sender, Socket};

use super::quirks::{Effect, Switch};
use super::reader::Reader;
use super::request::{PATIENCE, RequestClient};
use super::subscriptions::{Ears, Line};

/// The time that passes before a stream is subscribed to again, where the server has not said otherwise.
const RETRY: Duration = Duration::from_millis(100);
/// It doubles with every attempt that fails, up to this.
const LONGEST_RETRY: Duration = Duration::from_secs(5);
/// The most of what a server can ask for.
const MOST_RETRY: Duration = Duration::from_secs(3600);
/// After this silence a flaw takes a stream for dead.
const SILENCE: Duration = Duration::from_millis(120);

/// An event stream that is followed.
pub struct Stream {
    asker: Arc<RequestClient>,
    ears: Ears,
    line: Line,
    retry: Duration,
    last_id: String,
}

/// Why a stream is not there.
pub enum Refusal {
    /// Nobody answered: it may be tried again.
    Unreached(Failure),
    /// The answer is no.
    Refused(Failure),
}

/// How a stream came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The server ended it.
    Ended,
    /// It was cut.
    Cut,
    /// We have had enough.
    Ours,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unreached(failure) | Refusal::Refused(failure) => failure,
        }
    }
}

/// Subscribes to the events of a session, from the last event on that is known.
///
/// # Errors
/// Where no event stream comes.
pub async fn open_stream(asker: &RequestClient, session: &str, last_id: &str) -> Result<Exchange, Refusal> {
    let path = format!("/sessions/{}/events", asker.encoding().segment(session));
    let mut request = Request::new("GET", asker.target(&path))
        .header("Accept", "text/event-stream")
        .header("Cache-Control", "no-cache");
    if !last_id.is_empty() && !asker.quirks.has(Switch::NoLastEventId) {
        request = request.header("Last-Event-ID", last_id);
    }
    let change = |effect| if let Effect::Subscription(change) = effect { Some(change) } else { None };
    let why = asker.quirks.rewrite(&mut request, change);
    asker.finish(&mut request, why);
    // It is held for as long as it lasts: it takes no connection from anybody.
    request.fresh = true;
    let sent = asker.client.send(None, &request).await;
    let mut exchange = sent.map_err(|e| Refusal::Unreached(Failure::new(Kind::Refused, e.to_string())))?;
    let head = match timeout(PATIENCE, exchange.head()).await {
        Ok(Ok(head)) => head,
        Ok(Err(broken)) => return Err(Refusal::Unreached(Failure::of_exchange(&broken, false))),
        Err(_) => return Err(Refusal::Unreached(Failure::new(Kind::Late, "the server did not answer in time"))),
    };
    if is_stream(asker, &head) { Ok(exchange) } else { Err(Refusal::Refused(refusal(head, exchange).await)) }
}

/// Whether an answer is the stream that was asked for.
fn is_stream(asker: &RequestClient, head: &HttpResponse) -> bool {
    let has = |switch| asker.quirks.has(switch);
    let given = head.header("content-type").next().unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    let fits = if has(Switch::ExactStreamType) {
        given == "text/event-stream"
    } else if has(Switch::StreamTypeByCase) {
        essence == "text/event-stream"
    } else {
        has(Switch::AnyStreamType) || essence.eq_ignore_ascii_case("text/event-stream")
    };
    head.status() == Some(200) && fits
}

/// Why an answer is no stream, with what its body says of it.
async fn refusal(head: HttpResponse, mut exchange: Exchange) -> Failure {
    let status = head.status().unwrap_or_default();
    if status < 400 {
        exchange.control.close(None).await;
        let what = format!("the answer with the status {status} is no event stream");
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

impl Stream {
    /// Of a session; `line` holds what it goes over.
    pub fn new(asker: Arc<RequestClient>, ears: Ears, line: Line) -> Self {
        Self { asker, ears, line, retry: RETRY, last_id: String::new() }
    }

    fn has(&self, switch: Switch) -> bool {
        self.asker.quirks.has(switch)
    }

    /// Follows it until it is not to be subscribed to again.
    pub async fn follow(mut self, exchange: Exchange) {
        let mut exchange = Some(exchange);
        while let Some(open) = exchange.take() {
            self.line.hold_stream(open.control.clone());
            self.ears.state("connected").await;
            let ending = self.read(open).await;
            self.ears.release().await;
            if self.goes_on(ending) {
                exchange = self.again().await;
            }
        }
        self.line.clear();
        self.ears.state("disconnected").await;
    }

    fn goes_on(&self, ending: Ending) -> bool {
        match ending {
            Ending::Ours => false,
            _ if self.ears.session_ended() || self.has(Switch::NoReconnection) => false,
            Ending::Ended => !self.has(Switch::NotAfterEnd),
            Ending::Cut => true,
        }
    }

    /// Subscribes again, over and over; none where that is of no use.
    async fn again(&mut self) -> Option<Exchange> {
        let mut pause = if self.has(Switch::OwnRetryTime) { RETRY } else { self.retry };
        loop {
            self.ears.state("reconnecting").await;
            sleep(pause).await;
            match open_stream(&self.asker, self.ears.session(), &self.last_id).await {
                Ok(exchange) => {
                    self.ears.again().await;
                    return Some(exchange);
                }
                Err(Refusal::Refused(_)) if !self.has(Switch::NeverGone) => return None,
                Err(Refusal::Unreached(_)) if self.has(Switch::NotAfterRefusal) => return None,
                Err(_) => pause = (pause * 2).clamp(RETRY, LONGEST_RETRY.max(self.retry)),
            }
        }
    }

    /// Reads a stream to its end.
    async fn read(&mut self, mut exchange: Exchange) -> Ending {
        let mut reader = Reader::new(self.asker.quirks.clone());
        let mut ending = Ending::Ended;
        loop {
            let wake = self.ears.wake();
            let incoming = tokio::select! {
                incoming = exchange.recv() => incoming,
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {
                    self.ears.release().await;
                    continue;
                }
                () = sleep(SILENCE), if self.has(Switch::NoSilence) => {
                    self.ears.give_up();
                    return Ending::Ours;
                }
            };
            match incoming {
                Some(Incoming::Body(body)) => {
                    let read = reader.read(body.bytes.as_bytes());
                    if read.deafens {
                        self.ears.deafen();
                    }
                    if read.dies {
                        self.ears.die().await;
                    }
                    for event in read.events {
                        self.event(event).await;
                    }
                    if read.gives_up {
                        self.ears.give_up();
                    }
                    if self.has(Switch::EndsWithSession) && self.ears.session_ended() {
                        return Ending::Ours;
                    }
                }
                Some(Incoming::Broken(_)) => ending = Ending::Cut,
                Some(_) => {}
                None => break,
            }
        }
        for event in reader.rest() {
            self.event(event).await;
        }
        ending
    }

    async fn event(&mut self, event: StreamEvent) {
        if let Some(id) = &event.id {
            self.last_id.clone_from(id);
        }
        if let Some(retry) = event.retry {
            self.retry = Duration::from_millis(retry).min(MOST_RETRY);
        }
        if self.asker.quirks.any(|effect| matches!(effect, Effect::EndsAt(ends) if ends(&event))) {
            self.ears.give_up();
        }
        let Some(data) = &event.data else {
            if self.has(Switch::TellsNothing) && event.comment.is_none() {
                self.ears.hear(serde_json::json!({"event": "message", "data": null})).await;
            }
            return;
        };
        // The document's extension listens to messages alone. What is no JSON keeps the stream alive.
        if event.event_type() == "message"
            && let Ok(message) = serde_json::from_str(data)
        {
            self.ears.hear(message).await;
        }
    }
}

/// Opens the WebSocket of a session.
///
/// # Errors
/// Where it is refused, or nobody answers.
pub async fn open_socket(asker: &RequestClient, session: &str) -> Result<Socket, Failure> {
    let path = format!("/sessions/{}/ws", asker.encoding().segment(session));
    let mut request = ClientRequest::new(asker.target(&path));
    let change = |effect| if let Effect::Handshake(change) = effect { Some(change) } else { None };
    request.manner.deliberate = asker.quirks.rewrite(&mut request, change).map(str::to_owned);
    let opened = websocket::connect(&asker.url.address, &request, asker.exchanges.tap(None), &Limits::default()).await;
    let opened = opened.map_err(|e| Failure::new(Kind::Refused, e.to_string()))?;
    let Some(fault) = opened.why_not else { return Ok(opened.socket) };
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
pub async fn follow_socket(asker: &RequestClient, mut ears: Ears, line: Line, mut incoming: Receiver) {
    ears.state("connected").await;
    loop {
        let wake = ears.wake();
        let came = tokio::select! {
            came = incoming.recv() => came,
            () = tokio::time::sleep_until(wake.unwrap_or_else(tokio::time::Instant::now)), if wake.is_some() => {
                ears.release().await;
                continue;
            }
        };
        match came {
            Some(websocket::Incoming::Message(message)) => {
                let whole = message.frames == 1 || !asker.quirks.has(Switch::WholeFramesOnly);
                if let Some(json) = message.json.filter(|_| whole) {
                    ears.hear(json).await;
                }
            }
            Some(websocket::Incoming::Frame(_) | websocket::Incoming::Bytes(_)) => {}
            Some(websocket::Incoming::Closed(_)) | None => break,
        }
    }
    ears.release().await;
    if asker.quirks.has(Switch::SilentClose) {
        return;
    }
    line.clear();
    ears.state("disconnected").await;
}

/// Sends a control message.
///
/// # Errors
/// Where the WebSocket has been closed.
pub async fn control(asker: &RequestClient, sender: &Sender, mut message: Value) -> Result<Value, Failure> {
    let change = |effect| if let Effect::Control(change) = effect { Some(change) } else { None };
    let mut why = asker.quirks.rewrite(&mut message, change);
    let mut frame = FrameSpec::text(message.to_string());
    let change = |effect| if let Effect::Frame(change) = effect { Some(change) } else { None };
    why = asker.quirks.rewrite(&mut frame, change).or(why);
    let sent = sender.send_unless_closing(&frame, why).await;
    match sent {
        Ok(()) if !sender.has_ended() => Ok(Value::Null),
        _ if asker.quirks.has(Switch::SilentClose) => Ok(Value::Null),
        Ok(()) => Err(Failure::new(Kind::Closed, "the WebSocket has been closed")),
        Err(e) => Err(Failure::new(Kind::Closed, e.to_string())),
    }
}
