//! Subscriptions that are open ([`OpenSubscriptions`]), and what steps write into them: events, frames and their ends; and
//! the responses that steps send.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::peer::http::line;
use crate::protocol::amplifier::verbs::{
    Answer, CutHow, ErrorBody, Event, FrameHeader, LineEndChoice, Outcome, Stream, StreamContent, SubscriptionRefusal,
};
use crate::protocol::amplifier::{CODES, Endpoint};
use crate::protocol::http::verbs::{Delivery, Status};
use crate::trace::StreamEvent;
use crate::wire::http::{BodyWriter, Broken, EventWriter, LineEnd, Response};
use crate::wire::websocket::{FrameSpec, Mask, SendOptions, Sender};

/// How many orders wait for a stream that is slow.
const MAX_ORDERS: usize = 64;

/// How large chunks are.
const CHUNK: usize = 64 << 10;

/// How long the other end of a WebSocket has for its close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// All subscriptions of a play, those that are over among them.
pub struct OpenSubscriptions {
    list: Mutex<Vec<OpenSubscription>>,
    /// How many were opened.
    opened: watch::Sender<usize>,
}

/// A subscription.
#[derive(Clone)]
pub struct OpenSubscription {
    conn: String,
    /// The session whose events it is for.
    pub session: String,
    /// The sink for its events.
    pub sink: StreamSink,
}

/// A sink for the events of a subscription.
#[derive(Clone)]
pub enum StreamSink {
    /// An event stream.
    Events(mpsc::Sender<StreamOrder>),
    /// A WebSocket.
    Socket(Sender),
}

/// Something to be done with an event stream.
pub struct StreamOrder {
    command: StreamCommand,
    why: Option<String>,
    /// Notified once it is done.
    done: oneshot::Sender<()>,
}

enum StreamCommand {
    Write(PacedBytes),
    End(CutHow),
}

/// Bytes, and how they are cut.
#[derive(Clone, Debug, Default)]
pub struct PacedBytes {
    pub bytes: Vec<u8>,
    pub split: Option<usize>,
    /// The time between the pieces; with it, each is a chunk of its own.
    pub pace: Duration,
}

impl Default for OpenSubscriptions {
    fn default() -> Self {
        Self { list: Mutex::default(), opened: watch::Sender::new(0) }
    }
}

impl OpenSubscriptions {
    fn list(&self) -> MutexGuard<'_, Vec<OpenSubscription>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An event stream is open: gives the way to it, and what writes into it, which is done when it is over.
    pub fn open(&self, conn: &str, session: &str, body: BodyWriter) -> (StreamSink, impl Future<Output = ()> + use<>) {
        let (orders, receiver) = mpsc::channel(MAX_ORDERS);
        let sink = StreamSink::Events(orders);
        self.add(conn, session, sink.clone());
        (sink, write(body, receiver))
    }

    /// A subscription is open.
    pub fn add(&self, conn: &str, session: &str, sink: StreamSink) {
        self.list().push(OpenSubscription { conn: conn.to_owned(), session: session.to_owned(), sink });
        self.opened.send_modify(|opened| *opened += 1);
    }

    /// How many subscriptions there have been.
    pub fn count(&self) -> usize {
        self.list().len()
    }

    /// The subscription of this exchange, or the newest one, for which the client has so long.
    pub async fn find(&self, of: Option<&str>, within: Duration) -> Option<OpenSubscription> {
        let mut opened = self.opened.subscribe();
        let waiting = async {
            loop {
                opened.mark_unchanged();
                let found = self.list().iter().rfind(|stream| of.is_none_or(|name| name == stream.conn)).cloned();
                if found.is_some() {
                    return found;
                }
                // The sender lives as long as we do.
                opened.changed().await.ok()?;
            }
        };
        timeout(within, waiting).await.ok().flatten()
    }

    /// Ends all subscriptions.
    pub async fn end_all(&self, how: CutHow, why: Option<&str>, within: Duration) {
        let all = self.list().clone();
        for stream in all {
            // What takes too long is cut with the server.
            let _ = timeout(within, stream.sink.end(how, why)).await;
        }
    }
}

impl StreamSink {
    /// Whether it is a WebSocket.
    pub fn is_socket(&self) -> bool {
        matches!(self, Self::Socket(_))
    }

    /// Writes into an event stream; returns when it is done, or the client is gone.
    pub async fn write(&self, bytes: PacedBytes, why: Option<&str>) {
        self.order(StreamCommand::Write(bytes), why).await;
    }

    /// Sends a frame over a WebSocket.
    pub async fn frame(&self, frame: &FrameSpec, options: &SendOptions) {
        if let Self::Socket(sender) = self {
            // Fails only where the client is gone, which is in the trace.
            let _ = sender.send_in(frame, options).await;
        }
    }

    /// Ends the subscription.
    pub async fn end(&self, how: CutHow, why: Option<&str>) {
        let Self::Socket(sender) = self else { return self.order(StreamCommand::End(how), why).await };
        match (how, why) {
            (CutHow::End, why) => {
                let sent = sender.send_unless_closing(&FrameSpec::close(Some(1000), ""), why).await;
                if sent.is_ok() {
                    // One that does not answer is left alone.
                    let _ = timeout(CLOSE_TIMEOUT, sender.ended()).await;
                }
            }
            (CutHow::Eof, Some(why)) => sender.shutdown_deliberately(why).await,
            (CutHow::Eof, None) => sender.shutdown().await,
            (CutHow::Reset, why) => sender.reset(why).await,
        }
    }

    async fn order(&self, command: StreamCommand, why: Option<&str>) {
        let Self::Events(orders) = self else { return };
        let (done, is_done) = oneshot::channel();
        // Fails only where the client is gone, which is in the trace.
        if orders.send(StreamOrder { command, why: why.map(str::to_owned), done }).await.is_ok() {
            tokio::select! {
                _ = is_done => {}
                // What is sent just when the other end goes may stay in between, and is never done.
                () = orders.closed() => {}
            }
        }
    }
}

/// Carries out the orders for an event stream, until one ends it, or the client leaves.
async fn write(mut body: BodyWriter, mut orders: mpsc::Receiver<StreamOrder>) {
    loop {
        let order = tokio::select! {
            biased;
            order = orders.recv() => order,
            _ = body.gone() => return,
        };
        let Some(StreamOrder { command, why, done }) = order else { return };
        let why = why.as_deref();
        // Fails only where the client is gone, which is in the trace.
        let goes_on = match command {
            StreamCommand::Write(bytes) => bytes.write(&mut body, why).await.is_ok(),
            StreamCommand::End(how) => {
                end(body, how, why).await;
                let _ = done.send(());
                return;
            }
        };
        let _ = done.send(());
        if !goes_on {
            return;
        }
    }
}

async fn end(body: BodyWriter, how: CutHow, why: Option<&str>) {
    match how {
        // Fails only where the client is gone, which is in the trace.
        CutHow::End => drop(body.finish().await),
        CutHow::Eof => body.close(why),
        CutHow::Reset => body.reset(why),
    }
}

impl PacedBytes {
    async fn write(&self, body: &mut BodyWriter, why: Option<&str>) -> Result<(), Broken> {
        match self.split {
            Some(split) if self.pace.is_zero() => body.write_split(&self.bytes, split, why).await,
            split => {
                for piece in self.bytes.chunks(split.unwrap_or(CHUNK)) {
                    sleep(self.pace).await;
                    body.write(piece, why).await?;
                }
                Ok(())
            }
        }
    }
}

/// How much of an event that is repeated is written at a time, in bytes.
const MAX_WRITE: usize = 64 << 10;

impl SubscriptionRefusal {
    /// The refusal.
    pub fn response(self) -> Response {
        let code = CODES.iter().find(|(_, status, _)| *status == self.status).map_or("SERVER_ERROR", |(code, ..)| code);
        let response = Response::new(line(self.status));
        match self.status {
            400.. => response.json(&json!({"error": {"code": code, "message": "no events today", "details": {}}})),
            _ => response,
        }
    }
}

impl Answer {
    /// How it is carried, and its body.
    pub fn delivery(&self, endpoint: Option<Endpoint>) -> (Delivery, Vec<u8>) {
        let (usual, body) = match &self.outcome {
            Outcome::Error(error) => (error.status(), error.body()),
            Outcome::Json(json) => (success(endpoint), json.clone()),
        };
        let status = Some(self.status.clone().unwrap_or(Status::Code(usual)));
        let delivery = Delivery { status, headers: self.headers.clone(), after: self.after, ..Delivery::default() };
        (delivery, body.to_string().into_bytes())
    }
}

impl ErrorBody {
    /// The status of its code; 500 of an unknown one.
    fn status(&self) -> u16 {
        CODES.iter().find(|(code, ..)| *code == self.code).map_or(500, |(_, status, _)| *status)
    }

    fn body(&self) -> Value {
        let message = self.message.as_deref().unwrap_or("it is not to be had today");
        let mut error = json!({ "code": self.code, "message": message });
        match &self.details {
            None => error["details"] = json!({}),
            Some(Value::Null) => {}
            Some(details) => error["details"] = details.clone(),
        }
        json!({ "error": error })
    }
}

/// The status of an endpoint's success.
pub fn success(endpoint: Option<Endpoint>) -> u16 {
    match endpoint {
        Some(Endpoint::CreateSession) => 201,
        Some(Endpoint::SubmitPrompt) => 202,
        _ => 200,
    }
}

impl Event {
    /// The message.
    fn message(&self, session: &str) -> String {
        let mut data = self.data.clone().unwrap_or_else(|| json!({}));
        if let Value::Object(data) = &mut data
            && !data.contains_key("session_id")
        {
            data.insert("session_id".to_owned(), session.into());
        }
        json!({ "event": self.event, "data": data }).to_string()
    }

    /// What to write into an event stream, piece by piece.
    pub fn pieces(&self, session: &str) -> Vec<PacedBytes> {
        let data = match self.lines {
            Some(lines) => with_line_feeds(&self.message(session), lines),
            None => self.message(session),
        };
        let event = StreamEvent {
            event: self.kind.clone(),
            data: Some(data),
            id: self.id.clone(),
            retry: self.retry,
            comment: None,
        };
        let line_end = match self.line_end {
            LineEndChoice::Lf => LineEnd::Lf,
            LineEndChoice::Crlf => LineEnd::CrLf,
            LineEndChoice::Cr => LineEnd::Cr,
        };
        let bytes = EventWriter { line_end, space: self.space.unwrap_or(true) }.write(&event);
        let at_once = (MAX_WRITE / bytes.len().max(1)).max(1);
        let mut left = self.repeat.unwrap_or(1);
        let mut pieces = vec![];
        while left > 0 {
            let times = left.min(at_once);
            pieces.push(PacedBytes { bytes: bytes.repeat(times), split: self.split(), pace: self.pace.0 });
            left -= times;
        }
        pieces
    }

    /// What to send over a WebSocket: the frames of one message, and how many times.
    pub fn frames(&self, session: &str) -> (Vec<FrameSpec>, usize) {
        let message = self.message(session).into_bytes();
        let size = message.len().div_ceil(self.fragments.unwrap_or(1).max(1)).max(1);
        let count = message.len().div_ceil(size);
        let frames = message.chunks(size).enumerate().map(|(n, part)| {
            let mut frame = if n == 0 { FrameSpec::new(1, part) } else { FrameSpec::continuation(part) };
            frame.fin = n + 1 == count;
            frame
        });
        (frames.collect(), self.repeat.unwrap_or(1))
    }

    /// Whether it says something that only an event stream has.
    pub fn is_for_streams(&self) -> bool {
        let fields = self.kind.is_some() || self.id.is_some() || self.retry.is_some();
        fields || self.lines.is_some() || self.space.is_some() || !matches!(self.line_end, LineEndChoice::Lf)
    }

    /// The size of the TCP segments in bytes, where it is sent in several.
    pub fn split(&self) -> Option<usize> {
        self.split.map(|split| split.0)
    }
}

/// JSON with line feeds where blanks are allowed, so that it has so many lines, or as many as can be.
fn with_line_feeds(json: &str, lines: usize) -> String {
    let mut text = String::new();
    let (mut inside, mut escaped, mut breaks) = (false, false, 1);
    for c in json.chars() {
        text.push(c);
        match c {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            '{' | ',' | ':' if !inside && breaks < lines => {
                text.push('\n');
                breaks += 1;
            }
            _ => {}
        }
    }
    text
}

impl Stream {
    /// What to write into an event stream.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn bytes(&self) -> Result<PacedBytes, String> {
        if self.frame != FrameHeader::default() {
            return Err("an event stream has no frames".to_owned());
        }
        Ok(PacedBytes { bytes: self.payload()?, split: self.split.map(|split| split.0), pace: self.pace.0 })
    }

    /// The frame to send over a WebSocket.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn frame(&self) -> Result<FrameSpec, String> {
        let FrameHeader { fin, opcode, rsv, masked, code } = self.frame;
        let mut payload = self.payload()?;
        if let Some(code) = code {
            payload.splice(0..0, code.to_be_bytes());
        }
        let mask = match masked {
            None => Mask::ByRole,
            Some(true) => Mask::Fresh,
            Some(false) => Mask::Off,
        };
        Ok(FrameSpec {
            fin: fin.unwrap_or(true),
            rsv: rsv.unwrap_or_default(),
            mask,
            ..FrameSpec::new(opcode.unwrap_or(1), payload)
        })
    }

    fn payload(&self) -> Result<Vec<u8>, String> {
        match &self.content {
            StreamContent::Text(text) => Ok(text.clone().into_bytes()),
            StreamContent::Hex(bytes) => Ok(bytes.0.clone()),
            StreamContent::Fill(fill) => fill.bytes(),
        }
    }
}
