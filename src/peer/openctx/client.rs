//! An OpenCtx client: the peer of plays against a provider, and the reference client.
//!
//! Both make the same requests, which stand here, as does the one request that is made apart from any play ([`call`]). They differ in
//! who steers them and so in what they wait for: the steps of a scenario send requests and bytes of any kind, several at a time, and
//! never wait for a response (`steps`); a call gives one result or failure, as a library has it (`calls`).

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::peer::http::{HttpUrl, Proves, failed, one, shown};
use crate::peer::{Answer, Detected, PeerError, Setting};
use crate::protocol::Lock;
use crate::protocol::openctx::PROTOCOL;
use crate::trace::Recorder;
use crate::wire::http::{Content, Request, Whole};

pub mod calls;
mod deviations;
mod request_client;
mod selectors;
pub mod steps;

/// What a provider breaks that does not do the first things.
const PROVES: Proves =
    Proves { reached: "http/post", answered: "envelope/answered", announced: "http/close-announced" };

/// The envelope of a request. What is null is left out.
fn envelope(method: &str, params: Value, settings: Value) -> Value {
    let mut message = Map::from_iter([("method".to_owned(), Value::from(method))]);
    let members = [("params", params), ("settings", settings)];
    message.extend(members.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.to_owned(), v)));
    Value::Object(message)
}

/// A request with this message, as the reference client sends it.
fn request(url: &HttpUrl, message: &Value) -> Request {
    request_with(url, message.to_string().into_bytes())
}

/// A request with this body, as the reference client sends it.
fn request_with(url: &HttpUrl, body: Vec<u8>) -> Request {
    Request::new("POST", url.target.clone())
        .header("Content-Type", "application/json; charset=utf-8")
        .header("Accept-Encoding", "gzip, deflate")
        .content(Content::Whole(body))
}

/// The edition of every provider: there is one.
pub async fn detect(_: Lock, _: Duration, _: Recorder) -> Detected {
    Detected { edition: PROTOCOL.default_edition(), how: "there is no other".to_owned() }
}

/// Makes one request to the provider of `setting`, with its settings, and waits for the response.
///
/// # Errors
/// [`PeerError::Subject`] where the provider is not there, does not answer within the patience, or gives a response that is
/// none of the protocol; [`PeerError::Scenario`] where the setting names no provider.
pub async fn call(setting: Setting, method: String, params: Value) -> Result<Answer, PeerError> {
    let settings = setting.settings.clone().unwrap_or_else(|| json!({}));
    let message = envelope(&method, params, settings);
    let whole = one(&setting, PROVES, &method, |url| Request { fresh: true, ..request(url, &message) }).await?;
    answer(&method, &whole)
}

/// What a response gives a client: its body counts only where the status says that all went well.
fn answer(method: &str, whole: &Whole) -> Result<Answer, PeerError> {
    let status = whole.head.status().unwrap_or_default();
    let json = whole.message.as_ref().and_then(|message| Some(message.value()?.into_owned()));
    if !(200..300).contains(&status) {
        return Err(failed(format!("`{method}` was answered with the status {status}: {}", shown(&whole.body))));
    }
    let Some(Value::Object(mut members)) = json else {
        return Err(failed(format!("the response to `{method}` is no JSON object: {}", shown(&whole.body))));
    };
    let mut outcome = |key: &str| members.remove(key).filter(|value| !value.is_null());
    match (outcome("error"), outcome("result")) {
        (Some(error), _) => Ok(Answer::Error(error)),
        (None, Some(result)) => Ok(Answer::Result(result)),
        // A response that is neither is shown whole.
        (None, None) => Ok(Answer::Error(Value::Object(members))),
    }
}
