//! [`PassiveExchanges`]: an observed connection with HTTP exchanges, perhaps pipelined, which may become a WebSocket.

use std::collections::VecDeque;

use crate::trace::{Closed, Direction, Head, Recorder};
use crate::wire::http::content::accepts_events;
use crate::wire::http::framing::is_token_byte;
use crate::wire::http::transcript::{Transcript, TranscriptItem};
use crate::wire::http::{Exchanges, Limits};
use crate::wire::http_head::{self, has_token};

use super::{ObservedWebSocket, Taps};

/// How many requests may wait for their responses. Responses to further ones are recorded with the last exchange.
const MAX_AWAITED: usize = 1024;

/// Decodes the exchanges of one connection.
pub(super) struct PassiveExchanges {
    recorder: Recorder,
    names: Exchanges,
    limits: Limits,
    address: String,
    /// The number of the TCP connection, once it has an exchange.
    tcp: Option<u64>,
    /// The bytes of a request whose head is not complete yet.
    pending: Vec<u8>,
    /// How many of them were searched for the end of the head.
    searched: usize,
    /// The request whose head has come.
    request: Option<ObservedRequest>,
    /// The responses that are awaited, in order.
    awaited: VecDeque<AwaitedResponse>,
    /// The taps of the last exchange, for bytes that belong to no exchange.
    last: Option<Taps>,
    upgrade: Option<Upgraded>,
}

struct ObservedRequest {
    transcript: Transcript,
    taps: Taps,
    /// Whether its response is among those that are awaited.
    response_expected: bool,
}

struct AwaitedResponse {
    transcript: Transcript,
    taps: Taps,
    /// Whether the request is complete. If not, the end of the client's stream is recorded with the request.
    request_complete: bool,
}

/// The protocol of a connection after an upgrade.
enum Upgraded {
    WebSocket(Box<ObservedWebSocket>),
    /// Another protocol, whose bytes are not decoded.
    Other(Taps),
}

impl PassiveExchanges {
    /// A connection on which nothing has come.
    pub fn new(recorder: Recorder, names: Exchanges, address: &str, limits: Limits) -> Self {
        Self {
            recorder,
            names,
            limits,
            address: address.to_owned(),
            tcp: None,
            pending: vec![],
            searched: 0,
            request: None,
            awaited: VecDeque::new(),
            last: None,
            upgrade: None,
        }
    }

    /// Takes bytes of this direction.
    pub fn bytes(&mut self, dir: Direction, bytes: &[u8]) {
        match dir {
            Direction::ToServer => self.client_bytes(bytes),
            Direction::ToClient => self.server_bytes(bytes),
        }
    }

    /// Records that the sender of this direction ended its stream.
    pub fn closed(&mut self, dir: Direction, how: Closed) {
        match dir {
            Direction::ToServer => self.client_closed(how),
            Direction::ToClient => self.server_closed(how),
        }
    }

    /// Ends the connection: incomplete input is recorded as bytes.
    pub fn finish(&mut self) {
        self.begin_with_pending();
        self.request.iter_mut().for_each(|request| request.transcript.record_rest());
        self.awaited
            .iter_mut()
            .filter(|response| !response.transcript.is_complete())
            .for_each(|a| a.transcript.record_rest());
        if let Some(Upgraded::WebSocket(websocket)) = &mut self.upgrade {
            websocket.finish();
        }
    }

    fn client_bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match &mut self.upgrade {
                Some(Upgraded::WebSocket(websocket)) => return websocket.bytes(Direction::ToServer, bytes),
                Some(Upgraded::Other(taps)) => return taps.to_server.received_bytes(bytes),
                None => {}
            }
            if self.request.is_some() {
                let taken = self.feed_request(bytes);
                bytes = &bytes[taken..];
                continue;
            }
            self.pending.extend_from_slice(bytes);
            if self.can_classify() {
                self.begin_with_pending();
            }
            return;
        }
    }

    /// Feeds the current request; returns how many bytes belong to it.
    fn feed_request(&mut self, bytes: &[u8]) -> usize {
        let Some(request) = &mut self.request else { return 0 };
        let (mut method, mut events) = (None, false);
        let taken = request.transcript.feed(bytes, None, &mut |item| {
            if let TranscriptItem::Head(head) = item {
                events = accepts_events(&head);
                method = Some(head.start.split(' ').next().unwrap_or_default().to_owned());
            }
        });
        // An invalid request gets a response, too.
        if (method.is_some() || request.transcript.fault().is_some())
            && !std::mem::replace(&mut request.response_expected, true)
            && self.awaited.len() < MAX_AWAITED
        {
            let taps = request.taps.clone();
            let transcript =
                Transcript::response(taps.to_client.clone(), false, method.as_deref().unwrap_or(""), &self.limits);
            let transcript = transcript.accepts_events(events);
            self.awaited.push_back(AwaitedResponse { transcript, taps, request_complete: false });
        }
        if request.transcript.is_complete() {
            if let Some(response) = self.awaited.back_mut() {
                response.request_complete = true;
            }
            self.request = None;
        }
        taken
    }

    /// Whether the pending bytes are enough to decide how the exchange begins.
    fn can_classify(&mut self) -> bool {
        let Some(start) = self.pending.iter().position(|byte| !matches!(byte, b'\r' | b'\n')) else {
            return self.pending.len() > self.limits.head;
        };
        let impossible = !is_token_byte(self.pending[start]);
        let found = http_head::end_of_head(&self.pending, self.searched.max(start)).is_some();
        self.searched = self.pending.len().saturating_sub(3);
        found || impossible || self.pending.len() > self.limits.head
    }

    /// Begins an exchange with the pending bytes.
    fn begin_with_pending(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        self.searched = 0;
        let (taps, tcp) = self.exchange();
        if is_upgrade(&pending) {
            // All later events of the connection have the name of this exchange.
            let limits = crate::wire::Limits { head: self.limits.head, ..Default::default() };
            let mut websocket = ObservedWebSocket::new(taps, limits);
            websocket.bytes(Direction::ToServer, &pending);
            self.upgrade = Some(Upgraded::WebSocket(Box::new(websocket)));
            return;
        }
        let transcript = Transcript::request(taps.to_server.clone(), false, tcp, &self.limits);
        self.request = Some(ObservedRequest { transcript, taps, response_expected: false });
        self.client_bytes(&pending);
    }

    /// Starts an exchange; returns its taps and the number of the connection.
    fn exchange(&mut self) -> (Taps, u64) {
        let taps = Taps::new(&self.recorder, self.names.tap(None).conn());
        let tcp = *self.tcp.get_or_insert_with(|| {
            taps.to_server.connected_to(&self.address);
            self.names.next_connection()
        });
        self.last = Some(taps.clone());
        (taps, tcp)
    }

    fn server_bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if let Some(response) = self.awaited.front_mut() {
                let mut switches = false;
                let taken = response.transcript.feed(bytes, None, &mut |item| {
                    switches |= matches!(&item, TranscriptItem::Head(head) if head.status() == Some(101));
                });
                bytes = &bytes[taken..];
                if switches {
                    self.upgrade = Some(Upgraded::Other(response.taps.clone()));
                }
                if response.transcript.is_complete() {
                    self.awaited.pop_front();
                }
                continue;
            }
            match &mut self.upgrade {
                Some(Upgraded::WebSocket(websocket)) => {
                    websocket.bytes(Direction::ToClient, bytes);
                    // After a refusal the connection carries HTTP again.
                    if websocket.is_over() {
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
        self.begin_with_pending();
        if let Some(mut request) = self.request.take() {
            request.transcript.record_close_if_incomplete(how, None);
        }
        for response in self.awaited.iter().filter(|response| response.request_complete) {
            response.taps.to_server.ended(how);
        }
        match &mut self.upgrade {
            Some(Upgraded::WebSocket(websocket)) => websocket.closed(Direction::ToServer, how),
            Some(Upgraded::Other(taps)) => taps.to_server.ended(how),
            None => {}
        }
    }

    fn server_closed(&mut self, how: Closed) {
        if let Some(first) = self.awaited.front_mut()
            && how == Closed::Eof
        {
            first.transcript.end(&mut |_| {});
        }
        self.awaited.iter_mut().for_each(|response| response.transcript.record_close_if_incomplete(how, None));
        self.awaited.clear();
        match &mut self.upgrade {
            Some(Upgraded::WebSocket(websocket)) => websocket.closed(Direction::ToClient, how),
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
