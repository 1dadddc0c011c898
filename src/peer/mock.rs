//! Mocks that serve by themselves, for somebody else's client or tests.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::sync::broadcast;

use crate::config::Described;
use crate::diagnostic::{Diagnostic, Source};
use crate::format::Field;
use crate::protocol::Edition;
use crate::trace::Recorder;

use super::deviation::MockHistory;
use super::{BoxFuture, Flaw, Freedom, amp, amplifier, openctx};

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
    /// The commands by which it is steered while it serves; none of a client, which is driven.
    pub commands: fn() -> &'static [Field],
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
    /// Where it listens. Default: any free port.
    pub port: Option<u16>,
    /// The data home, instead of the one that the environment names.
    pub data_home: Option<PathBuf>,
    /// Where the server is that a client talks to, instead of where the environment says.
    pub url: Option<String>,
    /// The secret to ask of clients. Default: made up.
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

impl MockOptions {
    /// A sound mock that is recorded so, and has an example to give.
    pub fn new(edition: &'static dyn Edition, workspace: PathBuf, recorder: Recorder) -> Self {
        Self {
            edition,
            workspace,
            port: None,
            data_home: None,
            url: None,
            token: None,
            name: None,
            data: None,
            flaws: vec![],
            freedoms: vec![],
            history: MockHistory::default(),
            latency: None,
            recorder,
        }
    }

    /// Starts a mock that serves by itself, with these.
    ///
    /// # Panics
    /// Where the mock is one that is driven.
    #[cfg(test)]
    pub async fn start(self, kind: &MockKind) -> Result<Box<dyn Mock>, MockError> {
        let Begin::Serve(start) = kind.begin else { panic!("it is driven") };
        start(self).await
    }
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

    /// Whether a command could be obeyed, as far as that can be known before its time. The error says what is wrong.
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
        &amp::server::mock::MOCK,
        &amp::client::MOCK,
        &openctx::server::mock::MOCK,
        &openctx::client::calls::MOCK,
        &amplifier::client::calls::MOCK,
        &amplifier::server::mock::MOCK,
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

/// How messages of a mock are held up: as if the way to the client were long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The shortest time.
    pub min: Duration,
    /// The longest time; not less than the shortest.
    pub max: Duration,
    /// What the times between them are drawn with: the same times come of the same seed.
    pub seed: u64,
}

impl Latency {
    /// The times of one connection, told from others by its number.
    pub fn draws(self, connection: u64) -> Draws {
        Draws { latency: self, state: self.seed ^ connection.wrapping_mul(GOLDEN) }
    }
}

/// The times by which the messages of a connection are held up, one after the other.
#[derive(Clone, Debug)]
pub struct Draws {
    latency: Latency,
    state: u64,
}

impl Iterator for Draws {
    type Item = Duration;

    /// The next time; there is always one.
    fn next(&mut self) -> Option<Duration> {
        let Latency { min, max, .. } = self.latency;
        let range = u64::try_from(max.saturating_sub(min).as_micros()).unwrap_or(u64::MAX);
        let drawn = self.number() % range.saturating_add(1);
        Some((min + Duration::from_micros(drawn)).min(max))
    }
}

/// 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draws {
    /// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(seed: u64) -> Latency {
        Latency { min: Duration::from_millis(20), max: Duration::from_millis(200), seed }
    }

    fn times(seed: u64, connection: u64) -> Vec<Duration> {
        latency(seed).draws(connection).take(50).collect()
    }

    #[test]
    fn a_seed_gives_each_connection_the_same_times_again() {
        assert_eq!(times(1, 1), times(1, 1));
        assert_ne!(times(1, 1), times(1, 2));
        assert_ne!(times(1, 1), times(2, 1));
    }

    #[test]
    fn times_lie_within_their_bounds_and_are_spread() {
        let times = times(7, 1);
        assert!(times.iter().all(|t| (latency(0).min..=latency(0).max).contains(t)), "{times:?}");
        let short = times.iter().filter(|t| t.as_millis() < 110).count();
        assert!((6..=44).contains(&short), "{times:?}");
    }

    #[test]
    fn a_range_of_one_time_is_that_time() {
        let time = Duration::from_millis(5);
        let latency = Latency { min: time, max: time, seed: 3 };
        assert!(latency.draws(1).take(5).all(|t| t == time));
    }
}
