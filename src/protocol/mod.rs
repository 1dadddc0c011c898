//! What the protocols' documents say, as data and pure functions: no sockets, clocks or files.
//!
//! Each protocol is one [`Protocol`]: editions, roles, the words its scenarios may use,
//! requirements, schemas, rules, and an observer that turns trace events into what expectations
//! speak about. [`protocols`] lists them; nothing else in the crate names one.

pub mod amp;
pub mod amplifier;
mod attribution;
mod channel;
mod data_home;
mod descriptor;
mod edition;
pub mod http;
pub mod model;
mod observation;
pub mod openctx;
mod requirement;
pub mod rfc6455;
mod rule;
pub mod sample;
pub mod scenario_element;
pub mod words;

pub use attribution::{Aspect, Attribution, Base, Due, LaterContact, NOTHING_KNOWN, is_at_or_above};
pub use channel::{Channel, ChannelKind, QueryParameter, QueryValues};
pub use data_home::data_homes;
pub use descriptor::{Lock, PATIENCE, Protocol, Reach, Role, Verb};
pub use edition::Edition;
pub use observation::{MessageSort, MessageSummary, Observation, ObservationKind, Observer, Pick};
pub use requirement::{Level, Requirement, RequirementId, Section, area, level_of, short};
pub use rule::{Judgements, Part, Refusal, Rule, Use, Violation, ViolationDetail};

/// Every protocol there is.
pub fn protocols() -> &'static [&'static Protocol] {
    static ALL: [&Protocol; 3] = [&amp::PROTOCOL, &openctx::PROTOCOL, &amplifier::PROTOCOL];
    &ALL
}

/// The role of this name, with its protocol.
pub fn role(name: &str) -> Option<(&'static Protocol, &'static Role)> {
    protocols().iter().find_map(|p| p.roles.iter().find(|r| r.name == name).map(|r| (*p, r)))
}
