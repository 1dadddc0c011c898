//! The interface of a peer: [`Peer`] performs the verbs of a role's scenarios in a [`Setting`]. A [`PeerKind`] says what that of
//! a role can do besides: find out about a server ([`Probe`]), or let itself be found ([`Announce`]).

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::config::Described;
use crate::protocol::{Edition, Lock};
use crate::trace::Recorder;

/// A boxed future, since peers are chosen at run time.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Performs the verbs of one role's scenarios.
pub trait Peer: Send {
    /// Performs one verb with its parameters, all variables replaced.
    fn perform<'a>(&'a mut self, act: VerbCall<'a>) -> BoxFuture<'a, Result<Performed, PeerError>>;

    /// Returns once everything sent so far on `conn` has been handled by the subject, as far as the
    /// protocol can tell: by an answered request. [`PeerError::Unable`] where it has no such thing.
    fn barrier<'a>(&'a mut self, conn: Option<&'a str>, within: Duration) -> BoxFuture<'a, Result<(), PeerError>>;

    /// Whether a server still serves: by the most harmless thing that a client can ask of it. A connection and a
    /// barrier on it, where the protocol has no better way.
    fn alive<'a>(&'a mut self, within: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(async move {
            self.perform(VerbCall { verb: "connect", params: &Map::new(), step: "health" }).await?;
            self.barrier(None, within).await
        })
    }

    /// Ends every connection in an orderly way.
    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()>;

    /// The URL where its server is, or will be once it serves, where clients are told that and do not find it by
    /// themselves.
    fn url(&self) -> Option<String> {
        None
    }

    /// The names of the flaws and freedoms that it has: none, in a play that is judged.
    #[cfg(test)]
    fn deviations(&self) -> Vec<&'static str>;
}

/// Where a peer finds its subject, and what it writes to.
#[derive(Clone)]
pub struct Setting {
    /// The edition spoken.
    pub edition: &'static dyn Edition,
    /// The trace.
    pub recorder: Recorder,
    /// How to reach a server; none while it is not up, or where the subject is the client.
    pub server: Option<Lock>,
    /// How long to wait for what the protocol obliges the subject to do.
    pub patience: Duration,
    /// The longest wait, also where a step has more patience; none where steps have the last word.
    pub longest: Option<Duration>,
    /// Where a subject that we start lives; servers that stand opposite a client let themselves be found there.
    pub place: Option<SubjectDirs>,
    /// What the subject was described with as its settings, where they are not said otherwise: a JSON object.
    pub settings: Option<Value>,
    /// What the subject was described with beside that, by the keys of its role.
    pub described: Described,
    /// The play's own folder in the subject's workspace, where there is one: an absolute path.
    pub folder: Option<PathBuf>,
}

/// The folders of a subject that we start.
#[derive(Clone, Debug)]
pub struct SubjectDirs {
    /// Its workspace and working directory.
    pub root: PathBuf,
    /// What stands for the user's home folder.
    pub home: PathBuf,
    /// The data home that its environment names.
    pub data_home: PathBuf,
}

/// One verb to perform.
pub struct VerbCall<'a> {
    /// Its name.
    pub verb: &'a str,
    /// Its parameters.
    pub params: &'a Map<String, Value>,
    /// The step, for marking what is wrong on purpose.
    pub step: &'a str,
}

/// What performing a verb gave.
#[derive(Clone, Debug, Default)]
pub struct Performed {
    /// Variables it sets, such as a request's label.
    pub bindings: Vec<(String, Value)>,
}

/// Why a verb could not be performed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PeerError {
    /// The subject did not play along: a failed expectation of the requirement (area and slug).
    #[error("{message}")]
    Subject { message: String, proves: Option<String>, expected: Option<Value>, actual: Option<Value> },
    /// The subject is up, but cannot be connected to: a failed expectation of the requirement (area and slug) that it
    /// can be, and, where it could be reached before, of whatever the scenario would have seen next.
    #[error("{message}")]
    Unreachable { message: String, proves: &'static str, address: String },
    /// The scenario asks for what cannot be: a connection that is not there.
    #[error("{0}")]
    Scenario(String),
    /// The machine is in the way: no socket to be had, a full disk.
    #[error("{0}")]
    Environment(String),
    /// The machine lacks what the scenario is about, for this reason: it cannot be played here.
    #[error("{0}")]
    Lacking(String),
    /// This peer has no such thing.
    #[error("{0}")]
    Unable(String),
}

/// The peer of one role, and what it can do.
pub struct PeerKind {
    /// The role of the subject.
    pub role: &'static str,
    /// A peer to stand opposite it.
    pub new: fn(Setting) -> Box<dyn Peer>,
    /// What can be found out about a subject that is a server, apart from any scenario; none for a client.
    pub probe: Option<Probe>,
    /// How a server that stands opposite is found by a client that looks for one; none where clients are told.
    pub announce: Option<Announce>,
}

/// What can be found out about a server.
pub struct Probe {
    /// Finds out which edition a server speaks, within the time given. Always comes to a conclusion.
    pub detect: fn(Lock, Duration, Recorder) -> BoxFuture<'static, Detected>,
    /// Makes one request (a method and its parameters) to a server, on a connection of its own.
    pub call: fn(Setting, String, Value) -> BoxFuture<'static, Result<Answer, PeerError>>,
}

/// The edition that a subject was found to speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The edition.
    pub edition: &'static dyn Edition,
    /// How that was known: the second half of a sentence such as "it speaks `cli`: …".
    pub how: String,
}

/// The response of a server to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The result of the method.
    Result(Value),
    /// An error, as it came.
    Error(Value),
}

/// What clients need to find a server.
pub struct Announcement<'a> {
    /// The edition that is spoken.
    pub edition: &'static dyn Edition,
    /// The data home below which clients look.
    pub data_home: &'a Path,
    /// Where the server listens, on the loopback address.
    pub port: u16,
    /// The folder that it serves.
    pub folder: &'a Path,
    /// What another server said of itself in the same place: what of it is not about where that one was is kept.
    pub like: Option<&'a Value>,
    /// The trace, which learns the secret.
    pub recorder: &'a Recorder,
}

/// A server that can be found, as long as this value lives.
#[derive(Debug)]
pub struct Announced {
    /// The file by which it is found.
    pub path: PathBuf,
    /// The secret that clients have to show.
    pub token: String,
}

impl Drop for Announced {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Lets a server be found.
pub type Announce = fn(&Announcement<'_>) -> Result<Announced, PeerError>;
