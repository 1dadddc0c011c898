//! The editor itself: buffers, what is visible, the selection, diagnostics.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::protocol::amp::editions::{AmpEdition, NotificationKind};

use super::deviations::EditorDeviations;
use super::disk::{self, DiskError};
use super::text::{self, Pos};

/// What an editor can do otherwise where its user does something or a client connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateSwitch {
    /// A client that has just connected is reported only who the editor is.
    NoStateAtFirst,
    /// A client that has just connected is not told of the selection.
    NoSelectionAtFirst,
    /// A client that has just connected is not told which files are visible.
    NoFilesAtFirst,
    /// `pluginMetadata` is not sent.
    NoMetadata,
    /// `pluginMetadata` comes after files and selection.
    MetadataLate,
    /// Clients are not told that a file was closed.
    OnlyOpenings,
    /// When the file with the selection is closed, clients are not told where the user is then.
    StaysInClosed,
    /// What is selected from its end to its beginning is taken for a caret.
    BackwardIsCaret,
    /// Nothing can be selected, changed or found fault with in a file that was not opened before.
    OnlyOpenFiles,
}

/// A mock editor with one folder open. Knows nothing of connections.
#[derive(Debug)]
pub struct Editor {
    /// The edition spoken.
    pub edition: &'static AmpEdition,
    /// The folder that is open, with all links followed.
    pub root: PathBuf,
    /// The secret of its lockfile.
    pub token: String,
    /// The flaws and freedoms of the editor.
    pub deviations: EditorDeviations,
    /// What whoever steers it takes over; nothing at first.
    pub policy: EditorPolicy,
    /// The open files, by real path.
    pub(super) buffers: BTreeMap<PathBuf, Buffer>,
    /// Real paths, in the order in which they became visible.
    pub(super) visible: Vec<PathBuf>,
    pub(super) selection: Option<Selection>,
    /// The diagnostics of each file, by real path.
    pub(super) diagnostics: BTreeMap<PathBuf, Vec<FileDiagnostic>>,
    /// Files that were edited by clients, for a flaw that minds.
    pub(super) edited: Vec<PathBuf>,
    /// The id of the last request that was answered, for a flaw that confuses it.
    pub(super) last_id: Option<serde_json::Value>,
}

/// What an editor leaves to whoever steers it. It is no flaw and no freedom.
#[derive(Clone, Copy, Debug, Default)]
pub struct EditorPolicy {
    /// A client that has just connected is reported nothing.
    pub silent_at_first: bool,
    /// Requests with numbers as ids are answered, whatever the edition says.
    pub numeric_ids: bool,
}

/// A file that is open.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The path under which the file was opened.
    pub shown: PathBuf,
    /// The text of the file as the user sees it.
    pub text: String,
    /// Whether the text has changes that are not saved.
    pub dirty: bool,
}

/// The selection; a caret where start and end are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The real path of its file.
    pub path: PathBuf,
    /// The position where the selection begins.
    pub start: Pos,
    /// The position where the selection ends, exclusive.
    pub end: Pos,
}

/// A diagnostic of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiagnostic {
    /// The position where the diagnostic begins.
    pub start: Pos,
    /// The position where the diagnostic ends, exclusive.
    pub end: Pos,
    /// `error`, `warning`, `info` or `hint`.
    pub severity: String,
    /// The text of the diagnostic.
    pub message: String,
}

/// An event that clients are notified of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// The selection is another one.
    Selection,
    /// Other files are visible.
    VisibleFiles,
    /// The user sends a message.
    Message(String),
    /// The user adds to the prompt.
    Prompt(String),
    /// The editor's metadata: its version.
    Metadata,
}

impl Notification {
    /// The kind of the notification.
    pub fn topic(&self) -> NotificationKind {
        match self {
            Self::Selection => NotificationKind::Selection,
            Self::VisibleFiles => NotificationKind::VisibleFiles,
            Self::Message(_) => NotificationKind::Message,
            Self::Prompt(_) => NotificationKind::Prompt,
            Self::Metadata => NotificationKind::Metadata,
        }
    }
}

impl Editor {
    /// An editor with nothing open but a folder, which has to exist.
    pub fn new(
        edition: &'static AmpEdition,
        root: &Path,
        token: impl Into<String>,
        deviations: EditorDeviations,
    ) -> std::io::Result<Self> {
        Ok(Self {
            edition,
            root: root.canonicalize()?,
            token: token.into(),
            deviations,
            policy: EditorPolicy::default(),
            buffers: BTreeMap::new(),
            visible: vec![],
            selection: None,
            diagnostics: BTreeMap::new(),
            edited: vec![],
            last_id: None,
        })
    }

    /// Makes a file visible, as a user does who opens it. The caret is at its beginning if it was not open.
    pub fn open(&mut self, path: &Path) -> Result<Vec<Notification>, DiskError> {
        let (key, fresh) = self.load(path)?;
        let newly_visible = !self.visible.contains(&key);
        if newly_visible {
            self.visible.push(key.clone());
        }
        let moved = fresh || self.selection.as_ref().is_none_or(|s| s.path != key);
        if moved {
            self.selection = Some(Selection { path: key, start: Pos::default(), end: Pos::default() });
        }
        let notifications = [(newly_visible, Notification::VisibleFiles), (moved, Notification::Selection)];
        Ok(notifications.into_iter().filter(|(happened, _)| *happened).map(|(_, notification)| notification).collect())
    }

    /// Reads a file into a buffer unless it is open already. Gives its real path, and whether it was read.
    pub(super) fn load(&mut self, path: &Path) -> Result<(PathBuf, bool), DiskError> {
        let shown = disk::tidy(&self.absolute(path));
        let key = disk::place(&shown);
        if self.buffers.contains_key(&key) {
            return Ok((key, false));
        }
        let text = disk::read(&key)?;
        self.buffers.insert(key.clone(), Buffer { shown, text, dirty: false });
        Ok((key, true))
    }

    /// Closes a file; its unsaved changes are lost. Nothing happens if it is not open. If the user was in it, they are
    /// then at the beginning of the file that became visible last: clients forget a file when they are notified of
    /// another one.
    pub fn close(&mut self, path: &Path) -> Vec<Notification> {
        let key = self.key(path);
        self.buffers.remove(&key);
        let before = self.visible.len();
        self.visible.retain(|p| *p != key);
        let closed = self.visible.len() < before;
        let left = self.selection.as_ref().is_some_and(|s| s.path == key);
        if left {
            let next = self.visible.last().cloned();
            self.selection = next.map(|path| Selection { path, start: Pos::default(), end: Pos::default() });
        }
        if !closed {
            return vec![];
        }
        let mut notifications = vec![];
        if !self.deviations.has(StateSwitch::OnlyOpenings) {
            notifications.push(Notification::VisibleFiles);
        }
        if left && self.selection.is_some() && !self.deviations.has(StateSwitch::StaysInClosed) {
            notifications.push(Notification::Selection);
        }
        notifications
    }

    /// Whether a file is open and visible.
    pub fn is_visible(&self, path: &Path) -> bool {
        self.visible.contains(&self.key(path))
    }

    /// Selects text, opening the file if need be. Places outside the text become the nearest ones inside.
    pub fn select(&mut self, path: &Path, start: Pos, end: Pos) -> Result<Vec<Notification>, DiskError> {
        let mut notifications = self.open(path)?;
        let key = self.key(path);
        let content = self.buffers.get(&key).map(|b| b.text.as_str()).unwrap_or_default();
        let (start, end) = (text::clamp(content, start), text::clamp(content, end));
        self.selection = Some(Selection { path: key, start: start.min(end), end: start.max(end) });
        notifications.retain(|n| *n != Notification::Selection);
        notifications.push(Notification::Selection);
        Ok(notifications)
    }

    /// Changes the text of a file without saving it, opening it if need be.
    pub fn edit(&mut self, path: &Path, new: &str) -> Result<Vec<Notification>, DiskError> {
        let notifications = self.open(path)?;
        let key = self.key(path);
        if let Some(buffer) = self.buffers.get_mut(&key) {
            new.clone_into(&mut buffer.text);
            buffer.dirty = true;
        }
        Ok(notifications)
    }

    /// Replaces the diagnostics of a file.
    pub fn set_diagnostics(&mut self, path: &Path, items: Vec<FileDiagnostic>) {
        let key = self.key(path);
        if items.is_empty() {
            self.diagnostics.remove(&key);
        } else {
            self.diagnostics.insert(key, items);
        }
    }

    /// The notifications for a client that has just connected.
    pub fn initial_notifications(&self) -> Vec<Notification> {
        if self.policy.silent_at_first {
            return vec![];
        }
        let mut notifications = vec![Notification::Metadata, Notification::VisibleFiles];
        notifications.extend(self.selection.as_ref().map(|_| Notification::Selection));
        if self.deviations.has(StateSwitch::NoStateAtFirst) {
            notifications.truncate(1);
        }
        let unwanted = |notification: &Notification| match notification {
            Notification::Metadata => self.deviations.has(StateSwitch::NoMetadata),
            Notification::VisibleFiles => self.deviations.has(StateSwitch::NoFilesAtFirst),
            Notification::Selection => self.deviations.has(StateSwitch::NoSelectionAtFirst),
            _ => false,
        };
        notifications.retain(|n| !unwanted(n));
        if self.deviations.has(StateSwitch::MetadataLate) {
            notifications.reverse();
        }
        notifications
    }

    /// The path by which a file is known here: absolute, links followed.
    pub(super) fn key(&self, path: &Path) -> PathBuf {
        disk::place(&self.absolute(path))
    }

    /// The path that messages to clients have.
    pub(super) fn shown<'a>(&'a self, key: &'a Path) -> &'a Path {
        self.buffers.get(key).map_or(key, |b| &b.shown)
    }

    /// The text of a file as the user sees it; empty where it cannot be read.
    pub(super) fn text(&self, key: &Path) -> std::borrow::Cow<'_, str> {
        match self.buffers.get(key) {
            Some(buffer) => buffer.text.as_str().into(),
            None => disk::read(key).unwrap_or_default().into(),
        }
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }
}
