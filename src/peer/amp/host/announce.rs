//! The lockfile of a server that is no editor of a play: a replayed one, or one that stands between.

use serde_json::Value;

use crate::peer::amp::editor::edition::Edition;
use crate::peer::{Announced, Announcement, PeerError};

use super::lockfile::{Content, ForeignLockfile, keys};
use super::token;

/// Lays a lockfile with a secret of its own.
///
/// # Errors
/// [`PeerError::Environment`] where the system refuses.
pub fn announce(announcement: &Announcement<'_>) -> Result<Announced, PeerError> {
    let Announcement { edition, data_home, port, folder, like, recorder } = announcement;
    let edition = Edition::parse(edition).unwrap_or(Edition::Cli);
    let token = token::make().map_err(|e| PeerError::Environment(format!("cannot make a secret: {e}")))?;
    recorder.add_secret(&token);
    let mut keys = keys(edition, folder, *port, &token, std::process::id());
    if let Some(Value::Object(like)) = like {
        for (key, value) in like {
            keys.entry(key.clone()).or_insert_with(|| value.clone());
        }
        if let (Some(own), Some(name)) = (keys.get_mut("ideName"), like.get("ideName")) {
            *own = name.clone();
        }
    }
    let content = Content::File(Value::Object(keys).to_string().into_bytes());
    let laid = ForeignLockfile::lay(data_home, &format!("{port}.json"), content, None, recorder)?;
    Ok(Announced { path: laid.path().to_owned(), token })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::trace::{Clock, Recorder};

    #[test]
    fn a_server_is_found_as_long_as_it_is_announced() {
        let home = tempfile::tempdir().unwrap();
        let recorder = Recorder::new(Clock::start(), vec![]);
        let like = json!({"port": 1, "authToken": "<secret:1>", "ideName": "vim", "extra": true, "pid": 1});
        let announcement = Announcement {
            edition: "cli",
            data_home: home.path(),
            port: 4711,
            folder: Path::new("/w"),
            like: Some(&like),
            recorder: &recorder,
        };
        let announced = announce(&announcement).unwrap();
        let read: Value =
            serde_json::from_slice(&std::fs::read(home.path().join("amp/ide/4711.json")).unwrap()).unwrap();
        let expected = json!({"workspaceFolders": ["/w"], "port": 4711, "ideName": "vim", "authToken": announced.token,
            "pid": std::process::id(), "extra": true});
        assert_eq!(read, expected);
        drop(announced);
        assert!(!home.path().join("amp/ide/4711.json").exists());
    }
}
