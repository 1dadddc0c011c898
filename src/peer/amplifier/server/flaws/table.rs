//! The table of flaws, and what its entries are made with.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::peer::Flaw;
use crate::protocol::amplifier::Endpoint;

use super::super::model::{EndpointRequest, Refusal, Reply};
use super::super::quirks::{AmplifierServerEffect, Quirk, Switch};
use super::{events, http, prompts, sessions};

/// A flaw and what it does.
pub(super) struct AmplifierServerFlaw {
    pub(super) flaw: Flaw,
    pub(super) effects: &'static [AmplifierServerEffect],
}

/// An entry: a name, the requirement that it breaks, others whose statements it breaks as well, each with the reason;
/// what it does, in words and in effects.
macro_rules! flaw {
    ($name:literal $breaks:literal $([$($also:literal: $why:literal),+ $(,)?])? $about:literal $($effect:expr),+ $(,)?) => {
        AmplifierServerFlaw {
            flaw: $crate::peer::Flaw {
                name: $name,
                about: $about,
                editions: &[$crate::peer::amplifier::server::EDITION],
                breaks: $breaks,
                also: &[$($($crate::peer::Also { requirement: $also, why: $why }),+)?],
            },
            effects: &[$($effect),+],
        }
    };
}
pub(super) use flaw;

const TABLES: [&[AmplifierServerFlaw]; 12] = [
    http::HTTP,
    http::REQUESTS,
    http::ERRORS,
    sessions::SESSIONS,
    prompts::PROMPTS,
    prompts::APPROVALS,
    events::STREAMS,
    events::WEBSOCKETS,
    events::EVENTS,
    events::LIFECYCLES,
    sessions::CATALOGS,
    prompts::SAFETY,
];

fn entries() -> impl Iterator<Item = &'static AmplifierServerFlaw> {
    TABLES.into_iter().flatten()
}

/// Every flaw, in the order of the areas.
pub fn all() -> &'static [Flaw] {
    static ALL: LazyLock<Vec<Flaw>> = LazyLock::new(|| entries().map(|e| e.flaw).collect());
    &ALL
}

/// The flaw of this name.
pub fn find(name: &str) -> Option<Quirk> {
    let entry = entries().find(|e| e.flaw.name == name)?;
    Some(Quirk::flaw(entry.flaw.name, entry.effects))
}

/// Changes what an endpoint gives.
pub(super) const fn result(endpoint: Endpoint, change: fn(&mut Value)) -> AmplifierServerEffect {
    AmplifierServerEffect::Result(endpoint, change)
}

/// Gives a success of an endpoint another status.
pub(super) const fn status(endpoint: Endpoint, status: u16) -> AmplifierServerEffect {
    AmplifierServerEffect::Status(endpoint, status)
}

/// Changes a response of an endpoint, be it a success or not.
pub(super) const fn reply(endpoint: Endpoint, change: fn(&mut Reply)) -> AmplifierServerEffect {
    AmplifierServerEffect::Reply(Some(endpoint), change)
}

/// Changes what belongs to an event.
pub(super) const fn data(event: &'static str, change: fn(&mut Value)) -> AmplifierServerEffect {
    AmplifierServerEffect::Data(event, change)
}

/// The effect that switches a behaviour on.
pub(super) const fn switch(switch: Switch) -> AmplifierServerEffect {
    AmplifierServerEffect::Switch(switch)
}

/// Sets a member of an object.
pub(super) fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(map) = object {
        map.insert(key.to_owned(), value.into());
    }
}

/// Takes a member out of an object, and gives it.
pub(super) fn remove(object: &mut Value, key: &str) -> Value {
    object.as_object_mut().and_then(|map| map.shift_remove(key)).unwrap_or_default()
}

/// Gives a member another name.
pub(super) fn rename(object: &mut Value, key: &str, name: &str) {
    let value = remove(object, key);
    set(object, name, value);
}

/// Changes each item of a list.
pub(super) fn each(list: &mut Value, change: impl Fn(&mut Value)) {
    list.as_array_mut().into_iter().flatten().for_each(change);
}

/// A moment without its offset from UTC.
pub(super) fn naive(object: &mut Value, key: &str) {
    let moment = object[key].as_str().unwrap_or_default().trim_end_matches('Z').to_owned();
    set(object, key, moment);
}

/// Has a request taken for a sound one, where its body is refused for a reason with these words.
pub(super) fn lenient(request: &mut EndpointRequest, endpoint: Endpoint, words: &str) {
    let invalid = request.body.as_ref().is_err_and(|refusal| refusal.message.contains(words));
    if request.route.endpoint == endpoint && invalid {
        request.body = Ok(sound(endpoint));
    }
}

/// A sound body.
fn sound(endpoint: Endpoint) -> Map<String, Value> {
    let body = match endpoint {
        Endpoint::CreateSession => serde_json::json!({"profile": "dev", "credentials": {"anthropic_api_key": "any"}}),
        Endpoint::SubmitPrompt => serde_json::json!({"prompt": "text"}),
        _ => serde_json::json!({"decision": "Deny"}),
    };
    body.as_object().cloned().unwrap_or_default()
}

/// A refusal of requests for an endpoint that have something in their body.
pub(super) fn refuse(
    request: &EndpointRequest,
    endpoint: Endpoint,
    invalid: impl Fn(&Map<String, Value>) -> bool,
) -> Option<Refusal> {
    let concerned = request.route.endpoint == endpoint && request.body.as_ref().is_ok_and(invalid);
    concerned.then(|| Refusal::invalid("this is not understood"))
}

/// Makes a refusal look like a success.
pub(super) fn pretend(reply: &mut Reply, status: u16, code: u16, body: Value) {
    if reply.status == status {
        *reply = Reply { status: code, body, ..reply.clone() };
    }
}

#[cfg(test)]
mod tests {

    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        // Who takes longer than a proof waits is caught by what they withhold, and a reader that is too slow takes
        // minutes.
        crate::peer::fitting::fits_the_catalogue("amplifier-server", &["http/timely", "stream/slow-reader"]);
    }
}
