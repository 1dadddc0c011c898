//! One TCP connection: the [`Tap`] where its events go, the [`Limits`] of what it can make us keep, and the
//! [`Address`] that it is opened at.

use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io};

use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{Instant, timeout, timeout_at};

use crate::trace::{Closed, Direction, End, EventKind, Payload, Recorder};

/// Writes what happens on one connection into the trace. Cheap to clone.
#[derive(Clone)]
pub struct Tap {
    recorder: Recorder,
    conn: String,
    us: End,
}

impl Tap {
    /// A tap for the connection named `conn` in the trace; `us` is the end that this process is.
    pub fn new(recorder: Recorder, conn: impl Into<String>, us: End) -> Self {
        Self { recorder, conn: conn.into(), us }
    }

    /// The connection's name.
    pub fn conn(&self) -> &str {
        &self.conn
    }

    /// The end that this process is.
    pub fn us(&self) -> End {
        self.us
    }

    /// The direction of what we send.
    pub fn outward(&self) -> Direction {
        match self.us {
            End::Client => Direction::ToServer,
            End::Server => Direction::ToClient,
        }
    }

    /// The direction of what we receive.
    pub fn inward(&self) -> Direction {
        match self.us {
            End::Client => Direction::ToClient,
            End::Server => Direction::ToServer,
        }
    }

    /// Whether anybody reads the trace.
    pub(super) fn is_recorded(&self) -> bool {
        self.recorder.is_recorded()
    }

    /// Records events of this direction, each with the reason if we cause it on purpose, in one go.
    pub(super) fn record_all(&self, dir: Direction, events: Vec<(Option<String>, EventKind)>) {
        self.recorder.record_all(&self.conn, dir, events);
    }

    /// Records that a TCP connection was made; `address` is the server's.
    pub(super) fn connected(&self, address: std::net::SocketAddr) {
        self.connected_to(&address.to_string());
    }

    /// Like [`Tap::connected`], with the address as a text.
    pub(super) fn connected_to(&self, address: &str) {
        let what = EventKind::Connected { address: address.to_owned() };
        self.recorder.record(Some(&self.conn), Some(Direction::ToServer), what);
    }

    /// Records an event that we are about to send.
    pub(super) fn sent(&self, deliberate: Option<&str>, what: EventKind) {
        self.recorder.record_deliberate(Some(&self.conn), Some(self.outward()), deliberate, what);
    }

    /// Records bytes that we are about to send and that are no complete frame or head.
    pub(super) fn sent_bytes(&self, deliberate: Option<&str>, bytes: &[u8]) {
        self.sent(deliberate, EventKind::Bytes { bytes: Payload::from(bytes) });
    }

    /// Records an event that the counterpart sent.
    pub(super) fn received(&self, what: EventKind) {
        self.recorder.record(Some(&self.conn), Some(self.inward()), what);
    }

    /// Records bytes that the counterpart sent and that are no complete frame or head.
    pub(super) fn received_bytes(&self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.received(EventKind::Bytes { bytes: Payload::from(bytes) });
        }
    }

    /// Records that the counterpart's stream ended.
    pub(super) fn ended(&self, how: Closed) {
        self.received(EventKind::Closed(how));
    }
}

/// Bounds of one connection. What exceeds a bound is dropped or ends the wait.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many bytes of one frame's payload are kept. The rest of a longer frame is read and dropped.
    pub frame: usize,
    /// How many bytes one message may join to. A longer one is not delivered as a message.
    pub message: usize,
    /// How many received bytes may wait for the user of the connection, before reading stops.
    pub backlog: usize,
    /// How long the head of a handshake may be, in bytes.
    pub head: usize,
    /// How much of a refusal's body is kept, in bytes.
    pub body: usize,
    /// How long connecting and the handshake may take together.
    pub handshake: Duration,
    /// How long one write may take before the counterpart counts as no longer reading.
    pub write: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame: 16 << 20,
            message: 16 << 20,
            backlog: 16 << 20,
            head: 64 << 10,
            body: 64 << 10,
            handshake: Duration::from_secs(10),
            write: Duration::from_secs(10),
        }
    }
}

/// How many connections may wait to be accepted. The client of one that finds no room tries again only after a second,
/// so the standard library's 128 are too few for many connections at once.
pub const BACKLOG: u32 = 1024;

/// Listens on an address; port 0 is any free port.
///
/// # Errors
/// The error of the system.
pub fn listen(address: impl Into<SocketAddr>) -> io::Result<TcpListener> {
    let address = address.into();
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A connection that was just closed must not block the port.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Has nobody listen on the port of this socket any more. Closing is not enough: between its start and its own program, a
/// process has copies of our sockets, and would keep the port.
pub fn stop_listening(socket: &OwnedFd) {
    // A system that refuses this lets go of the port when the copies are closed.
    let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
}

/// A port of this machine on which a server listens that takes part in no play: connections to it are neither accepted
/// nor refused. It is the same port for as long as this process runs.
///
/// # Errors
/// The error of the system.
pub fn foreign_port() -> io::Result<u16> {
    static FOREIGN: OnceLock<std::net::TcpListener> = OnceLock::new();
    if FOREIGN.get().is_none() {
        // A second listener that was bound meanwhile is dropped.
        _ = FOREIGN.set(std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?);
    }
    FOREIGN.wait().local_addr().map(|address| address.port())
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// A name or an IP address, an IPv6 address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Address {
    /// A name or IP address and a port.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }
}

impl fmt::Display for Address {
    /// As in a URL and a `Host` header: IPv6 addresses in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No address of the host accepts a connection.
    #[error("cannot connect to {address}: {reason}")]
    Unreachable {
        /// The address of the server.
        address: Address,
        /// The error of each address of the host.
        reason: String,
    },
    /// No connection was made in time.
    #[error("cannot connect to {address}: no response within {within:?}")]
    TimedOut {
        /// The address of the server.
        address: Address,
        /// The bound.
        within: Duration,
    },
    /// The machine is out of sockets, or the connection broke right after it was made.
    #[error("connection to {address}: {source}")]
    Broken {
        /// The address of the server.
        address: Address,
        /// The error of the system.
        source: io::Error,
    },
}

/// Connects to one of the addresses of the host, trying them in the system's order. `localhost` always has both
/// loopback addresses, 127.0.0.1 first, whatever the system resolves it to.
pub async fn open(address: &Address, within: Duration) -> Result<TcpStream, ConnectError> {
    let deadline = Instant::now() + within;
    let timed_out = || ConnectError::TimedOut { address: address.clone(), within };
    let candidates = match timeout_at(deadline, candidates(address)).await {
        Err(_) => return Err(timed_out()),
        Ok(Err(e)) => return Err(ConnectError::Unreachable { address: address.clone(), reason: e.to_string() }),
        Ok(Ok(candidates)) => candidates,
    };
    let mut reasons = vec![];
    for candidate in candidates {
        match timeout_at(deadline, TcpStream::connect(candidate)).await {
            Err(_) => return Err(timed_out()),
            // Out of file descriptors, for instance: no fault of the server.
            Ok(Err(source)) if source.raw_os_error().is_some_and(is_local_shortage) => {
                return Err(ConnectError::Broken { address: address.clone(), source });
            }
            Ok(Err(e)) => reasons.push(format!("{candidate}: {e}")),
            // No server listens, and the system chose the port of the server as ours.
            Ok(Ok(stream)) if stream.local_addr().is_ok_and(|local| local == candidate) => {
                reasons.push(format!("{candidate}: connection refused"));
            }
            Ok(Ok(stream)) => {
                // Otherwise the system would join what is sent in pieces on purpose.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
        }
    }
    Err(ConnectError::Unreachable { address: address.clone(), reason: reasons.join("; ") })
}

/// The time between the pieces of a split write.
const SPLIT_DELAY: Duration = Duration::from_millis(2);

/// So many delays at most part the pieces of one write: whoever waits for all of them has times of its own.
const MAX_SPLIT_DELAYS: usize = 200;

/// Why bytes were not written.
#[derive(Debug)]
pub enum WriteFailure {
    /// The counterpart read nothing for as long as a piece may take.
    Stuck,
    /// The counterpart is gone.
    Gone(io::Error),
}

/// Writes bytes, in pieces of at most `split` bytes if that is given. Each piece may take as long as `within`, so a
/// counterpart that reads gets all pieces, however many there are.
pub async fn write(
    half: &mut OwnedWriteHalf,
    bytes: &[u8],
    split: Option<usize>,
    within: Duration,
) -> Result<(), WriteFailure> {
    let size = split.unwrap_or(bytes.len()).max(1);
    let pieces_per_delay = bytes.len().div_ceil(size).div_ceil(MAX_SPLIT_DELAYS).max(1);
    for (number, piece) in bytes.chunks(size).enumerate() {
        match timeout(within, half.write_all(piece)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(WriteFailure::Gone(error)),
            Err(_) => return Err(WriteFailure::Stuck),
        }
        // Pieces without a delay would arrive as one.
        if split.is_some() && number % pieces_per_delay == 0 {
            tokio::time::sleep(SPLIT_DELAY).await;
        }
    }
    Ok(())
}

/// The delay before accepting is tried again, where the system is out of resources.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(10);

/// Accepts a connection by the `poll_accept` of a listener. Where the system is out of resources (file descriptors, for
/// instance), it tries again after a delay. The future may be dropped at any time.
pub async fn accept_retrying<T>(mut accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>>) -> T {
    loop {
        match poll_fn(&mut accept).await {
            Ok(accept_retrying) => return accept_retrying,
            Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}

/// Whether an error of the system means that this machine is out of resources.
fn is_local_shortage(code: i32) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::ADDRNOTAVAIL]
        .iter()
        .any(|errno| errno.raw_os_error() == code)
}

async fn candidates(address: &Address) -> io::Result<Vec<SocketAddr>> {
    if address.host.eq_ignore_ascii_case("localhost") {
        let loopback: [std::net::IpAddr; 2] =
            [std::net::Ipv4Addr::LOCALHOST.into(), std::net::Ipv6Addr::LOCALHOST.into()];
        return Ok(loopback.map(|ip| SocketAddr::new(ip, address.port)).to_vec());
    }
    Ok(tokio::net::lookup_host((address.host.as_str(), address.port)).await?.collect())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[tokio::test]
    async fn hundreds_are_let_in_before_one_of_them_is_accepted() {
        let listener = listen((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let mut all = vec![];
        for _ in 0..400 {
            all.push(TcpStream::connect(address).await.unwrap());
        }
        assert_eq!(all.len(), 400);
    }
}
