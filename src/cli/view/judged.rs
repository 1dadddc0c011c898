//! What was found in a trace that is looked at.

use crate::diagnostic::{Diagnostic, nearest};
use crate::export::{Findings, Remark};
use crate::protocol::{Level, Protocol};
use crate::trace::Finding;

/// Puts what was found beside the events that show it.
pub fn beside(protocol: &Protocol, found: crate::judge::Findings) -> Findings {
    let mut findings = Findings::default();
    findings.uncounted = found.uncounted;
    for finding in found.list {
        let named = |id: &String| (protocol.requirements)().iter().find(|requirement| requirement.id == id);
        let requirement = finding.requirement.as_ref().and_then(named);
        let level = requirement.map_or(Level::Must, |requirement| requirement.level);
        findings.add(finding.at, requirement, remark(finding, level));
    }
    findings
}

fn remark(finding: Finding, level: Level) -> Remark {
    let place = finding.file.map(|file| match finding.line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    });
    let step = finding.step.zip(place).map(|(step, place)| format!("{step} at {place}"));
    Remark {
        requirement: finding.requirement,
        level,
        blame: finding.blame,
        message: finding.message,
        step,
        path: finding.path,
        expected: finding.expected,
        actual: finding.actual,
    }
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
