//! Flaws that show in how a stream is cut into TCP segments, which the connection itself does not see.
//!
//! With one of them on, the two ends talk through a relay that reads as such an end would.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

/// How long a frame may be incomplete before a server that waits for it has hung.
const INCOMPLETE_FRAME_TIMEOUT: Duration = Duration::from_millis(150);
/// A length that nobody can mean, in bytes.
const ABSURD_LENGTH: u64 = 1 << 31;
/// The most that is read at once, in bytes.
const BUFFER_SIZE: usize = 64 << 10;

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    // Either end may go at any time; the end of the other connection shows that.
    let _ = tokio::io::copy(&mut from, &mut to).await;
    let _ = to.shutdown().await;
}

/// Flaws of an end in how it reads the segments of a stream.
#[derive(Default)]
pub struct SegmentFlaws {
    /// A head that does not come in one segment ends the connection.
    pub needs_one_head_segment: bool,
    /// Bytes that come in one segment with the head are lost.
    pub loses_behind_head: bool,
    /// A short frame that does not come in one segment is lost.
    pub loses_split: bool,
    /// Of several frames in one segment all but the first are lost.
    pub loses_joined: bool,
    /// Called for what would make a fragile end hang.
    pub on_hazard: Option<Box<dyn Fn(SegmentHazard) + Send>>,
}

/// A hazard at which a fragile end would hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentHazard {
    /// A frame that is not whole.
    HalfFrame,
    /// A frame with a length that nobody can mean.
    HugeLength,
}

impl SegmentFlaws {
    /// Whether they make a difference.
    pub fn is_any(&self) -> bool {
        self.needs_one_head_segment
            || self.loses_behind_head
            || self.loses_split
            || self.loses_joined
            || self.on_hazard.is_some()
    }

    /// Starts to carry what comes on one stream to the other as these cuts have it, and back as it is.
    pub fn relay(self, flawed_end: TcpStream, other_end: TcpStream) {
        let _ = (flawed_end.set_nodelay(true), other_end.set_nodelay(true));
        let (flawed_in, flawed_out) = flawed_end.into_split();
        let (other_in, other_out) = other_end.into_split();
        tokio::spawn(copy(other_in, flawed_out));
        tokio::spawn(self.run(flawed_in, other_out));
    }

    fn on_hazard(&self, what: SegmentHazard) {
        if let Some(on_hazard) = &self.on_hazard {
            on_hazard(what);
        }
    }

    async fn run(self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let mut head = true;
        // Bytes of the current frame that have not come yet.
        let mut missing = 0u64;
        let mut buffer = vec![0; BUFFER_SIZE];
        loop {
            let reading = from.read(&mut buffer);
            let read = match missing {
                0 => Ok(reading.await),
                _ => timeout(INCOMPLETE_FRAME_TIMEOUT, reading).await,
            };
            let n = match read {
                Ok(Ok(n)) if n > 0 => n,
                Ok(_) => break,
                Err(_) => {
                    self.on_hazard(SegmentHazard::HalfFrame);
                    missing = 0;
                    continue;
                }
            };
            let piece = &buffer[..n];
            let kept = if head { self.head(piece) } else { Some(self.frames(piece, &mut missing)) };
            let Some(kept) = kept else { break };
            head &= !piece.windows(4).any(|w| w == b"\r\n\r\n");
            if to.write_all(kept).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    }

    /// The part of a piece that is read while the head is not complete; none to give up.
    fn head<'a>(&self, piece: &'a [u8]) -> Option<&'a [u8]> {
        match piece.windows(4).position(|w| w == b"\r\n\r\n") {
            Some(end) if self.loses_behind_head => Some(&piece[..end + 4]),
            None if self.needs_one_head_segment => None,
            _ => Some(piece),
        }
    }

    /// The part of a piece of frames that is read.
    fn frames<'a>(&self, piece: &'a [u8], missing: &mut u64) -> &'a [u8] {
        let mut at = usize::try_from(*missing).unwrap_or(usize::MAX).min(piece.len());
        *missing -= at as u64;
        let mut other_end = 0;
        while at < piece.len() {
            let begin = at;
            let Some((header, length)) = header(&piece[begin..]) else {
                *missing = 1;
                return if self.loses_split { self.lose(missing, &piece[..begin]) } else { piece };
            };
            if length > ABSURD_LENGTH {
                self.on_hazard(SegmentHazard::HugeLength);
            }
            let end = (begin as u64).saturating_add(header).saturating_add(length);
            if end > piece.len() as u64 {
                *missing = end - piece.len() as u64;
                if length < 126 {
                    self.on_hazard(SegmentHazard::HalfFrame);
                }
                // Only short ones: a long frame never comes in one piece, and every server would notice that.
                let lost = self.loses_split && length < 126;
                return if lost { self.lose(missing, &piece[..begin]) } else { piece };
            }
            at = usize::try_from(end).unwrap_or(piece.len());
            other_end += 1;
            if self.loses_joined && other_end == 1 && at < piece.len() {
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
