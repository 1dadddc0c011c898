//! What a normalised trace shows, and what it leaves out.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::trace::{
    Body, Call, ClientEvent, Closed, Direction, Event, EventKind, Exited, FileChange, Frame, Head, HttpRequest,
    HttpResponse, Launched, Message, Payload, Returned, Stimulus, StreamEvent,
};

use Direction::{ToClient, ToServer};

/// A run of an imaginary editor; what differs between two runs comes in.
struct Run {
    port: u16,
    root: &'static str,
    uuid: &'static str,
    other: &'static str,
    date: &'static str,
    late: bool,
}

const FIRST: Run = Run {
    port: 8123,
    root: "/tmp/run 1/ws",
    uuid: "8d3f7e60-0000-4000-8000-0123456789ab",
    other: "11111111-2222-4333-8444-555555555555",
    date: "2026-01-02T03:04:05Z",
    late: false,
};

const SECOND: Run = Run {
    port: 40_404,
    root: "/var/elsewhere",
    uuid: "00000000-2222-4333-8444-555555555555",
    other: "99999999-2222-4333-8444-555555555555",
    date: "2027-01-02T03:04:05.678+02:00",
    late: true,
};

impl Run {
    fn known(&self) -> NormalisationFacts {
        NormalisationFacts { folders: vec![("workspace".into(), self.root.into())], ..NormalisationFacts::default() }
    }

    fn message(json: serde_json::Value) -> EventKind {
        EventKind::Message(Message { text: true, json: Some(json), payload: None, frames: 1 })
    }

    fn events(&self) -> Vec<Event> {
        let uri = format!("file://{}/a.txt", self.root.replace(' ', "%20"));
        let select = |line: u32| {
            Self::message(json!({"serverNotification": {"selectionDidChange": {"uri": uri, "line": line}}}))
        };
        let visible = Self::message(json!({"serverNotification": {"visibleFilesDidChange": {"uris": [uri]}}}));
        let read = |id: &str| {
            Self::message(json!({"clientRequest": {"id": id, "readFile": {"path": format!("{}/a.txt", self.root)}}}))
        };
        let response = |id: &str, uuid: &str| {
            Self::message(json!({"serverResponse": {"readFile": {"content": uuid, "at": self.date}, "id": id}}))
        };
        let mut events = vec![
            (
                None,
                None,
                EventKind::Launched(Launched { command: vec!["editor".into()], pid: u32::from(self.port) + 7 }),
            ),
            (None, None, self.lockfile()),
            (None, None, self.lockfile()),
            (Some("main"), None, EventKind::Connected { address: format!("127.0.0.1:{}", self.port) }),
            (Some("main"), Some(ToServer), self.handshake()),
            (Some("main"), Some(ToClient), self.welcome()),
            (Some("main"), Some(ToServer), read("1")),
            (Some("main"), Some(ToServer), read("2")),
        ];
        let mut responses = vec![
            (Some("main"), Some(ToClient), response("1", self.uuid)),
            (Some("main"), Some(ToClient), select(1)),
            (Some("main"), Some(ToClient), response("2", self.other)),
            (Some("main"), Some(ToClient), select(0)),
            (Some("main"), Some(ToClient), visible),
        ];
        if self.late {
            responses.swap(0, 2);
            responses.swap(3, 4);
            events.push((Some("main"), Some(ToClient), Self::frame(9, b"keep-alive")));
        }
        events.extend(responses);
        let stimulus = Stimulus {
            name: "open".into(),
            params: serde_json::Map::from_iter([("path".to_owned(), json!(format!("{}/a.txt", self.root)))]),
            command: vec![],
            outcome: "exit 0".into(),
        };
        events.push((None, None, EventKind::Stimulus(stimulus)));
        events.push((Some("main"), Some(ToClient), Self::frame(8, b"\x03\xe8bye")));
        events.push((Some("main"), Some(ToServer), Self::frame(8, b"\x03\xe8")));
        let (how, code) = if self.late { (Closed::Reset, ToServer) } else { (Closed::Eof, ToClient) };
        events.push((Some("main"), Some(code), EventKind::Closed(how)));
        events.push((None, None, EventKind::Exited(Exited { pid: 1, code: Some(0), signal: None, asked: true })));
        let number = |(i, (conn, dir, what)): (usize, (Option<&str>, Option<Direction>, EventKind))| Event {
            i: i as u64,
            t: i as u64 * u64::from(self.port),
            conn: conn.map(Into::into),
            dir,
            deliberate: None,
            kind: what,
        };
        events.into_iter().enumerate().map(number).collect()
    }

    fn frame(opcode: u8, payload: &[u8]) -> EventKind {
        let (length, payload) = (payload.len() as u64, payload.into());
        let masked = payload == Payload::from(&b"\x03\xe8"[..]);
        EventKind::Frame(Frame {
            fin: true,
            rsv: 0,
            opcode,
            masked,
            mask_reused: false,
            length,
            length_bits: None,
            payload,
        })
    }

    fn lockfile(&self) -> EventKind {
        let lock = json!({"port": self.port, "authToken": "<secret:1****>", "pid": u32::from(self.port) + 7,
            "workspaceFolders": [self.root], "startedAt": 1_700_000_000_000_u64 + u64::from(self.port),
            "uptime_seconds": self.port});
        let path = format!("{}/{}.json", self.root, self.port);
        EventKind::File(FileChange { path, change: "written".into(), content: Some(Payload::Text(lock.to_string())) })
    }

    fn handshake(&self) -> EventKind {
        let headers =
            vec![("Host".into(), format!("127.0.0.1:{}", self.port)), ("Sec-WebSocket-Key".into(), self.uuid.into())];
        EventKind::Handshake(Head {
            start: "GET /?auth=<secret:1****> HTTP/1.1".into(),
            headers,
            raw: None,
            body: None,
        })
    }

    fn welcome(&self) -> EventKind {
        let headers = vec![("server".into(), format!("editor/1.{} (linux)", self.port))];
        EventKind::Handshake(Head { start: "HTTP/1.1 101 Switching Protocols".into(), headers, raw: None, body: None })
    }
}

#[test]
fn two_runs_that_differ_in_what_may_differ_give_one_text() {
    let first = normalise(&FIRST.events(), &FIRST.known(), Strength::Exact);
    let second = normalise(&SECOND.events(), &SECOND.known(), Strength::Exact);
    assert_eq!(first, second);
    let expected = r#"around
  launched
  file <workspace>/<port:1>.json written {
    "authToken": "<token:1>",
    "pid": <pid:1>,
    "port": <port:1>,
    "startedAt": <time>,
    "uptime_seconds": <time>,
    "workspaceFolders": ["<workspace>"]
  }
  stimulus open {"path": "<workspace>/a.txt"}: exit 0
  ended with code 0

connection main
  → handshake GET /?auth=<token:1> HTTP/1.1
      Host: 127.0.0.1:<port:1>
      Sec-WebSocket-Key: <key:1>
    ← handshake HTTP/1.1 101 Switching Protocols
      server: editor/<version> (linux)
  → {"clientRequest": {"id": "1", "readFile": {"path": "<workspace>/a.txt"}}}
    ← {"serverResponse": {"id": "1", "readFile": {"at": "<time>", "content": "<uuid:1>"}}}
  → {"clientRequest": {"id": "2", "readFile": {"path": "<workspace>/a.txt"}}}
    ← {"serverResponse": {"id": "2", "readFile": {"at": "<time>", "content": "<uuid:2>"}}}
  unasked
    ← {"serverNotification": {"selectionDidChange": {"line": 1, "uri": "file://<workspace>/a.txt"}}}
    ← {"serverNotification": {"selectionDidChange": {"line": 0, "uri": "file://<workspace>/a.txt"}}}
    ← {"serverNotification": {"visibleFilesDidChange": {"uris": ["file://<workspace>/a.txt"]}}}
  ← close 1000 bye
  closed
"#;
    assert_eq!(first, expected);
}

#[test]
fn what_repeats_is_told_apart_from_what_differs() {
    let repeated = Run { other: FIRST.uuid, ..FIRST };
    let text = normalise(&repeated.events(), &repeated.known(), Strength::Exact);
    assert!(text.contains("<uuid:1>") && !text.contains("<uuid:2>"), "{text}");
}

#[test]
fn the_shape_keeps_keys_and_types_and_each_unasked_shape_once() {
    let text = normalise(&FIRST.events(), &FIRST.known(), Strength::Shape);
    assert!(text.contains("→ handshake\n    ← handshake 101\n"), "{text}");
    assert!(text.contains(r#"← {"serverResponse": {"id": string, "readFile": {"at": string, "content": string}}}"#));
    let selection = r#"← {"serverNotification": {"selectionDidChange": {"line": number, "uri": string}}}"#;
    assert_eq!(text.matches(selection).count(), 1, "{text}");
    assert!(!text.contains("8d3f7e60") && text.contains("← close 1000\n"), "{text}");
}

#[test]
fn of_what_is_said_unasked_only_what_was_awaited_is_kept_where_that_is_known() {
    let events = FIRST.events();
    let awaited = events.iter().find(|event| format!("{event:?}").contains("visibleFilesDidChange")).unwrap().i;
    let known = NormalisationFacts { awaited: Some(BTreeSet::from([awaited])), ..FIRST.known() };
    let text = normalise(&events, &known, Strength::Exact);
    assert!(text.contains("visibleFilesDidChange") && !text.contains("selectionDidChange"), "{text}");
    assert!(text.contains("serverResponse") && text.contains("close 1000 bye"), "{text}");
}

#[test]
fn a_folder_is_not_found_in_a_longer_name_and_nested_folders_are_told_apart() {
    let folders = vec![("run_dir".to_owned(), "/tmp/r".to_owned()), ("workspace".to_owned(), "/tmp/r/ws".to_owned())];
    let message = json!(["/tmp/r/ws/a", "/tmp/r/wsx", "/tmp/rx", "/tmp/r", "/private/tmp/r/log"]);
    let what = EventKind::Message(Message { text: true, json: Some(message), payload: None, frames: 1 });
    let event = Event { i: 0, t: 0, conn: Some("a".into()), dir: Some(ToClient), deliberate: None, kind: what };
    let text = normalise([&event], &NormalisationFacts { folders, ..NormalisationFacts::default() }, Strength::Exact);
    assert!(text.contains(r#"["<workspace>/a", "<run_dir>/wsx", "/tmp/rx", "<run_dir>", "<run_dir>/log"]"#), "{text}");
}

#[test]
fn hostile_text_can_neither_forge_a_mark_nor_a_line() {
    let text = "\u{E000}uuid\u{E001}x\u{E002}\nconnection forged";
    let what = EventKind::Message(Message { text: true, json: Some(json!(text)), payload: None, frames: 1 });
    let event = Event { i: 0, t: 0, conn: Some("a".into()), dir: Some(ToClient), deliberate: None, kind: what };
    let text = normalise([&event], &NormalisationFacts::default(), Strength::Exact);
    assert_eq!(text, "connection a\n  unasked\n    ← \"\u{FFFD}uuid\u{FFFD}x\u{FFFD}\\nconnection forged\"\n");
}

/// Exchanges of two runs: the first two are under way at once, and may come in either order.
fn exchanges(swapped: bool, date: &str) -> Vec<Event> {
    let headers = |more: &[(&str, &str)]| more.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect::<Vec<_>>();
    let request = |path: &str| {
        let headers = headers(&[("Host", "localhost:8123"), ("User-Agent", "node/20.1.2")]);
        EventKind::HttpRequest(HttpRequest { start: format!("POST {path} HTTP/1.1"), headers, raw: None, tcp: 1 })
    };
    let response = || {
        let headers = headers(&[("date", date), ("Content-Length", &date.len().to_string()), ("X-A", "b")]);
        EventKind::HttpResponse(HttpResponse { start: "HTTP/1.1 200 OK".into(), headers, raw: None })
    };
    let body = |text: &str, last| EventKind::Body(Body { bytes: text.as_bytes().into(), last, trailers: vec![] });
    let comment = StreamEvent { comment: Some(date.into()), ..StreamEvent::default() };
    let (first, second) = if swapped { ("/two", "/one") } else { ("/one", "/two") };
    let whats = [
        ("x1", ToServer, request(first)),
        ("x2", ToServer, request(second)),
        ("x2", ToClient, response()),
        ("x1", ToClient, response()),
        ("x1", ToClient, body(date, true)),
        ("x1", ToClient, Run::message(json!({"b": 1, "a": first}))),
        ("x2", ToClient, body(date, true)),
        ("x2", ToClient, Run::message(json!({"b": 1, "a": second}))),
        ("x10", ToServer, request("/")),
        ("x10", ToClient, response()),
        ("x10", ToClient, EventKind::StreamEvent(StreamEvent::data("{\"n\": 1}"))),
        ("x10", ToClient, EventKind::StreamEvent(comment)),
        (
            "x10",
            ToClient,
            EventKind::StreamEvent(StreamEvent { event: Some("end".into()), ..StreamEvent::data("bye") }),
        ),
        ("x10", ToClient, EventKind::Closed(Closed::Eof)),
    ];
    let event = |(i, (conn, dir, what)): (usize, (&str, _, _))| Event {
        i: i as u64,
        t: i as u64,
        conn: Some(conn.into()),
        dir: Some(dir),
        deliberate: None,
        kind: what,
    };
    whats.into_iter().enumerate().map(event).collect()
}

#[test]
fn an_exchange_of_http_is_a_conversation_and_those_at_once_come_in_one_order() {
    let known = NormalisationFacts { ports: BTreeSet::from([8123]), ..NormalisationFacts::default() };
    let exact = normalise(&exchanges(false, "Fri, 02 Jan 2026 03:04:05 GMT"), &known, Strength::Exact);
    let request = "      Host: localhost:<port:1>\n      User-Agent: node/<version>\n";
    let response =
        "    ← HTTP/1.1 200 OK\n      date: <date>\n      Content-Length: <length>\n      X-A: b\n".to_owned();
    let pair =
        |path: &str| format!("  → POST {path} HTTP/1.1\n{request}{response}    ← {{\"a\": \"{path}\", \"b\": 1}}\n");
    let events = "    ← event {\"n\": 1}\n    ← event end no JSON: \"bye\"\n  closed\n";
    let last = format!("connection x10\n  → POST / HTTP/1.1\n{request}{response}{events}");
    let expected = format!("connection x1\n{}\nconnection x2\n{}\n{last}", pair("/one"), pair("/two"));
    assert_eq!(exact, expected);
    assert_eq!(normalise(&exchanges(true, "Sat, 03 Jan 2026 13:14:15 GMT+1"), &known, Strength::Exact), expected);
    let shape = normalise(&exchanges(true, "x"), &known, Strength::Shape);
    assert!(shape.starts_with("connection x1\n  → request POST /one\n    ← response 200\n"), "{shape}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn any_trace_gives_a_text_without_control_characters_or_marks(events in vec(crate::trace::strategy::event(), 0..8)) {
        for strength in [Strength::Exact, Strength::Shape] {
            let text = normalise(&events, &NormalisationFacts::default(), strength);
            let bad = |c: char| c.is_control() && c != '\n' || ('\u{E000}'..='\u{E002}').contains(&c);
            prop_assert!(!text.contains(bad), "{:?}", text);
            prop_assert_eq!(&text, &normalise(&events, &NormalisationFacts::default(), strength));
        }
    }
}

/// The exact text of these events of one connection.
fn normalised(events: &[(Direction, EventKind)]) -> String {
    let event = |(i, (dir, what)): (usize, &(Direction, EventKind))| {
        let (conn, dir) = (Some("main".to_owned()), Some(*dir));
        Event { i: i as u64, t: 0, conn, dir, deliberate: None, kind: what.clone() }
    };
    let events: Vec<Event> = events.iter().enumerate().map(event).collect();
    normalise(&events, &NormalisationFacts::default(), Strength::Exact)
}

#[test]
fn what_comes_in_time_or_not_and_how_bytes_are_masked_is_left_out() {
    use Direction::{ToClient, ToServer};
    let head = |start: &str| EventKind::Handshake(Head { start: start.into(), headers: vec![], raw: None, body: None });
    let opened = [(ToServer, head("GET / HTTP/1.1")), (ToClient, head("HTTP/1.1 101 Switching Protocols"))];
    let json = |text: &str| EventKind::Message(Message::joined(true, text.as_bytes(), 1));
    let and = |more: &[(Direction, EventKind)]| normalised(&[&opened[..], more].concat());

    let request = (ToServer, json(r#"{"clientRequest":{"id":"1","ping":{}}}"#));
    let response = (ToClient, json(r#"{"serverResponse":{"id":"1","ping":{}}}"#));
    let reported = (ToClient, json(r#"{"serverNotification":{"x":{}}}"#));
    let reset = (ToServer, EventKind::Closed(Closed::Reset));
    let late = and(&[request.clone(), reported, response.clone(), reset.clone()]);
    assert_eq!(late, and(&[request.clone(), reset]));
    assert!(and(&[request, response]).contains("← {\"serverResponse\""));

    let half = |bytes: &[u8]| (ToServer, EventKind::Bytes { bytes: Payload::from(bytes) });
    assert_eq!(and(&[half(b"\x81\x94\x72\x7e")]), and(&[half(b"\x81\x94\x01\x6d")]));

    let close = |dir, code: u16| {
        let payload = Payload::from(&code.to_be_bytes()[..]);
        let masked = dir == ToServer;
        (
            dir,
            EventKind::Frame(Frame {
                fin: true,
                rsv: 0,
                opcode: 8,
                masked,
                mask_reused: false,
                length: 2,
                length_bits: None,
                payload,
            }),
        )
    };
    assert_eq!(
        and(&[close(ToServer, 1000), close(ToClient, 1007)]),
        and(&[close(ToClient, 1007), close(ToServer, 1007)])
    );
}

#[test]
fn what_a_call_returned_stands_below_it_and_events_stand_by_themselves() {
    let called = |id: u64| EventKind::Call(Call { id, call: format!("call{id}"), params: json!({}), settings: None });
    let returned =
        |id: u64| EventKind::Returned(Returned { id, result: Some(json!(id)), error: None, unsupported: false });
    let reported = |n: u64| {
        EventKind::Reported(ClientEvent { event: "reported".to_owned(), data: json!(n), subscription: Some(json!(n)) })
    };
    let text = |kinds: &[EventKind]| {
        let kinds: Vec<_> = kinds.iter().map(|kind| (Direction::ToServer, kind.clone())).collect();
        normalised(&kinds)
    };
    let one = text(&[called(1), called(2), returned(1), reported(1), returned(2), reported(2)]);
    assert_eq!(one, text(&[called(1), called(2), reported(2), reported(1), returned(2), returned(1)]));
    assert_eq!(
        one,
        "around\n  call call1 {}\n    returned 1\n  call call2 {}\n    returned 2\n\nreported\n  reported 1\n  reported 2\n"
    );
}

#[test]
fn what_differs_from_run_to_run_becomes_equal_and_nothing_else_does() {
    let normaliser = ValueNormaliser::new(&NormalisationFacts::default(), TraceFacts::default());
    let of = |text| normaliser.text("k", text);
    assert_eq!(of("id 503d5041-b0ee-418a-a9dc-8311037acfa3"), of("id be4a8884-1c67-45ec-a051-8419b2f0c9aa"));
    assert_eq!(of("file:///tmp/wirecert-28KaeP/a.txt"), of("file:///tmp/wirecert-XXk3f9/a.txt"));
    assert_ne!(of("/tmp/wirecert-abc/a"), of("/tmp/wirecert-abd/a"));
    assert_ne!(of("a"), of("b"));
    assert_eq!(normaliser.header("Date", "x"), normaliser.header("date", "y"));
    assert_eq!(normaliser.header("Host", "localhost:1"), normaliser.header("host", "localhost:22"));
    assert_ne!(normaliser.header("Host", "localhost:1"), normaliser.header("host", "elsewhere:1"));
    assert_ne!(normaliser.header("Accept", "x"), normaliser.header("Accept", "y"));
}

#[test]
fn the_requests_of_barriers_are_left_out_since_timing_decides_whether_there_are_any() {
    let event = |i: u64, conn: &str| Event {
        i,
        t: i,
        conn: Some(conn.to_owned()),
        dir: Some(Direction::ToServer),
        deliberate: None,
        kind: Run::message(json!({ "from": conn })),
    };
    let events: Vec<Event> =
        (0..).zip(["barrier", "barrier-2", "barriers", "barrier-x"]).map(|(i, c)| event(i, c)).collect();
    let text = normalise(&events, &NormalisationFacts::default(), Strength::Exact);
    assert!(text.contains("connection barriers") && text.contains("connection barrier-x"), "{text}");
    assert!(!text.contains("\"barrier\"") && !text.contains("barrier-2"), "{text}");
}
