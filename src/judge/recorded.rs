//! Findings of a recorded trace: by the rules alone ([`Recorded`]), or as the trace itself reports them ([`FindingsReader`]).

use std::time::Duration;

use crate::protocol::Edition;
use crate::trace::{End, Event, EventKind, Finding, Header, PartyKind, Tail};

use super::{FaultOwner, Play, RawFinding, RuleRun, ScenarioStatus};

/// How many events before a fault are shown.
const LAST_EVENTS: usize = 12;

/// Judges one trace, event by event, by the rules of an edition. Holds a bounded amount however long it is.
pub struct Recorded {
    rules: RuleRun,
    tail: Tail,
    found: Vec<RawFinding>,
    events: u64,
    last: u64,
    /// Whether it is known which end the processes in the trace are.
    placed: bool,
}

impl Recorded {
    /// Nothing judged yet.
    pub fn new(edition: &'static dyn Edition) -> Self {
        let (rules, tail) = (RuleRun::new(edition), Tail::new(LAST_EVENTS));
        Self { rules, tail, found: vec![], events: 0, last: 0, placed: false }
    }

    /// Takes from the header which end the processes in the trace are: the subject. Where nobody is, as in a recording of
    /// two real ends, they are clients: servers are found there, and not started.
    pub fn of(mut self, header: &Header) -> Self {
        let subject = [End::Client, End::Server].into_iter().find(|end| header.party(*end).is == PartyKind::Subject);
        self.placed = subject.is_some();
        self.rules = subject.into_iter().fold(self.rules, RuleRun::with_processes_of);
        self
    }

    /// Judges the next event.
    pub fn event(&mut self, event: &Event) {
        self.tail.push(event);
        self.events += 1;
        self.last = event.t;
        if !self.placed && matches!(event.kind, EventKind::Launched(_)) {
            self.placed = true;
            self.rules.processes(End::Client);
        }
        for violation in self.rules.event(event) {
            self.found.push(RawFinding {
                last_events: self.tail.lines_about(violation.conn.as_deref(), Some(violation.index)),
                ..RawFinding::from(violation.clone())
            });
        }
    }

    /// Judges what is left open, unless the trace was cut: then it is unknown how it went on.
    pub fn end(&mut self, cut: bool) {
        if !cut {
            for violation in self.rules.end() {
                self.found.push(RawFinding {
                    last_events: self.tail.lines_about(violation.conn.as_deref(), Some(violation.index)),
                    ..RawFinding::from(violation.clone())
                });
            }
        }
    }

    /// What was found so far, whichever end is to blame.
    pub fn found(&self) -> &[RawFinding] {
        &self.found
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// When the last event was, in microseconds.
    pub fn now(&self) -> u64 {
        self.last
    }

    /// The trace as a play of the implementation at one end.
    ///
    /// What the other end did wrong is part of it only where that end was our own peer: then it is our fault. A
    /// trace that gave no rule an occasion counts as skipped, so that it never passes for a success.
    pub fn play(&self, header: &Header, subject: End, file: &str) -> Play {
        let ours = |end: End| end != subject && header.party(end).is == PartyKind::Peer;
        let concerns = |found: &&RawFinding| match found.fault {
            FaultOwner::End(end) => end == subject || ours(end),
            FaultOwner::Environment => true,
        };
        let judgements = self.rules.judgements();
        let findings: Vec<RawFinding> = self.found.iter().filter(concerns).cloned().collect();
        let (status, reason) = match judgements.assessed.is_empty() {
            _ if !judgements.unlisted.is_empty() => (ScenarioStatus::Error, judgements.ours()),
            true if self.events == 0 => (ScenarioStatus::Skipped, Some("there is no event in it".to_owned())),
            true => (ScenarioStatus::Skipped, Some("nothing in it is covered by a rule".to_owned())),
            false => (ScenarioStatus::Passed, None),
        };
        Play {
            reason,
            duration: Duration::from_micros(self.last),
            assessed: judgements.assessed.clone(),
            findings,
            notes: judgements.notes.clone(),
            uses: judgements.uses.clone(),
            trace: Some(file.to_owned()),
            ..Play::new(status)
        }
    }
}

/// The ends of a trace that are to be judged: the subject; where none is named, every end that is not our own peer.
pub fn subjects(header: &Header) -> Vec<End> {
    let both = [End::Client, End::Server];
    let named: Vec<End> = both.into_iter().filter(|end| header.party(*end).is == PartyKind::Subject).collect();
    if named.is_empty() {
        both.into_iter().filter(|end| header.party(*end).is != PartyKind::Peer).collect()
    } else {
        named
    }
}

/// Where the findings of a trace are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingSource {
    /// The findings that the trace itself reports, where its play was judged; those of the rules where it reports none.
    Trace,
    /// The findings of the rules, whatever the trace reports.
    Rules,
}

/// The findings of a trace, event by event. Keeps a bounded number of findings of rules, and all that the trace reports.
pub struct FindingsReader {
    source: FindingSource,
    rules: RuleRun,
    found: Vec<Finding>,
    reported: Vec<Finding>,
    /// How many findings the trace says that it has, where its play was judged.
    judged: Option<u64>,
}

/// What was found in a trace.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The findings, in the order of the events that show them.
    pub list: Vec<Finding>,
    /// How many breaches of the same requirements were counted and not kept.
    pub uncounted: u64,
    /// The findings of the rules, whatever the trace reports.
    pub by_rules: Vec<Finding>,
}

impl FindingsReader {
    /// A reader for a trace with this header. Rules judge it by this edition.
    pub fn new(edition: &'static dyn Edition, header: &Header, source: FindingSource) -> Self {
        let subject = [End::Client, End::Server].into_iter().find(|end| header.party(*end).is == PartyKind::Subject);
        let rules = RuleRun::new(edition);
        let rules = subject.into_iter().fold(rules, RuleRun::with_processes_of);
        Self { source, rules, found: vec![], reported: vec![], judged: None }
    }

    /// Takes in the next event.
    pub fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Finding(finding) => self.reported.push(finding.clone()),
            EventKind::Judged(judged) => self.judged = Some(judged.findings),
            _ => {}
        }
        self.found
            .extend(self.rules.event(event).iter().cloned().map(|violation| RawFinding::from(violation).recorded()));
    }

    /// What was found; `cut`: whether the end of the trace is missing, so that it is unknown what is left open.
    pub fn end(mut self, cut: bool) -> Findings {
        let all_reported = self.judged == Some(self.reported.len() as u64);
        if !cut {
            let open = self.rules.end().iter().cloned();
            self.found.extend(open.map(|violation| RawFinding::from(violation).recorded()));
        }
        self.reported.sort_by_key(|finding| finding.at);
        self.found.sort_by_key(|finding| finding.at);
        match self.source {
            FindingSource::Trace if all_reported => {
                Findings { list: self.reported, uncounted: 0, by_rules: self.found }
            }
            _ => Findings { list: self.found.clone(), uncounted: self.rules.dropped(), by_rules: self.found },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Party;

    #[test]
    fn the_subject_is_judged_and_where_none_is_named_the_end_that_is_not_ours() {
        let header = Header::new("amp", "cli");
        assert_eq!(subjects(&header.clone().with_subject(End::Server, "editor")), [End::Server]);
        assert_eq!(subjects(&header), [End::Client, End::Server]);
        let ours = Header { client: Party { is: PartyKind::Peer, name: None }, ..header };
        assert_eq!(subjects(&ours), [End::Server]);
    }

    #[test]
    fn a_trace_without_an_occasion_never_passes() {
        let (protocol, _) = crate::protocol::role("amp-server").unwrap();
        let recorded = Recorded::new(protocol.default_edition());
        let play = recorded.play(&Header::new("amp", "cli"), End::Server, "t.jsonl");
        assert_eq!(play.status, ScenarioStatus::Skipped);
        assert_eq!(play.reason.as_deref(), Some("there is no event in it"));
    }
}
