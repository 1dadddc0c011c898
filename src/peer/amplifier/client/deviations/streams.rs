//! Flaws of subscriptions: how event streams and WebSockets are read, which events reach the caller, and reconnection.

use serde_json::{Value, json};

use crate::peer::amplifier::client::calls::CallSwitch;
use crate::peer::amplifier::client::follow::FollowSwitch;
use crate::peer::amplifier::client::reader::ReaderSwitch;
use crate::peer::amplifier::client::subscriptions::SubscriptionSwitch;
use crate::peer::deviation::http_client::set_header;
use crate::peer::deviation::value::text;
use crate::peer::deviation::{FlawRow, flaw};
use crate::peer::http::fetch::has_others;
use crate::protocol::amplifier::find_event;

use super::AmplifierClientEffect;

/// An event beyond this, in bytes, is too large for a flaw.
const LARGE: usize = 64 << 10;

pub const READING: &[FlawRow<AmplifierClientEffect>] = &[
    // Subscribing.
    flaw!("accepts-json" "stream/client-accept" "A subscription accepts JSON."
        AmplifierClientEffect::Subscription(|request| set_header(request, "Accept", Some("application/json")))),
    flaw!("cached-streams" "stream/client-cache-control" "A subscription may be answered from a cache."
        AmplifierClientEffect::Subscription(|request| set_header(request, "Cache-Control", None))),
    flaw!("exact-stream-type" "stream/client-content-type" "A stream with parameters in its content type is not taken."
        FollowSwitch::ExactStreamType.on()),
    flaw!("stream-type-by-case" "stream/client-content-type-case" "A stream whose content type is written in upper case is not taken."
        FollowSwitch::StreamTypeByCase.on()),
    flaw!("any-stream-type" "stream/client-other-content-type" "Whatever its content type, a response is a stream."
        FollowSwitch::AnyStreamType.on()),
    flaw!("subscribes-for-ever" "stream/client-refused" "A subscription that is refused is tried over and over again."
        CallSwitch::SubscribesForever.on()),
    flaw!("leaves-streams-open" "stream/client-unsubscribe" "A subscription that was ended keeps its connection."
        CallSwitch::LeavesOpen.on()),
    // Reading.
    flaw!("needs-crlf" "stream/client-lf" "Lines have to end in CR LF." ReaderSwitch::NeedsCrLf.on()),
    flaw!("needs-lf" "stream/client-crlf"
        "Lines have to end in LF alone." ReaderSwitch::NeedsLf.on()),
    flaw!("no-lone-cr" "stream/client-cr" "A CR alone ends no line." ReaderSwitch::NoLoneCr.on()),
    flaw!("split-crlf" "stream/client-line-ends-split" "A CR LF that is cut in two is two line ends."
        ReaderSwitch::SplitCrLf.on()),
    flaw!("unicode-line-ends" "stream/client-line-ends-only"
        "The separators of lines and paragraphs of Unicode end a line." ReaderSwitch::UnicodeLineEnds.on()),
    flaw!("no-bom" "stream/client-bom" "A byte order mark at the beginning of a stream is a part of its first line."
        ReaderSwitch::NoBom.on()),
    flaw!("no-comments" "stream/client-comment" "After a comment nothing is reported."
        AmplifierClientEffect::EndsAtLine(|line| line.starts_with(b":"))),
    flaw!("last-line-only" "stream/client-multi-line" "Of several lines of data the last one counts."
    AmplifierClientEffect::Stream(|event| if let Some(data) = &mut event.data {
        *data = data.rsplit('\n').next().unwrap_or_default().to_owned();
    })),
    flaw!("needs-space" "stream/client-no-space" "A field without a space after its colon ends a stream."
    AmplifierClientEffect::EndsAtLine(|line| {
        line.iter().position(|byte| *byte == b':').is_some_and(|at| at > 0 && line.get(at + 1) != Some(&b' '))
    })),
    flaw!("untyped-only" "stream/client-event-message" "Events with a type are passed over, whatever it is."
        AmplifierClientEffect::Skips(|event| event.event.is_some())),
    flaw!("no-ids" "stream/client-id" "After an id nothing is reported."
        AmplifierClientEffect::EndsAtLine(|line| line.starts_with(b"id"))),
    flaw!("no-retry" "stream/client-retry" "After a `retry` nothing is reported."
        AmplifierClientEffect::EndsAtLine(|line| line.starts_with(b"retry"))),
    flaw!("known-fields-only" "stream/client-unknown-field" "After a field that it does not know nothing is reported."
    AmplifierClientEffect::EndsAtLine(|line| {
        let field = line.split(|byte| *byte == b':').next().unwrap_or_default();
        !matches!(field, b"" | b"data" | b"event" | b"id" | b"retry" | b"\xef\xbb\xbfdata")
    })),
    flaw!("tells-nothing" "stream/client-no-data" "An event without data is reported." FollowSwitch::TellsNothing.on()),
    flaw!("stream-pieces-apart" "stream/client-split" "Each piece of a stream is read by itself." ReaderSwitch::PiecesApart.on()),
    flaw!("characters-apart" "stream/client-split-character" "The characters of each piece are decoded by themselves."
        ReaderSwitch::CharactersApart.on()),
    flaw!("first-of-piece" "stream/client-several-at-once"
        "Of several events in one piece the first is reported." ReaderSwitch::FirstOfPiece.on()),
    flaw!("tells-pending" "stream/client-cut" "An event is told that was not complete when its stream ended."
        ReaderSwitch::TellsPending.on()),
    flaw!("all-is-json" "stream/client-keep-alive" "After data that is no JSON nothing is reported."
    AmplifierClientEffect::EndsAt(|event| {
        let is_json = |data: &String| serde_json::from_str::<serde_json::Value>(data).is_ok();
        event.data.as_ref().is_some_and(|data| !is_json(data) || event.event_type() != "message")
    })),
    flaw!("small-events" "stream/client-large" "Events beyond 64 KiB are passed over."
        AmplifierClientEffect::Skips(|event| event.data.as_ref().is_some_and(|data| data.len() > LARGE))),
    flaw!("no-room" "stream/client-many" "After many events no more are reported." SubscriptionSwitch::StopsAfterMany.on()),
    flaw!("no-silence" "stream/client-silence" "A stream that is silent for a moment is given up."
        FollowSwitch::NoSilence.on()),
];

pub const EVENTS: &[FlawRow<AmplifierClientEffect>] = &[
    flaw!("swaps-events" "events/client-order" "Of two events the later one is reported first."
        SubscriptionSwitch::Swaps.on()),
    flaw!("tells-at-the-end" "events/client-at-once"
        "Events are reported once the prompt is complete." SubscriptionSwitch::HoldsUntilComplete.on()),
    flaw!("tools-unreported" "events/client-every" "What tools do is not reported."
        AmplifierClientEffect::Drops(|message| name(message).starts_with("tool:"))),
    flaw!("streams-undecoded" "http/client-compressed" "A content coding is offered for streams, and not undone."
        FollowSwitch::Undecoded.on()),
    flaw!("thoughts-unreported" "events/client-thinking-final" "The end of thinking is not reported."
        AmplifierClientEffect::Drops(|message| name(message) == "thinking:final")),
    flaw!("known-events-only" "events/client-unknown" "After an event that it does not know nothing is reported."
        AmplifierClientEffect::EndsAtMessage(|message| !name(message).is_empty() && members(message).is_none())),
    flaw!("refuses-extra-in-events" "events/client-extra-members" "Events with members that it does not know are not reported."
    AmplifierClientEffect::Drops(|message| {
        let extra = |known: &[&str]| has_others(&message["data"], known) || has_others(message, &["event", "data"]);
        members(message).is_some_and(|known| extra(&known))
    })),
    flaw!("one-stream" "events/client-own-session" "The events of the newest subscription alone are reported."
        SubscriptionSwitch::OneStream.on()),
    flaw!("needs-sound-events" "events/client-bad-event" "After an event that breaks the document nothing is reported."
    AmplifierClientEffect::EndsAtMessage(|message| {
        let data = &message["data"];
        name(message).is_empty()
            || !data.is_object()
            || members(message).is_some_and(|known| {
                known.iter().take(2).any(|key| data.get(key).is_none_or(Value::is_null))
            })
    })),
    flaw!("deltas-trimmed" "events/client-delta-unchanged" "White space around a delta is not reported."
    AmplifierClientEffect::Message(|message| if let Some(delta) = message.pointer("/data/delta").and_then(Value::as_str) {
        message["data"]["delta"] = json!(delta.trim());
    })),
    flaw!("needs-start" "events/client-late" "Before a `session:start` nothing is reported."
        SubscriptionSwitch::NeedsStart.on()),
    flaw!("deaf-before-answer" "prompt/client-early-events" "Events are reported once a prompt was answered."
        SubscriptionSwitch::DeafBeforeAnswer.on()),
];

fn name(message: &Value) -> &str {
    message.get("event").and_then(Value::as_str).unwrap_or_default()
}

/// The members of the data of an event that the document has.
fn members(message: &Value) -> Option<Vec<&'static str>> {
    let event = find_event(name(message))?;
    Some(std::iter::once("session_id").chain(event.members.iter().map(|member| member.key)).collect())
}

pub const RECONNECTING: &[FlawRow<AmplifierClientEffect>] = &[
    flaw!("never-reconnects" "stream/client-reconnect" "A stream that was cut is not subscribed to again."
        FollowSwitch::NoReconnection.on()),
    flaw!("ended-is-ended" "stream/client-reconnect-ended"
        "A stream that the server ended is not subscribed to again." FollowSwitch::NotAfterEnd.on()),
    flaw!("one-attempt" "stream/client-reconnect-refused" "One attempt is made to subscribe again."
        FollowSwitch::NotAfterRefusal.on()),
    flaw!("never-gone" "stream/client-reconnect-gone" "It subscribes again to what is gone."
        FollowSwitch::NeverGone.on()),
    flaw!("ignores-retry" "stream/client-retry-time" "The time that the server gives makes no difference."
        FollowSwitch::OwnRetryTime.on()),
    flaw!("forgets-last-id" "stream/client-last-event-id" "It does not say which event was the last."
        FollowSwitch::NoLastEventId.on()),
    flaw!("last-id-shared" "stream/client-last-event-id-own" "It sends the last id of any of its streams."
        FollowSwitch::LastIdShared.on()),
    flaw!("prompts-again" "stream/client-no-prompt-again" "A prompt is posted again when its stream stands again."
        SubscriptionSwitch::PromptsAgain.on()),
    flaw!("tells-last-again" "stream/client-no-duplicates" "The last event is reported again when the stream stands again."
        SubscriptionSwitch::TellsLastAgain.on()),
];

pub const WEBSOCKET: &[FlawRow<AmplifierClientEffect>] = &[
    flaw!("control-type" "websocket/client-action" "The action of a control message is called its type."
    AmplifierClientEffect::Control(|message| if let Value::Object(members) = message {
        let action = members.remove("action").unwrap_or_default();
        members.insert("type".to_owned(), action);
    })),
    flaw!("control-prompt-list" "websocket/client-submit-prompt" "The prompt of a control message is a list."
        AmplifierClientEffect::Control(|message| text(message, "prompt", |prompt| json!([prompt])))),
    flaw!("control-decision-boolean" "websocket/client-submit-approval"
        "The decision of a control message is a boolean."
        AmplifierClientEffect::Control(|message| text(message, "decision", |decision| json!(decision.starts_with("Allow"))))),
    flaw!("control-ids" "websocket/client-extra" "Control messages have ids."
        AmplifierClientEffect::Control(|message| message["id"] = 1.into())),
    flaw!("needs-block-index" "websocket/client-no-block-index" "A delta without a `block_index` is not reported."
    AmplifierClientEffect::Drops(|message| {
        message["event"] == "content_block:delta" && message["data"].get("block_index").is_none()
    })),
    flaw!("silent-close" "websocket/client-closed" "Nobody learns that a WebSocket was closed or refused."
        FollowSwitch::SilentClose.on()),
    flaw!("accept-unchecked" "websocket/client-accept-checked" "`Sec-WebSocket-Accept` is not looked at."
        FollowSwitch::AcceptUnchecked.on()),
];
