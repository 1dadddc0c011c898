//! The next steps of a record, and the messages that the server is expected to send in them: [`Lookahead`].

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use crate::replay::ledger::{ExpectedMessage, LOOKAHEAD, Ledger, RecentSet};
use crate::replay::recorded::{RecordedMessage, id};
use crate::replay::script::{RecordedAct, Step, Steps};
use crate::trace::End;

use super::MOST_OVER;

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

    /// The next step; the ledger has been told of what the server is to say in those that follow.
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
