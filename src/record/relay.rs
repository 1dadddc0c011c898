//! Passing on: every byte as it came, at once, in both directions, and every end as it was made.

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::trace::{Closed, Direction};

use super::trace_writer::Wire;

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
pub async fn relay(client: TcpStream, server: TcpStream, wire: &Wire) {
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
