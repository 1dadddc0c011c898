//! The mocks: peers that play the other role, and the flaws they can be given.
//!
//! A [`Peer`] performs the verbs of its role's scenarios. What comes back from the subject does not
//! pass through it: its connections write the trace, and expectations read that.

pub mod amp;
pub mod amplifier;
mod asking;
pub mod control;
pub mod deviation;
mod driven;
mod fetch;
mod fill;
mod format;
mod hosting;
mod http;
mod interface;
mod kind;
mod latency;
mod mock;
pub mod openctx;
mod params;
pub mod script;

pub use deviation::{Also, Flaw, Freedom};
pub use interface::{BoxFuture, Peer, PeerError, Performed, Setting, SubjectDirs, VerbCall};
pub use kind::{Announce, Announced, Announcement, Answer, Detected, PeerKind, Probe, kind};
pub use latency::{Draws, Latency};
pub use mock::{
    Begin, Ended, Lines, Mock, MockError, MockEvent, MockKind, MockOptions, Starting, described, flaws, freedoms, mock,
};

// Further paths by which the folders of protocols import these modules.
use driven as lines;
use http as http_url;

/// A format of files: its name, what it is, its JSON Schema.
pub type Format = (&'static str, &'static str, fn() -> serde_json::Value);

/// The formats of files with what mocks give: name, what it is, its JSON Schema.
pub const DATA: &[Format] = &[
    ("agent-script", "what the agent of a mock Amplifier server does", amplifier::server::script::schema),
    ("provider-data", "what a mock of an OpenCtx provider gives", openctx::provider::data::schema),
];
