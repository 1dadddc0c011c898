//! The rules of an edition over a trace while it is recorded: [`LiveRules`].

use crate::judge::{RawFinding, RuleRun};
use crate::protocol::{Edition, Violation};
use crate::trace::{End, Event, EventKind, Finding, Header, PartyKind};

/// Judges each event, and also what our own mock does wrong on purpose. That is blamed on nobody, and yet it is what somebody who
/// switches a flaw on wants to see.
pub struct LiveRules {
    rules: RuleRun,
    /// The rules without the knowledge of what is on purpose, where one of the ends is ours.
    purpose: Option<RuleRun>,
    /// Whether it is known which end the processes in the trace are.
    placed: bool,
}

/// A finding, and the flaw or step that it is of, if it was on purpose.
pub type LiveFinding = (Finding, Option<String>);

impl LiveRules {
    /// For a trace with this header.
    pub fn new(edition: &'static dyn Edition, header: &Header) -> Self {
        let party = |is: PartyKind| [End::Client, End::Server].into_iter().find(|end| header.party(*end).is == is);
        let subject = party(PartyKind::Subject);
        let rules = || subject.into_iter().fold(RuleRun::new(edition), RuleRun::with_processes_of);
        Self { rules: rules(), purpose: party(PartyKind::Peer).map(|_| rules()), placed: subject.is_some() }
    }

    /// Judges the next event; `reason` gives why an earlier one was wrong on purpose, and who sent it.
    pub fn event(&mut self, event: &Event, reason: impl Fn(u64) -> Option<(String, Option<End>)>) -> Vec<LiveFinding> {
        if !self.placed && matches!(event.kind, EventKind::Launched(_)) {
            self.placed = true;
            self.rules.processes(End::Client);
            self.purpose.iter_mut().for_each(|rules| rules.processes(End::Client));
        }
        let mut found: Vec<LiveFinding> = self.rules.event(event).iter().map(|v| (finding(v), None)).collect();
        let innocent = event.deliberate.as_ref().map(|_| Event { deliberate: None, ..event.clone() });
        if let Some(purpose) = &mut self.purpose {
            found.extend(on_purpose(purpose.event(innocent.as_ref().unwrap_or(event)), &reason));
        }
        found
    }

    /// Judges what is left open at the end.
    pub fn end(&mut self, reason: impl Fn(u64) -> Option<(String, Option<End>)>) -> Vec<LiveFinding> {
        let mut found: Vec<LiveFinding> = self.rules.end().iter().map(|v| (finding(v), None)).collect();
        if let Some(purpose) = &mut self.purpose {
            found.extend(on_purpose(purpose.end(), &reason));
        }
        found
    }

    /// How many violations were counted and not kept.
    pub fn dropped(&self) -> u64 {
        self.rules.dropped()
    }
}

fn finding(violation: &Violation) -> Finding {
    RawFinding::from(violation.clone()).recorded()
}

/// The violations by the sender of what was wrong on purpose. The others are found by the rules that know of it.
fn on_purpose<'a>(
    violations: &'a [Violation],
    reason: &'a impl Fn(u64) -> Option<(String, Option<End>)>,
) -> impl Iterator<Item = LiveFinding> + 'a {
    violations.iter().filter_map(move |violation| {
        let (why, sender) = reason(violation.index)?;
        sender.is_none_or(|sender| sender == violation.blame).then(|| (finding(violation), Some(why)))
    })
}
