//! Frames.

use crate::wire::websocket::{FrameSpec, LengthForm, Mask, opcode};

use super::super::quirks::{Effect, Kind, Of, Switch};
use super::{BOTH, Entry, flaw};
use crate::peer::amp::assembler::FrameFault;

pub const FLAWS: &[Entry] = &[
    flaw!("binary-frames" BOTH "framing/text-frames" "Messages are sent as binary data."
        Effect::Frame(Kind::Message, |f| vec![FrameSpec { opcode: opcode::BINARY, ..f }])),
    flaw!("two-documents" BOTH "framing/json" "Each message has a second JSON document after the first."
        Effect::Text(Of::Any, |text| text.extend(b"\n{}"))),
    flaw!("messages-in-pieces" BOTH "framing/json"
        "The last byte of each message goes in a text frame of its own."
        Effect::Frame(Kind::Message, |f| split(f, |f| f))),
    flaw!("fragmented-messages" BOTH "framing/one-frame" "Messages are sent in two fragments."
        Effect::Frame(Kind::Message, |f| split(f, |f| FrameSpec { opcode: opcode::CONTINUATION, ..f }))),
    flaw!("tiny-fragments" BOTH "framing/one-frame" "Messages are sent in up to 256 fragments, down to a byte each."
        Effect::Frame(Kind::Message, |f| in_fragments(f, |len| len.div_ceil(256)))),
    flaw!("empty-fragments" BOTH "framing/one-frame" "Messages are sent in fragments, some of which are empty."
    Effect::Frame(Kind::Message, |f| vec![
        FrameSpec { fin: false, payload: vec![], ..f.clone() },
        FrameSpec::continuation("").unfinished(),
        FrameSpec { opcode: opcode::CONTINUATION, fin: false, ..f },
        FrameSpec::continuation(""),
    ])),
    flaw!("pings-between-fragments" BOTH "framing/one-frame" "Messages are sent in two fragments, with a ping between them."
        Effect::Frame(Kind::Message, |f| between(f, FrameSpec::ping("between")))),
    flaw!("message-within-fragments" BOTH "framing/fragments"
        "Messages are sent in two fragments, with a whole other message between them."
        Effect::Frame(Kind::Message, |f| between(f, FrameSpec::text(STRANGE)))),
    flaw!("json-cut-short" BOTH "framing/json" "The second half of each message is missing."
        Effect::Text(Of::Any, |text| text.truncate(text.len() / 2))),
    flaw!("json-as-javascript" BOTH "framing/json" "Messages have single quotes instead of double ones."
        Effect::Text(Of::Any, |text| text.iter_mut().filter(|b| **b == b'"').for_each(|b| *b = b'\''))),
    flaw!("empty-messages" BOTH "framing/json" "Before each message goes an empty one."
        Effect::Frame(Kind::Message, |f| vec![FrameSpec::text(""), f])),
    flaw!("deep-json" BOTH "framing/json" "Before each message goes one that is nested ten thousand levels deep, and not whole."
        Effect::Frame(Kind::Message, |f| vec![FrameSpec::text("[".repeat(10_000)), f])),
    flaw!("bad-byte" BOTH "framing/utf8" "Each message ends with a byte that no UTF-8 has."
        Effect::Text(Of::Any, |text| text.push(0xff))),
    flaw!("latin-1" BOTH "framing/utf8"
        "The characters that Latin-1 has are sent as bytes of it." Effect::Text(Of::Any, latin_1)),
    flaw!("masked-frames" BOTH "framing/unmasked" "The editor masks its frames as clients do."
        Effect::Frame(Kind::Message, |f| vec![f.masked(Mask::Fresh)])),
    flaw!("reserved-bit" BOTH "framing/reserved-bits" "Messages have a reserved bit set, as if they were compressed."
        Effect::Frame(Kind::Message, |f| vec![FrameSpec { rsv: 4, ..f }])),
    flaw!("reserved-opcode" BOTH "framing/opcode"
        "Before each message goes a frame with a reserved opcode."
        Effect::Frame(Kind::Message, |f| vec![FrameSpec::new(3, "x"), f])),
    flaw!("long-lengths" BOTH "framing/shortest-length" "Every length is written in 64 bits."
        Effect::Frame(Kind::Message, |f| vec![FrameSpec { length: LengthForm::Bits(64), ..f }])),
    flaw!("length-absurd" BOTH "envelope/answered" "Each message announces a length that nobody can mean."
        Effect::Frame(Kind::Message, |f| vec![FrameSpec { length: LengthForm::Says { bits: 64, length: 1 << 62 }, ..f }])),
    flaw!("stray-continuation" BOTH "framing/fragments" "After each message goes a continuation of nothing."
        Effect::Frame(Kind::Message, |f| vec![f, FrameSpec::continuation("")])),
    flaw!("pong-too-long" BOTH "framing/control-length"
    "Pongs are filled up to 126 bytes." Effect::Frame(Kind::Pong, |mut f| {
        f.payload.resize(126, b' ');
        vec![f]
    })),
    flaw!("pong-in-fragments" BOTH "framing/control-whole"
        "Pongs are sent without FIN." Effect::Frame(Kind::Pong, |f| vec![f.unfinished()])),
    flaw!("no-pong" BOTH "framing/pong" "Pings are not answered."
        Effect::Switch(Switch::NoPong)),
    flaw!("pong-empty" BOTH "framing/pong-payload" "Pongs are empty, whatever the ping."
        Effect::Frame(Kind::Pong, |f| vec![FrameSpec { payload: vec![], ..f }])),
    flaw!("close-not-answered" BOTH "framing/close-answered"
        "A close frame is answered by closing the TCP connection." Effect::Switch(Switch::CloseNotAnswered)),
    flaw!("close-ignored" BOTH "framing/close-answered" "A close frame is passed over, and the connection kept."
        Effect::Switch(Switch::CloseIgnored)),
    flaw!("talks-after-close" BOTH "framing/close-last"
        "After its close frame the editor says one more thing."
        Effect::Frame(Kind::Close, |f| vec![f, FrameSpec::text(STRANGE)])),
    flaw!("close-code-reserved" BOTH "framing/close-code"
        ["framing/close-refused": "A close frame with this code is answered as if it were sound."]
        "Close frames carry the code 1006." Effect::Frame(Kind::Close, |f| vec![FrameSpec { payload: vec![3, 238], ..f }])),
    flaw!("close-code-no-status" BOTH "framing/close-code"
        ["framing/close-refused": "A close frame with this code is answered as if it were sound."]
        "Close frames carry the code 1005, which stands for none."
        Effect::Frame(Kind::Close, |f| vec![FrameSpec { payload: vec![3, 237], ..f }])),
    flaw!("close-payload-short" BOTH "framing/close-payload"
        ["framing/close-refused": "A close frame with a single byte is answered as if it were sound."]
        "Close frames carry a single byte." Effect::Frame(Kind::Close, |f| vec![FrameSpec { payload: vec![3], ..f }])),
    flaw!("close-reason-not-utf8" BOTH "framing/close-reason" "The reason in close frames is no UTF-8."
    Effect::Frame(Kind::Close, |mut f| {
        f.payload.resize(f.payload.len().max(2), 0);
        if f.payload[..2] == [0, 0] {
            f.payload = vec![3, 232];
        }
        f.payload.extend(b"\xff\xfe");
        vec![f]
    })),
    flaw!("close-not-echoed" BOTH "framing/close-echoed" "A close frame is answered with the code 1000, whatever it had."
        Effect::Switch(Switch::AnswersCloseWith1000)),
    flaw!("tcp-kept-open" BOTH "framing/tcp-closed" "After the close frames the TCP connection stays open."
        Effect::Switch(Switch::KeepsTcpOpen)),
    flaw!("deaf-beyond-125" BOTH "framing/length-16"
        ["envelope/answered": "A request of more than 125 bytes is not answered."]
        "Messages of more than 125 bytes are passed over." Effect::Switch(Switch::DeafBeyond(125))),
    flaw!("deaf-beyond-64k" BOTH "framing/length-64"
        "Messages of more than 65535 bytes are passed over." Effect::Switch(Switch::DeafBeyond(0xffff))),
    flaw!("deaf-beyond-1m" BOTH "framing/large-message"
        "Messages of more than a mebibyte are passed over." Effect::Switch(Switch::DeafBeyond(1 << 20))),
    flaw!("frame-in-one-read" BOTH "framing/split-segments"
        "A frame must come in one TCP segment." Effect::Switch(Switch::LosesSplitFrames)),
    flaw!("one-frame-a-read" BOTH "framing/joined-segments"
        ["envelope/pipelined": "Requests that are sent at once come in one segment."]
        "Of several frames in one TCP segment the first is seen." Effect::Switch(Switch::LosesJoinedFrames)),
    flaw!("closes-on-pong" BOTH "framing/pong-unsolicited" "A pong that nobody asked for ends the connection."
        Effect::Switch(Switch::ClosesOnPong)),
    flaw!("refuses-fragments" BOTH "framing/fragmented-input"
        "A message in fragments ends the connection." Effect::Switch(Switch::RefusesFragments)),
    flaw!("checks-fragments-alone" BOTH "framing/fragmented-character"
        "Each fragment must be valid UTF-8 by itself." Effect::Switch(Switch::ChecksFragmentsAlone)),
    flaw!("forgets-at-control" BOTH "framing/control-between"
        "A ping between fragments makes the editor forget the message." Effect::Switch(Switch::ForgetsAtControl)),
    flaw!("takes-unmasked" BOTH "framing/unmasked-refused" "Frames without a mask are served."
        Effect::Switch(Switch::Tolerates(FrameFault::Mask))),
    flaw!("takes-reserved-bits" BOTH "framing/reserved-bits-refused"
        "Reserved bits are overlooked." Effect::Switch(Switch::Tolerates(FrameFault::ReservedBits))),
    flaw!("takes-reserved-opcodes" BOTH "framing/opcode-refused"
        "Frames with a reserved opcode are passed over." Effect::Switch(Switch::Tolerates(FrameFault::Opcode))),
    flaw!("takes-bad-utf8" BOTH "framing/utf8-refused"
        "What is no UTF-8 in a text is replaced." Effect::Switch(Switch::Tolerates(FrameFault::Utf8))),
    flaw!("takes-bad-control" BOTH "framing/control-refused"
        "Control frames may be fragmented and long." Effect::Switch(Switch::Tolerates(FrameFault::Control))),
    flaw!("takes-bad-fragments" BOTH "framing/fragments-refused"
        "Continuations of nothing are passed over, unfinished messages forgotten."
        Effect::Switch(Switch::Tolerates(FrameFault::Fragments))),
    flaw!("takes-bad-close" BOTH "framing/close-refused"
        "A malformed close frame is answered with the code that it has, as a sound one is." Effect::Switch(Switch::Tolerates(FrameFault::Close))),
    flaw!("failure-code-normal" BOTH "framing/failure-code"
        ["framing/close-refused": "So is one that fails for a bad close frame."]
        "A connection that fails for a fault of the client is closed with the code 1000."
        Effect::Switch(Switch::WrongFailureCode)),
];

/// A message that tells nothing: a notification of what no edition has.
const STRANGE: &str = r#"{"serverNotification":{"method":{"somethingHappened":{}}}}"#;

/// In fragments of this many bytes each, by the length of the whole.
fn in_fragments(frame: FrameSpec, size: fn(usize) -> usize) -> Vec<FrameSpec> {
    let size = size(frame.payload.len()).max(1);
    let mut frames: Vec<FrameSpec> =
        frame.payload.chunks(size).map(|piece| FrameSpec::continuation(piece).unfinished()).collect();
    if let Some(first) = frames.first_mut() {
        first.opcode = frame.opcode;
    }
    if let Some(last) = frames.last_mut() {
        last.fin = true;
    }
    frames
}

/// In two fragments, with another frame between them.
fn between(frame: FrameSpec, other: FrameSpec) -> Vec<FrameSpec> {
    let mut frames = in_fragments(frame, |len| len.div_ceil(2));
    frames.insert(1, other);
    frames
}

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
    let bytes = |c: char| u8::try_from(u32::from(c)).map_or_else(|_| c.to_string().into_bytes(), |byte| vec![byte]);
    *text = chars.chars().flat_map(bytes).collect();
}
