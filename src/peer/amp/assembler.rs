//! Frames of the other end, judged by RFC 6455 and joined to messages.

use crate::peer::deviation::websocket::{FrameFault, SocketSwitch};
use crate::peer::deviation::{Deviations, Includes};
use crate::protocol::rfc6455::may_be_sent;
use crate::trace::Frame;
use crate::trace::opcode;

/// How an end takes frames; the default is as RFC 6455 has it.
#[derive(Clone, Debug, Default)]
pub struct FrameTolerance {
    /// Whether the other end is the client, who has to mask its frames (section 5.1).
    pub from_client: bool,
    /// The faults that are overlooked.
    pub tolerated: Vec<FrameFault>,
    /// A control frame makes it forget the message that is not whole yet.
    pub forgets_at_control: bool,
    /// Longer data frames are passed over, in bytes.
    pub ignores_beyond: Option<u64>,
    /// Fragments end the connection.
    pub refuses_fragments: bool,
    /// Each fragment has to be UTF-8 by itself.
    pub checks_fragments_alone: bool,
}

impl FrameTolerance {
    /// How an end with these deviations takes the frames of a client, or of a server.
    pub fn new<E: Copy + Includes<SocketSwitch>>(from_client: bool, deviations: &Deviations<E>) -> Self {
        let beyond = |switch| if let SocketSwitch::DeafBeyond(bytes) = switch { Some(bytes) } else { None };
        let tolerates = |fault: &FrameFault| deviations.has(SocketSwitch::Tolerates(*fault));
        Self {
            from_client,
            tolerated: FrameFault::ALL.into_iter().filter(tolerates).collect(),
            forgets_at_control: deviations.has(SocketSwitch::ForgetsAtControl),
            ignores_beyond: deviations.choose(beyond),
            refuses_fragments: deviations.has(SocketSwitch::RefusesFragments),
            checks_fragments_alone: deviations.has(SocketSwitch::ChecksFragmentsAlone),
        }
    }

    fn tolerates(&self, fault: FrameFault) -> bool {
        self.tolerated.contains(&fault)
    }
}

/// The result of taking a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssembledFrame {
    /// More has to come, or it is of no consequence.
    Nothing,
    /// A whole text message.
    Text(Vec<u8>),
    /// A whole binary message.
    Binary,
    /// A ping with its payload.
    Ping(Vec<u8>),
    /// A pong.
    Pong,
    /// A sound close frame; its code, if it carries one.
    Close(Option<u16>),
    /// The connection has to be failed with this code (RFC 6455 section 7.1.7).
    Broken(u16, &'static str),
}

/// Judges the frames of one connection and joins them.
#[derive(Debug)]
pub struct Assembler {
    limit: usize,
    /// Opcode and payload of the message that is not whole yet.
    partial: Option<(u8, Vec<u8>)>,
}

const PROTOCOL_ERROR: u16 = 1002;
const UNSUPPORTED: u16 = 1003;
const BAD_TEXT: u16 = 1007;
const TOO_BIG: u16 = 1009;

impl Assembler {
    /// `limit` bounds messages, in bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, partial: None }
    }

    /// Takes the next frame.
    pub fn frame(&mut self, frame: &Frame, tolerance: &FrameTolerance) -> AssembledFrame {
        let tolerated = |fault| tolerance.tolerates(fault);
        let payload = frame.payload.as_bytes();
        if frame.length > self.limit as u64 || payload.len() as u64 != frame.length {
            return AssembledFrame::Broken(TOO_BIG, "the frame is too long");
        }
        if frame.masked != tolerance.from_client && !tolerated(FrameFault::Mask) {
            let why =
                if frame.masked { "servers must not mask their frames" } else { "clients have to mask their frames" };
            return AssembledFrame::Broken(PROTOCOL_ERROR, why);
        }
        if frame.rsv != 0 && !tolerated(FrameFault::ReservedBits) {
            return AssembledFrame::Broken(PROTOCOL_ERROR, "a reserved bit is set");
        }
        if frame.opcode >= opcode::CLOSE && (!frame.fin || payload.len() > 125) && !tolerated(FrameFault::Control) {
            return AssembledFrame::Broken(PROTOCOL_ERROR, "a control frame is fragmented or too long");
        }
        if frame.opcode >= opcode::CLOSE && self.partial.is_some() && tolerance.forgets_at_control {
            self.partial = None;
        }
        match frame.opcode {
            opcode::CONTINUATION | opcode::TEXT | opcode::BINARY => self.data(frame, tolerance),
            opcode::CLOSE => close(payload, tolerance),
            opcode::PING => AssembledFrame::Ping(payload.to_vec()),
            opcode::PONG => AssembledFrame::Pong,
            _ if tolerated(FrameFault::Opcode) => AssembledFrame::Nothing,
            _ => AssembledFrame::Broken(PROTOCOL_ERROR, "the opcode is reserved"),
        }
    }

    fn data(&mut self, frame: &Frame, tolerance: &FrameTolerance) -> AssembledFrame {
        let payload = frame.payload.as_bytes();
        let first = frame.opcode != opcode::CONTINUATION;
        let tolerated = |fault| tolerance.tolerates(fault);
        if tolerance.ignores_beyond.is_some_and(|n| frame.length > n) {
            return AssembledFrame::Nothing;
        }
        if !(first && frame.fin) && tolerance.refuses_fragments {
            return AssembledFrame::Broken(UNSUPPORTED, "messages have to come in one frame");
        }
        match (&mut self.partial, first) {
            (partial @ None, true) => *partial = Some((frame.opcode, payload.to_vec())),
            (Some((_, message)), false) if message.len() + payload.len() > self.limit => {
                return AssembledFrame::Broken(TOO_BIG, "the message is too long");
            }
            (Some((_, message)), false) => message.extend_from_slice(payload),
            (partial @ Some(_), true) if tolerated(FrameFault::Fragments) => {
                *partial = Some((frame.opcode, payload.to_vec()))
            }
            (None, false) if tolerated(FrameFault::Fragments) => return AssembledFrame::Nothing,
            (Some(_), true) => return AssembledFrame::Broken(PROTOCOL_ERROR, "a message begins within another"),
            (None, false) => return AssembledFrame::Broken(PROTOCOL_ERROR, "a continuation of nothing"),
        }
        if std::str::from_utf8(payload).is_err() && !frame.fin && tolerance.checks_fragments_alone {
            return AssembledFrame::Broken(BAD_TEXT, "the text is no UTF-8");
        }
        if !frame.fin {
            return AssembledFrame::Nothing;
        }
        match self.partial.take() {
            Some((opcode::TEXT, text)) if std::str::from_utf8(&text).is_ok() => AssembledFrame::Text(text),
            Some((opcode::TEXT, text)) if tolerated(FrameFault::Utf8) => {
                AssembledFrame::Text(String::from_utf8_lossy(&text).into_owned().into_bytes())
            }
            Some((opcode::TEXT, _)) => AssembledFrame::Broken(BAD_TEXT, "the text is no UTF-8"),
            _ => AssembledFrame::Binary,
        }
    }
}

fn close(payload: &[u8], tolerance: &FrameTolerance) -> AssembledFrame {
    let sound = match payload {
        [] => return AssembledFrame::Close(None),
        [_] => Err((PROTOCOL_ERROR, None)),
        [a, b, reason @ ..] => match u16::from_be_bytes([*a, *b]) {
            code if !may_be_sent(code) => Err((PROTOCOL_ERROR, Some(code))),
            code if std::str::from_utf8(reason).is_err() => Err((BAD_TEXT, Some(code))),
            code => Ok(code),
        },
    };
    match sound {
        Ok(code) => AssembledFrame::Close(Some(code)),
        Err((_, sent)) if tolerance.tolerates(FrameFault::Close) => AssembledFrame::Close(sent),
        Err((code, _)) => AssembledFrame::Broken(code, "the close frame is malformed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Payload;

    fn frame(opcode: u8, fin: bool, payload: &[u8]) -> Frame {
        let length = payload.len() as u64;
        Frame { fin, rsv: 0, opcode, masked: true, length, length_bits: None, payload: Payload::from(payload) }
    }

    fn feed(frames: &[Frame]) -> Vec<AssembledFrame> {
        let mut assembler = Assembler::new(1000);
        frames
            .iter()
            .map(|f| assembler.frame(f, &FrameTolerance { from_client: true, ..FrameTolerance::default() }))
            .collect()
    }

    #[test]
    fn a_message_may_come_in_pieces_that_part_a_character_with_a_ping_between() {
        let inputs = feed(&[frame(1, false, b"\xc3"), frame(9, true, b"p"), frame(0, true, b"\xa4")]);
        assert_eq!(
            inputs,
            [AssembledFrame::Nothing, AssembledFrame::Ping(b"p".to_vec()), AssembledFrame::Text("ä".into())]
        );
    }

    #[test]
    fn every_breach_of_the_rfc_has_its_close_code() {
        let plain = frame(1, true, b"x");
        for (broken, code) in [
            (Frame { masked: false, ..plain.clone() }, 1002),
            (Frame { rsv: 4, ..plain.clone() }, 1002),
            (Frame { opcode: 3, ..plain.clone() }, 1002),
            (Frame { opcode: 11, ..plain.clone() }, 1002),
            (Frame { length: 1 << 62, ..plain.clone() }, 1009),
            (frame(0, true, b"x"), 1002),
            (frame(9, false, b"x"), 1002),
            (frame(9, true, &[b'x'; 126]), 1002),
            (frame(1, true, b"\xff"), 1007),
            (frame(8, true, b"\x03"), 1002),
            (frame(8, true, &1005u16.to_be_bytes()), 1002),
            (frame(8, true, b"\x03\xe8\xff"), 1007),
        ] {
            assert!(
                matches!(feed(std::slice::from_ref(&broken))[0], AssembledFrame::Broken(c, _) if c == code),
                "{broken:?}"
            );
        }
        assert!(matches!(feed(&[frame(1, false, b"a"), plain])[1], AssembledFrame::Broken(1002, _)));
        let long = [frame(1, false, &[b'x'; 600]), frame(0, true, &[b'x'; 600])];
        assert!(matches!(feed(&long)[1], AssembledFrame::Broken(1009, _)));
    }

    #[test]
    fn a_lax_reader_takes_a_malformed_close_frame_with_the_code_that_it_has() {
        let lax = FrameTolerance { tolerated: vec![FrameFault::Close], ..FrameTolerance::default() };
        for (payload, code) in
            [(&b"\x03"[..], None), (&1005u16.to_be_bytes(), Some(1005)), (b"\x03\xe8\xff", Some(1000))]
        {
            assert_eq!(close(payload, &lax), AssembledFrame::Close(code));
        }
    }
}
