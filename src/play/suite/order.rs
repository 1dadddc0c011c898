//! In which order plans are played.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::time::Duration;

use crate::play::timing;
use crate::scenario::{Plan, ProcessSharing};

/// Those that wait longest come first, where that is wanted: by the seconds that they wait in any case, and then by how long
/// they may. Then come those with a process of their own. The order of some plans does not depend on which others there are.
pub fn order(plans: &[Plan], longest_first: bool) -> VecDeque<usize> {
    let waiting = |plan: &Plan| {
        let steps = &plan.steps;
        longest_first
            .then(|| (timing::least_waiting_time(steps).as_secs(), timing::waiting_time(steps, Duration::ZERO)))
    };
    let mut order: Vec<usize> = (0..plans.len()).collect();
    order.sort_by_cached_key(|n| (Reverse(waiting(&plans[*n])), plans[*n].process == ProcessSharing::Shared));
    order.into()
}
