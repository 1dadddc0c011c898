//! The first and the last line of a trace file.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trace::End;

/// The version of the file format that this crate writes and reads.
pub const VERSION: u32 = 1;

/// The first line: what the events are about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the file format, 1.
    pub version: u32,
    /// What wrote it, with its version: `wirecert 0.1.0`.
    pub suite: String,
    /// The protocol, by its short name.
    pub protocol: String,
    /// The edition of the protocol.
    pub edition: String,
    /// Who was the client.
    pub client: Party,
    /// Who was the server.
    pub server: Party,
    /// How events are timed.
    pub clock: Timebase,
    /// The id of the scenario that was played, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
}

impl Header {
    /// A header for a trace that begins now, between ends of which nothing is known.
    pub fn new(protocol: &str, edition: &str) -> Self {
        Self {
            version: VERSION,
            suite: concat!("wirecert ", env!("CARGO_PKG_VERSION")).to_owned(),
            protocol: protocol.to_owned(),
            edition: edition.to_owned(),
            client: Party::unknown(),
            server: Party::unknown(),
            clock: Timebase { unit: "us".to_owned(), start: Timestamp::now() },
            scenario: None,
        }
    }

    /// Says that one end is the implementation under test and the other one our own peer.
    pub fn with_subject(mut self, end: End, name: &str) -> Self {
        let subject = Party { is: PartyKind::Subject, name: Some(name.to_owned()) };
        let peer = Party { is: PartyKind::Peer, name: Some("wirecert".to_owned()) };
        (self.client, self.server) = match end {
            End::Client => (subject, peer),
            End::Server => (peer, subject),
        };
        self
    }

    /// Names the scenario that is played.
    pub fn with_scenario(mut self, id: &str) -> Self {
        self.scenario = Some(id.to_owned());
        self
    }

    /// Who was at this end.
    pub fn party(&self, end: End) -> &Party {
        match end {
            End::Client => &self.client,
            End::Server => &self.server,
        }
    }
}

/// Who was at one end of the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Party {
    /// What it was.
    pub is: PartyKind,
    /// Its name, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Party {
    /// An end of which nothing is known.
    pub fn unknown() -> Self {
        Self { is: PartyKind::Unknown, name: None }
    }
}

/// What an end of the wire was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartyKind {
    /// The implementation under test.
    Subject,
    /// Our own mock.
    Peer,
    /// A real implementation of which nothing is known, as behind a recording proxy.
    Unknown,
}

/// How events are timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timebase {
    /// The unit of every `t`: `us`, microseconds.
    pub unit: String,
    /// The wall clock at `t` 0, RFC 3339.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub start: Timestamp,
}

/// The last line of a trace that was not cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EndLine {
    /// How it ended: `complete`.
    pub end: EndKind,
    /// How many events there are.
    pub events: u64,
}

/// How a trace ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum EndKind {
    /// Everything that was recorded is in the file.
    Complete,
}
