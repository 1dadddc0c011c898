//! `getDiagnostics`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::edition::Edition;
use super::methods::{Params, string};
use super::model::{Diagnostic, Editor};
use super::outgoing::Outcome;
use super::quirks::Switch;
use super::text::{self, Pos};

/// The code of the error of an editor that fails where there are no diagnostics.
const NO_DIAGNOSTICS: i64 = -32000;

impl Editor {
    pub(super) fn get_diagnostics(&self, params: &Params) -> Result<Outcome, Outcome> {
        let wanted = match self.edition {
            Edition::Cli => Some(string(params, "path")?),
            Edition::Guide => None,
        };
        let mut found: Vec<(&PathBuf, &[Diagnostic])> = self
            .diagnostics
            .iter()
            .filter(|(key, _)| wanted.is_none_or(|path| self.in_scope(key, path)))
            .map(|(key, items)| (key, items.as_slice()))
            .collect();
        if self.quirks.has(Switch::NoDiagnostics) {
            found.clear();
        }
        if self.quirks.has(Switch::DiagnosticsOfCurrentOnly) {
            found.retain(|(key, _)| self.selection.as_ref().is_some_and(|s| s.path == **key));
        }
        if self.quirks.has(Switch::FirstDiagnosticOnly) {
            found.iter_mut().for_each(|(_, items)| *items = &items[..1.min(items.len())]);
        }
        if found.is_empty() && self.quirks.has(Switch::ErrorWhenNoDiagnostics) {
            return Ok(Outcome::Refused(NO_DIAGNOSTICS, "there are no diagnostics".to_owned()));
        }
        Ok(Outcome::Done(match self.edition {
            Edition::Cli => {
                json!({"entries": found.iter().map(|(key, items)| self.entry(key, items)).collect::<Vec<_>>()})
            }
            Edition::Guide => found.iter().flat_map(|(key, items)| items.iter().map(|d| self.item(key, d))).collect(),
        }))
    }

    /// Whether a file is asked for: by its own path, or by that of a folder around it.
    fn in_scope(&self, key: &Path, path: &str) -> bool {
        if self.quirks.has(Switch::DiagnosticsOfEverything) {
            return true;
        }
        if self.quirks.has(Switch::DiagnosticsByString) {
            return self.shown(key).to_string_lossy().starts_with(path);
        }
        let wanted = self.key(Path::new(path));
        *key == wanted || key.starts_with(&wanted) && !self.quirks.has(Switch::DiagnosticsOfFilesOnly)
    }

    /// The diagnostics of one file in the words of the edition `cli`.
    fn entry(&self, key: &Path, items: &[Diagnostic]) -> Value {
        let content = self.text(key);
        let items: Vec<Value> = items.iter().map(|d| self.diagnostic(&content, d)).collect();
        json!({"uri": self.uri(self.shown(key)), "diagnostics": items})
    }

    fn diagnostic(&self, content: &str, d: &Diagnostic) -> Value {
        let unit = self.quirks.columns();
        let offset = |pos: Pos| match self.quirks.has(Switch::OffsetsInLine) {
            true => text::column(content, pos, unit),
            false => text::measure(&content[..text::offset(content, pos)], unit),
        };
        let (start, end) = (text::clamp(content, d.start), text::clamp(content, d.end));
        json!({
            "range": self.range(content, start, end),
            "severity": d.severity,
            "description": d.message,
            "lineContent": text::line(content, start.line),
            "startOffset": offset(start),
            "endOffset": offset(end),
        })
    }

    /// One diagnostic in the edition `guide`, which leaves the shape of an item open.
    fn item(&self, key: &Path, d: &Diagnostic) -> Value {
        let content = self.text(key);
        let place = |pos: Pos| json!({"line": pos.line, "col": text::column(&content, pos, self.quirks.columns())});
        let (start, end) = (text::clamp(&content, d.start), text::clamp(&content, d.end));
        json!({
            "path": self.path(self.shown(key)), "start": place(start), "end": place(end),
            "severity": d.severity, "message": d.message,
        })
    }
}
