//! A subject whose process ends though nobody asked it to.

use crate::config::SubjectSpec;
use crate::judge::{ALIVE, Blocked, FaultOwner, MissKind, Play, RawFinding, ScenarioStatus};
use crate::protocol::{Part, Requirement, RequirementId};
use crate::trace::Exited;

/// The finding that the subject died although nobody asked it to.
pub fn death(exited: &Exited, spec: &SubjectSpec, edition: &str) -> RawFinding {
    let how = match (exited.code, exited.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "unknown cause".to_owned(),
    };
    RawFinding {
        requirement: outlives(spec, edition),
        fault: FaultOwner::End(spec.role.subject),
        step: None,
        place: None,
        message: format!("{DIED} ({how})"),
        path: None,
        expected: None,
        actual: None,
        index: None,
        known_after: None,
        last_events: vec![],
        part: Part::Body,
        conn: None,
        missed: None,
    }
}

/// What the finding says where a subject died.
const DIED: &str = "the subject's process ended although nobody asked it to";

/// The requirement that the subject's process goes on whatever comes.
fn outlives(spec: &SubjectSpec, edition: &str) -> Option<RequirementId> {
    let mut catalogue = (spec.protocol.requirements)().iter();
    let meant = |r: &&Requirement| r.binds == spec.role.subject && r.edition() == edition && ALIVE.contains(&r.short());
    catalogue.find(meant).map(|r| r.id)
}

/// Adds to a play that is over that the subject died of it, unless that was seen while it went on. What then did not come,
/// or failed, could not be judged.
pub fn died_of(play: &mut Play, exited: &Exited, spec: &SubjectSpec, edition: &str) {
    let requirement = outlives(spec, edition);
    let known = |found: &RawFinding| found.requirement == requirement;
    if exited.asked || play.findings.iter().any(known) {
        return;
    }
    let found = death(exited, spec, edition);
    let gone = |found: &RawFinding| {
        let way = found.missed.as_ref().map(|missed| missed.way);
        matches!(way, Some(MissKind::Absent | MissKind::Failure | MissKind::Unreachable))
    };
    for of_it in play.findings.extract_if(.., |found| gone(found)) {
        let (because, message) = (found.requirement, found.message.clone());
        play.blocked.push(Blocked { requirement: of_it.requirement, because, message });
    }
    play.status = ScenarioStatus::Failed;
    play.reason.get_or_insert_with(|| found.message.clone());
    play.findings.push(found);
}
