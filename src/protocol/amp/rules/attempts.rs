//! Attempts: does the client leave an editor some peace between its connections?

use std::collections::{HashMap, VecDeque};

use crate::protocol::{Judgements, Rule};
use crate::trace::{End, Event, EventKind, Mark};

use super::requirement_index::RequirementIndex;
use crate::protocol::ViolationDetail;

/// So many connections to one address within [`WINDOW`] are a few.
const FEW: usize = 5;

/// Microseconds.
const WINDOW: u64 = 1_000_000;

/// So many clients and addresses are looked at.
const CLIENTS: usize = 256;

/// So many connections may wait for what their first event tells of them.
const WAITING: usize = 256;

/// Counts how often a client connects (docs/amp.md, Connecting again). Only where the process in the trace is the client:
/// several clients may be at the other end of a server. That process may have started several in its turn: where the trace
/// tells which process a connection is of, each is counted for itself, and what is of no known one is not counted: one that
/// only looks whether a port accepts is gone before anybody can tell whose it was.
pub struct Attempts {
    book: &'static RequirementIndex,
    single: bool,
    /// Whether the trace tells which processes connections are of.
    told: bool,
    /// Connections of which only the beginning was seen.
    begun: HashMap<String, Attempt>,
    /// When the latest connections to an address came, by the process that they are of, where it is known.
    recent: HashMap<(String, Option<String>), VecDeque<u64>>,
}

/// A connection.
struct Attempt {
    address: String,
    t: u64,
    index: u64,
}

impl Attempts {
    pub fn new(book: &'static RequirementIndex) -> Self {
        Self { book, single: false, told: false, begun: HashMap::new(), recent: HashMap::new() }
    }

    fn count(&mut self, attempt: Attempt, process: Option<String>, out: &mut Judgements) {
        self.told |= process.is_some();
        if self.told && process.is_none() {
            return;
        }
        let key = (attempt.address, process);
        if self.recent.len() == CLIENTS && !self.recent.contains_key(&key) {
            return;
        }
        let recent = self.recent.entry(key).or_default();
        recent.retain(|t| attempt.t.saturating_sub(*t) < WINDOW);
        recent.push_back(attempt.t);
        if recent.len() > FEW {
            let fault = ViolationDetail::new(format!("the client connected {} times within a second", recent.len()));
            self.book.check(out, End::Client, "lifecycle/retries-calmly", attempt.index, Some(fault));
            // Each burst tells once.
            recent.clear();
        }
    }
}

impl Rule for Attempts {
    fn processes(&mut self, end: End) {
        self.single = end == End::Client;
    }

    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let Some(conn) = event.conn.as_ref().filter(|_| self.single) else { return };
        if let Some(attempt) = self.begun.remove(conn) {
            let process = match &event.kind {
                EventKind::Mark(mark) if mark.mark == Mark::PROCESS => Some(mark.text.clone()),
                _ => None,
            };
            self.count(attempt, process, out);
        }
        if let EventKind::Connected { address } = &event.kind
            && self.begun.len() < WAITING
        {
            self.begun.insert(conn.clone(), Attempt { address: address.clone(), t: event.t, index: event.i });
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        let mut begun: Vec<Attempt> = self.begun.drain().map(|(_, attempt)| attempt).collect();
        begun.sort_by_key(|attempt| attempt.index);
        begun.into_iter().for_each(|attempt| self.count(attempt, None, out));
    }
}
