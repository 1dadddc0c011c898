//! What clients can ask for, but files and diagnostics.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::edition::{Edition, Method};
use super::file_uri::{self, UriError};
use super::model::{Editor, Notice};
use super::outgoing::Outcome;
use super::quirks::Switch;
use super::request::INVALID_PARAMS;

/// The parameters of a request.
pub(super) type Params = Map<String, Value>;

impl Editor {
    /// Does what a request asks for. Gives what came of it and what clients are to be notified of.
    pub(super) fn call(&mut self, method: Method, params: &Params) -> (Outcome, Vec<Notice>) {
        let unknown = params.keys().find(|key| !self.knows(method, key));
        if let Some(key) = unknown
            && self.quirks.has(Switch::RefusesExtraKeys)
        {
            return (Outcome::Refused(INVALID_PARAMS, format!("unknown parameter `{key:.80}`")), vec![]);
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

    fn ping(&self, params: &Params) -> Result<Outcome, Outcome> {
        let message = string(params, "message")?;
        let first_line = self.quirks.has(Switch::PingOneLine);
        let message = if first_line { message.lines().next().unwrap_or("pong") } else { message };
        Ok(Outcome::Done(json!({"message": message})))
    }

    fn authenticate(&self, params: &Params) -> Result<Outcome, Outcome> {
        let right = string(params, "authToken")? == self.token;
        let right =
            (right && !self.quirks.has(Switch::AuthenticateRefuses)) || self.quirks.has(Switch::AuthenticateAccepts);
        Ok(Outcome::Done(json!({"authenticated": right})))
    }

    fn open_uri(&mut self, params: &Params) -> Result<(Outcome, Vec<Notice>), Outcome> {
        let uri = string(params, "uri")?;
        let success = || (Outcome::Done(json!({"success": true})), vec![]);
        if self.quirks.has(Switch::RefusesUris) {
            return Ok((Outcome::Failed("cannot open anything".to_owned()), vec![]));
        }
        let path = match file_uri::to_path(uri) {
            Ok(path) => path,
            Err(UriError::Scheme) if self.quirks.has(Switch::OpensAnyScheme) => return Ok(success()),
            Err(UriError::NoScheme) if self.quirks.has(Switch::OpensAnything) => return Ok(success()),
            Err(e) => return Ok((Outcome::Failed(e.to_string()), vec![])),
        };
        let raw = self.quirks.has(Switch::OpensRawUri);
        let path = if raw { uri.trim_start_matches("file://") } else { &path };
        let before = self.visible.len();
        match self.open(Path::new(path)) {
            Ok(_) if self.quirks.has(Switch::OpensHidden) => {
                self.visible.truncate(before);
                Ok(success())
            }
            Ok(notices) => Ok((success().0, notices)),
            Err(e) if e.is_missing() && self.quirks.has(Switch::OpensMissing) => Ok(success()),
            Err(e) => Ok((Outcome::Failed(e.to_string()), vec![])),
        }
    }

    fn knows(&self, method: Method, key: &str) -> bool {
        match method {
            Method::Ping => key == "message",
            Method::Authenticate => key == "authToken",
            Method::ReadFile => key == "path",
            Method::OpenUri => key == "uri",
            Method::GetDiagnostics => key == "path" && self.edition == Edition::Cli,
            Method::EditFile => match self.edition {
                Edition::Cli => ["path", "fullContent"].contains(&key),
                Edition::Guide => ["path", "start", "end", "newText"].contains(&key),
            },
        }
    }

    /// What a flawed editor makes of parameters that are missing or wrong: a success.
    fn lenient(&self, method: Method, params: &Params, refused: Outcome) -> Outcome {
        let complete = match (method, self.edition) {
            (Method::EditFile, Edition::Cli) => 2,
            (Method::EditFile, Edition::Guide) => 4,
            (Method::GetDiagnostics, Edition::Guide) => 0,
            _ => 1,
        };
        let missing = params.keys().filter(|key| self.knows(method, key)).count() < complete;
        let lax = if missing { Switch::MissingParamSucceeds } else { Switch::WrongParamSucceeds };
        if !self.quirks.has(lax) {
            return refused;
        }
        Outcome::Done(match method {
            Method::Ping => json!({"message": ""}),
            Method::Authenticate => json!({"authenticated": true}),
            Method::ReadFile if self.edition == Edition::Guide => json!({"content": ""}),
            Method::ReadFile => json!({"success": true, "content": ""}),
            Method::EditFile | Method::OpenUri => json!({"success": true}),
            Method::GetDiagnostics => json!({"entries": []}),
        })
    }
}

/// A parameter that has to be a string.
pub(super) fn string<'a>(params: &'a Params, key: &str) -> Result<&'a str, Outcome> {
    match params.get(key) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(Outcome::Refused(INVALID_PARAMS, format!("the parameter `{key}` must be a string"))),
        None => Err(Outcome::Refused(INVALID_PARAMS, format!("the parameter `{key}` is missing"))),
    }
}

/// A parameter that has to be a whole number from 0 on. `3.0` is one: JSON knows no integers.
pub(super) fn count(params: &Params, key: &str) -> Result<usize, Outcome> {
    let refused = |what: &str| Outcome::Refused(INVALID_PARAMS, format!("the parameter `{key}` {what}"));
    let value = params.get(key).ok_or_else(|| refused("is missing"))?;
    let whole = value.as_u64().or_else(|| value.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0).map(|n| n as u64));
    whole.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| refused("must be a whole number from 0 on"))
}
