//! Upgrades: is the client's handshake one that a server has to accept, and does it wait for the answer?

use std::collections::HashSet;

use serde_json::json;

use crate::protocol::amp::handshake::{has_token, is_key, only};
use crate::protocol::{Judgements, Rule};
use crate::trace::{Direction, End, Event, Head, What};

use super::book::Book;
use super::connections::Connections;
use crate::protocol::Fault;

/// So many keys are remembered; of more, none is taken for an old one.
const REMEMBERED: usize = 10_000;

/// Judges every handshake of the client by itself, and against those before it (RFC 6455 section 4.1).
pub struct Upgrades {
    book: &'static Book,
    connections: Connections<Stage>,
    keys: HashSet<String>,
}

/// How far the handshake of a connection has come.
#[derive(Default)]
enum Stage {
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
    pub fn new(book: &'static Book) -> Self {
        Self { book, connections: Connections::new(), keys: HashSet::new() }
    }

    fn request(&mut self, index: u64, head: &Head, out: &mut Judgements) {
        let mut hold = |short: &str, fault: Option<Fault>| self.book.hold(out, End::Client, short, index, fault);
        let line = &head.start;
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let wrong = |what: &str, expected: &str| Fault::new(what).expected(expected).actual(line.clone());
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
            Fault::new(what).expected(expected).actual(values(name))
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
            let fault = Fault::new("a handshake has the key of an earlier one").actual(key);
            self.book.hold(out, End::Client, "connection/key-fresh", index, old.then_some(fault));
        }
    }
}

impl Rule for Upgrades {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let Some(stage) = self.connections.of(event) else { return };
        let book = self.book;
        let mut asks = None;
        match (&event.what, event.dir) {
            (What::Handshake(head), Some(Direction::ToServer)) => {
                *stage = Stage::Asked;
                asks = Some(head);
            }
            (What::Handshake(head), Some(Direction::ToClient)) => {
                *stage = match head.status() {
                    Some(101) => {
                        book.hold(out, End::Client, "connection/waits", event.i, None);
                        Stage::Over
                    }
                    _ => Stage::Refused,
                };
            }
            // After a refusal the next request may follow.
            (What::Frame(_) | What::Bytes { .. }, Some(Direction::ToServer)) => {
                let told = match (&*stage, &event.what) {
                    (Stage::Asked, _) => Some("before its handshake was answered"),
                    (Stage::Refused, What::Frame(_)) => Some("though its handshake was refused"),
                    _ => None,
                };
                if let Some(when) = told {
                    *stage = Stage::Over;
                    let fault = Fault::new(format!("the client sends something {when}"));
                    book.hold(out, End::Client, "connection/waits", event.i, Some(fault));
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
