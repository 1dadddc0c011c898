//! Rules: what any trace of Amplifier is judged by, however it came about.
//!
//! [`traffic::Traffic`] keeps what is in progress, and hands what has become complete to the files that judge it. They
//! keep nothing longer than its exchange or stream, but for [`sessions`], which remembers what is known of each session
//! over all of them.

mod approvals;
mod bodies;
mod events;
mod framing;
mod lifecycle;
pub mod members;
mod requests;
mod responses;
mod sessions;
mod subscriptions;
mod traffic;

use std::sync::LazyLock;

use super::requirements;
use crate::protocol::Rule;
use crate::protocol::exits::CrashRule;
use crate::protocol::http::rule_context::RequirementIndex;
use crate::trace::End;

/// The requirements, as the rules cite them.
static INDEX: LazyLock<RequirementIndex> = LazyLock::new(|| RequirementIndex::of(requirements::all()));

/// Fresh rules. There is one edition.
pub fn of() -> Vec<Box<dyn Rule>> {
    vec![Box::new(traffic::Traffic::new()), Box::new(exits())]
}

fn exits() -> CrashRule {
    CrashRule::new("server", |out, end, index, fault| {
        let short = if end == End::Server { "robustness/alive" } else { "robustness/client-alive" };
        INDEX.ctx(out, index).check(short, Some(fault));
    })
}

#[cfg(test)]
mod tests;
