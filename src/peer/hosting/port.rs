//! A port that is ours from the beginning, so that clients can be told it before anybody listens.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

use crate::peer::PeerError;
use crate::wire::tcp::BACKLOG;

/// A port of the loopback address. While nobody listens there, who connects is refused.
pub struct Port(Result<(TcpSocket, SocketAddr), String>);

impl Port {
    /// Any port that is free.
    pub fn hold() -> Self {
        Self(bind(0).map_err(|e| e.to_string()))
    }

    /// Its address.
    ///
    /// # Errors
    /// That there was no port to be had.
    pub fn address(&self) -> Result<SocketAddr, PeerError> {
        let held = self.0.as_ref();
        held.map(|(_, address)| *address).map_err(|e| PeerError::Environment(format!("cannot get a port: {e}")))
    }

    /// Listens there.
    ///
    /// # Errors
    /// That the machine is in the way.
    pub fn listen(&self) -> Result<TcpListener, PeerError> {
        let address = self.address()?;
        let listener = bind(address.port()).and_then(|(socket, _)| socket.listen(BACKLOG));
        listener.map_err(|e| PeerError::Environment(format!("cannot listen on {address}: {e}")))
    }
}

/// A socket that is bound to this port of the loopback address, or to any free one. It does not listen.
fn bind(port: u16) -> std::io::Result<(TcpSocket, SocketAddr)> {
    let socket = TcpSocket::new_v4()?;
    // So that another socket can listen there while this one holds the port.
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    let address = socket.local_addr()?;
    Ok((socket, address))
}
