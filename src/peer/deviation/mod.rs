//! Flaws and freedoms: the one engine of all mocks.
//!
//! A mock has a [`DeviationTable`]: every [`Flaw`] and [`Freedom`] that it can be given, with its effects. The effects are an enum of
//! the mock: whatever its code can do otherwise than usual. [`Deviations`] are those that are switched on; the mock asks
//! them for effects where it decides or sends something. What several mocks have in common, such as the faults of a
//! transport, is an effect type of its own, which the effects of each of these mocks include ([`Includes`]). Behaviour that no
//! change of a message expresses is switched on: the file that decides it has an enum of switches, such as `HandshakeSwitch`
//! ([`switches`]), and asks [`Deviations::has`] for them.

mod active;
pub(crate) mod http_client;
pub(crate) mod http_faults;
pub(crate) mod http_server;
mod table;
pub(crate) mod value;
pub(crate) mod websocket;

pub use active::{Deviation, Deviations, Includes, Why};
pub use active::{LATE, MockHistory, Modifier};
pub(crate) use active::{includes, switches};
#[cfg(test)]
pub(crate) use table::fits_the_catalogue;
pub use table::{Also, DeviationTable, Flaw, FlawRow, Freedom, FreedomRow};
pub(crate) use table::{flaw, freedom};
