//! The [`Reader`] of a connection: a task that decodes, records and delivers what is received.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::trace::{Closed, End, EventKind, Head, Payload};
use crate::wire::Tap;
use crate::wire::http_head::{self, HeadOutcome, NoHeadReason};

use super::decoder::Decoder;
use super::frame::FrameSpec;
use super::joiner::{Inflater, Joiner};
use super::sender::{CloseBehaviour, ConnectionState, SendOptions};
use super::socket::{Incoming, Options};
use crate::trace::opcode;

/// What is read first.
pub(super) enum ReadStart {
    /// A response head, if one comes; the result is sent to `response_sender`.
    Response { deadline: Instant, response_sender: oneshot::Sender<ResponseOutcome> },
    /// Frames, whose first bytes were read already.
    Frames(Vec<u8>),
    /// Bytes that are not decoded, the first of which were read already.
    Bytes(Vec<u8>),
}

/// The response to a handshake request.
pub(super) enum ResponseOutcome {
    /// A head.
    Head(Head),
    /// Something else; the text describes it.
    NoHead(String),
}

/// Reads a connection to its end.
pub(super) struct Reader {
    stream: OwnedReadHalf,
    state: Arc<ConnectionState>,
    queue: mpsc::Sender<(Incoming, OwnedSemaphorePermit)>,
    /// Bytes that the queue may still take.
    room: Arc<Semaphore>,
    room_size: u32,
    options: watch::Receiver<Options>,
    release: watch::Receiver<CloseBehaviour>,
    ended: watch::Sender<bool>,
    /// Undoes the compression of messages, where the handshake agreed on one.
    inflater: Option<Inflater>,
}

/// Why reading ended.
enum ReadEnd {
    /// The counterpart ended its stream.
    Counterpart(Closed),
    /// Our end released the connection.
    Ours,
}

/// A frame that is sent automatically.
enum AutomaticReply {
    Pong(FrameSpec),
    Close(FrameSpec),
}

impl Reader {
    pub(super) fn new(
        stream: OwnedReadHalf,
        state: Arc<ConnectionState>,
        queue: mpsc::Sender<(Incoming, OwnedSemaphorePermit)>,
        ended: watch::Sender<bool>,
    ) -> Self {
        let room_size = u32::try_from(state.limits.backlog).unwrap_or(u32::MAX).min(Semaphore::MAX_PERMITS as u32);
        let room = Arc::new(Semaphore::new(room_size as usize));
        let options = state.options.subscribe();
        let release = state.release.subscribe();
        Self { stream, state, queue, room, room_size, options, release, ended, inflater: None }
    }

    pub(super) async fn run(mut self, begin: ReadStart) {
        match self.read_all(begin).await {
            ReadEnd::Counterpart(how) => {
                self.state.tap.ended(how);
                self.ended.send_replace(true);
                if self.options.borrow().close {
                    self.state.shutdown(None).await;
                }
                // Fails only where our end releases the connection meanwhile.
                let _ = self.deliver(Incoming::Closed(how), 0).await;
            }
            ReadEnd::Ours => {
                if *self.release.borrow() == CloseBehaviour::Close {
                    self.state.shutdown(None).await;
                }
                drop(self.stream);
                self.ended.send_replace(true);
            }
        }
    }

    async fn read_all(&mut self, begin: ReadStart) -> ReadEnd {
        let (frames, first) = match begin {
            ReadStart::Frames(first) => (true, first),
            ReadStart::Bytes(first) => (false, first),
            ReadStart::Response { deadline, response_sender } => {
                match self.read_response(deadline, response_sender).await {
                    Ok(first_bytes) => first_bytes,
                    Err(stop) => return stop,
                }
            }
        };
        if frames { self.read_frames(first).await } else { self.read_bytes(first).await }
    }

    /// Reads the response head and, of a refusal, the body. Returns whether frames follow, and the first bytes after
    /// the response.
    async fn read_response(
        &mut self,
        deadline: Instant,
        response_sender: oneshot::Sender<ResponseOutcome>,
    ) -> Result<(bool, Vec<u8>), ReadEnd> {
        let limits = self.state.limits;
        let reading = async {
            match read_final_head(&mut self.stream, &self.state.tap, limits.head).await {
                HeadOutcome::Head(head, after) if has_no_body(&head) => (HeadOutcome::Head(head, after), None),
                HeadOutcome::Head(mut head, first_bytes) => {
                    let (body, after, ended) =
                        http_head::read_body(&mut self.stream, &head, first_bytes, limits.body, deadline).await;
                    head.body = (!body.is_empty()).then(|| Payload::from(body.as_slice()));
                    (HeadOutcome::Head(head, after), ended)
                }
                nothing => (nothing, None),
            }
        };
        let (outcome, ended) = tokio::select! {
            _ = self.release.wait_for(CloseBehaviour::is_released) => return Err(ReadEnd::Ours),
            outcome = reading => outcome,
        };
        match outcome {
            HeadOutcome::Head(head, after) => {
                let frames = head.status() == Some(101);
                // Our scenarios may offer compression, and then the server may use it.
                self.inflater = frames.then(|| Inflater::negotiated(&head, End::Server)).flatten();
                self.state.tap.received(EventKind::Handshake(head.clone()));
                let _ = response_sender.send(ResponseOutcome::Head(head));
                match ended {
                    Some(how) => Err(ReadEnd::Counterpart(how)),
                    None => Ok((frames, after)),
                }
            }
            HeadOutcome::NoHead(bytes, why) => {
                let what = match why {
                    NoHeadReason::Closed(Closed::Eof) => "the connection was closed before a whole response came",
                    NoHeadReason::Closed(Closed::Reset) => "the connection was reset before a whole response came",
                    NoHeadReason::TooLong => "the head of the response does not end",
                    NoHeadReason::NotHttp => "the response is no HTTP response",
                };
                if let NoHeadReason::Closed(how) = why {
                    self.state.tap.received_bytes(&bytes);
                    let _ = response_sender.send(ResponseOutcome::NoHead(what.into()));
                    return Err(ReadEnd::Counterpart(how));
                }
                let _ = response_sender.send(ResponseOutcome::NoHead(what.into()));
                Ok((false, bytes))
            }
        }
    }

    async fn read_bytes(&mut self, first: Vec<u8>) -> ReadEnd {
        let mut buffer = vec![0; BUFFER];
        let mut bytes = first;
        loop {
            if !bytes.is_empty() {
                self.state.tap.received_bytes(&bytes);
                let size = bytes.len();
                if self.deliver(Incoming::Bytes(bytes), size).await.is_err() {
                    return ReadEnd::Ours;
                }
            }
            match self.read(&mut buffer).await {
                Ok(n) => bytes = buffer[..n].to_vec(),
                Err(stop) => return stop,
            }
        }
    }

    async fn read_frames(&mut self, first: Vec<u8>) -> ReadEnd {
        self.state.framed.store(true, Ordering::Relaxed);
        let (automatic, replies) = mpsc::channel(16);
        tokio::spawn(send_automatically(self.state.clone(), replies));
        let limits = self.state.limits;
        let mut decoder = Decoder::new(&limits);
        let mut joiner = Joiner::new(limits.message);
        if let Some(inflater) = self.inflater.take() {
            joiner = joiner.inflating(inflater);
        }
        let mut buffer = vec![0; BUFFER.max(first.len())];
        buffer[..first.len()].copy_from_slice(&first);
        let mut n = first.len();
        loop {
            let mut input = &buffer[..n];
            while let Some(decoded) = decoder.decode(&mut input) {
                let frame = decoded.frame;
                let message = joiner.frame(&frame);
                if self.state.tap.is_recorded() {
                    let mut events = vec![(None, EventKind::Frame(frame.clone()))];
                    events.extend(message.clone().map(|message| (None, EventKind::Message(message))));
                    self.state.tap.record_all(self.state.tap.inward(), events);
                }
                self.reply_automatically(&frame, &automatic);
                let size = frame.payload.as_bytes().len();
                if self.deliver(Incoming::Frame(frame), size).await.is_err() {
                    return ReadEnd::Ours;
                }
                if let Some(message) = message
                    && self.deliver(Incoming::Message(message), size).await.is_err()
                {
                    return ReadEnd::Ours;
                }
            }
            match self.read(&mut buffer).await {
                Ok(read) => n = read,
                Err(stop) => {
                    self.state.tap.received_bytes(decoder.rest());
                    return stop;
                }
            }
        }
    }

    /// Reads some bytes, unless reading is paused.
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ReadEnd> {
        let reading = async {
            // The sender of the options lives in `self.state`, so this ends only when reading is resumed.
            let _ = self.options.wait_for(|options| options.read).await;
            self.stream.read(buffer).await
        };
        tokio::select! {
            biased;
            _ = self.release.wait_for(CloseBehaviour::is_released) => Err(ReadEnd::Ours),
            read = reading => match read {
                Ok(0) => Err(ReadEnd::Counterpart(Closed::Eof)),
                Ok(n) => Ok(n),
                Err(_) => Err(ReadEnd::Counterpart(Closed::Reset)),
            },
        }
    }

    /// Delivers an item to the receiver, if there is one, as soon as it has room.
    async fn deliver(&mut self, incoming: Incoming, size: usize) -> Result<(), ReadEnd> {
        if self.queue.is_closed() {
            return Ok(());
        }
        let size = u32::try_from(size).unwrap_or(u32::MAX).min(self.room_size);
        let queue = &self.queue;
        let room = self.room.clone();
        let delivery = async {
            tokio::select! {
                permit = room.acquire_many_owned(size) => {
                    if let Ok(permit) = permit {
                        let _ = queue.send((incoming, permit)).await;
                    }
                }
                () = queue.closed() => {}
            }
        };
        tokio::select! {
            biased;
            () = delivery => Ok(()),
            _ = self.release.wait_for(CloseBehaviour::is_released) => Err(ReadEnd::Ours),
        }
    }

    /// Queues the automatic reply to a frame. Never waits: of many pings in a row only some need a pong (RFC 6455
    /// section 5.5.3).
    fn reply_automatically(&self, frame: &crate::trace::Frame, automatic: &mpsc::Sender<AutomaticReply>) {
        let options = *self.options.borrow();
        let payload = frame.payload.as_bytes();
        let reply = match frame.opcode {
            opcode::PING if options.pong => AutomaticReply::Pong(FrameSpec::pong(payload)),
            opcode::CLOSE if options.close => {
                AutomaticReply::Close(FrameSpec::new(opcode::CLOSE, &payload[..payload.len().min(2)]))
            }
            _ => return,
        };
        let _ = automatic.try_send(reply);
    }
}

/// How many bytes are read at once.
const BUFFER: usize = 64 << 10;

/// Reads the head of the final response, and records the interim ones before it. All of them are at most `limit` bytes.
async fn read_final_head(stream: &mut (impl AsyncRead + Unpin), tap: &Tap, limit: usize) -> HeadOutcome {
    let (mut bytes, mut left) = (vec![], limit);
    loop {
        match http_head::read(stream, bytes, left, true).await {
            HeadOutcome::Head(head, after) if http_head::is_interim(&head) => {
                left = left.saturating_sub(http_head::encode(&head).len());
                bytes = after;
                tap.received(EventKind::HttpResponse(head.into()));
            }
            outcome => return outcome,
        }
    }
}

/// Whether a response cannot have a body (RFC 9110 section 6.4.1).
fn has_no_body(head: &Head) -> bool {
    matches!(head.status(), Some(100..=199 | 204 | 304))
}

/// Sends automatic replies in a task of its own, so that a counterpart that does not read does not stop our reading.
async fn send_automatically(state: Arc<ConnectionState>, mut replies: mpsc::Receiver<AutomaticReply>) {
    while let Some(reply) = replies.recv().await {
        let sent = match reply {
            AutomaticReply::Pong(pong) => state.send(&pong, &SendOptions::default()).await,
            AutomaticReply::Close(close) => {
                let sent = state.reply_to_close(&close).await;
                if state.tap.us() == End::Server {
                    state.shutdown(None).await;
                }
                sent
            }
        };
        if sent.is_err() {
            return;
        }
    }
}
