//! What a server has: profiles, collections, agents; and which API keys it accepts.

use serde_json::{Map, Value, json};

use crate::protocol::amplifier::Endpoint;

use super::super::script::{Keys, Script};
use super::{Ask, Refusal, Reply};

/// Answers a request for one of the lists, or for a profile.
pub fn answer(script: &Script, ask: &Ask) -> Result<Reply, Refusal> {
    let listed = |entries: &[Map<String, Value>], brief: bool| -> Value {
        let wanted = ask.route.param("collection");
        let of = |entry: &&Map<String, Value>| {
            wanted.is_none_or(|wanted| entry.get("collection").and_then(Value::as_str) == Some(wanted))
        };
        entries.iter().filter(of).map(|entry| if brief { summary(entry) } else { entry.clone().into() }).collect()
    };
    match ask.route.endpoint {
        Endpoint::ListProfiles => Ok(Reply::new(200, json!({"profiles": listed(&script.profiles, true)}))),
        Endpoint::ListAgents => Ok(Reply::new(200, json!({"agents": listed(&script.agents, false)}))),
        Endpoint::ListCollections => Ok(Reply::new(200, json!({"collections": script.collections}))),
        _ => {
            let named = |profile: &&Map<String, Value>| profile.get("name").and_then(Value::as_str) == Some(ask.name());
            let profile = script.profiles.iter().find(named).ok_or_else(|| {
                let shown: String = ask.name().chars().take(64).collect();
                Refusal::new("PROFILE_NOT_FOUND", format!("Profile '{shown}' not found")).about("profile", shown)
            })?;
            Ok(Reply::new(200, profile.clone().into()))
        }
    }
}

/// What a list has of a profile.
fn summary(profile: &Map<String, Value>) -> Value {
    let members = ["name", "collection", "description", "extends"].into_iter();
    members.map(|key| (key.to_owned(), profile.get(key).cloned().unwrap_or_default())).collect::<Map<_, _>>().into()
}

/// The API key with which a session is to be created.
pub fn key(keys: &Keys, body: &Map<String, Value>) -> Result<String, Refusal> {
    let credentials = body.get("credentials").and_then(Value::as_object);
    let given = credentials.and_then(|all| all.values().find_map(Value::as_str)).unwrap_or_default();
    if given.is_empty() {
        return Err(Refusal::new("MISSING_CREDENTIALS", "No API key provided in credentials"));
    }
    let is_in = |list: &[String]| list.iter().any(|key| key == given);
    if is_in(&keys.unauthorized) {
        return Err(Refusal::new("API_KEY_UNAUTHORIZED", "API key lacks required permissions"));
    }
    if is_in(&keys.invalid) || keys.valid.as_ref().is_some_and(|valid| !is_in(valid)) {
        return Err(Refusal::new("INVALID_API_KEY", "API key is invalid or malformed"));
    }
    Ok(given.to_owned())
}
