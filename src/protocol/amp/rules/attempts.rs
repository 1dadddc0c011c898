//! Attempts: does the client leave an editor some peace between its connections?

use std::collections::{HashMap, VecDeque};

use crate::protocol::{Judgements, Rule};
use crate::trace::{End, Event, What};

use super::book::Book;
use crate::protocol::Fault;

/// So many connections to one address within [`WINDOW`] are a few.
const FEW: usize = 5;

/// Microseconds.
const WINDOW: u64 = 1_000_000;

/// So many addresses are looked at.
const ADDRESSES: usize = 256;

/// Counts how often a client connects (docs/amp.md, Connecting again). Only where the process in the trace is the client:
/// several clients may be at the other end of a server.
pub struct Attempts {
    book: &'static Book,
    single: bool,
    /// When the latest connections to an address came.
    recent: HashMap<String, VecDeque<u64>>,
}

impl Attempts {
    pub fn new(book: &'static Book) -> Self {
        Self { book, single: false, recent: HashMap::new() }
    }
}

impl Rule for Attempts {
    fn processes(&mut self, end: End) {
        self.single = end == End::Client;
    }

    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let What::Connected { address } = &event.what else { return };
        if !self.single || self.recent.len() == ADDRESSES && !self.recent.contains_key(address) {
            return;
        }
        let recent = self.recent.entry(address.clone()).or_default();
        recent.retain(|t| event.t.saturating_sub(*t) < WINDOW);
        recent.push_back(event.t);
        if recent.len() > FEW {
            let fault = Fault::new(format!("the client connected {} times within a second", recent.len()));
            self.book.hold(out, End::Client, "lifecycle/retries-calmly", event.i, Some(fault));
            // Each burst tells once.
            recent.clear();
        }
    }
}
