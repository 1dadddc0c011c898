//! The mocks: peers that play the other role, and the flaws they can be given.
//!
//! A [`Peer`] performs the verbs of its role's scenarios. What comes back from the subject does not
//! pass through it: its connections write the trace, and expectations read that.

pub mod amp;
pub mod amplifier;
pub mod control;
pub mod deviation;
mod driven;
mod fill;
mod format;
mod http;
mod interface;
mod kind;
mod mock;
pub mod openctx;
mod params;
pub mod script;

pub use deviation::{Also, Flaw, Freedom};
pub use interface::{BoxFuture, Peer, PeerError, Performed, Setting, SubjectDirs, VerbCall};
pub use kind::{Announce, Announced, Announcement, Answer, Detected, PeerKind, Probe, kind};
pub use mock::{
    Begin, Draws, Ended, Latency, Lines, Mock, MockError, MockEvent, MockKind, MockOptions, Starting, described, flaws,
    freedoms, mock,
};

/// A format of files: its name, what it is, its JSON Schema.
pub type Format = (&'static str, &'static str, fn() -> serde_json::Value);

/// The formats of files with what mocks give: name, what it is, its JSON Schema.
pub const DATA: &[Format] = &[
    ("agent-script", "what the agent of a mock Amplifier server does", amplifier::server::script::schema),
    ("provider-data", "what a mock of an OpenCtx provider gives", openctx::provider::data::schema),
];
