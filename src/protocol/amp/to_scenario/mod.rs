//! Scenarios from traces: [`ServerToScenario`] where the subject was the editor, [`ClientToScenario`] where it was
//! the agent.

mod client;
mod frames;
mod server;

use crate::protocol::Edition as _;
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::scenario_element::ScenarioElement;
use crate::trace::{FileChange, Payload};

pub use client::ClientToScenario;
pub use server::ServerToScenario;

/// The first folder that an editor works in, where the file is its lockfile. The root, which all paths lie in, does
/// not count.
fn folder(file: &FileChange, edition: &AmpEdition) -> Option<ScenarioElement> {
    let content = file.content.as_ref().filter(|_| !file.is_by_play()).map(Payload::as_bytes)?;
    let lock = edition.read_lockfile(content).ok()?;
    lock.folders.into_iter().find(|path| path.len() > 1).map(|path| ScenarioElement::Folder { path })
}
