//! Making a script out of events, one after the other.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use crate::protocol::Lock;
use crate::trace::{End, Event, FileChange, Frame, Header, Message, Payload, What};
use crate::wire::websocket::opcode;

use crate::replay::Position;

use super::{Act, RUN_DIR, Request, Script, Step, Unit, host_port};

/// Where the open ends of a trace are, while it is read.
pub(super) struct Builder {
    pub(super) script: Script,
    pub(super) bytes: usize,
    /// The present name of each connection of the trace, and how often it was opened.
    names: HashMap<String, (String, usize)>,
    /// The unit that is not whole yet.
    open: HashMap<(String, End), usize>,
    /// The request whose content is still coming, or that was the last on its connection.
    requests: HashMap<String, usize>,
    /// Pings that were not answered yet.
    pings: HashMap<(String, End), VecDeque<Payload>>,
    /// Who sent a close frame.
    closing: HashMap<String, BTreeMap<bool, u64>>,
}

impl Builder {
    pub(super) fn new(header: Header) -> Self {
        let script = Script {
            header,
            steps: vec![],
            cut: false,
            lock: None,
            ports: BTreeSet::new(),
            habits: HashMap::new(),
            workspace: None,
            notes: vec![],
        };
        Self {
            script,
            bytes: 0,
            names: HashMap::new(),
            open: HashMap::new(),
            requests: HashMap::new(),
            pings: HashMap::new(),
            closing: HashMap::new(),
        }
    }

    pub(super) fn event(&mut self, event: Event, line: u64, lock: &dyn Fn(&[u8]) -> Option<Lock>) {
        let at = Position { event: event.i, line };
        let opens = matches!(event.what, What::HttpRequest(_))
            || matches!(&event.what, What::Handshake(_) if event.dir.is_some_and(|d| d.sender() == End::Client));
        let conn = event.conn.as_deref().map(|name| self.name(name, opens)).unwrap_or_default();
        let end = event.dir.map_or(End::Client, |dir| dir.sender());
        let step = |act| Step { at, t: event.t, conn: conn.clone(), end, why: event.deliberate.clone(), act };
        let client = end == End::Client;
        match event.what {
            What::Connected { address } => {
                self.script.ports.extend(address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()));
            }
            What::Handshake(head) if client => {
                self.script.ports.extend(host_port(&head.headers));
                self.push(step(Act::Upgrade(head)));
            }
            What::Handshake(head) => self.push(step(Act::Accept(head))),
            What::Frame(frame) => self.frame(frame, &conn, end, step(Act::Unit(Unit::default()))),
            What::Message(message) => self.message(message, &conn, end, step),
            What::HttpRequest(head) => {
                self.requests.insert(conn.clone(), self.script.steps.len());
                self.script.ports.extend(host_port(&head.headers));
                let (pieces, trailers) = (vec![], vec![]);
                let request = Request { head, pieces, trailers, whole: false, message: None };
                self.push(step(Act::Request(Box::new(request))));
            }
            What::HttpResponse(head) => self.push(step(Act::Respond(head))),
            What::Body(body) => {
                self.bytes += body.bytes.as_bytes().len();
                self.look_for_workspace(&body.bytes);
                match self.request(&conn) {
                    Some(request) if client => {
                        request.whole |= body.last;
                        request.trailers = body.trailers;
                        request.pieces.push(body.bytes.as_bytes().to_vec());
                    }
                    _ if client => {}
                    _ => self.push(step(Act::Piece(body))),
                }
            }
            What::StreamEvent(event) => self.push(step(Act::Event(event))),
            What::Bytes { bytes } => {
                self.bytes += bytes.as_bytes().len();
                self.push(step(Act::Bytes(bytes.as_bytes().to_vec())));
            }
            What::Closed(how) => self.push(step(Act::Close(how))),
            What::Call(call) => self.push(step(Act::Call(call))),
            What::Returned(returned) => self.push(step(Act::Returned(returned))),
            What::Stimulus(stimulus) => self.push(step(Act::Stimulus(stimulus))),
            What::File(FileChange { content: Some(content), .. }) if self.script.lock.is_none() => {
                self.script.lock = lock(content.as_bytes());
            }
            _ => {}
        }
    }

    /// The name under which a connection goes; one that is opened anew gets a number.
    fn name(&mut self, name: &str, opens: bool) -> String {
        let (present, times) = self.names.entry(name.to_owned()).or_insert_with(|| (name.to_owned(), 0));
        if opens {
            *times += 1;
            if *times > 1 {
                *present = format!("{name}#{times}");
            }
        }
        present.clone()
    }

    fn push(&mut self, step: Step) {
        self.script.steps.push(step);
    }

    /// Notes the first workspace in a run directory of wirecert's own that is spoken of.
    fn look_for_workspace(&mut self, payload: &Payload) {
        if self.script.workspace.is_none()
            && let Some(text) = payload.as_text().filter(|text| text.contains("/wirecert-"))
        {
            self.script.workspace = RUN_DIR.as_ref().and_then(|pattern| Some(pattern.find(text)?.as_str().to_owned()));
        }
    }

    fn request(&mut self, conn: &str) -> Option<&mut Request> {
        let at = *self.requests.get(conn)?;
        match self.script.steps.get_mut(at).map(|step| &mut step.act) {
            Some(Act::Request(request)) => Some(request),
            _ => None,
        }
    }

    fn frame(&mut self, frame: Frame, conn: &str, end: End, step: Step) {
        self.bytes += frame.payload.as_bytes().len();
        self.look_for_workspace(&frame.payload);
        if frame.length > frame.payload.as_bytes().len() as u64 && frame.payload.as_bytes().len() >= 16 << 20 {
            self.script
                .notes
                .push(format!("the frame of event {} was recorded in part, and is sent so", step.at.event));
        }
        let key = (conn.to_owned(), end);
        let control = frame.opcode >= opcode::CLOSE;
        let automatic = control && self.is_automatic(&frame, conn, end);
        let goes_on = control || frame.opcode == opcode::CONTINUATION;
        if goes_on
            && !automatic
            && let Some(at) = self.open.get(&key)
            && let Some(Step { act: Act::Unit(unit), .. }) = self.script.steps.get_mut(*at)
        {
            unit.frames.push(frame);
            return;
        }
        if !control {
            // A whole message is closed by the message that follows it.
            self.open.insert(key, self.script.steps.len());
        }
        self.push(Step { act: Act::Unit(Unit { frames: vec![frame], message: None, automatic }), ..step });
    }

    /// Whether a well-behaved end sends this control frame by itself.
    fn is_automatic(&mut self, frame: &Frame, conn: &str, end: End) -> bool {
        let other = if end == End::Client { End::Server } else { End::Client };
        match frame.opcode {
            opcode::PING => {
                self.pings.entry((conn.to_owned(), end)).or_default().push_back(frame.payload.clone());
                false
            }
            opcode::PONG => {
                let Some(waiting) = self.pings.get_mut(&(conn.to_owned(), other)) else { return false };
                let Some(at) = waiting.iter().position(|ping| *ping == frame.payload) else { return false };
                // Of several pings only the last has to be answered (RFC 6455 section 5.5.3).
                waiting.drain(..=at);
                true
            }
            opcode::CLOSE => {
                let closing = self.closing.entry(conn.to_owned()).or_default();
                let answers = closing.contains_key(&(other == End::Client));
                closing.insert(end == End::Client, 0);
                answers
            }
            _ => false,
        }
    }

    fn message(&mut self, message: Message, conn: &str, end: End, step: impl FnOnce(Act) -> Step) {
        if let Some(at) = self.open.remove(&(conn.to_owned(), end)) {
            if let Some(Step { act: Act::Unit(unit), .. }) = self.script.steps.get_mut(at) {
                unit.message = Some(message);
            }
            return;
        }
        match end {
            End::Client => {
                if let Some(request) = self.request(conn) {
                    request.message = Some(message);
                }
            }
            End::Server => self.push(step(Act::Content(message))),
        }
    }

    pub(super) fn finish(mut self, cut: bool) -> Script {
        // A connection on which nothing was asked is somebody's look whether anybody listens.
        let said: HashSet<String> = self
            .script
            .steps
            .iter()
            .filter(|step| step.end == End::Client && !matches!(step.act, Act::Close(_)))
            .map(|step| step.conn.clone())
            .collect();
        self.script.steps.retain(|step| !matches!(step.act, Act::Close(_)) || said.contains(&step.conn));
        self.script.cut = cut;
        let answered: BTreeSet<(String, bool)> = self
            .script
            .steps
            .iter()
            .filter_map(|step| match &step.act {
                Act::Unit(unit) if unit.automatic => Some((step.conn.clone(), step.end == End::Client))
                    .filter(|_| unit.frames.first().is_some_and(|frame| frame.opcode == opcode::PONG)),
                _ => None,
            })
            .collect();
        for ((conn, pinger), waiting) in &self.pings {
            let end = if *pinger == End::Client { End::Server } else { End::Client };
            if !cut && !waiting.is_empty() && !answered.contains(&(conn.clone(), end == End::Client)) {
                self.script.habits.entry((conn.clone(), end)).or_default().pong = false;
            }
        }
        for (conn, closing) in &self.closing {
            for end in [End::Client, End::Server] {
                let other = end != End::Client;
                if !cut && closing.contains_key(&other) && !closing.contains_key(&(end == End::Client)) {
                    self.script.habits.entry((conn.clone(), end)).or_default().close = false;
                }
            }
        }
        self.script
    }
}
