//! Arbitrary events, for property tests.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::{
    Awaited, AwaitedPart, Body, Call, ClientEvent, Closed, Culprit, Direction, Event, EventKind, Exited, FileChange,
    Finding, Frame, Head, HttpRequest, HttpResponse, JudgementEnd, Launched, Mark, Message, MissKind, Output, Payload,
    Returned, Stimulus, StreamEvent,
};

/// Any event but for its number, which is 0.
pub fn event() -> impl Strategy<Value = Event> {
    let dir = option::of(prop_oneof![Just(Direction::ToServer), Just(Direction::ToClient)]);
    (any::<u64>(), option::of(text()), dir, option::of(text()), what())
        .prop_map(|(t, conn, dir, deliberate, what)| Event { i: 0, t, conn, dir, deliberate, kind: what })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{0,8}", any::<String>()]
}

fn payload() -> impl Strategy<Value = Payload> {
    prop_oneof![
        text().prop_map(Payload::Text),
        vec(any::<u8>(), 0..40).prop_map(Payload::Binary),
        vec(any::<u8>(), 0..40).prop_map(|bytes| Payload::from(&bytes[..])),
    ]
}

/// Any JSON. Fractions are eighths: others may come back off by one in the last place.
pub fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 8.0)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4).prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    vec((text(), json()), 0..4).prop_map(Map::from_iter)
}

fn what() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        text().prop_map(|address| EventKind::Connected { address }),
        head().prop_map(EventKind::Handshake),
        frame().prop_map(EventKind::Frame),
        message().prop_map(EventKind::Message),
        (head(), any::<u64>()).prop_map(|(head, tcp)| EventKind::HttpRequest(HttpRequest::new(head, tcp))),
        head().prop_map(|head| EventKind::HttpResponse(HttpResponse::from(head))),
        (payload(), any::<bool>(), fields()).prop_map(|(bytes, last, trailers)| EventKind::Body(Body {
            bytes,
            last,
            trailers
        })),
        stream_event().prop_map(EventKind::StreamEvent),
        payload().prop_map(|bytes| EventKind::Bytes { bytes }),
        prop_oneof![Just(Closed::Eof), Just(Closed::Reset)].prop_map(EventKind::Closed),
        (text(), payload()).prop_map(|(stream, bytes)| EventKind::Output(Output { stream, bytes })),
        (vec(text(), 0..4), any::<u32>()).prop_map(|(command, pid)| EventKind::Launched(Launched { command, pid })),
        exited().prop_map(EventKind::Exited),
        stimulus().prop_map(EventKind::Stimulus),
        (text(), text(), option::of(payload())).prop_map(|(path, change, content)| EventKind::File(FileChange {
            path,
            change,
            content
        })),
        (any::<u64>(), text(), json(), option::of(json()))
            .prop_map(|(id, call, params, settings)| EventKind::Call(Call { id, call, params, settings })),
        (any::<u64>(), option::of(json()), option::of(json()), any::<bool>()).prop_map(
            |(id, result, error, unsupported)| EventKind::Returned(Returned { id, result, error, unsupported })
        ),
        (text(), json(), option::of(json())).prop_map(|(event, data, subscription)| EventKind::Reported(ClientEvent {
            event,
            data,
            subscription
        })),
        text().prop_map(|state| EventKind::State { state }),
        (text(), text()).prop_map(|(mark, text)| EventKind::Mark(Mark { mark, text })),
        finding().prop_map(EventKind::Finding),
        any::<u64>().prop_map(|findings| EventKind::Judged(JudgementEnd { findings })),
    ]
}

fn finding() -> impl Strategy<Value = Finding> {
    let blame = prop_oneof![Just(Culprit::Client), Just(Culprit::Server), Just(Culprit::Environment)];
    let texts = (option::of(text()), text(), option::of(text()), option::of(text()), option::of(text()));
    let values = (option::of(json()), option::of(json()));
    (any::<u64>(), blame, texts, values, option::of(any::<u64>()), option::of(awaited())).prop_map(
        |(at, blame, (requirement, message, path, step, file), (expected, actual), line, awaited)| Finding {
            at,
            requirement,
            blame,
            message,
            path,
            expected,
            actual,
            step,
            file,
            line,
            awaited,
        },
    )
}

fn awaited() -> impl Strategy<Value = Awaited> {
    let way = prop_oneof![
        Just(MissKind::Absent),
        Just(MissKind::Different),
        Just(MissKind::Unwanted),
        Just(MissKind::Unreachable)
    ];
    let part = (text(), option::of(text()), object(), object())
        .prop_map(|(observation, on, selectors, pattern)| AwaitedPart { observation, on, selectors, pattern });
    let outcomes = vec(vec(part, 0..3), 0..3);
    (way, any::<u64>(), any::<u64>(), outcomes).prop_map(|(way, since, until, outcomes)| Awaited {
        way,
        since,
        until,
        outcomes,
    })
}

fn head() -> impl Strategy<Value = Head> {
    (text(), fields(), option::of(payload()), option::of(payload())).prop_map(|(start, headers, raw, body)| Head {
        start,
        headers,
        raw,
        body,
    })
}

fn fields() -> impl Strategy<Value = Vec<(String, String)>> {
    vec((text(), text()), 0..4)
}

fn stream_event() -> impl Strategy<Value = StreamEvent> {
    let line = || option::of(text());
    (line(), line(), line(), option::of(any::<u64>()), line())
        .prop_map(|(event, data, id, retry, comment)| StreamEvent { event, data, id, retry, comment })
}

fn frame() -> impl Strategy<Value = Frame> {
    let bits = option::of(prop_oneof![Just(7u8), Just(16), Just(64)]);
    (any::<bool>(), 0..8u8, 0..16u8, any::<bool>(), any::<u64>(), bits, payload()).prop_map(
        |(fin, rsv, opcode, masked, length, length_bits, payload)| Frame {
            fin,
            rsv,
            opcode,
            masked,
            mask_reused: masked && fin,
            length,
            length_bits,
            payload,
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    (any::<bool>(), option::of(json()), option::of(payload()), any::<u64>())
        .prop_map(|(text, json, payload, frames)| Message { text, json, payload, frames })
}

fn exited() -> impl Strategy<Value = Exited> {
    (any::<u32>(), option::of(any::<i32>()), option::of(any::<i32>()), any::<bool>())
        .prop_map(|(pid, code, signal, asked)| Exited { pid, code, signal, asked })
}

fn stimulus() -> impl Strategy<Value = Stimulus> {
    (text(), object(), vec(text(), 0..4), text()).prop_map(|(name, params, command, outcome)| Stimulus {
        name,
        params,
        command,
        outcome,
    })
}
