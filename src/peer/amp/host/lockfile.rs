//! Lockfiles and tokens: those of our editors, others laid beside them, and those that announce a server which is no
//! editor of a play.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::{Map, Value};

use crate::atomic_file::{self, Readable, create_private_folder};
use crate::peer::params::wrong;
use crate::peer::{Announced, Announcement, PeerError};
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::lockfile::{FOLDER, LockfileValues};
use crate::trace::{EventKind, FileChange, Payload, Recorder};

/// The keys of an editor's lockfile.
pub fn editor_keys(edition: &AmpEdition, folder: &Path, port: u16, token: &str, pid: u32) -> Map<String, Value> {
    edition.lockfile.content(&LockfileValues { folder, port, name: "wirecert", token, pid })
}

/// The content of a lockfile, or of something in its place.
pub enum LockfileContent {
    /// A file.
    File(Vec<u8>),
    /// A folder.
    Folder,
}

/// A file or folder of ours among the lockfiles.
pub struct ForeignLockfile {
    path: PathBuf,
    folder: bool,
}

impl ForeignLockfile {
    /// Lays it below a data home, at once and readable by its owner only, in place of what lies there by that name.
    /// `deliberate` says why it is wrong on purpose, if it is.
    ///
    /// # Errors
    /// [`PeerError::Scenario`] where the name is no plain file name, [`PeerError::Environment`] where the system refuses.
    pub fn lay(
        data_home: &Path,
        name: &str,
        content: LockfileContent,
        deliberate: Option<&str>,
        recorder: &Recorder,
    ) -> Result<Self, PeerError> {
        let plain = Path::new(name).file_name().is_some_and(|file| file == name);
        if !plain {
            return Err(wrong("lockfile", format!("`{name}` is no file name")));
        }
        let path = data_home.join(FOLDER).join(name);
        let system = |e: std::io::Error| PeerError::Environment(format!("cannot lay {}: {e}", path.display()));
        if let LockfileContent::File(bytes) = &content {
            let payload = Some(Payload::from(bytes.as_slice()));
            let change = FileChange { path: path.display().to_string(), change: "written".into(), content: payload };
            recorder.record_deliberate(None, None, deliberate, EventKind::File(change));
        }
        let folder = matches!(content, LockfileContent::Folder);
        match content {
            LockfileContent::Folder => create_private_folder(&path).map_err(system)?,
            LockfileContent::File(bytes) => atomic_file::write(&path, &bytes, Readable::ByOwner).map_err(system)?,
        }
        Ok(Self { path, folder })
    }

    /// The path of the file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes it away. That it has gone already, as to a client that tidies up, is as good.
    pub fn remove(&self) {
        let _ = if self.folder { std::fs::remove_dir_all(&self.path) } else { std::fs::remove_file(&self.path) };
    }
}

/// Lays a lockfile with a secret of its own.
///
/// # Errors
/// [`PeerError::Environment`] where the system refuses.
pub fn announce(announcement: &Announcement<'_>) -> Result<Announced, PeerError> {
    let Announcement { edition, data_home, port, folder, like, recorder } = announcement;
    let edition = AmpEdition::of(*edition);
    let token = make_token().map_err(|e| PeerError::Environment(format!("cannot make a secret: {e}")))?;
    recorder.add_secret(&token);
    let mut editor_keys = editor_keys(edition, folder, *port, &token, std::process::id());
    if let Some(Value::Object(like)) = like {
        for (key, value) in like {
            editor_keys.entry(key.clone()).or_insert_with(|| value.clone());
        }
        if let (Some(own), Some(name)) = (editor_keys.get_mut("ideName"), like.get("ideName")) {
            *own = name.clone();
        }
    }
    let content = LockfileContent::File(Value::Object(editor_keys).to_string().into_bytes());
    let laid = ForeignLockfile::lay(data_home, &format!("{port}.json"), content, None, recorder)?;
    Ok(Announced { path: laid.path().to_owned(), token })
}

/// A secret that nobody can guess, of characters that stand for themselves in a URL. Scenarios about what has to be
/// encoded say their own ones, so that a client that does not encode fails there and nowhere else.
///
/// # Errors
/// The error of the system's source of random bytes.
pub fn make_token() -> std::io::Result<String> {
    let mut bytes = [0; 24];
    let mut random = std::fs::File::open("/dev/urandom")?;
    std::io::Read::read_exact(&mut random, &mut bytes)?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use crate::trace::{Clock, Recorder};

    use super::*;
    use crate::protocol::amp::editions::CLI;

    #[test]
    fn a_server_is_found_as_long_as_it_is_announced() {
        let home = tempfile::tempdir().unwrap();
        let recorder = Recorder::new(Clock::start(), vec![]);
        let like = json!({"port": 1, "authToken": "<secret:1>", "ideName": "vim", "extra": true, "pid": 1});
        let announcement = Announcement {
            edition: &CLI,
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
