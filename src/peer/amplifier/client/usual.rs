//! What new sessions are created with as a matter of course, and what a refusal of it says about how the subject is described.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::config::Described;
use crate::peer::Setting;
use crate::peer::asking::{Watch, one};
use crate::trace::{Clock, Message, Recorder};
use crate::wire::http::{Incoming, Request};

use super::PROVES;
use super::request::{Key, RequestStep, below};

/// The profile of new sessions, where none is described and the server lists none.
const PROFILE: &str = "dev";
/// How long a server may take to list its profiles.
const WITHIN: Duration = Duration::from_secs(2);

/// The profile for new sessions of a subject that is described with none: the one of the document's examples where the server
/// lists it, else the first that it lists, best of those that belong to no collection. The look is no part of the play, and
/// in no trace.
pub async fn profile(setting: &Setting) -> String {
    let quiet = Setting { recorder: Recorder::new(Clock::start(), vec![]), patience: WITHIN, ..setting.clone() };
    let listed = one(&quiet, PROVES, "listProfiles", |url| Request::new("GET", below(url, "/profiles"))).await;
    let message = listed.ok().and_then(|whole| whole.message);
    let json = message.as_ref().and_then(Message::value);
    json.and_then(|json| preferred(&json)).unwrap_or_else(|| PROFILE.to_owned())
}

/// The profile to be taken of a list of them.
fn preferred(list: &Value) -> Option<String> {
    let profiles = list.get("profiles")?.as_array()?;
    let named = |profile: &Value| profile.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    let own = |profile: &&Value| profile.get("collection").is_none_or(Value::is_null);
    let all: Vec<&Value> = profiles.iter().filter(|profile| named(profile)).collect();
    let usual = all.iter().find(|profile| profile["name"] == PROFILE);
    let first = usual.or_else(|| all.iter().find(|profile| own(profile))).or_else(|| all.first());
    first.and_then(|profile| profile["name"].as_str()).map(str::to_owned)
}

/// An answer that refuses, as it is watched. Clones share it.
#[derive(Clone, Default)]
pub struct Refusal(Arc<Mutex<Option<(u16, String)>>>);

impl Refusal {
    /// Watches for it, and lets another watch see the same.
    pub fn watch(&self, mut also: Watch) -> Watch {
        let own = self.clone();
        Box::new(move |came| {
            also(came);
            let mut refusal = own.0.lock().unwrap_or_else(PoisonError::into_inner);
            match came {
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

    /// What the subject has to be described with, where the answer to something usual was refused for lack of it.
    pub fn lacks(&self, asked: Usual, described: &Described) -> Option<String> {
        let refusal = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (status, code) = refusal?;
        let told = if code.is_empty() { status.to_string() } else { format!("{status} {code}") };
        let keyless = match asked {
            Usual::Session { .. } => status == 401 || code == "MISSING_CREDENTIALS",
            Usual::Prompt => code == "MISSING_CREDENTIALS",
        };
        if keyless && described.secret("credentials.good").is_none() {
            return Some(format!(
                "the server asks for an API key ({told}): name the environment variable that has one, in wirecert.yaml as \
                 `credentials: {{ good: VARIABLE }}`"
            ));
        }
        let profile = matches!(asked, Usual::Session { own_profile: true }) && code == "PROFILE_NOT_FOUND";
        (profile && described.text("profiles.good").is_none()).then(|| {
            format!(
                "the server does not have the profile that sessions are created with ({told}): name one that it has, in \
                 wirecert.yaml as `profiles: {{ good: NAME }}`"
            )
        })
    }
}

/// What a server grants as a matter of course, if it is given what it needs for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Usual {
    /// A session with the good key, and with the profile chosen here or one that the step names.
    Session { own_profile: bool },
    /// A prompt in such a session.
    Prompt,
}

impl Usual {
    /// What a step asks for that may be refused because the subject is not described with what it needs; none where it cannot
    /// be. `odd_key`: a session was created with another key than the good one.
    pub fn of(step: &RequestStep, described: &Described, odd_key: bool) -> Option<Self> {
        let keyless = described.secret("credentials.good").is_none();
        let usual = match step.endpoint.as_str() {
            "createSession" if step.key == Key::Good && !step.says("credentials") => {
                let own_profile = !step.says("profile");
                let chosen = own_profile && described.text("profiles.good").is_none();
                (keyless || chosen).then_some(Self::Session { own_profile })?
            }
            "submitPrompt" if step.provokes.is_some() && keyless && !odd_key => Self::Prompt,
            _ => return None,
        };
        step.read.unwrap_or(true).then_some(usual)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
