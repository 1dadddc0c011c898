//! The reading side of a connection: a task that decodes, records and hands on.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::AsyncReadExt;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::trace::{Closed, End, EventKind, Head, Payload};
use crate::wire::http_head::{self, Arrived, Why};

use super::decoder::Decoder;
use super::frame::{FrameSpec, opcode};
use super::joiner::Joiner;
use super::sender::{CloseBehaviour, SendOptions, Shared};
use super::socket::{Incoming, Options};

/// What is to be read first.
pub(super) enum Begin {
    /// A response head, if one comes; whoever waits for it is told.
    Response { deadline: Instant, tell: oneshot::Sender<Answer> },
    /// Frames, the first bytes of which are here already.
    Frames(Vec<u8>),
    /// Bytes that mean nothing to us, the first of which are here already.
    Bytes(Vec<u8>),
}

/// What a handshake request was answered with.
pub(super) enum Answer {
    /// A head.
    Head(Head),
    /// Something else, described.
    Nothing(String),
}

/// Reads a connection to its end.
pub(super) struct Reader {
    stream: OwnedReadHalf,
    shared: Arc<Shared>,
    queue: mpsc::Sender<(Incoming, OwnedSemaphorePermit)>,
    /// Bytes that the queue may still take.
    room: Arc<Semaphore>,
    room_size: u32,
    options: watch::Receiver<Options>,
    let_go: watch::Receiver<CloseBehaviour>,
    ended: watch::Sender<bool>,
}

/// The end of reading.
enum Stop {
    /// The counterpart ended its stream.
    Theirs(Closed),
    /// We let go of the connection.
    Ours,
}

/// Something to be sent by itself.
enum Automatic {
    Pong(FrameSpec),
    Close(FrameSpec),
}

impl Reader {
    pub(super) fn new(
        stream: OwnedReadHalf,
        shared: Arc<Shared>,
        queue: mpsc::Sender<(Incoming, OwnedSemaphorePermit)>,
        ended: watch::Sender<bool>,
    ) -> Self {
        let room_size = u32::try_from(shared.limits.backlog).unwrap_or(u32::MAX).min(Semaphore::MAX_PERMITS as u32);
        let room = Arc::new(Semaphore::new(room_size as usize));
        let options = shared.options.subscribe();
        let let_go = shared.let_go.subscribe();
        Self { stream, shared, queue, room, room_size, options, let_go, ended }
    }

    pub(super) async fn run(mut self, begin: Begin) {
        match self.read_all(begin).await {
            Stop::Theirs(how) => {
                self.shared.tap.ended(how);
                self.ended.send_replace(true);
                if self.options.borrow().close {
                    self.shared.shutdown(None).await;
                }
                // Nobody may be there to take it, and that is no reason to stay.
                let _ = self.hand_on(Incoming::Closed(how), 0).await;
            }
            Stop::Ours => {
                if *self.let_go.borrow() == CloseBehaviour::Close {
                    self.shared.shutdown(None).await;
                }
                drop(self.stream);
                self.ended.send_replace(true);
            }
        }
    }

    async fn read_all(&mut self, begin: Begin) -> Stop {
        let (frames, first) = match begin {
            Begin::Frames(first) => (true, first),
            Begin::Bytes(first) => (false, first),
            Begin::Response { deadline, tell } => match self.read_response(deadline, tell).await {
                Ok(begun) => begun,
                Err(stop) => return stop,
            },
        };
        if frames { self.read_frames(first).await } else { self.read_bytes(first).await }
    }

    /// Reads the response head and, of a refusal, the body. Gives whether frames follow, and their first bytes.
    async fn read_response(
        &mut self,
        deadline: Instant,
        tell: oneshot::Sender<Answer>,
    ) -> Result<(bool, Vec<u8>), Stop> {
        let limits = self.shared.limits;
        let reading = async {
            match http_head::read(&mut self.stream, limits.head, true).await {
                Arrived::Head(head, after) if bodiless(&head) => (Arrived::Head(head, after), None),
                Arrived::Head(mut head, begun) => {
                    let (body, after, ended) =
                        http_head::read_body(&mut self.stream, &head, begun, limits.body, deadline).await;
                    head.body = (!body.is_empty()).then(|| Payload::from(body.as_slice()));
                    (Arrived::Head(head, after), ended)
                }
                nothing => (nothing, None),
            }
        };
        let (arrived, ended) = tokio::select! {
            _ = self.let_go.wait_for(CloseBehaviour::yes) => return Err(Stop::Ours),
            arrived = reading => arrived,
        };
        match arrived {
            Arrived::Head(head, after) => {
                let frames = head.status() == Some(101);
                self.shared.tap.received(EventKind::Handshake(head.clone()));
                let _ = tell.send(Answer::Head(head));
                match ended {
                    Some(how) => Err(Stop::Theirs(how)),
                    None => Ok((frames, after)),
                }
            }
            Arrived::Nothing(bytes, why) => {
                let what = match why {
                    Why::Closed(Closed::Eof) => "the connection was closed before a whole response came",
                    Why::Closed(Closed::Reset) => "the connection was reset before a whole response came",
                    Why::TooLong => "the head of the response does not end",
                    Why::NotHttp => "the answer is no HTTP response",
                };
                if let Why::Closed(how) = why {
                    self.shared.tap.received_bytes(&bytes);
                    let _ = tell.send(Answer::Nothing(what.into()));
                    return Err(Stop::Theirs(how));
                }
                let _ = tell.send(Answer::Nothing(what.into()));
                Ok((false, bytes))
            }
        }
    }

    async fn read_bytes(&mut self, first: Vec<u8>) -> Stop {
        let mut buffer = vec![0; BUFFER];
        let mut bytes = first;
        loop {
            if !bytes.is_empty() {
                self.shared.tap.received_bytes(&bytes);
                let size = bytes.len();
                if self.hand_on(Incoming::Bytes(bytes), size).await.is_err() {
                    return Stop::Ours;
                }
            }
            match self.read(&mut buffer).await {
                Ok(n) => bytes = buffer[..n].to_vec(),
                Err(stop) => return stop,
            }
        }
    }

    async fn read_frames(&mut self, first: Vec<u8>) -> Stop {
        self.shared.framed.store(true, Ordering::Relaxed);
        let (automatic, orders) = mpsc::channel(16);
        tokio::spawn(send_automatically(self.shared.clone(), orders));
        let limits = self.shared.limits;
        let (mut decoder, mut joiner) = (Decoder::new(&limits), Joiner::new(limits.message));
        let mut buffer = vec![0; BUFFER.max(first.len())];
        buffer[..first.len()].copy_from_slice(&first);
        let mut n = first.len();
        loop {
            let mut input = &buffer[..n];
            while let Some(decoded) = decoder.decode(&mut input) {
                let frame = decoded.frame;
                let message = joiner.frame(&frame);
                self.shared.tap.received(EventKind::Frame(frame.clone()));
                if let Some(message) = &message {
                    self.shared.tap.received(EventKind::Message(message.clone()));
                }
                self.react(&frame, &automatic);
                let size = frame.payload.as_bytes().len();
                if self.hand_on(Incoming::Frame(frame), size).await.is_err() {
                    return Stop::Ours;
                }
                if let Some(message) = message
                    && self.hand_on(Incoming::Message(message), size).await.is_err()
                {
                    return Stop::Ours;
                }
            }
            match self.read(&mut buffer).await {
                Ok(read) => n = read,
                Err(stop) => {
                    self.shared.tap.received_bytes(decoder.rest());
                    return stop;
                }
            }
        }
    }

    /// Reads some bytes, once reading is wanted.
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Stop> {
        let reading = async {
            // The sender of the options lives in what we hold, so this ends only when reading is wanted.
            let _ = self.options.wait_for(|options| options.read).await;
            self.stream.read(buffer).await
        };
        tokio::select! {
            biased;
            _ = self.let_go.wait_for(CloseBehaviour::yes) => Err(Stop::Ours),
            read = reading => match read {
                Ok(0) => Err(Stop::Theirs(Closed::Eof)),
                Ok(n) => Ok(n),
                Err(_) => Err(Stop::Theirs(Closed::Reset)),
            },
        }
    }

    /// Gives it to the receiver, if there is one, as soon as it has room for it.
    async fn hand_on(&mut self, incoming: Incoming, size: usize) -> Result<(), Stop> {
        if self.queue.is_closed() {
            return Ok(());
        }
        let size = u32::try_from(size).unwrap_or(u32::MAX).min(self.room_size);
        let queue = &self.queue;
        let room = self.room.clone();
        let handing = async {
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
            () = handing => Ok(()),
            _ = self.let_go.wait_for(CloseBehaviour::yes) => Err(Stop::Ours),
        }
    }

    /// Orders what is to be sent by itself. Never waits: of many pings in a row only some need an answer
    /// (RFC 6455 section 5.5.3).
    fn react(&self, frame: &crate::trace::Frame, automatic: &mpsc::Sender<Automatic>) {
        let options = *self.options.borrow();
        let payload = frame.payload.as_bytes();
        let order = match frame.opcode {
            opcode::PING if options.pong => Automatic::Pong(FrameSpec::pong(payload)),
            opcode::CLOSE if options.close => {
                Automatic::Close(FrameSpec::new(opcode::CLOSE, &payload[..payload.len().min(2)]))
            }
            _ => return,
        };
        let _ = automatic.try_send(order);
    }
}

/// How much is read at once.
const BUFFER: usize = 64 << 10;

/// Whether a response cannot have a body (RFC 9110 section 6.4.1).
fn bodiless(head: &Head) -> bool {
    matches!(head.status(), Some(100..=199 | 204 | 304))
}

/// Sends what was ordered, beside the reading, so that a counterpart that does not read does not stop us from reading.
async fn send_automatically(shared: Arc<Shared>, mut orders: mpsc::Receiver<Automatic>) {
    while let Some(order) = orders.recv().await {
        let sent = match order {
            Automatic::Pong(pong) => shared.send(&pong, &SendOptions::default()).await,
            Automatic::Close(close) => {
                let sent = shared.answer_close(&close).await;
                if shared.tap.us() == End::Server {
                    shared.shutdown(None).await;
                }
                sent
            }
        };
        if sent.is_err() {
            return;
        }
    }
}
