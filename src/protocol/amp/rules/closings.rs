//! The end of a connection: is a close frame answered, and the TCP connection closed after it?

use serde_json::json;

use crate::protocol::amp::opcode;
use crate::protocol::{Judgements, Rule};
use crate::trace::{Closed, Direction, End, Event, Frame, What};

use super::OVERDUE;
use super::book::{Book, Fault};
use super::connections::Connections;

/// Judges how the server takes part in the closing handshake (RFC 6455 sections 5.5.1 and 7.1.1).
///
/// Nothing is said of a connection on which the client did something wrong on purpose: there any end will do.
pub struct Closings {
    book: &'static Book,
    connections: Connections<Connection>,
    now: u64,
}

#[derive(Default)]
struct Connection {
    stands: bool,
    soiled: bool,
    /// Whether the client sent a frame that is wrong on purpose.
    faulted: bool,
    by_client: Option<CloseFrame>,
    by_server: Option<CloseFrame>,
    client_ended: bool,
    server_ended: bool,
}

#[derive(Clone, Copy)]
struct CloseFrame {
    code: Option<u16>,
    index: u64,
    t: u64,
}

impl CloseFrame {
    fn new(event: &Event, frame: &Frame) -> Self {
        let code = match frame.payload.as_bytes() {
            [high, low, ..] => Some(u16::from_be_bytes([*high, *low])),
            _ => None,
        };
        Self { code, index: event.i, t: event.t }
    }
}

impl Closings {
    pub fn new(book: &'static Book) -> Self {
        Self { book, connections: Connections::new(), now: 0 }
    }
}

impl Rule for Closings {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let book = self.book;
        self.now = event.t;
        let Some(connection) = self.connections.of(event) else { return };
        connection.soiled |= event.deliberate.is_some() && event.dir != Some(Direction::ToClient);
        let frame = matches!(event.what, What::Frame(_));
        connection.faulted |= frame && event.deliberate.is_some() && event.dir == Some(Direction::ToServer);
        match (&event.what, event.dir) {
            (What::Handshake(head), Some(Direction::ToClient)) => connection.stands = head.start.contains(" 101"),
            (What::Frame(frame), Some(Direction::ToServer)) if frame.opcode == opcode::CLOSE => {
                connection.by_client.get_or_insert(CloseFrame::new(event, frame));
            }
            (What::Frame(frame), Some(Direction::ToClient))
                if frame.opcode == opcode::CLOSE && connection.by_server.is_none() =>
            {
                let close = CloseFrame::new(event, frame);
                connection.by_server = Some(close);
                connection.answer(close, book, out);
            }
            // A close frame may be in it.
            (What::Bytes { .. }, Some(Direction::ToServer)) => connection.soiled = true,
            (What::Closed(_), Some(Direction::ToServer)) => {
                connection.overdue(event.t, book, out);
                connection.client_ended = true;
            }
            (What::Closed(how), Some(Direction::ToClient)) => {
                connection.server_ends(*how, event.i, book, out);
                connection.server_ended = true;
            }
            _ => {}
        }
        self.connections.ended(event);
    }

    fn end(&mut self, out: &mut Judgements) {
        for connection in self.connections.left() {
            connection.overdue(self.now, self.book, out);
        }
    }
}

impl Connection {
    /// The server sent its close frame.
    fn answer(&self, close: CloseFrame, book: &Book, out: &mut Judgements) {
        let Some(asked) = self.by_client.filter(|_| !self.soiled) else { return };
        book.hold(out, End::Server, "framing/close-answered", close.index, None);
        let Some(code) = asked.code else { return };
        // 1001 is what a server sends that was about to close anyway.
        let other = close.code != Some(code) && close.code != Some(1001);
        let fault =
            Fault::new("the answer to a close frame carries another code").expected(code).actual(json!(close.code));
        book.hold(out, End::Server, "framing/close-echoed", close.index, other.then_some(fault));
    }

    /// The server ended its stream.
    fn server_ends(&self, how: Closed, index: u64, book: &Book, out: &mut Judgements) {
        if self.client_ended {
            return;
        }
        if self.soiled {
            if self.stands && self.faulted && how == Closed::Eof && self.by_client.is_none() && self.by_server.is_none()
            {
                let fault =
                    Fault::new("the server ended the connection for a fault of the client without a close frame");
                book.hold(out, End::Server, "framing/failure-code", index, Some(fault));
            }
            return;
        }
        match (self.by_client, self.by_server) {
            (Some(_), Some(_)) => book.hold(out, End::Server, "framing/tcp-closed", index, None),
            // A reset may destroy a close frame on its way.
            (Some(_), None) if how == Closed::Eof => {
                let fault = Fault::new("the server ended the connection without an answer to the close frame");
                book.hold(out, End::Server, "framing/close-answered", index, Some(fault));
            }
            _ => {}
        }
    }

    /// What the server has not done by now, though it had the time.
    fn overdue(&self, now: u64, book: &Book, out: &mut Judgements) {
        let Some(asked) = self.by_client else { return };
        if self.soiled || self.client_ended || self.server_ended {
            return;
        }
        let since = self.by_server.map_or(asked.t, |answer| answer.t.max(asked.t));
        let waited = now.saturating_sub(since);
        if waited < OVERDUE {
            return;
        }
        let (short, what) = match self.by_server {
            None => ("framing/close-answered", "a close frame was not answered"),
            Some(_) => ("framing/tcp-closed", "the TCP connection was left open after close frames had gone both ways"),
        };
        let fault = Fault::new(format!("{what} for {} s", waited / 1_000_000));
        book.hold(out, End::Server, short, asked.index, Some(fault));
    }
}
