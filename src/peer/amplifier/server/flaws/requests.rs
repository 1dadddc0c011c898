//! Requests that are not understood, though they are sound; and what others suffer from after one that is not.

use serde_json::json;

use crate::protocol::amplifier::Endpoint;
use crate::wire::http::{Ending, Response};

use super::super::memory::{ClientMistake, is_deep};
use super::super::model::Refusal;
use super::super::quirks::{Effect, Instead, RequestInContext, Switch};
use super::{Entry, flaw, switch};

pub const FLAWS: &[Entry] = &[
    flaw!("under-api-v1" "http/base-path" "The endpoints, but for health, are below `/api/v1`."
    Effect::Instead(|s| {
        let moved = !s.received.head.path().starts_with("/health");
        moved.then(|| Instead::Reply(Refusal::new("SESSION_NOT_FOUND", "Not Found").into()))
    })),
    flaw!("charset-refused" "http/content-type-charset" "A content type with a charset is refused."
        Effect::Instead(|s| s.header("content-type").filter(|value| value.contains("charset")).map(|_| no()))),
    flaw!("headers-by-case" "http/header-case" "A content type is found only where its name is written as usual, and is needed."
    Effect::Instead(|s| {
        let named = |name: &&(String, String)| name.0.eq_ignore_ascii_case("content-type") && name.0 != "Content-Type";
        s.received.head.headers.iter().find(named).map(|_| no())
    })),
    flaw!("extra-headers-refused" "http/extra-headers" "Header fields that begin with X- are refused."
    Effect::Instead(|s| {
        let extra = |(name, _): &(String, String)| name.to_ascii_lowercase().starts_with("x-");
        s.received.head.headers.iter().any(extra).then(no)
    })),
    flaw!("extra-query-refused" "http/extra-query" "Query parameters that are not known are refused."
    Effect::Refuse(|ask, _| {
        let known = |key: &str| ["status", "limit", "collection"].contains(&key);
        ask.route.query.iter().any(|(key, _)| !known(key)).then(|| Refusal::invalid("unknown parameter"))
    })),
    flaw!("paths-undecoded" "http/encoded-path" "Paths with encoded characters are not found."
    Effect::Instead(|s| {
        let code = if s.is(Endpoint::GetProfile) { "PROFILE_NOT_FOUND" } else { "SESSION_NOT_FOUND" };
        s.received.head.path().contains('%').then(|| Instead::Reply(Refusal::new(code, "Not Found").into()))
    })),
    flaw!("one-segment-only" "http/segments" "A request that does not come in a few segments is refused."
        Effect::Instead(|s| (s.received.reads > 4).then(no))),
    flaw!("second-request-hung-up-on" "http/keep-alive" "The second request on a connection is not answered."
        Effect::Instead(|s| s.memory.knows(s.received.head.tcp).then_some(Instead::Close))),
    flaw!("close-ignored" "http/close-asked" "A connection that is to be closed stays open."
    Effect::CarriedFor(|r, request| if request.head.header("connection").any(|value| value.eq_ignore_ascii_case("close")) {
        r.ending = Ending::Hold;
        r.headers.push(("Connection".to_owned(), Some("keep-alive".to_owned())));
    })),
    flaw!("chunked-refused" "http/chunked-request" "A chunked body is refused with the status 400."
        Effect::Instead(|s| s.header("transfer-encoding").map(|_| no()))),
    flaw!("unknown-paths-found" "http/unknown-path" "What is no endpoint is answered with the status 200."
    Effect::Instead(|s| {
        let get = s.ask.is_none() && s.received.head.method() == "GET";
        get.then(|| Instead::Respond(Box::new(Response::new("200 OK").json(&json!({})))))
    })),
    flaw!("any-method" "http/method-not-allowed" "PUT, PATCH and DELETE are answered with the status 200 everywhere."
    Effect::Instead(|s| {
        let odd = s.ask.is_none() && ["PUT", "PATCH", "DELETE", "POST"].contains(&s.received.head.method());
        odd.then(|| Instead::Respond(Box::new(Response::new("200 OK").json(&json!({})))))
    })),
    flaw!("exits-on-bad-json" "robustness/alive" "A body that is no JSON makes the server exit."
        Effect::Instead(|s| bad_json(s).then_some(Instead::Die))),
    flaw!("exits-on-deep-json" "robustness/alive" "JSON that is nested deep makes the server exit."
        Effect::Instead(|s| is_deep(&s.received.content).then_some(Instead::Die))),
    flaw!("confuses-requests" "robustness/concurrent" "Requests that come at the same time get the answer to the last one."
        switch(Switch::Confuses)),
    flaw!("mixes-sessions" "stream/own-session" "What a session does that begins while another one works is told to the subscribers of that one."
        switch(Switch::MixesSessions)),
    flaw!("one-session-at-a-time" "robustness/concurrent-sessions" "While a session works others are refused as busy."
        switch(Switch::OneAtATime)),
    flaw!("silent-after-bad-json" "robustness/bad-json" "After a body that is no JSON nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::NoJson))),
    flaw!("silent-after-bad-body" "robustness/bad-body" "After a body that is not as it should be nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Body))),
    flaw!("silent-after-deep-json" "robustness/deep-json" "After JSON that is nested deep nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Deep))),
    flaw!("silent-after-huge-body" "robustness/huge-body" "After a body of more than a mebibyte nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Huge))),
    flaw!("silent-after-bad-head" "robustness/bad-head"
        ["robustness/wrong-length": "A body of which the head says nothing is taken for a head that is no HTTP."]
        "After a head that is no HTTP nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Head))),
    flaw!("silent-after-huge-head" "robustness/huge-head" "After an endless head nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::EndlessHead))),
    flaw!("silent-after-wrong-length" "robustness/wrong-length"
        ["robustness/bad-head": "What is left of the body is taken for a head that is no HTTP."]
        "After a body that is not as long as its head says nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Length).or_else(|| after(s, ClientMistake::Head)))),
    flaw!("waits-for-half-requests" "robustness/half-request"
        ["robustness/wrong-length": "A body that is shorter than its length is one that still comes."]
        "While a body comes on one connection nobody is answered on another."
        Effect::Instead(|s| s.memory.waits_for_another(s.received.head.tcp).then_some(Instead::Never))),
    flaw!("silent-after-reset" "robustness/reset" "After a connection was cut nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Cut))),
    flaw!("odd-ids-fail" "robustness/odd-session-id" "A session id that is no UUID is answered with the status 500."
    Effect::Refuse(|ask, _| {
        let id = ask.route.name.as_deref().filter(|_| ask.route.endpoint != Endpoint::GetProfile)?;
        (id.len() != 36).then(|| Refusal::new("SERVER_ERROR", "invalid literal for UUID"))
    })),
    flaw!("flood-unanswered" "robustness/request-flood" "After two hundred requests alike the next two hundred are not answered."
        Effect::Instead(|s| (200..400).contains(&(s.memory.alike % 400)).then_some(Instead::Close))),
    flaw!("subscriber-cut-ends-all" "robustness/stream-cut"
        ["stream/subscriber-leaves": "Whether it closes its connection or resets it, the others lose their streams."]
        "When a subscriber is gone, the streams of all others end."
        switch(Switch::LeavingEndsOthers)),
    flaw!("many-streams-tire" "robustness/stream-flood" "After thirty subscribers of a session have left it, those who subscribe are told of nothing."
        switch(Switch::Tires)),
    flaw!("silent-after-bad-websocket" "robustness/bad-websocket" "After a WebSocket that breaks its protocol nothing is answered."
        Effect::Instead(|s| after(s, ClientMistake::Socket))),
];

fn no() -> Instead {
    Instead::Reply(Refusal::invalid("this is not understood").into())
}

fn bad_json(seen: &RequestInContext<'_>) -> bool {
    seen.ask.is_some_and(|ask| ask.body.as_ref().is_err_and(|refusal| refusal.message.contains("not JSON")))
}

/// Nothing is answered once this happened.
fn after(seen: &RequestInContext<'_>, trouble: ClientMistake) -> Option<Instead> {
    seen.memory.had(trouble).then_some(Instead::Never)
}
