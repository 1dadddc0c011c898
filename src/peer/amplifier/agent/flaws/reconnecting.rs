//! What becomes of a stream that has ended.

use super::super::quirks::{Effect, Switch};
use super::{Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("never-reconnects" "stream/client-reconnect" "A stream that was cut is not subscribed to again."
        Effect::Switch(Switch::NoReconnection)),
    flaw!("ended-is-ended" "stream/client-reconnect-ended"
        "A stream that the server ended is not subscribed to again." Effect::Switch(Switch::NotAfterEnd)),
    flaw!("one-attempt" "stream/client-reconnect-refused" "One attempt is made to subscribe again."
        Effect::Switch(Switch::NotAfterRefusal)),
    flaw!("never-gone" "stream/client-reconnect-gone" "It subscribes again to what is gone."
        Effect::Switch(Switch::NeverGone)),
    flaw!("ignores-retry" "stream/client-retry-time" "The time that the server gives makes no difference."
        Effect::Switch(Switch::OwnRetryTime)),
    flaw!("forgets-last-id" "stream/client-last-event-id" "It does not say which event was the last."
        Effect::Switch(Switch::NoLastEventId)),
    flaw!("prompts-again" "stream/client-no-prompt-again" "A prompt is posted again when its stream stands again."
        Effect::Switch(Switch::PromptsAgain)),
    flaw!("tells-last-again" "stream/client-no-duplicates" "The last event is told again when the stream stands again."
        Effect::Switch(Switch::TellsLastAgain)),
];
