//! Mocks that serve by themselves, for somebody else's client or tests.

use std::path::PathBuf;

use serde_json::{Map, Value};
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::broadcast;

use crate::config::Described;
use crate::diagnostic::{Diagnostic, Source};
use crate::protocol::Edition;
use crate::trace::Recorder;

use super::deviation::MockHistory;
use super::{BoxFuture, Flaw, Freedom, Latency, amp, amplifier, openctx};

/// The mock of a role, and what can be different about it.
pub struct MockKind {
    /// The role that it plays.
    pub role: &'static str,
    /// Ways in which it can be wrong.
    pub flaws: fn() -> &'static [Flaw],
    /// Ways in which it can be different and right.
    pub freedoms: fn() -> &'static [Freedom],
    /// What it is described with as a subject, by the keys of its role.
    pub described: fn() -> Described,
    /// How it is started.
    pub begin: Begin,
    /// Whether its script says, besides steps, what there is to give: `--script` is its data.
    pub scripted: bool,
}

/// How a mock is started.
#[derive(Clone, Copy)]
pub enum Begin {
    /// A server: it serves when the future is done.
    Serve(fn(MockOptions) -> Starting),
    /// A client that is driven over these lines, until it is told to end or they do.
    Drive(fn(MockOptions, Lines) -> BoxFuture<'static, Result<Ended, MockError>>),
}

/// What a driven client reads and writes: the driver contract, a JSON object a line.
pub struct Lines {
    /// The commands for the client.
    pub input: Box<dyn AsyncBufRead + Send + Unpin>,
    /// The output of the client.
    pub output: Box<dyn AsyncWrite + Send + Unpin>,
}

/// A mock that is being started.
pub type Starting = BoxFuture<'static, Result<Box<dyn Mock>, MockError>>;

/// How a mock is started.
#[derive(Clone)]
pub struct MockOptions {
    /// The edition that it speaks.
    pub edition: &'static dyn Edition,
    /// The folder that it serves; it has to exist.
    pub workspace: PathBuf,
    /// Where it listens; any free port where not said.
    pub port: Option<u16>,
    /// The data home, instead of the one that the environment names.
    pub data_home: Option<PathBuf>,
    /// Where the server is that a client talks to, instead of where the environment says.
    pub url: Option<String>,
    /// The secret to ask of clients; made up where not said.
    pub token: Option<String>,
    /// What it calls itself.
    pub name: Option<String>,
    /// What it has to give, instead of an example.
    pub data: Option<Source>,
    /// Names of flaws that are on from the beginning.
    pub flaws: Vec<String>,
    /// Names of freedoms that are on from the beginning.
    pub freedoms: Vec<String>,
    /// What has happened at the mock so far: a client that is driven for one life after another is the same mock in all.
    pub history: MockHistory,
    /// How its messages are held up, if they are.
    pub latency: Option<Latency>,
    /// Where its connections are recorded.
    pub recorder: Recorder,
}

/// Why a mock did not start.
#[derive(Debug, thiserror::Error)]
pub enum MockError {
    /// An option does not fit: a flaw, a folder.
    #[error("{0}")]
    Option(String),
    /// The data that it was given is wrong.
    #[error("what it was told to give is wrong")]
    Data(Vec<Diagnostic>),
    /// The machine is in the way.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was tried, on what.
        doing: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl MockError {
    /// Whether somebody else has the port that was asked for.
    pub fn is_taken(&self) -> bool {
        matches!(self, Self::System { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse)
    }
}

/// A mock that serves.
pub trait Mock: Send + Sync {
    /// Where it is, for whoever waits for it: one JSON object.
    fn ready(&self) -> Value;

    /// Does what one line of a control channel says, `{"open":{"path":…}}`. Returns after everything that this brought
    /// about has been sent to the clients, or has been given up on. The error says what is wrong with the command.
    fn steer<'a>(&'a self, command: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, String>>;

    /// Whether a command could be obeyed, as far as that can be told before its time. The error says what is wrong.
    fn check(&self, command: &Map<String, Value>) -> Result<(), String> {
        let _ = command;
        Ok(())
    }

    /// What clients do, as far as a script can wait for it: since the mock was started for who asks first, from now on
    /// for others. A mock that tells nothing gives a channel that is closed.
    fn happenings(&self) -> broadcast::Receiver<MockEvent> {
        broadcast::channel(1).1
    }

    /// Returns once it serves no more by itself: it was told to quit, or a flaw made it die.
    fn ended(&self) -> BoxFuture<'_, Ended>;

    /// Ends it in an orderly way: clients are told, files of its own removed. Bounded in time; may be called again.
    fn stop(&self) -> BoxFuture<'_, ()>;
}

/// Something that a client did, and that a script can wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MockEvent {
    /// A client connected.
    Connected,
    /// A client disconnected.
    Disconnected,
    /// It made a request for this method, and has been answered, where it is.
    Request(String),
}

/// How a mock came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The mock was told to quit.
    Quit,
    /// A flaw made it die without further ado.
    Died,
}

/// The mock of a role; none where there is none.
pub fn mock(role: &str) -> Option<&'static MockKind> {
    static MOCKS: [&MockKind; 6] = [
        &amp::editor::MOCK,
        &amp::agent::MOCK,
        &openctx::provider::MOCK,
        &openctx::agent::MOCK,
        &amplifier::agent::MOCK,
        &amplifier::server::MOCK,
    ];
    MOCKS.into_iter().find(|m| m.role == role)
}

/// The flaws that the mock of a role can be given.
pub fn flaws(role: &str) -> &'static [Flaw] {
    mock(role).map_or(&[], |m| (m.flaws)())
}

/// What the mock of a role is described with as a subject.
pub fn described(role: &str) -> Described {
    mock(role).map(|m| (m.described)()).unwrap_or_default()
}

/// The freedoms that the mock of a role can take.
pub fn freedoms(role: &str) -> &'static [Freedom] {
    mock(role).map_or(&[], |m| (m.freedoms)())
}
