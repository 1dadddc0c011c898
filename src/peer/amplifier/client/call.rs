//! One request to a live server.

use std::time::Duration;

use serde_json::{Value, json};

use crate::peer::amplifier::routes::Route;
use crate::peer::asking::{failed, one, shown};
use crate::peer::{Answer, Detected, PeerError, Setting};
use crate::protocol::Lock;
use crate::protocol::amplifier::ENDPOINTS;
use crate::trace::Recorder;
use crate::wire::http::Whole;

use super::PROVES;
use super::request::{asked, request};

/// The edition of every server: there is one.
pub async fn detect(_: Lock, _: Duration, _: Recorder) -> Detected {
    Detected { edition: "2025-12-09", how: "there is no other".to_owned() }
}

/// Makes one request to the server of `setting`, to an endpoint by its name, and waits for the answer. Of the parameters,
/// `session_id` and `name` go into the path, the others into the body or the query. A new session has no API key where its
/// `credentials` are not said.
///
/// # Errors
/// [`PeerError::Subject`] where the server is not there, does not answer within the patience, or gives an answer that is
/// none of the protocol; [`PeerError::Scenario`] where there is no such endpoint, or the setting names no server.
pub async fn call(setting: Setting, method: String, params: Value) -> Result<Answer, PeerError> {
    let route = asked(&method, &params).ok_or_else(|| {
        PeerError::Scenario(format!("there is no endpoint `{method}`; there are: {}", ENDPOINTS.join(", ")))
    })?;
    let body = route.body.clone().map(|mut body| {
        if method == "createSession" && body.get("credentials").is_none() {
            body["credentials"] = json!({});
        }
        body
    });
    let route = Route { body, ..route };
    let whole = one(&setting, PROVES, &method, |url| request(url, route)).await?;
    answer(&method, &whole)
}

/// What an answer gives a client: its body, or the error in it.
fn answer(method: &str, whole: &Whole) -> Result<Answer, PeerError> {
    let status = whole.head.status().unwrap_or_default();
    let json = whole.message.as_ref().and_then(|message| Some(message.value()?.into_owned()));
    match (status, json) {
        (200..=299, Some(json)) => Ok(Answer::Result(json)),
        (400..=599, Some(json)) if json.get("error").is_some_and(Value::is_object) => {
            Ok(Answer::Error(json["error"].clone()))
        }
        _ => Err(failed(format!("`{method}` was answered with the status {status}: {}", shown(&whole.body)))),
    }
}
