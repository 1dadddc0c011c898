//! Letting a server of ours be found by clients that look for one.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::trace::Recorder;

use super::PeerError;

/// What there is to find.
pub struct Announcement<'a> {
    /// The edition that is spoken.
    pub edition: &'a str,
    /// The data home below which clients look.
    pub data_home: &'a Path,
    /// Where the server listens, on the loopback address.
    pub port: u16,
    /// The folder that it serves.
    pub folder: &'a Path,
    /// What another server said of itself in the same place: what of it is not about where that one was is kept.
    pub like: Option<&'a Value>,
    /// The trace, which learns the secret.
    pub recorder: &'a Recorder,
}

/// How a server of ours is found, as long as this is held.
#[derive(Debug)]
pub struct Announced {
    /// The file by which it is found.
    pub path: PathBuf,
    /// The secret that clients have to show.
    pub token: String,
}

impl Drop for Announced {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Lets a server be found.
pub type Announce = fn(&Announcement<'_>) -> Result<Announced, PeerError>;
