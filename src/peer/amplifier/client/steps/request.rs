//! Requests: what the step `request` sends, what new sessions are created with by default, and what a refusal of that
//! says about the description of the subject.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::config::Described;
use crate::peer::http::{HttpUrl, Watch, one};
use crate::peer::params::headers;
use crate::peer::{PeerError, Setting};
use crate::protocol::amplifier::verbs::{self, Key};
use crate::trace::{Clock, Message, Recorder};
use crate::wire::http::{Incoming, Request};

use super::super::routes::{Encoding, Route, route};
use super::super::{PROVES, below, request};

/// An invalid key that does not look like a key.
const BAD_KEY: &str = "wirecert-made-this-up-it-is-no-key";

impl verbs::Request {
    /// The session that it is about.
    pub fn session(&self) -> &str {
        self.params.get("session_id").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the step itself says this member of the body.
    pub fn sets(&self, member: &str) -> bool {
        self.body.as_ref().is_some_and(|body| !body.is_object() || body.get(member).is_some())
    }

    /// The request. `generated` is what the step leaves to be filled in: a prompt, or a decision; of a new session, its
    /// profile.
    ///
    /// # Errors
    /// [`PeerError::Lacking`] where the subject is not described with what it takes.
    pub fn request(
        &self,
        url: &HttpUrl,
        setting: &Setting,
        generated: Map<String, Value>,
        deliberate: Option<String>,
    ) -> Result<Request, PeerError> {
        let defaults = match self.endpoint.as_str() {
            "createSession" => session(generated, &setting.described, setting.folder.as_deref(), self.key)?,
            _ => generated,
        };
        let body = merge(defaults, self.body.clone());
        let encoding = Encoding { every: self.encode.is_some(), ..Encoding::default() };
        let route = route(&self.endpoint, &Value::Object(self.params.clone()), encoding);
        let route = route.ok_or_else(|| PeerError::Scenario(format!("there is no endpoint `{}`", self.endpoint)))?;
        let mut request = request(url, Route { body: body.or(route.body.map(|_| json!({}))), ..route });
        for (name, value) in headers(&self.headers.0) {
            request.headers.retain(|(present, _)| !present.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        request.send_options.deliberate = deliberate;
        Ok(request)
    }
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

/// The default members with those given in their place; null leaves one out. What is no object is the complete body.
fn merge(mut defaults: Map<String, Value>, overrides: Option<Value>) -> Option<Value> {
    match overrides {
        None if defaults.is_empty() => None,
        None => Some(defaults.into()),
        Some(Value::Object(members)) => {
            for (name, value) in members {
                if value.is_null() {
                    defaults.remove(&name);
                } else {
                    defaults.insert(name, value);
                }
            }
            Some(defaults.into())
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

/// The placeholder for the session's folder in prompts.
const WORKSPACE: &str = "{workspace}";

/// The profile of new sessions, where none is described and the server lists none.
const PROFILE: &str = "dev";
/// How long a server may take to list its profiles.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);

/// The profile for new sessions of a subject that is described with none: the one of the document's examples where the
/// server lists it, else the first that it lists, best of those that belong to no collection. The look is no part of
/// the play, and in no trace.
pub async fn default_profile(setting: &Setting) -> String {
    let untraced =
        Setting { recorder: Recorder::new(Clock::start(), vec![]), patience: LIST_TIMEOUT, ..setting.clone() };
    let listed = one(&untraced, PROVES, "listProfiles", |url| Request::new("GET", below(url, "/profiles"))).await;
    let message = listed.ok().and_then(|response| response.message);
    let json = message.as_ref().and_then(Message::value);
    json.and_then(|json| preferred(&json)).unwrap_or_else(|| PROFILE.to_owned())
}

/// The profile to be taken of a list of them.
fn preferred(list: &Value) -> Option<String> {
    let profiles = list.get("profiles")?.as_array()?;
    let named = |profile: &Value| profile.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    let own = |profile: &&Value| profile.get("collection").is_none_or(Value::is_null);
    let all: Vec<&Value> = profiles.iter().filter(|profile| named(profile)).collect();
    let defaults = all.iter().find(|profile| profile["name"] == PROFILE);
    let first = defaults.or_else(|| all.iter().find(|profile| own(profile))).or_else(|| all.first());
    first.and_then(|profile| profile["name"].as_str()).map(str::to_owned)
}

/// A refusal, noted by a watch. Clones share it.
#[derive(Clone, Default)]
pub struct RefusalWatch(Arc<Mutex<Option<(u16, String)>>>);

impl RefusalWatch {
    /// A watch that notes a refusal, and passes everything on to `next`.
    pub fn watch(&self, mut next: Watch) -> Watch {
        let own = self.clone();
        Box::new(move |incoming| {
            next(incoming);
            let mut refusal = own.0.lock();
            match incoming {
                Incoming::Head(head) => {
                    *refusal = head.status().filter(|status| *status >= 400).map(|status| (status, String::new()));
                }
                Incoming::Message(message) => {
                    let json = message.value();
                    let code = json.as_ref().and_then(|json| json.pointer("/error/code")).and_then(Value::as_str);
                    if let (Some((_, known)), Some(code)) = (refusal.as_mut(), code) {
                        code.clone_into(known);
                    }
                }
                _ => {}
            }
        })
    }

    /// What the subject has to be described with, where the server refused a default request for lack of it.
    pub fn missing_description(&self, requested: DefaultRequest, described: &Described) -> Option<String> {
        let refusal = self.0.lock().clone();
        let (status, code) = refusal?;
        let summary = if code.is_empty() { status.to_string() } else { format!("{status} {code}") };
        let keyless = match requested {
            DefaultRequest::Session { .. } => status == 401 || code == "MISSING_CREDENTIALS",
            DefaultRequest::Prompt => code == "MISSING_CREDENTIALS",
        };
        if keyless && described.secret("credentials.good").is_none() {
            return Some(format!(
                "the server asks for an API key ({summary}): name the environment variable that has one, in wirecert.yaml as \
                 `credentials: {{ good: VARIABLE }}`"
            ));
        }
        let profile = matches!(requested, DefaultRequest::Session { own_profile: true }) && code == "PROFILE_NOT_FOUND";
        (profile && described.text("profiles.good").is_none()).then(|| {
            format!(
                "the server does not have the profile that sessions are created with ({summary}): name one that it has, in \
                 wirecert.yaml as `profiles: {{ good: NAME }}`"
            )
        })
    }
}

/// What a server grants by default, if it is given what it needs for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DefaultRequest {
    /// A session with the good key, and with the profile chosen here or one that the step names.
    Session { own_profile: bool },
    /// A prompt in such a session.
    Prompt,
}

impl DefaultRequest {
    /// What a step asks for that may be refused because the subject is not described with what it needs; none where it
    /// cannot be. `odd_key`: a session was created with another key than the good one.
    pub fn of(step: &verbs::Request, described: &Described, odd_key: bool) -> Option<Self> {
        let keyless = described.secret("credentials.good").is_none();
        let defaults = match step.endpoint.as_str() {
            "createSession" if step.key == Key::Good && !step.sets("credentials") => {
                let own_profile = !step.sets("profile");
                let chosen = own_profile && described.text("profiles.good").is_none();
                (keyless || chosen).then_some(Self::Session { own_profile })?
            }
            "submitPrompt" if step.generated.provokes.is_some() && keyless && !odd_key => Self::Prompt,
            _ => return None,
        };
        step.read.is_none_or(|read| read.0).then_some(defaults)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_that_are_given_take_the_place_of_the_usual_ones() {
        let Value::Object(defaults) = json!({"profile": "dev", "credentials": {}}) else { panic!("an object") };
        assert_eq!(
            merge(defaults.clone(), Some(json!({"credentials": null, "model": "m"}))),
            Some(json!({"profile": "dev", "model": "m"}))
        );
        assert_eq!(merge(defaults, Some(json!([]))), Some(json!([])));
        assert_eq!(merge(Map::new(), None), None);
    }

    #[test]
    fn the_profile_of_the_examples_comes_first_and_then_one_of_no_collection() {
        let of = |names: &[(&str, Value)]| {
            let profiles: Vec<Value> = names.iter().map(|(n, c)| json!({"name": n, "collection": c})).collect();
            preferred(&json!({ "profiles": profiles }))
        };
        assert_eq!(of(&[("base", json!(null)), ("dev", json!(null))]).as_deref(), Some("dev"));
        assert_eq!(of(&[("a:b", json!("a")), ("base", json!(null))]).as_deref(), Some("base"));
        assert_eq!(of(&[("", json!(null)), ("a:b", json!("a"))]).as_deref(), Some("a:b"));
        assert_eq!(of(&[]), None);
        assert_eq!(preferred(&json!({"error": {}})), None);
    }
}
