//! One connection to an editor, from the handshake to its end.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use crate::wire::websocket::{FrameSpec, Incoming, Receiver, SendError, Sender, Socket, opcode};

use super::super::assembler::{Assembler, Input};
use super::agent::Event;
use super::calls::Request;
use super::frames;
use super::quirks::{Kind, Quirks, Switch};

/// How long the editor may take to end a connection that is being closed.
const GOODBYE: Duration = Duration::from_secs(1);
/// No message of the editor may be longer, in bytes.
const MAX_MESSAGE: usize = 16 << 20;
/// How late the freedom to answer pings late does so.
const LATE: Duration = Duration::from_millis(100);
/// How often the freedom to send pings does.
const BEAT: Duration = Duration::from_millis(300);
/// How many requests wait to be sent.
const BACKLOG: usize = 1024;

/// A connection as its user has it: dropped, it is closed in an orderly way.
pub struct Link {
    /// Which connection it is.
    pub number: u64,
    requests: mpsc::Sender<Request>,
    done: tokio::task::JoinHandle<()>,
}

impl Link {
    /// Serves a connection that has just been accepted; what comes of it goes to `events`.
    pub fn start(number: u64, socket: Socket, quirks: Quirks, events: mpsc::Sender<Event>) -> Self {
        let (requests, orders) = mpsc::channel(BACKLOG);
        let Socket { sender, incoming } = socket;
        let assembler = Assembler::new(MAX_MESSAGE);
        let session = Session { number, sender, incoming, orders, quirks, assembler, events, pongs: vec![] };
        Self { number, requests, done: tokio::spawn(session.run()) }
    }

    /// Sends a request; gives whether it could be taken.
    pub fn send(&self, request: Request) -> bool {
        self.requests.try_send(request).is_ok()
    }

    /// Closes it, and returns when it is over.
    pub async fn close(self) {
        drop(self.requests);
        // That it panicked would have been told.
        let _ = self.done.await;
    }
}

struct Session {
    number: u64,
    sender: Sender,
    incoming: Receiver,
    orders: mpsc::Receiver<Request>,
    quirks: Quirks,
    assembler: Assembler,
    events: mpsc::Sender<Event>,
    /// Pongs that are to be sent later.
    pongs: Vec<(Instant, Vec<u8>)>,
}

/// Why a session ends.
enum End {
    /// The editor ended the connection, or it broke.
    Gone,
    /// A close frame came; it is to be answered with this code.
    Answer(Option<u16>),
    /// It is to be closed with this code and reason.
    Close(u16, &'static str),
}

impl From<SendError> for End {
    fn from(_: SendError) -> Self {
        Self::Gone
    }
}

impl Session {
    async fn run(mut self) {
        let end = self.serve().await;
        // Nobody may be there any more to be told.
        let _ = self.events.send(Event::Ended(self.number)).await;
        self.end(end).await;
    }

    async fn serve(&mut self) -> End {
        let beats = self.quirks.has(Switch::SendsPings);
        let mut beat = Instant::now();
        loop {
            let due = self.pongs.first().map(|(due, _)| *due);
            tokio::select! {
                biased;
                request = self.orders.recv() => {
                    let Some(request) = request else { return End::Close(1000, "") };
                    let frame = FrameSpec::new(opcode::TEXT, request.bytes);
                    if let Err(e) = self.send(Kind::Request, frame, request.deliberate).await {
                        return e.into();
                    }
                }
                () = sleep_until(due.unwrap_or(beat)), if due.is_some() => {
                    let (_, payload) = self.pongs.remove(0);
                    if let Err(e) = self.send(Kind::Pong, FrameSpec::pong(payload), None).await {
                        return e.into();
                    }
                }
                () = sleep_until(beat), if beats => {
                    beat += BEAT;
                    if let Err(e) = self.sender.send(&FrameSpec::ping("beat"), None).await {
                        return e.into();
                    }
                }
                incoming = self.incoming.recv() => match incoming {
                    Some(Incoming::Frame(frame)) => {
                        let input = self.assembler.frame(&frame, &frames::manners(&self.quirks));
                        if let Err(end) = self.input(input).await {
                            return end;
                        }
                    }
                    Some(Incoming::Message(_) | Incoming::Bytes(_)) => {}
                    Some(Incoming::Closed(_)) | None => return End::Gone,
                },
            }
        }
    }

    async fn input(&mut self, input: Input) -> Result<(), End> {
        match input {
            Input::Text(bytes) => {
                // Nobody to take it: we are about to be told to leave.
                let _ = self.events.send(Event::Message(self.number, bytes)).await;
            }
            Input::Ping(_) if self.quirks.has(Switch::NoPong) => {}
            Input::Ping(payload) if self.quirks.has(Switch::PongsLate) => {
                // Of many pings in a row only some need an answer (RFC 6455 section 5.5.3).
                if self.pongs.len() < 100 {
                    self.pongs.push((Instant::now() + LATE, payload));
                }
            }
            Input::Ping(payload) => self.send(Kind::Pong, FrameSpec::pong(payload), None).await?,
            Input::Nothing | Input::Binary | Input::Pong => {}
            Input::Close(code) => return Err(End::Answer(code)),
            Input::Broken(code, why) => return Err(End::Close(code, why)),
        }
        Ok(())
    }

    async fn send(&self, kind: Kind, frame: FrameSpec, why: Option<&'static str>) -> Result<(), SendError> {
        for (frame, flaw) in frames::outgoing(kind, frame, &self.quirks) {
            self.sender.send(&frame, flaw.or(why)).await?;
        }
        Ok(())
    }

    async fn end(self, end: End) {
        let frame = match end {
            End::Gone => None,
            End::Answer(_) if self.quirks.has(Switch::CloseNotAnswered) => None,
            End::Answer(code) => Some(FrameSpec::close(code, "")),
            End::Close(code, reason) => Some(FrameSpec::close(Some(code), reason)),
        };
        if let Some(frame) = frame {
            let _ = self.send(Kind::Close, frame, None).await;
            drop(self.incoming);
            // It is for the server to close the stream first (RFC 6455 section 7.1.1).
            let _ = timeout(GOODBYE, self.sender.ended()).await;
        }
        self.sender.shutdown().await;
    }
}
