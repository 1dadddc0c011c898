//! The ports that editors listen on.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::net::{TcpListener, TcpSocket};

use crate::peer::PeerError;
use crate::wire::tcp::{self, BACKLOG};

/// Which port an editor listens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Any free one.
    Any,
    /// A free one of those that the quick reference has clients scan (section 1).
    Guide,
    /// This one.
    Fixed(u16),
}

/// The port of an editor. While this is held nobody else listens there, also when the editor has ended: its clients may
/// still look for it, and must not find an editor of another play.
pub struct ReservedPort {
    port: u16,
    _socket: TcpSocket,
}

impl ReservedPort {
    /// Which one it is.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Listens on such a port, and holds it where the system lets us.
///
/// # Errors
/// [`PeerError::Environment`] where none is to be had.
pub fn listen(host: IpAddr, port: Port) -> Result<(TcpListener, Option<ReservedPort>), PeerError> {
    let at = |port: u16| {
        let address = (host, port).into();
        held(address).map(|(listener, held)| (listener, Some(held))).or_else(|_| Ok((tcp::listen(address)?, None)))
    };
    let listening: io::Result<_> = match port {
        Port::Fixed(port) => at(port),
        Port::Any => at(0),
        Port::Guide => {
            // Each play begins behind the one before: what others of ours have just given back is tried last.
            static TURN: AtomicU32 = AtomicU32::new(0);
            let turn = TURN.fetch_add(1, Ordering::Relaxed);
            let begin = u16::try_from(std::process::id().wrapping_add(turn) % 101).unwrap_or_default();
            let mut refused = io::Error::other("no port is left");
            let found = (0..=100).find_map(|n| match at(8000 + (begin + n) % 101) {
                Ok(listening) => Some(listening),
                Err(e) => {
                    refused = e;
                    None
                }
            });
            found.ok_or(refused)
        }
    };
    listening.map_err(|e| {
        let port = match port {
            Port::Any => "any port".to_owned(),
            Port::Guide => "a port from 8000 to 8100".to_owned(),
            Port::Fixed(port) => format!("port {port}"),
        };
        PeerError::Environment(format!("cannot listen on {port} of {host}: {e}"))
    })
}

/// Two sockets have the port: one listens, and while the other one is there, whoever asks for the port is refused.
fn held(address: SocketAddr) -> io::Result<(TcpListener, ReservedPort)> {
    let bound = |address: SocketAddr| {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Without it neither would be let in beside the other, nor beside connections that have not all gone.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let port = socket.local_addr()?.port();
        Ok::<_, io::Error>((socket, port))
    };
    let (holder, port) = bound(address)?;
    let listener = bound((address.ip(), port).into())?.0.listen(BACKLOG)?;
    // Two are enough.
    holder.set_reuseaddr(false)?;
    Ok((listener, ReservedPort { port, _socket: holder }))
}
