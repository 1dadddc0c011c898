//! One connection to an editor, from the handshake to its end, and what deviations make of its frames.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use crate::peer::amp::frames::{AssembledFrame, Assembler, FrameTolerance};
use crate::peer::deviation::websocket::{FrameKind, SocketSwitch};
use crate::trace::opcode;
use crate::wire::websocket::{FrameSpec, Incoming, Receiver, SendError, Sender, Socket};

use super::deviations::Deviations;
use super::pending_calls::OutgoingRequest;
use super::run::{AgentEvent, Trigger};

/// How long the editor may take to end a connection that is being closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// No message of the editor may be longer, in bytes.
const MAX_MESSAGE: usize = 16 << 20;
/// How late the freedom to answer pings late does so.
const PONG_DELAY: Duration = Duration::from_millis(100);
/// How often the freedom to send pings does.
const PING_INTERVAL: Duration = Duration::from_millis(300);
/// Beyond this many bytes a message is huge to a fragile client.
const HUGE_MESSAGE: usize = 1 << 20;
/// This many messages are a flood to a fragile client.
const FLOOD: u64 = 1000;
/// How many requests wait to be sent.
const MAX_QUEUED_REQUESTS: usize = 1024;

/// What a client can do otherwise with control frames, and where it ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSwitch {
    /// Pings are not answered while a request waits for its response.
    NoPongWhileOpen,
    /// Pings are answered after a while.
    PongsLate,
    /// It sends pings of its own.
    SendsPings,
    /// It does not end before the editor has closed the connection.
    NeverQuits,
    /// It ends its connection without a close frame.
    LeavesSilently,
    /// It closes its connection with this code.
    LeavesWith(u16),
    /// It closes its connection without a code.
    LeavesWithoutCode,
}

/// A handle of a connection: when it is dropped, the connection is closed in an orderly way.
pub struct ConnectionHandle {
    /// The number of the connection.
    pub number: u64,
    requests: mpsc::Sender<OutgoingRequest>,
    done: tokio::task::JoinHandle<()>,
}

impl ConnectionHandle {
    /// Serves a connection that has just been accepted; what comes of it goes to `events`.
    pub fn start(number: u64, socket: Socket, deviations: Deviations, events: mpsc::Sender<AgentEvent>) -> Self {
        let (requests, request_queue) = mpsc::channel(MAX_QUEUED_REQUESTS);
        let Socket { sender, incoming } = socket;
        let assembler = Assembler::new(MAX_MESSAGE);
        let session = AgentSession {
            number,
            sender,
            incoming,
            request_queue,
            deviations,
            assembler,
            events,
            pongs: vec![],
            open: 0,
            messages: 0,
        };
        Self { number, requests, done: tokio::spawn(session.run()) }
    }

    /// Sends a request; gives whether it could be taken.
    pub fn send(&self, request: OutgoingRequest) -> bool {
        self.requests.try_send(request).is_ok()
    }

    /// Closes it, and returns when it is over, or the editor does not let that happen.
    pub async fn close(mut self, patience: Duration) {
        drop(self.requests);
        // A panic would have been reported.
        let _ = timeout(patience, &mut self.done).await;
        self.done.abort();
    }
}

struct AgentSession {
    number: u64,
    sender: Sender,
    incoming: Receiver,
    request_queue: mpsc::Receiver<OutgoingRequest>,
    deviations: Deviations,
    assembler: Assembler,
    events: mpsc::Sender<AgentEvent>,
    /// Pongs that are to be sent later.
    pongs: Vec<(Instant, Vec<u8>)>,
    /// How many requests are pending, as far as is known here.
    open: u64,
    /// How many messages have come.
    messages: u64,
}

/// Why a session ends.
enum SessionEnd {
    /// The editor ended the connection, or it broke.
    Gone,
    /// A close frame came; it is to be answered with this code.
    Answer(Option<u16>),
    /// The editor broke the RFC; the connection has to fail with this code and reason.
    Fail(u16, &'static str),
    /// This client leaves.
    Leave,
}

impl From<SendError> for SessionEnd {
    fn from(_: SendError) -> Self {
        Self::Gone
    }
}

impl AgentSession {
    async fn run(mut self) {
        let end = self.serve().await;
        // The receiver may be gone.
        let _ = self.events.send(AgentEvent::Ended(self.number)).await;
        self.end(end).await;
    }

    async fn serve(&mut self) -> SessionEnd {
        let sends_pings = self.deviations.has(SessionSwitch::SendsPings);
        let mut next_ping = Instant::now();
        loop {
            let due = self.pongs.first().map(|(due, _)| *due);
            tokio::select! {
                biased;
                request = self.request_queue.recv() => {
                    let Some(request) = request else { return SessionEnd::Leave };
                    self.open += 1;
                    let frame = FrameSpec::new(opcode::TEXT, request.bytes);
                    if let Err(e) = self.send(FrameKind::Message, frame, request.deliberate).await {
                        return e.into();
                    }
                }
                () = sleep_until(due.unwrap_or(next_ping)), if due.is_some() => {
                    let (_, payload) = self.pongs.remove(0);
                    if let Err(e) = self.send(FrameKind::Pong, FrameSpec::pong(payload), None).await {
                        return e.into();
                    }
                }
                () = sleep_until(next_ping), if sends_pings => {
                    next_ping += PING_INTERVAL;
                    if let Err(e) = self.sender.send(&FrameSpec::ping("beat"), None).await {
                        return e.into();
                    }
                }
                incoming = self.incoming.recv() => match incoming {
                    Some(Incoming::Frame(frame)) => {
                        let input = self.assembler.frame(&frame, &FrameTolerance::new(false, &self.deviations));
                        if let Err(end) = self.on_frame(input).await {
                            return end;
                        }
                    }
                    Some(Incoming::Message(_) | Incoming::Bytes(_)) => {}
                    Some(Incoming::Closed(_)) => {
                        self.report_trigger(Trigger::Cut).await;
                        return SessionEnd::Gone;
                    }
                    None => return SessionEnd::Gone,
                },
            }
        }
    }

    async fn on_frame(&mut self, input: AssembledFrame) -> Result<(), SessionEnd> {
        match input {
            AssembledFrame::Text(bytes) => self.on_message(bytes).await,
            AssembledFrame::Ping(payload) => self.on_ping(payload).await?,
            AssembledFrame::Pong if self.deviations.has(SocketSwitch::ClosesOnPong) => return Err(SessionEnd::Leave),
            AssembledFrame::Binary => self.report_trigger(Trigger::Binary).await,
            AssembledFrame::Nothing | AssembledFrame::Pong => {}
            AssembledFrame::Close(code) => return Err(SessionEnd::Answer(code)),
            AssembledFrame::Broken(code, why) => {
                self.report_trigger(if code == 1009 { Trigger::HugeLength } else { Trigger::BadFrame }).await;
                return Err(SessionEnd::Fail(code, why));
            }
        }
        Ok(())
    }

    async fn on_message(&mut self, bytes: Vec<u8>) {
        self.messages += 1;
        if self.messages == FLOOD {
            self.report_trigger(Trigger::Flood).await;
        }
        if bytes.len() > HUGE_MESSAGE {
            self.report_trigger(Trigger::HugeMessage).await;
        }
        if bytes.windows(16).any(|w| w == b"\"serverResponse\"") {
            self.open = self.open.saturating_sub(1);
        }
        // The receiver is gone: the request to leave is about to come.
        let _ = self.events.send(AgentEvent::Message(self.number, bytes)).await;
    }

    async fn on_ping(&mut self, payload: Vec<u8>) -> Result<(), SendError> {
        let ignores_ping = self.deviations.has(SocketSwitch::NoPong)
            || (self.open > 0 && self.deviations.has(SessionSwitch::NoPongWhileOpen));
        if ignores_ping {
            return Ok(());
        }
        if self.deviations.has(SessionSwitch::PongsLate) {
            // Of many pings in a row only some need a response (RFC 6455 section 5.5.3).
            if self.pongs.len() < 100 {
                self.pongs.push((Instant::now() + PONG_DELAY, payload));
            }
            return Ok(());
        }
        self.send(FrameKind::Pong, FrameSpec::pong(payload), None).await
    }

    /// Reports a trigger, at which a flaw may make this client fail.
    async fn report_trigger(&self, trigger: Trigger) {
        let _ = self.events.send(AgentEvent::Triggered(trigger)).await;
    }

    async fn send(&self, kind: FrameKind, frame: FrameSpec, why: Option<&'static str>) -> Result<(), SendError> {
        for (frame, flaw) in self.deviations.frames(kind, frame) {
            self.sender.send(&frame, flaw.or(why)).await?;
        }
        Ok(())
    }

    async fn end(self, end: SessionEnd) {
        let Some(frame) = self.close_frame(&end) else {
            self.sender.shutdown().await;
            return;
        };
        let _ = self.send(FrameKind::Close, frame, None).await;
        drop(self.incoming);
        // It is for the server to close the stream first (RFC 6455 section 7.1.1).
        if self.deviations.has(SessionSwitch::NeverQuits) {
            self.sender.ended().await;
        }
        let _ = timeout(CLOSE_TIMEOUT, self.sender.ended()).await;
        self.sender.shutdown().await;
    }

    /// The close frame with which a connection ends; none where it just ends.
    fn close_frame(&self, end: &SessionEnd) -> Option<FrameSpec> {
        let other = self.deviations.choose(|s| if let SessionSwitch::LeavesWith(code) = s { Some(code) } else { None });
        match *end {
            SessionEnd::Gone => None,
            SessionEnd::Answer(_) if self.deviations.has(SocketSwitch::CloseNotAnswered) => None,
            SessionEnd::Answer(Some(_)) if self.deviations.has(SocketSwitch::CloseNotEchoed) => {
                Some(FrameSpec::close(Some(1000), ""))
            }
            SessionEnd::Answer(code) => Some(FrameSpec::close(code, "")),
            SessionEnd::Fail(..) if self.deviations.has(SocketSwitch::WrongFailureCode) => {
                Some(FrameSpec::close(Some(1000), ""))
            }
            SessionEnd::Fail(code, reason) => Some(FrameSpec::close(Some(code), reason)),
            SessionEnd::Leave if self.deviations.has(SessionSwitch::LeavesSilently) => None,
            SessionEnd::Leave if self.deviations.has(SessionSwitch::LeavesWithoutCode) => {
                Some(FrameSpec::close(None, ""))
            }
            SessionEnd::Leave => Some(FrameSpec::close(Some(other.unwrap_or(1000)), "")),
        }
    }
}
