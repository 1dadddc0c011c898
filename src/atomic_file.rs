//! Files that are whole or not there: written under a temporary name beside their place, then renamed.

use std::fs::{self, DirBuilder};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readable {
    /// Everybody.
    ByAll,
    /// The owner alone, as is right for secrets. So are the folders that are made for it.
    ByOwner,
}

/// Writes a file. Readers see the old file or the new one, never half of one. Folders that are missing are made.
///
/// # Errors
/// The folder or the file cannot be made, written or renamed. Nothing is left behind then.
pub fn write(path: &Path, bytes: &[u8], readable: Readable) -> io::Result<()> {
    let mut file = create(path, readable)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Makes the temporary file for a place: [`NamedTempFile::persist`] gives it its name.
///
/// # Errors
/// The folder or the file cannot be made.
pub fn create(path: &Path, readable: Readable) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match readable {
        Readable::ByAll => fs::create_dir_all(folder)?,
        Readable::ByOwner => create_private_folder(folder)?,
    }
    let mut builder = tempfile::Builder::new();
    // No program takes it for a file of a kind that it reads.
    builder.prefix(".wirecert-").suffix(".part");
    #[cfg(unix)]
    if readable == Readable::ByAll {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    }
    builder.tempfile_in(folder)
}

/// Makes a folder and those on the path to it that are missing, for the owner alone. One that is there stays as it is.
///
/// # Errors
/// It cannot be made.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
