//! Frames.

use crate::wire::websocket::{FrameSpec, LengthForm, Mask, opcode};

use super::super::quirks::{Effect, Kind};
use super::{BOTH, Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("unmasked-frames" BOTH "framing/client-masked" "Requests are not masked."
        Effect::Frame(Kind::Request, |f| vec![f.masked(Mask::Off)])),
    flaw!("binary-frames" BOTH "framing/client-text-frames" "Requests are sent as binary data."
        Effect::Frame(Kind::Request, |f| vec![FrameSpec { opcode: opcode::BINARY, ..f }])),
    flaw!("reserved-bit" BOTH "framing/client-reserved-bits" "Requests have a reserved bit set, as if they were compressed."
        Effect::Frame(Kind::Request, |f| vec![FrameSpec { rsv: 4, ..f }])),
    flaw!("reserved-opcode" BOTH "framing/client-opcode" "Before each request goes a frame with a reserved opcode."
        Effect::Frame(Kind::Request, |f| vec![FrameSpec::new(3, "x"), f])),
    flaw!("long-lengths" BOTH "framing/client-shortest-length" "Every length is written in 64 bits."
        Effect::Frame(Kind::Request, |f| vec![FrameSpec { length: LengthForm::Bits(64), ..f }])),
];
