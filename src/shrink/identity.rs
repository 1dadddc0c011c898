//! What makes two failures the same.

use std::collections::BTreeSet;

use crate::judge::{FaultOwner, Play, RawFinding};
use crate::protocol::RequirementId;
use crate::trace::End;

/// How a violation showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// A rule saw it in the trace.
    Rule,
    /// Something came that was not as an expectation has it, or that must not come.
    Wrong,
    /// Something that an expectation awaits did not come.
    Missing,
}

/// What a violation is recognised by: who broke which requirement, and how that showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The end that is to blame.
    pub blame: End,
    /// The requirement; none where an expectation that proves nothing did not come true.
    pub requirement: Option<RequirementId>,
    /// How it showed.
    pub evidence: BTreeSet<Evidence>,
    /// Where nothing else makes sure that it is still the same: the steps that saw it, and where in the message.
    pub places: Option<BTreeSet<(String, String)>>,
}

impl Identity {
    /// That of what these plays found of a requirement. None where they found nothing of it.
    pub fn of(plays: &[Play], blame: End, requirement: Option<RequirementId>) -> Option<Self> {
        let mut identity = Self { blame, requirement, evidence: BTreeSet::new(), places: None };
        let found = plays.iter().flat_map(|p| &p.findings).filter(|f| identity.names(f)).collect::<Vec<_>>();
        identity.evidence = found.iter().map(|f| evidence(f)).collect();
        (!found.is_empty()).then_some(identity)
    }

    /// The same, recognised by the steps that saw it as well.
    pub fn strictly(mut self, plays: &[Play]) -> Self {
        let found = plays.iter().flat_map(|p| &p.findings).filter(|f| self.names(f));
        self.places = Some(found.map(place).collect());
        self
    }

    /// Whether a play has this violation in it.
    pub fn is_in(&self, play: &Play) -> bool {
        play.findings.iter().any(|found| {
            self.names(found)
                && self.evidence.contains(&evidence(found))
                && self.places.as_ref().is_none_or(|places| places.contains(&place(found)))
        })
    }

    fn names(&self, found: &RawFinding) -> bool {
        found.fault == FaultOwner::End(self.blame) && found.requirement == self.requirement
    }
}

fn evidence(found: &RawFinding) -> Evidence {
    match (&found.step, found.index) {
        (None, _) => Evidence::Rule,
        (Some(_), Some(_)) => Evidence::Wrong,
        (Some(_), None) => Evidence::Missing,
    }
}

fn place(found: &RawFinding) -> (String, String) {
    (found.step.clone().unwrap_or_default(), found.path.clone().unwrap_or_default())
}
