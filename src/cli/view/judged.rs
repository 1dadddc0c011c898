//! What the rules have to say of a trace that is looked at.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, nearest};
use crate::export::{Findings, Remark};
use crate::judge::RuleRun;
use crate::protocol::{Protocol, Requirement, RequirementId, Violation};
use crate::trace::{End, Event, Header, Who};

/// Judges a trace and puts what is found beside the events.
pub struct Judge {
    rules: RuleRun,
    requirements: BTreeMap<RequirementId, &'static Requirement>,
    findings: Findings,
}

impl Judge {
    /// By the rules of the edition that a header names.
    pub fn new(protocol: &'static Protocol, header: &Header) -> Self {
        let rules = RuleRun::new(protocol, &header.edition);
        let subject = [End::Client, End::Server].into_iter().find(|end| header.party(*end).is == Who::Subject);
        let rules = subject.into_iter().fold(rules, RuleRun::with_processes_of);
        let requirements = (protocol.requirements)().iter().map(|requirement| (requirement.id, requirement)).collect();
        Self { rules, requirements, findings: Findings::default() }
    }

    /// Judges the next event.
    pub fn event(&mut self, event: &Event) {
        for violation in self.rules.event(event) {
            add(&mut self.findings, &self.requirements, violation);
        }
    }

    /// Judges what is left open, unless the trace was cut; gives what was found.
    pub fn end(mut self, cut: bool) -> Findings {
        if !cut {
            for violation in self.rules.end() {
                add(&mut self.findings, &self.requirements, violation);
            }
        }
        self.findings.uncounted = self.rules.dropped();
        self.findings
    }
}

fn add(findings: &mut Findings, catalogue: &BTreeMap<RequirementId, &'static Requirement>, violation: &Violation) {
    let requirement = catalogue.get(violation.requirement).copied();
    let remark = Remark {
        requirement: violation.requirement.to_owned(),
        level: requirement.map_or(crate::protocol::Level::Must, |requirement| requirement.level),
        blame: violation.blame,
        message: violation.message.clone(),
        path: violation.path.clone(),
        expected: violation.expected.clone(),
        actual: violation.actual.clone(),
    };
    findings.add(violation.index, requirement, remark);
}

/// The id of an edition of this name.
pub fn edition(protocol: &Protocol, asked: &str) -> Result<String, Diagnostic> {
    let ids = || protocol.editions.iter().map(|edition| edition.id);
    match ids().find(|id| *id == asked) {
        Some(id) => Ok(id.to_owned()),
        None => {
            let message = format!("{} has no edition `{asked}`", protocol.name);
            let help = match nearest(asked, ids()) {
                Some(near) => format!("did you mean `--edition {near}`?"),
                None => format!("editions are {}", ids().collect::<Vec<_>>().join(", ")),
            };
            Err(Diagnostic::error("trace/edition", message).help(help))
        }
    }
}
