//! How event streams are subscribed to, and read.

use crate::wire::http::Request;

use super::super::quirks::{Effect, Switch};
use super::{Entry, flaw};

/// An event beyond this, in bytes, is too large for a flaw.
const LARGE: usize = 64 << 10;

pub const FLAWS: &[Entry] = &[
    // Subscribing.
    flaw!("accepts-json" "stream/client-accept" "A subscription accepts JSON."
        Effect::Subscription(|request| set(request, "Accept", Some("application/json")))),
    flaw!("cached-streams" "stream/client-cache-control" "A subscription may be answered from a cache."
        Effect::Subscription(|request| set(request, "Cache-Control", None))),
    flaw!("exact-stream-type" "stream/client-content-type" "A stream with parameters in its content type is not taken."
        Effect::Switch(Switch::ExactStreamType)),
    flaw!("stream-type-by-case" "stream/client-content-type-case" "A stream whose content type is written in upper case is not taken."
        Effect::Switch(Switch::StreamTypeByCase)),
    flaw!("any-stream-type" "stream/client-other-content-type" "Whatever its content type, an answer is a stream."
        Effect::Switch(Switch::AnyStreamType)),
    flaw!("subscribes-for-ever" "stream/client-refused" "A subscription that is refused is tried over and over again."
        Effect::Switch(Switch::SubscribesForever)),
    flaw!("leaves-streams-open" "stream/client-unsubscribe" "A subscription that was ended keeps its connection."
        Effect::Switch(Switch::LeavesOpen)),
    // Reading.
    flaw!("needs-crlf" "stream/client-lf" "Lines have to end in CR LF." Effect::Switch(Switch::NeedsCrLf)),
    flaw!("needs-lf" "stream/client-crlf"
        "Lines have to end in LF alone." Effect::Switch(Switch::NeedsLf)),
    flaw!("no-lone-cr" "stream/client-cr" "A CR alone ends no line." Effect::Switch(Switch::NoLoneCr)),
    flaw!("split-crlf" "stream/client-line-ends-split" "A CR LF that is cut in two is two line ends."
        Effect::Switch(Switch::SplitCrLf)),
    flaw!("no-bom" "stream/client-bom" "A byte order mark at the beginning of a stream is a part of its first line."
        Effect::Switch(Switch::NoBom)),
    flaw!("no-comments" "stream/client-comment" "After a comment nothing is told."
        Effect::EndsAtLine(|line| line.starts_with(b":"))),
    flaw!("last-line-only" "stream/client-multi-line" "Of several lines of data the last one counts."
    Effect::Stream(|event| if let Some(data) = &mut event.data {
        *data = data.rsplit('\n').next().unwrap_or_default().to_owned();
    })),
    flaw!("needs-space" "stream/client-no-space" "A field without a space after its colon ends a stream."
    Effect::EndsAtLine(|line| {
        line.iter().position(|byte| *byte == b':').is_some_and(|at| at > 0 && line.get(at + 1) != Some(&b' '))
    })),
    flaw!("untyped-only" "stream/client-event-message" "Events with a type are passed over, whatever it is."
        Effect::Skips(|event| event.event.is_some())),
    flaw!("no-ids" "stream/client-id" "After an id nothing is told."
        Effect::EndsAtLine(|line| line.starts_with(b"id"))),
    flaw!("no-retry" "stream/client-retry" "After a `retry` nothing is told."
        Effect::EndsAtLine(|line| line.starts_with(b"retry"))),
    flaw!("known-fields-only" "stream/client-unknown-field" "After a field that it does not know nothing is told."
    Effect::EndsAtLine(|line| {
        let field = line.split(|byte| *byte == b':').next().unwrap_or_default();
        !matches!(field, b"" | b"data" | b"event" | b"id" | b"retry" | b"\xef\xbb\xbfdata")
    })),
    flaw!("tells-nothing" "stream/client-no-data" "An event without data is told." Effect::Switch(Switch::TellsNothing)),
    flaw!("stream-pieces-apart" "stream/client-split" "Each piece of a stream is read by itself." Effect::Switch(Switch::StreamPiecesApart)),
    flaw!("characters-apart" "stream/client-split-character" "The characters of each piece are decoded by themselves."
        Effect::Switch(Switch::CharactersApart)),
    flaw!("first-of-piece" "stream/client-several-at-once"
        "Of several events in one piece the first is told." Effect::Switch(Switch::FirstOfPiece)),
    flaw!("tells-pending" "stream/client-cut" "An event is told that was not complete when its stream ended."
        Effect::Switch(Switch::TellsPending)),
    flaw!("all-is-json" "stream/client-keep-alive" "After data that is no JSON nothing is told."
    Effect::EndsAt(|event| {
        event.data.as_ref().is_some_and(|data| serde_json::from_str::<serde_json::Value>(data).is_err())
            || event.event_type() != "message"
    })),
    flaw!("small-events" "stream/client-large" "Events beyond 64 KiB are passed over."
        Effect::Skips(|event| event.data.as_ref().is_some_and(|data| data.len() > LARGE))),
    flaw!("no-room" "stream/client-many" "After many events no more are told." Effect::Switch(Switch::StopsAfterMany)),
    flaw!("no-silence" "stream/client-silence" "A stream that is silent for a moment is given up."
        Effect::Switch(Switch::NoSilence)),
];

fn set(request: &mut Request, name: &str, value: Option<&str>) {
    request.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
    request.headers.push((name.to_owned(), value.map(str::to_owned)));
}
