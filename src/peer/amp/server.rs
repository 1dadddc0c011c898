//! An editor on a socket: the peer of plays against a client, and the mock.
//!
//! Behind both is the same [`Editor`](super::editor::model::Editor); a [`shared::SharedServer`] has it, its clients and what is to be
//! sent to them. Both accept connections by [`accept_all`], and decide on handshakes by [`handshake::decide`]. They differ in who
//! steers them: the steps of a scenario name connections, send frames and bytes of any kind, and leave what is wrong with a client to
//! the rules (`steps`); the mock judges frames itself, so that flaws and freedoms can change what it makes of them (`mock`).

use std::io::{self, Read as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::wire::tcp::accept_retrying;
use crate::wire::websocket::Sender;

pub mod handshake;
pub mod mock;
pub mod shared;
pub mod steps;

/// Who steers a server: serves the connections that it accepts.
pub trait Steering: Send + Sync + 'static {
    /// How many connections there may be at a time, handshakes included. Others are closed at once.
    const MAX_OPEN: usize;
    /// How many there may be from its start to its end.
    const MAX_TOTAL: usize;

    /// What is known of a connection when it is accepted.
    type Accepted: Send;

    /// A connection is accepted, in the order in which they come.
    fn accepted(&self) -> Self::Accepted;

    /// Serves a connection to its end.
    fn serve(&self, stream: TcpStream, accepted: Self::Accepted) -> impl Future<Output = ()> + Send;
}

/// Accepts connections until something is done. Gives the ones that are still open; the listener is closed.
pub async fn accept_all<S: Steering>(
    listener: TcpListener,
    steering: Arc<S>,
    until: impl Future<Output = ()>,
) -> JoinSet<()> {
    let slots = Arc::new(Semaphore::new(S::MAX_OPEN));
    let mut open = JoinSet::new();
    let mut count = 0;
    tokio::pin!(until);
    while count < S::MAX_TOTAL {
        let stream = tokio::select! {
            biased;
            () = &mut until => break,
            Some(_) = open.join_next(), if !open.is_empty() => continue,
            (stream, _) = accept_retrying(|context| listener.poll_accept(context)) => stream,
        };
        let Ok(slot) = slots.clone().try_acquire_owned() else { continue };
        count += 1;
        let (steering, accepted) = (steering.clone(), steering.accepted());
        open.spawn(async move {
            steering.serve(stream, accepted).await;
            drop(slot);
        });
    }
    open
}

/// Ends our side of a connection, and lets the other side read what we said before it is all over, for so long: closing a
/// connection with unread input would cut it (RFC 6455 section 7.1.1).
async fn end_stream(sender: &Sender, within: Duration) {
    sender.shutdown().await;
    let _ = timeout(within, sender.ended()).await;
}

/// Bytes that nobody can guess, for the secret of an editor.
///
/// # Errors
/// The error of the system's source of random bytes.
fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
