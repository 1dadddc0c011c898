//! Rules: what any trace of AMP can be held against, however it came about.
//!
//! [`of`] gives the rules of an edition. A rule keeps only what is open: the handshake, the message in parts, the pings,
//! close frames and requests that wait for a response. [`RequirementIndex`] knows the ids of an edition, so that a rule judges what
//! the edition asks for and passes over the rest.

mod control_frames;
mod frames;
mod handshakes;
mod lockfiles;
mod messages;
mod requests;
mod responses;
mod shared;

use crate::protocol::Rule;
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::exits::CrashRule;
use crate::trace::End;

use shared::RequirementIndex;

/// Microseconds after which what has not come will not come: long beyond any delay of an orderly end, and of whoever
/// recorded it. On a machine with several times more to do than it can, that one may be held up for ten seconds.
const OVERDUE: u64 = 30_000_000;

/// Fresh rules of an edition.
pub fn of(edition: &'static AmpEdition) -> Vec<Box<dyn Rule>> {
    let requirements = RequirementIndex::of(edition);
    vec![
        Box::new(lockfiles::Lockfiles::new(requirements)),
        Box::new(handshakes::HandshakeRequests::new(requirements)),
        Box::new(lockfiles::Tokens::new(requirements)),
        Box::new(handshakes::HandshakeResponses::new(requirements)),
        Box::new(frames::Frames::new(requirements)),
        Box::new(control_frames::Pings::new(requirements, End::Server)),
        Box::new(control_frames::Pings::new(requirements, End::Client)),
        Box::new(control_frames::Closings::new(requirements, End::Server)),
        Box::new(control_frames::Closings::new(requirements, End::Client)),
        Box::new(messages::Messages::new(edition, requirements)),
        Box::new(requests::RequestContents::new(edition, requirements)),
        Box::new(requests::Requests::new(edition, requirements)),
        Box::new(exits(requirements)),
        Box::new(handshakes::ConnectionAttempts::new(requirements)),
    ]
}

fn exits(requirements: &'static RequirementIndex) -> CrashRule {
    CrashRule::new("editor", move |out, end, index, fault| {
        requirements.check(out, end, "robustness/alive", index, Some(fault));
    })
}

#[cfg(test)]
mod tests;
