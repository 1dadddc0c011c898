//! Upgrades: is the client's handshake one that a server has to accept, and does it wait for the answer?

use std::collections::HashSet;

use serde_json::json;

use crate::protocol::amp::handshake::{has_token, is_key, only};
use crate::protocol::{Judgements, Rule};
use crate::trace::{Direction, End, Event, EventKind, Head};

use super::connections::Connections;
use super::requirement_index::RequirementIndex;
use crate::protocol::ViolationDetail;

/// So many keys are remembered; of more, none is taken for an old one.
const REMEMBERED: usize = 10_000;

/// Judges every handshake of the client by itself, and against those before it (RFC 6455 section 4.1).
pub struct Upgrades {
    book: &'static RequirementIndex,
    connections: Connections<HandshakeStage>,
    keys: HashSet<String>,
}

/// How far the handshake of a connection has come.
#[derive(Default)]
enum HandshakeStage {
    /// Nothing is known of one.
    #[default]
    Unknown,
    /// It waits for its answer.
    Asked,
    /// It was refused.
    Refused,
    /// The connection stands, or what the client did wrong was said.
    Over,
}

impl Upgrades {
    pub fn new(book: &'static RequirementIndex) -> Self {
        Self { book, connections: Connections::new(), keys: HashSet::new() }
    }

    fn request(&mut self, index: u64, head: &Head, out: &mut Judgements) {
        let mut hold =
            |short: &str, fault: Option<ViolationDetail>| self.book.check(out, End::Client, short, index, fault);
        let line = &head.start;
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let wrong = |what: &str, expected: &str| ViolationDetail::new(what).expected(expected).actual(line.clone());
        hold("connection/method", (method != "GET").then(|| wrong("a handshake is no GET request", "GET")));
        let version = line.rsplit(' ').next().and_then(|word| word.strip_prefix("HTTP/"));
        let recent = version.and_then(|v| v.split_once('.')).is_some_and(|(major, minor)| {
            let (major, minor) = (major.parse::<u32>().unwrap_or(0), minor.parse::<u32>().unwrap_or(0));
            (major, minor) >= (1, 1)
        });
        hold("connection/http-version", (!recent).then(|| wrong("a handshake is not made in HTTP/1.1", "HTTP/1.1")));
        let root = path(target) == "/";
        hold("connection/target", (!root).then(|| wrong("a handshake is made for another path", "/")));
        let values = |name: &str| json!(head.header(name).collect::<Vec<_>>());
        let lacks = |name: &str, expected: &str| {
            let what = format!("a handshake has no header `{name}` as it has to be");
            ViolationDetail::new(what).expected(expected).actual(values(name))
        };
        let host = only(head, "host").is_some_and(|host| !host.is_empty());
        hold("connection/host", (!host).then(|| lacks("Host", "one, not empty")));
        let upgrade = has_token(head, "upgrade", "websocket");
        hold("connection/upgrade", (!upgrade).then(|| lacks("Upgrade", "websocket")));
        let connection = has_token(head, "connection", "upgrade");
        hold("connection/connection", (!connection).then(|| lacks("Connection", "Upgrade")));
        let version = only(head, "sec-websocket-version") == Some("13");
        hold("connection/version", (!version).then(|| lacks("Sec-WebSocket-Version", "13")));
        let key = only(head, "sec-websocket-key").filter(|key| is_key(key));
        hold("connection/key", key.is_none().then(|| lacks("Sec-WebSocket-Key", "16 bytes in base64")));
        if let Some(key) = key {
            let old = self.keys.contains(key);
            if self.keys.len() < REMEMBERED {
                self.keys.insert(key.to_owned());
            }
            let fault = ViolationDetail::new("a handshake has the key of an earlier one").actual(key);
            self.book.check(out, End::Client, "connection/key-fresh", index, old.then_some(fault));
        }
    }
}

impl Rule for Upgrades {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let Some(stage) = self.connections.of(event) else { return };
        let book = self.book;
        let mut asks = None;
        match (&event.kind, event.dir) {
            (EventKind::Handshake(head), Some(Direction::ToServer)) => {
                *stage = HandshakeStage::Asked;
                asks = Some(head);
            }
            (EventKind::Handshake(head), Some(Direction::ToClient)) => {
                *stage = match head.status() {
                    Some(101) => {
                        book.check(out, End::Client, "connection/waits", event.i, None);
                        HandshakeStage::Over
                    }
                    _ => HandshakeStage::Refused,
                };
            }
            // After a refusal the next request may follow.
            (EventKind::Frame(_) | EventKind::Bytes { .. }, Some(Direction::ToServer)) => {
                let told = match (&*stage, &event.kind) {
                    (HandshakeStage::Asked, _) => Some("before its handshake was answered"),
                    (HandshakeStage::Refused, EventKind::Frame(_)) => Some("though its handshake was refused"),
                    _ => None,
                };
                if let Some(when) = told {
                    *stage = HandshakeStage::Over;
                    let fault = ViolationDetail::new(format!("the client sends something {when}"));
                    book.check(out, End::Client, "connection/waits", event.i, Some(fault));
                }
            }
            _ => {}
        }
        if let Some(head) = asks.filter(|_| event.deliberate.is_none()) {
            self.request(event.i, head, out);
        }
        self.connections.ended(event);
    }
}

/// The path of a request target, which may be a whole URL (RFC 6455 section 3).
fn path(target: &str) -> &str {
    let target = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => rest.find(['/', '?']).map_or("", |at| &rest[at..]),
        _ => target,
    };
    target.split(['?', '#']).next().unwrap_or(target)
}
