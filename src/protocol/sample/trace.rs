//! From the steps of a conversation to the events of a trace ([`events()`]), and back ([`SampleReader`], [`recognise`]).

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use crate::protocol::rfc6455::accept_of_key;
use crate::trace::{
    Body, Closed, Direction, End, Event, EventKind, FileChange, Frame, Head, HttpRequest, HttpResponse, Message,
    Payload, StreamEvent, is_event_stream,
};

use super::{Carrier, MessageType, SampleStep, Sent};

/// Microseconds between two events.
const STEP: u64 = 100;

/// The trace of a conversation, and with each event the number of the turn that it belongs to. Whatever the turns do not say
/// (hosts, keys, frames) is as it should be.
pub fn events(turns: &[SampleStep]) -> Vec<(Event, usize)> {
    play(SampleWriter::default(), turns)
}

/// The same, in which the content of one turn, by its number, is these bytes in the place of its JSON.
pub fn events_with(turns: &[SampleStep], turn: usize, bytes: &[u8]) -> Vec<(Event, usize)> {
    play(SampleWriter { instead: Some((turn, bytes.to_vec())), ..SampleWriter::default() }, turns)
}

fn play(mut writer: SampleWriter, turns: &[SampleStep]) -> Vec<(Event, usize)> {
    for (n, turn) in turns.iter().enumerate() {
        writer.turn = n;
        writer.play(turn);
    }
    writer.events
}

#[derive(Default)]
struct SampleWriter {
    events: Vec<(Event, usize)>,
    turn: usize,
    /// The turn whose content is replaced, and the bytes that replace its JSON.
    instead: Option<(usize, Vec<u8>)>,
    exchanges: BTreeSet<String>,
    keys: BTreeMap<String, String>,
    closing: BTreeSet<String>,
}

impl SampleWriter {
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
                let accept = accept_of_key(key);
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
                let streams = headers.iter().any(|(_, value)| is_event_stream(value));
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
        let frame = Frame { masked: turn.from == End::Client, ..Frame::unmasked(opcode, bytes) };
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

/// Makes turns of the events of a trace, one after the other. Keeps the heads of what is not whole yet.
#[derive(Debug, Default)]
pub struct SampleReader {
    requests: BTreeMap<String, HttpRequest>,
    responses: BTreeMap<String, (HttpResponse, bool)>,
    /// Complete messages whose content comes next, if they have any.
    complete: BTreeMap<(String, bool), Sent>,
}

impl SampleReader {
    /// The turns that this event completes, each with the number of the event.
    pub fn event(&mut self, event: &Event) -> Vec<SampleStep> {
        if let EventKind::File(change) = &event.kind {
            if change.is_by_play() {
                return vec![];
            }
            let json = change.content.as_ref().and_then(|c| serde_json::from_slice(c.as_bytes()).ok());
            let sent = json.map(|json| Sent::File { path: change.path.clone(), json });
            let file = |sent| SampleStep { on: "file".to_owned(), from: End::Server, message: None, sent };
            return sent.into_iter().map(file).collect();
        }
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return vec![] };
        let turn = |from: End, sent: Sent| SampleStep { on: conn.to_owned(), from, message: None, sent };
        let client = dir == Direction::ToServer;
        let mut out = vec![];
        // What had no content is whole with whatever comes next in its exchange.
        let here = (conn.to_owned(), client);
        if !matches!(event.kind, EventKind::Message(_) | EventKind::Body(_)) {
            out.extend(self.take_complete(conn));
        }
        match &event.kind {
            EventKind::Handshake(head) if client => {
                let target = head.start.split(' ').nth(1).unwrap_or_default().to_owned();
                out.push(turn(End::Client, Sent::Upgrade { target }));
            }
            EventKind::Handshake(head) => {
                out.push(turn(End::Server, Sent::Upgraded { status: head.status().unwrap_or(0) }))
            }
            EventKind::HttpRequest(head) => drop(self.requests.insert(conn.to_owned(), head.clone())),
            EventKind::HttpResponse(head) if !matches!(head.status(), Some(100..=199)) => {
                let streams = head.is_event_stream();
                if streams {
                    out.push(turn(End::Server, response(head)));
                }
                self.responses.insert(conn.to_owned(), (head.clone(), streams));
            }
            EventKind::Body(body) if body.last && client => {
                let sent = self.requests.remove(conn).map(|head| request(&head));
                sent.into_iter().for_each(|sent| drop(self.complete.insert(here.clone(), sent)));
            }
            EventKind::Body(body) if body.last => match self.responses.remove(conn) {
                Some((_, true)) => out.push(turn(End::Server, Sent::EndOfStream {})),
                Some((head, false)) => {
                    // The request comes first, whether or not it had any content.
                    out.extend(self.take_complete(conn));
                    self.complete.insert(here, response(&head));
                }
                None => {}
            },
            EventKind::Message(message) => {
                let body = message.json.clone();
                match self.complete.remove(&here) {
                    Some(mut sent) => {
                        if let Sent::Request { json, .. } | Sent::Response { json, .. } = &mut sent {
                            *json = body;
                        }
                        out.push(turn(dir.sender(), sent));
                    }
                    None => {
                        let raw =
                            || Sent::Raw { bytes: message.payload.clone().unwrap_or(Payload::Text(String::new())) };
                        out.push(turn(dir.sender(), body.map_or_else(raw, |json| Sent::Text { json })));
                    }
                }
            }
            EventKind::StreamEvent(streamed) => {
                let json = streamed.data.as_deref().and_then(|data| serde_json::from_str(data).ok());
                out.extend(json.map(|json| turn(End::Server, Sent::Event { json })));
            }
            EventKind::Frame(frame) if frame.opcode == 8 => {
                let code = match frame.payload.as_bytes() {
                    [high, low, ..] => Some(u16::from_be_bytes([*high, *low])),
                    _ => None,
                };
                out.push(turn(dir.sender(), Sent::Close { code }));
            }
            _ => {}
        }
        out
    }

    /// The complete messages of an exchange that had no content.
    fn take_complete(&mut self, conn: &str) -> Vec<SampleStep> {
        let ends = [(true, End::Client), (false, End::Server)];
        let complete = ends.into_iter().filter_map(|(client, from)| {
            let sent = self.complete.remove(&(conn.to_owned(), client))?;
            Some(SampleStep { on: conn.to_owned(), from, message: None, sent })
        });
        complete.collect()
    }

    /// The steps that remain at the end of the trace.
    pub fn end(&mut self) -> Vec<SampleStep> {
        let left: Vec<String> = self.complete.keys().map(|(conn, _)| conn.clone()).collect();
        left.iter().flat_map(|conn| self.take_complete(conn)).collect()
    }
}

fn request(head: &HttpRequest) -> Sent {
    let (method, target) = (head.method().to_owned(), head.target().to_owned());
    Sent::Request { method, target, headers: message_headers(&head.headers), json: None }
}

fn response(head: &HttpResponse) -> Sent {
    Sent::Response { status: head.status().unwrap_or(0), headers: message_headers(&head.headers), json: None }
}

/// The header fields that are about the message, not the connection.
fn message_headers(headers: &[(String, String)]) -> Vec<(String, String)> {
    const KEPT: [&str; 7] =
        ["accept", "allow", "cache-control", "content-encoding", "content-type", "location", "retry-after"];
    headers.iter().filter(|(name, _)| KEPT.contains(&name.to_ascii_lowercase().as_str())).cloned().collect()
}

/// Names the type of a turn, from what was said before in the same connection or exchange.
pub fn recognise(types: &[MessageType], before: &[SampleStep], turn: &SampleStep) -> Option<String> {
    let earlier = |name: &str| before.iter().any(|b| b.on == turn.on && b.message.as_deref() == Some(name));
    let fits = |message: &&MessageType| {
        if message.sender != turn.from {
            return false;
        }
        let carried = match (&message.carrier, &turn.sent) {
            (Carrier::WebSocketText {}, Sent::Text { .. }) => true,
            (Carrier::EventData {}, Sent::Event { .. } | Sent::Text { .. }) => true,
            (Carrier::File { path }, Sent::File { path: there, .. }) => {
                there.contains(path.rsplit_once('/').map_or("", |(folder, _)| folder))
            }
            (Carrier::RequestBody { method, target }, Sent::Request { method: there, target: at, .. }) => {
                method == there && same_route(target, at)
            }
            (Carrier::ResponseBody { status }, Sent::Response { status: there, .. }) => {
                (*status < 300) == (*there < 300) && message.answers.iter().any(|name| earlier(name))
            }
            _ => false,
        };
        carried && message.marks.iter().all(|mark| turn.json().is_some_and(|json| mark.fits(json)))
    };
    let mut found = types.iter().filter(fits);
    let first = found.next()?;
    // Where only the request tells them apart, the last one with the same id does.
    let candidates: Vec<&MessageType> = std::iter::once(first).chain(found).collect();
    if candidates.len() == 1 || candidates[0].answers.is_empty() {
        return Some(candidates[0].name.clone());
    }
    let id = |turn: &SampleStep| turn.json().and_then(|json| json.as_object()?.values().next()?.get("id").cloned());
    let message_headers = id(turn);
    let asked = before
        .iter()
        .rev()
        .find(|b| b.on == turn.on && b.from != turn.from && id(b) == message_headers)?
        .message
        .as_deref()?;
    candidates.iter().find(|c| c.answers.iter().any(|name| name == asked)).map(|c| c.name.clone())
}

fn same_route(template: &str, target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    let (wanted, there): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    wanted.len() == there.len() && wanted.iter().zip(&there).all(|(w, t)| w.starts_with('{') || w == t)
}
