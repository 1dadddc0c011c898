//! Ways in which a client can differ from the next and be right all the same.

use serde_json::{Value, json};

use crate::peer::deviation::value::{escape, pretty, reverse_keys};
use crate::peer::deviation::{FreedomRow, freedom};
use crate::wire::http::{Content, Piece, Request};

use super::deviations::{AmplifierClientEffect, Switch};

/// The events for which the document's extension has a handler.
const HANDLED: &[&str] = &[
    "content_block:delta",
    "thinking:delta",
    "thinking:final",
    "tool:pre",
    "tool:post",
    "approval:required",
    "prompt:complete",
];

pub const FREEDOMS: &[FreedomRow<AmplifierClientEffect>] = &[
    // Requests.
    freedom!("fresh-connections" "Each request goes over a connection of its own."
        AmplifierClientEffect::Switch(Switch::FreshConnections)),
    freedom!("lower-case-headers" "The names of headers are written in lower case."
    AmplifierClientEffect::Http(|request| for (name, _) in &mut request.headers {
        *name = name.to_ascii_lowercase();
    })),
    freedom!("headers-reversed" "Headers come in another order." AmplifierClientEffect::Http(|request| request.headers.reverse())),
    freedom!("fetch-headers" "Requests have the headers that `fetch` adds." AmplifierClientEffect::Http(|request| {
        let headers = [("accept-language", "*"), ("sec-fetch-mode", "cors"), ("user-agent", "node"),
            ("accept-encoding", "gzip, deflate")];
        headers.into_iter().for_each(|(name, value)| set(request, name, Some(value)));
    })),
    freedom!("accepts-anything" "It accepts any answer." AmplifierClientEffect::Http(|request| {
        if !request.target.ends_with("/events") {
            set(request, "Accept", Some("*/*"));
        }
    })),
    freedom!("accepts-no-less" "It accepts JSON, and anything else, too, also for event streams." AmplifierClientEffect::Http(|request| {
        let accept = if request.target.ends_with("/events") { "text/event-stream, */*;q=0.1" } else { "application/json, text/plain, */*" };
        set(request, "Accept", Some(accept));
    })),
    freedom!("no-store" "A subscription may not be stored by a cache, either."
        AmplifierClientEffect::Subscription(|request| set(request, "Cache-Control", Some("no-cache, no-store")))),
    freedom!("fresh-by-pragma" ["stream/client-cache-control"] "A subscription says nothing of caches."
        AmplifierClientEffect::Subscription(|request| set(request, "Cache-Control", None))),
    freedom!("keep-alive" "Requests ask for their connection to be kept."
        AmplifierClientEffect::Http(|request| set(request, "Connection", Some("keep-alive")))),
    freedom!("identity-only" "It offers no content coding."
        AmplifierClientEffect::Http(|request| set(request, "Accept-Encoding", None))),
    freedom!("charset" "The content type of requests has a charset." AmplifierClientEffect::Http(|request| {
        if request.content != Content::None {
            set(request, "Content-Type", Some("application/json; charset=utf-8"));
        }
    })),
    freedom!("chunked" "Bodies of requests are chunked." AmplifierClientEffect::Http(|request| {
        if let Content::Whole(body) = &request.content {
            let pieces = body.chunks(64).map(Piece::now).collect();
            request.content = Content::Chunked { pieces, trailers: vec![] };
        }
    })),
    freedom!("empty-bodies" "Requests without a body say that it is empty." AmplifierClientEffect::Http(|request| {
        if request.content == Content::None && request.method == "DELETE" {
            request.content = Content::Whole(vec![]);
        }
    })),
    freedom!("retries-after-503" "A GET or DELETE that failed with a status that may pass is made again, a few times."
        AmplifierClientEffect::Switch(Switch::RetriesAfterStatus)),
    freedom!("retries-after-cut" "A request whose connection broke is made again, a few times; a POST only where no answer \
        had begun." AmplifierClientEffect::Switch(Switch::RetriesAfterCut)),
    freedom!("encoded-colons" "Colons in the path are encoded." AmplifierClientEffect::Switch(Switch::EncodesColon)),
    freedom!("keys-reversed" "The members of bodies come in another order." AmplifierClientEffect::Body("", reverse_keys)),
    freedom!("pretty-json" "Bodies have white space between their tokens." AmplifierClientEffect::Text(pretty)),
    freedom!("escaped-json" "Characters beyond ASCII, and slashes, are escaped in bodies." AmplifierClientEffect::Text(escape)),
    // Results.
    freedom!("essence" "Of what was created, posted or listed the caller gets what matters." AmplifierClientEffect::Result("", |result| {
        let looked_at = ["last_activity", "message_count", "token_usage", "pending_approval"];
        let keys = ["session_id", "request_id", "sessions", "profiles", "collections", "agents"];
        // Profiles have agents as well.
        if result.get("name").is_none()
            && looked_at.iter().all(|key| result.get(key).is_none())
            && let Some(found) = keys.iter().find_map(|key| result.get(key))
        {
            *result = found.clone();
        }
    })),
    freedom!("wrapped-results" "Results stand beside how they came." AmplifierClientEffect::Result("", |result| {
        if result.get("subscription").is_none() {
            *result = json!({"ok": true, "data": result.take()});
        }
    })),
    freedom!("errors-in-words" ["errors/client-code", "errors/client-status"] "Errors are told by a message only."
    AmplifierClientEffect::Line(|line| if let Some(Value::Object(error)) = line.get_mut("error") {
        error.retain(|key, _| key == "message");
    })),
    freedom!("errors-by-status" ["errors/client-code", "errors/client-message"] "Of errors the status is told."
    AmplifierClientEffect::Line(|line| if let Some(error) = line.get_mut("error") {
        *error = json!({"message": "the request failed", "status": error["status"]});
    })),
    freedom!("junk" "It says more than calls need, on stdout and stderr." AmplifierClientEffect::Switch(Switch::Junk)),
    // Subscriptions.
    freedom!("handled-events" "It tells the events for which the document has a handler, and no other."
    AmplifierClientEffect::Drops(|message| {
        !message.get("event").and_then(Value::as_str).is_some_and(|name| HANDLED.contains(&name))
    })),
    freedom!("no-states" "It does not tell how it stands." AmplifierClientEffect::Switch(Switch::NoStates)),
    freedom!("named-subscriptions" "Subscriptions have names." AmplifierClientEffect::Switch(Switch::NamedSubscriptions)),
    freedom!("ends-with-session" "It closes a stream when the session has ended."
        AmplifierClientEffect::Switch(Switch::EndsWithSession)),
    freedom!("no-reconnection" ["stream/client-reconnect", "stream/client-reconnect-ended", "stream/client-reconnect-refused",
        "stream/client-retry-time", "stream/client-last-event-id"] "A stream that has ended is not subscribed to again."
        AmplifierClientEffect::Switch(Switch::NoReconnection)),
    freedom!("own-retry-time" ["stream/client-retry-time"] "The time before it subscribes again is its own."
        AmplifierClientEffect::Switch(Switch::OwnRetryTime)),
    freedom!("no-last-event-id" ["stream/client-last-event-id"] "It does not say which event was the last."
        AmplifierClientEffect::Switch(Switch::NoLastEventId)),
    freedom!("handshake-headers" "The handshake of a WebSocket has the headers that common libraries send."
    AmplifierClientEffect::Handshake(|request| {
        let headers = [("User-Agent", "Python/3 websockets"), ("Connection", "keep-alive, Upgrade"), ("Origin", "http://127.0.0.1")];
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
        request.headers.extend(headers);
    })),
];

fn set(request: &mut Request, name: &str, value: Option<&str>) {
    request.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
    request.headers.push((name.to_owned(), value.map(str::to_owned)));
}
