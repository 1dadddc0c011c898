//! One request to a live provider.

use std::time::Duration;

use serde_json::{Value, json};

use crate::peer::asking::{failed, one, shown};
use crate::peer::{Answer, Detected, PeerError, Setting};
use crate::protocol::Lock;
use crate::trace::Recorder;
use crate::wire::http::Whole;

use super::PROVES;
use super::request::{envelope, post};

/// The edition of every provider: there is one.
pub async fn detect(_: Lock, _: Duration, _: Recorder) -> Detected {
    Detected { edition: "0.1", how: "there is no other".to_owned() }
}

/// Makes one request to the provider of `setting`, with its settings, and waits for the answer.
///
/// # Errors
/// [`PeerError::Subject`] where the provider is not there, does not answer within the patience, or gives an answer that is
/// none of the protocol; [`PeerError::Scenario`] where the setting names no provider.
pub async fn call(setting: Setting, method: String, params: Value) -> Result<Answer, PeerError> {
    let settings = setting.settings.clone().unwrap_or_else(|| json!({}));
    let message = envelope(&method, params, settings);
    let whole = one(&setting, PROVES, &method, |url| post(url, &message)).await?;
    answer(&method, &whole)
}

/// What an answer gives a client: its body counts only where the status says that all went well.
fn answer(method: &str, whole: &Whole) -> Result<Answer, PeerError> {
    let status = whole.head.status().unwrap_or_default();
    let json = whole.message.as_ref().and_then(|message| Some(message.value()?.into_owned()));
    if !(200..300).contains(&status) {
        return Err(failed(format!("`{method}` was answered with the status {status}: {}", shown(&whole.body))));
    }
    let Some(Value::Object(mut members)) = json else {
        return Err(failed(format!("the answer to `{method}` is no JSON object: {}", shown(&whole.body))));
    };
    let mut outcome = |key: &str| members.remove(key).filter(|value| !value.is_null());
    match (outcome("error"), outcome("result")) {
        (Some(error), _) => Ok(Answer::Error(error)),
        (None, Some(result)) => Ok(Answer::Result(result)),
        // An answer that is neither is shown whole.
        (None, None) => Ok(Answer::Error(Value::Object(members))),
    }
}
