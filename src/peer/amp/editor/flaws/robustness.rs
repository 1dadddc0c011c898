//! Ways to be harmed by a bad client.

use super::super::quirks::{Effect, Switch, Trigger};
use super::{BOTH, Entry, flaw};

/// A flaw that makes the editor stop serving everybody once a client has done something.
const fn hangs(trigger: Trigger) -> Effect {
    Effect::Switch(Switch::HangsAfter(trigger))
}

pub const FLAWS: &[Entry] = &[
    flaw!("dies-of-bad-json" BOTH "robustness/alive"
        "A message that is no JSON makes the editor exit." Effect::Switch(Switch::Dies)),
    flaw!("hangs-after-bad-json" BOTH "robustness/bad-json"
        "After a message that is no JSON nobody is served." hangs(Trigger::BadJson)),
    flaw!("hangs-after-bad-envelope" BOTH "robustness/bad-envelope"
        "After JSON that is no request nobody is served." hangs(Trigger::BadEnvelope)),
    flaw!("hangs-after-bad-params" BOTH "robustness/bad-params"
        "After a request with bad parameters nobody is served." hangs(Trigger::BadParams)),
    flaw!("hangs-after-binary" BOTH "robustness/binary" "After a binary message nobody is served." hangs(Trigger::Binary)),
    flaw!("hangs-after-deep-json" BOTH "robustness/deep-json" "After deeply nested JSON nobody is served."
        hangs(Trigger::DeepJson)),
    flaw!("hangs-after-huge-message" BOTH "robustness/huge-message"
        "After a message of more than a mebibyte nobody is served." hangs(Trigger::HugeMessage)),
    flaw!("hangs-after-bad-frame" BOTH "robustness/bad-frame"
        "After a frame that breaks the RFC nobody is served." hangs(Trigger::BadFrame)),
    flaw!("hangs-after-huge-length" BOTH "robustness/huge-length"
        "A frame that announces an absurd length makes the editor stop serving anybody." hangs(Trigger::HugeLength)),
    flaw!("hangs-in-half-frame" BOTH "robustness/half-frame"
        "While a frame is not whole nobody else is served." hangs(Trigger::HalfFrame)),
    flaw!("hangs-after-reset" BOTH "robustness/reset" "After a connection was cut nobody is served."
        hangs(Trigger::Reset)),
    flaw!("hangs-after-bad-handshake" BOTH "robustness/bad-handshake"
        "After a handshake that is no right one nobody is served." hangs(Trigger::BadHandshake)),
    flaw!("hangs-in-handshake" BOTH "robustness/slow-handshake"
        "While one client makes its handshake no other can." Effect::Switch(Switch::HandshakeBlocksOthers)),
    flaw!("hangs-after-huge-head" BOTH "robustness/huge-head" "After a handshake with an endless head nobody is served."
        hangs(Trigger::HugeHead)),
    flaw!("hangs-after-thirty" BOTH "robustness/connection-flood"
        "After thirty connections nobody is served." hangs(Trigger::Flood)),
    flaw!("hangs-on-silent-client" BOTH "robustness/silent-client"
        "While a client does not read what it asked for, nobody else is answered."
        Effect::Switch(Switch::AnswersOneAtATime)),
    flaw!("closes-on-bad-json" BOTH "robustness/same-after-bad-json" "A message that is no JSON ends the connection."
        Effect::Switch(Switch::ClosesOnBadJson)),
    flaw!("closes-on-bad-envelope" BOTH "robustness/same-after-bad-envelope" "JSON that is no request ends the connection."
        Effect::Switch(Switch::ClosesOnBadEnvelope)),
    flaw!("closes-on-bad-params" BOTH "robustness/same-after-bad-params"
        "A request with bad parameters ends the connection." Effect::Switch(Switch::ClosesOnBadParams)),
    flaw!("hundred-requests" BOTH "robustness/request-flood"
        "On each connection a hundred requests are answered." Effect::Switch(Switch::HundredRequests)),
    flaw!("eight-clients" BOTH "robustness/many-clients" "A ninth client is refused." Effect::Switch(Switch::EightClients)),
];
