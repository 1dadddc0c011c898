//! Rules: what any trace of AMP can be held against, however it came about.
//!
//! Each file is one rule. They keep what is open only: the handshake, the message in parts, the pings, closes and requests
//! that wait for an answer. [`RequirementIndex`] knows the ids of an edition, so that a rule judges what the edition asks for
//! and passes over the rest.

mod answer;
mod asked;
mod attempts;
mod closings;
mod connections;
mod frames;
mod handshakes;
mod lockfiles;
mod messages;
mod pings;
mod requests;
mod requirement_index;
mod results;
mod tokens;
mod upgrades;

use crate::protocol::Rule;
use crate::protocol::exits::CrashRule;
use crate::trace::End;

use requirement_index::RequirementIndex;

/// Microseconds after which what has not come will not come: long beyond any delay of an orderly end, and of whoever
/// recorded it. On a machine with several times more to do than it can, that one may be held up for ten seconds.
const OVERDUE: u64 = 30_000_000;

/// Fresh rules of an edition.
pub fn of(edition: &'static str) -> Vec<Box<dyn Rule>> {
    let book = RequirementIndex::of(edition);
    vec![
        Box::new(lockfiles::Lockfiles::new(edition, book)),
        Box::new(upgrades::Upgrades::new(book)),
        Box::new(tokens::Tokens::new(book)),
        Box::new(handshakes::Handshakes::new(book)),
        Box::new(frames::Frames::new(book)),
        Box::new(pings::Pings::new(book, End::Server)),
        Box::new(pings::Pings::new(book, End::Client)),
        Box::new(closings::Closings::new(book, End::Server)),
        Box::new(closings::Closings::new(book, End::Client)),
        Box::new(messages::Messages::new(edition, book)),
        Box::new(asked::RequestRules::new(edition, book)),
        Box::new(requests::Requests::new(edition, book)),
        Box::new(exits(edition)),
        Box::new(attempts::Attempts::new(book)),
    ]
}

fn exits(edition: &'static str) -> CrashRule {
    CrashRule::new("editor", move |out, end, index, fault| {
        RequirementIndex::of(edition).check(out, end, "robustness/alive", index, Some(fault));
    })
}

#[cfg(test)]
mod tests;
