//! The server that plays opposite a client.
//!
//! [`AmplifierHost`] performs the verbs of the role `amplifier-client`. It listens at one URL, which is known before it
//! serves. An agent that goes by a script answers requests in the background; requests that are left to steps wait in
//! the queue for them. Steps write into the subscriptions that are open.

mod request_queue;
mod streams;
#[cfg(test)]
mod tests;
mod verbs;

pub use verbs::AmplifierHost;
