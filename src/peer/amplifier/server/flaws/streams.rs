//! Event streams that are carried wrongly.

use super::super::form::{Begin, End, Kind};
use super::super::quirks::{Effect, Switch};
use super::http::content_type;
use super::{Entry, flaw, rename, switch};

pub const FLAWS: &[Entry] = &[
    flaw!("stream-202" "stream/status" "A subscription is answered with the status 202." Effect::Stream(|f| f.head.status = "202 Accepted".to_owned())),
    flaw!("stream-as-json" "stream/content-type" "An event stream has the content type of JSON." Effect::Stream(|f| content_type(&mut f.head, "application/json"))),
    flaw!("stream-as-text" "stream/content-type" "An event stream has the content type of a text." Effect::Stream(|f| content_type(&mut f.head, "text/plain"))),
    flaw!("stream-bad-byte" "stream/utf-8" "An event has a byte that no UTF-8 has, in a text."
    Effect::Stream(|f| f.bytes = Some(|bytes| if let Some(at) = bytes.windows(2).rposition(|two| two == b":\"") {
        bytes.insert(at + 2, 0xff);
    }))),
    flaw!("stream-for-nobody" "stream/not-found" "A session that never existed has an event stream." switch(Switch::StreamsNobody)),
    flaw!("stream-head-late" "stream/at-once" "The head of an event stream comes with the first event." Effect::Stream(|f| f.begin = Begin::WithEvent)),
    flaw!("stream-ends-in-event" "stream/complete-events" "A stream ends within an event." Effect::Stream(|f| f.end = End::InEvent)),
    flaw!("events-by-their-names" "stream/message-type" "Each event comes under its own name as its type." Effect::Stream(|f| f.kind = Kind::Own)),
    flaw!("events-under-update" "stream/message-type" "Events come under the type `update`." Effect::Stream(|f| f.kind = Kind::Named("update"))),
    flaw!("stream-begins-with-ping" "stream/data-json" "A stream begins with a message that is no JSON." Effect::Stream(|f| f.first = "data: ping\n\n")),
    flaw!("stream-dicts" "stream/data-json" "Events are written as Python writes a dict." Effect::Stream(|f| f.bytes = Some(|bytes| {
        bytes.iter_mut().filter(|byte| **byte == b'"').for_each(|byte| *byte = b'\'');
    }))),
    flaw!("stream-bare-lines" "stream/data-field" "Events are lines of JSON, as in NDJSON." Effect::Stream(|f| f.bytes = Some(|bytes| {
        bytes.drain(..bytes.windows(2).position(|two| two == b" {").map_or(0, |at| at + 1));
    }))),
    flaw!("stream-buffered" "stream/unbuffered" "Events are held back until the prompt is complete." Effect::Stream(|f| f.hold = true)),
    flaw!("one-queue" "stream/several" "All subscribers take their events from one queue." switch(Switch::OneQueue)),
    flaw!("newest-subscriber-only" "stream/several" "Only the newest subscriber gets events." switch(Switch::NewestOnly)),
    flaw!("deltas-backwards" "stream/order" "Every second subscriber gets deltas the other way round." switch(Switch::Shuffles)),
    flaw!("events-to-all" "stream/own-session" "Subscribers get the events of all sessions." switch(Switch::LeaksEvents)),
    flaw!("leaving-ends-prompt" "stream/subscriber-leaves"
        ["robustness/stream-cut": "Whether it closes its connection or resets it, the prompt ends."]
        "When a subscriber leaves, the prompt ends." switch(Switch::LeavingEndsPrompt)),
    flaw!("subscribed-once" "stream/again" "A session can be subscribed to only once." switch(Switch::SubscribedOnce)),
    flaw!("few-streams" "stream/many" "The fiftieth stream is refused." switch(Switch::FewStreams)),
    flaw!("stream-stays-open" "stream/ends" "A stream goes on when its session has ended." Effect::Stream(|f| f.end = End::Never)),
    flaw!("message-flat" "events/object" "What belongs to an event is beside its name."
    Effect::Told("", |messages| messages.iter_mut().for_each(|m| {
        let data = super::remove(m, "data");
        if let (serde_json::Value::Object(m), serde_json::Value::Object(data)) = (m, data) {
            m.extend(data);
        }
    }))),
    flaw!("message-with-type" "events/object" "The name of an event is its `type`."
        Effect::Told("", |messages| messages.iter_mut().for_each(|m| rename(m, "event", "type")))),
    flaw!("message-as-list" "events/object" "A message is a list."
        Effect::Told("", |messages| messages.iter_mut().for_each(|m| *m = serde_json::json!([m["event"], m["data"]])))),
    flaw!("events-with-dots" "events/spelled" "The names of events have a dot in place of the colon."
    Effect::Told("", |messages| for m in messages {
        let name = m["event"].as_str().unwrap_or_default().replace(':', ".");
        super::set(m, "event", name);
    })),
    flaw!("event-beside" "events/known" "A message of a kind that nobody knows comes with each completion."
    Effect::Told("prompt:complete", |messages| {
        let mut other = messages[0].clone();
        super::set(&mut other, "event", "usage:report");
        messages.push(other);
    })),
    flaw!("events-without-session" "events/session-id" "Events do not say their session." Effect::Data("", |d| drop(super::remove(d, "session_id")))),
    flaw!("events-of-other-session" "stream/own-session" "Events say another session." Effect::Data("", |d| super::set(d, "session_id", "00000000-0000-4000-8000-000000000000"))),
];
