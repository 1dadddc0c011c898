//! What can be different about a client: the effects of flaws and freedoms ([`AmplifierClientEffect`]), their [`TABLE`], the
//! freedoms, and what flaws remember between calls.
//!
//! Most effects are data: functions that rewrite what is requested, how it is sent, what comes in or what the caller
//! gets. The rest are switches, listed in the file where the behaviour is decided. Flaws are what real clients get
//! wrong, or might; their tables follow the areas of the requirements.

use std::sync::LazyLock;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::peer::deviation::http_client::RequestEffect::{self, Line, Sends, Text};
use crate::peer::deviation::http_client::{CALL_FREEDOMS, CALLS, ClientSwitch, REQUEST_FREEDOMS, REQUESTS, set_header};
use crate::peer::deviation::value::escape;
use crate::peer::deviation::websocket::{self, SocketEffect, SocketSwitch};
use crate::peer::deviation::{DeviationTable, FreedomRow, freedom, includes, switches};
use crate::peer::http::calls::CallState;
use crate::peer::http::fetch::FetchedResponse;
use crate::trace::StreamEvent;
use crate::wire::http::{Content, Piece, Request};

use super::calls::CallSwitch;
use super::follow::FollowSwitch;
use super::reader::ReaderSwitch;
use super::request_client::RequestSwitch;
use super::subscriptions::SubscriptionSwitch;

mod calls;
mod streams;

/// The deviations that are switched on.
pub type Deviations = crate::peer::deviation::Deviations<AmplifierClientEffect>;

/// Every flaw and freedom of the reference client, in the order of the areas.
pub static TABLE: LazyLock<DeviationTable<AmplifierClientEffect>> = LazyLock::new(|| {
    DeviationTable::new("amplifier-client")
        .with_shared_flaws(REQUESTS)
        .with_shared_flaws(CALLS)
        .with_flaws(calls::HTTP)
        .with_flaws(calls::REQUESTS)
        .with_flaws(calls::RESULTS)
        .with_flaws(calls::ERRORS)
        .with_flaws(streams::READING)
        .with_flaws(streams::EVENTS)
        .with_flaws(streams::RECONNECTING)
        .with_shared_flaws(websocket::SENDING)
        .with_shared_flaws(websocket::TAKING)
        .with_flaws(streams::WEBSOCKET)
        .with_flaws(calls::ROBUSTNESS)
        .with_shared_freedoms(REQUEST_FREEDOMS)
        .with_shared_freedoms(CALL_FREEDOMS)
        .with_freedoms(FREEDOMS)
});

/// What a flaw or freedom does.
#[derive(Clone, Copy, Debug)]
pub enum AmplifierClientEffect {
    /// As any client over HTTP has it.
    Http(RequestEffect),
    /// Checked for where any client over HTTP decides.
    Client(ClientSwitch),
    /// Rewrites what goes over a WebSocket.
    Socket(SocketEffect),
    /// Checked for where any end of a WebSocket decides.
    SocketSwitch(SocketSwitch),
    /// Rewrites the parameters of a call.
    Params(&'static str, fn(&mut Value)),
    /// Rewrites the body of the request for a call.
    Body(&'static str, fn(&mut Value)),
    /// Rewrites how a subscription to an event stream is sent.
    Subscription(fn(&mut Request)),
    /// Rewrites a message over a WebSocket.
    Control(fn(&mut Value)),
    /// Never comes back from responses of this kind.
    Hangs(fn(&FetchedResponse) -> bool),
    /// Takes failures of this kind for a result.
    Takes(fn(&FetchedResponse) -> bool),
    /// Gives a stream up at such a line: no more events are reported.
    EndsAtLine(fn(&[u8]) -> bool),
    /// Rewrites an event of a stream.
    Stream(fn(&mut StreamEvent)),
    /// Passes over such events of a stream.
    Skips(fn(&StreamEvent) -> bool),
    /// Gives a stream up at such an event.
    EndsAt(fn(&StreamEvent) -> bool),
    /// Rewrites a message before it is reported, whichever way it came.
    Message(fn(&mut Value)),
    /// Does not report such messages.
    Drops(fn(&Value) -> bool),
    /// Gives a subscription up at such a message.
    EndsAtMessage(fn(&Value) -> bool),
    /// Rewrites the result that the caller gets of a call.
    Result(&'static str, fn(&mut Value)),
    /// What [`RequestSwitch`] lists.
    RequestSwitch(RequestSwitch),
    /// What [`CallSwitch`] lists.
    CallSwitch(CallSwitch),
    /// What [`FollowSwitch`] lists.
    FollowSwitch(FollowSwitch),
    /// What [`ReaderSwitch`] lists.
    ReaderSwitch(ReaderSwitch),
    /// What [`SubscriptionSwitch`] lists.
    SubscriptionSwitch(SubscriptionSwitch),
}

includes!(
    AmplifierClientEffect:
    Http(RequestEffect), Client(ClientSwitch), Socket(SocketEffect), SocketSwitch(SocketSwitch),
);
switches!(AmplifierClientEffect: RequestSwitch, CallSwitch, FollowSwitch, ReaderSwitch, SubscriptionSwitch);

impl Deviations {
    /// Whether one has such an effect.
    pub fn any(&self, is: impl Fn(AmplifierClientEffect) -> bool) -> bool {
        self.effects().any(|(_, effect)| is(effect))
    }
}

/// Shared by all that a client does.
#[derive(Default)]
pub struct ClientMemory {
    /// What calls have to do with each other.
    pub calls: CallState,
    state: Mutex<ClientMemoryState>,
}

/// What is remembered.
#[derive(Debug, Default)]
pub struct ClientMemoryState {
    /// An API key that was given for a session.
    pub key: Option<String>,
    /// The last prompt that was accepted: its parameters.
    pub last_prompt: Option<Value>,
    /// How many prompts wait for their responses.
    pub pending_prompts: usize,
    /// The newest subscription.
    pub newest_subscription: u64,
    /// The last id that an event had.
    pub last_event_id: String,
}

impl ClientMemory {
    /// To look into and to write.
    pub fn lock(&self) -> MutexGuard<'_, ClientMemoryState> {
        self.state.lock()
    }
}

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
    freedom!("accepts-anything" "It accepts any response." AmplifierClientEffect::Http(Sends(|request| {
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
    freedom!("encoded-colons" "Colons in the path are encoded." RequestSwitch::EncodesColon.on()),
    freedom!("escaped-json" "Characters beyond ASCII, and slashes, are escaped in bodies." AmplifierClientEffect::Http(Text(escape))),
    freedom!("health-first" "Before its first call it asks the server whether it is healthy."
        CallSwitch::AsksHealthFirst.on()),
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
    freedom!("errors-by-status" ["errors/client-code", "errors/client-message"] "Of errors the status is reported."
    AmplifierClientEffect::Http(Line(|line| if let Some(error) = line.get_mut("error") {
        *error = json!({"message": "the request failed", "status": error["status"]});
    }))),
    // Subscriptions.
    freedom!("handled-events" "It tells the events for which the document has a handler, and no other."
    AmplifierClientEffect::Drops(|message| {
        !message.get("event").and_then(Value::as_str).is_some_and(|name| HANDLED.contains(&name))
    })),
    freedom!("no-states" "It does not tell how it stands." SubscriptionSwitch::NoStates.on()),
    freedom!("named-subscriptions" "Subscriptions have names." SubscriptionSwitch::Named.on()),
    freedom!("ends-with-session" "It closes a stream when the session has ended."
        FollowSwitch::EndsWithSession.on()),
    freedom!("no-reconnection" ["stream/client-reconnect", "stream/client-reconnect-ended", "stream/client-reconnect-refused",
        "stream/client-retry-time", "stream/client-last-event-id"] "A stream that has ended is not subscribed to again."
        FollowSwitch::NoReconnection.on()),
    freedom!("own-retry-time" ["stream/client-retry-time"] "The time before it subscribes again is its own."
        FollowSwitch::OwnRetryTime.on()),
    freedom!("no-last-event-id" ["stream/client-last-event-id"] "It does not say which event was the last."
        FollowSwitch::NoLastEventId.on()),
    freedom!("handshake-headers" "The handshake of a WebSocket has the headers that common libraries send."
    AmplifierClientEffect::Socket(SocketEffect::Asks(|request| {
        let headers = [("User-Agent", "Python/3 websockets"), ("Connection", "keep-alive, Upgrade"), ("Origin", "http://127.0.0.1")];
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
        request.headers.extend(headers);
    }))),
];

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        crate::peer::deviation::fits_the_catalogue("amplifier-client", &[]);
    }
}
