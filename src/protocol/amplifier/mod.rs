//! Amplifier: an extension works with an agent behind a server, by REST and a stream of events.
//!
//! One edition, `2025-12-09`. [`PROTOCOL`] is its descriptor.

mod attribution;
mod client_attribution;
mod client_role;
mod message_summary;
mod observer;
mod requirements;
mod role;
mod rules;
mod samples;
mod schemas;
#[cfg(test)]
mod testing;
mod to_scenario;
pub mod verbs;
mod words;

use super::{Edition, Protocol};

pub use words::{CODES, ENDPOINTS, EVENTS, Endpoint, Route, STATUSES};

/// Amplifier 2025-12-09.
pub static PROTOCOL: Protocol = Protocol {
    name: "amplifier",
    editions: &[Edition {
        id: "2025-12-09",
        document: "Amplifier VS Code Server API Reference, 2025-12-09",
        about: "the published design document",
    }],
    roles: &[role::AMPLIFIER_SERVER, client_role::AMPLIFIER_CLIENT],
    secret_keys: SECRET_KEYS,
    requirements: requirements::all,
    rules: |_| rules::of(),
    refusal: |_, _| None,
    observer: |_, subject| Box::new(observer::AmplifierObserver::new(subject)),
    summarize: |_, event| message_summary::summarize(event),
    schema: schemas::schema,
    schema_names: schemas::names,
    samples: samples::SAMPLES,
};

/// Where API keys are: the one that the document has, and those that it announces.
const SECRET_KEYS: &[&str] = &["anthropic_api_key", "api_key", "azure_api_key", "openai_api_key"];
