//! From turns to a trace.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use serde_json::Value;

use super::types::{SampleStep, Sent};
use crate::trace::{
    Body, Closed, Direction, End, Event, EventKind, FileChange, Frame, Head, HttpRequest, HttpResponse, Message,
    Payload, StreamEvent,
};

/// Microseconds between two events.
const STEP: u64 = 100;

/// The trace of a conversation, and with each event the number of the turn that it belongs to. Whatever the turns do not say
/// (hosts, keys, frames) is as it should be.
pub fn events(turns: &[SampleStep]) -> Vec<(Event, usize)> {
    play(Maker::default(), turns)
}

/// The same, in which the content of one turn, by its number, is these bytes in the place of its JSON.
pub fn events_with(turns: &[SampleStep], turn: usize, bytes: &[u8]) -> Vec<(Event, usize)> {
    play(Maker { instead: Some((turn, bytes.to_vec())), ..Maker::default() }, turns)
}

fn play(mut maker: Maker, turns: &[SampleStep]) -> Vec<(Event, usize)> {
    for (n, turn) in turns.iter().enumerate() {
        maker.turn = n;
        maker.play(turn);
    }
    maker.events
}

#[derive(Default)]
struct Maker {
    events: Vec<(Event, usize)>,
    turn: usize,
    /// What the content of this turn is in the place of its JSON.
    instead: Option<(usize, Vec<u8>)>,
    exchanges: BTreeSet<String>,
    keys: BTreeMap<String, String>,
    closing: BTreeSet<String>,
}

impl Maker {
    fn add(&mut self, conn: Option<&str>, from: Option<End>, what: EventKind) {
        let i = self.events.len() as u64;
        let dir = from.map(|from| match from {
            End::Client => Direction::ToServer,
            End::Server => Direction::ToClient,
        });
        let conn = conn.map(str::to_owned);
        self.events.push((Event { i, t: (i + 1) * STEP, conn, dir, deliberate: None, kind: what }, self.turn));
    }

    fn play(&mut self, turn: &SampleStep) {
        let (on, from) = (Some(turn.on.as_str()), Some(turn.from));
        match &turn.sent {
            Sent::File { path, json } => {
                let content = Some(Payload::from(self.content(json).as_slice()));
                let change = FileChange { path: path.clone(), change: "read".to_owned(), content };
                self.add(None, None, EventKind::File(change));
            }
            Sent::Upgrade { target } => {
                let key = BASE64.encode(format!("{:016}", self.keys.len() + 1));
                self.keys.insert(turn.on.clone(), key.clone());
                let lines = [
                    ("Host", "127.0.0.1:8080"),
                    ("Upgrade", "websocket"),
                    ("Connection", "Upgrade"),
                    ("Sec-WebSocket-Version", "13"),
                    ("Sec-WebSocket-Key", key.as_str()),
                ];
                self.add(on, from, EventKind::Handshake(head(&format!("GET {target} HTTP/1.1"), &lines)));
            }
            Sent::Upgraded { status: 101 } => {
                let key = self.keys.get(&turn.on).map(String::as_str).unwrap_or_default();
                let accept = derive_accept_key(key.as_bytes());
                let lines =
                    [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept.as_str())];
                self.add(on, from, EventKind::Handshake(head("HTTP/1.1 101 Switching Protocols", &lines)));
            }
            Sent::Upgraded { status } => {
                self.add(
                    on,
                    from,
                    EventKind::Handshake(head(&format!("HTTP/1.1 {status} Refused"), &[("Content-Length", "0")])),
                );
            }
            Sent::Text { json } => self.text(turn, &self.content(json)),
            Sent::Raw { bytes } => self.text(turn, bytes.as_bytes()),
            Sent::Request { method, target, headers, json } => {
                self.exchanges.insert(turn.on.clone());
                let tcp = self.exchanges.len() as u64;
                let mut lines = vec![("Host".to_owned(), "127.0.0.1:8080".to_owned())];
                lines.extend(headers.iter().cloned());
                let start = format!("{method} {target} HTTP/1.1");
                self.add(on, from, EventKind::HttpRequest(HttpRequest { start, headers: lines, raw: None, tcp }));
                self.body(turn, json.as_ref().map(|json| self.content(json)));
            }
            Sent::Response { status, headers, json } => {
                let start = format!("HTTP/1.1 {status} Any");
                self.add(
                    on,
                    from,
                    EventKind::HttpResponse(HttpResponse { start, headers: headers.clone(), raw: None }),
                );
                let streams = headers.iter().any(|(_, value)| value.starts_with("text/event-stream"));
                if !streams {
                    self.body(turn, json.as_ref().map(|json| self.content(json)));
                }
            }
            Sent::Event { json } => {
                let bytes = self.content(json);
                let line = [b"data: ".as_slice(), bytes.as_slice(), b"\n\n"].concat();
                let piece = Body { bytes: Payload::from(line.as_slice()), last: false, trailers: vec![] };
                self.add(on, from, EventKind::Body(piece));
                let data = String::from_utf8_lossy(&bytes).into_owned();
                self.add(on, from, EventKind::StreamEvent(StreamEvent::data(data)));
            }
            Sent::EndOfStream {} => self.body(turn, None),
            Sent::Close { code } => {
                let payload = code.map(|code| code.to_be_bytes().to_vec()).unwrap_or_default();
                self.frame(turn, 8, &payload);
                if !self.closing.insert(turn.on.clone()) {
                    self.add(on, Some(End::Server), EventKind::Closed(Closed::Eof));
                    self.add(on, Some(End::Client), EventKind::Closed(Closed::Eof));
                }
            }
        }
    }

    /// The content of the present turn.
    fn content(&self, json: &Value) -> Vec<u8> {
        match &self.instead {
            Some((turn, bytes)) if *turn == self.turn => bytes.clone(),
            _ => json.to_string().into_bytes(),
        }
    }

    fn text(&mut self, turn: &SampleStep, text: &[u8]) {
        self.frame(turn, 1, text);
        self.add(Some(&turn.on), Some(turn.from), EventKind::Message(Message::joined(true, text, 1)));
    }

    fn frame(&mut self, turn: &SampleStep, opcode: u8, bytes: &[u8]) {
        let (masked, length) = (turn.from == End::Client, bytes.len() as u64);
        let payload = Payload::from(bytes);
        let frame = Frame { fin: true, rsv: 0, opcode, masked, length, length_bits: None, payload };
        self.add(Some(&turn.on), Some(turn.from), EventKind::Frame(frame));
    }

    fn body(&mut self, turn: &SampleStep, content: Option<Vec<u8>>) {
        let (on, from) = (Some(turn.on.as_str()), Some(turn.from));
        let content = content.unwrap_or_default();
        let bytes = Payload::from(content.as_slice());
        self.add(on, from, EventKind::Body(Body { bytes, last: true, trailers: vec![] }));
        if !content.is_empty() {
            self.add(on, from, EventKind::Message(Message::joined(true, &content, 1)));
        }
    }
}

fn head(start: &str, lines: &[(&str, &str)]) -> Head {
    let headers = lines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Head { start: start.to_owned(), headers, raw: None, body: None }
}
