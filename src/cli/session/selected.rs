//! Which scenarios are played, and what that says about the suite.

use crate::config::SubjectSpec;
use crate::judge::Selection;
use crate::protocol::Requirement;
use crate::scenario::{Filter, Plan, filter};

use super::Session;

/// What a scenario requires that is for clients that are only watched.
const OBSERVED: &str = "observed";

/// The plans for a role and edition that were asked for.
pub struct Selected {
    /// Those to be played here.
    pub plans: Vec<Plan>,
    /// Those of all shards together.
    pub together: Vec<Plan>,
    /// Whether those to be played here are the whole suite.
    pub whole: bool,
    /// Whether those of all shards are.
    pub whole_together: bool,
}

impl Selected {
    /// Of the plans of a session, those for a subject.
    pub fn of(session: &Session<'_>, spec: &SubjectSpec, edition: &str, filter: Option<&Filter>) -> Self {
        let observed = |p: &Plan| p.requires.iter().any(|need| need == OBSERVED);
        // A client that is only watched plays what is made for that, and nothing else.
        let of_role =
            |p: &&Plan| p.role == spec.role.name && p.edition == edition && observed(p) == spec.observe.is_some();
        let all: Vec<&Plan> = session.plans.iter().filter(of_role).collect();
        let catalogue = (spec.protocol.requirements)();
        let wanted = |plan: &&&Plan| filter.is_none_or(|f| matches(f, plan, catalogue));
        let together: Vec<Plan> = all.iter().filter(wanted).map(|&plan| plan.clone()).collect();
        let taken = |(n, _): &(usize, &Plan)| session.options.shard.is_none_or(|shard| shard.takes(*n));
        let plans: Vec<Plan> = together.iter().enumerate().filter(taken).map(|(_, plan)| plan.clone()).collect();
        let is_suite = |n: usize| session.whole && spec.observe.is_none() && n == all.len() && n > 0;
        Self { whole: is_suite(plans.len()), whole_together: is_suite(together.len()), plans, together }
    }

    /// What the judge is to know of it.
    pub fn selection(&self) -> Selection {
        Selection { scenarios: self.together.len(), whole: self.whole_together }
    }
}

/// Whether a filter takes a plan.
pub fn matches(filter: &Filter, plan: &Plan, catalogue: &[Requirement]) -> bool {
    let requirements: Vec<&Requirement> = catalogue.iter().filter(|r| plan.requirements.contains(&r.id)).collect();
    filter.matches(filter::FilterCandidate { id: &plan.id, requirements: &requirements })
}
