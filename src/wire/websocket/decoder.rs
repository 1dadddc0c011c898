//! Frames as they come: an honest reader that refuses nothing.

use crate::trace::{Frame, Payload};

use super::frame::{mask, shortest_bits};
use crate::wire::Limits;

/// Reads frames out of a stream of bytes, however it is cut.
///
/// It gives every frame as sent, right or wrong, and judges none. What it keeps is bounded: of a
/// payload longer than [`Limits::frame`] it keeps the beginning, and reads over the rest.
#[derive(Debug)]
pub struct Decoder {
    /// How much of a payload is kept.
    limit: usize,
    /// The frame being read as it came, its header first; at most a header and `limit` bytes.
    raw: Vec<u8>,
    /// Set once the header is whole.
    header: Option<Header>,
    /// How much of an over-long frame is still to be read over.
    skip: u64,
}

/// One frame that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The frame. Its payload is shorter than its length where only the beginning was kept.
    pub frame: Frame,
    /// Whether only the beginning of the payload was kept.
    pub truncated: bool,
}

#[derive(Clone, Copy, Debug)]
struct Header {
    size: usize,
    length: u64,
    bits: u8,
    key: Option<[u8; 4]>,
}

impl Decoder {
    /// A reader at the beginning of a stream.
    pub fn new(limits: &Limits) -> Self {
        Self { limit: limits.frame, raw: vec![], header: None, skip: 0 }
    }

    /// Takes bytes off the front of `input` until a frame is whole or the input is used up.
    /// Call it again with the rest while it gives frames.
    ///
    /// A frame that is too long to keep is given as soon as its beginning is there.
    pub fn decode(&mut self, input: &mut &[u8]) -> Option<Decoded> {
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(input.len());
        *input = &input[skipped..];
        self.skip -= skipped as u64;
        let header = match self.header {
            Some(header) => header,
            None => self.read_header(input)?,
        };
        let kept = usize::try_from(header.length).unwrap_or(usize::MAX).min(self.limit);
        self.take(input, header.size.saturating_add(kept))?;
        Some(self.complete(header, kept))
    }

    /// What is there of a frame that is not whole yet, as it came.
    pub fn rest(&self) -> &[u8] {
        &self.raw
    }

    /// Moves bytes until `raw` is `size` long; none if the input ends before.
    fn take(&mut self, input: &mut &[u8], size: usize) -> Option<()> {
        let (now, later) = input.split_at((size - self.raw.len()).min(input.len()));
        self.raw.extend_from_slice(now);
        *input = later;
        (self.raw.len() == size).then_some(())
    }

    fn read_header(&mut self, input: &mut &[u8]) -> Option<Header> {
        self.take(input, self.raw.len().max(2))?;
        let masked = self.raw[1] & 0x80 != 0;
        let bits = match self.raw[1] & 0x7f {
            126 => 16,
            127 => 64,
            _ => 7,
        };
        let length_size = usize::from(bits / 8);
        let size = 2 + length_size + if masked { 4 } else { 0 };
        self.take(input, size)?;
        let length = match bits {
            7 => u64::from(self.raw[1] & 0x7f),
            _ => self.raw[2..2 + length_size].iter().fold(0, |n, byte| n << 8 | u64::from(*byte)),
        };
        let key = masked.then(|| [0, 1, 2, 3].map(|i| self.raw[size - 4 + i]));
        let header = Header { size, length, bits, key };
        self.header = Some(header);
        Some(header)
    }

    fn complete(&mut self, header: Header, kept: usize) -> Decoded {
        let mut payload = std::mem::take(&mut self.raw);
        let first = payload[0];
        payload.drain(..header.size);
        if let Some(key) = header.key {
            mask(&mut payload, key);
        }
        self.header = None;
        self.skip = header.length - kept as u64;
        Decoded {
            truncated: self.skip > 0,
            frame: Frame {
                fin: first & 0x80 != 0,
                rsv: first >> 4 & 7,
                opcode: first & 15,
                masked: header.key.is_some(),
                length: header.length,
                length_bits: (header.bits != shortest_bits(header.length)).then_some(header.bits),
                payload: payload_of(payload),
            },
        }
    }
}

/// Bytes as a payload, without copying them.
pub(super) fn payload_of(bytes: Vec<u8>) -> Payload {
    match String::from_utf8(bytes) {
        Ok(text) => Payload::Text(text),
        Err(e) => Payload::Binary(e.into_bytes()),
    }
}
