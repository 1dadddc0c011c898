//! The handshake with an editor.

use std::time::Duration;

use crate::protocol::Lock;
use crate::trace::End;
use crate::wire::tcp::{self, Address};
use crate::wire::websocket::{self, ClientRequest, Manner, Options, Socket};
use crate::wire::{Limits, Tap};

use super::super::client::token::{Encoding, target};
use super::super::editor::edition::Edition;
use super::quirks::{Effect, Quirks, Switch};

/// Bounds of a connection.
const LIMITS: fn() -> Limits =
    || Limits { handshake: Duration::from_secs(3), write: Duration::from_secs(5), ..Limits::default() };

/// Where the editor of a lockfile is (docs/amp.md, Connection; quick reference, section 2). `localhost` stands for both
/// loopback addresses.
pub fn address(edition: Edition, lock: &Lock) -> Address {
    Address::new(if edition == Edition::Cli { "localhost" } else { "127.0.0.1" }, lock.port)
}

/// Connects to the editor of a lockfile; none where nobody accepts, or the answer is no right one.
pub async fn connect(edition: Edition, lock: &Lock, quirks: &Quirks, tap: Tap) -> Option<Socket> {
    let address = address(edition, lock);
    if quirks.has(Switch::Probes) {
        drop(tcp::open(&address, LIMITS().handshake).await.ok()?);
    }
    let mut request = ClientRequest::new(target(Some(&lock.token), Encoding::Component));
    // Judged by the session, so that what breaks the RFC is not answered as if it were sound.
    request.options = Options { pong: false, close: false, read: true };
    let change = |effect| if let Effect::Handshake(change) = effect { Some(change) } else { None };
    let why = quirks.rewrite(&mut request, change);
    request.manner = Manner { deliberate: why.map(str::to_owned), ..request.manner };
    debug_assert_eq!(tap.us(), End::Client);
    let opened = websocket::connect(&address, &request, tap, &LIMITS()).await.ok()?;
    if opened.accepted {
        return Some(opened.socket);
    }
    opened.socket.sender.shutdown().await;
    None
}
