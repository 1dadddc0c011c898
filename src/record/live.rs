//! Judging while recording: [`Live`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::judge::{FaultOwner, RawFinding, Recorded};
use crate::protocol::{Protocol, Requirement};
use crate::trace::{End, Event, Header, Sink};

/// Judges a trace as it comes about, and tells each finding at once as a line: when, who, which requirement, what.
///
/// Clones share what was found: give one to a recorder, ask the other afterwards.
#[derive(Clone)]
pub struct Live(Arc<Mutex<State>>);

struct State {
    recorded: Recorded,
    told: usize,
    catalogue: &'static [Requirement],
    tell: Box<dyn FnMut(&str) + Send>,
}

impl Live {
    /// Judges by the rules of an edition; `tell` gets the lines, without their ends.
    pub fn new(protocol: &Protocol, edition: &str, header: &Header, tell: impl FnMut(&str) + Send + 'static) -> Self {
        let recorded = Recorded::new(protocol, edition).of(header);
        let catalogue = (protocol.requirements)();
        Self(Arc::new(Mutex::new(State { recorded, told: 0, catalogue, tell: Box::new(tell) })))
    }

    /// Looks at what was found so far.
    pub fn with<T>(&self, look: impl FnOnce(&Recorded) -> T) -> T {
        look(&self.state().recorded)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Live {
    fn event(&mut self, event: &Event) {
        let mut state = self.state();
        state.recorded.event(event);
        state.tell_new();
    }

    fn end(&mut self) {
        let mut state = self.state();
        state.recorded.end(false);
        state.tell_new();
    }
}

impl State {
    fn tell_new(&mut self) {
        let found = self.recorded.found();
        for found in &found[self.told..] {
            let line = line(found, self.recorded.now(), self.catalogue);
            (self.tell)(&line);
        }
        self.told = found.len();
    }
}

/// A finding as a line; `now` in microseconds of the trace.
fn line(found: &RawFinding, now: u64, catalogue: &[Requirement]) -> String {
    let who = match found.fault {
        FaultOwner::End(End::Client) => "client",
        FaultOwner::End(End::Server) => "server",
        FaultOwner::Environment => "environment",
    };
    let id = found.requirement.unwrap_or_default();
    let level = catalogue.iter().find(|r| r.id == id).map_or("", |r| r.level.as_str());
    let message: String = found.message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let at = found.index.map(|index| format!(" (event {index})")).unwrap_or_default();
    format!("{:>9.3} s  {who:<6}  {level:<6}  {id}  {message}{at}", now as f64 / 1e6)
}
