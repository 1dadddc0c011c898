//! The dependencies between the steps of a record, for the server's side: [`ReplayPlan`].

use std::collections::{HashMap, HashSet};

use crate::replay::recorded::{RecordedMessage, id, without_id};
use crate::replay::script::{LoadedTrace, RecordedAct, Step};
use crate::trace::opcode;
use crate::trace::{End, Message};

/// How many steps before a response are searched for others that were sent before it.
pub const WINDOW: usize = 1000;

/// Which steps of a record depend on which.
pub struct ReplayPlan {
    /// What a client's step says; none for what is no cue.
    pub cues: Vec<Option<RecordedMessage>>,
    /// The client's step that a step of the server responds to; none for what the server sends unasked.
    pub responds_to: Vec<Option<usize>>,
    /// For a response, the later requests that were answered before it.
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
