//! Following a session by its event stream, and connecting again as an `EventSource` does (HTML standard, section
//! 9.2.3).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::peer::fetch::{Failure, FetchedResponse, Fetcher, Kind};
use crate::trace::{HttpResponse, StreamEvent};
use crate::wire::http::{Exchange, Incoming, Request};

use super::ask::{PATIENCE, RequestClient};
use super::quirks::{Effect, Switch};
use super::reader::Reader;
use super::subscriptions::Line;
use super::tell::Ears;

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
pub async fn open(asker: &RequestClient, session: &str, last_id: &str) -> Result<Exchange, Refusal> {
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
            match open(&self.asker, self.ears.session(), &self.last_id).await {
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
