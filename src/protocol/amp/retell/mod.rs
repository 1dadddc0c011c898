//! A conversation told again as steps: [`server`] where the subject was the editor, [`client`] where it was the agent.

use crate::protocol::amp::lockfile;
use crate::protocol::retold::Retold;
use crate::trace::{FileChange, Payload};

mod client;
mod frames;
mod server;

pub use client::RetellClient;
pub use server::RetellServer;

/// The first folder that an editor works in, where the file is its lockfile. The root, which all paths lie in, tells nothing.
fn folder(file: &FileChange, edition: &str) -> Option<Retold> {
    let content = file.content.as_ref().filter(|_| !file.is_by_play()).map(Payload::as_bytes)?;
    let lock = lockfile::read(edition, content).ok()?;
    lock.folders.into_iter().find(|path| path.len() > 1).map(|path| Retold::Folder { path })
}
