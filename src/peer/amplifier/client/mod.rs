//! The Amplifier client that plays opposite a server.
//!
//! [`AmplifierClient`] performs the verbs of the role `amplifier-server`. Each request is an exchange of its own, and
//! so is each event stream; the exchanges record what comes back. This code looks at events only for approvals and for
//! progress, so that steps can decide and wait.

mod request;
mod sessions;
mod subscriptions;
#[cfg(test)]
mod tests;
mod verbs;

pub use request::{call, detect};
pub use verbs::AmplifierClient;
