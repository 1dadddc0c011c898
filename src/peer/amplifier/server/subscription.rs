//! Serving one subscription: an event stream (section "Subscribe to Session Events") or a WebSocket (section "WebSocket
//! Alternative"). Its events come from the [`Feed`] of a session. Steps of a scenario may write into it, too
//! ([`StreamOrder`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::peer::Draws;
use crate::peer::deviation::Why;
use crate::peer::deviation::websocket::{FrameKind, SocketSwitch};
use crate::trace::opcode;
use crate::wire::http::{BodyWriter, Broken, Responder};
use crate::wire::websocket::{FrameSpec, Incoming, Options, Reply, Request, SendError, SendOptions, Sender, Socket};

use super::context::ServerContext;
use super::deviations::Deviations;
use super::format::{HeadTiming, RefusalReport, SocketFormat, StreamEnd, StreamFormat};
use super::model::{Feed, FeedEnd, FeedMessage};
use super::open_subscriptions::StreamOrder;

/// How many events are written at once, where so many wait.
const EVENTS_AT_ONCE: usize = 64;

/// Follows a session until it ends, or the client leaves.
pub struct EventStreamSubscription {
    /// The id of the session.
    pub session: String,
    /// The events; none where they are left to steps.
    pub feed: Option<Feed>,
    /// How it is written.
    pub format: StreamFormat,
    /// How each event is held up, if it is.
    pub latency: Option<Draws>,
    /// When the time of the model began.
    pub began: Instant,
    /// Why all of it is wrong on purpose, if it is.
    pub why: Option<String>,
}

impl EventStreamSubscription {
    /// Answers the request with the stream. `opened` gives the orders of steps once the head has been sent, where there can
    /// be such.
    pub async fn run(mut self, responder: Responder, opened: impl FnOnce() -> Option<mpsc::Receiver<StreamOrder>>) {
        let first = match self.format.begin {
            HeadTiming::AtOnce => vec![],
            HeadTiming::WithEvent => match self.first().await {
                Ok(first) => first,
                Err(_) => return responder.close(self.why.as_deref()),
            },
        };
        // Where anything fails, the client is gone.
        if let Ok(body) = responder.start(&self.format.head).await {
            let orders = opened();
            let _ = self.write(body, first, orders).await;
        }
    }

    /// What comes until there is more than the beginning of the session.
    async fn first(&mut self) -> Result<Vec<Arc<FeedMessage>>, FeedEnd> {
        let mut first = vec![];
        while first.iter().all(|message: &Arc<FeedMessage>| message.event == "session:start") {
            first.extend(next_events(&mut self.feed).await?);
        }
        Ok(first)
    }

    async fn write(
        mut self,
        mut body: BodyWriter,
        first: Vec<Arc<FeedMessage>>,
        mut orders: Option<mpsc::Receiver<StreamOrder>>,
    ) -> Result<(), Broken> {
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
                order = next_order(&mut orders) => match order {
                    Some(order) => match order.carry_out(body).await {
                        Some(rest) => {
                            body = rest;
                            continue;
                        }
                        None => return Ok(()),
                    },
                    None => return Ok(()),
                },
                next = next_events(&mut self.feed) => next,
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
                // A client under test that does not keep up sees the end of the stream all the same.
                Err(FeedEnd::Slow) if orders.is_some() => return body.finish().await,
                Err(FeedEnd::Slow | FeedEnd::Cut { reset: true }) => {
                    body.reset(self.why.as_deref());
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

    async fn send(&self, body: &mut BodyWriter, bytes: &[u8], why: Why) -> Result<(), Broken> {
        let why = why.or(self.why.as_deref());
        match self.format.split {
            Some(split) => body.write_split(bytes, split, why).await,
            None => body.write(bytes, why).await,
        }
    }
}

/// The events that are next, or the end of them; waits for ever where there are none.
async fn next_events(feed: &mut Option<Feed>) -> Result<Vec<Arc<FeedMessage>>, FeedEnd> {
    match feed {
        Some(feed) => feed.next(EVENTS_AT_ONCE).await,
        None => std::future::pending().await,
    }
}

/// The next order, or that none can come any more; waits for ever where there are no steps.
async fn next_order(orders: &mut Option<mpsc::Receiver<StreamOrder>>) -> Option<StreamOrder> {
    match orders {
        Some(orders) => orders.recv().await,
        None => std::future::pending().await,
    }
}

/// Follows a session by a WebSocket, and does what the client says.
pub struct SocketSubscription {
    /// Where what the client says is done; none where that is left to steps.
    pub context: Option<Arc<ServerContext>>,
    /// The id of the session.
    pub session: String,
    /// The events; none where they are left to steps.
    pub feed: Option<Feed>,
    /// What of it is different.
    pub deviations: Deviations,
    /// How messages go.
    pub format: SocketFormat,
    /// How each message is held up, if it is.
    pub latency: Option<Draws>,
    /// Why all of it is wrong on purpose, if it is.
    pub why: Option<String>,
    /// Header lines of the response that accepts the handshake: other values, or none.
    pub upgrade_headers: Vec<(String, Option<String>)>,
    /// How long a client may take to answer a close frame, before the connection is ended without it; as long as it likes where
    /// steps may still end it.
    pub close_within: Option<Duration>,
    /// Set once the client breaks the protocol.
    pub protocol_broken: Arc<AtomicBool>,
}

/// The end of a followed socket.
enum SocketEnd {
    /// Its feed ended so.
    Feed(FeedEnd),
    /// A message of the client was refused, and a flaw closes the connection for that.
    Refused,
    /// The client left.
    Left,
}

impl SocketSubscription {
    /// Accepts the handshake, and goes on until either end has had enough. `opened` learns of the connection.
    pub async fn run(mut self, request: Request, opened: impl FnOnce(&Sender)) {
        let mut reply = Reply::accepting(&request);
        let mut why = self.deviations.accepting_head(&mut reply.head).map(str::to_owned);
        if self.format.refused {
            reply = Reply::refusing("403 Forbidden", "no");
            why.clone_from(&self.why);
        }
        for (name, value) in &self.upgrade_headers {
            reply.head.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
            reply.head.headers.extend(value.clone().map(|value| (name.clone(), value)));
            why.clone_from(&self.why);
        }
        reply.send_options = SendOptions::deliberate(why.as_deref());
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
        opened(&socket.sender);
        let mut feed = self.feed.take();
        match self.follow(&mut socket, &mut feed).await {
            SocketEnd::Feed(FeedEnd::Over) => self.close(&mut socket, 1000).await,
            // As with an event stream.
            SocketEnd::Feed(FeedEnd::Slow) if self.close_within.is_none() => self.close(&mut socket, 1000).await,
            SocketEnd::Feed(FeedEnd::Cut { reset: false }) => self.close(&mut socket, 1001).await,
            SocketEnd::Feed(FeedEnd::Slow | FeedEnd::Cut { reset: true }) => {
                socket.sender.reset(self.why.as_deref()).await;
            }
            SocketEnd::Refused => self.close(&mut socket, 1007).await,
            SocketEnd::Left => {}
        }
    }

    async fn follow(&self, socket: &mut Socket, feed: &mut Option<Feed>) -> SocketEnd {
        let mut latency = self.latency.clone();
        loop {
            tokio::select! {
                biased;
                next = next_events(feed) => {
                    let messages = match next {
                        Ok(messages) => messages,
                        Err(end) => return SocketEnd::Feed(end),
                    };
                    if let Err(error) = self.events(socket, &messages, &mut latency).await {
                        if matches!(error, SendError::Stuck { .. }) {
                            return SocketEnd::Left;
                        }
                        // The connection is closing, by a step or by the client: what comes until then is still received.
                        *feed = None;
                    }
                }
                incoming = socket.incoming.recv() => match incoming {
                    Some(Incoming::Message(message))
                        if message.frames > 1 && self.deviations.has(SocketSwitch::IgnoresFragments) => {}
                    Some(Incoming::Message(message)) => {
                        let text = match (&message.json, &message.payload) {
                            (Some(json), _) => json.to_string(),
                            (None, Some(payload)) => payload.as_text().unwrap_or_default().to_owned(),
                            (None, None) => String::new(),
                        };
                        let Some(context) = &self.context else { continue };
                        if let Err(refusal) = context.control(&self.session, &text) {
                            match self.format.refusal_report {
                                // Where that cannot be sent, the end comes soon.
                                RefusalReport::Error => {
                                    _ = self.send(socket, &refusal.body().to_string(), refusal.why).await;
                                }
                                RefusalReport::Nothing => {}
                                RefusalReport::Closes => return SocketEnd::Refused,
                            }
                        }
                    }
                    Some(Incoming::Closed(_)) | None => return SocketEnd::Left,
                    Some(Incoming::Bytes(_)) => self.protocol_broken.store(true, Ordering::Relaxed),
                    Some(Incoming::Frame(frame)) => {
                        let protocol_broken = frame.rsv != 0 || !frame.masked || !matches!(frame.opcode, 0..=2 | 8..=10);
                        self.protocol_broken.fetch_or(protocol_broken, Ordering::Relaxed);
                    }
                },
            }
        }
    }

    async fn events(
        &self,
        socket: &Socket,
        messages: &[Arc<FeedMessage>],
        latency: &mut Option<Draws>,
    ) -> Result<(), SendError> {
        let mut frames = vec![];
        for message in messages {
            if !self.format.skips.is_empty() && message.event.contains(self.format.skips) {
                continue;
            }
            if let (Some(draws), Some(context)) = (latency.as_mut(), &self.context) {
                sleep_until(context.began() + message.at + draws.next().unwrap_or_default()).await;
                self.send(socket, &message.json, message.why).await?;
                continue;
            }
            frames.extend(self.frames(&message.json, message.why));
        }
        socket.sender.send_all_unless_closing(&frames).await
    }

    async fn send(&self, socket: &Socket, json: &str, why: Why) -> Result<(), SendError> {
        socket.sender.send_all_unless_closing(&self.frames(json, why)).await
    }

    /// The frames of a message, each with the reason if it is wrong on purpose.
    fn frames<'a>(&'a self, json: &str, why: Option<&'a str>) -> Vec<(FrameSpec, Option<&'a str>)> {
        let mut text = json.as_bytes().to_vec();
        let why = self.deviations.message_text(&mut text).or(why).or(self.why.as_deref());
        let frames = self.deviations.frames(FrameKind::Message, FrameSpec::new(opcode::TEXT, text));
        frames.into_iter().map(|(frame, flaw)| (frame, flaw.or(why))).collect()
    }

    /// Closes the connection as it should be: by a frame, which the client answers.
    async fn close(&self, socket: &mut Socket, code: u16) {
        let frame = FrameSpec::close(Some(code), "");
        // A mock closes as it should, whatever is wrong with its messages.
        let why = self.why.as_deref().filter(|_| self.close_within.is_none());
        // Where it cannot be sent any more, the connection is as good as ended.
        let mut sent = true;
        for (frame, flaw) in self.deviations.frames(FrameKind::Close, frame) {
            sent &= socket.sender.send_unless_closing(&frame, flaw.or(why)).await.is_ok();
        }
        let closing = async {
            while let Some(incoming) = socket.incoming.recv().await {
                if matches!(incoming, Incoming::Closed(_)) {
                    break;
                }
            }
        };
        match self.close_within {
            None => return closing.await,
            // One that does not answer has had its time.
            Some(within) if sent => _ = timeout(within, closing).await,
            Some(_) => {}
        }
        socket.sender.shutdown().await;
    }
}
