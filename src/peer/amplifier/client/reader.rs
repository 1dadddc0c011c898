//! Reading an event stream, and misreading it.

use crate::peer::deviation::Includes;
use crate::trace::StreamEvent;
use crate::wire::http::{BYTE_ORDER_MARK, EventReader};

use super::deviations::{AmplifierClientEffect, Deviations};

/// How many bytes of one event are kept.
const MAX_EVENT: usize = 16 << 20;
/// A line beyond this, in bytes, would make a fragile client die.
const LONG_LINE: usize = 512 << 10;

/// What a client can do otherwise where it reads an event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderSwitch {
    /// Lines have to end in CR LF.
    NeedsCrLf,
    /// Lines have to end in LF alone.
    NeedsLf,
    /// A CR alone ends no line.
    NoLoneCr,
    /// A CR LF that is cut in two is two line ends.
    SplitCrLf,
    /// U+0085, U+2028 and U+2029 end a line.
    UnicodeLineEnds,
    /// A byte order mark at the beginning of a stream is a part of its first line.
    NoBom,
    /// Each piece of a stream is read by itself.
    PiecesApart,
    /// The characters of each piece are decoded by themselves.
    CharactersApart,
    /// Of several events in one piece the first is reported.
    FirstOfPiece,
    /// An event is told that was not complete when its stream ended.
    TellsPending,
    /// After a stream that is no UTF-8 no call comes to its end.
    DeafAfterBadText,
    /// A line of a stream that does not end makes it exit.
    DiesAtLongLine,
    /// After a line of a stream that does not end no call comes to its end.
    DeafAfterLongLine,
}

/// Reads one stream. It is as good as its deviations let it be.
pub struct EventStreamReader {
    deviations: Deviations,
    events: EventReader,
    first: bool,
    /// A carriage return came last.
    after_cr: bool,
    line: Vec<u8>,
    /// How long the line is that has not ended, in bytes.
    length: usize,
}

/// What a piece of a stream brings.
#[derive(Debug, Default)]
pub struct ReadOutcome {
    /// The events that it completes.
    pub events: Vec<StreamEvent>,
    /// A flaw gives the stream up after it.
    pub gives_up: bool,
    /// A flaw makes the client respond to no calls any more.
    pub stops_responding: bool,
    /// A flaw makes the client die of it.
    pub exits: bool,
}

impl EventStreamReader {
    /// At the beginning of a stream.
    pub fn new(deviations: Deviations) -> Self {
        let events = EventReader::new(MAX_EVENT);
        Self { deviations, events, first: true, after_cr: false, line: vec![], length: 0 }
    }

    /// Takes in the next piece.
    pub fn read(&mut self, piece: &[u8]) -> ReadOutcome {
        let bad = || std::str::from_utf8(piece).is_err_and(|error| error.error_len().is_some());
        let too_long = self.is_too_long(piece);
        let stops_responding =
            self.has(ReaderSwitch::DeafAfterBadText) && bad() || self.has(ReaderSwitch::DeafAfterLongLine) && too_long;
        let exits = self.has(ReaderSwitch::DiesAtLongLine) && too_long;
        let mut outcome = ReadOutcome { stops_responding, exits, gives_up: self.ends(piece), ..ReadOutcome::default() };
        if self.has(ReaderSwitch::PiecesApart) {
            self.events = EventReader::new(MAX_EVENT);
        }
        let bytes = self.misread(piece);
        outcome.events = self.events.read(&bytes);
        outcome.events.retain(|event| {
            !self.deviations.any(|effect| matches!(effect, AmplifierClientEffect::Skips(skips) if skips(event)))
        });
        for event in &mut outcome.events {
            let change = |effect| if let AmplifierClientEffect::Stream(change) = effect { Some(change) } else { None };
            self.deviations.rewrite(event, change);
        }
        if self.has(ReaderSwitch::FirstOfPiece) {
            outcome.events.truncate(1);
        }
        outcome
    }

    /// What a flaw takes for an event when the stream ends in the middle of one.
    pub fn incomplete_events(&mut self) -> Vec<StreamEvent> {
        if self.has(ReaderSwitch::TellsPending) { self.events.read(b"\n\n") } else { vec![] }
    }

    fn has<K: PartialEq>(&self, switch: K) -> bool
    where
        AmplifierClientEffect: Includes<K>,
    {
        self.deviations.has(switch)
    }

    /// Whether the line that this piece leaves without an end is longer than a flaw can bear.
    fn is_too_long(&mut self, piece: &[u8]) -> bool {
        self.length = match piece.iter().rposition(|byte| matches!(byte, b'\r' | b'\n')) {
            Some(at) => piece.len() - at - 1,
            None => self.length.saturating_add(piece.len()),
        };
        self.length > LONG_LINE
    }

    /// Whether a line ends in this piece at which a flaw gives the stream up.
    fn ends(&mut self, piece: &[u8]) -> bool {
        if !self.deviations.any(|effect| matches!(effect, AmplifierClientEffect::EndsAtLine(_))) {
            return false;
        }
        let mut found = false;
        for byte in piece {
            if !matches!(byte, b'\r' | b'\n') {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            found |=
                self.deviations.any(|effect| matches!(effect, AmplifierClientEffect::EndsAtLine(ends) if ends(&line)));
        }
        found
    }

    /// The bytes as a flaw sees them.
    fn misread(&mut self, piece: &[u8]) -> Vec<u8> {
        let before = self.after_cr;
        self.after_cr = piece.last().map_or(before, |byte| *byte == b'\r');
        let mut bytes = vec![];
        if self.has(ReaderSwitch::SplitCrLf) && before && piece.first() == Some(&b'\n') {
            bytes.push(b'\n');
        }
        if self.has(ReaderSwitch::NoBom) && std::mem::take(&mut self.first) {
            // The one before it is passed over, and that of the stream is not.
            bytes.extend(BYTE_ORDER_MARK);
        }
        if self.has(ReaderSwitch::CharactersApart) {
            bytes.extend(String::from_utf8_lossy(piece).into_owned().into_bytes());
            return bytes;
        }
        if self.has(ReaderSwitch::UnicodeLineEnds)
            && let Ok(text) = std::str::from_utf8(piece)
        {
            bytes.extend(text.replace(['\u{85}', '\u{2028}', '\u{2029}'], "\n").into_bytes());
            return bytes;
        }
        if self.has(ReaderSwitch::NoLoneCr) && before && piece.first() != Some(&b'\n') {
            bytes.push(b' ');
        }
        for (at, byte) in piece.iter().enumerate() {
            let after = if at == 0 { before } else { piece[at - 1] == b'\r' };
            bytes.push(match byte {
                b'\r' if self.has(ReaderSwitch::NeedsLf) => b' ',
                b'\n' if self.has(ReaderSwitch::NeedsCrLf) && !after => b' ',
                // What it is shows with the next byte.
                b'\r' if self.has(ReaderSwitch::NoLoneCr) => match piece.get(at + 1) {
                    Some(b'\n') => b'\r',
                    Some(_) => b' ',
                    None => continue,
                },
                byte => *byte,
            });
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::deviation::Deviation;

    fn read(switch: Option<ReaderSwitch>, pieces: &[&str]) -> Vec<String> {
        let deviation = |switch: ReaderSwitch| Deviation::flaw("one", vec![switch.on()].leak());
        let mut reader = EventStreamReader::new(switch.map(deviation).into_iter().collect());
        let mut events: Vec<StreamEvent> =
            pieces.iter().flat_map(|piece| reader.read(piece.as_bytes()).events).collect();
        events.extend(reader.incomplete_events());
        events.into_iter().filter_map(|event| event.data).collect()
    }

    #[test]
    fn a_sound_reader_reads_as_the_standard_says() {
        for pieces in [
            &["data: a\n\ndata: b\n\n"][..],
            &["data: a\r", "\n\r\ndata: b\r\n\r", "\n"],
            &["data: a\r\rda", "ta: b\r", "\r"],
            &["\u{feff}data: a\n\ndata: b\n\ndata: c\n"],
        ] {
            assert_eq!(read(None, pieces), ["a", "b"], "{pieces:?}");
        }
    }

    #[test]
    fn a_flawed_reader_misreads_what_its_flaw_is_about_and_nothing_else() {
        let two = ["data: a\ndata: b\n\n"];
        for (switch, pieces, wrong) in [
            (ReaderSwitch::NeedsCrLf, &two[..], &[][..]),
            (ReaderSwitch::NeedsLf, &["data: a\r\n\r\n"], &[]),
            (ReaderSwitch::NoLoneCr, &["data: a\r", "\r"], &[]),
            (ReaderSwitch::SplitCrLf, &["data: a\r", "\ndata: b\r\n\r\n"], &["a", "b"]),
            (ReaderSwitch::NoBom, &["\u{feff}data: a\n\n"], &[]),
            (ReaderSwitch::UnicodeLineEnds, &["data: a\u{2028}b\n\n"], &["a"]),
            (ReaderSwitch::PiecesApart, &["data: a", "\n\n"], &[]),
            (ReaderSwitch::FirstOfPiece, &["data: a\n\ndata: b\n\n"], &["a"]),
            (ReaderSwitch::TellsPending, &["data: a\n\ndata: b"], &["a", "b"]),
        ] {
            assert_eq!(read(Some(switch), pieces), wrong, "{switch:?}");
            let sound = if switch == ReaderSwitch::NeedsCrLf { "data: x\r\n\r\n" } else { "data: x\n\n" };
            assert_eq!(read(Some(switch), &[sound]), ["x"], "{switch:?}");
        }
        assert_eq!(read(Some(ReaderSwitch::NoLoneCr), &["data: a\r", "\n\r\n"]), ["a"]);
    }
}
