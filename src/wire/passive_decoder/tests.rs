//! Which events a passive decoder records.

use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;

use super::PassiveDecoder;
use crate::trace::{Clock, Closed, Direction, End, Event, EventKind, Recorder, Sink};
use crate::wire::http::Exchanges;
use crate::wire::websocket::{FrameSpec, Mask};

use Direction::{ToClient, ToServer};

#[derive(Clone, Default)]
struct EventList(Arc<Mutex<Vec<Event>>>);

impl Sink for EventList {
    fn event(&mut self, event: &Arc<Event>) {
        self.0.lock().push(Event::clone(event));
    }
}

enum Traffic<'a> {
    Bytes(Direction, &'a [u8]),
    Closed(Direction, Closed),
}

fn bytes(dir: Direction, text: &str) -> Traffic<'_> {
    Traffic::Bytes(dir, text.as_bytes())
}

/// The recorded events of one connection with this traffic.
fn recorded(http: bool, traffic: &[Traffic<'_>]) -> Vec<Event> {
    let list = EventList::default();
    let recorder = Recorder::new(Clock::start(), vec![Box::new(list.clone())]);
    let mut decoder = match http {
        true => PassiveDecoder::http(&recorder, &Exchanges::new(recorder.clone(), End::Server), "127.0.0.1:80"),
        false => PassiveDecoder::websocket(&recorder, "c1", "127.0.0.1:80"),
    };
    for traffic in traffic {
        match traffic {
            Traffic::Bytes(dir, bytes) => decoder.bytes(*dir, bytes),
            Traffic::Closed(dir, how) => decoder.closed(*dir, *how),
        }
    }
    decoder.finish();
    let events = list.0.lock();
    events.clone()
}

/// Connection, direction and kind of each event, with what is in it.
fn lines(events: &[Event]) -> Vec<String> {
    let line = |event: &Event| {
        let way = if event.dir == Some(ToServer) { ">" } else { "<" };
        let what = match &event.kind {
            EventKind::Handshake(head) => match &head.body {
                Some(body) => format!("handshake {} {}", head.start, body.as_text().unwrap_or("?")),
                None => format!("handshake {}", head.start),
            },
            EventKind::HttpRequest(head) => format!("request {} tcp {}", head.start, head.tcp),
            EventKind::HttpResponse(head) => format!("response {}", head.start),
            EventKind::Body(body) => {
                format!("body {}{}", body.bytes.as_text().unwrap_or("?"), if body.last { " last" } else { "" })
            }
            EventKind::StreamEvent(event) => format!("event {}", event.data.as_deref().unwrap_or_default()),
            EventKind::Frame(frame) => format!("frame {} {}", frame.opcode, frame.payload.as_text().unwrap_or("?")),
            EventKind::Message(message) => match (&message.json, &message.payload) {
                (Some(json), _) => format!("message {json}"),
                (None, payload) => format!("message {}", payload.as_ref().and_then(|p| p.as_text()).unwrap_or("?")),
            },
            EventKind::Bytes { bytes } => format!("bytes {}", bytes.as_text().unwrap_or("?")),
            EventKind::Closed(how) => format!("closed {how:?}").to_lowercase(),
            other => other.kind().to_owned(),
        };
        format!("{} {way} {what}", event.conn.as_deref().unwrap_or("-")).trim_end().to_owned()
    };
    events.iter().map(line).collect()
}

const ASK: &str = "GET /?auth=x HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
const ACCEPT: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
const GET: &str = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";

fn frames(end: End, texts: &[&str]) -> Vec<u8> {
    texts.iter().flat_map(|text| FrameSpec::text(*text).masked(Mask::ByRole).encode(end)).collect()
}

#[test]
fn a_handshake_and_the_frames_after_it_are_taken_apart() {
    let (request, response) = (frames(End::Client, &["{\"a\":1}"]), frames(End::Server, &["hi", "{}"]));
    let events = recorded(
        false,
        &[
            bytes(ToServer, ASK),
            bytes(ToClient, ACCEPT),
            Traffic::Bytes(ToServer, &request),
            Traffic::Bytes(ToClient, &response[..5]),
            Traffic::Bytes(ToClient, &response[5..]),
            Traffic::Closed(ToClient, Closed::Eof),
            Traffic::Closed(ToServer, Closed::Reset),
        ],
    );
    assert_eq!(
        lines(&events),
        [
            "c1 > connected",
            "c1 > handshake GET /?auth=x HTTP/1.1",
            "c1 < handshake HTTP/1.1 101 Switching Protocols",
            "c1 > frame 1 {\"a\":1}",
            "c1 > message {\"a\":1}",
            "c1 < frame 1 hi",
            "c1 < message hi",
            "c1 < frame 1 {}",
            "c1 < message {}",
            "c1 < closed eof",
            "c1 > closed reset",
        ]
    );
}

#[test]
fn an_interim_response_is_not_the_answer_to_a_handshake() {
    let answer = format!("HTTP/1.1 103 Early Hints\r\n\r\n{ACCEPT}");
    for shared in [false, true] {
        let frames = frames(End::Server, &["hi"]);
        let traffic = [bytes(ToServer, ASK), bytes(ToClient, &answer), Traffic::Bytes(ToClient, &frames)];
        let lines = lines(&recorded(shared, &traffic));
        let came: Vec<&str> = lines.iter().filter_map(|line| line.split_once(" < ")).map(|(_, what)| what).collect();
        let expected = [
            "response HTTP/1.1 103 Early Hints",
            "handshake HTTP/1.1 101 Switching Protocols",
            "frame 1 hi",
            "message hi",
        ];
        assert_eq!(came, expected);
    }
}

#[test]
fn a_refusal_stands_with_its_text_and_the_next_attempt_may_follow() {
    let refusal = "HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\n";
    let events = recorded(
        false,
        &[
            bytes(ToServer, ASK),
            bytes(ToClient, refusal),
            bytes(ToClient, "no"),
            bytes(ToClient, "pe"),
            bytes(ToServer, ASK),
            bytes(ToClient, "HTTP/1.1 400 Bad\r\n\r\nbecause"),
            Traffic::Closed(ToServer, Closed::Eof),
            Traffic::Closed(ToClient, Closed::Eof),
        ],
    );
    assert_eq!(
        lines(&events)[1..],
        [
            "c1 > handshake GET /?auth=x HTTP/1.1",
            "c1 < handshake HTTP/1.1 401 No nope",
            "c1 > handshake GET /?auth=x HTTP/1.1",
            "c1 < handshake HTTP/1.1 400 Bad because",
            "c1 > closed eof",
            "c1 < closed eof",
        ]
    );
}

#[test]
fn compressed_messages_are_undone() {
    let mut deflate = flate2::Compress::new(flate2::Compression::default(), false);
    let mut compressed = Vec::with_capacity(100);
    deflate.compress_vec(b"{\"squeezed\":true}", &mut compressed, flate2::FlushCompress::Sync).unwrap();
    compressed.truncate(compressed.len() - 4);
    let frame = FrameSpec { rsv: 4, ..FrameSpec::new(1, compressed) }.encode(End::Server);
    let accept = "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    let events = recorded(false, &[bytes(ToServer, ASK), bytes(ToClient, accept), Traffic::Bytes(ToClient, &frame)]);
    assert_eq!(lines(&events).last().map(String::as_str), Some("c1 < message {\"squeezed\":true}"));
}

#[test]
fn what_cannot_be_understood_stands_as_the_bytes_that_it_is() {
    let events = recorded(false, &[bytes(ToServer, "\u{1}no HTTP"), bytes(ToClient, "what?"), bytes(ToServer, "!")]);
    assert_eq!(lines(&events)[1..], ["c1 > bytes \u{1}no HTTP", "c1 < bytes what?", "c1 > bytes !"]);
    let events = recorded(false, &[bytes(ToServer, "GET / HT"), Traffic::Closed(ToServer, Closed::Reset)]);
    assert_eq!(lines(&events)[1..], ["c1 > bytes GET / HT", "c1 > closed reset"]);
    let half = &frames(End::Server, &["half"])[..3];
    let events = recorded(false, &[bytes(ToServer, ASK), bytes(ToClient, ACCEPT), Traffic::Bytes(ToClient, half)]);
    assert_eq!(lines(&events).len(), 4, "half a frame is reported once nobody listens any more");
    let events = recorded(true, &[bytes(ToServer, "\u{1}\u{2}"), bytes(ToClient, "HTTP/1.1 400 Bad\r\n\r\nx")]);
    assert_eq!(
        lines(&events),
        ["x1 > connected", "x1 > bytes \u{1}\u{2}", "x1 < response HTTP/1.1 400 Bad", "x1 < body x"]
    );
}

#[test]
fn exchanges_are_named_one_by_one_also_where_requests_come_before_the_responses() {
    let two = format!("{GET}POST /b HTTP/1.1\r\nContent-Length: 2\r\n\r\nxy");
    let responses = "HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
    let events = recorded(
        true,
        &[
            bytes(ToServer, &two),
            bytes(ToClient, responses),
            bytes(ToServer, "HEAD /c HTTP/1.1\r\n\r\n"),
            bytes(ToClient, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"),
            Traffic::Closed(ToServer, Closed::Eof),
            Traffic::Closed(ToClient, Closed::Eof),
        ],
    );
    assert_eq!(
        lines(&events),
        [
            "x1 > connected",
            "x1 > request GET /a HTTP/1.1 tcp 1",
            "x1 > body  last",
            "x2 > request POST /b HTTP/1.1 tcp 1",
            "x2 > body xy last",
            "x2 > message xy",
            "x1 < response HTTP/1.1 204 No",
            "x1 < body  last",
            "x2 < response HTTP/1.1 200 OK",
            "x2 < body abc last",
            "x2 < message abc",
            "x3 > request HEAD /c HTTP/1.1 tcp 1",
            "x3 > body  last",
            "x3 < response HTTP/1.1 200 OK",
            "x3 < body  last",
        ]
    );
}

#[test]
fn a_stream_is_told_event_by_event_and_a_client_that_leaves_it_too() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let events = recorded(
        true,
        &[
            bytes(ToServer, GET),
            bytes(ToClient, head),
            bytes(ToClient, "data: 1\n\nda"),
            bytes(ToClient, "ta: 2\n\n"),
            Traffic::Closed(ToServer, Closed::Reset),
        ],
    );
    assert_eq!(
        lines(&events)[4..],
        ["x1 < body data: 1\n\nda", "x1 < event 1", "x1 < body ta: 2", "x1 < event 2", "x1 > closed reset"]
    );
}

#[test]
fn a_response_that_is_as_long_as_the_connection_is_whole_with_its_end_and_one_that_is_cut_is_not() {
    let complete = recorded(
        true,
        &[bytes(ToServer, GET), bytes(ToClient, "HTTP/1.0 200 OK\r\n\r\nabc"), Traffic::Closed(ToClient, Closed::Eof)],
    );
    assert_eq!(lines(&complete)[4..], ["x1 < body abc", "x1 < body  last", "x1 < message abc"]);
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc";
    let cut = recorded(true, &[bytes(ToServer, GET), bytes(ToClient, cut), Traffic::Closed(ToClient, Closed::Reset)]);
    assert_eq!(lines(&cut)[4..], ["x1 < body abc", "x1 < closed reset"]);
}

#[test]
fn a_connection_may_become_a_websocket_or_something_that_nobody_knows() {
    let response = frames(End::Server, &["hi"]);
    let events = recorded(
        true,
        &[
            bytes(ToServer, GET),
            bytes(ToClient, "HTTP/1.1 204 No\r\n\r\n"),
            bytes(ToServer, ASK),
            bytes(ToClient, ACCEPT),
            Traffic::Bytes(ToClient, &response),
        ],
    );
    assert_eq!(
        lines(&events)[5..],
        [
            "x2 > handshake GET /?auth=x HTTP/1.1",
            "x2 < handshake HTTP/1.1 101 Switching Protocols",
            "x2 < frame 1 hi",
            "x2 < message hi"
        ]
    );
    let other = "GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n";
    let events = recorded(
        true,
        &[bytes(ToServer, other), bytes(ToClient, "HTTP/1.1 101 Go\r\n\r\nPRI"), bytes(ToServer, "more")],
    );
    assert_eq!(
        lines(&events)[3..],
        ["x1 < response HTTP/1.1 101 Go", "x1 < body  last", "x1 < bytes PRI", "x1 > bytes more"]
    );
    let refused = "HTTP/1.1 404 Not\r\nContent-Length: 2\r\n\r\nno";
    let events = recorded(true, &[bytes(ToServer, ASK), bytes(ToClient, refused), bytes(ToServer, GET)]);
    assert_eq!(
        lines(&events)[1..],
        [
            "x1 > handshake GET /?auth=x HTTP/1.1",
            "x1 < handshake HTTP/1.1 404 Not no",
            "x2 > request GET /a HTTP/1.1 tcp 1",
            "x2 > body  last"
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_said_is_heard_without_panic(
        traffic in prop::collection::vec((any::<bool>(), prop_oneof![
            Just(ASK.as_bytes().to_vec()),
            Just(ACCEPT.as_bytes().to_vec()),
            Just(GET.as_bytes().to_vec()),
            Just(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_vec()),
            prop::collection::vec(any::<u8>(), 0..40),
        ]), 0..12),
        http in any::<bool>(),
        closes in any::<bool>(),
    ) {
        let way = |up: &bool| if *up { ToServer } else { ToClient };
        let mut all: Vec<Traffic<'_>> = traffic.iter().map(|(up, bytes)| Traffic::Bytes(way(up), bytes)).collect();
        if closes {
            all.extend([Traffic::Closed(ToServer, Closed::Eof), Traffic::Closed(ToClient, Closed::Reset)]);
        }
        recorded(http, &all);
    }

    #[test]
    fn a_conversation_is_the_same_however_it_is_cut(cuts in prop::collection::vec(1..60usize, 0..20)) {
        let request = [ASK.as_bytes(), &frames(End::Client, &["{\"a\":1}", "x"])].concat();
        let accepts = [ACCEPT.as_bytes(), &frames(End::Server, &["hi", "{}"])].concat();
        let complete = recorded(false, &[Traffic::Bytes(ToServer, &request), Traffic::Bytes(ToClient, &accepts)]);
        let mut traffic = vec![];
        for (dir, mut rest) in [(ToServer, &request[..]), (ToClient, &accepts[..])] {
            for cut in &cuts {
                let (piece, tail) = rest.split_at((*cut).min(rest.len()));
                traffic.push(Traffic::Bytes(dir, piece));
                rest = tail;
            }
            traffic.push(Traffic::Bytes(dir, rest));
        }
        prop_assert_eq!(lines(&recorded(false, &traffic)), lines(&complete));
    }
}
