//! The commands by which a running mock editor is steered: every stimulus of the role, and a few for its tests.

use std::num::NonZeroU16;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::peer::control::read_command;
use crate::protocol::amp::editions::{AmpEdition, NotificationKind};
use crate::protocol::amp::verbs::{Diagnostic, Edit, EditorAction, FileDiagnostics, Range, Selection};

use super::model::{Editor, FileDiagnostic, Notification, StateSwitch};
use super::text::Pos;

/// A command.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteerCommand {
    /// Ends the server, and starts it on this port (or any other one) with this secret (or a new one).
    Restart { port: Option<NonZeroU16>, token: Option<String> },
    /// Ends the editor.
    Quit {},
    /// Tells what is open.
    State {},
    /// Tells how many clients there are.
    Clients {},
    /// Switches a flaw or freedom on or off.
    Switch { name: String, on: bool },
    /// What its user does.
    #[serde(untagged)]
    Action(EditorAction),
}

/// Reads a command.
///
/// # Errors
/// What is wrong with it.
pub fn read(command: &Map<String, Value>) -> Result<SteerCommand, String> {
    match read_command(command)? {
        SteerCommand::Restart { token: Some(token), .. } if token.is_empty() => {
            Err("the parameter `token` of `restart` must be a string that is not empty".to_owned())
        }
        SteerCommand::Action(action) if action.path() == Some("") => {
            Err("the parameter `path` must be a path".to_owned())
        }
        command => Ok(command),
    }
}

/// Whether an edition has what a command brings about.
pub fn exists(edition: &AmpEdition, action: &EditorAction) -> Result<(), String> {
    let notifies = match action {
        EditorAction::Message(_) => NotificationKind::Message,
        EditorAction::Prompt(_) => NotificationKind::Prompt,
        _ => return Ok(()),
    };
    match edition.notifications.of(notifies) {
        Some(_) => Ok(()),
        None => Err(format!("the edition `{}` has no such notification", edition.id)),
    }
}

impl Editor {
    /// Does what its user does. Gives what clients are to be notified of.
    pub fn apply(&mut self, action: &EditorAction) -> Result<Vec<Notification>, String> {
        exists(self.edition, action)?;
        let opens = matches!(action, EditorAction::Open(_) | EditorAction::OpenBeside(_) | EditorAction::Close(_));
        if let Some(path) = action.path()
            && !opens
            && self.deviations.has(StateSwitch::OnlyOpenFiles)
            && !self.is_visible(Path::new(path))
        {
            return Err(format!("{path} is not open"));
        }
        let done = match action {
            EditorAction::Open(file) | EditorAction::OpenBeside(file) => self.open(Path::new(&file.path)),
            EditorAction::Select(Selection { path, range }) => {
                let (start, end) = positions(*range);
                self.select(Path::new(path), start, end)
            }
            EditorAction::SelectBackward(Selection { path, range }) => {
                let (start, end) = positions(*range);
                let end = if self.deviations.has(StateSwitch::BackwardIsCaret) { start } else { end };
                self.select(Path::new(path), start, end)
            }
            EditorAction::Edit(Edit { path, text }) => self.edit(Path::new(path), text),
            EditorAction::Close(file) => return Ok(self.close(Path::new(&file.path))),
            EditorAction::Diagnostics(FileDiagnostics { path, items }) => {
                self.set_diagnostics(Path::new(path), items.iter().map(diagnostic).collect());
                return Ok(vec![]);
            }
            EditorAction::Message(text) => return Ok(vec![Notification::Message(text.message.clone())]),
            EditorAction::Prompt(text) => return Ok(vec![Notification::Prompt(text.message.clone())]),
        };
        done.map_err(|e| e.to_string())
    }

    /// The state of the editor as JSON: everything that is open.
    pub fn state(&self) -> Value {
        let shown = |key: &PathBuf| self.shown(key).to_string_lossy().into_owned();
        let pos = |p: Pos| json!({"line": p.line, "col": p.col});
        let buffers =
            self.buffers.values().map(|b| json!({"path": b.shown.to_string_lossy(), "dirty": b.dirty, "text": b.text}));
        let diagnostics = self.diagnostics.iter().map(|(key, items)| {
            let items = items.iter().map(
                |d| json!({"start": pos(d.start), "end": pos(d.end), "severity": d.severity, "message": d.message}),
            );
            json!({"path": shown(key), "items": items.collect::<Vec<_>>()})
        });
        let selection = self.selection.as_ref();
        json!({
            "edition": self.edition.id,
            "workspace": self.root.to_string_lossy(),
            "buffers": buffers.collect::<Vec<_>>(),
            "visible": self.visible.iter().map(shown).collect::<Vec<_>>(),
            "selection": selection.map(|s| json!({"path": shown(&s.path), "start": pos(s.start), "end": pos(s.end)})),
            "diagnostics": diagnostics.collect::<Vec<_>>(),
            "switched_on": self.deviations.names(),
        })
    }
}

fn positions(range: Range) -> (Pos, Pos) {
    let Range { start_line, start_col, end_line, end_col } = range;
    (Pos { line: start_line, col: start_col }, Pos { line: end_line, col: end_col })
}

fn diagnostic(item: &Diagnostic) -> FileDiagnostic {
    let (start, end) = positions(item.range);
    let severity = item.severity.name().to_owned();
    FileDiagnostic { start, end: end.max(start), severity, message: item.message.clone() }
}

#[cfg(test)]
mod tests {
    use crate::format::fields_of;
    use crate::protocol::amp::verbs::Stimulus;

    use super::*;

    fn parse(text: &str) -> Result<SteerCommand, String> {
        let Value::Object(command) = serde_json::from_str(text).unwrap() else { panic!("no object: {text}") };
        read(&command)
    }

    #[test]
    fn every_stimulus_of_the_role_is_a_command() {
        let known = fields_of::<SteerCommand>();
        for stimulus in fields_of::<Stimulus>() {
            assert!(known.iter().any(|command| command.name == stimulus.name), "{}", stimulus.name);
        }
    }

    #[test]
    fn a_command_says_what_to_do_with_what() {
        let select = r#"{"select":{"path":"a","start_line":1,"start_col":2,"end_line":3,"end_col":4}}"#;
        let range = Range { start_line: 1, start_col: 2, end_line: 3, end_col: 4 };
        let expected = EditorAction::Select(Selection { path: "a".to_owned(), range });
        assert_eq!(parse(select), Ok(SteerCommand::Action(expected)));
        assert_eq!(parse(r#"{"quit":{}}"#), Ok(SteerCommand::Quit {}));
    }

    #[test]
    fn a_command_that_is_wrong_is_told_what_is_wrong() {
        for (text, expected) in [
            (r#"{}"#, "a command is an object of one key"),
            (r#"{"open":{},"close":{}}"#, "a command is an object of one key"),
            (r#"{"fly":{}}"#, "there is no command `fly`; there are restart, "),
            (r#"{"open":[]}"#, "the parameters of `open` must be an object"),
            (r#"{"open":{}}"#, "`open` needs the parameter `path`"),
            (r#"{"open":{"path":1}}"#, "the parameter `path` of `open` must be a string"),
            (r#"{"open":{"path":"a","x":1}}"#, "`open` has no parameter `x`"),
            (r#"{"diagnostics":{"path":"a","items":[1]}}"#, "an item of `items` must be an object"),
            (r#"{"restart":{"port":0}}"#, "the parameter `port` of `restart` must be a whole number from 1 to 65535"),
            (r#"{"restart":{"token":""}}"#, "the parameter `token` of `restart` must be a string that is not empty"),
            (r#"{"switch":{"name":"x","on":1}}"#, "the parameter `on` of `switch` must be true or false"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
