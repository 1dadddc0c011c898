//! Frames as the ends of a play take them, with flaws or without: [`Assembler`] judges those of the other end by RFC 6455 and
//! joins them to messages; [`SegmentFlaws`] are flaws that show in how a stream is cut into TCP segments, which the
//! connection itself does not see. With one of these on, the two ends talk through a relay that reads as such an end would.

use std::ops::RangeInclusive;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use crate::peer::deviation::websocket::{FrameFault, SocketSwitch};
use crate::peer::deviation::{Deviations, Includes};
use crate::protocol::rfc6455::may_be_sent;
use crate::trace::{Frame, opcode};

/// How an end takes frames; the default is as RFC 6455 has it.
#[derive(Clone, Debug, Default)]
pub struct FrameTolerance {
    /// Whether the other end is the client, who has to mask its frames (section 5.1).
    pub from_client: bool,
    /// The faults that are overlooked.
    pub tolerated: Vec<FrameFault>,
    /// A control frame makes it forget the message that is not whole yet.
    pub forgets_at_control: bool,
    /// Data frames of so many bytes are passed over.
    pub ignores: Option<RangeInclusive<u64>>,
    /// Fragments end the connection.
    pub refuses_fragments: bool,
    /// Each fragment has to be UTF-8 by itself.
    pub checks_fragments_alone: bool,
}

impl FrameTolerance {
    /// How an end with these deviations takes the frames of a client, or of a server.
    pub fn new<E: Copy + Includes<SocketSwitch>>(from_client: bool, deviations: &Deviations<E>) -> Self {
        let deaf = |switch| if let SocketSwitch::Deaf(from, to) = switch { Some(from..=to) } else { None };
        let tolerates = |fault: &FrameFault| deviations.has(SocketSwitch::Tolerates(*fault));
        Self {
            from_client,
            tolerated: FrameFault::ALL.into_iter().filter(tolerates).collect(),
            forgets_at_control: deviations.has(SocketSwitch::ForgetsAtControl),
            ignores: deviations.choose(deaf),
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
        if tolerance.ignores.as_ref().is_some_and(|lengths| lengths.contains(&frame.length)) {
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

#[cfg(test)]
mod tests {
    use crate::trace::Payload;

    use super::*;

    fn frame(opcode: u8, fin: bool, payload: &[u8]) -> Frame {
        let length = payload.len() as u64;
        Frame {
            fin,
            rsv: 0,
            opcode,
            masked: true,
            mask_reused: false,
            length,
            length_bits: None,
            payload: Payload::from(payload),
        }
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
