//! A trace as what its two ends did, step by step.

mod builder;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::protocol::{Lock, Protocol, Reach};
use crate::trace::{
    Body, Call, Closed, End, Frame, Head, Header, HttpRequest, HttpResponse, Known, Message, ReadError, Returned,
    Stimulus, StreamEvent, TraceReader,
};
use crate::wire::websocket::opcode;

use builder::Builder;

use super::Position;
use super::said::without_id;
use super::values::secrets_in;

/// The most steps that are held.
const MOST_STEPS: usize = 500_000;
/// The most bytes of what is to be sent that are held.
const MOST_BYTES: usize = 256 << 20;

/// Why a trace cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is too much to be held.
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

/// A trace as what its two ends did.
#[derive(Debug)]
pub struct Script {
    /// What the trace is about.
    pub header: Header,
    /// What they did, in order.
    pub steps: Vec<Step>,
    /// Whether the trace was cut.
    pub cut: bool,
    /// What the server's lockfile said, where the trace has one.
    pub lock: Option<Lock>,
    /// The ports that something listened on.
    pub ports: BTreeSet<u16>,
    /// How each end behaved on each connection.
    pub habits: HashMap<(String, End), Habits>,
    /// The run directory's workspace, where wirecert had started one of the ends.
    pub workspace: Option<String>,
    /// What cannot be replayed.
    pub notes: Vec<String>,
}

/// One thing that one end did.
#[derive(Debug)]
pub struct Step {
    /// Where it begins in the record.
    pub at: Position,
    /// Microseconds since the trace began.
    pub t: u64,
    /// Its connection; empty where it belongs to none. One that was opened anew has a number behind its name.
    pub conn: String,
    /// Who did it.
    pub end: End,
    /// Why it was wrong on purpose, if it was.
    pub why: Option<String>,
    /// What it is.
    pub act: Act,
}

/// What an end can do.
#[derive(Debug)]
pub enum Act {
    /// A client asks for a WebSocket.
    Upgrade(Head),
    /// A server answers that.
    Accept(Head),
    /// Frames that make a message, or one frame that stands for itself.
    Unit(Unit),
    /// Bytes that are no whole frame or head.
    Bytes(Vec<u8>),
    /// A client makes a request.
    Request(Box<Request>),
    /// A server begins to answer it.
    Respond(HttpResponse),
    /// A piece of that answer.
    Piece(Body),
    /// An event in that answer.
    Event(StreamEvent),
    /// All that the answer says.
    Content(Message),
    /// Its side of the connection was ended.
    Close(Closed),
    /// A driven client was asked to do something.
    Call(Call),
    /// What came of that.
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
    /// The JSON that it says, without the id of a request; none where it says none.
    pub fn says(&self) -> Option<Value> {
        let message = match &self.act {
            Act::Unit(unit) => unit.message.as_ref(),
            Act::Request(request) => request.message.as_ref(),
            Act::Content(message) => Some(message),
            Act::Event(event) => return serde_json::from_str(event.data.as_ref()?).ok(),
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
    /// Its head.
    pub head: HttpRequest,
    /// Its content, in the pieces in which it came.
    pub pieces: Vec<Vec<u8>>,
    /// The fields after it.
    pub trailers: Vec<(String, String)>,
    /// Whether all of it came.
    pub whole: bool,
    /// What the content says.
    pub message: Option<Message>,
}

/// How an end behaved on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Habits {
    /// Whether it answered pings; it is taken to, where there were none.
    pub pong: bool,
    /// Whether it answered a close frame, likewise.
    pub close: bool,
}

impl Default for Habits {
    fn default() -> Self {
        Self { pong: true, close: true }
    }
}

impl Script {
    /// Reads a trace.
    ///
    /// # Errors
    /// Where it is no trace, is damaged, or is too long to be held.
    pub fn read(mut reader: TraceReader, protocol: &Protocol, edition: &str, path: &Path) -> Result<Self, ScriptError> {
        let reads = protocol.roles.iter().find_map(|role| match role.reach {
            Reach::Lockfile { read, .. } => Some(read),
            _ => None,
        });
        let lock = move |content: &[u8]| read_lock(reads, edition, content);
        let mut builder = Builder::new(reader.header().clone());
        while let Some(event) = reader.next() {
            let event = event?;
            builder.event(event, reader.line(), &lock);
            let limit = match () {
                () if builder.script.steps.len() > MOST_STEPS => "500000 steps",
                () if builder.bytes > MOST_BYTES => "256 MiB",
                () => continue,
            };
            return Err(ScriptError::TooLong { path: path.display().to_string(), limit });
        }
        Ok(builder.finish(reader.is_cut()))
    }

    /// The folders and ports of the recorded run, as far as the trace tells them. `folders` come first.
    pub fn known(&self, folders: &[(String, String)]) -> Known {
        let mut folders = folders.to_vec();
        let told = self.lock.as_ref().and_then(|lock| lock.folders.first());
        let told = told.or(self.workspace.as_ref());
        folders.extend(told.map(|folder| ("workspace".to_owned(), folder.clone())));
        let mut ports = self.ports.clone();
        ports.extend(self.lock.iter().map(|lock| lock.port));
        Known { folders, ports }
    }

    /// The number of the secret that the server asks of clients, as far as the trace shows which it is: the one in its
    /// lockfile, that of a handshake which was accepted, or the only one that was shown.
    pub fn token(&self) -> Option<u64> {
        let of_lock = self.lock.as_ref().and_then(|lock| secrets_in(&lock.token).first().copied());
        let shown = || {
            self.steps.iter().filter_map(|step| match &step.act {
                Act::Upgrade(head) => secrets_in(&head.start).first().map(|number| (step.conn.as_str(), *number)),
                _ => None,
            })
        };
        let accepted = |conn: &str| {
            let of_conn = self.steps.iter().filter(|step| step.conn == conn);
            of_conn.into_iter().any(|step| matches!(&step.act, Act::Accept(head) if head.status() == Some(101)))
        };
        let all: BTreeSet<u64> = shown().map(|(_, number)| number).collect();
        let only = || all.first().copied().filter(|_| all.len() == 1);
        of_lock.or_else(|| shown().find(|(conn, _)| accepted(conn)).map(|(_, number)| number)).or_else(only)
    }

    /// The path and query that every request goes to; none where there are several, or no request.
    pub fn only_target(&self) -> Option<&str> {
        let mut targets = self.steps.iter().filter_map(|step| match &step.act {
            Act::Request(request) => Some(request.head.target()),
            _ => None,
        });
        let first = targets.next()?;
        targets.all(|target| target == first).then_some(first)
    }

    /// Whether one end did anything at all.
    pub fn has(&self, end: End) -> bool {
        self.steps.iter().any(|step| step.end == end && !matches!(step.act, Act::Returned(_) | Act::Close(_)))
    }
}

/// A workspace in a run directory of wirecert's own.
static RUN_DIR: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"/(?:[^/"\s]+/)*wirecert-[A-Za-z0-9]{6}/workspace"#).ok());

/// The port that a client believes it talks to.
fn host_port(headers: &[(String, String)]) -> Option<u16> {
    let (_, host) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"))?;
    host.rsplit_once(':')?.1.parse().ok()
}

/// How a lockfile is read in an edition.
type ReadLock = fn(&str, &[u8]) -> Result<Lock, String>;

fn read_lock(read: Option<ReadLock>, edition: &str, content: &[u8]) -> Option<Lock> {
    read.and_then(|read| read(edition, content).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    pub(crate) fn script(lines: &[&str]) -> Script {
        let header = r#"{"version":1,"suite":"t","protocol":"amp","edition":"cli","client":{"is":"peer"},"server":{"is":"subject"},"clock":{"unit":"us","start":"2026-01-02T03:04:05Z"}}"#;
        let mut text = format!("{header}\n");
        for (i, line) in lines.iter().enumerate() {
            text += &format!("{{\"i\":{i},\"t\":{i},{line}}}\n");
        }
        text += &format!("{{\"end\":\"complete\",\"events\":{}}}\n", lines.len());
        let path = Path::new("t.trace");
        let reader = TraceReader::new(Box::new(Cursor::new(text.into_bytes())), path).unwrap();
        let (protocol, _) = crate::protocol::role("amp-server").unwrap();
        Script::read(reader, protocol, "cli", path).unwrap()
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
        let script = script(&[&first, &ping, &last, message, &pong]);
        let units: Vec<(usize, bool, bool)> = script
            .steps
            .iter()
            .map(|step| match &step.act {
                Act::Unit(unit) => (unit.frames.len(), unit.message.is_some(), unit.automatic),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(units, [(3, true, false), (1, false, true)]);
        assert!(script.habits.is_empty(), "both behaved well");
    }

    #[test]
    fn who_answers_no_ping_and_no_close_frame_is_remembered() {
        let script = script(&[&frame("c2s", 9, true, "p"), &frame("c2s", 8, true, "ab")]);
        let habits = script.habits.get(&("a".to_owned(), End::Server)).copied();
        assert_eq!(habits, Some(Habits { pong: false, close: false }));
        assert_eq!(script.habits.get(&("a".to_owned(), End::Client)), None);
    }

    #[test]
    fn a_connection_that_is_opened_anew_gets_a_name_of_its_own() {
        let open = r#""conn":"a","dir":"c2s","kind":"handshake","start":"GET / HTTP/1.1","headers":[]"#;
        let script = script(&[open, open]);
        let names: Vec<&str> = script.steps.iter().map(|step| step.conn.as_str()).collect();
        assert_eq!(names, ["a", "a#2"]);
    }
}
