//! Requests as a client makes them that knows nothing of frames and bytes: one request, one whole answer, or why there
//! is none.

mod failure;
mod fetched_response;
mod retry;
mod text;

pub use failure::{Failure, Kind};
pub use fetched_response::{FetchedResponse, has_others};
pub use retry::{Retries, Safe};
pub use text::json_of;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::trace::{HttpResponse, Message, Payload};
use crate::wire::http::{Broken, Client, Incoming, Limits, Request};
use crate::wire::tcp::ConnectError;

/// How many bytes of an answer are read.
const MOST: usize = 64 << 20;
/// A connection that was used within this time is not one that stood idle.
const IDLE: Duration = Duration::from_millis(10);

/// Makes requests, and knows of those before.
#[derive(Default)]
pub struct Fetcher {
    weak: ClientLimitations,
    past: Mutex<Past>,
    one_body: tokio::sync::Mutex<()>,
}

/// What a flawed client cannot do.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientLimitations {
    /// It does not notice that a connection ended with the answer before.
    pub ignores_close: bool,
    /// It reads the body of one answer at a time.
    pub one_body: bool,
    /// It decodes each piece of a body by itself.
    pub pieces_apart: bool,
}

/// What is remembered of earlier exchanges.
#[derive(Default)]
struct Past {
    /// The highest number of a TCP connection.
    tcp: u64,
    /// When the last answer came, and whether it said that its connection ends.
    last: Option<(Instant, bool)>,
}

/// Why there is no whole answer.
#[derive(Debug)]
pub enum RequestError {
    /// No connection could be made.
    Refused(ConnectError),
    /// A weakness: the connection is closed, and that was not noticed.
    Lost,
    /// The exchange broke; the head is that of an answer that had begun.
    Broken(Broken, Option<HttpResponse>),
}

impl RequestError {
    /// Whether nobody has read the request: its connection was closed while it stood idle.
    pub fn is_idle_close(&self) -> bool {
        matches!(self, Self::Broken(Broken::Closed { reused: true, .. }, None))
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Refused(error) => Self::new(Kind::Refused, error.to_string()),
            RequestError::Lost => Self::new(Kind::Flaw, "the connection is closed"),
            RequestError::Broken(broken, head) => Self::of_exchange(&broken, head.is_some()),
        }
    }
}

impl Fetcher {
    /// With these weaknesses.
    pub fn new(weak: ClientLimitations) -> Self {
        Self { weak, ..Self::default() }
    }

    /// Bounds for its clients: an answer may take `patience`.
    pub fn limits(patience: Duration) -> Limits {
        Limits { message: MOST, body: MOST as u64, head_within: patience, body_within: patience, ..Limits::default() }
    }

    /// Sends a request and waits for the whole answer. `of` says what is asked for: a method, an endpoint.
    ///
    /// # Errors
    /// Where there is no whole answer.
    pub async fn fetch(
        &self,
        client: &Client,
        of: &'static str,
        request: &Request,
    ) -> Result<FetchedResponse, RequestError> {
        let mut exchange = client.send(None, request).await.map_err(RequestError::Refused)?;
        let (reused, replaced, lost) = self.connection(exchange.control.tcp());
        if lost && self.weak.ignores_close {
            return Err(RequestError::Lost);
        }
        let (mut interim, mut told_to_go_on) = (false, false);
        let (mut head, mut pieces, mut message) = (None::<HttpResponse>, vec![], None::<Message>);
        let mut one_body = None;
        while let Some(incoming) = exchange.recv().await {
            match incoming {
                Incoming::Interim(head) => {
                    interim = true;
                    told_to_go_on |= head.status() == Some(100);
                }
                Incoming::Head(found) => {
                    head = Some(found);
                    if self.weak.one_body {
                        one_body = Some(self.one_body.lock().await);
                    }
                }
                Incoming::Body(body) => pieces.push(body.bytes.as_bytes().to_vec()),
                Incoming::Event(_) => {}
                Incoming::Message(found) => message = Some(found),
                Incoming::Broken(broken) => return Err(RequestError::Broken(broken, head)),
            }
        }
        drop(one_body);
        let Some(head) = head else { return Err(RequestError::Broken(Broken::Ours, None)) };
        self.note_end(&head);
        let body = self.body(&head, &pieces, message);
        let status = head.status().unwrap_or_default();
        let json = json_of(&body).ok();
        Ok(FetchedResponse { of, status, head, interim, told_to_go_on, reused, replaced, body, json })
    }

    /// What is known of a connection: whether it was used before, whether it took the place of one that had stood idle,
    /// and whether the one before it ended with its answer.
    fn connection(&self, tcp: u64) -> (bool, bool, bool) {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        let reused = tcp <= past.tcp;
        past.tcp = past.tcp.max(tcp);
        let replaced = past.last.is_some_and(|(at, closes)| !reused && !closes && at.elapsed() > IDLE);
        let lost = past.last.take().is_some_and(|(_, closes)| closes);
        (reused, replaced, lost)
    }

    fn note_end(&self, head: &HttpResponse) {
        let closes = head.header("connection").any(|value| value.to_ascii_lowercase().contains("close"));
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.last = Some((Instant::now(), closes));
    }

    /// The body with its content coding undone.
    fn body(&self, head: &HttpResponse, pieces: &[Vec<u8>], message: Option<Message>) -> Vec<u8> {
        let coded = head.header("content-encoding").next().is_some();
        match message {
            Some(Message { payload: Some(Payload::Text(text)), .. }) if coded => text.into_bytes(),
            Some(Message { payload: Some(Payload::Binary(bytes)), .. }) if coded => bytes.to_vec(),
            Some(Message { json: Some(json), .. }) if coded => json.to_string().into_bytes(),
            _ if self.weak.pieces_apart => {
                pieces.iter().flat_map(|piece| String::from_utf8_lossy(piece).into_owned().into_bytes()).collect()
            }
            _ => pieces.concat(),
        }
    }
}
