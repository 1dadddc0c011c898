//! One client's connection, from the handshake to its end, and what deviations make of its frames.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use crate::peer::amp::editor::outgoing::Outgoing;
use crate::peer::amp::editor::request::HandledMessage;
use crate::peer::amp::frames::{AssembledFrame, Assembler, FrameTolerance};
use crate::peer::deviation::websocket::{FrameKind, SocketSwitch};
use crate::peer::{Draws, MockEvent};
use crate::trace::{Closed, opcode};
use crate::wire::websocket::{FrameSpec, Incoming, Options, Receiver, SendError, SendOptions, Sender, Socket};

use super::super::end_stream;
use super::super::shared::{Phase, SendOrder, SharedServer, Trigger, reached};
use super::listener::MAX_MESSAGE;

/// The reason in the close frames of an editor that quits.
pub const QUIT_REASON: &str = "the editor quits";
/// How long the other side may take to end a connection that we have ended.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the freedom to answer in another order holds a response back, hoping for the next request.
const REORDER_DELAY: Duration = Duration::from_millis(15);
/// How often the freedom to send pings does.
const PING_INTERVAL: Duration = Duration::from_millis(400);
/// How many requests a flaw serves on one connection.
const FEW_REQUESTS: u64 = 100;
/// How many pings the freedom to send many sends, and with how many bytes each.
const PING_STORM: (usize, usize) = (200, 125);

/// Beyond this many bytes a message is huge to a fragile server.
const HUGE_MESSAGE: usize = 1 << 20;
/// How many messages may be held up on their way to a client before no more is taken from it.
const MAX_IN_TRANSIT: usize = 1024;

/// What an editor can do otherwise with an open connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSwitch {
    /// The editor lets clients in, and reads nothing of what they send.
    NeverReads,
    /// While a client does not read what it asked for, nobody else is answered.
    AnswersOneAtATime,
    /// Of requests that come at once only the last is answered.
    LastOfPipelined,
    /// On each connection a hundred requests are answered.
    HundredRequests,
    /// Requests that come at once are answered in reverse order.
    OutOfOrder,
    /// Instead of a response the connection ends in this way.
    Breaks(Breakdown),
    /// A message that is no JSON ends the connection.
    ClosesOnBadJson,
    /// JSON that is no request ends the connection.
    ClosesOnBadEnvelope,
    /// A request with bad parameters ends the connection.
    ClosesOnBadParams,
    /// After the close frames the TCP connection stays open.
    KeepsTcpOpen,
    /// At its exit the editor ends connections without a close frame.
    NoGoingAway,
    /// The editor sends pings of its own.
    Heartbeat,
    /// A client that connects is sent 200 pings of 125 bytes.
    PingStorm,
    /// A client is told nothing that happens in the first moment after its handshake.
    ListedLate,
}

/// How a connection ends instead of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakdown {
    /// In the middle of the frame with a response.
    InFrame,
    /// The TCP connection ends by FIN, without a close frame.
    Fin,
    /// The TCP connection is reset.
    Reset,
    /// A close frame with this code is sent.
    Close(u16),
}

/// The session of a client that was accepted.
pub struct EditorSession {
    shared: SharedServer,
    number: u64,
    sender: Sender,
    incoming: Receiver,
    orders: mpsc::Receiver<SendOrder>,
    phase: watch::Receiver<Phase>,
    assembler: Assembler,
    /// Responses that are held back, and until when.
    delayed: VecDeque<(Instant, Outgoing)>,
    /// How long messages are held up on their way, if they are.
    latency: Option<Draws>,
    /// Those that are, in the order in which they were sent.
    in_transit: VecDeque<InTransit>,
    requests: u64,
}

/// A message that is held up on its way.
struct InTransit {
    /// When the message is due.
    due: Instant,
    message: Outgoing,
    /// Its share of what may wait for a client, if it has one.
    _share: Option<OwnedSemaphorePermit>,
}

/// Why a session ends.
enum SessionEnd {
    /// The other side ended the connection.
    Gone,
    /// The connection was cut.
    Cut,
    /// A close frame came; it is to be answered with this code.
    Answer(Option<u16>),
    /// The connection is to be closed with this code and reason.
    Close(u16, &'static str),
    /// The connection ends without a close frame.
    Hang(Option<&'static str>),
    /// The TCP connection is reset, for this reason.
    Reset(&'static str),
}

impl From<SendError> for SessionEnd {
    /// Who answers may learn of a cut before who reads does.
    fn from(error: SendError) -> Self {
        match error {
            SendError::Ended { .. } | SendError::Gone { .. } => Self::Cut,
            SendError::Stuck { .. } => Self::Gone,
        }
    }
}

/// Ends a connection that was accepted only to say in the close frame that its token is wrong.
pub async fn reject(socket: Socket) {
    let Socket { sender, incoming } = socket;
    drop(incoming);
    let _ = sender.send(&FrameSpec::close(Some(1000), "Authentication failed"), None).await;
    end_stream(&sender, CLOSE_TIMEOUT).await;
}

/// Ends a connection after a response that was no 101.
pub async fn refuse(socket: Socket) {
    drop(socket.incoming);
    end_stream(&socket.sender, CLOSE_TIMEOUT).await;
}

/// How long after its handshake a freedom lists a client: threads take less.
const LISTED_LATE: Duration = Duration::from_millis(5);

impl EditorSession {
    /// A session for a socket that was accepted.
    pub async fn new(shared: SharedServer, socket: Socket) -> Self {
        let Socket { sender, incoming } = socket;
        // Judged here, so that what breaks the RFC is not answered as if it were sound.
        let read = !shared.deviations().has(SessionSwitch::NeverReads);
        sender.set_options(Options { pong: false, close: false, read });
        if shared.deviations().has(SessionSwitch::ListedLate) {
            sleep(LISTED_LATE).await;
        }
        let (number, orders) = shared.join();
        let phase = shared.phase();
        Self {
            latency: shared.latency().map(|latency| latency.draws(number)),
            assembler: Assembler::new(MAX_MESSAGE),
            delayed: VecDeque::new(),
            in_transit: VecDeque::new(),
            requests: 0,
            shared,
            number,
            sender,
            incoming,
            orders,
            phase,
        }
    }

    /// Serves it to its end.
    pub async fn run(mut self) {
        let end = self.serve().await;
        if matches!(end, SessionEnd::Cut) {
            self.shared.trigger(Trigger::Reset);
        }
        self.shared.leave(self.number);
        self.end(end).await;
    }

    async fn serve(&mut self) -> SessionEnd {
        if self.shared.deviations().has(SessionSwitch::PingStorm) {
            for _ in 0..PING_STORM.0 {
                if let Err(e) = self.sender.send(&FrameSpec::ping([b'p'; PING_STORM.1]), None).await {
                    return e.into();
                }
            }
        }
        let sends_pings = self.shared.deviations().has(SessionSwitch::Heartbeat);
        let mut next_ping = Instant::now();
        loop {
            let due = self.delayed.front().map(|(due, _)| *due);
            let arrives = self.in_transit.front().map(|late| late.due);
            let room = self.in_transit.len() < MAX_IN_TRANSIT;
            tokio::select! {
                biased;
                () = reached(&mut self.phase, Phase::Hung) => {
                    // A server that hangs does nothing until it is ended.
                    reached(&mut self.phase, Phase::Closing).await;
                    return match self.shared.deviations().why(SessionSwitch::NoGoingAway) {
                        Some(why) => SessionEnd::Hang(Some(why)),
                        None => SessionEnd::Close(1001, QUIT_REASON),
                    };
                }
                () = sleep_until(arrives.unwrap_or(next_ping)), if arrives.is_some() => {
                    if let Err(e) = self.deliver().await {
                        return e.into();
                    }
                }
                order = self.orders.recv(), if room => {
                    let Some(order) = order else { return SessionEnd::Gone };
                    if let Err(e) = self.send(order.message, Some(order.share)).await {
                        return e.into();
                    }
                    if let Some(done) = order.done {
                        // Whoever gave the order may have stopped waiting.
                        let _ = done.send(());
                    }
                }
                () = sleep_until(due.unwrap_or(next_ping)), if due.is_some() => {
                    if let Err(e) = self.send_delayed().await {
                        return e.into();
                    }
                }
                () = sleep_until(next_ping), if sends_pings => {
                    next_ping += PING_INTERVAL;
                    if let Err(e) = self.sender.send(&FrameSpec::ping("beat"), None).await {
                        return e.into();
                    }
                }
                incoming = self.incoming.recv(), if room => match incoming {
                    Some(Incoming::Frame(frame)) => {
                        let input = self.assembler.frame(&frame, &FrameTolerance::new(true, &self.shared.deviations()));
                        if let Err(end) = self.on_frame(input).await {
                            return end;
                        }
                    }
                    Some(Incoming::Message(_) | Incoming::Bytes(_)) => {}
                    Some(Incoming::Closed(Closed::Reset)) => return SessionEnd::Cut,
                    Some(Incoming::Closed(Closed::Eof)) | None => return SessionEnd::Gone,
                },
            }
        }
    }

    async fn on_frame(&mut self, input: AssembledFrame) -> Result<(), SessionEnd> {
        let deviations = self.shared.deviations();
        match input {
            AssembledFrame::Nothing => {}
            AssembledFrame::Text(bytes) => self.on_message(&bytes).await?,
            AssembledFrame::Binary => {
                self.shared.trigger(Trigger::Binary);
                return Err(SessionEnd::Close(1003, "messages have to come as text"));
            }
            AssembledFrame::Ping(payload) => {
                if !deviations.has(SocketSwitch::NoPong) {
                    self.send_frames(FrameKind::Pong, FrameSpec::pong(payload), None).await?;
                }
            }
            AssembledFrame::Pong if deviations.has(SocketSwitch::ClosesOnPong) => {
                return Err(SessionEnd::Close(1002, "nobody asked for a pong"));
            }
            AssembledFrame::Pong => {}
            AssembledFrame::Close(_) if deviations.has(SocketSwitch::CloseIgnored) => {}
            AssembledFrame::Close(code) => return Err(SessionEnd::Answer(code)),
            AssembledFrame::Broken(code, why) => {
                self.shared.trigger(if code == 1009 { Trigger::HugeMessage } else { Trigger::BadFrame });
                let code = if deviations.has(SocketSwitch::WrongFailureCode) { 1000 } else { code };
                return Err(SessionEnd::Close(code, why));
            }
        }
        Ok(())
    }

    async fn on_message(&mut self, bytes: &[u8]) -> Result<(), SessionEnd> {
        let deviations = self.shared.deviations();
        deviations.history().message();
        self.requests += 1;
        if self.requests > FEW_REQUESTS && deviations.has(SessionSwitch::HundredRequests) {
            return Ok(());
        }
        if bytes.len() > HUGE_MESSAGE {
            self.shared.trigger(Trigger::HugeMessage);
        }
        // The flaw: the next client's turn comes when this one has taken its response.
        let _turn = match deviations.has(SessionSwitch::AnswersOneAtATime) {
            true => Some(self.shared.turn().await),
            false => None,
        };
        let HandledMessage { responses, fault, delay, name, .. } = self.shared.serve(self.number, bytes);
        if deviations.has(SessionSwitch::LastOfPipelined) {
            self.delayed.clear();
        }
        let breakdown = |switch| if let SessionSwitch::Breaks(how) = switch { Some(how) } else { None };
        if let Some((how, Some(why))) = deviations.choose_with_why(breakdown) {
            return Err(self.break_down(how, why, responses.first()).await);
        }
        let reordering = deviations.has(SessionSwitch::OutOfOrder) || deviations.has(SessionSwitch::LastOfPipelined);
        if reordering || delay.is_some() {
            for response in responses {
                self.delay_response(response, delay.unwrap_or(REORDER_DELAY), reordering);
            }
        } else {
            for response in responses {
                self.send(response, None).await?;
            }
        }
        if !name.is_empty() {
            self.shared.publish(MockEvent::Request(name));
        }
        let Some(fault) = fault else { return Ok(()) };
        self.shared.trigger(fault);
        let ends = match fault {
            Trigger::BadJson | Trigger::DeepJson => deviations.has(SessionSwitch::ClosesOnBadJson),
            Trigger::BadEnvelope => deviations.has(SessionSwitch::ClosesOnBadEnvelope),
            Trigger::BadParams => deviations.has(SessionSwitch::ClosesOnBadParams),
            _ => false,
        };
        if ends { Err(SessionEnd::Close(1003, "that was no request")) } else { Ok(()) }
    }

    /// Ends the connection in a wrong way, in the place of a response.
    async fn break_down(&self, how: Breakdown, why: &'static str, response: Option<&Outgoing>) -> SessionEnd {
        match how {
            Breakdown::Close(code) => return SessionEnd::Close(code, "the editor is in trouble"),
            Breakdown::Reset => return SessionEnd::Reset(why),
            Breakdown::Fin => {}
            Breakdown::InFrame => {
                let payload = response.map(|a| a.bytes.clone()).unwrap_or_default();
                let options = SendOptions { cut: Some(payload.len() / 2), ..SendOptions::deliberate(Some(why)) };
                if let Err(e) = self.sender.send_in(&FrameSpec::new(opcode::TEXT, payload), &options).await {
                    return e.into();
                }
            }
        }
        SessionEnd::Hang(Some(why))
    }

    /// Holds a response back: in order, or before those that are held already.
    fn delay_response(&mut self, response: Outgoing, time: Duration, reordering: bool) {
        let due = Instant::now() + time;
        match self.delayed.front() {
            Some((first, _)) if reordering => {
                let due = *first;
                self.delayed.push_front((due, response));
            }
            _ => self.delayed.push_back((due, response)),
        }
    }

    /// Sends what is due of what was held back.
    async fn send_delayed(&mut self) -> Result<(), SendError> {
        let now = Instant::now();
        while self.delayed.front().is_some_and(|(due, _)| *due <= now)
            && let Some((_, response)) = self.delayed.pop_front()
        {
            self.send(response, None).await?;
        }
        Ok(())
    }

    /// Sends a message, or sends it on its way where that is long: in order, each with a time of its own.
    async fn send(&mut self, message: Outgoing, share: Option<OwnedSemaphorePermit>) -> Result<(), SendError> {
        let Some(time) = self.latency.as_mut().and_then(Iterator::next) else { return self.transmit(&message).await };
        let before = self.in_transit.back().map(|late| late.due);
        let due = before.into_iter().fold(Instant::now() + time, Instant::max);
        self.in_transit.push_back(InTransit { due, message, _share: share });
        Ok(())
    }

    /// Lets the client have what has been on its way long enough.
    async fn deliver(&mut self) -> Result<(), SendError> {
        let now = Instant::now();
        while self.in_transit.front().is_some_and(|late| late.due <= now)
            && let Some(late) = self.in_transit.pop_front()
        {
            self.transmit(&late.message).await?;
        }
        Ok(())
    }

    async fn transmit(&self, message: &Outgoing) -> Result<(), SendError> {
        self.send_frames(FrameKind::Message, FrameSpec::new(opcode::TEXT, message.bytes.clone()), message.deliberate)
            .await
    }

    async fn send_frames(&self, kind: FrameKind, frame: FrameSpec, why: Option<&'static str>) -> Result<(), SendError> {
        for (frame, flaw) in self.shared.deviations().frames(kind, frame) {
            self.sender.send(&frame, flaw.or(why)).await?;
        }
        Ok(())
    }

    async fn end(self, end: SessionEnd) {
        let deviations = self.shared.deviations();
        let (keeps_open, ignores_close) =
            (deviations.why(SessionSwitch::KeepsTcpOpen), deviations.why(SocketSwitch::CloseNotAnswered));
        let frame = match end {
            SessionEnd::Gone | SessionEnd::Cut => None,
            SessionEnd::Hang(why) => {
                if let Some(why) = why {
                    self.sender.shutdown_deliberately(why).await;
                }
                None
            }
            SessionEnd::Reset(why) => {
                self.sender.reset(Some(why)).await;
                None
            }
            SessionEnd::Answer(_) if ignores_close.is_some() => None,
            SessionEnd::Answer(code) => {
                let code = code.map(|c| if deviations.has(SocketSwitch::CloseNotEchoed) { 1000 } else { c });
                Some(FrameSpec::close(code, ""))
            }
            SessionEnd::Close(code, reason) => Some(FrameSpec::close(Some(code), reason)),
        };
        let closing = frame.is_some();
        if let Some(frame) = frame {
            let _ = self.send_frames(FrameKind::Close, frame, None).await;
        }
        drop(self.incoming);
        if keeps_open.is_some() && closing && !matches!(end, SessionEnd::Gone | SessionEnd::Cut) {
            self.sender.ended().await;
        }
        end_stream(&self.sender, CLOSE_TIMEOUT).await;
    }
}
