//! What clients can request, but for files: `ping`, `authenticate`, `openURI`, `getDiagnostics`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::matcher::as_integer;
use crate::protocol::amp::editions::{DiagnosticsForm, Method, ResultForm};

use super::disk::{self, UriError};
use super::model::{Editor, FileDiagnostic, Notification};
use super::outgoing::MethodOutcome;
use super::request::INVALID_PARAMS;
use super::text::{self, Pos};

/// What an editor can do otherwise with the parameters of requests, `ping` and `authenticate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodSwitch {
    /// A request without a parameter succeeds.
    MissingParamSucceeds,
    /// A request with a parameter of the wrong type succeeds.
    WrongParamSucceeds,
    /// A parameter that is not known makes a request fail.
    RefusesExtraKeys,
    /// A ping is answered with the first line of its message.
    PingOneLine,
    /// `authenticate` accepts no token.
    AuthenticateRefuses,
    /// `authenticate` accepts any token.
    AuthenticateAccepts,
    /// `authenticate` accepts the beginning of the token.
    AuthenticateAcceptsPrefix,
    /// `authenticate` compares the token without regard to the case of its letters.
    AuthenticateAcceptsAnyCase,
}

/// What an editor can do otherwise with `getDiagnostics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosticsSwitch {
    /// `getDiagnostics` reports none.
    NoDiagnostics,
    /// `getDiagnostics` reports one diagnostic of each file.
    FirstOnly,
    /// `getDiagnostics` fails where there are none.
    ErrorWhenNone,
    /// `getDiagnostics` reports nothing for a directory.
    OfFilesOnly,
    /// `getDiagnostics` reports those of every file, whatever the path.
    OfEverything,
    /// `getDiagnostics` reports those of the file with the caret.
    OfCurrentOnly,
    /// Files belong to a path if theirs begins with it as text.
    ByPrefix,
    /// The offsets of diagnostics are counted in their line.
    OffsetsInLine,
}

/// What an editor can do otherwise with `openURI`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenUriSwitch {
    /// `openURI` takes the rest of the URI for the path, undecoded.
    Raw,
    /// `openURI` opens nothing.
    Refuses,
    /// A file that `openURI` opened is not visible.
    Hidden,
    /// `openURI` succeeds for a file that does not exist.
    Missing,
    /// `openURI` succeeds for any scheme.
    AnyScheme,
    /// `openURI` succeeds for what is no URI.
    Anything,
}

/// The parameters of a request.
pub(super) type Params = Map<String, Value>;

impl Editor {
    /// Does what a request asks for. Gives what came of it and what clients are to be notified of.
    pub(super) fn call(&mut self, method: Method, params: &Params) -> (MethodOutcome, Vec<Notification>) {
        let unknown = params.keys().find(|key| self.edition.params(method).all(|known| known != *key));
        if let Some(key) = unknown
            && self.deviations.has(MethodSwitch::RefusesExtraKeys)
        {
            return (MethodOutcome::Refused(INVALID_PARAMS, format!("unknown parameter `{key:.80}`")), vec![]);
        }
        let done = match method {
            Method::Ping => self.ping(params).map(|o| (o, vec![])),
            Method::Authenticate => self.authenticate(params).map(|o| (o, vec![])),
            Method::ReadFile => self.read_file(params).map(|o| (o, vec![])),
            Method::EditFile => self.edit_file(params).map(|o| (o, vec![])),
            Method::GetDiagnostics => self.get_diagnostics(params).map(|o| (o, vec![])),
            Method::OpenUri => self.open_uri(params),
        };
        done.unwrap_or_else(|refused| (self.lenient(method, params, refused), vec![]))
    }

    fn ping(&self, params: &Params) -> Result<MethodOutcome, MethodOutcome> {
        let message = string(params, "message")?;
        let first_line = self.deviations.has(MethodSwitch::PingOneLine);
        let message = if first_line { message.lines().next().unwrap_or("pong") } else { message };
        Ok(MethodOutcome::Done(json!({"message": message})))
    }

    fn authenticate(&self, params: &Params) -> Result<MethodOutcome, MethodOutcome> {
        let given = string(params, "authToken")?;
        let has = |switch: MethodSwitch| self.deviations.has(switch);
        let right = (given == self.token && !has(MethodSwitch::AuthenticateRefuses))
            || has(MethodSwitch::AuthenticateAccepts)
            || (has(MethodSwitch::AuthenticateAcceptsPrefix) && !given.is_empty() && self.token.starts_with(given))
            || (has(MethodSwitch::AuthenticateAcceptsAnyCase) && given.eq_ignore_ascii_case(&self.token));
        Ok(MethodOutcome::Done(json!({"authenticated": right})))
    }

    fn open_uri(&mut self, params: &Params) -> Result<(MethodOutcome, Vec<Notification>), MethodOutcome> {
        let uri = string(params, "uri")?;
        let success = || (MethodOutcome::Done(json!({"success": true})), vec![]);
        if self.deviations.has(OpenUriSwitch::Refuses) {
            return Ok((MethodOutcome::Failed("cannot open anything".to_owned()), vec![]));
        }
        let path = match disk::to_path(uri) {
            Ok(path) => path,
            Err(UriError::Scheme) if self.deviations.has(OpenUriSwitch::AnyScheme) => return Ok(success()),
            Err(UriError::NoScheme) if self.deviations.has(OpenUriSwitch::Anything) => return Ok(success()),
            Err(e) => return Ok((MethodOutcome::Failed(e.to_string()), vec![])),
        };
        let raw = self.deviations.has(OpenUriSwitch::Raw);
        let path = if raw { uri.trim_start_matches("file://") } else { &path };
        let before = self.visible.len();
        match self.open(Path::new(path)) {
            Ok(_) if self.deviations.has(OpenUriSwitch::Hidden) => {
                self.visible.truncate(before);
                Ok(success())
            }
            Ok(notifications) => Ok((success().0, notifications)),
            Err(e) if e.is_missing() && self.deviations.has(OpenUriSwitch::Missing) => Ok(success()),
            Err(e) => Ok((MethodOutcome::Failed(e.to_string()), vec![])),
        }
    }

    /// The success with which a flawed editor responds to parameters that are missing or wrong.
    fn lenient(&self, method: Method, params: &Params, refused: MethodOutcome) -> MethodOutcome {
        let missing = self.edition.params(method).any(|key| !params.contains_key(key));
        let lax = if missing { MethodSwitch::MissingParamSucceeds } else { MethodSwitch::WrongParamSucceeds };
        if !self.deviations.has(lax) {
            return refused;
        }
        MethodOutcome::Done(match method {
            Method::Ping => json!({"message": ""}),
            Method::Authenticate => json!({"authenticated": true}),
            Method::ReadFile if self.edition.results == ResultForm::Bare => json!({"content": ""}),
            Method::ReadFile => json!({"success": true, "content": ""}),
            Method::EditFile | Method::OpenUri => json!({"success": true}),
            Method::GetDiagnostics => json!({"entries": []}),
        })
    }
}

/// A parameter that has to be a string.
pub(super) fn string<'a>(params: &'a Params, key: &str) -> Result<&'a str, MethodOutcome> {
    match params.get(key) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(MethodOutcome::Refused(INVALID_PARAMS, format!("the parameter `{key}` must be a string"))),
        None => Err(MethodOutcome::Refused(INVALID_PARAMS, format!("the parameter `{key}` is missing"))),
    }
}

/// A parameter that has to be a whole number from 0 on. `3.0` is one: JSON knows no integers.
pub(super) fn count(params: &Params, key: &str) -> Result<usize, MethodOutcome> {
    let refused = |what: &str| MethodOutcome::Refused(INVALID_PARAMS, format!("the parameter `{key}` {what}"));
    let value = params.get(key).ok_or_else(|| refused("is missing"))?;
    value
        .as_number()
        .and_then(as_integer)
        .and_then(|n| usize::try_from(n).ok())
        .ok_or_else(|| refused("must be a whole number from 0 on"))
}

/// The code of the error of an editor that fails where there are no diagnostics.
const NO_DIAGNOSTICS: i64 = -32000;

impl Editor {
    pub(super) fn get_diagnostics(&self, params: &Params) -> Result<MethodOutcome, MethodOutcome> {
        let wanted = match self.edition.diagnostics {
            DiagnosticsForm::EntriesOfPath => Some(string(params, "path")?),
            DiagnosticsForm::AllItems => None,
        };
        let mut found: Vec<(&PathBuf, &[FileDiagnostic])> = self
            .diagnostics
            .iter()
            .filter(|(key, _)| wanted.is_none_or(|path| self.in_scope(key, path)))
            .map(|(key, items)| (key, items.as_slice()))
            .collect();
        if self.deviations.has(DiagnosticsSwitch::NoDiagnostics) {
            found.clear();
        }
        if self.deviations.has(DiagnosticsSwitch::OfCurrentOnly) {
            found.retain(|(key, _)| self.selection.as_ref().is_some_and(|s| s.path == **key));
        }
        if self.deviations.has(DiagnosticsSwitch::FirstOnly) {
            found.iter_mut().for_each(|(_, items)| *items = &items[..1.min(items.len())]);
        }
        if found.is_empty() && self.deviations.has(DiagnosticsSwitch::ErrorWhenNone) {
            return Ok(MethodOutcome::Refused(NO_DIAGNOSTICS, "there are no diagnostics".to_owned()));
        }
        Ok(MethodOutcome::Done(match self.edition.diagnostics {
            DiagnosticsForm::EntriesOfPath => {
                json!({"entries": found.iter().map(|(key, items)| self.entry(key, items)).collect::<Vec<_>>()})
            }
            DiagnosticsForm::AllItems => {
                found.iter().flat_map(|(key, items)| items.iter().map(|d| self.item(key, d))).collect()
            }
        }))
    }

    /// Whether a file is asked for: by its own path, or by that of a folder around it.
    fn in_scope(&self, key: &Path, path: &str) -> bool {
        if self.deviations.has(DiagnosticsSwitch::OfEverything) {
            return true;
        }
        if self.deviations.has(DiagnosticsSwitch::ByPrefix) {
            return self.shown(key).to_string_lossy().starts_with(path);
        }
        let wanted = self.key(Path::new(path));
        *key == wanted || key.starts_with(&wanted) && !self.deviations.has(DiagnosticsSwitch::OfFilesOnly)
    }

    /// The diagnostics of one file.
    fn entry(&self, key: &Path, items: &[FileDiagnostic]) -> Value {
        let content = self.text(key);
        let items: Vec<Value> = items.iter().map(|d| self.diagnostic(&content, d)).collect();
        json!({"uri": self.uri(self.shown(key)), "diagnostics": items})
    }

    fn diagnostic(&self, content: &str, d: &FileDiagnostic) -> Value {
        let unit = self.deviations.columns();
        let offset = |pos: Pos| match self.deviations.has(DiagnosticsSwitch::OffsetsInLine) {
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

    /// One diagnostic of a list that leaves the shape of an item open.
    fn item(&self, key: &Path, d: &FileDiagnostic) -> Value {
        let content = self.text(key);
        let place = |pos: Pos| json!({"line": pos.line, "col": text::column(&content, pos, self.deviations.columns())});
        let (start, end) = (text::clamp(&content, d.start), text::clamp(&content, d.end));
        json!({
            "path": self.path(self.shown(key)), "start": place(start), "end": place(end),
            "severity": d.severity, "message": d.message,
        })
    }
}
