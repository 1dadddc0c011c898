//! How messages are carried to subscribers, in all the ways that the standards allow, and some that they do not.

use std::time::Duration;

use crate::peer::deviation::Why;
use crate::trace::StreamEvent;
use crate::wire::http::{BYTE_ORDER_MARK, EventWriter, Response};

use super::model::FeedMessage;

/// How event streams are written.
#[derive(Clone, Debug)]
pub struct StreamFormat {
    /// The head of the response.
    pub head: Response,
    /// Line ends and blanks.
    pub writer: EventWriter,
    /// Whether the stream begins with a byte order mark.
    pub bom: bool,
    /// Whether events have an `id`.
    pub id: bool,
    /// The `retry` of each event, in milliseconds.
    pub retry: Option<u64>,
    /// Under what type events come.
    pub kind: EventTypeChoice,
    /// A comment before each event.
    pub comment: Option<&'static str>,
    /// Whether the JSON goes over several lines.
    pub lines: bool,
    /// The stream is written in TCP segments of so many bytes.
    pub split: Option<usize>,
    /// What is sent while nothing happens, and how often.
    pub keep_alive: (Duration, &'static str),
    /// What is sent right after the head, as it is.
    pub first: &'static str,
    /// Changes the bytes of an event.
    pub bytes: Option<fn(&mut Vec<u8>)>,
    /// When the head is sent.
    pub begin: HeadTiming,
    /// How the stream ends with its session.
    pub end: StreamEnd,
    /// So many events are held back until there are as many, or the prompt is complete.
    pub batches: bool,
    /// Why it is wrong, if it is.
    pub why: Why,
}

/// Under what event type events come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTypeChoice {
    /// None, which is `message`.
    None,
    /// A fixed one.
    Named(&'static str),
    /// The name of the event.
    Own,
}

/// When the head of a stream is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadTiming {
    /// At once.
    AtOnce,
    /// With the first event that is not `session:start`.
    WithEvent,
}

/// How a stream ends with its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// As it should.
    Complete,
    /// Within its last event.
    InEvent,
    /// Not at all.
    Never,
}

impl Default for StreamFormat {
    fn default() -> Self {
        Self {
            head: Response::event_stream(),
            writer: EventWriter::default(),
            bom: false,
            id: false,
            retry: None,
            kind: EventTypeChoice::None,
            comment: None,
            lines: false,
            split: None,
            keep_alive: (Duration::from_secs(15), ": keep-alive\n\n"),
            first: "",
            bytes: None,
            begin: HeadTiming::AtOnce,
            end: StreamEnd::Complete,
            batches: false,
            why: None,
        }
    }
}

impl StreamFormat {
    /// What comes before any event.
    pub fn opening(&self) -> Vec<u8> {
        let bom = if self.bom { BYTE_ORDER_MARK } else { b"" };
        [bom, self.first.as_bytes()].concat()
    }

    /// The bytes of the event with this number.
    pub fn event(&self, message: &FeedMessage, number: u64) -> Vec<u8> {
        let data = if self.lines {
            // White space is free in JSON, also where it is a line end.
            serde_json::from_str::<serde_json::Value>(&message.json)
                .map_or(message.json.clone(), |json| format!("{json:#}"))
        } else {
            message.json.clone()
        };
        let event = match self.kind {
            EventTypeChoice::None => None,
            EventTypeChoice::Named(name) => Some(name.to_owned()),
            EventTypeChoice::Own => Some(message.event.clone()),
        };
        let id = self.id.then(|| number.to_string());
        let comment = self.comment.map(str::to_owned);
        let event = StreamEvent { event, data: Some(data), id, retry: self.retry, comment };
        let mut bytes = self.writer.write(&event);
        if let Some(change) = self.bytes {
            change(&mut bytes);
        }
        bytes
    }
}

/// How messages go over WebSockets.
#[derive(Clone, Debug)]
pub struct SocketFormat {
    /// Whether the handshake is refused.
    pub refused: bool,
    /// Events whose names contain this are not sent; all are, where it is empty.
    pub skips: &'static str,
    /// How the client learns that its message is refused.
    pub refusal_report: RefusalReport,
    /// Why it is wrong, if it is.
    pub why: Why,
}

/// How a client learns that its message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReport {
    /// A message in the format of an error.
    Error,
    /// Nothing.
    Nothing,
    /// Nothing, and the connection is closed.
    Closes,
}

impl Default for SocketFormat {
    fn default() -> Self {
        Self { refused: false, skips: "", refusal_report: RefusalReport::Error, why: None }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::http::{EventReader, LineEnd};

    fn message(json: &serde_json::Value) -> FeedMessage {
        FeedMessage { event: "status:update".to_owned(), json: json.to_string(), at: Duration::ZERO, why: None }
    }

    #[test]
    fn an_event_is_the_same_in_every_form() {
        let json = json!({"event": "status:update", "data": {"message": "a\nb\r😀", "list": [1, {}]}});
        let formats = [
            StreamFormat::default(),
            StreamFormat {
                lines: true,
                writer: EventWriter { line_end: LineEnd::Cr, space: false },
                ..StreamFormat::default()
            },
            StreamFormat {
                id: true,
                retry: Some(100),
                kind: EventTypeChoice::Named("message"),
                comment: Some("x"),
                ..StreamFormat::default()
            },
            StreamFormat {
                bom: true,
                first: ":\n\n",
                writer: EventWriter { line_end: LineEnd::CrLf, space: true },
                ..StreamFormat::default()
            },
        ];
        for format in formats {
            let bytes = [format.opening(), format.event(&message(&json), 1)].concat();
            let events = EventReader::new(1 << 20).read(&bytes);
            let data: Vec<_> = events.into_iter().filter_map(|event| event.data).collect();
            let [data] = &data[..] else { panic!("{format:?}: {data:?}") };
            assert_eq!(serde_json::from_str::<serde_json::Value>(data).unwrap(), json, "{format:?}");
        }
        assert_eq!(StreamFormat::default().event(&message(&json!(1)), 1), b"data: 1\n\n");
    }
}
