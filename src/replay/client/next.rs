//! What the record has next, and what of that the server has to say.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use crate::replay::ledger::{AHEAD, Due, Ledger, Recent};
use crate::replay::said::{RecordedMessage, id};
use crate::replay::script::{RecordedAct, Step, Steps};
use crate::trace::End;

use super::MOST_OVER;

/// So many bytes of what the record has next are held, or a single step.
const NEXT_BYTES: usize = 32 << 20;
/// So many ids of requests are remembered on a connection: the last ones.
const MOST_IDS: usize = 10_000;

/// The ids of requests, as JSON, by connection.
pub type Asked = HashMap<String, Recent<String>>;

/// Notes the id of a request, where the JSON has one.
pub fn asks(asked: &mut Asked, conn: &str, json: Option<&Value>) {
    if let Some(id) = json.and_then(id) {
        if !asked.contains_key(conn) {
            asked.insert(conn.to_owned(), Recent::new(MOST_IDS));
        }
        if let Some(ids) = asked.get_mut(conn) {
            ids.insert(id.to_string());
        }
    }
}

/// Whether this is the id of a request.
pub fn answers(asked: &Asked, conn: &str, id: &Value) -> bool {
    asked.get(conn).is_some_and(|ids| ids.contains(&id.to_string()))
}

/// What the record has next.
pub struct Next {
    steps: Steps,
    queue: VecDeque<Step>,
    bytes: usize,
    over: bool,
    /// The ids that the recorded client asked with.
    asked: Asked,
    /// Connections that both ends of the record have left.
    left: Recent<String>,
}

impl Next {
    /// What these steps have, from the first one on.
    pub fn new(steps: Steps) -> Self {
        let (queue, asked, left) = (VecDeque::new(), HashMap::new(), Recent::new(MOST_OVER));
        Self { steps, queue, bytes: 0, over: false, asked, left }
    }

    /// The next step; the ledger has been told of what the server is to say in those that follow.
    pub fn take(&mut self, ledger: &mut Ledger) -> Option<Step> {
        while !self.over && self.queue.len() <= AHEAD && (self.queue.len() < 2 || self.bytes < NEXT_BYTES) {
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

    /// What the server has to say at a step.
    fn due(&mut self, step: &Step) -> Option<Due> {
        let conn = step.conn.as_str();
        if matches!(step.act, RecordedAct::Close(_))
            && let (_, Some(left)) = self.left.push(conn.to_owned())
        {
            self.asked.remove(&left);
        }
        if step.end == End::Client {
            if let RecordedAct::Unit(unit) = &step.act {
                asks(&mut self.asked, conn, unit.message.as_ref().and_then(|message| message.json.as_ref()));
            }
            return None;
        }
        let said = match &step.act {
            RecordedAct::Accept(head) => Some(RecordedMessage::accept(head)),
            RecordedAct::Unit(unit) => match (&unit.message, unit.control()) {
                (Some(message), _) => Some(RecordedMessage::message(message, |id| answers(&self.asked, conn, id))),
                (None, Some(frame)) => RecordedMessage::control(frame),
                (None, None) => None,
            },
            RecordedAct::Respond(head) => Some(RecordedMessage::respond(head)),
            RecordedAct::Event(event) => RecordedMessage::event(event),
            RecordedAct::Content(message) => Some(RecordedMessage::content(message)),
            RecordedAct::Close(_) => Some(RecordedMessage::end()),
            _ => None,
        };
        said.map(|said| Due { at: step.at, conn: step.conn.clone(), said })
    }
}
