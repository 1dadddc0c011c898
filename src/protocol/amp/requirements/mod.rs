//! The requirements of the AMP editions, one file for each family of areas. [`all`] is the catalogue.
//!
//! A statement that holds in both editions has the same area and slug in both. Levels: what the
//! document states, what the RFC obliges a well-behaved end to, and what Amp's own CLI breaks without
//! is a `must`; what one implementation does, or what only follows from a name, is a `should`.
//!
//! What binds the client has slugs that begin with `client-`. Its levels: what RFC 6455 asks of an end that is sound,
//! what harms a server or shows its secret to strangers, and what makes a client useless at a sound server is a
//! `must`. How a client treats a server that is broken, and how Amp's own CLI chooses an editor and comes back to it,
//! is a `should`.

mod catalogue;
mod client_connection;
mod client_messages;
mod connection;
mod methods;
mod notifications;

pub use catalogue::{all, of};
