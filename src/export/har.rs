//! The HTTP in a trace as an HTTP Archive (HAR 1.2): [`Har`].
//!
//! Exchanges of HTTP and WebSocket handshakes are entries, in the order in which they ended. What went over a WebSocket
//! stands in its entry under `_webSocketMessages`, as browsers write it. The text of an event stream is the content of
//! its response. What is no HTTP (processes, files, marks) is left out.

mod entry;
mod spool;

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::json;

use crate::trace::{Direction, Event, EventKind, Header};

use entry::{EntryStage, HarEntry};
use spool::Spool;

/// Writes an archive, event by event. Holds the exchanges that are open; messages of open WebSockets are in a temporary file.
pub struct Har<W: Write> {
    out: W,
    start: jiff::Timestamp,
    open: HashMap<String, HarEntry>,
    /// When connections were made whose request has not come yet, and to where.
    connected: HashMap<String, (u64, String)>,
    spool: Spool,
    entries: u64,
}

impl<W: Write> Har<W> {
    /// Begins an archive. `name`: what the trace is called.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(mut out: W, header: &Header, name: &str) -> io::Result<Self> {
        let creator = json!({"name": "wirecert", "version": env!("CARGO_PKG_VERSION")});
        let comment = format!("{name}: {}, edition {}", header.protocol, header.edition);
        write!(out, "{{\"log\":{{\"version\":\"1.2\",\"creator\":{creator},\"comment\":{},", json!(comment))?;
        write!(out, "\"pages\":[],\"entries\":[")?;
        let (open, connected, spool) = (HashMap::new(), HashMap::new(), Spool::default());
        Ok(Self { out, start: header.clock.start, open, connected, spool, entries: 0 })
    }

    /// Takes in the next event.
    ///
    /// # Errors
    /// An entry that is whole with it cannot be written.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        let Some(conn) = event.conn.as_deref() else { return Ok(()) };
        let to_server = event.dir == Some(Direction::ToServer);
        match &event.kind {
            EventKind::Connected { address } => {
                self.connected.insert(conn.to_owned(), (event.t, address.clone()));
            }
            EventKind::HttpRequest(head) => {
                self.finish(conn)?;
                let made = self.connected.remove(conn);
                let tcp = head.tcp.to_string();
                self.open.insert(conn.to_owned(), HarEntry::new(event.t, made, tcp, &head.start, &head.headers));
            }
            EventKind::Handshake(head) if to_server => {
                // Over HTTP, the head of the request has come before.
                if !self.open.get(conn).is_some_and(|entry| entry.stage == EntryStage::Requesting) {
                    self.finish(conn)?;
                    let made = self.connected.remove(conn);
                    let entry = HarEntry::new(event.t, made, conn.to_owned(), &head.start, &head.headers);
                    self.open.insert(conn.to_owned(), entry.upgrading());
                } else if let Some(entry) = self.open.remove(conn) {
                    self.open.insert(conn.to_owned(), entry.upgrading());
                }
            }
            EventKind::Handshake(head) => {
                if let Some(entry) = self.open.get_mut(conn) {
                    entry.response_head(event.t, &head.start, &head.headers);
                    head.body.iter().for_each(|body| entry.content(event.t, false, body.as_bytes(), true));
                }
            }
            EventKind::HttpResponse(head) if !matches!(head.status(), Some(100 | 102..=199)) => {
                if let Some(entry) = self.open.get_mut(conn) {
                    entry.response_head(event.t, &head.start, &head.headers);
                }
            }
            EventKind::Body(body) => {
                let complete = self.open.get_mut(conn).is_some_and(|entry| {
                    entry.content(event.t, to_server, body.bytes.as_bytes(), body.last);
                    entry.is_complete()
                });
                if complete {
                    self.finish(conn)?;
                }
            }
            EventKind::Message(message) => {
                if let Some(entry) = self.open.get_mut(conn) {
                    if let Some(json) = entry.message(self.start, event.t, to_server, message) {
                        self.spool.push(&mut entry.messages, &json)?;
                    }
                    if entry.is_complete() {
                        self.finish(conn)?;
                    }
                }
            }
            EventKind::Frame(frame) if frame.opcode <= 2 => {
                if let Some(entry) = self.open.get_mut(conn) {
                    entry.frame(to_server, frame.payload.as_bytes());
                }
            }
            // A WebSocket goes on until both ends are done.
            EventKind::Closed(_) => {
                let done = self.open.get_mut(conn).is_some_and(|entry| entry.closed(event.t, to_server));
                if done {
                    self.finish(conn)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, conn: &str) -> io::Result<()> {
        let Some(entry) = self.open.remove(conn) else { return Ok(()) };
        write!(self.out, "{}", if self.entries > 0 { ",\n" } else { "\n" })?;
        let json = entry.json(self.start).to_string();
        match json.strip_suffix('}') {
            Some(open) if entry.is_socket() => {
                write!(self.out, "{open},\"_webSocketMessages\":")?;
                self.spool.write(&entry.messages, &mut self.out)?;
                self.out.write_all(b"}")?;
            }
            _ => self.out.write_all(json.as_bytes())?,
        }
        self.entries += 1;
        Ok(())
    }

    /// Ends the archive; gives how many entries are in it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn end(mut self) -> io::Result<(W, u64)> {
        let mut rest: Vec<(u64, String)> =
            self.open.iter().map(|(conn, entry)| (entry.began(), conn.clone())).collect();
        rest.sort();
        for (_, conn) in rest {
            self.finish(&conn)?;
        }
        self.out.write_all(b"\n]}}\n")?;
        self.out.flush()?;
        Ok((self.out, self.entries))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::trace::{Body, Closed, Head, HttpRequest, HttpResponse, Message, Payload};

    use super::*;

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
        let request =
            HttpRequest::new(head("POST /a?b=c HTTP/1.1", &[("Host", "h:1"), ("Content-Type", "text/plain")]), 3);
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
        assert_eq!(
            (&entry["response"]["status"], &entry["response"]["statusText"]),
            (&json!(404), &json!("Not Found"))
        );
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
        assert_eq!(
            (&entry["_resourceType"], &entry["request"]["url"]),
            (&json!("websocket"), &json!("ws://h:1/?auth=x"))
        );
        let start = 1_767_323_045.0;
        let messages = json!([
            {"type": "send", "opcode": 1, "data": "{\"a\":1}", "time": start + 1.0},
            {"type": "receive", "opcode": 2, "data": "/w==", "time": start + 2.0},
        ]);
        assert_eq!(entry["_webSocketMessages"], messages);
    }

    #[test]
    fn an_exchange_without_response_is_there_and_says_so() {
        let request = HttpRequest::new(head("GET / HTTP/1.1", &[("Host", "h:1")]), 1);
        let play = Play(vec![]).on("x1", 0, ASK, EventKind::HttpRequest(request)).on(
            "x1",
            9,
            TELL,
            EventKind::Closed(Closed::Reset),
        );
        let entry = &play.archive()["log"]["entries"][0];
        assert_eq!(
            (&entry["response"]["status"], &entry["response"]["_error"]),
            (&json!(0), &json!("no response came"))
        );
    }
}
