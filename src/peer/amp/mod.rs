//! AMP: the peers that perform scenarios, and the mocks that run as programs of their own.
//!
//! [`client::AmpClient`] and [`host::AmpHost`] are the peers, [`editor::MOCK`] and [`agent::MOCK`] the mocks.

pub mod agent;
pub mod client;
pub mod editor;
mod frames;
pub mod host;

/// The id of the edition that Amp's own CLI speaks, in tables of flaws and freedoms.
const CLI: &str = "cli";
/// The id of the edition of the published guide, in tables of flaws and freedoms.
const GUIDE: &str = "guide";
