//! An Amplifier client: the peer of plays against a server, and the reference client.
//!
//! What the requests of both are stands here and in [`routes`], as does the one request that is made apart from any play ([`call`]).
//! They differ in who steers them and so in what they wait for: the steps of a scenario send requests, frames and bytes of any kind,
//! several at a time, and look at what comes back only to decide and to wait (`steps`); a call gives one result or failure, and a
//! subscription is followed and connected again, as a library has it (`calls`).

use std::time::Duration;

use serde_json::{Value, json};

use crate::peer::http::{HttpUrl, Proves, failed, one, shown};
use crate::peer::{Answer, Detected, PeerError, Setting};
use crate::protocol::Lock;
use crate::protocol::amplifier::{ENDPOINTS, PROTOCOL};
use crate::trace::Recorder;
use crate::wire::http::{Content, Request, Whole};

use self::routes::{Encoding, Route, route};

pub mod calls;
mod deviations;
mod follow;
mod reader;
mod request_client;
pub mod routes;
pub mod steps;
mod subscriptions;

/// What a server breaks that does not do the first things.
const PROVES: Proves = Proves { reached: "health/status", answered: "http/answered", announced: "http/keep-alive" };

/// The route of an endpoint, with its parameters.
fn route_for(endpoint: &str, params: &Value) -> Option<Route> {
    route(endpoint, params, Encoding::default())
}

/// The request of a route.
fn request(url: &HttpUrl, route: Route) -> Request {
    let mut request = Request::new(route.method, below(url, &route.target));
    if let Some(body) = route.body {
        request =
            request.header("Content-Type", "application/json").content(Content::Whole(body.to_string().into_bytes()));
    }
    request.fresh = true;
    request
}

/// A target below the server's own URL.
fn below(url: &HttpUrl, target: &str) -> String {
    format!("{}{target}", url.target.trim_end_matches('/'))
}

/// A text as one segment of a path.
fn segment(text: &str) -> String {
    Encoding::default().segment(text)
}

/// The path of a session's event stream; its id is given as a segment of a path.
fn events_path(session: &str) -> String {
    format!("/sessions/{session}/events")
}

/// The path of a session's WebSocket; its id is given as a segment of a path.
fn socket_path(session: &str) -> String {
    format!("/sessions/{session}/ws")
}

/// A subscription to an event stream, as an `EventSource` sends it.
fn event_stream_request(target: String) -> Request {
    Request::new("GET", target).header("Accept", "text/event-stream").header("Cache-Control", "no-cache")
}

/// The edition of every server: there is one.
pub async fn detect(_: Lock, _: Duration, _: Recorder) -> Detected {
    Detected { edition: PROTOCOL.default_edition(), how: "there is no other".to_owned() }
}

/// Makes one request to the server of `setting`, to an endpoint by its name, and waits for the response. Of the
/// parameters, `session_id` and `name` go into the path, the others into the body or the query. A new session has no
/// API key where its `credentials` are not said.
///
/// # Errors
/// [`PeerError::Subject`] where the server is not there, does not answer within the patience, or gives a response that
/// is none of the protocol; [`PeerError::Scenario`] where there is no such endpoint, or the setting names no server.
pub async fn call(setting: Setting, method: String, params: Value) -> Result<Answer, PeerError> {
    let route = route_for(&method, &params).ok_or_else(|| {
        PeerError::Scenario(format!("there is no endpoint `{method}`; there are: {}", ENDPOINTS.join(", ")))
    })?;
    let body = route.body.clone().map(|mut body| {
        if method == "createSession" && body.get("credentials").is_none() {
            body["credentials"] = json!({});
        }
        body
    });
    let route = Route { body, ..route };
    let response = one(&setting, PROVES, &method, |url| request(url, route)).await?;
    answer_of(&method, &response)
}

/// What a response gives a client: its body, or the error in it.
fn answer_of(method: &str, response: &Whole) -> Result<Answer, PeerError> {
    let status = response.head.status().unwrap_or_default();
    let json = response.message.as_ref().and_then(|message| Some(message.value()?.into_owned()));
    match (status, json) {
        (200..=299, Some(json)) => Ok(Answer::Result(json)),
        (400..=599, Some(json)) if json.get("error").is_some_and(Value::is_object) => {
            Ok(Answer::Error(json["error"].clone()))
        }
        _ => Err(failed(format!("`{method}` was answered with the status {status}: {}", shown(&response.body)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_lies_below_the_servers_url() {
        let url = HttpUrl::parse("http://127.0.0.1:1/base/").unwrap();
        assert_eq!(below(&url, "/health"), "/base/health");
        assert_eq!(below(&HttpUrl::parse("http://127.0.0.1:1").unwrap(), "/health"), "/health");
    }
}
