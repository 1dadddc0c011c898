//! Requests as a client makes them that knows nothing of frames and bytes: [`Fetcher`] sends one request, and gives one
//! complete response or the reason why there is none.

use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::trace::{HttpResponse, Message, Payload};
use crate::wire::http::{Broken, Client, Incoming, Limits, Request};
use crate::wire::tcp::ConnectError;

/// How many bytes of a response are read.
const MAX_BODY: usize = 64 << 20;
/// A connection that was used within this time is not one that stood idle.
const IDLE: Duration = Duration::from_millis(10);

/// Makes requests, and knows of those before.
#[derive(Default)]
pub struct Fetcher {
    limitations: ClientLimitations,
    history: Mutex<FetchHistory>,
    one_body: tokio::sync::Mutex<()>,
}

/// What a flawed client cannot do.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientLimitations {
    /// It does not notice that a connection ended with the response before.
    pub ignores_close: bool,
    /// It reads the body of one response at a time.
    pub one_body: bool,
    /// It decodes each piece of a body by itself.
    pub pieces_apart: bool,
}

/// What a fetcher remembers of earlier exchanges.
#[derive(Default)]
struct FetchHistory {
    /// The highest number of a TCP connection.
    tcp: u64,
    /// When the last response came, and whether it said that its connection ends.
    last: Option<(Instant, bool)>,
}

/// Why there is no whole response.
#[derive(Debug)]
pub enum RequestError {
    /// No connection could be made.
    Refused(ConnectError),
    /// A weakness: the connection is closed, and that was not noticed.
    Lost,
    /// The exchange broke; the head is that of a response that had begun.
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
    /// A fetcher with these limitations.
    pub fn new(limitations: ClientLimitations) -> Self {
        Self { limitations, ..Self::default() }
    }

    /// Bounds for its clients: a response may take `patience`.
    pub fn limits(patience: Duration) -> Limits {
        Limits {
            message: MAX_BODY,
            body: MAX_BODY as u64,
            head_within: patience,
            body_within: patience,
            ..Limits::default()
        }
    }

    /// Sends a request and waits for the whole response. `of` says what is asked for: a method, an endpoint.
    ///
    /// # Errors
    /// Where there is no whole response.
    pub async fn fetch(
        &self,
        client: &Client,
        of: &'static str,
        request: &Request,
    ) -> Result<FetchedResponse, RequestError> {
        let mut exchange = client.send(None, request).await.map_err(RequestError::Refused)?;
        let (reused, replaced, lost) = self.connection(exchange.control.tcp());
        if lost && self.limitations.ignores_close {
            return Err(RequestError::Lost);
        }
        let (mut interim, mut continued) = (false, false);
        let (mut head, mut pieces, mut message) = (None::<HttpResponse>, vec![], None::<Message>);
        let mut one_body = None;
        while let Some(incoming) = exchange.recv().await {
            match incoming {
                Incoming::Interim(head) => {
                    interim = true;
                    continued |= head.status() == Some(100);
                }
                Incoming::Head(found) => {
                    head = Some(found);
                    if self.limitations.one_body {
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
        self.remember_response(&head);
        let body = self.body(&head, &pieces, message);
        let status = head.status().unwrap_or_default();
        let json = json_of(&body).ok();
        Ok(FetchedResponse { of, status, head, interim, continued, reused, replaced, body, json })
    }

    /// What is known of a connection: whether it was used before, whether it took the place of one that had stood idle,
    /// and whether the one before it ended with its response.
    fn connection(&self, tcp: u64) -> (bool, bool, bool) {
        let mut history = self.history.lock();
        let reused = tcp <= history.tcp;
        history.tcp = history.tcp.max(tcp);
        let replaced = history.last.is_some_and(|(at, closes)| !reused && !closes && at.elapsed() > IDLE);
        let lost = history.last.take().is_some_and(|(_, closes)| closes);
        (reused, replaced, lost)
    }

    fn remember_response(&self, head: &HttpResponse) {
        let closes = head.header("connection").any(|value| value.to_ascii_lowercase().contains("close"));
        let mut history = self.history.lock();
        history.last = Some((Instant::now(), closes));
    }

    /// The body with its content coding undone.
    fn body(&self, head: &HttpResponse, pieces: &[Vec<u8>], message: Option<Message>) -> Vec<u8> {
        let coded = head.header("content-encoding").next().is_some();
        match message {
            Some(Message { payload: Some(Payload::Text(text)), .. }) if coded => text.into_bytes(),
            Some(Message { payload: Some(Payload::Binary(bytes)), .. }) if coded => bytes.to_vec(),
            Some(Message { json: Some(json), .. }) if coded => json.to_string().into_bytes(),
            _ if self.limitations.pieces_apart => {
                pieces.iter().flat_map(|piece| String::from_utf8_lossy(piece).into_owned().into_bytes()).collect()
            }
            _ => pieces.concat(),
        }
    }
}

/// A whole response.
#[derive(Debug)]
pub struct FetchedResponse {
    /// What was asked for: a method, an endpoint.
    pub of: &'static str,
    pub status: u16,
    pub head: HttpResponse,
    /// Whether interim responses came before it.
    pub interim: bool,
    /// Whether one of them was `100 Continue`.
    pub continued: bool,
    /// Whether its connection had carried an exchange before.
    pub reused: bool,
    /// Whether its connection took the place of one that the server had closed without a word.
    pub replaced: bool,
    /// The body, its content coding undone.
    pub body: Vec<u8>,
    /// The JSON of the body, where it is JSON.
    pub json: Option<Value>,
}

impl FetchedResponse {
    /// A response of which nothing but the head is known.
    pub fn new(of: &'static str, head: HttpResponse) -> Self {
        let (status, body, json) = (head.status().unwrap_or_default(), vec![], None);
        let (interim, continued, reused, replaced) = (false, false, false, false);
        Self { of, status, head, interim, continued, reused, replaced, body, json }
    }

    /// A header, whatever the case of its name.
    pub fn header<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.head.header(name).next()
    }

    /// Whether a header is there, its name written in another way than this.
    pub fn has_header_but_not_as(&self, name: &str) -> bool {
        self.header(name).is_some() && !self.head.headers.iter().any(|(given, _)| given == name)
    }

    /// A member of the response.
    pub fn member(&self, key: &str) -> Option<&Value> {
        self.json.as_ref()?.get(key)
    }

    /// The response with another body.
    pub fn with_body(self, body: Vec<u8>) -> Self {
        Self { json: json_of(&body).ok(), body, ..self }
    }
}

/// Whether an object has members beside these.
pub fn has_others(value: &Value, known: &[&str]) -> bool {
    value.as_object().is_some_and(|members| members.keys().any(|key| !known.contains(&key.as_str())))
}

/// The kind of a failure; flaws make fragile clients of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The server answered with an error of the protocol.
    Error,
    /// The status is none of 200 to 299, and the response is no error of the protocol.
    Status,
    /// The body is no JSON.
    Json,
    /// The JSON is nested too deep.
    Deep,
    /// The body does not decode by its content coding.
    Coding,
    /// The body is no response of the protocol.
    Envelope,
    /// The result has the wrong type.
    Type,
    /// The response is no HTTP.
    Http,
    /// The connection ended before anything came.
    Closed,
    /// The response was cut short.
    Cut,
    /// Nobody listens.
    Refused,
    /// The response took too long.
    Late,
    /// A flaw does not take it.
    Flaw,
}

/// A failed call.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The kind of the failure.
    pub kind: Kind,
    message: String,
    code: Option<Value>,
    status: Option<u16>,
}

impl Failure {
    /// A failure of this kind, with a message for the caller.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), code: None, status: None }
    }

    /// A failure from a status that is none of 200 to 299.
    pub fn of_status(status: u16) -> Self {
        Self { status: Some(status), ..Self::new(Kind::Status, format!("HTTP error {status}")) }
    }

    /// A failure from the `error` of a response.
    pub fn of_error(error: &Value) -> Self {
        let message = error.get("message").or(Some(error)).and_then(Value::as_str).unwrap_or("the server failed");
        Self { code: error.get("code").cloned(), ..Self::new(Kind::Error, message) }
    }

    /// Sets the status of the response.
    pub fn with_status(self, status: u16) -> Self {
        Self { status: Some(status), ..self }
    }

    /// A failure from an exchange that broke; `begun` where a part of the response had come.
    pub fn of_exchange(broken: &Broken, begun: bool) -> Self {
        let kind = match broken {
            Broken::Fault(_) => Kind::Http,
            Broken::Late { .. } => Kind::Late,
            _ if begun => Kind::Cut,
            _ => Kind::Closed,
        };
        Self::new(kind, broken.to_string())
    }

    /// The failure as JSON for the caller.
    pub fn to_json(&self) -> Value {
        let mut error = json!({"message": self.message});
        if let Some(code) = &self.code {
            error["code"] = code.clone();
        }
        if let Some(status) = self.status {
            error["status"] = status.into();
        }
        error
    }
}

/// The pauses before each further attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(60)];

/// When a client makes a request again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retries {
    /// After a response with a status that may pass.
    pub after_status: bool,
    /// After the connection ended before the response was whole.
    pub after_cut: bool,
}

/// Whether a request may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeatable {
    /// No more than making it once does: its method is idempotent, or it only asks for something.
    Always,
    /// Nobody knows, unless no response has begun.
    Unanswered,
}

impl Retries {
    /// How long to wait before the request is made again; none where it is not. `made` is how often it was made again
    /// before.
    pub fn pause(self, outcome: &Result<FetchedResponse, Failure>, safe: Repeatable, made: usize) -> Option<Duration> {
        let again = match outcome {
            Ok(seen) => self.after_status && safe == Repeatable::Always && may_pass(seen.status),
            Err(failure) if failure.kind == Kind::Closed => self.after_cut,
            Err(failure) => {
                self.after_cut && safe == Repeatable::Always && matches!(failure.kind, Kind::Cut | Kind::Http)
            }
        };
        PAUSES.get(made).copied().filter(|_| again)
    }
}

/// Whether what a response with this status says may be over soon.
fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}

/// The JSON of a body, past a byte order mark.
///
/// # Errors
/// Where it is none, or nested too deep.
pub fn json_of(body: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body))
}
