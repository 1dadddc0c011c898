//! `readFile` and `editFile`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::protocol::amp::editions::{EditForm, Method, ResultForm};
use crate::text;
use crate::uri;

use super::disk::{self, DiskError};
use super::methods::{Params, count, string};
use super::model::Editor;
use super::outgoing::MethodOutcome;

/// How much a flaw that loses long texts leaves of them, in bytes.
pub const PIECE: usize = 64 << 10;

/// What an editor can do otherwise with the paths of `readFile` and `editFile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathSwitch {
    /// This method takes an open file whose path contains the one asked for, as Neovim's `bufnr` does.
    PartialName(Method),
    /// This method takes `%`, `#` and brackets in a path for something else.
    DecodesNames(Method),
    /// Relative paths are taken as below the folder that is open.
    CliRelativePaths,
}

/// What an editor can do otherwise with `readFile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSwitch {
    /// `readFile` reads the disk, not the editor's unsaved text.
    DiskOnly,
    /// `readFile` fails for a file that is not open.
    OpenOnly,
    /// `readFile` fails for a file that is open: it is locked.
    OpenFails,
    /// What is no UTF-8 in a file is replaced.
    LossyBytes,
    /// `readFile` of a file that is not UTF-8 is not answered.
    BadBytesUnanswered,
    /// `readFile` of a file that does not exist succeeds with an empty content.
    MissingIsEmpty,
    /// `readFile` of a directory succeeds with an empty content.
    DirectoryIsListed,
    /// `readFile` leaves a backup file beside the one it read.
    LeavesBackup,
    /// `readFile` gives no more than so many bytes.
    CutsAt(usize),
    /// `readFile` takes an empty content for none.
    RefusesEmptyFile,
    /// `readFile` drops the final newline.
    DropsFinalNewline,
}

/// What an editor can do otherwise with `editFile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditSwitch {
    /// `editFile` never succeeds.
    Refuses,
    /// `editFile` of a file succeeds and does not change it.
    DoesNothing,
    /// `editFile` of a file that was edited before does nothing.
    FirstOnly,
    /// `editFile` also changes open files whose paths begin alike.
    EveryMatch,
    /// `editFile` fails for a file with unsaved changes.
    RefusesOverUnsaved,
    /// `editFile` changes the editor's text and does not save it.
    BufferOnly,
    /// `editFile` writes the file and leaves the editor's text as it was.
    DiskButNotBuffer,
    /// `editFile` takes an empty text for none.
    RefusesEmptyText,
    /// `editFile` creates no files.
    RefusesNewFiles,
    /// `editFile` makes a file that does not exist.
    MissingIsMade,
    /// `editFile` makes the folders that a new file needs.
    MakesFolders,
    /// `editFile` makes folders that are missing, and then fails.
    LeavesFolders,
    /// `editFile` of a directory succeeds.
    DirectorySucceeds,
    /// `start` and `end` are taken for characters.
    OffsetsInCharacters,
    /// The `end` of an edit is the last byte of what is replaced.
    EndInclusive,
    /// `end` is the last byte where text is taken out, and the one behind it where other text takes its place.
    EndOfBothKinds,
    /// Offsets beyond the end are taken for the end.
    ClampsOffsets,
    /// An end before the start is swapped with it.
    SwapsOffsets,
    /// An offset inside a character leaves a broken one.
    CutsCharacters,
    /// `editFile` puts the new text before the old one, and keeps that.
    KeepsRange,
    /// `editFile` with an empty new text does nothing.
    DeletesNothing,
    /// `editFile` writes `?` for what is beyond ASCII.
    LosesUnicode,
    /// `editFile` turns CRLF into LF.
    CrlfToLf,
    /// `editFile` writes the first 64 KiB.
    CutsAt64K,
    /// `editFile` adds a final newline that is missing.
    AddsFinalNewline,
}

impl Editor {
    pub(super) fn read_file(&self, params: &Params) -> Result<MethodOutcome, MethodOutcome> {
        let path = self.path_of(params, Method::ReadFile)?;
        let key = self.find(&path, Method::ReadFile);
        let buffer = self.buffers.get(&key);
        let dirty = buffer.is_some_and(|b| b.dirty);
        let buffer = buffer.filter(|_| !self.deviations.has(ReadSwitch::DiskOnly));
        if self.deviations.has(ReadSwitch::LeavesBackup) {
            let mut beside = key.clone().into_os_string();
            beside.push("~");
            let _ = disk::write(&self.root, Path::new(&beside), "");
        }
        let read = match buffer {
            Some(_) if self.deviations.has(ReadSwitch::OpenFails) => {
                return Ok(MethodOutcome::Failed("the file is in use".to_owned()));
            }
            Some(buffer) => Ok(Cow::Borrowed(buffer.text.as_str())),
            None if self.deviations.has(ReadSwitch::OpenOnly) => {
                return Ok(MethodOutcome::Failed("the file is not open".to_owned()));
            }
            None => disk::read(&key).map(Cow::Owned),
        };
        let content = match read {
            Ok(content) => content,
            Err(DiskError::NotText(_)) if self.deviations.has(ReadSwitch::BadBytesUnanswered) => {
                return Ok(MethodOutcome::Silence);
            }
            Err(DiskError::NotText(_)) if self.deviations.has(ReadSwitch::LossyBytes) => {
                String::from_utf8_lossy(&disk::read_bytes(&key).unwrap_or_default()).into_owned().into()
            }
            Err(e) if e.is_missing() && self.deviations.has(ReadSwitch::MissingIsEmpty) => "".into(),
            Err(DiskError::NotAFile(_)) if self.deviations.has(ReadSwitch::DirectoryIsListed) => "".into(),
            Err(e) => return Ok(MethodOutcome::Failed(e.to_string())),
        };
        if content.is_empty() && self.deviations.has(ReadSwitch::RefusesEmptyFile) {
            return Ok(MethodOutcome::Failed("the file has no content".to_owned()));
        }
        let mut content: &str = &content;
        if self.deviations.has(ReadSwitch::DropsFinalNewline) {
            content = content.strip_suffix('\n').map_or(content, |c| c.strip_suffix('\r').unwrap_or(c));
        }
        if let Some(most) = self.deviations.choose(|s| if let ReadSwitch::CutsAt(n) = s { Some(n) } else { None })
            && content.len() > most
        {
            let _ = self.deviations.has(ReadSwitch::CutsAt(most));
            content = text::prefix(content, most);
        }
        Ok(MethodOutcome::Done(match self.edition.results {
            ResultForm::Flagged => json!({"success": true, "content": content, "isDirty": dirty}),
            ResultForm::Bare => json!({"content": content}),
        }))
    }

    pub(super) fn edit_file(&mut self, params: &Params) -> Result<MethodOutcome, MethodOutcome> {
        let path = self.path_of(params, Method::EditFile)?;
        let key = self.find(&path, Method::EditFile);
        if self.deviations.has(EditSwitch::LeavesFolders)
            && let Some(folder) = key.parent().filter(|f| !f.exists() && f.starts_with(&self.root))
        {
            let _ = std::fs::create_dir_all(folder);
            return Ok(MethodOutcome::Failed("there is no such file".to_owned()));
        }
        let new = match self.edition.edits {
            EditForm::WholeText => Ok(string(params, "fullContent")?.to_owned()),
            EditForm::ByteRange => {
                let (start, end) = (count(params, "start")?, count(params, "end")?);
                self.splice(&key, start, end, string(params, "newText")?)
            }
        };
        Ok(match new.and_then(|new| self.put(&path, key, new)) {
            Ok(()) if self.edition.results == ResultForm::Flagged => {
                MethodOutcome::Done(json!({"success": true, "appliedChanges": true}))
            }
            Ok(()) => MethodOutcome::Done(json!({"success": true})),
            Err(message) => MethodOutcome::Failed(message),
        })
    }

    /// The text of a file with a range of bytes replaced.
    fn splice(&self, key: &Path, start: usize, end: usize, new: &str) -> Result<String, String> {
        let old = match self.buffers.get(key) {
            Some(buffer) => buffer.text.clone(),
            None => match disk::read(key) {
                // Where there is nothing to take bytes out of, a flaw that goes on all the same heeds no offsets.
                Err(e) if e.is_missing() && self.deviations.has(EditSwitch::MissingIsMade) => return Ok(new.to_owned()),
                Err(DiskError::NotAFile(_)) if self.deviations.has(EditSwitch::DirectorySucceeds) => {
                    return Ok(new.to_owned());
                }
                read => read.map_err(|e| e.to_string())?,
            },
        };
        let (mut start, mut end) = (start, end);
        if start > end && self.deviations.has(EditSwitch::SwapsOffsets) {
            (start, end) = (end, start);
        }
        let inclusive = self.deviations.has(EditSwitch::EndInclusive)
            || new.is_empty() && self.deviations.has(EditSwitch::EndOfBothKinds);
        if inclusive && start <= end {
            if end >= old.len() {
                return Err(format!("the file has {} bytes, so there is no byte {end}", old.len()));
            }
            end = (end + 1..old.len()).find(|end| old.is_char_boundary(*end)).unwrap_or(old.len());
        }
        if self.deviations.has(EditSwitch::OffsetsInCharacters) {
            let byte = |n| old.char_indices().nth(n).map_or(old.len(), |(i, _)| i);
            (start, end) = (byte(start), byte(end));
        }
        if self.deviations.has(EditSwitch::ClampsOffsets) {
            (start, end) = (start.min(old.len()), end.min(old.len()));
        }
        if start > end {
            return Err("`end` is before `start`".to_owned());
        }
        if end > old.len() {
            return Err(format!("the file has {} bytes, so there is no byte {end}", old.len()));
        }
        if new.is_empty() && start < end && self.deviations.has(EditSwitch::DeletesNothing) {
            return Ok(old);
        }
        if self.deviations.has(EditSwitch::KeepsRange) {
            end = start;
        }
        match (old.get(..start), old.get(end..)) {
            (Some(before), Some(after)) => Ok([before, new, after].concat()),
            _ if self.deviations.has(EditSwitch::CutsCharacters) => {
                let old = old.as_bytes();
                Ok(String::from_utf8_lossy(&[&old[..start], new.as_bytes(), &old[end..]].concat()).into_owned())
            }
            _ => Err("`start` or `end` is inside a character".to_owned()),
        }
    }

    /// Makes editor and disk hold a new text, unless a flaw has it otherwise.
    fn put(&mut self, path: &Path, key: PathBuf, new: String) -> Result<(), String> {
        let mut new = new;
        if (key.is_file() && self.deviations.has(EditSwitch::DoesNothing))
            || (key.is_dir() && self.deviations.has(EditSwitch::DirectorySucceeds))
            || (self.edited.contains(&key) && self.deviations.has(EditSwitch::FirstOnly))
        {
            return Ok(());
        }
        let missing = !key.exists();
        let dirty = self.buffers.get(&key).is_some_and(|b| b.dirty);
        for (wrong, switch, why) in [
            (true, EditSwitch::Refuses, "editing is not possible"),
            (missing, EditSwitch::RefusesNewFiles, "there is no such file"),
            (new.is_empty(), EditSwitch::RefusesEmptyText, "there is no content"),
            (dirty, EditSwitch::RefusesOverUnsaved, "the file has unsaved changes"),
        ] {
            if wrong && self.deviations.has(switch) {
                return Err(why.to_owned());
            }
        }
        if self.deviations.has(EditSwitch::LosesUnicode) {
            new = new.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect();
        }
        if self.deviations.has(EditSwitch::CrlfToLf) {
            new = new.replace("\r\n", "\n");
        }
        if new.len() > PIECE && self.deviations.has(EditSwitch::CutsAt64K) {
            new.truncate(text::prefix(&new, PIECE).len());
        }
        if !new.is_empty() && !new.ends_with('\n') && self.deviations.has(EditSwitch::AddsFinalNewline) {
            new.push('\n');
        }
        if missing
            && self.deviations.has(EditSwitch::MakesFolders)
            && let Some(folder) = key.parent().filter(|f| f.starts_with(&self.root))
        {
            let _ = std::fs::create_dir_all(folder);
        }
        if !missing && self.deviations.has(EditSwitch::BufferOnly) {
            self.load(path).map_err(|e| e.to_string())?;
        } else {
            disk::write(&self.root, &key, &new).map_err(|e| e.to_string())?;
        }
        let others = self.deviations.has(EditSwitch::EveryMatch);
        if others {
            let name = key.to_string_lossy().into_owned();
            for (other, buffer) in &mut self.buffers {
                if *other != key && other.to_string_lossy().contains(&name) {
                    buffer.text.clone_from(&new);
                    let _ = disk::write(&self.root, other, &new);
                }
            }
        }
        if let Some(buffer) = self.buffers.get_mut(&key)
            && !self.deviations.has(EditSwitch::DiskButNotBuffer)
        {
            buffer.text = new;
            buffer.dirty = self.deviations.has(EditSwitch::BufferOnly);
        }
        if !self.edited.contains(&key) && self.deviations.has(EditSwitch::FirstOnly) {
            self.edited.push(key);
        }
        Ok(())
    }

    /// The path of a request. The guide's example has a relative one; the CLI sends absolute ones only.
    fn path_of(&self, params: &Params, method: Method) -> Result<PathBuf, MethodOutcome> {
        let path = string(params, "path")?;
        let decodes = self.deviations.has(PathSwitch::DecodesNames(method));
        let path = if decodes { misread_path(path) } else { path.to_owned() };
        let relative = !Path::new(&path).is_absolute();
        if path.is_empty()
            || relative && self.edition.absolute_paths && !self.deviations.has(PathSwitch::CliRelativePaths)
        {
            return Err(MethodOutcome::Failed(format!("`{path}` is no absolute path")));
        }
        Ok(self.root.join(path))
    }

    /// The real path to use for a path that was asked for.
    fn find(&self, path: &Path, method: Method) -> PathBuf {
        let key = self.key(path);
        if !self.buffers.contains_key(&key) && self.deviations.has(PathSwitch::PartialName(method)) {
            let name = path.to_string_lossy();
            let similar = self.buffers.iter().find(|(_, b)| b.shown.to_string_lossy().contains(&*name));
            if let Some((similar, _)) = similar {
                return similar.clone();
            }
        }
        key
    }
}

/// A path taken for a part of a URI, as a careless editor does.
fn misread_path(path: &str) -> String {
    let path = path.split('#').next().unwrap_or_default().replace(['[', ']', '*'], "");
    uri::decode_strictly(&path).unwrap_or(path)
}
