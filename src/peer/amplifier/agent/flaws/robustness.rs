//! What a server that fails costs.

use crate::peer::fetch::Kind;

use super::super::quirks::{Effect, Switch};
use super::{Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("dies-at-bad-json" "robustness/client-alive" "An answer that is no JSON makes it exit."
        Effect::Switch(Switch::DiesAfter(Kind::Json))),
    flaw!("shares-answers" "robustness/client-concurrent" "Calls of a kind that are made at once share an answer."
        Effect::Switch(Switch::Shares)),
    flaw!("deaf-after-error" "robustness/client-after-error"
        "After an error no call comes to its end." Effect::Switch(Switch::DeafAfter(Kind::Error))),
    flaw!("deaf-after-bad-answer" "robustness/client-after-bad-answer"
        "After an answer that is none no call comes to its end." Effect::Switch(Switch::DeafAfter(Kind::Envelope))),
    flaw!("deaf-after-bad-json" "robustness/client-after-bad-answer" "After an answer that is no JSON no call comes to its end."
        Effect::Switch(Switch::DeafAfter(Kind::Json))),
    flaw!("deaf-after-bad-http" "robustness/client-after-bad-http" "After what is no HTTP no call comes to its end."
        Effect::Switch(Switch::DeafAfter(Kind::Http))),
    flaw!("deaf-after-cut" "robustness/client-after-cut"
        "After an answer that was cut no call comes to its end." Effect::Switch(Switch::DeafAfter(Kind::Cut))),
    flaw!("deaf-after-close" "robustness/client-after-cut"
        "After a connection that was closed without an answer no call comes to its end."
        Effect::Switch(Switch::DeafAfter(Kind::Closed))),
    flaw!("bad-json-as-result" "robustness/client-bad-json" "An answer that is no JSON gives the caller a result."
        Effect::Switch(Switch::BadJsonAsResult)),
    flaw!("incomplete-as-result" "robustness/client-incomplete" "An answer that is cut short gives the caller a result."
        Effect::Switch(Switch::IncompleteAsResult)),
    flaw!("hangs-at-close" "robustness/client-closed" "A call whose connection is closed never comes to its end."
        Effect::Switch(Switch::NeverReturns(Kind::Closed))),
    flaw!("hangs-at-refusal" "robustness/client-refused" "A call to a server that does not listen never comes to its end."
        Effect::Switch(Switch::NeverReturns(Kind::Refused))),
    flaw!("impatient" "robustness/client-slow" "Answers are waited for no longer than a moment."
        Effect::Switch(Switch::Impatient)),
    flaw!("one-at-a-time" "robustness/client-slow-others"
        "The next call waits for the answer to the last." Effect::Switch(Switch::Serial)),
    flaw!("streams-first" "robustness/client-stream-others" "Calls wait for streams to end."
        Effect::Switch(Switch::CallsWaitForStreams)),
    flaw!("deaf-after-huge" "robustness/client-huge" "After an answer of some mebibytes no call comes to its end."
        Effect::Switch(Switch::DeafAfterHuge)),
    flaw!("hangs-at-deep-json" "robustness/client-deep-json" "A call whose answer is nested deep never comes to its end."
        Effect::Switch(Switch::NeverReturns(Kind::Deep))),
    flaw!("dies-at-deep-json" "robustness/client-alive"
        "An answer that is nested deep makes it exit." Effect::Switch(Switch::DiesAfter(Kind::Deep))),
    flaw!("deaf-after-bad-text" "robustness/client-bad-stream" "After a stream that is no UTF-8 no call comes to its end."
        Effect::Switch(Switch::DeafAfterBadText)),
    flaw!("deaf-after-long-line" "robustness/client-endless-line"
        "After a line of a stream that does not end no call comes to its end."
        Effect::Switch(Switch::DeafAfterLongLine)),
    flaw!("dies-at-long-line" "robustness/client-alive"
        "A line of a stream that does not end makes it exit." Effect::Switch(Switch::DiesAtLongLine)),
];
