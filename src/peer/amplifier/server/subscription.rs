//! Serving one subscription: an event stream (section "Subscribe to Session Events") or a WebSocket (section "WebSocket
//! Alternative").

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::peer::Draws;
use crate::peer::deviation::Why;
use crate::peer::deviation::websocket::{FrameKind, SocketSwitch};
use crate::trace::opcode;
use crate::wire::http::{BodyWriter, Broken, Responder};
use crate::wire::websocket::{FrameSpec, Incoming, Options, Reply, Request, SendError, SendOptions, Socket};

use super::context::ServerContext;
use super::deviations::Deviations;
use super::format::{HeadTiming, RefusalReport, SocketFormat, StreamEnd, StreamFormat};
use super::model::{Feed, FeedEnd, FeedMessage, Refusal};

/// How many events are written at once, where so many wait.
const EVENTS_AT_ONCE: usize = 64;

/// Follows a session until it ends, or the client leaves.
pub struct EventStreamSubscription {
    /// The events.
    pub feed: Feed,
    /// How it is written.
    pub format: StreamFormat,
    /// How each event is held up, if it is.
    pub latency: Option<Draws>,
    /// When the time of the model began.
    pub began: Instant,
}

impl EventStreamSubscription {
    /// Answers the request with the stream.
    pub async fn run(mut self, responder: Responder) {
        let first = match self.format.begin {
            HeadTiming::AtOnce => vec![],
            HeadTiming::WithEvent => match self.first().await {
                Ok(first) => first,
                Err(_) => return responder.close(self.format.why),
            },
        };
        let mut head = self.format.head.clone();
        head.manner.deliberate = self.format.why.map(str::to_owned);
        // Where anything fails, the client is gone.
        if let Ok(body) = responder.start(&head).await {
            let _ = self.write(body, first).await;
        }
    }

    /// What comes until there is more than the beginning of the session.
    async fn first(&mut self) -> Result<Vec<Arc<FeedMessage>>, FeedEnd> {
        let mut first = vec![];
        while first.iter().all(|message: &Arc<FeedMessage>| message.event == "session:start") {
            first.extend(self.feed.next(EVENTS_AT_ONCE).await?);
        }
        Ok(first)
    }

    async fn write(mut self, mut body: BodyWriter, first: Vec<Arc<FeedMessage>>) -> Result<(), Broken> {
        let opening = self.format.opening();
        if !opening.is_empty() {
            self.send(&mut body, &opening, None).await?;
        }
        let mut number = 0;
        self.events(&mut body, &first, &mut number).await?;
        let mut pending: Vec<Arc<FeedMessage>> = vec![];
        loop {
            let next = tokio::select! {
                biased;
                next = self.feed.next(EVENTS_AT_ONCE) => next,
                _ = body.gone() => return Ok(()),
                () = sleep(self.format.keep_alive.0) => {
                    let keep_alive = self.format.keep_alive.1;
                    self.send(&mut body, keep_alive.as_bytes(), None).await?;
                    continue;
                }
            };
            match next {
                Ok(message) => {
                    pending.extend(message);
                    let ends = |message: &Arc<FeedMessage>| {
                        ["prompt:complete", "session:end"].contains(&message.event.as_str())
                    };
                    if !self.format.batches || pending.iter().any(ends) {
                        self.events(&mut body, &pending, &mut number).await?;
                        pending.clear();
                    }
                }
                Err(FeedEnd::Over) => {
                    match self.format.end {
                        StreamEnd::Complete => return body.finish().await,
                        StreamEnd::InEvent => {
                            self.send(&mut body, b"data: {\"event\": \"sess", None).await?;
                            return body.finish().await;
                        }
                        StreamEnd::Never => {
                            body.gone().await;
                        }
                    }
                    return Ok(());
                }
                Err(FeedEnd::Cut { reset: false }) => return body.finish().await,
                Err(FeedEnd::Slow | FeedEnd::Cut { reset: true }) => {
                    body.reset(self.format.why);
                    return Ok(());
                }
            }
        }
    }

    /// Writes events, as many at once as may be.
    async fn events(
        &mut self,
        body: &mut BodyWriter,
        message: &[Arc<FeedMessage>],
        number: &mut u64,
    ) -> Result<(), Broken> {
        let at_once = if self.latency.is_some() { 1 } else { EVENTS_AT_ONCE };
        for batch in message.chunk_by(|message, other| message.why == other.why).flat_map(|batch| batch.chunks(at_once))
        {
            if let (Some(draws), Some(message)) = (&mut self.latency, batch.first()) {
                let late: Duration = draws.next().unwrap_or_default();
                sleep_until(self.began + message.at + late).await;
            }
            let mut bytes = vec![];
            for message in batch {
                *number += 1;
                bytes.extend(self.format.event(message, *number));
            }
            let why = batch.first().and_then(|message| message.why);
            self.send(body, &bytes, why).await?;
        }
        Ok(())
    }

    async fn send(&self, body: &mut BodyWriter, bytes: &[u8], why: Option<&'static str>) -> Result<(), Broken> {
        let why = why.or(self.format.why);
        match self.format.split {
            Some(split) => body.write_split(bytes, split, why).await,
            None => body.write(bytes, why).await,
        }
    }
}

/// How many messages are sent before anything is listened to.
const MESSAGES_AT_ONCE: usize = 64;
/// How long a client may take to answer a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Follows a session by a WebSocket, and does what the client says.
pub struct SocketSubscription {
    /// Where it is.
    pub context: Arc<ServerContext>,
    /// The id of the session.
    pub session: String,
    /// What of it is different.
    pub deviations: Deviations,
    /// How messages go.
    pub format: SocketFormat,
    /// How each message is held up, if it is.
    pub latency: Option<Draws>,
    /// Set once the client breaks the protocol.
    pub protocol_broken: Arc<AtomicBool>,
}

/// Refuses a handshake with an error of the protocol.
pub async fn refuse(request: Request, refusal: &Refusal, why: Why) {
    let mut reply = Reply::refusing(&crate::peer::http::line(refusal.status), &refusal.body().to_string());
    reply.manner = SendOptions::deliberate(why);
    for (name, value) in &mut reply.head.headers {
        if name == "Content-Type" {
            "application/json".clone_into(value);
        }
    }
    if let Ok(socket) = request.reply(&reply).await {
        socket.sender.shutdown().await;
    }
}

impl SocketSubscription {
    /// Accepts the handshake, and goes on until either end has had enough.
    pub async fn run(self, request: Request, mut reply: Reply, feed: Feed) {
        let mut why = self.deviations.accepting_head(&mut reply.head);
        if self.format.refused {
            reply = Reply::refusing("403 Forbidden", "no");
            why = self.format.why;
        }
        reply.manner = SendOptions::deliberate(why);
        let accepts = reply.head.status() == Some(101);
        let options = Options {
            pong: !self.deviations.has(SocketSwitch::NoPong),
            close: !self.deviations.has(SocketSwitch::CloseIgnored),
            ..Options::default()
        };
        let Ok(mut socket) = request.reply_with(&reply, &[], options).await else { return };
        if !accepts {
            return socket.sender.shutdown().await;
        }
        let end = self.follow(&mut socket, feed).await;
        let sender = &socket.sender;
        match end {
            Some(FeedEnd::Over) => self.close(&mut socket, 1000).await,
            Some(FeedEnd::Cut { reset: false }) => self.close(&mut socket, 1001).await,
            Some(FeedEnd::Slow | FeedEnd::Cut { reset: true }) => sender.reset(self.format.why).await,
            None => {}
        }
    }

    /// Gives how the feed ended; nothing where the client left.
    async fn follow(&self, socket: &mut Socket, mut feed: Feed) -> Option<FeedEnd> {
        let mut latency = self.latency.clone();
        loop {
            tokio::select! {
                biased;
                next = feed.next(MESSAGES_AT_ONCE) => match next {
                    Ok(messages) => for message in messages {
                        if !self.format.skips.is_empty() && message.event.contains(self.format.skips) {
                            continue;
                        }
                        if let Some(draws) = &mut latency {
                            sleep_until(self.context.began() + message.at + draws.next().unwrap_or_default()).await;
                        }
                        self.send(socket, &message.json, message.why).await.ok()?;
                    },
                    Err(end) => return Some(end),
                },
                incoming = socket.incoming.recv() => match incoming {
                    Some(Incoming::Message(message))
                        if message.frames > 1 && self.deviations.has(SocketSwitch::IgnoresFragments) => {}
                    Some(Incoming::Message(message)) => {
                        let text = match (&message.json, &message.payload) {
                            (Some(json), _) => json.to_string(),
                            (None, Some(payload)) => payload.as_text().unwrap_or_default().to_owned(),
                            (None, None) => String::new(),
                        };
                        if let Err(refusal) = self.context.control(&self.session, &text) {
                            self.report_refusal(socket, &refusal).await?;
                        }
                    }
                    Some(Incoming::Closed(_)) | None => return None,
                    Some(Incoming::Bytes(_)) => self.protocol_broken.store(true, Ordering::Relaxed),
                    Some(Incoming::Frame(frame)) => {
                        let protocol_broken = frame.rsv != 0 || !frame.masked || !matches!(frame.opcode, 0..=2 | 8..=10);
                        self.protocol_broken.fetch_or(protocol_broken, Ordering::Relaxed);
                    }
                },
            }
        }
    }

    /// Tells the client that its message is refused; nothing where that ends the connection.
    async fn report_refusal(&self, socket: &mut Socket, refusal: &Refusal) -> Option<()> {
        match self.format.refusal_report {
            RefusalReport::Error => self.send(socket, &refusal.body().to_string(), refusal.why).await.ok(),
            RefusalReport::Nothing => Some(()),
            RefusalReport::Closes => {
                self.close(socket, 1007).await;
                None
            }
        }
    }

    async fn send(&self, socket: &Socket, json: &str, why: Why) -> Result<(), SendError> {
        let mut text = json.as_bytes().to_vec();
        let why = self.deviations.message_text(&mut text).or(why).or(self.format.why);
        for (frame, flaw) in self.deviations.frames(FrameKind::Message, FrameSpec::new(opcode::TEXT, text)) {
            socket.sender.send_unless_closing(&frame, flaw.or(why)).await?;
        }
        Ok(())
    }

    /// Closes the connection as it should be: by a frame, which the client answers.
    async fn close(&self, socket: &mut Socket, code: u16) {
        let frame = FrameSpec::close(Some(code), "");
        if socket.sender.send_unless_closing(&frame, None).await.is_ok() {
            let closing = async {
                while let Some(incoming) = socket.incoming.recv().await {
                    if matches!(incoming, Incoming::Closed(_)) {
                        break;
                    }
                }
            };
            // One that does not answer has had its time.
            let _ = timeout(CLOSE_TIMEOUT, closing).await;
        }
        socket.sender.shutdown().await;
    }
}
