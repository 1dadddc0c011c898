//! A connection that carries exchanges of HTTP, one after the other or several at a time, and perhaps becomes a WebSocket.

use std::collections::VecDeque;

use crate::trace::{Closed, Direction, Head, Recorder};
use crate::wire::http::content::accepts_events;
use crate::wire::http::framing::is_token_byte;
use crate::wire::http::transcript::{Transcript, TranscriptItem};
use crate::wire::http::{Exchanges, Limits};
use crate::wire::http_head::{self, has_token};

use super::connection::{Handshake, Taps};

/// How many requests may wait for their answers. What comes beyond that is recorded with the last of them.
const MOST_WAITING: usize = 1024;

/// The exchanges of one connection.
pub(super) struct PassiveExchanges {
    recorder: Recorder,
    names: Exchanges,
    limits: Limits,
    address: String,
    /// The number of the TCP connection, once anything went over it.
    tcp: Option<u64>,
    /// What came of a request whose head is not whole yet.
    held: Vec<u8>,
    /// How much of that was searched for the end of the head.
    searched: usize,
    /// The request that is coming in.
    request: Option<ObservedRequest>,
    /// The answers that are awaited, in their order.
    waiting: VecDeque<Awaited>,
    /// Where something belongs that belongs to no exchange.
    last: Option<Taps>,
    upgrade: Option<Upgraded>,
}

struct ObservedRequest {
    transcript: Transcript,
    taps: Taps,
    /// Whether its answer is among those that are awaited.
    counted: bool,
}

struct Awaited {
    transcript: Transcript,
    taps: Taps,
    /// Whether the whole request has come. Where it has not, whoever ends the connection in the middle of it is told
    /// there.
    asked: bool,
}

/// What a connection has become.
enum Upgraded {
    WebSocket(Box<Handshake>),
    /// Something that nobody here understands.
    Other(Taps),
}

impl PassiveExchanges {
    /// Nothing has come.
    pub fn new(recorder: Recorder, names: Exchanges, address: &str, limits: Limits) -> Self {
        Self {
            recorder,
            names,
            limits,
            address: address.to_owned(),
            tcp: None,
            held: vec![],
            searched: 0,
            request: None,
            waiting: VecDeque::new(),
            last: None,
            upgrade: None,
        }
    }

    /// These bytes went this way.
    pub fn bytes(&mut self, dir: Direction, bytes: &[u8]) {
        match dir {
            Direction::ToServer => self.asked(bytes),
            Direction::ToClient => self.answered(bytes),
        }
    }

    /// The sender of this direction ended its stream.
    pub fn closed(&mut self, dir: Direction, how: Closed) {
        match dir {
            Direction::ToServer => self.client_closed(how),
            Direction::ToClient => self.server_closed(how),
        }
    }

    /// Nobody listens any more.
    pub fn left(&mut self) {
        self.begin_with_what_is_held();
        self.request.iter_mut().for_each(|asked| asked.transcript.leave());
        self.waiting.iter_mut().filter(|answer| !answer.transcript.is_whole()).for_each(|a| a.transcript.leave());
        if let Some(Upgraded::WebSocket(handshake)) = &mut self.upgrade {
            handshake.left();
        }
    }

    fn asked(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match &mut self.upgrade {
                Some(Upgraded::WebSocket(handshake)) => return handshake.bytes(Direction::ToServer, bytes),
                Some(Upgraded::Other(taps)) => return taps.to_server.received_bytes(bytes),
                None => {}
            }
            if self.request.is_some() {
                let taken = self.feed_request(bytes);
                bytes = &bytes[taken..];
                continue;
            }
            self.held.extend_from_slice(bytes);
            if self.is_decided() {
                self.begin_with_what_is_held();
            }
            return;
        }
    }

    /// Feeds the request that is coming in; gives how many bytes belong to it.
    fn feed_request(&mut self, bytes: &[u8]) -> usize {
        let Some(asked) = &mut self.request else { return 0 };
        let (mut method, mut events) = (None, false);
        let taken = asked.transcript.feed(bytes, None, &mut |seen| {
            if let TranscriptItem::Head(head) = seen {
                events = accepts_events(&head);
                method = Some(head.start.split(' ').next().unwrap_or_default().to_owned());
            }
        });
        // What is no request gets an answer, too.
        if (method.is_some() || asked.transcript.fault().is_some())
            && !std::mem::replace(&mut asked.counted, true)
            && self.waiting.len() < MOST_WAITING
        {
            let taps = asked.taps.clone();
            let transcript =
                Transcript::response(taps.to_client.clone(), false, method.as_deref().unwrap_or(""), &self.limits);
            let transcript = transcript.accepts_events(events);
            self.waiting.push_back(Awaited { transcript, taps, asked: false });
        }
        if asked.transcript.is_whole() {
            if let Some(awaited) = self.waiting.back_mut() {
                awaited.asked = true;
            }
            self.request = None;
        }
        taken
    }

    /// Whether it can be told what the bytes that are held are the beginning of.
    fn is_decided(&mut self) -> bool {
        let Some(start) = self.held.iter().position(|byte| !matches!(byte, b'\r' | b'\n')) else {
            return self.held.len() > self.limits.head;
        };
        let impossible = !is_token_byte(self.held[start]);
        let found = http_head::end_of_head(&self.held, self.searched.max(start)).is_some();
        self.searched = self.held.len().saturating_sub(3);
        found || impossible || self.held.len() > self.limits.head
    }

    /// Takes what is held as the beginning of an exchange.
    fn begin_with_what_is_held(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let held = std::mem::take(&mut self.held);
        self.searched = 0;
        let (taps, tcp) = self.exchange();
        if is_upgrade(&held) {
            // What it is called, is for all that follows on the connection.
            let limits = crate::wire::Limits { head: self.limits.head, ..Default::default() };
            let mut handshake = Handshake::new(taps, limits);
            handshake.bytes(Direction::ToServer, &held);
            self.upgrade = Some(Upgraded::WebSocket(Box::new(handshake)));
            return;
        }
        let transcript = Transcript::request(taps.to_server.clone(), false, tcp, &self.limits);
        self.request = Some(ObservedRequest { transcript, taps, counted: false });
        self.asked(&held);
    }

    /// A new exchange, and the number of the connection.
    fn exchange(&mut self) -> (Taps, u64) {
        let taps = Taps::new(&self.recorder, self.names.tap(None).conn());
        let tcp = *self.tcp.get_or_insert_with(|| {
            taps.to_server.connected_to(&self.address);
            self.names.next_connection()
        });
        self.last = Some(taps.clone());
        (taps, tcp)
    }

    fn answered(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if let Some(answer) = self.waiting.front_mut() {
                let mut switches = false;
                let taken = answer.transcript.feed(bytes, None, &mut |seen| {
                    switches |= matches!(&seen, TranscriptItem::Head(head) if head.status() == Some(101));
                });
                bytes = &bytes[taken..];
                if switches {
                    self.upgrade = Some(Upgraded::Other(answer.taps.clone()));
                }
                if answer.transcript.is_whole() {
                    self.waiting.pop_front();
                }
                continue;
            }
            match &mut self.upgrade {
                Some(Upgraded::WebSocket(handshake)) => {
                    handshake.bytes(Direction::ToClient, bytes);
                    // After a refusal the connection goes on as it was.
                    if handshake.is_over() {
                        self.upgrade = None;
                    }
                }
                Some(Upgraded::Other(taps)) => taps.to_client.received_bytes(bytes),
                None => {
                    let taps = match &self.last {
                        Some(taps) => taps.clone(),
                        None => self.exchange().0,
                    };
                    taps.to_client.received_bytes(bytes);
                }
            }
            return;
        }
    }

    fn client_closed(&mut self, how: Closed) {
        self.begin_with_what_is_held();
        if let Some(mut asked) = self.request.take() {
            asked.transcript.close(how, None);
        }
        for answer in self.waiting.iter().filter(|answer| answer.asked) {
            answer.taps.to_server.ended(how);
        }
        match &mut self.upgrade {
            Some(Upgraded::WebSocket(handshake)) => handshake.closed(Direction::ToServer, how),
            Some(Upgraded::Other(taps)) => taps.to_server.ended(how),
            None => {}
        }
    }

    fn server_closed(&mut self, how: Closed) {
        if let Some(first) = self.waiting.front_mut()
            && how == Closed::Eof
        {
            first.transcript.end(&mut |_| {});
        }
        self.waiting.iter_mut().for_each(|answer| answer.transcript.close(how, None));
        self.waiting.clear();
        match &mut self.upgrade {
            Some(Upgraded::WebSocket(handshake)) => handshake.closed(Direction::ToClient, how),
            Some(Upgraded::Other(taps)) => taps.to_client.ended(how),
            None => {}
        }
    }
}

/// Whether these bytes begin with the head of a request for a WebSocket.
fn is_upgrade(bytes: &[u8]) -> bool {
    let start = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n')).unwrap_or(0);
    let Some(end) = http_head::end_of_head(bytes, start) else { return false };
    let head: Head = http_head::parse(&bytes[start..end]);
    has_token(&head, "upgrade", "websocket")
}
