//! Judging while recording: [`LiveJudge`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::judge::{FaultOwner, RawFinding, Recorded};
use crate::protocol::{Edition, Protocol, Requirement};
use crate::trace::{End, Event, Header, Sink};

/// Judges a trace while it is recorded, and reports each finding at once as a line: time, end, requirement, message.
///
/// Clones share the findings: give one to a recorder, and query the other afterwards.
#[derive(Clone)]
pub struct LiveJudge(Arc<Mutex<LiveState>>);

struct LiveState {
    recorded: Recorded,
    reported: usize,
    catalogue: &'static [Requirement],
    report: Box<dyn FnMut(&str) + Send>,
}

impl LiveJudge {
    /// A judge by the rules of an edition. `report` gets each line, without its line end.
    pub fn new(
        protocol: &Protocol,
        edition: &'static dyn Edition,
        header: &Header,
        report: impl FnMut(&str) + Send + 'static,
    ) -> Self {
        let recorded = Recorded::new(edition).of(header);
        let catalogue = (protocol.requirements)();
        Self(Arc::new(Mutex::new(LiveState { recorded, reported: 0, catalogue, report: Box::new(report) })))
    }

    /// Gives access to the findings so far.
    pub fn with<T>(&self, look: impl FnOnce(&Recorded) -> T) -> T {
        look(&self.state().recorded)
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for LiveJudge {
    fn event(&mut self, event: &Event) {
        let mut state = self.state();
        state.recorded.event(event);
        state.report_new();
    }

    fn end(&mut self) {
        let mut state = self.state();
        state.recorded.end(false);
        state.report_new();
    }
}

impl LiveState {
    fn report_new(&mut self) {
        let found = self.recorded.found();
        for found in &found[self.reported..] {
            let line = line(found, self.recorded.now(), self.catalogue);
            (self.report)(&line);
        }
        self.reported = found.len();
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
