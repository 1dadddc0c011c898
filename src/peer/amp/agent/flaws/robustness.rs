//! What an editor can do to a client.

use super::super::quirks::{Effect, Switch, Trigger};
use super::{BOTH, Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("dies-at-bad-json" BOTH "robustness/client-alive"
        "A message that is no JSON makes it end." Effect::Switch(Switch::DiesAfter(Trigger::BadJson))),
    flaw!("dies-at-bad-frame" BOTH "robustness/client-alive"
        "A frame that breaks the RFC makes it end." Effect::Switch(Switch::DiesAfter(Trigger::BadFrame))),
    flaw!("dies-at-deep-json" BOTH "robustness/client-alive"
        "JSON that is nested deeply makes it end." Effect::Switch(Switch::DiesAfter(Trigger::DeepJson))),
    flaw!("hangs-at-bad-json" BOTH "robustness/client-after-bad-json" "A message that is no JSON makes it hang."
        Effect::Switch(Switch::HangsAfter(Trigger::BadJson))),
    flaw!("hangs-at-bad-envelope" BOTH "robustness/client-after-bad-envelope"
        "JSON that is neither a response nor a notification makes it hang."
        Effect::Switch(Switch::HangsAfter(Trigger::BadEnvelope))),
    flaw!("hangs-at-wrong-types" BOTH "robustness/client-after-wrong-types"
        "A message in which something has the wrong type makes it hang."
        Effect::Switch(Switch::HangsAfter(Trigger::WrongTypes))),
    flaw!("hangs-at-binary" BOTH "robustness/client-after-binary" "A binary message makes it hang."
        Effect::Switch(Switch::HangsAfter(Trigger::Binary))),
    flaw!("hangs-at-deep-json" BOTH "robustness/client-after-deep-json" "JSON that is nested deeply makes it hang."
        Effect::Switch(Switch::HangsAfter(Trigger::DeepJson))),
    flaw!("hangs-at-flood" BOTH "robustness/client-after-flood" "Very many messages make it hang."
        Effect::Switch(Switch::HangsAfter(Trigger::Flood))),
    flaw!("hangs-at-huge-message" BOTH "robustness/client-after-huge"
        "A message of more than a mebibyte makes it hang." Effect::Switch(Switch::HangsAfter(Trigger::HugeMessage))),
    flaw!("hangs-at-bad-frame" BOTH "robustness/client-after-bad-frame" "A frame that breaks the RFC makes it hang."
        Effect::Switch(Switch::HangsAfter(Trigger::BadFrame))),
    flaw!("hangs-at-huge-length" BOTH "robustness/client-after-huge-length"
        "A frame that announces an absurd length makes it hang." Effect::Switch(Switch::HangsAfter(Trigger::HugeLength))),
    flaw!("hangs-in-half-frame" BOTH "robustness/client-after-half-frame"
        "A frame that is not whole makes it hang." Effect::Switch(Switch::HangsAfter(Trigger::HalfFrame))),
    flaw!("hangs-at-cut" BOTH "robustness/client-after-cut"
        "A connection that is cut makes it hang." Effect::Switch(Switch::HangsAfter(Trigger::Cut))),
    flaw!("hangs-at-huge-head" BOTH "robustness/client-after-huge-head"
        "An endless answer to the handshake makes it hang." Effect::Switch(Switch::HangsAfter(Trigger::HugeHead))),
];
