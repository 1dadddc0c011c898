use serde_json::Value;

use super::*;
use crate::trace::{Body, Closed, Head, HttpRequest, HttpResponse, Message, Payload};

struct Play(Vec<Event>);

impl Play {
    fn on(mut self, conn: &str, t: u64, dir: Direction, what: EventKind) -> Self {
        let i = self.0.len() as u64;
        self.0.push(Event { i, t, conn: Some(conn.into()), dir: Some(dir), deliberate: None, kind: what });
        self
    }

    fn archive(&self) -> Value {
        let mut header = Header::new("openctx", "0.1");
        header.clock.start = "2026-01-02T03:04:05Z".parse().unwrap();
        let mut har = Har::begin(vec![], &header, "t.trace").unwrap();
        self.0.iter().for_each(|event| har.event(event).unwrap());
        serde_json::from_slice(&har.end().unwrap().0).unwrap()
    }
}

const ASK: Direction = Direction::ToServer;
const TELL: Direction = Direction::ToClient;

fn head(start: &str, headers: &[(&str, &str)]) -> Head {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Head { start: start.to_owned(), headers, raw: None, body: None }
}

fn body(bytes: &[u8]) -> EventKind {
    EventKind::Body(Body { bytes: Payload::from(bytes), last: true, trailers: vec![] })
}

#[test]
fn an_exchange_is_an_entry_with_its_times_and_bodies() {
    let request = HttpRequest::new(head("POST /a?b=c HTTP/1.1", &[("Host", "h:1"), ("Content-Type", "text/plain")]), 3);
    let response = HttpResponse::from(head("HTTP/1.1 404 Not Found", &[("Content-Type", "application/x")]));
    let play = Play(vec![])
        .on("x1", 1_000, ASK, EventKind::Connected { address: "127.0.0.1:1".into() })
        .on("x1", 1_500, ASK, EventKind::HttpRequest(request))
        .on("x1", 2_000, ASK, body(b"hello"))
        .on("x1", 2_000, ASK, EventKind::Message(Message::joined(true, b"hello", 1)))
        .on("x1", 5_000, TELL, EventKind::HttpResponse(response))
        .on("x1", 6_000, TELL, body(b"\xff\x00"))
        .on("x1", 6_000, TELL, EventKind::Message(Message::joined(false, b"\xff\x00", 1)));
    let archive = play.archive();
    let entry = &archive["log"]["entries"][0];
    assert_eq!(archive["log"]["entries"].as_array().unwrap().len(), 1);
    assert_eq!(entry["startedDateTime"], "2026-01-02T03:04:05.001Z");
    assert_eq!(entry["request"]["url"], "http://h:1/a?b=c");
    assert_eq!(entry["request"]["queryString"][0], json!({"name": "b", "value": "c"}));
    assert_eq!(entry["request"]["postData"]["text"], "hello");
    assert_eq!((&entry["response"]["status"], &entry["response"]["statusText"]), (&json!(404), &json!("Not Found")));
    let content = &entry["response"]["content"];
    assert_eq!(*content, json!({"size": 2, "mimeType": "application/x", "text": "/wA=", "encoding": "base64"}));
    let timings = &entry["timings"];
    assert_eq!((&timings["connect"], &timings["send"]), (&json!(0.5), &json!(0.5)));
    assert_eq!((&timings["wait"], &timings["receive"], &entry["time"]), (&json!(3.0), &json!(1.0), &json!(5.0)));
    assert_eq!((&entry["connection"], &entry["serverIPAddress"]), (&json!("3"), &json!("127.0.0.1")));
}

#[test]
fn a_socket_is_an_entry_with_its_messages() {
    let play = Play(vec![])
        .on("main", 0, ASK, EventKind::Handshake(head("GET /?auth=x HTTP/1.1", &[("Host", "h:1")])))
        .on("main", 10, TELL, EventKind::Handshake(head("HTTP/1.1 101 Switching Protocols", &[])))
        .on("main", 1_000_000, ASK, EventKind::Message(Message::joined(true, b"{\"a\":1}", 1)))
        .on("main", 2_000_000, TELL, EventKind::Message(Message::joined(false, b"\xff", 1)))
        .on("main", 3_000_000, TELL, EventKind::Closed(Closed::Eof));
    let entry = &play.archive()["log"]["entries"][0];
    assert_eq!((&entry["_resourceType"], &entry["request"]["url"]), (&json!("websocket"), &json!("ws://h:1/?auth=x")));
    let start = 1_767_323_045.0;
    let messages = json!([
        {"type": "send", "opcode": 1, "data": "{\"a\":1}", "time": start + 1.0},
        {"type": "receive", "opcode": 2, "data": "/w==", "time": start + 2.0},
    ]);
    assert_eq!(entry["_webSocketMessages"], messages);
}

#[test]
fn what_had_no_answer_is_there_and_says_so() {
    let request = HttpRequest::new(head("GET / HTTP/1.1", &[("Host", "h:1")]), 1);
    let play = Play(vec![]).on("x1", 0, ASK, EventKind::HttpRequest(request)).on(
        "x1",
        9,
        TELL,
        EventKind::Closed(Closed::Reset),
    );
    let entry = &play.archive()["log"]["entries"][0];
    assert_eq!((&entry["response"]["status"], &entry["response"]["_error"]), (&json!(0), &json!("no response came")));
}
