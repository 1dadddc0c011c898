//! What two others say to each other: both directions of a connection that merely passes through us, written into the
//! trace.
//!
//! An [`PassiveDecoder`] is fed with what was read from either end, in the order in which it was read. It never answers, never
//! holds anything back from the ends, and takes whatever comes: what cannot be understood stands in the trace as the bytes
//! that it is. What it keeps is bounded.

mod exchanges;
mod handshake;
#[cfg(test)]
mod tests;

use crate::trace::{Closed, Direction, Recorder};
use crate::wire::http::{self, Exchanges};
use crate::wire::{Limits, Tap};

use self::exchanges::PassiveExchanges;
use self::handshake::Handshake;

/// One connection that is overheard.
pub struct PassiveDecoder(Form);

enum Form {
    WebSocket(Handshake),
    Http(Box<PassiveExchanges>),
}

/// The taps of both directions of a connection.
#[derive(Clone)]
struct Taps {
    to_server: Tap,
    to_client: Tap,
}

impl Taps {
    /// For the connection of this name.
    fn new(recorder: &Recorder, conn: &str) -> Self {
        use crate::trace::End::{Client, Server};
        // What each end receives.
        let tap = |us| Tap::new(recorder.clone(), conn, us);
        Self { to_server: tap(Server), to_client: tap(Client) }
    }

    fn of(&self, dir: Direction) -> &Tap {
        match dir {
            Direction::ToServer => &self.to_server,
            Direction::ToClient => &self.to_client,
        }
    }
}

impl PassiveDecoder {
    /// A connection that is made for a WebSocket: by the name `conn`, to a server at `address`.
    pub fn websocket(recorder: &Recorder, conn: &str, address: &str) -> Self {
        let taps = Taps::new(recorder, conn);
        taps.to_server.connected_to(address);
        Self(Form::WebSocket(Handshake::new(taps, Limits::default())))
    }

    /// A connection that carries HTTP, to a server at `address`. Each exchange on it gets a name of its own.
    pub fn http(recorder: &Recorder, exchanges: &Exchanges, address: &str) -> Self {
        // How long a body is, is for the ends to say: of a long one only the pieces are kept.
        let limits = http::Limits { body: u64::MAX, ..http::Limits::default() };
        Self(Form::Http(Box::new(PassiveExchanges::new(recorder.clone(), exchanges.clone(), address, limits))))
    }

    /// These bytes went this way.
    pub fn bytes(&mut self, dir: Direction, bytes: &[u8]) {
        match &mut self.0 {
            Form::WebSocket(handshake) => handshake.bytes(dir, bytes),
            Form::Http(exchanges) => exchanges.bytes(dir, bytes),
        }
    }

    /// The sender of this direction ended its stream.
    pub fn closed(&mut self, dir: Direction, how: Closed) {
        match &mut self.0 {
            Form::WebSocket(handshake) => handshake.closed(dir, how),
            Form::Http(exchanges) => exchanges.closed(dir, how),
        }
    }

    /// Nobody listens any more: what had begun is recorded as the bytes it is.
    pub fn left(&mut self) {
        match &mut self.0 {
            Form::WebSocket(handshake) => handshake.left(),
            Form::Http(exchanges) => exchanges.left(),
        }
    }
}
