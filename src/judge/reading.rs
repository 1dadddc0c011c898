//! What there is to be found in a trace that somebody looks at: [`Reading`].

use crate::protocol::Protocol;
use crate::trace::{End, Event, EventKind, Finding, Header, PartyKind};

use super::{RawFinding, RuleRun};

/// What may be taken for the findings of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// What the trace itself tells, where its play was judged; what rules find where it tells nothing.
    Trace,
    /// What the rules find, whatever the trace tells.
    Rules,
}

/// The findings of a trace, event by event. Holds a bounded amount of what rules find, and all that the trace tells.
pub struct Reading {
    by: By,
    rules: RuleRun,
    found: Vec<Finding>,
    told: Vec<Finding>,
    /// How many findings the trace says that it tells, where its play was judged.
    judged: Option<u64>,
}

/// What was found in a trace.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The findings, in the order of the events that show them.
    pub list: Vec<Finding>,
    /// How many breaches of the same requirements were counted and not kept.
    pub uncounted: u64,
    /// What the rules find, whatever the trace tells.
    pub by_rules: Vec<Finding>,
}

impl Reading {
    /// Of a trace with this header, judged by the edition that it names where rules judge it.
    pub fn new(protocol: &Protocol, header: &Header, by: By) -> Self {
        let subject = [End::Client, End::Server].into_iter().find(|end| header.party(*end).is == PartyKind::Subject);
        let rules = RuleRun::new(protocol, &header.edition);
        let rules = subject.into_iter().fold(rules, RuleRun::with_processes_of);
        Self { by, rules, found: vec![], told: vec![], judged: None }
    }

    /// Takes in the next event.
    pub fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Finding(finding) => self.told.push(finding.clone()),
            EventKind::Judged(judged) => self.judged = Some(judged.findings),
            _ => {}
        }
        self.found
            .extend(self.rules.event(event).iter().cloned().map(|violation| RawFinding::from(violation).recorded()));
    }

    /// What was found; `cut`: whether the end of the trace is missing, so that nobody knows what is left open.
    pub fn end(mut self, cut: bool) -> Findings {
        let all_told = self.judged == Some(self.told.len() as u64);
        if !cut {
            let open = self.rules.end().iter().cloned();
            self.found.extend(open.map(|violation| RawFinding::from(violation).recorded()));
        }
        self.told.sort_by_key(|finding| finding.at);
        self.found.sort_by_key(|finding| finding.at);
        match self.by {
            By::Trace if all_told => Findings { list: self.told, uncounted: 0, by_rules: self.found },
            _ => Findings { list: self.found.clone(), uncounted: self.rules.dropped(), by_rules: self.found },
        }
    }
}
