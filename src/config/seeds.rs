//! Files that a subject file asks to be there from the start.

use std::path::Path;

use crate::diagnostic::yaml::{Entry, Kind};

use super::SeedFile;
use super::keys::CONTENT;
use super::reader::Reader;

/// The largest file that is copied, in bytes.
const MAX_SIZE: u64 = 64 * 1024 * 1024;

/// A map from paths to contents: a text, `{hex: …}`, or `{file: …}` relative to `folder`.
pub(super) fn seeds(reader: &mut Reader, entry: &Entry, folder: &Path) -> Vec<SeedFile> {
    let entries = reader.free_map(entry, "a map from paths to contents");
    let mut seeds = vec![];
    for file in entries {
        if let Some(problem) = problem(&file.key) {
            let message = format!("`{}` is no path below `{}`", file.key, entry.key);
            reader.fault("subject/path", file.key_span, message, problem);
        }
        if let Some(content) = content(reader, file, folder) {
            seeds.push(SeedFile { path: file.key.clone(), content });
        }
    }
    seeds
}

fn content(reader: &mut Reader, file: &Entry, folder: &Path) -> Option<Vec<u8>> {
    if let Kind::String(text) = &file.value.kind {
        return Some(text.clone().into_bytes());
    }
    let entries = reader.map(&file.value, &format!("the content of `{}`", file.key), CONTENT)?;
    let [means] = entries else {
        let there = "expected a text, {hex: …} or {file: …}";
        reader.fault("subject/type", file.value.span, format!("the content of `{}` is unclear", file.key), there);
        return None;
    };
    let text = reader.string(means)?;
    match means.key.as_str() {
        "hex" => {
            let bytes = hex(text);
            if bytes.is_none() {
                let there = "expected pairs of 0-9 and a-f; blanks may stand between them";
                reader.fault("subject/type", means.value.span, "these are no hexadecimal digits", there);
            }
            bytes
        }
        "file" => {
            let path = folder.join(text);
            let read = std::fs::metadata(&path).and_then(|meta| match meta.is_file() && meta.len() <= MAX_SIZE {
                true => std::fs::read(&path),
                false => Err(std::io::Error::other("it is no file of at most 64 MiB")),
            });
            match read {
                Ok(bytes) => Some(bytes),
                Err(e) => {
                    let message = format!("could not read {}: {e}", path.display());
                    reader.fault("subject/file", means.value.span, message, "to be copied from there");
                    None
                }
            }
        }
        _ => None,
    }
}

/// Why a path cannot be used below a folder, if it cannot.
fn problem(path: &str) -> Option<&'static str> {
    if path.starts_with('/') {
        Some("it begins with `/`; a path below the folder is wanted")
    } else if path.split('/').any(|part| matches!(part, "" | "." | "..")) || path.contains('\0') {
        Some("it holds an empty part, `.` or `..`")
    } else {
        None
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)?.try_into().ok()).collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
