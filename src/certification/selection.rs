//! Which scenarios a session plays against a subject.

use crate::config::SubjectSpec;
use crate::judge::Selection;
use crate::protocol::{Edition, Requirement};
use crate::scenario::{Filter, Plan, filter};

use super::Session;

/// What a scenario requires that is for clients that are only watched.
const OBSERVED: &str = "observed";

/// The plans that were selected for a role and edition.
pub(super) struct SelectedPlans {
    /// The plans to be played in this shard.
    pub plans: Vec<Plan>,
    /// The plans of all shards together.
    pub all_shards: Vec<Plan>,
    /// Whether `plans` are the complete suite.
    pub complete: bool,
    /// Whether `all_shards` are the complete suite.
    pub all_shards_complete: bool,
}

impl SelectedPlans {
    /// Of the plans of a session, those for a subject.
    pub fn of(session: &Session, spec: &SubjectSpec, edition: &dyn Edition) -> Self {
        let observed = |p: &Plan| p.requires.iter().any(|need| need == OBSERVED);
        // A client that is only watched plays what is made for that, and nothing else.
        let of_role =
            |p: &&Plan| p.role == spec.role.name && p.edition == edition && observed(p) == spec.observe.is_some();
        let all: Vec<&Plan> = session.plans.iter().filter(of_role).collect();
        let catalogue = (spec.protocol.requirements)();
        let (filter, shard) = (session.options.filter.as_ref(), session.options.shard);
        let wanted = |plan: &&&Plan| filter.is_none_or(|f| matches(f, plan, catalogue));
        let all_shards: Vec<Plan> = all.iter().filter(wanted).map(|&plan| plan.clone()).collect();
        let taken = |(n, _): &(usize, &Plan)| shard.is_none_or(|shard| shard.takes(*n));
        let plans: Vec<Plan> = all_shards.iter().enumerate().filter(taken).map(|(_, plan)| plan.clone()).collect();
        let is_suite = |n: usize| session.is_complete_suite && spec.observe.is_none() && n == all.len() && n > 0;
        Self { complete: is_suite(plans.len()), all_shards_complete: is_suite(all_shards.len()), plans, all_shards }
    }

    /// What the judge is to know of it.
    pub fn selection(&self) -> Selection {
        Selection { scenarios: self.all_shards.len(), whole: self.all_shards_complete }
    }
}

/// Whether a filter takes a plan.
pub fn matches(filter: &Filter, plan: &Plan, catalogue: &[Requirement]) -> bool {
    let requirements: Vec<&Requirement> = catalogue.iter().filter(|r| plan.requirements.contains(&r.id)).collect();
    filter.matches(filter::FilterCandidate { id: &plan.id, requirements: &requirements })
}
