//! The proxy: a [`ProxyListener`] accepts clients that want to reach a server, and a relay passes every byte on as it came, at
//! once, in both directions, and every end as it was made.

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
use crate::wire::tcp::{Address, accepted, open};

use super::trace_writer::{PassedTraffic, TapHandle, Wire};

/// How many connections there may be at a time; further ones wait until one goes.
const AT_A_TIME: usize = 4096;
/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Lets clients in as long as it lives. Connections that stand outlive it.
pub struct ProxyListener {
    local: SocketAddr,
    accepting: JoinHandle<()>,
}

impl ProxyListener {
    /// Lets clients in at a listener, to a server.
    ///
    /// # Errors
    /// The listener has no address.
    pub fn open(listener: TcpListener, server: Address, ear: TapHandle) -> io::Result<Self> {
        let local = listener.local_addr()?;
        Ok(Self { local, accepting: tokio::spawn(let_in(listener, server, ear)) })
    }

    /// Where it is.
    pub fn local(&self) -> SocketAddr {
        self.local
    }
}

impl Drop for ProxyListener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn let_in(listener: TcpListener, server: Address, ear: TapHandle) {
    let slots = Arc::new(Semaphore::new(AT_A_TIME));
    let server = Arc::new(server);
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else { return };
        let (client, _) = accepted(|context| listener.poll_accept(context)).await;
        let (server, ear) = (server.clone(), ear.clone());
        tokio::spawn(async move {
            pass(client, &server, &ear).await;
            drop(slot);
        });
    }
}

/// Passes one connection on.
async fn pass(client: TcpStream, address: &Address, ear: &TapHandle) {
    // Small pieces go on as they came, and do not wait for more.
    let _ = client.set_nodelay(true);
    match open(address, CONNECT).await {
        Ok(server) => {
            let address = server.peer_addr().map_or_else(|_| address.to_string(), |address| address.to_string());
            let process = match ear.carried() {
                PassedTraffic::WebSocket => process::of_client(&client).await,
                PassedTraffic::Http => None,
            };
            let wire = ear.open(address, process);
            relay(client, server, &wire).await;
        }
        Err(error) => {
            let text = format!("a client came for {address}, and was cut off: {error}");
            ear.event(EventKind::Mark(Mark { mark: "unreachable".to_owned(), text }));
            // It cannot be refused any more; this is the next worst.
            let _ = client.set_zero_linger();
        }
    }
}

/// How much is read at once.
const BUFFER: usize = 32 << 10;

/// How one direction ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Its sender said that nothing more will come, and that was passed on.
    Eof,
    /// Its sender cut the connection.
    Reset,
    /// Its receiver takes nothing more. How that end left will be read from it.
    Unwanted,
}

/// Passes on what comes from either end to the other one, until both are done.
async fn relay(client: TcpStream, server: TcpStream, wire: &Wire) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let cut = {
        let up = pump(&mut from_client, &mut to_server, Direction::ToServer, wire);
        let down = pump(&mut from_server, &mut to_client, Direction::ToClient, wire);
        tokio::pin!(up, down);
        let (mut up_ended, mut down_ended) = (None, None);
        // In one task: what a server answers can't be heard before what it answers.
        loop {
            tokio::select! {
                ended = &mut up, if up_ended.is_none() => up_ended = Some(ended),
                ended = &mut down, if down_ended.is_none() => down_ended = Some(ended),
            }
            match (up_ended, down_ended) {
                (Some(Ended::Reset), _) | (_, Some(Ended::Reset)) => break true,
                (Some(up), Some(down)) => break up != Ended::Eof || down != Ended::Eof,
                _ => {}
            }
        }
    };
    if cut {
        // RST, not FIN: that is what the other end did, or would have got.
        for half in [&to_client, &to_server] {
            let _ = half.as_ref().set_zero_linger();
        }
        to_client.forget();
        to_server.forget();
    }
}

/// Passes on one direction.
async fn pump(from: &mut OwnedReadHalf, to: &mut OwnedWriteHalf, dir: Direction, wire: &Wire) -> Ended {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = tokio::select! {
            biased;
            read = from.read(&mut buffer) => read,
            // The receiver has cut the connection. Where it had ended its stream before, nothing else would tell.
            _ = to.as_ref().ready(Interest::ERROR) => return Ended::Unwanted,
        };
        let t = wire.now();
        let bytes = match read {
            Ok(0) => {
                wire.closed(dir, Closed::Eof);
                // Fails only where the receiver is gone, which is read from it.
                let _ = to.shutdown().await;
                return Ended::Eof;
            }
            Ok(n) => &buffer[..n],
            Err(_) => {
                wire.closed(dir, Closed::Reset);
                return Ended::Reset;
            }
        };
        // What did not fit is recorded before it is waited for, so that no answer to the part that did can come before it.
        let (sent, gone) = wire.bytes(t, dir, bytes, || match to.try_write(bytes) {
            Ok(sent) => (sent, false),
            Err(e) => (0, e.kind() != std::io::ErrorKind::WouldBlock),
        });
        wire.room().await;
        if gone || (sent < bytes.len() && to.write_all(&bytes[sent..]).await.is_err()) {
            return Ended::Unwanted;
        }
    }
}
