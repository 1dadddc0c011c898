//! One connection to an editor, from the handshake to its end, and what quirks make of its frames.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use crate::peer::amp::assembler::{Assembler, FrameFault, FrameTolerance, Input};
use crate::wire::websocket::{FrameSpec, Incoming, Receiver, SendError, Sender, Socket, opcode};

use super::calls::Request;
use super::quirks::{Effect, Kind, Quirks, Switch, Trigger};
use super::run::Event;

/// How long the editor may take to end a connection that is being closed.
const GOODBYE: Duration = Duration::from_secs(1);
/// No message of the editor may be longer, in bytes.
const MAX_MESSAGE: usize = 16 << 20;
/// How late the freedom to answer pings late does so.
const LATE: Duration = Duration::from_millis(100);
/// How often the freedom to send pings does.
const BEAT: Duration = Duration::from_millis(300);
/// Beyond this many bytes a message is huge to a fragile client.
const HUGE: usize = 1 << 20;
/// This many messages are a flood to a fragile client.
const FLOOD: u64 = 1000;
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
        let session = Session {
            number,
            sender,
            incoming,
            orders,
            quirks,
            assembler,
            events,
            pongs: vec![],
            open: 0,
            messages: 0,
        };
        Self { number, requests, done: tokio::spawn(session.run()) }
    }

    /// Sends a request; gives whether it could be taken.
    pub fn send(&self, request: Request) -> bool {
        self.requests.try_send(request).is_ok()
    }

    /// Closes it, and returns when it is over, or the editor does not let that happen.
    pub async fn close(mut self, patience: Duration) {
        drop(self.requests);
        // That it panicked would have been told.
        let _ = timeout(patience, &mut self.done).await;
        self.done.abort();
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
    /// How many requests wait for an answer, as far as can be told here.
    open: u64,
    /// How many messages have come.
    messages: u64,
}

/// Why a session ends.
enum End {
    /// The editor ended the connection, or it broke.
    Gone,
    /// A close frame came; it is to be answered with this code.
    Answer(Option<u16>),
    /// The editor broke the RFC; the connection has to fail with this code and reason.
    Fail(u16, &'static str),
    /// We have had enough.
    Leave,
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
                    let Some(request) = request else { return End::Leave };
                    self.open += 1;
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
                        let input = self.assembler.frame(&frame, &frame_tolerance(&self.quirks));
                        if let Err(end) = self.input(input).await {
                            return end;
                        }
                    }
                    Some(Incoming::Message(_) | Incoming::Bytes(_)) => {}
                    Some(Incoming::Closed(_)) => {
                        self.trigger(Trigger::Cut).await;
                        return End::Gone;
                    }
                    None => return End::Gone,
                },
            }
        }
    }

    async fn input(&mut self, input: Input) -> Result<(), End> {
        match input {
            Input::Text(bytes) => self.message(bytes).await,
            Input::Ping(payload) => self.ping(payload).await?,
            Input::Pong if self.quirks.has(Switch::ClosesOnPong) => return Err(End::Leave),
            Input::Binary => self.trigger(Trigger::Binary).await,
            Input::Nothing | Input::Pong => {}
            Input::Close(code) => return Err(End::Answer(code)),
            Input::Broken(code, why) => {
                self.trigger(if code == 1009 { Trigger::HugeLength } else { Trigger::BadFrame }).await;
                return Err(End::Fail(code, why));
            }
        }
        Ok(())
    }

    async fn message(&mut self, bytes: Vec<u8>) {
        self.messages += 1;
        if self.messages == FLOOD {
            self.trigger(Trigger::Flood).await;
        }
        if bytes.len() > HUGE {
            self.trigger(Trigger::HugeMessage).await;
        }
        if bytes.windows(16).any(|w| w == b"\"serverResponse\"") {
            self.open = self.open.saturating_sub(1);
        }
        // Nobody to take it: we are about to be told to leave.
        let _ = self.events.send(Event::Message(self.number, bytes)).await;
    }

    async fn ping(&mut self, payload: Vec<u8>) -> Result<(), SendError> {
        let mute = self.quirks.has(Switch::NoPong) || (self.open > 0 && self.quirks.has(Switch::NoPongWhileOpen));
        if mute {
            return Ok(());
        }
        if self.quirks.has(Switch::PongsLate) {
            // Of many pings in a row only some need an answer (RFC 6455 section 5.5.3).
            if self.pongs.len() < 100 {
                self.pongs.push((Instant::now() + LATE, payload));
            }
            return Ok(());
        }
        self.send(Kind::Pong, FrameSpec::pong(payload), None).await
    }

    /// Tells what a fragile client would be upset by, where a flaw makes this one fragile.
    async fn trigger(&self, trigger: Trigger) {
        let _ = self.events.send(Event::Upset(trigger)).await;
    }

    async fn send(&self, kind: Kind, frame: FrameSpec, why: Option<&'static str>) -> Result<(), SendError> {
        for (frame, flaw) in outgoing_frames(kind, frame, &self.quirks) {
            self.sender.send(&frame, flaw.or(why)).await?;
        }
        Ok(())
    }

    async fn end(self, end: End) {
        let Some(frame) = self.goodbye(&end) else {
            self.sender.shutdown().await;
            return;
        };
        let _ = self.send(Kind::Close, frame, None).await;
        drop(self.incoming);
        // It is for the server to close the stream first (RFC 6455 section 7.1.1).
        if self.quirks.has(Switch::NeverQuits) {
            self.sender.ended().await;
        }
        let _ = timeout(GOODBYE, self.sender.ended()).await;
        self.sender.shutdown().await;
    }

    /// The close frame with which a connection ends; none where it just ends.
    fn goodbye(&self, end: &End) -> Option<FrameSpec> {
        let has = |switch| self.quirks.has(switch);
        let other = self.quirks.choose(|s| if let Switch::LeavesWith(code) = s { Some(code) } else { None });
        match *end {
            End::Gone => None,
            End::Answer(_) if has(Switch::CloseNotAnswered) => None,
            End::Answer(Some(_)) if has(Switch::AnswersCloseWith1000) => Some(FrameSpec::close(Some(1000), "")),
            End::Answer(code) => Some(FrameSpec::close(code, "")),
            End::Fail(..) if has(Switch::WrongFailureCode) => Some(FrameSpec::close(Some(1000), "")),
            End::Fail(code, reason) => Some(FrameSpec::close(Some(code), reason)),
            End::Leave if has(Switch::LeavesSilently) => None,
            End::Leave if has(Switch::LeavesWithoutCode) => Some(FrameSpec::close(None, "")),
            End::Leave => Some(FrameSpec::close(Some(other.unwrap_or(1000)), "")),
        }
    }
}

/// How the frames of the editor are taken.
pub fn frame_tolerance(quirks: &Quirks) -> FrameTolerance {
    use FrameFault::{Close, Control, Fragments, Mask, Opcode, ReservedBits, Utf8};
    let faults = [Mask, ReservedBits, Opcode, Utf8, Control, Fragments, Close];
    FrameTolerance {
        from_client: false,
        overlooks: faults.into_iter().filter(|fault| quirks.has(Switch::Tolerates(*fault))).collect(),
        forgets_at_control: quirks.has(Switch::ForgetsAtControl),
        deaf_beyond: quirks.choose(|s| if let Switch::DeafBeyond(n) = s { Some(n) } else { None }),
        refuses_fragments: quirks.has(Switch::RefusesFragments),
        checks_fragments_alone: quirks.has(Switch::ChecksFragmentsAlone),
    }
}

/// What is sent for a frame of ours, and the flaw that has a hand in it.
pub fn outgoing_frames(kind: Kind, frame: FrameSpec, quirks: &Quirks) -> Vec<(FrameSpec, Option<&'static str>)> {
    let mut frames = vec![(frame, None)];
    for quirk in quirks.iter() {
        if let Effect::Frame(of, change) = quirk.effect
            && of == kind
        {
            let why = |old: Option<&'static str>| if quirk.flaw { Some(quirk.name) } else { old };
            frames = frames
                .into_iter()
                .flat_map(|(frame, old)| change(frame).into_iter().map(move |f| (f, why(old))))
                .collect();
        }
    }
    frames
}
