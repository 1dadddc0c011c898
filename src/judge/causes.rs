//! The findings of a report as a list of bugs: those of one requirement are one cause, and the gravest comes first.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::protocol::{Level, area};

use super::{Blame, Finding};

/// The area of requirements that keep users safe. It comes first, whatever else is wrong.
const SAFETY: &str = "safety";

/// What is wrong with regard to one requirement, and all places where that shows.
#[derive(Clone, Debug)]
pub struct Cause<'f> {
    /// The requirement's id; empty where expectations failed that stand for none.
    pub requirement: &'f str,
    /// Its level.
    pub level: Level,
    /// Where it shows: never empty.
    pub findings: Vec<&'f Finding>,
}

impl<'f> Cause<'f> {
    /// The causes of these findings: safety first, then what binds, then by how much they keep from being judged, then by
    /// how many scenarios show them, then by name.
    pub fn of(findings: impl IntoIterator<Item = &'f Finding>) -> Vec<Self> {
        let mut causes: Vec<Self> = vec![];
        for finding in findings {
            match causes.iter_mut().find(|cause| cause.requirement == finding.requirement) {
                Some(cause) => cause.findings.push(finding),
                None => causes.push(Self {
                    requirement: &finding.requirement,
                    level: finding.level,
                    findings: vec![finding],
                }),
            }
        }
        for cause in &mut causes {
            // The best evidence is what shows by itself, in a scenario about the same thing.
            let requirement = cause.requirement;
            let foreign = |f: &Finding| f.scenario.as_deref().and_then(area) != area(requirement);
            cause.findings.sort_by_key(|f| (f.depends.is_some(), foreign(f)));
        }
        causes.sort_by_key(|cause| {
            let foreign = cause.findings.iter().all(|finding| finding.blame != Blame::Subject);
            let (blocks, scenarios) = (Reverse(cause.blocks().len()), Reverse(cause.scenarios()));
            (foreign, !cause.is_about_safety(), cause.level, blocks, scenarios, cause.requirement)
        });
        causes
    }

    /// The requirements that could not be judged because of it.
    pub fn blocks(&self) -> &'f [String] {
        self.findings.first().map_or(&[], |finding| &finding.blocks)
    }

    /// In how many scenarios it shows.
    pub fn scenarios(&self) -> usize {
        self.findings.iter().map(|finding| &finding.scenario).collect::<BTreeSet<_>>().len()
    }

    /// How often it was seen.
    pub fn occurrences(&self) -> u64 {
        self.findings.iter().map(|finding| finding.occurrences).sum()
    }

    fn is_about_safety(&self) -> bool {
        area(self.requirement) == Some(SAFETY)
    }
}
