//! The steps of a trace, made of its events one after the other, however long it is.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::protocol::Lock;
use crate::replay::Position;
use crate::trace::opcode;
use crate::trace::{End, Event, EventKind, Frame, Message, Payload, TraceReader};

use super::{EndBehaviour, RecordedAct, Request, ScriptError, Step, Unit};

/// So many steps of the record are held, at most, so that what belongs to one of them finds it.
const AHEAD: usize = 1000;
/// The most bytes of steps that are held; a single message may have more.
const AHEAD_BYTES: usize = 32 << 20;
/// The fewest steps that are held, however many bytes they have.
const FEWEST: usize = 16;
/// The most bytes that are held in any case.
const MOST_BYTES: usize = 256 << 20;

/// How the content of a lockfile is understood.
pub(super) type ReadLock = Box<dyn Fn(&[u8]) -> Option<Lock> + Send>;

/// Reads a trace as steps. Each is whole once it is given: frames with the message that they make, a request with its
/// content. Of what lies more than a thousand steps apart, what came by then is given.
pub struct Steps {
    reader: TraceReader,
    builder: StepBuilder,
    lock: ReadLock,
    path: String,
    over: bool,
}

impl Steps {
    /// The steps of a trace; `path` is for errors.
    pub(super) fn new(reader: TraceReader, path: &Path, lock: ReadLock) -> Self {
        Self { reader, builder: StepBuilder::default(), lock, path: path.display().to_string(), over: false }
    }

    /// The next step; none at the end.
    ///
    /// # Errors
    /// Where the trace is damaged, or one message of it too large.
    pub fn step(&mut self) -> Result<Option<Step>, ScriptError> {
        loop {
            self.fill()?;
            let Some((step, spoken)) = self.builder.take() else { return Ok(None) };
            // A connection on which nothing was asked is somebody's look whether anybody listens.
            if spoken || !matches!(step.act, super::RecordedAct::Close(_)) {
                return Ok(Some(step));
            }
        }
    }

    fn fill(&mut self) -> Result<(), ScriptError> {
        while !self.over {
            let pending = self.builder.pending();
            if pending >= AHEAD || pending >= FEWEST && self.builder.bytes >= AHEAD_BYTES {
                break;
            }
            match self.reader.next() {
                Some(event) => self.builder.event(event?, self.reader.line(), &self.lock),
                None => {
                    self.over = true;
                    self.builder.finish(self.reader.is_cut());
                }
            }
            if self.builder.bytes > MOST_BYTES {
                return Err(ScriptError::TooLong { path: self.path.clone(), limit: "256 MiB in one message" });
            }
        }
        Ok(())
    }

    /// Whether the trace was cut; known at its end.
    pub(super) fn is_cut(&self) -> bool {
        self.reader.is_cut()
    }

    /// What was learnt of the whole so far.
    pub(super) fn facts(&mut self) -> &mut TraceFacts {
        &mut self.builder.facts
    }
}

/// So many connections are remembered at a time. One that is silent while so many others are used counts as a new one.
const MOST_CONNECTIONS: usize = 20_000;
/// So many pings of a connection wait for their pongs.
const MOST_PINGS: usize = 1000;
/// So many notes are kept, and habits of ends that did not behave.
const MOST_FACTS: usize = 100_000;

/// What is learnt of a trace while it is read.
#[derive(Debug, Default)]
pub(super) struct TraceFacts {
    pub(super) lock: Option<Lock>,
    pub(super) ports: BTreeSet<u16>,
    pub(super) behaviour: HashMap<(String, End), EndBehaviour>,
    pub(super) workspace: Option<String>,
    pub(super) notes: Vec<String>,
}

/// What is known of a connection of the trace.
#[derive(Debug, Default)]
struct ConnectionState {
    /// Its present name, and how often it was opened.
    name: String,
    times: usize,
    /// Whether the client sent anything on it.
    spoken: bool,
    /// Whether there were frames on it.
    framed: bool,
    /// The unit that is not whole yet, of each end.
    open: [Option<usize>; 2],
    /// The request whose content is still coming, or that was the last.
    request: Option<usize>,
    /// Pings that were not answered yet, by who sent them.
    pings: [VecDeque<Payload>; 2],
    /// Which ends answered a ping.
    ponged: [bool; 2],
    /// Which ends sent a close frame.
    closing: [bool; 2],
    /// When it was last used.
    used: u64,
}

/// Where the open ends of a trace are, while it is read. Steps are given as soon as they are taken, whole or not.
#[derive(Debug, Default)]
pub(super) struct StepBuilder {
    pub(super) facts: TraceFacts,
    /// How many bytes the steps have that are held.
    pub(super) bytes: usize,
    /// Steps that were not taken, with whether the client had said anything before.
    steps: VecDeque<(Step, bool)>,
    /// How many were taken.
    taken: usize,
    conns: HashMap<String, ConnectionState>,
    uses: u64,
}

/// Where a table of both ends has an end.
fn end_index(end: End) -> usize {
    usize::from(end == End::Server)
}

impl StepBuilder {
    /// How many steps are pending.
    pub(super) fn pending(&self) -> usize {
        self.steps.len()
    }

    /// The first of them, and whether its client said anything, as far as is known.
    pub(super) fn take(&mut self) -> Option<(Step, bool)> {
        let (step, spoken) = self.steps.pop_front()?;
        self.taken += 1;
        self.bytes = self.bytes.saturating_sub(step.weight());
        let speaks = |(other, _): &(Step, bool)| {
            other.conn == step.conn && other.end == End::Client && !matches!(other.act, RecordedAct::Close(_))
        };
        let spoken = spoken || matches!(step.act, RecordedAct::Close(_)) && self.steps.iter().any(speaks);
        Some((step, spoken))
    }

    pub(super) fn event(&mut self, event: Event, line: u64, lock: &dyn Fn(&[u8]) -> Option<Lock>) {
        let at = Position { event: event.i, line };
        let end = event.dir.map_or(End::Client, |dir| dir.sender());
        let client = end == End::Client;
        let opens =
            matches!(event.kind, EventKind::HttpRequest(_)) || matches!(event.kind, EventKind::Handshake(_)) && client;
        let name = event.conn.as_deref().unwrap_or_default();
        self.use_connection(name, opens && event.conn.is_some());
        let conn = self.conns.get(name).map(|conn| conn.name.clone()).unwrap_or_default();
        let step = |act| Step { at, t: event.t, conn: conn.clone(), end, deliberate: event.deliberate.clone(), act };
        match event.kind {
            EventKind::Connected { address } => {
                self.facts.ports.extend(address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()));
            }
            EventKind::Handshake(head) if client => {
                self.facts.ports.extend(host_port(&head.headers));
                self.push(name, step(RecordedAct::Upgrade(head)));
            }
            EventKind::Handshake(head) => self.push(name, step(RecordedAct::Accept(head))),
            EventKind::Frame(frame) => self.frame(frame, name, end, step(RecordedAct::Unit(Unit::default()))),
            EventKind::Message(message) => self.message(message, name, end, step),
            EventKind::HttpRequest(head) => {
                let at = self.next();
                self.conn(name).request = Some(at);
                self.facts.ports.extend(host_port(&head.headers));
                let (pieces, trailers) = (vec![], vec![]);
                let request = Request { head, pieces, trailers, complete: false, message: None };
                self.push(name, step(RecordedAct::Request(Box::new(request))));
            }
            EventKind::HttpResponse(head) => self.push(name, step(RecordedAct::Respond(head))),
            EventKind::Body(body) => {
                self.look_for_workspace(&body.bytes);
                if client {
                    self.change(self.request(name), |act| {
                        if let RecordedAct::Request(request) = act {
                            request.complete |= body.last;
                            request.trailers = body.trailers;
                            request.pieces.push(body.bytes.as_bytes().to_vec());
                        }
                    });
                } else {
                    self.push(name, step(RecordedAct::Piece(body)));
                }
            }
            EventKind::StreamEvent(event) => self.push(name, step(RecordedAct::Event(event))),
            EventKind::Bytes { bytes } => self.push(name, step(RecordedAct::Bytes(bytes.as_bytes().to_vec()))),
            EventKind::Closed(how) => self.push(name, step(RecordedAct::Close(how))),
            EventKind::Call(call) => self.push(name, step(RecordedAct::Call(call))),
            EventKind::Returned(returned) => self.push(name, step(RecordedAct::Returned(returned))),
            EventKind::Stimulus(stimulus) => self.push(name, step(RecordedAct::Stimulus(stimulus))),
            EventKind::File(file) if self.facts.lock.is_none() && !file.is_by_play() => {
                self.facts.lock = file.content.and_then(|content| lock(content.as_bytes()));
            }
            _ => {}
        }
    }

    /// A connection is used; one that is opened anew gets a number.
    fn use_connection(&mut self, name: &str, opens: bool) {
        self.uses += 1;
        if !self.conns.contains_key(name) {
            self.make_room();
            self.conns.insert(name.to_owned(), ConnectionState { name: name.to_owned(), ..ConnectionState::default() });
        }
        let Some(conn) = self.conns.get_mut(name) else { return };
        if opens {
            conn.times += 1;
            if conn.times > 1 {
                let (present, times) = (format!("{name}#{}", conn.times), conn.times);
                let was =
                    std::mem::replace(conn, ConnectionState { name: present, times, ..ConnectionState::default() });
                self.habits(&was);
            }
        }
        self.conn(name).used = self.uses;
    }

    /// Forgets half of the connections, where there are too many: those that were not used for longest.
    fn make_room(&mut self) {
        if self.conns.len() < MOST_CONNECTIONS {
            return;
        }
        let mut used: Vec<u64> = self.conns.values().map(|conn| conn.used).collect();
        let middle = used.len() / 2;
        let (_, since, _) = used.select_nth_unstable(middle);
        let since = *since;
        let (kept, gone) = std::mem::take(&mut self.conns).into_iter().partition(|(_, conn)| conn.used >= since);
        self.conns = kept;
        let gone: HashMap<String, ConnectionState> = gone;
        gone.values().for_each(|conn| self.habits(conn));
    }

    fn conn(&mut self, name: &str) -> &mut ConnectionState {
        self.conns.entry(name.to_owned()).or_default()
    }

    /// The number of the next step.
    fn next(&self) -> usize {
        self.taken + self.steps.len()
    }

    fn push(&mut self, name: &str, step: Step) {
        let closes = matches!(step.act, RecordedAct::Close(_));
        let conn = self.conn(name);
        conn.spoken |= step.end == End::Client && !closes;
        let spoken = conn.spoken;
        self.bytes += step.weight();
        self.steps.push_back((step, spoken));
    }

    /// Changes a step that was not taken. Gives whether there is one.
    fn change(&mut self, at: Option<usize>, f: impl FnOnce(&mut RecordedAct)) -> bool {
        let Some(at) = at.and_then(|at| at.checked_sub(self.taken)) else { return false };
        let Some((step, _)) = self.steps.get_mut(at) else { return false };
        let before = step.weight();
        f(&mut step.act);
        self.bytes = (self.bytes + step.weight()).saturating_sub(before);
        true
    }

    fn request(&self, name: &str) -> Option<usize> {
        self.conns.get(name)?.request
    }

    /// Notes the first workspace in a run directory of wirecert's own that is spoken of.
    fn look_for_workspace(&mut self, payload: &Payload) {
        if self.facts.workspace.is_none()
            && let Some(text) = payload.as_text().filter(|text| text.contains("/wirecert-"))
        {
            self.facts.workspace = RUN_DIR.as_ref().and_then(|pattern| Some(pattern.find(text)?.as_str().to_owned()));
        }
    }

    fn frame(&mut self, frame: Frame, name: &str, end: End, step: Step) {
        self.look_for_workspace(&frame.payload);
        let sent = frame.payload.as_bytes().len();
        if frame.length > sent as u64 && sent >= 16 << 20 && self.facts.notes.len() < MOST_FACTS {
            let event = step.at.event;
            self.facts.notes.push(format!("the frame of event {event} was recorded in part, and is sent so"));
        }
        self.conn(name).framed = true;
        let control = frame.opcode >= opcode::CLOSE;
        let automatic = control && self.is_automatic(&frame, name, end);
        let goes_on = control || frame.opcode == opcode::CONTINUATION;
        let open = self.conn(name).open[end_index(end)].filter(|at| *at >= self.taken && goes_on && !automatic);
        if open.is_some() {
            self.change(open, |act| {
                if let RecordedAct::Unit(unit) = act {
                    unit.frames.push(frame);
                }
            });
            return;
        }
        if !control {
            // A whole message is closed by the message that follows it.
            let at = self.next();
            self.conn(name).open[end_index(end)] = Some(at);
        }
        self.push(
            name,
            Step { act: RecordedAct::Unit(Unit { frames: vec![frame], message: None, automatic }), ..step },
        );
    }

    /// Whether a well-behaved end sends this control frame by itself.
    fn is_automatic(&mut self, frame: &Frame, name: &str, end: End) -> bool {
        let (us, other) = (end_index(end), 1 - end_index(end));
        let conn = self.conn(name);
        match frame.opcode {
            opcode::PING => {
                let waiting = &mut conn.pings[us];
                waiting.push_back(frame.payload.clone());
                if waiting.len() > MOST_PINGS {
                    waiting.pop_front();
                }
                false
            }
            opcode::PONG => {
                let waiting = &mut conn.pings[other];
                let Some(at) = waiting.iter().position(|ping| *ping == frame.payload) else { return false };
                // Of several pings only the last has to be answered (RFC 6455 section 5.5.3).
                waiting.drain(..=at);
                conn.ponged[us] = true;
                true
            }
            opcode::CLOSE => {
                conn.closing[us] = true;
                conn.closing[other]
            }
            _ => false,
        }
    }

    fn message(&mut self, message: Message, name: &str, end: End, step: impl FnOnce(RecordedAct) -> Step) {
        let conn = self.conn(name);
        let (open, request, framed) = (conn.open[end_index(end)].take(), conn.request, conn.framed);
        match end {
            // What its frames say was given without it, since they lie too far back.
            _ if framed && open.is_none_or(|at| at < self.taken) => {}
            _ if open.is_some() => {
                self.change(open, |act| {
                    if let RecordedAct::Unit(unit) = act {
                        unit.message = Some(message);
                    }
                });
            }
            End::Client => {
                self.change(request, |act| {
                    if let RecordedAct::Request(request) = act {
                        request.message = Some(message);
                    }
                });
            }
            End::Server => self.push(name, step(RecordedAct::Content(message))),
        }
    }

    /// Notes how the ends of a connection behaved, where they did not behave well.
    fn habits(&mut self, conn: &ConnectionState) {
        for end in [End::Client, End::Server] {
            let (us, other) = (end_index(end), 1 - end_index(end));
            let habits = EndBehaviour {
                pong: conn.pings[other].is_empty() || conn.ponged[us],
                close: !conn.closing[other] || conn.closing[us],
            };
            if habits != EndBehaviour::default() && self.facts.behaviour.len() < MOST_FACTS {
                self.facts.behaviour.insert((conn.name.clone(), end), habits);
            }
        }
    }

    /// The trace is at its end; what one that was cut does not have may have come later.
    pub(super) fn finish(&mut self, cut: bool) {
        let conns = std::mem::take(&mut self.conns);
        if !cut {
            conns.values().for_each(|conn| self.habits(conn));
        }
    }
}

/// A workspace in a run directory of wirecert's own.
static RUN_DIR: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"/(?:[^/"\s]+/)*wirecert-[A-Za-z0-9]{6}/workspace"#).ok());

/// The port that a client believes it talks to.
fn host_port(headers: &[(String, String)]) -> Option<u16> {
    let (_, host) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"))?;
    host.rsplit_once(':')?.1.parse().ok()
}
