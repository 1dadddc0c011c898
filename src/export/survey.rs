//! What one has to know of a trace before it is shown: [`TraceSurvey`], the first look at it, and the [`Findings`].

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::Value;

use crate::protocol::{Level, Protocol, Requirement};
use crate::trace::{Body, Culprit, Direction, Event, EventKind, Finding, Frame};

/// How many connections are remembered by name; later ones are only counted.
pub const MOST_CONNECTIONS: usize = 100_000;

/// How many pieces of a message are remembered as part of it; further ones are shown by themselves.
const MOST_PIECES: usize = 10_000;

/// The facts that a first pass over a trace has collected.
#[derive(Debug, Default)]
pub struct TraceSurvey {
    /// How many events there are.
    pub events: u64,
    /// When the last one was, in microseconds.
    pub last: u64,
    /// Whether the trace was cut.
    pub cut: bool,
    /// The connections in order of appearance.
    pub connections: Vec<Connection>,
    /// How many connections beyond those there are.
    pub more_connections: u64,
    named: HashMap<String, usize>,
    repeated: Bits,
    ends: Bits,
    open: HashMap<(usize, bool), OpenConnection>,
    run: Option<(usize, bool)>,
    run_began: u64,
}

/// One connection of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The name of the connection.
    pub name: String,
    /// The number of its first event.
    pub first: u64,
    /// The number of its last event.
    pub last: u64,
    /// How many events it has.
    pub events: u64,
}

/// A message that is not complete yet.
#[derive(Debug, Default)]
struct OpenConnection {
    head: Option<u64>,
    stream: bool,
    content: bool,
    /// Frames or pieces of a body, and whether each was wrong on purpose.
    pieces: Vec<(u64, bool)>,
}

impl TraceSurvey {
    /// Takes in the next event.
    pub fn event(&mut self, event: &Event) {
        self.events += 1;
        if event.kind.is_conclusion() {
            // It is shown beside the event that it is about.
            self.repeated.set(event.i);
            return;
        }
        self.last = self.last.max(event.t);
        let Some(conn) = event.conn.as_deref().and_then(|conn| self.connection(conn, event.i)) else {
            self.run = None;
            return;
        };
        let to_server = event.dir == Some(Direction::ToServer);
        let key = (conn, to_server);
        if self.run != Some(key) {
            (self.run, self.run_began) = (Some(key), event.i);
        }
        let on_purpose = event.deliberate.is_some();
        match &event.kind {
            EventKind::HttpRequest(_) => {
                self.open.insert(key, OpenConnection { head: Some(event.i), ..OpenConnection::default() });
            }
            EventKind::HttpResponse(head) if !matches!(head.status(), Some(100..=199)) => {
                let stream = head.is_event_stream();
                self.open.insert(key, OpenConnection { head: Some(event.i), stream, ..OpenConnection::default() });
            }
            EventKind::Body(body) => self.body(key, event.i, body, on_purpose),
            EventKind::Frame(frame) if is_plain(frame, to_server) => {
                let open = self.open.entry(key).or_default();
                if open.pieces.len() < MOST_PIECES {
                    open.pieces.push((event.i, on_purpose));
                }
            }
            EventKind::Message(_) => {
                let open = self.open.remove(&key).unwrap_or_default();
                for (i, _) in open.pieces.iter().filter(|(_, purpose)| on_purpose || !purpose) {
                    self.repeated.set(*i);
                }
                if let Some(head) = open.head.filter(|head| *head >= self.run_began && !on_purpose) {
                    self.repeated.set(head);
                }
            }
            EventKind::Closed(_) => drop(self.open.remove(&key)),
            _ => {}
        }
    }

    fn body(&mut self, key: (usize, bool), i: u64, body: &Body, on_purpose: bool) {
        let Some(open) = self.open.get_mut(&key) else { return };
        open.content |= !body.bytes.as_bytes().is_empty();
        let bare = body.trailers.is_empty();
        if open.stream {
            // What it holds comes as events; its end is one, too.
            match body.last {
                true => self.ends.set(i),
                false if bare && !on_purpose => self.repeated.set(i),
                false => {}
            }
        } else if body.last && !open.content && bare {
            self.repeated.set(i);
        } else if body.trailers.is_empty() && open.pieces.len() < MOST_PIECES {
            open.pieces.push((i, on_purpose));
        }
        if body.last && (open.stream || !open.content) {
            self.open.remove(&key);
        }
    }

    fn connection(&mut self, name: &str, i: u64) -> Option<usize> {
        let at = match self.named.get(name) {
            Some(at) => *at,
            None if self.connections.len() == MOST_CONNECTIONS => {
                self.more_connections += 1;
                return None;
            }
            None => {
                self.connections.push(Connection { name: name.to_owned(), first: i, last: i, events: 0 });
                self.named.insert(name.to_owned(), self.connections.len() - 1);
                self.connections.len() - 1
            }
        };
        let connection = &mut self.connections[at];
        connection.last = i;
        connection.events += 1;
        Some(at)
    }

    /// The place of a connection in [`TraceSurvey::connections`].
    pub fn place(&self, name: &str) -> Option<usize> {
        self.named.get(name).copied()
    }

    /// Whether another event tells all that this one does: a frame or piece of a body whose message follows, a head
    /// whose body comes in the same breath.
    pub fn is_repeated(&self, i: u64) -> bool {
        self.repeated.has(i)
    }

    /// The events that others tell, by number.
    pub fn repeated(&self) -> &Bits {
        &self.repeated
    }

    /// The first event of which later ones can still show that they tell it; the number of events where there is none.
    pub fn settled(&self) -> u64 {
        let first = |open: &OpenConnection| {
            let head = open.head.filter(|_| !open.stream);
            head.into_iter().chain(open.pieces.first().map(|(i, _)| *i)).min()
        };
        self.open.values().filter_map(first).min().unwrap_or(self.events)
    }

    /// Whether a piece of a body is the end of an event stream.
    pub fn ends_stream(&self, i: u64) -> bool {
        self.ends.has(i)
    }
}

/// Whether a data frame is nothing but a piece of its message.
fn is_plain(frame: &Frame, to_server: bool) -> bool {
    frame.opcode <= 2 && frame.rsv == 0 && frame.length_bits.is_none() && frame.masked == to_server
}

/// A violation of a requirement, as it is shown beside its event.
#[derive(Clone, Debug, Serialize)]
pub struct Remark {
    /// The requirement's id; none where an expectation failed that proves none.
    pub requirement: Option<String>,
    /// How binding it is.
    pub level: Level,
    /// The end or environment that is to blame.
    pub blame: Culprit,
    /// What happened, in one sentence.
    pub message: String,
    /// The step that failed, and where it stands in its scenario.
    pub step: Option<String>,
    /// Where in the message's JSON, or in what was awaited, as a JSON pointer.
    pub path: Option<String>,
    /// What should have been there.
    pub expected: Option<Value>,
    /// What was there.
    pub actual: Option<Value>,
}

impl Remark {
    /// A finding, and how binding the requirement is that it is about.
    pub fn new(finding: Finding, level: Level) -> Self {
        let place = finding.file.map(|file| match finding.line {
            Some(line) => format!("{file}:{line}"),
            None => file,
        });
        let step = finding.step.zip(place).map(|(step, place)| format!("{step} at {place}"));
        Self {
            requirement: finding.requirement,
            level,
            blame: finding.blame,
            message: finding.message,
            step,
            path: finding.path,
            expected: finding.expected,
            actual: finding.actual,
        }
    }
}

/// What was found in one trace.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    at: BTreeMap<u64, Vec<Remark>>,
    /// The requirements that were violated, for showing their statements.
    requirements: BTreeMap<&'static str, &'static Requirement>,
    /// How many further breaches were counted and not kept.
    pub uncounted: u64,
}

impl Findings {
    /// Adds what was found at an event.
    pub fn add(&mut self, index: u64, requirement: Option<&'static Requirement>, remark: Remark) {
        if let Some(requirement) = requirement {
            self.requirements.insert(requirement.id, requirement);
        }
        self.at.entry(index).or_default().push(remark);
    }

    /// Adds a finding beside the event that shows it, with its requirement in the catalogue of the protocol.
    pub fn add_finding(&mut self, protocol: &Protocol, finding: Finding) {
        let named = |id: &String| (protocol.requirements)().iter().find(|requirement| requirement.id == id);
        let requirement = finding.requirement.as_ref().and_then(named);
        let level = requirement.map_or(Level::Must, |requirement| requirement.level);
        self.add(finding.at, requirement, Remark::new(finding, level));
    }

    /// What was found at an event.
    pub fn at(&self, index: u64) -> &[Remark] {
        self.at.get(&index).map_or(&[], Vec::as_slice)
    }

    /// All findings with the numbers of their events, in order.
    pub fn all(&self) -> impl Iterator<Item = (u64, &Remark)> {
        self.at.iter().flat_map(|(index, remarks)| remarks.iter().map(move |remark| (*index, remark)))
    }

    /// The requirements that were broken.
    pub fn requirements(&self) -> impl Iterator<Item = &'static Requirement> {
        self.requirements.values().copied()
    }

    /// How many breaches of requirements of this level were kept.
    pub fn count(&self, level: Level) -> usize {
        self.all().filter(|(_, remark)| remark.level == level).count()
    }
}

/// Which of a trace's events something is true of.
#[derive(Clone, Debug, Default)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// Puts a number in.
    pub fn set(&mut self, n: u64) {
        let Ok(word) = usize::try_from(n / 64) else { return };
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (n % 64);
    }

    /// Whether each of the 64 numbers from `64 * at` is in it, the lowest bit being the first.
    pub fn word(&self, at: usize) -> u64 {
        self.0.get(at).copied().unwrap_or_default()
    }

    /// Whether a number is in it.
    pub fn has(&self, n: u64) -> bool {
        let word = usize::try_from(n / 64).ok().and_then(|word| self.0.get(word));
        word.is_some_and(|word| word & (1 << (n % 64)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use crate::trace::{Message, Payload};

    use super::*;

    fn frame(i: u64, fin: bool, opcode: u8, masked: bool) -> Event {
        on("main", i, EventKind::Frame(Frame { fin, masked, ..Frame::unmasked(opcode, b"{}") }))
    }

    fn on(conn: &str, i: u64, what: EventKind) -> Event {
        let dir = Some(Direction::ToServer);
        Event { i, t: i, conn: Some(conn.into()), dir, deliberate: None, kind: what }
    }

    fn message(i: u64) -> Event {
        on("main", i, EventKind::Message(Message::joined(true, b"{}", 1)))
    }

    fn repeated(events: &[Event]) -> Vec<u64> {
        let mut survey = TraceSurvey::default();
        events.iter().for_each(|event| survey.event(event));
        (0..survey.events).filter(|i| survey.is_repeated(*i)).collect()
    }

    #[test]
    fn frames_are_told_by_their_message_unless_they_are_odd_or_none_follows() {
        let events = [frame(0, false, 1, true), frame(1, true, 0, true), message(2), frame(3, true, 1, true)];
        assert_eq!(repeated(&events), [0, 1]);
        assert_eq!(repeated(&[frame(0, true, 1, false), message(1)]), [0; 0]);
        assert_eq!(repeated(&[frame(0, true, 9, true), message(1)]), [0; 0]);
    }

    #[test]
    fn a_head_is_told_by_its_body_where_nothing_comes_between() {
        let head = |i| {
            let head = crate::trace::Head { start: "POST / HTTP/1.1".into(), headers: vec![], raw: None, body: None };
            on("main", i, EventKind::HttpRequest(crate::trace::HttpRequest::new(head, 1)))
        };
        let body = |i| {
            let bytes = Payload::Text("{}".into());
            on("main", i, EventKind::Body(Body { bytes, last: true, trailers: vec![] }))
        };
        assert_eq!(repeated(&[head(0), body(1), message(2)]), [0, 1]);
        let other = on("other", 1, EventKind::Message(Message::joined(true, b"{}", 1)));
        assert_eq!(repeated(&[head(0), other, body(2), message(3)]), [2]);
    }

    #[test]
    fn what_was_put_in_is_in_it_and_nothing_else() {
        let mut bits = Bits::default();
        [0, 63, 64, 1000].into_iter().for_each(|n| bits.set(n));
        let found: Vec<u64> = (0..2000).filter(|n| bits.has(*n)).collect();
        assert_eq!(found, [0, 63, 64, 1000]);
    }
}
