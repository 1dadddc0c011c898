//! What the rows of flaws are made with.

use serde_json::{Map, Value, json};

use crate::protocol::amplifier::Endpoint;

use super::super::deviations::{AmplifierServerEffect, Switch};
use super::super::model::{EndpointRequest, Refusal, Reply};

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
        Endpoint::CreateSession => json!({"profile": "dev", "credentials": {"anthropic_api_key": "any"}}),
        Endpoint::SubmitPrompt => json!({"prompt": "text"}),
        _ => json!({"decision": "Deny"}),
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
