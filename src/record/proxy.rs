//! The proxy: a [`ProxyListener`] accepts clients that want to reach a server, and a relay passes every byte on as it
//! came, at once, in both directions, and every end as it was made.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::trace::{Closed, Direction, EventKind, Mark};
use crate::wire::process;
use crate::wire::tcp::{Address, accept_retrying, open};

use super::trace_writer::{ConnectionTap, PassedTraffic, TapHandle};

/// How many connections there may be at a time; further ones wait until one ends.
const MAX_CONNECTIONS: usize = 4096;
/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Accepts clients until it is dropped. Open connections outlive it.
pub struct ProxyListener {
    local: SocketAddr,
    accept_task: JoinHandle<()>,
}

impl ProxyListener {
    /// Accepts clients at a listener, and connects each to a server.
    ///
    /// # Errors
    /// The listener has no address.
    pub fn open(listener: TcpListener, server: Address, tap: TapHandle) -> io::Result<Self> {
        let local = listener.local_addr()?;
        Ok(Self { local, accept_task: tokio::spawn(accept_clients(listener, server, tap)) })
    }

    /// The address at which clients connect.
    pub fn local(&self) -> SocketAddr {
        self.local
    }
}

impl Drop for ProxyListener {
    fn drop(&mut self) {
        self.accept_task.abort();
    }
}

async fn accept_clients(listener: TcpListener, server: Address, tap: TapHandle) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let server = Arc::new(server);
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else { return };
        let (client, _) = accept_retrying(|context| listener.poll_accept(context)).await;
        let (server, tap) = (server.clone(), tap.clone());
        tokio::spawn(async move {
            serve_client(client, &server, &tap).await;
            drop(slot);
        });
    }
}

/// Connects one client to the server, and relays until both ends are done.
async fn serve_client(client: TcpStream, address: &Address, tap: &TapHandle) {
    // Small pieces are forwarded at once.
    let _ = client.set_nodelay(true);
    match open(address, CONNECT_TIMEOUT).await {
        Ok(server) => {
            let address = server.peer_addr().map_or_else(|_| address.to_string(), |address| address.to_string());
            let process = match tap.traffic() {
                PassedTraffic::WebSocket => process::client_pid(&client, &address).await,
                PassedTraffic::Http => None,
            };
            let tap = tap.open(address, process);
            relay(client, server, &tap).await;
        }
        Err(error) => {
            let text = format!("a client came for {address}, and was cut off: {error}");
            tap.event(EventKind::Mark(Mark { mark: "unreachable".to_owned(), text }));
            // An accepted connection cannot be refused any more: it is reset.
            let _ = client.set_zero_linger();
        }
    }
}

/// How many bytes are read at once.
const BUFFER: usize = 32 << 10;

/// How one direction ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DirectionEnd {
    /// The sender sent FIN, which was forwarded.
    Eof,
    /// The sender reset the connection.
    Reset,
    /// The receiver accepts no more bytes. How it closed the connection is read from the other direction.
    ReceiverGone,
}

/// Forwards the bytes of each end to the other one, until both are done.
async fn relay(client: TcpStream, server: TcpStream, tap: &ConnectionTap) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let cut = {
        let up = pump(&mut from_client, &mut to_server, Direction::ToServer, tap);
        let down = pump(&mut from_server, &mut to_client, Direction::ToClient, tap);
        tokio::pin!(up, down);
        let (mut up_ended, mut down_ended) = (None, None);
        // In one task, so that a response is never recorded before its request.
        loop {
            tokio::select! {
                ended = &mut up, if up_ended.is_none() => up_ended = Some(ended),
                ended = &mut down, if down_ended.is_none() => down_ended = Some(ended),
            }
            match (up_ended, down_ended) {
                (Some(DirectionEnd::Reset), _) | (_, Some(DirectionEnd::Reset)) => break true,
                (Some(up), Some(down)) => break up != DirectionEnd::Eof || down != DirectionEnd::Eof,
                _ => {}
            }
        }
    };
    if cut {
        // RST, not FIN: the other end did the same, or would have received it.
        for half in [&to_client, &to_server] {
            let _ = half.as_ref().set_zero_linger();
        }
        to_client.forget();
        to_server.forget();
    }
}

/// Forwards one direction.
async fn pump(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, dir: Direction, tap: &ConnectionTap) -> DirectionEnd {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = tokio::select! {
            biased;
            read = from.read(&mut buffer) => read,
            // The receiver has reset the connection. Where it had sent FIN before, this is the only sign.
            _ = to.as_ref().ready(Interest::ERROR) => return DirectionEnd::ReceiverGone,
        };
        let t = tap.now();
        let bytes = match read {
            Ok(0) => {
                tap.closed(dir, Closed::Eof);
                // Fails only where the receiver is gone, which the other direction reads.
                let _ = to.shutdown().await;
                return DirectionEnd::Eof;
            }
            Ok(n) => &buffer[..n],
            Err(_) => {
                tap.closed(dir, Closed::Reset);
                return DirectionEnd::Reset;
            }
        };
        // All bytes are recorded before the rest is sent, so that no response to the first part is recorded before
        // them.
        let (sent, gone) = tap.bytes(t, dir, bytes, || match to.try_write(bytes) {
            Ok(sent) => (sent, false),
            Err(e) => (0, e.kind() != std::io::ErrorKind::WouldBlock),
        });
        tap.wait_for_room().await;
        if gone || (sent < bytes.len() && to.write_all(&bytes[sent..]).await.is_err()) {
            return DirectionEnd::ReceiverGone;
        }
    }
}
