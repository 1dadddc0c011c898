//! What the ends of WebSockets can do otherwise, whatever goes over them: how they send frames, how they take them, and how
//! they close.

use crate::peer::deviation::value::latin_1;
use crate::peer::deviation::{Deviations, FlawRow, Includes, Why, flaw};
use crate::trace::Head;
use crate::trace::opcode;
use crate::wire::websocket::{ClientRequest, FrameSpec, LengthForm, Mask};

use FrameKind::{Close, Message, Pong};
use SocketEffect::{Accepts, Asks, Frame, Text};

/// An effect on what an end sends.
#[derive(Clone, Copy, Debug)]
pub enum SocketEffect {
    /// Rewrites the request for a handshake.
    Asks(fn(&mut ClientRequest)),
    /// Rewrites the head of the response that accepts a handshake.
    Accepts(fn(&mut Head)),
    /// Rewrites the text of a message.
    Text(fn(&mut Vec<u8>)),
    /// Rewrites a frame to what is sent instead.
    Frame(FrameKind, fn(FrameSpec) -> Vec<FrameSpec>),
}

/// Which frames an effect concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Frames that carry a message.
    Message,
    /// Pongs.
    Pong,
    /// Close frames.
    Close,
}

/// Behaviour of an end that is decided by a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketSwitch {
    /// Pings are not answered.
    NoPong,
    /// A pong that nobody asked for ends the connection.
    ClosesOnPong,
    /// A close frame is answered by the end of the TCP connection.
    CloseNotAnswered,
    /// A close frame is passed over.
    CloseIgnored,
    /// A close frame is answered with the code 1000.
    CloseNotEchoed,
    /// A connection that fails is closed with the code 1000.
    WrongFailureCode,
    /// Data frames of so many bytes, from the first number up to the second, are passed over.
    Deaf(u64, u64),
    /// A message in fragments ends the connection.
    RefusesFragments,
    /// A message in fragments is passed over.
    IgnoresFragments,
    /// Each fragment has to be UTF-8 by itself.
    ChecksFragmentsAlone,
    /// A control frame makes it forget the message that is not whole yet.
    ForgetsAtControl,
    /// A short frame that does not come in one segment is lost.
    LosesSplitFrames,
    /// Of several frames in one segment all but the first are lost.
    LosesJoinedFrames,
    /// Frames with this fault are read.
    Tolerates(FrameFault),
}

/// Faults of frames that a lax end overlooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFault {
    /// A mask where there must be none, or none where there must be one.
    Mask,
    ReservedBits,
    Opcode,
    Utf8,
    Control,
    Fragments,
    Close,
}

impl FrameFault {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Mask, Self::ReservedBits, Self::Opcode, Self::Utf8, Self::Control, Self::Fragments, Self::Close];
}

impl<E: Copy + Includes<SocketEffect>> Deviations<E> {
    /// Rewrites the request for a handshake.
    pub fn handshake_request(&self, request: &mut ClientRequest) -> Why {
        self.rewrite(request, |effect| if let Asks(change) = effect { Some(change) } else { None })
    }

    /// Rewrites the head of the response that accepts a handshake.
    pub fn accepting_head(&self, head: &mut Head) -> Why {
        self.rewrite(head, |effect| if let Accepts(change) = effect { Some(change) } else { None })
    }

    /// Rewrites the text of a message.
    pub fn message_text(&self, text: &mut Vec<u8>) -> Why {
        self.rewrite(text, |effect| if let Text(change) = effect { Some(change) } else { None })
    }

    /// The frames that are sent for a frame, each with the flaw that has changed it.
    pub fn frames(&self, kind: FrameKind, frame: FrameSpec) -> Vec<(FrameSpec, Why)> {
        let mut frames = vec![(frame, None)];
        for (deviation, effect) in self.effects() {
            if let Frame(of, change) = effect
                && of == kind
            {
                let changed = |(frame, why): (FrameSpec, Why)| {
                    change(frame).into_iter().map(move |frame| (frame, deviation.why().or(why)))
                };
                frames = frames.into_iter().flat_map(changed).collect();
            }
        }
        frames
    }
}

/// The key in the example of RFC 6455 section 1.2.
const SAMPLE_KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// Flaws in what an end sends.
pub const SENDING: &[FlawRow<SocketEffect>] = &[
    flaw!("accept-key-wrong" "connection/accept-key" | "websocket/handshake" "`Sec-WebSocket-Accept` belongs to another key."
        Accepts(|head| set_header(head, "Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))),
    flaw!("old-version" "connection/client-version" | "websocket/client-handshake" "The handshake asks for version 8."
        Asks(|request| request.headers.push(("Sec-WebSocket-Version".to_owned(), Some("8".to_owned()))))),
    flaw!("same-key" "connection/client-key-fresh" | "websocket/client-key-fresh" "Every handshake has the same key."
        Asks(|request| request.headers.push(("Sec-WebSocket-Key".to_owned(), Some(SAMPLE_KEY.to_owned()))))),
    flaw!("same-mask" "framing/client-mask-fresh" | "websocket/client-mask-fresh" "Messages are masked with the same key, always."
        Frame(Message, |f| vec![f.masked(Mask::Key(*b"mask"))])),
    flaw!("binary-frames" "framing/text-frames" | "framing/client-text-frames" | "websocket/text" | "websocket/client-text"
        "Messages are sent as binary data."
        Frame(Message, |f| vec![FrameSpec { opcode: opcode::BINARY, ..f }])),
    flaw!("two-documents" "framing/json" | "framing/client-json" | "websocket/text"
        "Each message has a second JSON document after the first."
        Text(|text| text.extend(b"\n{}"))),
    flaw!("messages-in-pieces" "framing/json" | "framing/client-json"
        "The last byte of each message goes in a text frame of its own."
        Frame(Message, |f| split(f, |f| f))),
    flaw!("fragmented-messages" "framing/one-frame" | "framing/client-one-frame" "Messages are sent in two fragments."
        Frame(Message, |f| split(f, |f| FrameSpec { opcode: opcode::CONTINUATION, ..f }))),
    flaw!("latin-1" "framing/utf8" | "framing/client-utf8" "Characters beyond ASCII are sent as Latin-1." Text(latin_1)),
    flaw!("masked-frames" "framing/unmasked" | "websocket/unmasked" "Messages are masked, as those of clients are."
        Frame(Message, |f| vec![f.masked(Mask::Fresh)])),
    flaw!("unmasked-frames" "framing/client-masked" | "websocket/client-masked" "Messages are not masked."
        Frame(Message, |f| vec![f.masked(Mask::Off)])),
    flaw!("reserved-bit" "framing/reserved-bits" | "framing/client-reserved-bits" | "websocket/frames" | "websocket/client-frames"
        "Messages have a reserved bit set, as if they were compressed."
        Frame(Message, |f| vec![FrameSpec { rsv: 4, ..f }])),
    flaw!("reserved-opcode" "framing/opcode" | "framing/client-opcode" | "websocket/frames"
        "Before each message goes a frame with a reserved opcode."
        Frame(Message, |f| vec![FrameSpec::new(3, "x"), f])),
    flaw!("long-lengths" "framing/shortest-length" | "framing/client-shortest-length" | "websocket/frames" | "websocket/client-frames"
        "Every length is written in 64 bits."
        Frame(Message, |f| vec![FrameSpec { length: LengthForm::Bits(64), ..f }])),
    flaw!("stray-continuation" "framing/fragments" | "framing/client-fragments" "After each message goes a continuation of nothing."
        Frame(Message, |f| vec![f, FrameSpec::continuation("")])),
    flaw!("pong-too-long" "framing/control-length" | "framing/client-control-length" "Pongs are filled up to 126 bytes."
    Frame(Pong, |mut f| {
        f.payload.resize(126, b' ');
        vec![f]
    })),
    flaw!("pong-in-fragments" "framing/control-whole" | "framing/client-control-whole" "Pongs are sent without FIN."
        Frame(Pong, |f| vec![f.unfinished()])),
    flaw!("pong-empty" "framing/pong-payload" | "framing/client-pong-payload" "Pongs are empty, whatever the ping."
        Frame(Pong, |f| vec![FrameSpec { payload: vec![], ..f }])),
    flaw!("close-code-reserved" "framing/close-code" | "framing/client-close-code" | "websocket/frames" | "websocket/client-frames"
        ["framing/close-refused": "A close frame with this code is answered as if it were sound."]
        "Close frames carry the code 1006."
        Frame(Close, |f| vec![FrameSpec { payload: vec![3, 238], ..f }])),
    flaw!("close-payload-short" "framing/close-payload" | "framing/client-close-payload"
        ["framing/close-refused": "A close frame with a single byte is answered as if it were sound."]
        "Close frames carry a single byte."
        Frame(Close, |f| vec![FrameSpec { payload: vec![3], ..f }])),
    flaw!("close-reason-not-utf8" "framing/close-reason" | "framing/client-close-reason" "The reason in close frames is no UTF-8."
    Frame(Close, |mut f| {
        if f.payload.len() < 2 {
            f.payload = vec![3, 232];
        }
        f.payload.extend(b"\xff\xfe");
        vec![f]
    })),
];

/// Flaws in how an end takes frames and closes.
pub const TAKING: &[FlawRow<SocketSwitch>] = &[
    flaw!("no-pong" "framing/pong" | "framing/client-pong" | "websocket/pong" | "websocket/client-pong" "Pings are not answered."
        SocketSwitch::NoPong),
    flaw!("closes-on-pong" "framing/pong-unsolicited" | "framing/client-unasked-pong"
        "A pong that nobody asked for ends the connection." SocketSwitch::ClosesOnPong),
    flaw!("close-not-answered" "framing/close-answered" | "framing/client-close-answered"
        "A close frame is answered by closing the TCP connection." SocketSwitch::CloseNotAnswered),
    flaw!("close-frame-ignored" "framing/close-answered" | "websocket/close-response" | "websocket/client-close-response"
        "A close frame is passed over, and the connection kept." SocketSwitch::CloseIgnored),
    flaw!("close-not-echoed" "framing/close-echoed" | "framing/client-close-echoed"
        "A close frame is answered with the code 1000, whatever it had." SocketSwitch::CloseNotEchoed),
    flaw!("failure-code-normal" "framing/failure-code" | "framing/client-failure-code"
        ["framing/close-refused": "So is one that fails for a bad close frame."]
        "A connection that fails for a fault of the other end is closed with the code 1000." SocketSwitch::WrongFailureCode),
    flaw!("deaf-beyond-125" "framing/length-16" | "framing/client-length-16"
        ["envelope/answered": "A request of more than 125 bytes is not answered."]
        "Messages of more than 125 bytes are passed over." SocketSwitch::Deaf(126, u64::MAX)),
    flaw!("deaf-to-signed" "framing/length-16" | "framing/client-length-16"
        "Messages of 32768 to 65535 bytes are passed over." SocketSwitch::Deaf(0x8000, 0xffff)),
    flaw!("deaf-beyond-64k" "framing/length-64" | "framing/client-length-64"
        "Messages of more than 65535 bytes are passed over." SocketSwitch::Deaf(0x10000, u64::MAX)),
    flaw!("deaf-beyond-1m" "framing/large-message" | "framing/client-large-message"
        "Messages of more than a mebibyte are passed over." SocketSwitch::Deaf((1 << 20) + 1, u64::MAX)),
    flaw!("frame-in-one-read" "framing/split-segments" | "framing/client-segments"
        "A short frame must come in one TCP segment." SocketSwitch::LosesSplitFrames),
    flaw!("one-frame-a-read" "framing/joined-segments" | "framing/client-joined-frames"
        ["envelope/pipelined": "Requests that are sent at once come in one segment."]
        "Of several frames in one TCP segment the first is seen." SocketSwitch::LosesJoinedFrames),
    flaw!("refuses-fragments" "framing/fragmented-input" | "framing/client-fragmented-input"
        "A message in fragments ends the connection." SocketSwitch::RefusesFragments),
    flaw!("ignores-fragments" "websocket/fragmented" | "websocket/client-fragmented"
        "A message in fragments is passed over." SocketSwitch::IgnoresFragments),
    flaw!("checks-fragments-alone" "framing/fragmented-character" | "framing/client-fragmented-character"
        "Each fragment must be valid UTF-8 by itself." SocketSwitch::ChecksFragmentsAlone),
    flaw!("forgets-at-control" "framing/control-between" | "framing/client-control-between"
        "A ping between fragments makes it forget the message." SocketSwitch::ForgetsAtControl),
    flaw!("takes-unmasked" "framing/unmasked-refused" "Frames without a mask are read."
        SocketSwitch::Tolerates(FrameFault::Mask)),
    flaw!("takes-masked" "framing/client-masked-refused" "Frames with a mask are read."
        SocketSwitch::Tolerates(FrameFault::Mask)),
    flaw!("takes-reserved-bits" "framing/reserved-bits-refused" | "framing/client-reserved-bits-refused"
        "Reserved bits are overlooked." SocketSwitch::Tolerates(FrameFault::ReservedBits)),
    flaw!("takes-reserved-opcodes" "framing/opcode-refused" | "framing/client-opcode-refused"
        "Frames with a reserved opcode are passed over." SocketSwitch::Tolerates(FrameFault::Opcode)),
    flaw!("takes-bad-utf8" "framing/utf8-refused" | "framing/client-utf8-refused"
        "What is no UTF-8 in a text is replaced." SocketSwitch::Tolerates(FrameFault::Utf8)),
    flaw!("takes-bad-control" "framing/control-refused" | "framing/client-control-refused"
        "Control frames may be fragmented and long." SocketSwitch::Tolerates(FrameFault::Control)),
    flaw!("takes-bad-fragments" "framing/fragments-refused" | "framing/client-fragments-refused"
        "Continuations of nothing are passed over, unfinished messages forgotten." SocketSwitch::Tolerates(FrameFault::Fragments)),
    flaw!("takes-bad-close" "framing/close-refused" | "framing/client-close-refused"
        "A malformed close frame is answered with the code that it has, as a sound one is."
        SocketSwitch::Tolerates(FrameFault::Close)),
];

/// Leaves out a header.
pub fn drop_header(head: &mut Head, name: &str) {
    head.headers.retain(|(given, _)| given != name);
}

/// Gives a header another value.
pub fn set_header(head: &mut Head, name: &str, value: &str) {
    drop_header(head, name);
    head.headers.push((name.to_owned(), value.to_owned()));
}

/// In fragments of this many bytes each, by the length of the whole.
pub fn in_fragments(frame: FrameSpec, size: fn(usize) -> usize) -> Vec<FrameSpec> {
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
pub fn between(frame: FrameSpec, other: FrameSpec) -> Vec<FrameSpec> {
    let mut frames = in_fragments(frame, |len| len.div_ceil(2));
    frames.insert(frames.len().min(1), other);
    frames
}

/// In two frames, of which the second has the last byte and is what `second` makes of it.
fn split(frame: FrameSpec, second: fn(FrameSpec) -> FrameSpec) -> Vec<FrameSpec> {
    let mut first = frame.clone();
    let rest = first.payload.split_off(first.payload.len().saturating_sub(1));
    let rest = second(FrameSpec { payload: rest, ..frame });
    let fin = rest.opcode != opcode::CONTINUATION;
    vec![FrameSpec { fin, ..first }, rest]
}
