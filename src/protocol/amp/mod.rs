//! AMP: an editor serves an agent CLI over a lockfile and a WebSocket.

use super::Protocol;

/// AMP in both editions.
pub static PROTOCOL: Protocol = Protocol {
    name: "amp",
    editions: &[],
    roles: &[],
    secret_keys: &["authToken", "auth"],
    requirements: || &[],
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
