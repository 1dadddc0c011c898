//! Frames.

use crate::wire::websocket::{FrameSpec, LengthForm, Mask, opcode};

use super::super::super::assembler::FrameFault;
use super::super::quirks::{Effect, Kind, Switch};
use super::{BOTH, Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("unmasked-frames" BOTH "framing/client-masked" "Requests are not masked."
        Effect::Frame(Kind::Request, |f| vec![f.masked(Mask::Off)])),
    flaw!("unmasked-pongs" BOTH "framing/client-masked" "Pongs are not masked."
        Effect::Frame(Kind::Pong, |f| vec![f.masked(Mask::Off)])),
    flaw!("binary-frames" BOTH "framing/client-text-frames" "Requests are sent as binary data."
        Effect::Frame(Kind::Request, |f| vec![FrameSpec { opcode: opcode::BINARY, ..f }])),
    flaw!("two-documents" BOTH "framing/client-json" "Each request has a second JSON document after the first."
        Effect::Text(|text| text.extend(b"\n{}"))),
    flaw!("requests-in-pieces" BOTH "framing/client-json"
        "The last byte of each request goes in a text frame of its own."
        Effect::Frame(Kind::Request, |f| split(f, |f| f))),
    flaw!("fragmented-requests" BOTH "framing/client-one-frame" "Requests are sent in two fragments."
        Effect::Frame(Kind::Request, |f| split(f, |f| FrameSpec { opcode: opcode::CONTINUATION, ..f }))),
    flaw!("latin-1" BOTH "framing/client-utf8" "Characters beyond ASCII are sent as Latin-1." Effect::Text(latin_1)),
    flaw!("reserved-bit" BOTH "framing/client-reserved-bits" "Requests have a reserved bit set, as if they were compressed."
        Effect::Frame(Kind::Request, |f| vec![FrameSpec { rsv: 4, ..f }])),
    flaw!("reserved-opcode" BOTH "framing/client-opcode" "Before each request goes a frame with a reserved opcode."
        Effect::Frame(Kind::Request, |f| vec![FrameSpec::new(3, "x"), f])),
    flaw!("long-lengths" BOTH "framing/client-shortest-length" "Every length is written in 64 bits."
        Effect::Frame(Kind::Request, |f| vec![FrameSpec { length: LengthForm::Bits(64), ..f }])),
    flaw!("stray-continuation" BOTH "framing/client-fragments" "After each request goes a continuation of nothing."
        Effect::Frame(Kind::Request, |f| vec![f, FrameSpec::continuation("")])),
    flaw!("pong-too-long" BOTH "framing/client-control-length"
    "Pongs are filled up to 126 bytes." Effect::Frame(Kind::Pong, |mut f| {
        f.payload.resize(126, b' ');
        vec![f]
    })),
    flaw!("pong-in-fragments" BOTH "framing/client-control-whole"
        "Pongs are sent without FIN." Effect::Frame(Kind::Pong, |f| vec![f.unfinished()])),
    flaw!("talks-after-close" BOTH "framing/client-close-last"
        "After its close frame it says one more thing."
        Effect::Frame(Kind::Close, |f| vec![f, FrameSpec::text("{}")])),
    flaw!("close-code-reserved" BOTH "framing/client-close-code"
        "Close frames carry the code 1006." Effect::Frame(Kind::Close, |f| vec![FrameSpec { payload: vec![3, 238], ..f }])),
    flaw!("close-payload-short" BOTH "framing/client-close-payload"
        "Close frames carry a single byte." Effect::Frame(Kind::Close, |f| vec![FrameSpec { payload: vec![3], ..f }])),
    flaw!("close-reason-not-utf8" BOTH "framing/client-close-reason" "The reason in close frames is no UTF-8."
    Effect::Frame(Kind::Close, |mut f| {
        if f.payload.len() < 2 {
            f.payload = vec![3, 232];
        }
        f.payload.extend(b"\xff\xfe");
        vec![f]
    })),
    flaw!("no-pong" BOTH "framing/client-pong"
        "Pings are not answered." Effect::Switch(Switch::NoPong)),
    flaw!("pong-empty" BOTH "framing/client-pong-payload" "Pongs are empty, whatever the ping."
        Effect::Frame(Kind::Pong, |f| vec![FrameSpec { payload: vec![], ..f }])),
    flaw!("no-pong-while-open" BOTH "framing/client-pong-while-open"
        "Pings are not answered while a request waits for its answer." Effect::Switch(Switch::NoPongWhileOpen)),
    flaw!("closes-on-pong" BOTH "framing/client-unasked-pong" "A pong that it did not ask for makes it end the connection."
        Effect::Switch(Switch::ClosesOnPong)),
    flaw!("close-not-answered" BOTH "framing/client-close-answered"
        "A close frame is answered by closing the TCP connection." Effect::Switch(Switch::CloseNotAnswered)),
    flaw!("close-not-echoed" BOTH "framing/client-close-echoed" "A close frame is answered with the code 1000, whatever it had."
        Effect::Switch(Switch::AnswersCloseWith1000)),
    flaw!("leaves-silently" BOTH "framing/client-closes" "It ends its connection without a close frame."
        Effect::Switch(Switch::LeavesSilently)),
    flaw!("deaf-beyond-125" BOTH "framing/client-length-16" "Messages of more than 125 bytes are passed over."
        Effect::Switch(Switch::DeafBeyond(125))),
    flaw!("deaf-beyond-64k" BOTH "framing/client-length-64"
        "Messages of more than 65535 bytes are passed over." Effect::Switch(Switch::DeafBeyond(0xffff))),
    flaw!("deaf-beyond-1m" BOTH "framing/client-large-message" "Messages of more than a mebibyte are passed over."
        Effect::Switch(Switch::DeafBeyond(1 << 20))),
    flaw!("frame-in-one-read" BOTH "framing/client-segments" "A short frame must come in one TCP segment."
        Effect::Switch(Switch::LosesSplitFrames)),
    flaw!("one-frame-a-read" BOTH "framing/client-joined-frames" "Of several frames in one TCP segment the first is seen."
        Effect::Switch(Switch::LosesJoinedFrames)),
    flaw!("refuses-fragments" BOTH "framing/client-fragmented-input"
        "A message in fragments ends the connection." Effect::Switch(Switch::RefusesFragments)),
    flaw!("checks-fragments-alone" BOTH "framing/client-fragmented-character"
        "Each fragment must be valid UTF-8 by itself." Effect::Switch(Switch::ChecksFragmentsAlone)),
    flaw!("forgets-at-control" BOTH "framing/client-control-between"
        "A ping between fragments makes it forget the message." Effect::Switch(Switch::ForgetsAtControl)),
    flaw!("takes-masked" BOTH "framing/client-masked-refused" "Frames with a mask are read."
        Effect::Switch(Switch::Tolerates(FrameFault::Mask))),
    flaw!("takes-reserved-bits" BOTH "framing/client-reserved-bits-refused"
        "Reserved bits are overlooked." Effect::Switch(Switch::Tolerates(FrameFault::ReservedBits))),
    flaw!("takes-reserved-opcodes" BOTH "framing/client-opcode-refused"
        "Frames with a reserved opcode are passed over." Effect::Switch(Switch::Tolerates(FrameFault::Opcode))),
    flaw!("takes-bad-utf8" BOTH "framing/client-utf8-refused"
        "What is no UTF-8 in a text is replaced." Effect::Switch(Switch::Tolerates(FrameFault::Utf8))),
    flaw!("takes-bad-control" BOTH "framing/client-control-refused"
        "Control frames may be fragmented and long." Effect::Switch(Switch::Tolerates(FrameFault::Control))),
    flaw!("takes-bad-fragments" BOTH "framing/client-fragments-refused"
        "Continuations of nothing are passed over, unfinished messages forgotten."
        Effect::Switch(Switch::Tolerates(FrameFault::Fragments))),
    flaw!("takes-bad-close" BOTH "framing/client-close-refused"
        "A malformed close frame is answered with the code that it has, as a sound one is."
        Effect::Switch(Switch::Tolerates(FrameFault::Close))),
    flaw!("failure-code-normal" BOTH "framing/client-failure-code"
        "A connection that fails for a fault of the editor is closed with the code 1000."
        Effect::Switch(Switch::WrongFailureCode)),
];

/// In two halves; `second` says what the second is.
fn split(frame: FrameSpec, second: fn(FrameSpec) -> FrameSpec) -> Vec<FrameSpec> {
    let mut first = frame.clone();
    let rest = first.payload.split_off(first.payload.len().saturating_sub(1));
    let rest = second(FrameSpec { payload: rest, ..frame });
    let fin = rest.opcode != opcode::CONTINUATION;
    vec![FrameSpec { fin, ..first }, rest]
}

fn latin_1(text: &mut Vec<u8>) {
    let chars = String::from_utf8_lossy(text).into_owned();
    *text = chars.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
}
