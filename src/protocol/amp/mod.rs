//! AMP: an editor serves an agent CLI over a lockfile and a WebSocket.
//!
//! Two editions: `cli`, which Amp's own CLI and the editors' plugins exchange, and `guide`, the
//! published quick reference. [`PROTOCOL`] is the descriptor of both.

mod attribution;
mod client_attribution;
mod client_role;
pub mod envelope;
pub mod lockfile;
mod observer;
mod requirements;
mod rfc6455;
mod role;
mod rules;
mod samples;
mod schemas;
#[cfg(test)]
mod testing;
mod to_scenario;
pub mod verbs;
mod words;

pub use envelope::{PROBE, is_probe};

use super::{Edition, Protocol};

/// AMP in both editions.
pub static PROTOCOL: Protocol = Protocol {
    name: "amp",
    editions: &[
        Edition {
            id: "cli",
            document: "docs/amp.md",
            about: "what Amp's own CLI and the editors' plugins exchange, as of January 2026",
        },
        Edition {
            id: "guide",
            document: "AMP Protocol Quick Reference, 2025-12-15",
            about: "the published guide for integrating editors",
        },
    ],
    roles: &[role::AMP_SERVER, client_role::AMP_CLIENT],
    secret_keys: &["authToken", "auth"],
    requirements: requirements::all,
    rules: |edition| rules::of(known(edition)),
    refusal: envelope::refusal,
    observer: |edition, subject| Box::new(observer::AmpObserver::new(known(edition), subject)),
    summarize: |edition, event| envelope::summarize(known(edition), event),
    schema: schemas::schema,
    schema_names: schemas::names,
    samples: samples::SAMPLES,
};

/// The edition of this name; `cli` where there is none such.
fn known(edition: &str) -> &'static str {
    PROTOCOL.editions.iter().map(|e| e.id).find(|id| *id == edition).unwrap_or("cli")
}
