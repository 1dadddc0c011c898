//! Flaws that show in how a stream is cut into TCP segments, which the connection itself does not see.
//!
//! With one of them on, a client talks to a go-between that reads as such a server would.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::quirks::{Quirks, Switch, Trigger};
use super::shared::Shared;

/// How long a frame may be incomplete before a server that waits for it has hung.
const HALF: Duration = Duration::from_millis(150);
/// A length that nobody can mean, in bytes.
const ABSURD: u64 = 1 << 31;
/// The most that is read at once, in bytes.
const PIECE: usize = 64 << 10;

/// The stream to serve: this one, or the other end of a go-between. None where the client has been given up.
pub async fn before(stream: TcpStream, quirks: &Quirks, shared: &Shared) -> Option<TcpStream> {
    if quirks.has(Switch::OneSegmentHead) {
        let mut first = [0; 4096];
        let n = stream.peek(&mut first).await.ok()?;
        if !first[..n].windows(4).any(|w| w == b"\r\n\r\n") {
            return None;
        }
    }
    let cuts = Cuts {
        loses_split: quirks.has(Switch::LosesSplitFrames),
        loses_joined: quirks.has(Switch::LosesJoinedFrames),
        shared: shared.clone(),
    };
    let hangs = |t| quirks.has(Switch::HangsAfter(t));
    if !(cuts.loses_split || cuts.loses_joined || hangs(Trigger::HalfFrame) || hangs(Trigger::HugeLength)) {
        return Some(stream);
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.ok()?;
    let near = TcpStream::connect(listener.local_addr().ok()?).await.ok()?;
    let (far, _) = listener.accept().await.ok()?;
    let _ = (near.set_nodelay(true), stream.set_nodelay(true));
    let (client_in, client_out) = stream.into_split();
    let (server_in, server_out) = near.into_split();
    tokio::spawn(copy(server_in, client_out));
    tokio::spawn(cuts.run(client_in, server_out));
    Some(far)
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    // Either end may go at any time; that is told by the other connection's end.
    let _ = tokio::io::copy(&mut from, &mut to).await;
    let _ = to.shutdown().await;
}

struct Cuts {
    loses_split: bool,
    loses_joined: bool,
    shared: Shared,
}

impl Cuts {
    async fn run(self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut head = true;
        // Bytes of the current frame that have not come yet.
        let mut missing = 0u64;
        let mut buffer = vec![0; PIECE];
        loop {
            let reading = from.read(&mut buffer);
            let read = match missing {
                0 => Ok(reading.await),
                _ => timeout(HALF, reading).await,
            };
            let n = match read {
                Ok(Ok(n)) if n > 0 => n,
                Ok(_) => break,
                Err(_) => {
                    self.shared.trigger(Trigger::HalfFrame);
                    missing = 0;
                    continue;
                }
            };
            let piece = &buffer[..n];
            let kept = if head { piece } else { self.frames(piece, &mut missing) };
            head &= !piece.windows(4).any(|w| w == b"\r\n\r\n");
            if to.write_all(kept).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    }

    /// What the server takes of a piece that was read at once.
    fn frames<'a>(&self, piece: &'a [u8], missing: &mut u64) -> &'a [u8] {
        let mut at = usize::try_from(*missing).unwrap_or(usize::MAX).min(piece.len());
        *missing -= at as u64;
        let mut whole = 0;
        while at < piece.len() {
            let begin = at;
            let Some((header, length)) = header(&piece[begin..]) else {
                *missing = 1;
                return if self.loses_split { self.lose(missing, &piece[..begin]) } else { piece };
            };
            if length > ABSURD {
                self.shared.trigger(Trigger::HugeLength);
            }
            let end = (begin as u64).saturating_add(header).saturating_add(length);
            if end > piece.len() as u64 {
                *missing = end - piece.len() as u64;
                if length < 126 {
                    self.shared.trigger(Trigger::HalfFrame);
                }
                // Only short ones: a long frame never comes in one piece, and every server would notice that.
                let lost = self.loses_split && length < 126;
                return if lost { self.lose(missing, &piece[..begin]) } else { piece };
            }
            at = usize::try_from(end).unwrap_or(piece.len());
            whole += 1;
            if self.loses_joined && whole == 1 && at < piece.len() {
                return &piece[..at];
            }
        }
        piece
    }

    fn lose<'a>(&self, missing: &mut u64, kept: &'a [u8]) -> &'a [u8] {
        *missing = 0;
        kept
    }
}

/// The sizes of a frame's header and payload, in bytes; none where the header is not whole.
fn header(bytes: &[u8]) -> Option<(u64, u64)> {
    let second = *bytes.get(1)?;
    let mask = if second & 0x80 != 0 { 4 } else { 0 };
    let number = |range: std::ops::Range<usize>| {
        bytes.get(range).map(|b| b.iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte)))
    };
    match second & 0x7f {
        126 => Some((4 + mask, number(2..4)?)),
        127 => Some((10 + mask, number(2..10)?)),
        short => Some((2 + mask, u64::from(short))),
    }
}
