//! Amplifier: an extension works with an agent behind a server, by REST and a stream of events.
//!
//! One edition, [`V2025_12_09`]. [`PROTOCOL`] is the descriptor.

mod attribution;
mod client_attribution;
mod endpoints;
mod events;
mod members;
mod observer;
mod requirements;
pub mod roles;
mod rules;
mod samples;
mod schemas;
#[cfg(test)]
mod testing;
mod to_scenario;
pub mod verbs;

use crate::trace::End;

use super::Protocol;
use super::edition::HttpEdition;

pub use endpoints::{CODES, ENDPOINTS, Endpoint, Route, STATUSES};
pub use events::{EVENTS, EventType, find as find_event};

/// Amplifier 2025-12-09.
pub static PROTOCOL: Protocol = Protocol {
    name: "amplifier",
    editions: &[&V2025_12_09],
    roles: &[roles::AMPLIFIER_SERVER, roles::AMPLIFIER_CLIENT],
    secret_keys: SECRET_KEYS,
    requirements: requirements::all,
};

/// Amplifier VS Code Server API Reference, 2025-12-09.
static V2025_12_09: HttpEdition = HttpEdition {
    id: "2025-12-09",
    about: "the published design document",
    schemas: &schemas::SCHEMAS,
    rules: rules::of,
    observer: |subject| Box::new(observer::AmplifierObserver::new(subject)),
    to_scenario: |subject| match subject {
        End::Server => Box::new(to_scenario::ServerToScenario::new()),
        End::Client => Box::new(to_scenario::ClientToScenario::new()),
    },
    summarize: endpoints::summarize,
    message_types: samples::types,
    conversation: samples::around,
    flows: samples::flows,
};

/// Where API keys are: the one that the document has, and those that it announces.
const SECRET_KEYS: &[&str] = &["anthropic_api_key", "api_key", "azure_api_key", "openai_api_key"];
