//! [`Decoder`]: reads frames as they were sent, valid or not.

use crate::trace::{Frame, Payload};

use super::frame::{mask, shortest_bits};
use crate::wire::Limits;

/// Reads frames from a stream of bytes, however it is cut.
///
/// It gives every frame as sent, valid or not. Its memory is bounded: of a payload longer than [`Limits::frame`] it
/// keeps the beginning, and skips the rest.
#[derive(Debug)]
pub struct Decoder {
    /// How many bytes of a payload are kept.
    limit: usize,
    /// The bytes of the current frame; at most a header and `limit` bytes.
    raw: Vec<u8>,
    /// Set once the header is complete.
    header: Option<FrameHeader>,
    /// How many bytes of a frame beyond the limit are still to be skipped.
    skip: u64,
    /// The key of the latest masked frame.
    key: Option<[u8; 4]>,
}

/// A received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The frame. Its payload is shorter than its length where only the beginning was kept.
    pub frame: Frame,
    /// Whether only the beginning of the payload was kept.
    pub truncated: bool,
}

#[derive(Clone, Copy, Debug)]
struct FrameHeader {
    size: usize,
    length: u64,
    bits: u8,
    key: Option<[u8; 4]>,
}

impl Decoder {
    /// A decoder at the beginning of a stream.
    pub fn new(limits: &Limits) -> Self {
        Self { limit: limits.frame, raw: vec![], header: None, skip: 0, key: None }
    }

    /// Takes bytes from `input` until a frame is complete or the input is used up. Call it again with the rest while it
    /// gives frames.
    ///
    /// A frame that is too long to keep is given as soon as its beginning has come.
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

    /// The bytes of an incomplete frame.
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

    fn read_header(&mut self, input: &mut &[u8]) -> Option<FrameHeader> {
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
        let header = FrameHeader { size, length, bits, key };
        self.header = Some(header);
        Some(header)
    }

    fn complete(&mut self, header: FrameHeader, kept: usize) -> Decoded {
        let mut payload = std::mem::take(&mut self.raw);
        let first = payload[0];
        payload.drain(..header.size);
        if let Some(key) = header.key {
            mask(&mut payload, key);
        }
        let mask_reused = header.key.is_some() && header.key == self.key;
        self.key = header.key.or(self.key);
        self.header = None;
        self.skip = header.length - kept as u64;
        Decoded {
            truncated: self.skip > 0,
            frame: Frame {
                fin: first & 0x80 != 0,
                rsv: first >> 4 & 7,
                opcode: first & 15,
                masked: header.key.is_some(),
                mask_reused,
                length: header.length,
                length_bits: (header.bits != shortest_bits(header.length)).then_some(header.bits),
                payload: Payload::from(payload),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::End;
    use crate::wire::websocket::{FrameSpec, LengthForm, Mask};

    fn decode(decoder: &mut Decoder, mut input: &[u8]) -> Vec<Decoded> {
        std::iter::from_fn(|| decoder.decode(&mut input)).collect()
    }

    fn limits(frame: usize) -> Limits {
        Limits { frame, ..Limits::default() }
    }

    fn spec() -> impl Strategy<Value = FrameSpec> {
        let mask = prop_oneof![Just(Mask::Off), any::<[u8; 4]>().prop_map(Mask::Key)];
        let length = prop_oneof![Just(LengthForm::Shortest), Just(LengthForm::Bits(16)), Just(LengthForm::Bits(64))];
        let payload = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            Just(vec![7; 0xffff]),
            Just(vec![8; 0x10000]),
            "[a-zé☃]{0,50}".prop_map(String::into_bytes),
        ];
        (any::<bool>(), 0u8..8, 0u8..16, mask, payload, length)
            .prop_map(|(fin, rsv, opcode, mask, payload, length)| FrameSpec { fin, rsv, opcode, mask, payload, length })
    }

    /// The expected result for a frame that was sent with an honest length.
    fn as_sent(spec: &FrameSpec) -> Frame {
        let bits = spec.length_bits();
        Frame {
            fin: spec.fin,
            rsv: spec.rsv,
            opcode: spec.opcode,
            masked: spec.mask != Mask::Off,
            mask_reused: false,
            length: spec.payload.len() as u64,
            length_bits: (bits != shortest_bits(spec.payload.len() as u64)).then_some(bits),
            payload: Payload::from(spec.payload.as_slice()),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_frame_comes_back_as_sent_however_the_stream_is_cut(
            specs in prop::collection::vec(spec(), 1..4),
            cuts in prop::collection::vec(1usize..300, 1..40),
        ) {
            let specs: Vec<FrameSpec> =
                specs.into_iter().filter(|s| s.announced() == s.payload.len() as u64).collect();
            let bytes: Vec<u8> = specs.iter().flat_map(|s| s.encode(End::Client)).collect();
            let mut decoder = Decoder::new(&Limits::default());
            let (mut rest, mut frames) = (&bytes[..], vec![]);
            for cut in cuts {
                let (piece, later) = rest.split_at(cut.min(rest.len()));
                frames.extend(decode(&mut decoder, piece));
                rest = later;
            }
            frames.extend(decode(&mut decoder, rest));
            prop_assert_eq!(decoder.rest(), b"");
            prop_assert!(frames.iter().all(|f| !f.truncated));
            // Keys that are drawn may be equal.
            let frames: Vec<Frame> = frames.into_iter().map(|f| Frame { mask_reused: false, ..f.frame }).collect();
            prop_assert_eq!(frames, specs.iter().map(as_sent).collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_are_read_without_panic_in_bounded_memory(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20),
        ) {
            let mut decoder = Decoder::new(&limits(50));
            for piece in &pieces {
                for decoded in decode(&mut decoder, piece) {
                    prop_assert!(decoded.frame.payload.as_bytes().len() <= 50);
                }
                prop_assert!(decoder.rest().len() <= 14 + 50);
            }
        }
    }

    #[test]
    fn a_small_frame_comes_back_whatever_single_cut_is_made() {
        let bytes = FrameSpec::text("snow: ☃").masked(Mask::Key(*b"mask")).encode(End::Client);
        for at in 0..=bytes.len() {
            let mut decoder = Decoder::new(&Limits::default());
            let mut frames = decode(&mut decoder, &bytes[..at]);
            frames.extend(decode(&mut decoder, &bytes[at..]));
            assert_eq!(frames.len(), 1, "cut at {at}");
            assert_eq!(frames[0].frame.payload, Payload::Text("snow: ☃".into()));
        }
    }

    #[test]
    fn a_key_counts_as_reused_where_the_masked_frame_before_has_it() {
        let frames = [Mask::Key(*b"mask"), Mask::Off, Mask::Key(*b"mask"), Mask::Key(*b"othe"), Mask::Key(*b"mask")];
        let bytes: Vec<u8> =
            frames.into_iter().flat_map(|mask| FrameSpec::text("x").masked(mask).encode(End::Client)).collect();
        let frames = decode(&mut Decoder::new(&Limits::default()), &bytes);
        let reused: Vec<bool> = frames.iter().map(|decoded| decoded.frame.mask_reused).collect();
        assert_eq!(reused, [false, false, true, false, false]);
    }

    #[test]
    fn of_a_frame_beyond_the_bound_the_beginning_is_given_and_the_next_frame_is_found() {
        let mut bytes = FrameSpec::binary(vec![b'x'; 1000]).encode(End::Server);
        bytes.extend(FrameSpec::text("next").encode(End::Server));
        let mut decoder = Decoder::new(&limits(10));
        let frames: Vec<Decoded> = bytes.chunks(7).flat_map(|piece| decode(&mut decoder, piece)).collect();
        assert_eq!(frames.len(), 2);
        assert!(frames[0].truncated);
        assert_eq!(frames[0].frame.length, 1000);
        assert_eq!(frames[0].frame.payload, Payload::Text("x".repeat(10)));
        assert_eq!(frames[1].frame.payload, Payload::Text("next".into()));
    }

    #[test]
    fn a_length_that_can_never_be_reached_costs_nothing() {
        let lie =
            FrameSpec { length: LengthForm::Says { bits: 64, length: u64::MAX }, ..FrameSpec::binary(vec![0; 99]) };
        let mut decoder = Decoder::new(&limits(10));
        let frames = decode(&mut decoder, &lie.encode(End::Server));
        assert_eq!(frames.len(), 1);
        assert_eq!((frames[0].frame.length, frames[0].truncated), (u64::MAX, true));
        assert_eq!(decode(&mut decoder, &[0; 5000]), []);
    }

    #[test]
    fn half_a_frame_is_left_over_as_it_came() {
        let bytes = FrameSpec::text("half").masked(Mask::Key(*b"mask")).encode(End::Client);
        let mut decoder = Decoder::new(&Limits::default());
        assert_eq!(decode(&mut decoder, &bytes[..7]), []);
        assert_eq!(decoder.rest(), &bytes[..7]);
    }
}
