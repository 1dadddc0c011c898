//! AMP: an editor serves an agent CLI over a lockfile and a WebSocket.
//!
//! Two editions: `cli`, which Amp's own CLI and the editors' plugins exchange, and `guide`, the
//! published quick reference. [`PROTOCOL`] is the descriptor of both.

mod lockfile;
mod probe;
mod requirements;
mod role;

pub use probe::{PROBE, is_probe};

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
    roles: &[role::AMP_SERVER],
    secret_keys: &["authToken", "auth"],
    requirements: requirements::all,
    rules: |_| vec![],
    observer: |_| Box::new(Nothing),
    schema: |_, _| None,
    schema_names: |_| vec![],
};

struct Nothing;

impl super::Observer for Nothing {
    fn observe(&mut self, _: &crate::trace::Event) -> Vec<super::Observation> {
        vec![]
    }
}
