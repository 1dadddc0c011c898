//! A trace as what its two ends did, step by step.

mod loaded;
mod steps;

use serde_json::Value;

use crate::trace::opcode;
use crate::trace::{
    Body, Call, Closed, End, Frame, Head, HttpRequest, HttpResponse, Message, ReadError, Returned, Stimulus,
    StreamEvent,
};

use super::Position;
use super::recorded::without_id;

pub use loaded::{LoadedTrace, Script};
pub use steps::Steps;

/// Why a trace cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The trace cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The trace is too large to be held.
    #[error(
        "{path}: the trace has more than {limit} to be replayed; cut it shorter: `head -n N` leaves a readable trace"
    )]
    TooLong {
        /// The file.
        path: String,
        /// The bound, with its unit.
        limit: &'static str,
    },
}

/// Something that one end did.
#[derive(Debug)]
pub struct Step {
    /// Where it begins in the record.
    pub at: Position,
    /// Microseconds since the trace began.
    pub t: u64,
    /// The connection; empty where the step belongs to none. A connection that was opened anew has a number behind its name.
    pub conn: String,
    /// The end that did it.
    pub end: End,
    /// Why the step was wrong on purpose, if it was.
    pub deliberate: Option<String>,
    /// The act.
    pub act: RecordedAct,
}

/// An act of an end.
#[derive(Debug)]
pub enum RecordedAct {
    /// A client requests a WebSocket.
    Upgrade(Head),
    /// A server responds to that.
    Accept(Head),
    /// Frames that make a message, or a single frame.
    Unit(Unit),
    /// Bytes that are no complete frame or head.
    Bytes(Vec<u8>),
    /// A client makes a request.
    Request(Box<Request>),
    /// A server begins the response.
    Respond(HttpResponse),
    /// A piece of the response's body.
    Piece(Body),
    /// An event in the response.
    Event(StreamEvent),
    /// The complete content of the response.
    Content(Message),
    /// An end closes its side of the connection.
    Close(Closed),
    /// A driven client is called.
    Call(Call),
    /// The result of the call.
    Returned(Returned),
    /// The subject was made to do something from outside.
    Stimulus(Stimulus),
}

/// Frames that belong together: those of a message with whatever control frames came in between, or a control frame.
#[derive(Debug, Default)]
pub struct Unit {
    /// The frames, in order.
    pub frames: Vec<Frame>,
    /// The message, where they make one.
    pub message: Option<Message>,
    /// Whether a well-behaved end sends this by itself: the pong to a ping, the close frame that answers another one.
    pub automatic: bool,
}

impl Step {
    /// How many bytes of what was sent it holds, about.
    pub fn weight(&self) -> usize {
        let payload = |message: &Option<Message>| {
            message.as_ref().and_then(|m| m.payload.as_ref()).map_or(0, |payload| payload.as_bytes().len())
        };
        match &self.act {
            RecordedAct::Unit(unit) => {
                // What a message says is held as JSON, too.
                let frames: usize = unit.frames.iter().map(|frame| frame.payload.as_bytes().len()).sum();
                2 * frames + payload(&unit.message)
            }
            RecordedAct::Bytes(bytes) => bytes.len(),
            RecordedAct::Request(request) => {
                2 * request.pieces.iter().map(Vec::len).sum::<usize>() + payload(&request.message)
            }
            RecordedAct::Piece(body) => 2 * body.bytes.as_bytes().len(),
            RecordedAct::Event(event) => event.data.as_ref().map_or(0, String::len),
            _ => 0,
        }
    }

    /// The JSON that it says, without the id of a request; none where it says none.
    pub fn json(&self) -> Option<Value> {
        let message = match &self.act {
            RecordedAct::Unit(unit) => unit.message.as_ref(),
            RecordedAct::Request(request) => request.message.as_ref(),
            RecordedAct::Content(message) => Some(message),
            RecordedAct::Event(event) => return serde_json::from_str(event.data.as_ref()?).ok(),
            _ => None,
        };
        message.and_then(|message| message.json.as_ref()).map(without_id)
    }
}

impl Unit {
    /// What the message says, where its frames are compressed (RFC 7692): they mean something on that connection only.
    pub fn compressed(&self) -> Option<&Message> {
        let compressed = self.frames.iter().any(|frame| frame.opcode < opcode::CLOSE && frame.rsv & 4 != 0);
        self.message.as_ref().filter(|message| compressed && (message.json.is_some() || message.payload.is_some()))
    }

    /// The control frame that it is; none where it is a message or a part of one.
    pub fn control(&self) -> Option<&Frame> {
        self.frames.first().filter(|frame| self.message.is_none() && frame.opcode >= opcode::CLOSE)
    }
}

/// A request with its content.
#[derive(Debug)]
pub struct Request {
    /// The head of the request.
    pub head: HttpRequest,
    /// The content, in the pieces in which it came.
    pub pieces: Vec<Vec<u8>>,
    /// The fields after it.
    pub trailers: Vec<(String, String)>,
    /// Whether the complete content came.
    pub complete: bool,
    /// The message in the content.
    pub message: Option<Message>,
}

/// How an end behaved on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndBehaviour {
    /// Whether it answered pings; it is taken to, where there were none.
    pub pong: bool,
    /// Whether it answered a close frame, likewise.
    pub close: bool,
}

impl Default for EndBehaviour {
    fn default() -> Self {
        Self { pong: true, close: true }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::Cursor;
    use std::path::Path;

    use crate::trace::TraceReader;

    use super::*;

    fn read(lines: &[&str]) -> (Vec<Step>, HashMap<(String, End), EndBehaviour>) {
        let header = r#"{"version":1,"suite":"t","protocol":"amp","edition":"cli","client":{"is":"peer"},"server":{"is":"subject"},"clock":{"unit":"us","start":"2026-01-02T03:04:05Z"}}"#;
        let mut text = format!("{header}\n");
        for (i, line) in lines.iter().enumerate() {
            text += &format!("{{\"i\":{i},\"t\":{i},{line}}}\n");
        }
        text += &format!("{{\"end\":\"complete\",\"events\":{}}}\n", lines.len());
        let path = Path::new("t.trace");
        let reader = TraceReader::new(Box::new(Cursor::new(text.into_bytes())), path).unwrap();
        let mut steps = Steps::new(reader, path, Box::new(|_| None));
        let mut all = vec![];
        while let Some(step) = steps.step().unwrap() {
            all.push(step);
        }
        (all, std::mem::take(&mut steps.facts().behaviour))
    }

    fn frame(dir: &str, opcode: u8, fin: bool, text: &str) -> String {
        let length = text.len();
        format!(
            r#""conn":"a","dir":"{dir}","kind":"frame","fin":{fin},"opcode":{opcode},"masked":true,"length":{length},"payload":{{"text":"{text}"}}"#
        )
    }

    #[test]
    fn the_frames_of_a_message_are_one_step_with_what_came_between() {
        let first = frame("c2s", 1, false, "[");
        let ping = frame("c2s", 9, true, "p");
        let last = frame("c2s", 0, true, "]");
        let message = r#""conn":"a","dir":"c2s","kind":"message","text":true,"json":[],"frames":2"#;
        let pong = frame("s2c", 10, true, "p");
        let (steps, habits) = read(&[&first, &ping, &last, message, &pong]);
        let units: Vec<(usize, bool, bool)> = steps
            .iter()
            .map(|step| match &step.act {
                RecordedAct::Unit(unit) => (unit.frames.len(), unit.message.is_some(), unit.automatic),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(units, [(3, true, false), (1, false, true)]);
        assert!(habits.is_empty(), "both behaved well");
    }

    #[test]
    fn who_answers_no_ping_and_no_close_frame_is_remembered() {
        let (_, habits) = read(&[&frame("c2s", 9, true, "p"), &frame("c2s", 8, true, "ab")]);
        let server = ("a".to_owned(), End::Server);
        assert_eq!(habits, HashMap::from([(server, EndBehaviour { pong: false, close: false })]));
    }

    #[test]
    fn a_connection_that_is_opened_anew_gets_a_name_of_its_own() {
        let open = r#""conn":"a","dir":"c2s","kind":"handshake","start":"GET / HTTP/1.1","headers":[]"#;
        let (steps, _) = read(&[open, open]);
        let names: Vec<&str> = steps.iter().map(|step| step.conn.as_str()).collect();
        assert_eq!(names, ["a", "a#2"]);
    }

    #[test]
    fn the_end_of_a_connection_on_which_nothing_was_asked_is_no_step() {
        let closed = r#""conn":"a","dir":"s2c","kind":"closed","how":"eof""#;
        let asked = r#""conn":"b","dir":"c2s","kind":"handshake","start":"GET / HTTP/1.1","headers":[]"#;
        let (steps, _) = read(&[closed, &closed.replace("\"a\"", "\"b\""), asked]);
        let names: Vec<&str> = steps.iter().map(|step| step.conn.as_str()).collect();
        assert_eq!(names, ["b", "b"], "also what is asked after the other side has ended counts");
    }

    #[test]
    fn a_long_record_is_read_as_it_goes() {
        let lines: Vec<String> = (0..30_000).map(|n| frame("c2s", 9, true, &format!("{n}"))).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (steps, _) = read(&lines);
        assert_eq!(steps.len(), 30_000);
        assert!(steps.iter().zip(0..).all(|(step, n)| step.at.event == n));
    }
}
