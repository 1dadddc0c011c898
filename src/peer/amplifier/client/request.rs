//! What the step `request` sends.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::config::Described;
use crate::peer::amplifier::routes::{Encoding, Route, route};
use crate::peer::http_url::HttpUrl;
use crate::peer::params::{given, headers};
use crate::peer::{PeerError, Setting};
use crate::wire::http::{Content, Request};

/// A key that nobody has given out, and that does not look like one.
const BAD_KEY: &str = "wirecert-made-this-up-it-is-no-key";

/// The step `request`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestStep {
    #[serde(rename = "as")]
    pub label: Option<String>,
    pub over: Option<String>,
    pub endpoint: String,
    #[serde(default)]
    pub params: Map<String, Value>,
    pub created_by: Option<String>,
    encode: Option<String>,
    #[serde(default, deserialize_with = "given")]
    body: Option<Value>,
    pub provokes: Option<String>,
    pub decides: Option<String>,
    #[serde(default)]
    pub key: Key,
    #[serde(default)]
    headers: Map<String, Value>,
    pub repeat: Option<u64>,
    pub read: Option<bool>,
    pub deliberate: Option<String>,
}

/// Which API key a new session has.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    #[default]
    Good,
    Bad,
    Unauthorized,
    None,
}

impl RequestStep {
    /// The session that it is about.
    pub fn session(&self) -> &str {
        self.params.get("session_id").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the step itself says this member of the body.
    pub fn says(&self, member: &str) -> bool {
        self.body.as_ref().is_some_and(|body| !body.is_object() || body.get(member).is_some())
    }

    /// The request. `filled` is what the step leaves to be filled in: a prompt, or a decision; of a new session, its profile.
    ///
    /// # Errors
    /// [`PeerError::Lacking`] where the subject is not described with what it takes.
    pub fn request(
        &self,
        url: &HttpUrl,
        setting: &Setting,
        filled: Map<String, Value>,
        deliberate: Option<String>,
    ) -> Result<Request, PeerError> {
        let usual = match self.endpoint.as_str() {
            "createSession" => session(filled, &setting.described, setting.folder.as_deref(), self.key)?,
            _ => filled,
        };
        let body = merged(usual, self.body.clone());
        let encoding = Encoding { every: self.encode.is_some(), ..Encoding::default() };
        let asked = route(&self.endpoint, &Value::Object(self.params.clone()), encoding);
        let asked = asked.ok_or_else(|| PeerError::Scenario(format!("there is no endpoint `{}`", self.endpoint)))?;
        let mut request = request(url, Route { body: body.or(asked.body.map(|_| json!({}))), ..asked });
        for (name, value) in headers(&self.headers) {
            request.headers.retain(|(usual, _)| !usual.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        request.manner.deliberate = deliberate;
        Ok(request)
    }
}

/// The route of an endpoint, with its parameters.
pub fn asked(endpoint: &str, params: &Value) -> Option<Route> {
    route(endpoint, params, Encoding::default())
}

/// The request of a route.
pub fn request(url: &HttpUrl, asked: Route) -> Request {
    let mut request = Request::new(asked.method, below(url, &asked.target));
    if let Some(body) = asked.body {
        request =
            request.header("Content-Type", "application/json").content(Content::Whole(body.to_string().into_bytes()));
    }
    request.fresh = true;
    request
}

/// A target below the server's own URL.
pub fn below(url: &HttpUrl, target: &str) -> String {
    format!("{}{target}", url.target.trim_end_matches('/'))
}

/// What a new session is created from, beside its profile.
fn session(
    mut body: Map<String, Value>,
    described: &Described,
    folder: Option<&Path>,
    key: Key,
) -> Result<Map<String, Value>, PeerError> {
    let key = match key {
        Key::None => None,
        Key::Good => described.secret("credentials.good"),
        Key::Bad => Some(described.secret("credentials.bad").unwrap_or(BAD_KEY)),
        Key::Unauthorized => Some(described.secret("credentials.unauthorized").ok_or_else(|| {
            PeerError::Lacking("the subject is not described with `credentials: unauthorized`".to_owned())
        })?),
    };
    body.insert("credentials".to_owned(), key.map_or_else(|| json!({}), |key| json!({ "anthropic_api_key": key })));
    if let Some(folder) = folder {
        body.insert("context".to_owned(), json!({ "workspace_root": folder.to_string_lossy(), "open_files": [] }));
    }
    Ok(body)
}

/// The usual members with those given in their place; null leaves one out. What is no object is the whole body.
fn merged(mut usual: Map<String, Value>, given: Option<Value>) -> Option<Value> {
    match given {
        None if usual.is_empty() => None,
        None => Some(usual.into()),
        Some(Value::Object(members)) => {
            for (name, value) in members {
                if value.is_null() {
                    usual.remove(&name);
                } else {
                    usual.insert(name, value);
                }
            }
            Some(usual.into())
        }
        Some(other) => Some(other),
    }
}

/// The prompt that provokes this.
///
/// # Errors
/// [`PeerError::Lacking`] where the subject is described with none, or with one that names a folder and there is none.
pub fn prompt(setting: &Setting, what: &str) -> Result<String, PeerError> {
    let prompt = setting.described.text(&format!("prompts.{what}"));
    let prompt = prompt.ok_or_else(|| {
        PeerError::Lacking(format!("the subject is not described with a prompt that provokes `{what}`"))
    })?;
    if !prompt.contains(WORKSPACE) {
        return Ok(prompt.to_owned());
    }
    let folder = setting.folder.as_ref();
    let folder = folder.ok_or_else(|| PeerError::Lacking("no workspace is known for the prompt to name".to_owned()))?;
    Ok(prompt.replace(WORKSPACE, &folder.to_string_lossy()))
}

/// What stands for the session's folder in prompts.
const WORKSPACE: &str = "{workspace}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_are_given_take_the_place_of_the_usual_ones() {
        let Value::Object(usual) = json!({"profile": "dev", "credentials": {}}) else { panic!("an object") };
        assert_eq!(
            merged(usual.clone(), Some(json!({"credentials": null, "model": "m"}))),
            Some(json!({"profile": "dev", "model": "m"}))
        );
        assert_eq!(merged(usual, Some(json!([]))), Some(json!([])));
        assert_eq!(merged(Map::new(), None), None);
    }

    #[test]
    fn a_target_lies_below_the_servers_url() {
        let url = HttpUrl::parse("http://127.0.0.1:1/base/").unwrap();
        assert_eq!(below(&url, "/health"), "/base/health");
        assert_eq!(below(&HttpUrl::parse("http://127.0.0.1:1").unwrap(), "/health"), "/health");
    }
}
