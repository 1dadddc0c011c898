//! [`FrameSpec`]: frames to be sent, valid or not (RFC 6455 section 5.2).

use crate::trace::{End, opcode};

/// A frame to be sent. Nothing is checked: every fault that the format can express can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameSpec {
    /// The FIN bit: whether the message ends here.
    pub fin: bool,
    /// The three reserved bits as a number from 0 to 7, RSV1 being 4.
    pub rsv: u8,
    /// The opcode, from 0 to 15; see [`opcode`].
    pub opcode: u8,
    /// Whether and how the payload is masked.
    pub mask: Mask,
    /// The payload, unmasked.
    pub payload: Vec<u8>,
    /// How the length is written.
    pub length: LengthForm,
}

/// Whether and how a payload is masked (RFC 6455 section 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// As in RFC 6455: with a new key if a client sends the frame, not masked if a server does.
    ByRole,
    /// Not masked.
    Off,
    /// Masked with a new key.
    Fresh,
    /// Masked with this key.
    Key([u8; 4]),
}

impl Mask {
    /// The key to mask with, if the end that sends is `us`.
    pub fn key(self, us: End) -> Option<[u8; 4]> {
        match (self, us) {
            (Self::Off, _) | (Self::ByRole, End::Server) => None,
            (Self::Key(key), _) => Some(key),
            (Self::Fresh, _) | (Self::ByRole, End::Client) => Some(fresh_key()),
        }
    }
}

/// How a frame announces the length of its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthForm {
    /// The true length in the shortest form, as RFC 6455 requires.
    Shortest,
    /// The true length in 7, 16 or 64 bits (any other number counts as 64), cut to what fits them.
    Bits(u8),
    /// The given length, whatever the payload, in 7, 16 or 64 bits.
    Says {
        /// The number of bits; 7, 16 or 64.
        bits: u8,
        /// The length announced, in bytes, cut to what fits the bits.
        length: u64,
    },
}

impl FrameSpec {
    /// A frame with FIN: a complete message or a control frame.
    pub fn new(opcode: u8, payload: impl Into<Vec<u8>>) -> Self {
        Self { fin: true, rsv: 0, opcode, mask: Mask::ByRole, payload: payload.into(), length: LengthForm::Shortest }
    }

    /// A text message.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(opcode::TEXT, text.into())
    }

    /// A binary message.
    pub fn binary(payload: impl Into<Vec<u8>>) -> Self {
        Self::new(opcode::BINARY, payload)
    }

    /// The last part of a message; see [`Self::unfinished`] for those before it.
    pub fn continuation(payload: impl Into<Vec<u8>>) -> Self {
        Self::new(opcode::CONTINUATION, payload)
    }

    /// A ping.
    pub fn ping(payload: impl Into<Vec<u8>>) -> Self {
        Self::new(opcode::PING, payload)
    }

    /// A pong.
    pub fn pong(payload: impl Into<Vec<u8>>) -> Self {
        Self::new(opcode::PONG, payload)
    }

    /// A close frame; without a code it is empty, and the reason is not sent.
    pub fn close(code: Option<u16>, reason: &str) -> Self {
        let mut payload = vec![];
        if let Some(code) = code {
            payload.extend(code.to_be_bytes());
            payload.extend(reason.as_bytes());
        }
        Self::new(opcode::CLOSE, payload)
    }

    /// This frame without FIN: more of the message follows.
    pub fn unfinished(mut self) -> Self {
        self.fin = false;
        self
    }

    /// This frame with another masking.
    pub fn masked(mut self, mask: Mask) -> Self {
        self.mask = mask;
        self
    }

    /// The length that the frame announces, in bytes.
    pub fn announced(&self) -> u64 {
        match self.length {
            LengthForm::Shortest => self.payload.len() as u64,
            LengthForm::Bits(bits) => cut(bits, self.payload.len() as u64),
            LengthForm::Says { bits, length } => cut(bits, length),
        }
    }

    /// How many bits carry the length: 7, 16 or 64.
    pub fn length_bits(&self) -> u8 {
        match self.length {
            LengthForm::Shortest => shortest_bits(self.payload.len() as u64),
            LengthForm::Bits(bits) | LengthForm::Says { bits, .. } => known_bits(bits),
        }
    }

    /// The encoded frame, if the end that sends is `us`.
    pub fn encode(&self, us: End) -> Vec<u8> {
        let key = self.mask.key(us);
        let mask_bit = if key.is_some() { 0x80 } else { 0 };
        let mut bytes = Vec::with_capacity(self.payload.len() + 14);
        bytes.push((u8::from(self.fin) << 7) | ((self.rsv & 7) << 4) | (self.opcode & 15));
        let length = self.announced();
        match self.length_bits() {
            7 => bytes.push(mask_bit | (length as u8 & 0x7f)),
            16 => {
                bytes.push(mask_bit | 126);
                bytes.extend((length as u16).to_be_bytes());
            }
            _ => {
                bytes.push(mask_bit | 127);
                bytes.extend(length.to_be_bytes());
            }
        }
        let start = match key {
            Some(key) => {
                bytes.extend(key);
                bytes.len()
            }
            None => bytes.len(),
        };
        bytes.extend(&self.payload);
        if let Some(key) = key {
            mask(&mut bytes[start..], key);
        }
        bytes
    }
}

/// How many bits the shortest form of a length takes.
pub(super) fn shortest_bits(length: u64) -> u8 {
    match length {
        0..=125 => 7,
        126..=0xffff => 16,
        _ => 64,
    }
}

/// Masks or unmasks in place: the two are the same.
pub(super) fn mask(payload: &mut [u8], key: [u8; 4]) {
    // Eight bytes at a time: the key twice.
    let twice = u64::from_ne_bytes([key[0], key[1], key[2], key[3], key[0], key[1], key[2], key[3]]);
    let (words, rest) = payload.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ twice).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key.into_iter().cycle()) {
        *byte ^= key;
    }
}

fn known_bits(bits: u8) -> u8 {
    match bits {
        7 | 16 => bits,
        _ => 64,
    }
}

/// 126 and 127 in seven bits would announce a longer form, so they are cut too.
fn cut(bits: u8, length: u64) -> u64 {
    match known_bits(bits) {
        7 => length.min(125),
        16 => length.min(0xffff),
        _ => length,
    }
}

/// An unpredictable key: the hash keys of the standard library come from the randomness of the system.
fn fresh_key() -> [u8; 4] {
    use std::hash::{BuildHasher, Hasher};
    let hash = std::hash::RandomState::new().build_hasher().finish().to_be_bytes();
    [hash[0], hash[1], hash[2], hash[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_masked_by_the_byte_of_the_key_at_its_place() {
        let key = [0x37, 0xfa, 0x00, 0x3d];
        for length in 0..40_u8 {
            let plain: Vec<u8> = (0..length).collect();
            let mut masked = plain.clone();
            mask(&mut masked, key);
            let expected: Vec<u8> = plain.iter().enumerate().map(|(at, byte)| byte ^ key[at % 4]).collect();
            assert_eq!(masked, expected);
        }
    }

    #[test]
    fn a_server_sends_text_unmasked_and_a_client_masked() {
        let hello = FrameSpec::text("Hello");
        assert_eq!(hello.encode(End::Server), b"\x81\x05Hello");
        // The example of RFC 6455 section 5.7.
        let masked = hello.masked(Mask::Key([0x37, 0xfa, 0x21, 0x3d]));
        assert_eq!(masked.encode(End::Client), b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
        assert_ne!(FrameSpec::text("Hello").encode(End::Client)[1] & 0x80, 0);
    }

    #[test]
    fn every_bit_can_be_set() {
        let spec = FrameSpec { rsv: 5, ..FrameSpec::new(11, "") }.unfinished();
        assert_eq!(spec.encode(End::Server), [0b0101_1011, 0]);
    }

    #[test]
    fn lengths_take_the_shortest_form_unless_told_otherwise() {
        let header = |n: usize| FrameSpec::binary(vec![0; n]).encode(End::Server)[1..].to_vec();
        assert_eq!(header(125)[0], 125);
        assert_eq!(header(126)[..3], [126, 0, 126]);
        assert_eq!(header(0xffff)[..3], [126, 0xff, 0xff]);
        assert_eq!(header(0x10000)[..9], [127, 0, 0, 0, 0, 0, 1, 0, 0]);
        let long = FrameSpec { length: LengthForm::Bits(64), ..FrameSpec::binary("x") };
        assert_eq!(long.encode(End::Server), b"\x82\x7f\0\0\0\0\0\0\0\x01x");
    }

    #[test]
    fn a_length_can_lie() {
        let lie = FrameSpec { length: LengthForm::Says { bits: 16, length: 9 }, ..FrameSpec::text("ab") };
        assert_eq!(lie.encode(End::Server), b"\x81\x7e\0\x09ab");
    }

    #[test]
    fn a_close_frame_without_a_code_is_empty() {
        assert_eq!(FrameSpec::close(None, "lost").payload, b"");
        assert_eq!(FrameSpec::close(Some(1000), "bye").payload, b"\x03\xe8bye");
    }
}
