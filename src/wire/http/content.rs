//! [`BodyReader`]: decodes the content coding of a body, and joins it to one message or reads it as an event stream.

use std::io::Write as _;

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::trace::{Head, Message, StreamEvent, is_event_stream, trim_field};

use super::Limits;
use super::event_stream::EventReader;

/// Reads a body piece by piece. It keeps no more than the bound of a message.
#[derive(Debug)]
pub struct BodyReader {
    coding: BodyDecoder,
    form: BodyForm,
    limit: usize,
    /// Whether any bytes have come.
    started: bool,
}

#[derive(Debug)]
enum BodyForm {
    Whole(Vec<u8>),
    Events(EventReader),
    /// Requested as an event stream, but with another content type: read as both.
    Unlabelled {
        /// The complete body; none if it is too long.
        bytes: Option<Vec<u8>>,
        reader: EventReader,
        /// Whether an event has come.
        any: bool,
    },
    /// Too long, or in a coding that is not known.
    Dropped {
        unknown: bool,
    },
}

/// The decoder of a content coding (RFC 9110 section 8.4.1).
#[derive(Debug)]
pub enum BodyDecoder {
    Identity,
    Gzip(MultiGzDecoder<Vec<u8>>),
    /// The first bytes, which decide whether it is the zlib format, or the raw one that some implementations send.
    Deflate(Vec<u8>),
    Zlib(ZlibDecoder<Vec<u8>>),
    BareDeflate(DeflateDecoder<Vec<u8>>),
    /// The bytes are not in the coding: nothing more is decoded.
    Broken,
}

/// How many bytes are decoded at once: they may become a thousand times as many.
const DECODE_STEP: usize = 4 << 10;

/// The message that the body belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOf {
    /// A request.
    Request,
    /// A response.
    Response {
        /// Whether the request accepts event streams.
        accepts_events: bool,
    },
}

impl BodyReader {
    /// A reader for the body after this head. A response with the content type of an event stream is read as one. Where
    /// the request accepts one and a success has another content type, the events are read as well: some servers forget
    /// the content type, and other faults of the stream are still to be found.
    pub fn new(head: &Head, of: MessageOf, limits: &Limits) -> Self {
        let coding = BodyDecoder::of(head.header("content-encoding"));
        let form = match coding {
            None => BodyForm::Dropped { unknown: true },
            Some(_) if of != MessageOf::Request && head.header("content-type").next().is_some_and(is_event_stream) => {
                BodyForm::Events(EventReader::new(limits.event))
            }
            Some(_) if of == (MessageOf::Response { accepts_events: true }) && is_success(head) => {
                BodyForm::Unlabelled { bytes: Some(vec![]), reader: EventReader::new(limits.event), any: false }
            }
            Some(_) => BodyForm::Whole(vec![]),
        };
        Self { coding: coding.unwrap_or(BodyDecoder::Broken), form, limit: limits.message, started: false }
    }

    /// Whether the body is read as an event stream.
    pub fn is_event_stream(&self) -> bool {
        matches!(self.form, BodyForm::Events(_) | BodyForm::Unlabelled { any: true, .. })
    }

    /// Reads the next piece; returns the events that it completes.
    pub fn read(&mut self, piece: &[u8]) -> Vec<StreamEvent> {
        self.started |= !piece.is_empty();
        if matches!(self.coding, BodyDecoder::Identity) {
            return self.take(piece);
        }
        let mut events = vec![];
        for step in piece.chunks(DECODE_STEP) {
            if matches!(self.form, BodyForm::Dropped { .. }) {
                break;
            }
            let plain = self.coding.decode(step);
            events.extend(self.take(&plain));
        }
        events
    }

    /// The complete message; none for an event stream, or if it was too long. A message that could not be decoded, or
    /// not to its end, has no payload.
    pub fn finish(self) -> Option<Message> {
        let decoded = !self.started || self.coding.ends();
        match self.form {
            BodyForm::Whole(_) | BodyForm::Unlabelled { .. } if !decoded => {
                Some(Message { text: false, json: None, payload: None, frames: 1 })
            }
            BodyForm::Whole(bytes) | BodyForm::Unlabelled { bytes: Some(bytes), .. } => {
                let text = std::str::from_utf8(&bytes).is_ok();
                Some(Message::joined(text, &bytes, 1))
            }
            BodyForm::Dropped { unknown: true } => Some(Message { text: false, json: None, payload: None, frames: 1 }),
            BodyForm::Dropped { unknown: false } | BodyForm::Unlabelled { bytes: None, .. } | BodyForm::Events(_) => {
                None
            }
        }
    }

    fn take(&mut self, plain: &[u8]) -> Vec<StreamEvent> {
        match &mut self.form {
            BodyForm::Events(reader) => return reader.read(plain),
            BodyForm::Unlabelled { bytes, reader, any } => {
                match bytes {
                    Some(all) if all.len() + plain.len() <= self.limit => all.extend_from_slice(plain),
                    _ => *bytes = None,
                }
                let events = reader.read(plain);
                *any |= !events.is_empty();
                return events;
            }
            BodyForm::Whole(bytes) if bytes.len() + plain.len() <= self.limit => bytes.extend_from_slice(plain),
            BodyForm::Whole(_) => self.form = BodyForm::Dropped { unknown: false },
            BodyForm::Dropped { .. } => {}
        }
        vec![]
    }
}

impl BodyDecoder {
    /// The decoder for these values of `Content-Encoding`; none where there are several codings, or one that is not known.
    pub fn of<'h>(values: impl Iterator<Item = &'h str>) -> Option<Self> {
        let mut codings = values.flat_map(|value| value.split(',')).map(trim_field);
        match codings.next().map(str::to_ascii_lowercase).as_deref() {
            _ if codings.next().is_some() => None,
            None | Some("" | "identity") => Some(Self::Identity),
            Some("gzip" | "x-gzip") => Some(Self::Gzip(MultiGzDecoder::new(vec![]))),
            Some("deflate") => Some(Self::Deflate(vec![])),
            Some(_) => None,
        }
    }

    /// Whether the bytes end at the end of the coded data.
    fn ends(self) -> bool {
        match self {
            Self::Identity => true,
            Self::Gzip(mut decoder) => decoder.try_finish().is_ok(),
            Self::Zlib(mut decoder) => decoder.try_finish().is_ok(),
            Self::BareDeflate(mut decoder) => decoder.try_finish().is_ok(),
            Self::Deflate(_) | Self::Broken => false,
        }
    }

    /// Decodes bytes. Bytes that are not in the coding give none.
    pub fn decode(&mut self, bytes: &[u8]) -> Vec<u8> {
        if let Self::Deflate(pending) = self {
            pending.extend_from_slice(bytes);
            let [first, second, ..] = pending[..] else { return vec![] };
            let pending = std::mem::take(pending);
            // RFC 1950 section 2.2: the method, and a check over the first two bytes.
            let zlib = first & 0x0f == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31);
            *self = if zlib {
                Self::Zlib(ZlibDecoder::new(vec![]))
            } else {
                Self::BareDeflate(DeflateDecoder::new(vec![]))
            };
            return self.decode(&pending);
        }
        let (written, plain) = match self {
            Self::Identity => return bytes.to_vec(),
            Self::Gzip(decoder) => (decoder.write_all(bytes).and_then(|()| decoder.flush()), decoder.get_mut()),
            Self::Zlib(decoder) => (decoder.write_all(bytes).and_then(|()| decoder.flush()), decoder.get_mut()),
            Self::BareDeflate(decoder) => (decoder.write_all(bytes).and_then(|()| decoder.flush()), decoder.get_mut()),
            Self::Deflate(_) | Self::Broken => return vec![],
        };
        let plain = std::mem::take(plain);
        if written.is_err() {
            *self = Self::Broken;
        }
        plain
    }
}

fn is_success(head: &Head) -> bool {
    head.status().is_some_and(|status| (200..300).contains(&status))
}

/// Whether a request with this head accepts event streams.
pub fn accepts_events(head: &Head) -> bool {
    head.header("accept").any(|value| value.to_ascii_lowercase().contains("text/event-stream"))
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use serde_json::json;

    use super::*;
    use crate::wire::http_head::parse;

    const PLAIN: MessageOf = MessageOf::Response { accepts_events: false };

    fn message(coding: &str, bytes: &[u8], piece: usize, limit: usize) -> Option<Message> {
        let head = parse(format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n").as_bytes());
        let mut content = BodyReader::new(&head, PLAIN, &Limits { message: limit, ..Limits::default() });
        bytes.chunks(piece).for_each(|piece| assert_eq!(content.read(piece), []));
        content.finish()
    }

    fn coded(coding: &str, plain: &[u8]) -> Vec<u8> {
        let level = Compression::default();
        match coding {
            "gzip" => {
                let mut encoder = GzEncoder::new(vec![], level);
                encoder.write_all(plain).and_then(|()| encoder.finish())
            }
            "deflate" => {
                let mut encoder = ZlibEncoder::new(vec![], level);
                encoder.write_all(plain).and_then(|()| encoder.finish())
            }
            _ => {
                let mut encoder = DeflateEncoder::new(vec![], level);
                encoder.write_all(plain).and_then(|()| encoder.finish())
            }
        }
        .expect("a vector takes everything")
    }

    #[test]
    fn codings_are_undone_however_the_body_is_cut() {
        let plain = json!({"a": "b".repeat(10_000)});
        for coding in ["gzip", "deflate", "bare"] {
            let bytes = coded(coding, plain.to_string().as_bytes());
            let announced = if coding == "bare" { "deflate" } else { coding };
            for piece in [1, 3, 100_000] {
                let message = message(announced, &bytes, piece, 1 << 20);
                assert_eq!(message.and_then(|m| m.json), Some(plain.clone()), "{coding} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn events_are_read_where_they_were_asked_for_whatever_the_content_type() {
        let stream = b"data: {}\n\ndata: 2\n\n";
        let read = |kind: &str, accepts_events| {
            let head = parse(format!("HTTP/1.1 200 OK\r\n{kind}\r\n").as_bytes());
            let mut content = BodyReader::new(&head, MessageOf::Response { accepts_events }, &Limits::default());
            let events = stream.chunks(3).flat_map(|piece| content.read(piece)).count();
            (events, content.is_event_stream(), content.finish().is_some())
        };
        for kind in ["", "Content-Type: application/json\r\n", "Content-Type: text/html; charset=utf-8\r\n"] {
            assert_eq!(read(kind, true), (2, true, true), "{kind}");
            assert_eq!(read(kind, false), (0, false, true), "{kind}");
        }
        assert_eq!(read("Content-Type: text/event-stream\r\n", false), (2, true, false));
    }

    #[test]
    fn a_small_body_that_becomes_a_huge_one_is_dropped() {
        let bomb = coded("gzip", &vec![0; 50 << 20]);
        assert!(bomb.len() < 100_000);
        assert_eq!(message("gzip", &bomb, 100_000, 1 << 20), None);
    }

    #[test]
    fn what_cannot_be_undone_has_no_payload() {
        let empty = Message::joined(true, b"", 1);
        assert_eq!(message("gzip", b"", 100, 100), Some(empty));
        let unknown = Message { text: false, json: None, payload: None, frames: 1 };
        assert_eq!(message("br", b"anything", 100, 100), Some(unknown.clone()));
        assert_eq!(message("gzip, gzip", b"anything", 100, 100), Some(unknown.clone()));
        assert_eq!(message("gzip", b"plain text", 100, 100), Some(unknown.clone()));
        let cut = &coded("gzip", b"a text")[..20];
        assert_eq!(message("gzip", cut, 100, 100), Some(unknown));
    }
}
