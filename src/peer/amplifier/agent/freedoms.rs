//! Ways in which a client can differ from the next and be right all the same.

use serde_json::{Value, json};

use crate::peer::deviation::http::client::RequestEffect::{Line, Sends, Text};
use crate::peer::deviation::http::client::set_header;
use crate::peer::deviation::value::escape;
use crate::peer::deviation::websocket::SocketEffect;
use crate::peer::deviation::{FreedomRow, freedom};
use crate::wire::http::{Content, Piece};

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
    freedom!("lower-case-headers" "The names of headers are written in lower case."
    AmplifierClientEffect::Http(Sends(|request| for (name, _) in &mut request.headers {
        *name = name.to_ascii_lowercase();
    }))),
    freedom!("headers-reversed" "Headers come in another order." AmplifierClientEffect::Http(Sends(|request| request.headers.reverse()))),
    freedom!("accepts-anything" "It accepts any answer." AmplifierClientEffect::Http(Sends(|request| {
        if !request.target.ends_with("/events") {
            set_header(request, "Accept", Some("*/*"));
        }
    }))),
    freedom!("accepts-no-less" "It accepts JSON, and anything else, too, also for event streams." AmplifierClientEffect::Http(Sends(|request| {
        let accept = if request.target.ends_with("/events") { "text/event-stream, */*;q=0.1" } else { "application/json, text/plain, */*" };
        set_header(request, "Accept", Some(accept));
    }))),
    freedom!("no-store" "A subscription may not be stored by a cache, either."
        AmplifierClientEffect::Subscription(|request| set_header(request, "Cache-Control", Some("no-cache, no-store")))),
    freedom!("fresh-by-pragma" ["stream/client-cache-control"] "A subscription says nothing of caches."
        AmplifierClientEffect::Subscription(|request| set_header(request, "Cache-Control", None))),
    freedom!("keep-alive" "Requests ask for their connection to be kept."
        AmplifierClientEffect::Http(Sends(|request| set_header(request, "Connection", Some("keep-alive"))))),
    freedom!("charset" "The content type of requests has a charset." AmplifierClientEffect::Http(Sends(|request| {
        if request.content != Content::None {
            set_header(request, "Content-Type", Some("application/json; charset=utf-8"));
        }
    }))),
    freedom!("chunked" "Bodies of requests are chunked." AmplifierClientEffect::Http(Sends(|request| {
        if let Content::Whole(body) = &request.content {
            let pieces = body.chunks(64).map(Piece::now).collect();
            request.content = Content::Chunked { pieces, trailers: vec![] };
        }
    }))),
    freedom!("empty-bodies" "Requests without a body say that it is empty." AmplifierClientEffect::Http(Sends(|request| {
        if request.content == Content::None && request.method == "DELETE" {
            request.content = Content::Whole(vec![]);
        }
    }))),
    freedom!("encoded-colons" "Colons in the path are encoded." AmplifierClientEffect::Switch(Switch::EncodesColon)),
    freedom!("escaped-json" "Characters beyond ASCII, and slashes, are escaped in bodies." AmplifierClientEffect::Http(Text(escape))),
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
    freedom!("errors-by-status" ["errors/client-code", "errors/client-message"] "Of errors the status is told."
    AmplifierClientEffect::Http(Line(|line| if let Some(error) = line.get_mut("error") {
        *error = json!({"message": "the request failed", "status": error["status"]});
    }))),
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
    AmplifierClientEffect::Socket(SocketEffect::Asks(|request| {
        let headers = [("User-Agent", "Python/3 websockets"), ("Connection", "keep-alive, Upgrade"), ("Origin", "http://127.0.0.1")];
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
        request.headers.extend(headers);
    }))),
];
