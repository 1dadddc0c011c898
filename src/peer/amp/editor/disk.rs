//! Files on disk and their `file` URIs (RFC 8089, RFC 3986): read from anywhere, written inside the workspace only.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use crate::uri;

/// No file larger than this is read, in bytes.
pub const MAX_FILE: u64 = 32 << 20;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    System {
        /// The operation that failed.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The path is a folder, a pipe or a device.
    #[error("{} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// The file is larger than [`MAX_FILE`].
    #[error("{} is too large to be opened here", .0.display())]
    TooLarge(PathBuf),
    /// The file holds no UTF-8 text.
    #[error("{} is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    /// The file is not in the workspace.
    #[error("{} is outside the workspace; only files inside it can be changed", .0.display())]
    Outside(PathBuf),
}

impl DiskError {
    fn system(doing: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::System { doing, path: path.to_owned(), source }
    }

    /// Whether there simply is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::System { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    }
}

/// The bytes of a regular file.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, DiskError> {
    let failed = |e| DiskError::system("read", path, e);
    // Looked at before it is opened: opening a pipe would wait for its writer.
    let size = match fs::metadata(path).map_err(failed)? {
        meta if meta.is_file() => meta.len(),
        _ => return Err(DiskError::NotAFile(path.to_owned())),
    };
    if size > MAX_FILE {
        return Err(DiskError::TooLarge(path.to_owned()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    File::open(path).map_err(failed)?.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE { Err(DiskError::TooLarge(path.to_owned())) } else { Ok(bytes) }
}

/// The text of a regular file.
pub fn read(path: &Path) -> Result<String, DiskError> {
    String::from_utf8(read_bytes(path)?).map_err(|_| DiskError::NotText(path.to_owned()))
}

/// Replaces a file inside `root` at once, following links that stay inside. Its folder has to be there.
pub fn write(root: &Path, path: &Path, content: &str) -> Result<(), DiskError> {
    let target = place(path);
    if !target.starts_with(root) || target == root {
        return Err(DiskError::Outside(path.to_owned()));
    }
    let failed = |e| DiskError::system("write", path, e);
    let permissions = match fs::metadata(&target) {
        Ok(meta) if meta.is_file() && meta.permissions().readonly() => {
            return Err(failed(std::io::ErrorKind::PermissionDenied.into()));
        }
        Ok(meta) if meta.is_file() => Some(meta.permissions()),
        Ok(_) => return Err(DiskError::NotAFile(path.to_owned())),
        Err(_) => None,
    };
    let folder = target.parent().unwrap_or(root);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".wirecert-");
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt as _;
        // What the user's umask leaves of this, as for any file that an editor makes.
        builder.permissions(fs::Permissions::from_mode(0o666))
    };
    // The library's error names the passing file, which concerns nobody.
    let mut file = builder.tempfile_in(folder).map_err(|e| failed(e.kind().into()))?;
    file.write_all(content.as_bytes()).map_err(failed)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions).map_err(failed)?;
    }
    file.persist(&target).map(|_| ()).map_err(|e| failed(e.error))
}

/// Where a path really leads: links followed as far as it exists, `.` and `..` taken out of the rest.
pub fn place(path: &Path) -> PathBuf {
    follow(path, MAX_LINKS)
}

/// How many links in a row that lead nowhere are followed.
const MAX_LINKS: usize = 8;

fn follow(path: &Path, links: usize) -> PathBuf {
    let tidy = tidy(path);
    let mut missing = vec![];
    let mut base = tidy.as_path();
    loop {
        if let Ok(real) = fs::canonicalize(base) {
            return missing.iter().rev().fold(real, |path, part| path.join(part));
        }
        // A link that leads nowhere would be followed when it is written to.
        if let Some(link) = fs::read_link(base).ok().filter(|_| links > 0) {
            let target = follow(&base.parent().unwrap_or(Path::new("/")).join(link), links - 1);
            return missing.iter().rev().fold(target, |path, part| path.join(part));
        }
        match (base.parent(), base.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name.to_owned());
                base = parent;
            }
            _ => return tidy,
        }
    }
}

/// A path without `.` and `..`, links not looked at.
pub fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}

/// How much of a path is percent-encoded. All of these stand for the same path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encode {
    /// Only what a URI path cannot hold.
    #[default]
    Needed,
    /// Everything but letters, digits, `/`, `-`, `.`, `_` and `~`, as many libraries do.
    Eager,
}

/// The `file` URI of an absolute path.
pub fn from_path(path: &str, encode: Encode) -> String {
    let set = match encode {
        Encode::Needed => uri::PATH,
        Encode::Eager => uri::UNRESERVED_PATH,
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("file://{slash}{}", uri::encode(path, set))
}

/// Why a URI names no file here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// The URI has no scheme.
    #[error("not a URI: it has no scheme; a path has to be sent as file:///…")]
    NoScheme,
    /// The URI has another scheme.
    #[error("only file URIs can be opened here")]
    Scheme,
    /// The URI names another machine.
    #[error("the URI names a file on another host")]
    Host,
    /// The URI has no absolute path.
    #[error("the URI has no absolute path")]
    Path,
    /// Its escapes are broken, or do not stand for UTF-8 text.
    #[error("the URI's percent-encoding is broken or is no UTF-8")]
    Encoding,
}

/// The path that a `file` URI stands for. A query and a fragment are no part of it.
pub fn to_path(uri: &str) -> Result<String, UriError> {
    let (scheme, rest) = uri.split_once(':').ok_or(UriError::NoScheme)?;
    let first = scheme.bytes().next().ok_or(UriError::NoScheme)?;
    if !first.is_ascii_alphabetic() || !scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) {
        return Err(UriError::NoScheme);
    }
    if !scheme.eq_ignore_ascii_case("file") {
        return Err(UriError::Scheme);
    }
    let rest = &rest[..rest.find(['#', '?']).unwrap_or(rest.len())];
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let slash = rest.find('/').ok_or(UriError::Path)?;
            let (host, path) = rest.split_at(slash);
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(UriError::Host);
            }
            path
        }
        None => rest,
    };
    let path = uri::decode_strictly(path).ok_or(UriError::Encoding)?;
    let windows = path.as_bytes().get(2) == Some(&b':') && path.as_bytes().get(3) == Some(&b'/');
    match (path.starts_with('/'), windows) {
        (true, true) => Ok(path[1..].to_owned()),
        (true, false) => Ok(path),
        (false, _) => Err(UriError::Path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        (dir, root)
    }

    #[test]
    fn a_file_is_replaced_with_its_permissions_kept() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_dir, root) = folder();
        let path = root.join("a.sh");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        write(&root, &path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn nothing_is_written_outside_the_workspace_by_dots_or_links() {
        let (_dir, outer) = folder();
        let root = outer.join("w");
        fs::create_dir(&root).unwrap();
        std::os::unix::fs::symlink(outer.join("secret"), root.join("dangling")).unwrap();
        std::os::unix::fs::symlink(&outer, root.join("up")).unwrap();
        std::os::unix::fs::symlink("sub/../../secret", root.join("winding")).unwrap();
        for path in ["../x", "up/x", "dangling", "winding", "sub/../../x"] {
            let tried = write(&root, &root.join(path), "x");
            assert!(matches!(tried, Err(DiskError::Outside(_))), "{path}: {tried:?}");
        }
        assert!(matches!(write(&root, &root, "x"), Err(DiskError::Outside(_))));
        assert_eq!(fs::read_dir(&outer).unwrap().count(), 1);
        write(&root, &root.join("inside"), "x").unwrap();
        assert!(write(&root, &root.join("new/sub/x"), "x").unwrap_err().is_missing());
        assert!(!root.join("new").exists());
    }

    #[test]
    fn only_regular_text_files_are_read() {
        let (_dir, root) = folder();
        assert!(matches!(read(&root), Err(DiskError::NotAFile(_))));
        assert!(matches!(read(Path::new("/dev/zero")), Err(DiskError::NotAFile(_))));
        assert!(read(&root.join("none")).unwrap_err().is_missing());
        fs::write(root.join("bin"), [0xff, 0xfe]).unwrap();
        assert!(matches!(read(&root.join("bin")), Err(DiskError::NotText(_))));
    }

    #[test]
    fn every_path_survives_the_way_there_and_back() {
        for path in
            ["/a b", "/50%", "/a#b?c", "/ä/日本語.txt", "/a+b&c=d", "/[x]{y}", "/back\\slash", "/\"quoted\"", "/:@!"]
        {
            for encode in [Encode::Needed, Encode::Eager] {
                let uri = from_path(path, encode);
                assert!(uri.is_ascii() && !uri.contains([' ', '#', '?', '"', '[', '{', '\\']), "{uri}");
                assert_eq!(to_path(&uri).as_deref(), Ok(path), "{uri}");
            }
        }
    }

    #[test]
    fn a_uri_may_name_this_host_and_carry_a_fragment() {
        assert_eq!(to_path("file://localhost/a%20b#L3").as_deref(), Ok("/a b"));
        assert_eq!(to_path("FILE:///a?x=1").as_deref(), Ok("/a"));
        assert_eq!(to_path("file:/a").as_deref(), Ok("/a"));
        assert_eq!(to_path("file:///C:/a").as_deref(), Ok("C:/a"));
    }

    #[test]
    fn what_names_no_file_here_is_refused_with_the_reason() {
        assert_eq!(to_path("/plain/path"), Err(UriError::NoScheme));
        assert_eq!(to_path("https://example.org/"), Err(UriError::Scheme));
        assert_eq!(to_path("file://elsewhere/a"), Err(UriError::Host));
        assert_eq!(to_path("file://"), Err(UriError::Path));
        assert_eq!(to_path("file:relative"), Err(UriError::Path));
        assert_eq!(to_path("file:///a%2"), Err(UriError::Encoding));
        assert_eq!(to_path("file:///a%zz"), Err(UriError::Encoding));
        assert_eq!(to_path("file:///%ff"), Err(UriError::Encoding));
    }
}
