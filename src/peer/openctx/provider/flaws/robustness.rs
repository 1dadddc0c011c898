//! What other clients suffer from after one of them did something wrong.

use super::super::memory::{ClientMistake, is_deep};
use super::super::quirks::{Effect, Instead, RequestInContext, Switch};
use super::super::request::RequestFault;
use super::{Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("exits-on-bad-json" "robustness/alive"
        "A body that is no JSON makes the provider exit."
        Effect::Instead(|s| (*s.request == Err(RequestFault::NoJson)).then_some(Instead::Die))),
    flaw!("exits-on-unknown-method" "robustness/alive"
        "A request for an unknown method makes the provider exit."
        Effect::Instead(|s| (*s.request == Err(RequestFault::NoMethod)).then_some(Instead::Die))),
    flaw!("exits-on-deep-json" "robustness/alive"
        "JSON that is nested deep makes the provider exit."
        Effect::Instead(|s| is_deep(&s.received.content).then_some(Instead::Die))),
    flaw!("confuses-requests" "robustness/concurrent"
        "Requests that come at the same time get the answer to the one before." Effect::Switch(Switch::SharesRequest)),
    flaw!("silent-after-bad-json" "robustness/bad-json" "After a body that is no JSON nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::NoJson))),
    flaw!("silent-after-bad-envelope" "robustness/bad-envelope" "After JSON that is no request nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::NoRequest))),
    flaw!("silent-after-bad-params" "robustness/bad-params" "After wrong parameters nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Params))),
    flaw!("silent-after-unknown-method" "robustness/unknown-method" "After an unknown method nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::NoMethod))),
    flaw!("silent-after-deep-json" "robustness/deep-json" "After JSON that is nested deep nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Deep))),
    flaw!("silent-after-huge-content" "robustness/huge-content" "After a document of more than a mebibyte nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Huge))),
    flaw!("silent-after-bad-head" "robustness/bad-head" "After a head that is no HTTP nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Head))),
    flaw!("silent-after-huge-head" "robustness/huge-head" "After an endless head nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::EndlessHead))),
    flaw!("silent-after-wrong-length" "robustness/wrong-length"
        "After a head with a length that is none nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Length))),
    flaw!("silent-after-bad-chunks" "robustness/bad-chunks" "After chunks that are none nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Chunks))),
    flaw!("silent-after-reset" "robustness/reset"
        "After a connection was cut while a request was open nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Cut))),
    flaw!("one-at-a-time" "robustness/half-request"
        ["robustness/silent-client": "A client that does not read has a connection as well."]
        "One connection is served at a time." Effect::Switch(Switch::OneAtATime)),
    flaw!("one-client-at-a-time" "robustness/silent-client"
        ["robustness/half-request": "A client that stops in the middle of a request has not read its answer either."]
        "While an answer is not read, nobody else gets one." Effect::Switch(Switch::OneAtATime)),
    flaw!("leaks-connections" "robustness/connection-flood"
        "After twenty connections without a request nothing is answered."
        Effect::Instead(|s| (s.memory.unused(s.received.head.tcp) > 20).then_some(Instead::Close))),
    flaw!("busy-beyond-fifty" "robustness/request-flood" "While fifty requests are open, others are not answered."
        Effect::Switch(Switch::AtMost(50))),
];

/// Closes every connection after something went wrong once.
fn after(seen: &RequestInContext<'_>, trouble: ClientMistake) -> Option<Instead> {
    seen.memory.had(trouble).then_some(Instead::Close)
}
