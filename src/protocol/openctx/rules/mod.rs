//! Rules: what any trace of OpenCtx can be held against, however it came about.
//!
//! The main type is [`exchanges::ExchangeRule`]. It keeps the exchanges that are under way, and hands what has become whole to
//! the files that judge it. These keep nothing.

mod exchanges;
mod members;
mod requests;
mod responses;
mod results;

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
    vec![Box::new(exchanges::ExchangeRule::new()), Box::new(exits())]
}

fn exits() -> CrashRule {
    CrashRule::new("provider", |out, end, index, fault| {
        let short = if end == End::Server { "robustness/alive" } else { "robustness/client-alive" };
        INDEX.ctx(out, index).check(short, Some(fault));
    })
}

#[cfg(test)]
mod tests;
