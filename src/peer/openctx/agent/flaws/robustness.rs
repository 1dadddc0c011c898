//! What a provider that fails costs.

use crate::peer::fetch::Kind;

use super::super::quirks::{Effect, Switch};
use super::{Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("dies-at-bad-json" "robustness/client-alive" "An answer that is no JSON makes it exit."
        Effect::Switch(Switch::DiesAfter(Kind::Json))),
    flaw!("shares-answers" "robustness/client-concurrent" "Calls of a method that are made at once share an answer."
        Effect::Switch(Switch::Shares)),
    flaw!("deaf-after-error" "robustness/client-after-error" "After an error no call comes to its end."
        Effect::Switch(Switch::DeafAfter(Kind::Error))),
    flaw!("deaf-after-bad-answer" "robustness/client-after-bad-answer" "After an answer that is none no call comes to its end."
        Effect::Switch(Switch::DeafAfter(Kind::Envelope))),
    flaw!("deaf-after-bad-http" "robustness/client-after-bad-http" "After what is no HTTP no call comes to its end."
        Effect::Switch(Switch::DeafAfter(Kind::Http))),
    flaw!("deaf-after-cut" "robustness/client-after-cut" "After an answer that was cut no call comes to its end."
        Effect::Switch(Switch::DeafAfter(Kind::Cut))),
    flaw!("bad-json-as-result" "robustness/client-bad-json" "An answer that is no JSON gives the caller a result."
        Effect::Switch(Switch::BadJsonAsResult)),
    flaw!("hangs-at-bad-result" "robustness/client-bad-result" "A call with a result of the wrong type never comes to its end."
        Effect::Switch(Switch::NeverReturns(Kind::Type))),
    flaw!("incomplete-as-result" "robustness/client-incomplete" "An answer that is cut short gives the caller a result."
        Effect::Switch(Switch::IncompleteAsResult)),
    flaw!("hangs-at-close" "robustness/client-closed" "A call whose connection is closed never comes to its end."
        Effect::Switch(Switch::NeverReturns(Kind::Closed))),
    flaw!("hangs-at-refusal" "robustness/client-refused" "A call to a provider that does not listen never comes to its end."
        Effect::Switch(Switch::NeverReturns(Kind::Refused))),
    flaw!("impatient" "robustness/client-slow" "Answers are waited for no longer than half a second."
        Effect::Switch(Switch::Impatient)),
    flaw!("one-at-a-time" "robustness/client-slow-others"
        "The next call waits for the answer to the last." Effect::Switch(Switch::Serial)),
    flaw!("one-body-at-a-time" "robustness/client-endless"
        "While an answer comes, no other is read." Effect::Switch(Switch::OneBody)),
    flaw!("hangs-at-huge" "robustness/client-huge" "A call that is answered with some mebibytes never comes to its end."
        Effect::Switch(Switch::SilentAtHuge)),
    flaw!("hangs-at-deep-json" "robustness/client-deep-json" "A call whose answer is nested deep never comes to its end."
        Effect::Switch(Switch::NeverReturns(Kind::Deep))),
    flaw!("dies-at-huge" "robustness/client-alive"
        "An answer of some mebibytes makes it exit." Effect::Switch(Switch::DiesAfterHuge)),
    flaw!("dies-at-deep-json" "robustness/client-alive"
        "An answer that is nested deep makes it exit." Effect::Switch(Switch::DiesAfter(Kind::Deep))),
    flaw!("bad-compression-as-result" "robustness/client-bad-compression"
        "An answer that does not decode gives the caller a result." Effect::Switch(Switch::BadCodingAsResult)),
];
