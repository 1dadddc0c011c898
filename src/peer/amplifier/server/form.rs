//! How messages are carried to subscribers, in all the ways that the standards allow, and some that they do not.

use std::time::Duration;

use crate::trace::StreamEvent;
use crate::wire::http::{BYTE_ORDER_MARK, EventWriter, Response};
use crate::wire::websocket::{FrameSpec, Reply};

use super::model::FeedMessage;
use super::quirks::Why;

/// How event streams are written.
#[derive(Clone, Debug)]
pub struct Form {
    /// The head of the answer.
    pub head: Response,
    /// Line ends and blanks.
    pub writer: EventWriter,
    /// Whether the stream begins with a byte order mark.
    pub mark: bool,
    /// Whether events have an `id`.
    pub id: bool,
    /// The `retry` of each event, in milliseconds.
    pub retry: Option<u64>,
    /// Under what type events come.
    pub kind: Kind,
    /// A comment before each event.
    pub comment: Option<&'static str>,
    /// Whether the JSON goes over several lines.
    pub lines: bool,
    /// The stream is written in TCP segments of so many bytes.
    pub split: Option<usize>,
    /// What is sent while nothing happens, and how often.
    pub alive: (Duration, &'static str),
    /// What is sent right after the head, as it is.
    pub first: &'static str,
    /// Changes the bytes of an event.
    pub bytes: Option<fn(&mut Vec<u8>)>,
    /// When the head is sent.
    pub begin: Begin,
    /// How the stream ends with its session.
    pub end: End,
    /// So many events are held back until there are as many, or the prompt is complete.
    pub hold: bool,
    /// Why it is wrong, if it is.
    pub why: Why,
}

/// Under what event type events come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// None, which is `message`.
    None,
    /// This one.
    Named(&'static str),
    /// The name of the event.
    Own,
}

/// When the head of a stream is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// At once.
    AtOnce,
    /// With the first event that is not `session:start`.
    WithEvent,
}

/// How a stream ends with its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should.
    Whole,
    /// Within its last event.
    InEvent,
    /// Not at all.
    Never,
}

impl Default for Form {
    fn default() -> Self {
        Self {
            head: Response::event_stream(),
            writer: EventWriter::default(),
            mark: false,
            id: false,
            retry: None,
            kind: Kind::None,
            comment: None,
            lines: false,
            split: None,
            alive: (Duration::from_secs(15), ": keep-alive\n\n"),
            first: "",
            bytes: None,
            begin: Begin::AtOnce,
            end: End::Whole,
            hold: false,
            why: None,
        }
    }
}

impl Form {
    /// What comes before any event.
    pub fn opening(&self) -> Vec<u8> {
        let mark = if self.mark { BYTE_ORDER_MARK } else { b"" };
        [mark, self.first.as_bytes()].concat()
    }

    /// The bytes of the event with this number.
    pub fn event(&self, told: &FeedMessage, number: u64) -> Vec<u8> {
        let data = if self.lines {
            // White space is free in JSON, also where it is a line end.
            serde_json::from_str::<serde_json::Value>(&told.json).map_or(told.json.clone(), |json| format!("{json:#}"))
        } else {
            told.json.clone()
        };
        let event = match self.kind {
            Kind::None => None,
            Kind::Named(name) => Some(name.to_owned()),
            Kind::Own => Some(told.event.clone()),
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
pub struct Frames {
    /// Changes the frames of a message.
    pub frames: Option<fn(Vec<FrameSpec>) -> Vec<FrameSpec>>,
    /// Changes the answer to the handshake.
    pub reply: Option<fn(&mut Reply)>,
    /// Events whose names have this in them are not told; nothing, where it is empty.
    pub skips: &'static str,
    /// Whether messages in several frames are passed over.
    pub whole_only: bool,
    /// Changes the text of a message.
    pub text: Option<fn(&mut String)>,
    /// Whether pings are answered.
    pub pong: bool,
    /// Whether close frames are.
    pub close: bool,
    /// Whether a refused message is told to the client.
    pub tells: TellMode,
    /// Why it is wrong, if it is.
    pub why: Why,
}

/// What a client is told whose message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TellMode {
    /// A message in the format of an error.
    Error,
    /// Nothing.
    Nothing,
    /// Nothing, and the connection is closed.
    Closes,
}

impl Default for Frames {
    fn default() -> Self {
        Self {
            frames: None,
            reply: None,
            skips: "",
            whole_only: false,
            text: None,
            pong: true,
            close: true,
            tells: TellMode::Error,
            why: None,
        }
    }
}

impl Frames {
    /// The frames of a message.
    pub fn message(&self, json: &str) -> Vec<FrameSpec> {
        let mut text = json.to_owned();
        if let Some(change) = self.text {
            change(&mut text);
        }
        let frames = vec![FrameSpec::text(text)];
        self.frames.map_or(frames.clone(), |change| change(frames))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::http::{EventReader, LineEnd};

    fn told(json: &serde_json::Value) -> FeedMessage {
        FeedMessage { event: "status:update".to_owned(), json: json.to_string(), at: Duration::ZERO, why: None }
    }

    #[test]
    fn an_event_is_the_same_in_every_form() {
        let json = json!({"event": "status:update", "data": {"message": "a\nb\r😀", "list": [1, {}]}});
        let forms = [
            Form::default(),
            Form { lines: true, writer: EventWriter { line_end: LineEnd::Cr, space: false }, ..Form::default() },
            Form { id: true, retry: Some(100), kind: Kind::Named("message"), comment: Some("x"), ..Form::default() },
            Form {
                mark: true,
                first: ":\n\n",
                writer: EventWriter { line_end: LineEnd::CrLf, space: true },
                ..Form::default()
            },
        ];
        for form in forms {
            let bytes = [form.opening(), form.event(&told(&json), 1)].concat();
            let events = EventReader::new(1 << 20).read(&bytes);
            let data: Vec<_> = events.into_iter().filter_map(|event| event.data).collect();
            let [data] = &data[..] else { panic!("{form:?}: {data:?}") };
            assert_eq!(serde_json::from_str::<serde_json::Value>(data).unwrap(), json, "{form:?}");
        }
        assert_eq!(Form::default().event(&told(&json!(1)), 1), b"data: 1\n\n");
    }
}
