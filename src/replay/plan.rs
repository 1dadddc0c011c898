//! What comes next in a record: for the client's side the next steps, with the messages that the server is expected to
//! send in them ([`Lookahead`]); for the server's side the dependencies between all steps ([`ReplayPlan`]).

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use crate::trace::{End, Message, opcode};

use super::client::MOST_OVER;
use super::ledger::{ExpectedMessage, LOOKAHEAD, Ledger, RecentSet};
use super::recorded::{RecordedMessage, id, without_id};
use super::script::{LoadedTrace, RecordedAct, Step, Steps};

/// The most bytes of the next steps that are held; a single step may have more.
const NEXT_BYTES: usize = 32 << 20;
/// So many ids of requests are remembered on a connection: the last ones.
const MOST_IDS: usize = 10_000;

/// The ids of requests, as JSON, by connection.
pub type RequestIds = HashMap<String, RecentSet<String>>;

/// Notes the id of a request, where the JSON has one.
pub fn note_request(request_ids: &mut RequestIds, conn: &str, json: Option<&Value>) {
    if let Some(id) = json.and_then(id) {
        if !request_ids.contains_key(conn) {
            request_ids.insert(conn.to_owned(), RecentSet::new(MOST_IDS));
        }
        if let Some(ids) = request_ids.get_mut(conn) {
            ids.insert(id.to_string());
        }
    }
}

/// Whether this is the id of a request.
pub fn is_response(request_ids: &RequestIds, conn: &str, id: &Value) -> bool {
    request_ids.get(conn).is_some_and(|ids| ids.contains(&id.to_string()))
}

/// What the record has next.
pub struct Lookahead {
    steps: Steps,
    queue: VecDeque<Step>,
    bytes: usize,
    over: bool,
    /// The ids of the recorded client's requests.
    request_ids: RequestIds,
    /// Connections that both ends of the record have left.
    left: RecentSet<String>,
}

impl Lookahead {
    /// What these steps have, from the first one on.
    pub fn new(steps: Steps) -> Self {
        let (queue, request_ids, left) = (VecDeque::new(), HashMap::new(), RecentSet::new(MOST_OVER));
        Self { steps, queue, bytes: 0, over: false, request_ids, left }
    }

    /// The next step; the ledger has the messages that the server is to send in those that follow.
    pub fn take(&mut self, ledger: &mut Ledger) -> Option<Step> {
        while !self.over && self.queue.len() <= LOOKAHEAD && (self.queue.len() < 2 || self.bytes < NEXT_BYTES) {
            match self.steps.step() {
                Ok(Some(step)) => {
                    ledger.push(self.due(&step));
                    self.bytes += step.weight();
                    self.queue.push_back(step);
                }
                Ok(None) => self.over = true,
                // It was read before from end to end.
                Err(error) => {
                    ledger.outcome.note(format!("the rest was not replayed: {error}"));
                    self.over = true;
                }
            }
        }
        let step = self.queue.pop_front()?;
        self.bytes = self.bytes.saturating_sub(step.weight());
        Some(step)
    }

    /// The message that the server is expected to send at a step.
    fn due(&mut self, step: &Step) -> Option<ExpectedMessage> {
        let conn = step.conn.as_str();
        if matches!(step.act, RecordedAct::Close(_))
            && let (_, Some(left)) = self.left.push(conn.to_owned())
        {
            self.request_ids.remove(&left);
        }
        if step.end == End::Client {
            if let RecordedAct::Unit(unit) = &step.act {
                note_request(
                    &mut self.request_ids,
                    conn,
                    unit.message.as_ref().and_then(|message| message.json.as_ref()),
                );
            }
            return None;
        }
        let message = match &step.act {
            RecordedAct::Accept(head) => Some(RecordedMessage::accept(head)),
            RecordedAct::Unit(unit) => match (&unit.message, unit.control()) {
                (Some(message), _) => {
                    Some(RecordedMessage::message(message, |id| is_response(&self.request_ids, conn, id)))
                }
                (None, Some(frame)) => RecordedMessage::control(frame),
                (None, None) => None,
            },
            RecordedAct::Respond(head) => Some(RecordedMessage::respond(head)),
            RecordedAct::Event(event) => RecordedMessage::event(event),
            RecordedAct::Content(message) => Some(RecordedMessage::content(message)),
            RecordedAct::Close(_) => Some(RecordedMessage::end()),
            _ => None,
        };
        message.map(|message| ExpectedMessage { at: step.at, conn: step.conn.clone(), message })
    }
}

/// How many steps before a response are searched for others that were sent before it.
pub const WINDOW: usize = 1000;

/// Which steps of a record depend on which.
pub struct ReplayPlan {
    /// What a client's step says; none for what is no cue.
    pub cues: Vec<Option<RecordedMessage>>,
    /// The client's step that a step of the server responds to; none for what the server sends unasked.
    pub responds_to: Vec<Option<usize>>,
    /// For a response, the later requests whose responses came before it.
    pub overtaken_by: HashMap<usize, Vec<usize>>,
    /// Whether a step is one of the server that it does by itself, and not because the client left.
    pub performed: Vec<bool>,
    /// The steps that our side performs, by connection.
    pub server_steps: HashMap<String, Vec<usize>>,
    /// The connections whose response flows on: an event stream, say.
    pub streams: HashSet<String>,
}

/// What a client's message says, without the id of its request.
pub fn without_request_id(message: &Message) -> RecordedMessage {
    let plain = Message { json: message.json.as_ref().map(without_id), ..message.clone() };
    RecordedMessage::message(&plain, |_| false)
}

impl ReplayPlan {
    /// The plan of a record.
    pub fn new(script: &LoadedTrace) -> Self {
        let count = script.steps.len();
        let mut plan = Self {
            cues: Vec::with_capacity(count),
            responds_to: Vec::with_capacity(count),
            overtaken_by: HashMap::new(),
            performed: Vec::with_capacity(count),
            server_steps: HashMap::new(),
            streams: HashSet::new(),
        };
        let mut opened: HashMap<&str, usize> = HashMap::new();
        let mut left: HashSet<&str> = HashSet::new();
        let mut requests: HashMap<(&str, String), usize> = HashMap::new();
        for (n, step) in script.steps.iter().enumerate() {
            let conn = step.conn.as_str();
            let cue = cue(step);
            if cue.is_some() {
                match &step.act {
                    RecordedAct::Unit(unit) => {
                        if let Some(id) = unit.message.as_ref().and_then(|message| id(message.json.as_ref()?)) {
                            requests.insert((conn, id.to_string()), n);
                        }
                    }
                    _ => _ = opened.insert(conn, n),
                }
            }
            plan.cues.push(cue);
            let responds_to = match &step.act {
                _ if step.end == End::Client => None,
                RecordedAct::Accept(_) => opened.get(conn).copied(),
                RecordedAct::Respond(head) => {
                    let has_length = head.header("content-length").next().is_some()
                        || matches!(head.status(), Some(100..=199 | 204 | 304));
                    if !has_length {
                        plan.streams.insert(step.conn.clone());
                    }
                    opened.get(conn).copied()
                }
                RecordedAct::Piece(_) if !plan.streams.contains(conn) => opened.get(conn).copied(),
                RecordedAct::Unit(unit) => unit
                    .message
                    .as_ref()
                    .and_then(|message| id(message.json.as_ref()?))
                    .and_then(|id| requests.get(&(conn, id.to_string())).copied()),
                _ => None,
            };
            plan.responds_to.push(responds_to);
            let leaves = match &step.act {
                RecordedAct::Close(_) => true,
                RecordedAct::Unit(unit) => unit.control().is_some_and(|frame| frame.opcode == opcode::CLOSE),
                _ => false,
            };
            if leaves && step.end == End::Client {
                left.insert(conn);
            }
            let performed = step.end == End::Server
                && match &step.act {
                    RecordedAct::Accept(_)
                    | RecordedAct::Respond(_)
                    | RecordedAct::Piece(_)
                    | RecordedAct::Bytes(_) => true,
                    RecordedAct::Close(_) => !left.contains(conn),
                    RecordedAct::Unit(unit) => !unit.automatic,
                    _ => false,
                };
            plan.performed.push(performed);
            if performed {
                plan.server_steps.entry(step.conn.clone()).or_default().push(n);
            }
            if let Some(request) = responds_to {
                let from = request.max(n.saturating_sub(WINDOW)) + 1;
                let before = plan.responds_to.get(from..n).into_iter().flatten();
                let overtaken: Vec<usize> = before.filter_map(|other| other.filter(|other| *other > request)).collect();
                if !overtaken.is_empty() {
                    plan.overtaken_by.insert(n, overtaken);
                }
            }
        }
        plan
    }
}

/// What a step of the client says, where the server may wait for it.
fn cue(step: &Step) -> Option<RecordedMessage> {
    if step.end != End::Client {
        return None;
    }
    match &step.act {
        RecordedAct::Upgrade(head) => Some(RecordedMessage::upgrade(head)),
        RecordedAct::Request(request) => Some(RecordedMessage::request(&request.head, request.message.as_ref())),
        RecordedAct::Unit(unit) => unit.message.as_ref().map(without_request_id),
        _ => None,
    }
}
