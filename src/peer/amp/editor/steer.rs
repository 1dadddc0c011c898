//! The commands by which a running mock editor is steered: every stimulus of the role, and a few for its tests.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::peer::amp::edition::Edition;

use super::deviations::Switch;
use super::model::{Editor, FileDiagnostic, Notification};
use super::text::Pos;

/// A command, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub enum SteerCommand {
    /// Makes a file visible.
    Open(PathBuf),
    /// Closes a file.
    Close(PathBuf),
    /// Selects text.
    Select(PathBuf, Pos, Pos),
    /// Changes a file's text without saving it.
    Edit(PathBuf, String),
    /// Sets a file's diagnostics.
    Diagnostics(PathBuf, Vec<FileDiagnostic>),
    /// Sends clients a user's message.
    Message(String),
    /// Adds to the clients' prompt.
    Prompt(String),
    /// Ends the server, and starts it on this port (or any other one) with this secret (or a new one).
    Restart(Option<u16>, Option<String>),
    /// Ends the editor.
    Quit,
    /// Tells what is open.
    State,
    /// Tells how many clients there are.
    Clients,
    /// Switches a flaw or freedom on or off.
    Switch(String, bool),
}

/// The names of the commands.
pub const COMMAND_NAMES: [&str; 12] = [
    "open",
    "close",
    "select",
    "edit",
    "diagnostics",
    "message",
    "prompt",
    "restart",
    "quit",
    "state",
    "clients",
    "switch",
];

/// Reads a command: an object of one key, the command's name, whose value is an object with its parameters.
pub fn read(command: &Map<String, Value>) -> Result<SteerCommand, String> {
    let (name, params) = match command.iter().next() {
        Some(only) if command.len() == 1 => only,
        _ => return Err("a command is an object of one key, such as {\"open\":{\"path\":\"/w/a.txt\"}}".to_owned()),
    };
    let Value::Object(params) = params else {
        return Err(format!("the parameters of `{name:.80}` must be an object; it may be empty"));
    };
    let mut reader = ParamReader { command: name, params, used: vec![] };
    let read = match name.as_str() {
        "open" => SteerCommand::Open(reader.path()?),
        "close" => SteerCommand::Close(reader.path()?),
        "select" => SteerCommand::Select(
            reader.path()?,
            reader.pos("start_line", "start_col")?,
            reader.pos("end_line", "end_col")?,
        ),
        "edit" => SteerCommand::Edit(reader.path()?, reader.string("text")?),
        "diagnostics" => SteerCommand::Diagnostics(reader.path()?, reader.items()?),
        "message" => SteerCommand::Message(reader.string("message")?),
        "prompt" => SteerCommand::Prompt(reader.string("message")?),
        "restart" => SteerCommand::Restart(reader.port()?, reader.token()?),
        "quit" => SteerCommand::Quit,
        "state" => SteerCommand::State,
        "clients" => SteerCommand::Clients,
        "switch" => SteerCommand::Switch(reader.string("name")?, reader.bool("on")?),
        _ => return Err(format!("there is no command `{name:.80}`; there are {}", COMMAND_NAMES.join(", "))),
    };
    reader.check_all_used()?;
    Ok(read)
}

/// Whether an edition has what a command brings about.
pub fn exists(edition: Edition, command: &SteerCommand) -> Result<(), String> {
    match (edition, command) {
        (Edition::Guide, SteerCommand::Message(_) | SteerCommand::Prompt(_)) => {
            Err("the edition `guide` has no such notification".to_owned())
        }
        _ => Ok(()),
    }
}

impl Editor {
    /// Does what a command that concerns the editor alone says. Gives what clients are to be notified of.
    pub fn apply(&mut self, command: &SteerCommand) -> Result<Vec<Notification>, String> {
        exists(self.edition, command)?;
        if let SteerCommand::Select(path, ..) | SteerCommand::Edit(path, _) | SteerCommand::Diagnostics(path, _) =
            command
            && self.deviations.has(Switch::OnlyOpenFiles)
            && !self.is_visible(path)
        {
            return Err(format!("{} is not open", path.display()));
        }
        let done = match command {
            SteerCommand::Open(path) => self.open(path),
            SteerCommand::Select(path, start, end) => self.select(path, *start, *end),
            SteerCommand::Edit(path, text) => self.edit(path, text),
            SteerCommand::Close(path) => return Ok(self.close(path)),
            SteerCommand::Diagnostics(path, items) => {
                self.set_diagnostics(path, items.clone());
                return Ok(vec![]);
            }
            SteerCommand::Message(text) => return Ok(vec![Notification::Message(text.clone())]),
            SteerCommand::Prompt(text) => return Ok(vec![Notification::Prompt(text.clone())]),
            SteerCommand::Restart(..)
            | SteerCommand::Quit
            | SteerCommand::State
            | SteerCommand::Clients
            | SteerCommand::Switch(..) => {
                return Ok(vec![]);
            }
        };
        done.map_err(|e| e.to_string())
    }

    /// The state of the editor as JSON: everything that is open.
    pub(super) fn state(&self) -> Value {
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
            "edition": self.edition.id(),
            "workspace": self.root.to_string_lossy(),
            "buffers": buffers.collect::<Vec<_>>(),
            "visible": self.visible.iter().map(shown).collect::<Vec<_>>(),
            "selection": selection.map(|s| json!({"path": shown(&s.path), "start": pos(s.start), "end": pos(s.end)})),
            "diagnostics": diagnostics.collect::<Vec<_>>(),
            "switched_on": self.deviations.names(),
        })
    }
}

/// Takes parameters, and in the end says which nobody wanted.
struct ParamReader<'a> {
    command: &'a str,
    params: &'a Map<String, Value>,
    used: Vec<&'static str>,
}

impl<'a> ParamReader<'a> {
    fn get(&mut self, key: &'static str) -> Result<&'a Value, String> {
        self.used.push(key);
        self.params.get(key).ok_or_else(|| format!("`{}` needs the parameter `{key}`", self.command))
    }

    fn wrong(&self, key: &str, wanted: &str) -> String {
        format!("the parameter `{key}` of `{}` must be {wanted}", self.command)
    }

    fn string(&mut self, key: &'static str) -> Result<String, String> {
        self.get(key)?.as_str().map(str::to_owned).ok_or_else(|| self.wrong(key, "a string"))
    }

    fn path(&mut self) -> Result<PathBuf, String> {
        let path = self.string("path")?;
        if path.is_empty() { Err(self.wrong("path", "a path")) } else { Ok(Path::new(&path).to_owned()) }
    }

    fn bool(&mut self, key: &'static str) -> Result<bool, String> {
        self.get(key)?.as_bool().ok_or_else(|| self.wrong(key, "true or false"))
    }

    fn number(&mut self, key: &'static str) -> Result<usize, String> {
        let number = self.get(key)?.as_u64().and_then(|n| usize::try_from(n).ok());
        number.ok_or_else(|| self.wrong(key, "a whole number from 0 on"))
    }

    fn port(&mut self) -> Result<Option<u16>, String> {
        self.used.push("port");
        let Some(value) = self.params.get("port") else { return Ok(None) };
        let port = value.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|port| *port > 0);
        port.map(Some).ok_or_else(|| self.wrong("port", "a number from 1 to 65535"))
    }

    fn token(&mut self) -> Result<Option<String>, String> {
        self.used.push("token");
        let Some(value) = self.params.get("token") else { return Ok(None) };
        let token = value.as_str().filter(|token| !token.is_empty()).map(str::to_owned);
        token.map(Some).ok_or_else(|| self.wrong("token", "a string that is not empty"))
    }

    fn pos(&mut self, line: &'static str, col: &'static str) -> Result<Pos, String> {
        Ok(Pos { line: self.number(line)?, col: self.number(col)? })
    }

    fn items(&mut self) -> Result<Vec<FileDiagnostic>, String> {
        let Value::Array(items) = self.get("items")? else { return Err(self.wrong("items", "a list of objects")) };
        let read = |item: &Value| {
            let Value::Object(params) = item else { return Err("each diagnostic must be an object".to_owned()) };
            let mut reader = ParamReader { command: "diagnostics", params, used: vec![] };
            let start = reader.pos("start_line", "start_col")?;
            let end = reader.pos("end_line", "end_col")?;
            let severity = reader.string("severity")?;
            if !["error", "warning", "info", "hint"].contains(&severity.as_str()) {
                return Err(reader.wrong("severity", "error, warning, info or hint"));
            }
            let message = reader.string("message")?;
            reader.check_all_used()?;
            Ok(FileDiagnostic { start, end: end.max(start), severity, message })
        };
        items.iter().map(read).collect()
    }

    fn check_all_used(&self) -> Result<(), String> {
        match self.params.keys().find(|key| !self.used.contains(&key.as_str())) {
            Some(key) => Err(format!("`{}` has no parameter `{key:.80}`", self.command)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SteerCommand, String> {
        let Value::Object(command) = serde_json::from_str(text).unwrap() else { panic!("no object: {text}") };
        read(&command)
    }

    #[test]
    fn every_stimulus_of_the_role_is_a_command() {
        let (_, role) = crate::protocol::role("amp-server").unwrap();
        for stimulus in role.stimuli {
            assert!(COMMAND_NAMES.contains(&stimulus.name), "{}", stimulus.name);
        }
    }

    #[test]
    fn a_command_says_what_to_do_with_what() {
        let select = r#"{"select":{"path":"a","start_line":1,"start_col":2,"end_line":3,"end_col":4}}"#;
        let expected = SteerCommand::Select("a".into(), Pos { line: 1, col: 2 }, Pos { line: 3, col: 4 });
        assert_eq!(parse(select), Ok(expected));
        assert_eq!(parse(r#"{"quit":{}}"#), Ok(SteerCommand::Quit));
    }

    #[test]
    fn a_command_that_is_wrong_is_told_what_is_wrong() {
        for (text, expected) in [
            (r#"{}"#, "a command is an object of one key"),
            (r#"{"open":{},"close":{}}"#, "a command is an object of one key"),
            (r#"{"fly":{}}"#, "there is no command `fly`; there are open, "),
            (r#"{"open":[]}"#, "the parameters of `open` must be an object"),
            (r#"{"open":{}}"#, "`open` needs the parameter `path`"),
            (r#"{"open":{"path":1}}"#, "the parameter `path` of `open` must be a string"),
            (r#"{"open":{"path":"a","x":1}}"#, "`open` has no parameter `x`"),
            (r#"{"diagnostics":{"path":"a","items":[1]}}"#, "each diagnostic must be an object"),
            (r#"{"restart":{"port":0}}"#, "the parameter `port` of `restart` must be a number from 1 to 65535"),
            (r#"{"restart":{"token":""}}"#, "the parameter `token` of `restart` must be a string that is not empty"),
            (r#"{"switch":{"name":"x","on":1}}"#, "the parameter `on` of `switch` must be true or false"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
