//! AMP: one server (an editor) and one client, each steered by the steps of scenarios or running as a mock.

pub mod client;
pub mod editor;
mod frames;
mod pieces;
pub mod server;

/// The id of the edition that Amp's own CLI speaks, in tables of flaws and freedoms.
const CLI: &str = "cli";
/// The id of the edition of the published guide, in tables of flaws and freedoms.
const GUIDE: &str = "guide";
