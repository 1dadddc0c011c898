//! What notifications say, in the words of the edition.

use std::path::Path;

use serde_json::{Value, json};

use super::edition::{Edition, NotificationKind};
use super::model::{Editor, Notice, Selection};
use super::outgoing::{self, Outgoing};
use super::quirks::Switch;
use super::text::{self, Pos};
use super::{disk, file_uri};

impl Editor {
    /// The message for a notice as things are now; none where the edition has no word for it.
    pub fn notification(&self, notice: &Notice) -> Option<Outgoing> {
        let topic = notice.topic();
        self.quirks.forget();
        if self.quirks.has(Switch::Silent(topic)) {
            return None;
        }
        let data = match notice {
            Notice::Selection => self.selection_data(self.selection.as_ref()?)?,
            Notice::VisibleFiles => self.visible_data()?,
            Notice::Message(text) | Notice::Prompt(text) => {
                json!({"message": text})
            }
            Notice::Metadata => json!({"version": env!("CARGO_PKG_VERSION")}),
        };
        outgoing::notification(self.edition, &self.quirks, topic, data)
    }

    fn visible_data(&self) -> Option<Value> {
        if self.visible.is_empty() && self.quirks.has(Switch::NeverEmpty) {
            return None;
        }
        let paths = self.visible.iter().map(|key| self.shown(key));
        Some(match self.edition {
            Edition::Cli => json!({"uris": paths.map(|p| self.uri(p)).collect::<Vec<_>>()}),
            Edition::Guide => json!({"files": paths.map(|p| self.path(p)).collect::<Vec<_>>()}),
        })
    }

    fn selection_data(&self, selection: &Selection) -> Option<Value> {
        let (key, shown) = (&selection.path, self.shown(&selection.path));
        let content = self.text(key);
        // The text may have become shorter since.
        let (start, end) = (text::clamp(&content, selection.start), text::clamp(&content, selection.end));
        let mut told = end;
        if self.quirks.has(Switch::FirstLineOnly) && end.line > start.line {
            told = text::clamp(&content, Pos { line: start.line, col: usize::MAX });
        }
        if self.edition == Edition::Guide {
            let place = |pos: Pos| json!({"line": pos.line, "col": self.column(&content, pos)});
            return Some(json!({"path": self.path(shown), "start": place(start), "end": place(told)}));
        }
        let selected = if start == end && self.quirks.has(Switch::CaretWithLine) {
            text::line(&content, start.line).to_owned()
        } else if self.quirks.has(Switch::DiskContent) {
            text::slice(&disk::read(key).unwrap_or_default(), start, end).to_owned()
        } else {
            text::slice(&content, start, end).to_owned()
        };
        let range = self.range(&content, start, told);
        Some(json!({"uri": self.uri(shown), "selections": [{"range": range, "content": selected}]}))
    }

    /// A range in the words of the edition `cli`.
    pub(super) fn range(&self, content: &str, start: Pos, end: Pos) -> Value {
        json!({
            "startLine": start.line, "startCharacter": self.column(content, start),
            "endLine": end.line, "endCharacter": self.column(content, end),
        })
    }

    fn column(&self, content: &str, pos: Pos) -> usize {
        text::column(content, pos, self.quirks.columns())
    }

    /// The URI that clients are told for a path.
    pub(super) fn uri(&self, path: &Path) -> String {
        let path = path.to_string_lossy();
        let eager = self.quirks.has(Switch::EagerEncoding);
        file_uri::from_path(&path, if eager { file_uri::Encode::Eager } else { file_uri::Encode::Needed })
    }

    /// The path that clients are told for a path.
    pub(super) fn path(&self, path: &Path) -> String {
        path.to_string_lossy().into_owned()
    }

    /// Whether a notice may go to a client, `place` being its place among those connected.
    pub(super) fn reaches(&self, topic: NotificationKind, place: usize) -> bool {
        place == 0 || !self.quirks.has(Switch::FirstClientOnly(topic))
    }
}
