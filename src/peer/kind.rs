//! The registry: which peer stands opposite which role, and how it lets itself be found.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::protocol::{Edition, Lock};
use crate::trace::Recorder;

use super::{BoxFuture, Peer, PeerError, Setting, amp, amplifier, openctx};

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

static KINDS: [PeerKind; 6] = [
    PeerKind {
        role: "amp-server",
        new: |setting| Box::new(amp::client::AmpClient::new(setting)),
        probe: Some(Probe {
            detect: |lock, patience, recorder| Box::pin(amp::client::detect(lock, patience, recorder)),
            call: |setting, method, params| Box::pin(amp::client::call(setting, method, params)),
        }),
        announce: None,
    },
    PeerKind {
        role: "amp-client",
        new: |setting| Box::new(amp::host::AmpHost::new(setting)),
        probe: None,
        announce: Some(amp::host::announce),
    },
    PeerKind {
        role: "openctx-provider",
        new: |setting| Box::new(openctx::client::OpenctxClient::new(setting)),
        probe: Some(Probe {
            detect: |lock, patience, recorder| Box::pin(openctx::client::detect(lock, patience, recorder)),
            call: |setting, method, params| Box::pin(openctx::client::call(setting, method, params)),
        }),
        announce: None,
    },
    PeerKind {
        role: "openctx-client",
        new: |setting| Box::new(openctx::host::OpenctxHost::new(setting)),
        probe: None,
        announce: None,
    },
    PeerKind {
        role: "amplifier-server",
        new: |setting| Box::new(amplifier::client::AmplifierClient::new(setting)),
        probe: Some(Probe {
            detect: |lock, patience, recorder| Box::pin(amplifier::client::detect(lock, patience, recorder)),
            call: |setting, method, params| Box::pin(amplifier::client::call(setting, method, params)),
        }),
        announce: None,
    },
    PeerKind {
        role: "amplifier-client",
        new: |setting| Box::new(amplifier::host::AmplifierHost::new(setting)),
        probe: None,
        announce: None,
    },
];

/// The peer of this role; none where it cannot be played against yet.
pub fn kind(role: &str) -> Option<&'static PeerKind> {
    KINDS.iter().find(|kind| kind.role == role)
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
