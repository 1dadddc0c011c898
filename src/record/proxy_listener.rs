//! A door: an address of ours at which clients come in that want to reach a server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::trace::{EventKind, Mark};
use crate::wire::process;
use crate::wire::tcp::{Address, accepted, open};

use super::relay::relay;
use super::trace_writer::{PassedTraffic, TapHandle};

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
