//! Lockfiles: those of our editors, and others laid beside them.

use std::fs::DirBuilder;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::peer::PeerError;
use crate::peer::amp::client::params::wrong;
use crate::peer::amp::editor::edition::Edition;
use crate::trace::{EventKind, FileChange, Payload, Recorder};

/// The folder for lockfiles below a data home (docs/amp.md, Discovery; quick reference, section 1).
const FOLDER: &str = "amp/ide";

/// The keys of an editor's lockfile.
pub fn keys(edition: Edition, folder: &Path, port: u16, token: &str, pid: u32) -> Map<String, Value> {
    let keys = match edition {
        Edition::Guide => json!({"port": port, "authToken": token}),
        Edition::Cli => json!({
            "workspaceFolders": [folder.to_string_lossy()],
            "port": port,
            "ideName": "wirecert",
            "authToken": token,
            "pid": pid,
        }),
    };
    match keys {
        Value::Object(keys) => keys,
        _ => Map::new(),
    }
}

/// What lies where clients look for lockfiles.
pub enum Content {
    /// A file.
    File(Vec<u8>),
    /// A folder.
    Folder,
}

/// Something of ours that lies there.
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
        content: Content,
        deliberate: Option<&str>,
        recorder: &Recorder,
    ) -> Result<Self, PeerError> {
        let plain = Path::new(name).file_name().is_some_and(|file| file == name);
        if !plain {
            return Err(wrong("lockfile", format!("`{name}` is no file name")));
        }
        let path = data_home.join(FOLDER).join(name);
        let system = |e: io::Error| PeerError::Environment(format!("cannot lay {}: {e}", path.display()));
        if let Content::File(bytes) = &content {
            let payload = Some(Payload::from(bytes.as_slice()));
            let change = FileChange { path: path.display().to_string(), change: "written".into(), content: payload };
            recorder.record_deliberate(None, None, deliberate, EventKind::File(change));
        }
        let folder = matches!(content, Content::Folder);
        match content {
            Content::Folder => make_folder(&path).map_err(system)?,
            Content::File(bytes) => write(&path, &bytes).map_err(system)?,
        }
        Ok(Self { path, folder })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes it away. That it has gone already, as to a client that tidies up, is as good.
    pub fn remove(&self) {
        let _ = if self.folder { std::fs::remove_dir_all(&self.path) } else { std::fs::remove_file(&self.path) };
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    make_folder(folder)?;
    // Not called .json until it is whole: clients read every file that is.
    let mut file = tempfile::Builder::new().prefix(".lockfile-").suffix(".part").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}
