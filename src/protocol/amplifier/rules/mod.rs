//! Rules: what any trace of Amplifier can be held against, however it came about.
//!
//! [`traffic`] keeps what is under way, and hands what has become whole to the files that judge it. They hold nothing longer
//! than its exchange or stream, but for [`sessions`], which remembers what was said of each session over all of them.

mod answers;
mod errors;
mod events;
mod exchange;
mod gate;
mod http;
mod lives;
mod members;
mod requests;
mod sessions;
mod sockets;
mod streams;
mod subscriptions;
mod times;
mod traffic;

use std::sync::LazyLock;

use super::requirements;
use crate::protocol::Rule;
use crate::protocol::exits::CrashRule;
use crate::protocol::http::requirement_index::RequirementIndex;
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
