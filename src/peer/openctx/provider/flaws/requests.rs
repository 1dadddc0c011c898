//! Requests that are not understood, what is remembered of them though it must not be, and what other clients suffer after a
//! bad one.

use serde_json::{Map, Value, json};

use crate::peer::deviation::{FlawRow, flaw};
use crate::wire::http::{Ending, Response};

use super::super::deviations::{ClientMistake, Instead, ProviderEffect, RequestInContext, Switch, is_deep};
use super::super::request::{Method, Request, RequestFault};

pub const REQUESTS: &[FlawRow<ProviderEffect>] = &[
    flaw!("post-refused" "http/post"
        "POST is refused with the status 405." ProviderEffect::Instead(|_| refused("405 Method Not Allowed"))),
    flaw!("path-unknown" "http/post"
        "The path of the URL is answered with the status 404."
        ProviderEffect::Instead(|s| if s.received.head.path() == "/" { refused("404 Not Found") } else { None })),
    flaw!("charset-refused" "http/content-type-charset" "A content type with a charset is refused."
        ProviderEffect::Instead(|s| if s.header("content-type")?.contains("charset") { refused("415 Unsupported Media Type") } else { None })),
    flaw!("charset-needed" "http/content-type-plain" "A content type without a charset is refused."
        ProviderEffect::Instead(|s| if s.header("content-type")?.contains("charset") { None } else { refused("415 Unsupported Media Type") })),
    flaw!("header-names-exact" "http/header-case"
    "The content type is known by a header that is written like this or in lower case only."
    ProviderEffect::Instead(|s| {
        let known = |(name, _): &(String, String)| name == "Content-Type" || name == "content-type";
        if s.received.head.headers.iter().any(known) { None } else { Some(misread()) }
    })),
    flaw!("extra-headers-refused" "http/extra-headers" "A request with a header that is not known is refused."
    ProviderEffect::Instead(|s| {
        let odd = |(name, _): &(String, String)| !HEADERS.contains(&name.to_lowercase().as_str());
        s.received.head.headers.iter().any(odd).then(misread)
    })),
    flaw!("request-in-one-read" "http/segments"
        "A request must come in few TCP segments." ProviderEffect::Instead(|s| (s.received.reads > 3).then(misread))),
    flaw!("second-request-unanswered" "http/keep-alive"
        "On each connection the first request is answered."
        ProviderEffect::Instead(|s| s.memory.knows(s.received.head.tcp).then_some(Instead::Close))),
    flaw!("second-request-hangs" "http/keep-alive"
        "On each connection the first request is answered, and then it is held."
        ProviderEffect::Instead(|s| s.memory.knows(s.received.head.tcp).then_some(Instead::Never))),
    flaw!("closes-unannounced" "http/close-announced" "The connection is closed after each answer, and the head does not say so."
    ProviderEffect::Carried(|r| {
        r.headers.push(("Connection".to_owned(), None));
        r.ending = Ending::Close;
    })),
    flaw!("closes-though-kept" "http/close-announced" "The connection is closed after each answer, and the head says that it is kept."
    ProviderEffect::Carried(|r| {
        r.headers.push(("Connection".to_owned(), Some("keep-alive".to_owned())));
        r.ending = Ending::Close;
    })),
    flaw!("close-ignored" "http/close-asked" "A connection is kept, though the request asks for its end."
    ProviderEffect::CarriedFor(|r, request| {
        let asked = request.head.header("connection").any(|value| value.eq_ignore_ascii_case("close"));
        if asked {
            r.headers.push(("Connection".to_owned(), Some("keep-alive".to_owned())));
            r.ending = Ending::Hold;
        }
    })),
    flaw!("close-unanswered" "http/close-asked" "A request that asks for the end of the connection gets that, and no answer."
        ProviderEffect::Instead(|s| s.header("connection")?.eq_ignore_ascii_case("close").then_some(Instead::Close))),
    flaw!("chunked-refused" "http/chunked-request" "A chunked request counts as one without a body."
        ProviderEffect::Instead(|s| s.header("transfer-encoding").map(|_| misread()))),
    flaw!("continue-unanswered" "http/expect-continue" "A request that expects `100-continue` waits in vain."
        ProviderEffect::Switch(Switch::NoContinue)),
    flaw!("any-method" "http/method-not-allowed" "A request with another method than POST is answered as `meta` is."
        ProviderEffect::Instead(|s| (s.received.head.method() != "POST").then(|| Instead::Result(json!({"name": "Any method"}))))),
    flaw!("settings-needed" "envelope/without-settings" "A request without settings is not answered."
        ProviderEffect::Instead(|s| (s.request.is_ok() && s.json().get("settings").is_none()).then_some(Instead::Close))),
    flaw!("params-needed" "envelope/without-params" "A request without parameters is not answered."
        ProviderEffect::Instead(|s| (s.request.is_ok() && s.json().get("params").is_none()).then_some(Instead::Close))),
    flaw!("ascii-only" "envelope/unicode"
        "A body with characters beyond ASCII counts as no JSON."
        ProviderEffect::Instead(|s| (!s.body().is_ascii()).then(misread))),
    flaw!("basic-plane-only" "envelope/unicode"
        "A body with characters beyond the Basic Multilingual Plane counts as no JSON."
        ProviderEffect::Instead(|s| s.body().contains(|c: char| c > '\u{ffff}').then(misread))),
    flaw!("escapes-refused" "envelope/escapes" "A body with escaped code units counts as no JSON."
        ProviderEffect::Instead(|s| s.body().contains("\\u").then(misread))),
    flaw!("whitespace-refused" "envelope/whitespace" "A body with white space at its beginning or between its tokens counts as no JSON."
    ProviderEffect::Instead(|s| {
        let compact = s.json().to_string().len() >= s.body().len();
        (s.request.is_ok() && !compact && !s.body().contains('\\')).then(misread)
    })),
    flaw!("method-first" "envelope/member-order" "The method must be the first member of a request."
    ProviderEffect::Instead(|s| {
        let first = s.json().as_object()?.keys().next()?.clone();
        (s.request.is_ok() && first != "method").then(misread)
    })),
    flaw!("extra-members-refused" "envelope/extra-members" "A request with a member that is not known is refused."
    ProviderEffect::Instead(|s| {
        let odd = s.json().as_object()?.keys().any(|key| !["method", "params", "settings"].contains(&key.as_str()));
        (s.request.is_ok() && odd).then_some(Instead::Refuse(RequestFault::NoRequest))
    })),
    flaw!("meta-first" "state/no-order" "Until `meta` has been asked for, everything else is answered with an error."
    ProviderEffect::Instead(|s| {
        let asked = s.memory.methods.contains(&Method::Meta) || s.is(Method::Meta);
        (s.request.is_ok() && !asked).then(|| Instead::error(-32002, "ask for `meta` first"))
    })),
    flaw!("items-after-mentions" "state/no-order" "Until mentions have been asked for, `items` is answered with an error."
    ProviderEffect::Instead(|s| {
        (s.is(Method::Items) && !s.memory.methods.contains(&Method::Mentions))
            .then(|| Instead::error(-32002, "ask for mentions first"))
    })),
    flaw!("errors-on-same-connection" "state/no-connection"
    "On a connection that was kept, requests are answered with an error."
    ProviderEffect::Instead(|s| {
        s.memory.knows(s.received.head.tcp).then(|| Instead::error(-32003, "this connection has been used"))
    })),
    flaw!("settings-kept" "state/settings-per-request" "Settings that are not sent are those of the request before."
    ProviderEffect::Instead(|s| {
        let request = s.request.as_ref().ok()?;
        let other = !s.memory.settings.is_empty() && s.memory.settings != request.settings;
        other.then(|| Instead::error(-32004, "the settings are not those that this session began with"))
    })),
    flaw!("settings-inherited" "state/settings-per-request" "Settings that are not sent are those of the request before, and shown to anybody."
    ProviderEffect::Instead(|s| {
        let request = s.request.as_ref().ok()?;
        let kept = request.settings.is_empty() && !s.memory.settings.is_empty();
        let mut meta = Map::new();
        meta.insert("name".to_owned(), format!("For {}", Value::Object(s.memory.settings.clone())).into());
        (kept && s.is(Method::Meta)).then(|| Instead::Result(Value::Object(meta)))
    })),
    flaw!("params-kept" "state/params-per-request"
    "A request for mentions or items gets the answer to the request before, where that was for the same method."
    ProviderEffect::Request(|request, memory| {
        let same = |last: &&Request| last.method == request.method && request.method != Method::Annotations;
        if let Some(last) = memory.last.as_ref().filter(same) {
            request.params.clone_from(&last.params);
        }
    })),
];

/// The header fields that clients usually send.
const HEADERS: [&str; 16] = [
    "host",
    "user-agent",
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "keep-alive",
    "origin",
    "pragma",
    "sec-fetch-mode",
    "transfer-encoding",
    "te",
];

/// The response of a provider that does not understand a sound request.
fn misread() -> Instead {
    Instead::error(-32700, "this is no request")
}

fn refused(status: &str) -> Option<Instead> {
    Some(Instead::Respond(Box::new(Response::new(status).text("no\n"))))
}

pub const ROBUSTNESS: &[FlawRow<ProviderEffect>] = &[
    flaw!("exits-on-bad-json" "robustness/alive"
        "A body that is no JSON makes the provider exit."
        ProviderEffect::Instead(|s| (*s.request == Err(RequestFault::NoJson)).then_some(Instead::Die))),
    flaw!("exits-on-unknown-method" "robustness/alive"
        "A request for an unknown method makes the provider exit."
        ProviderEffect::Instead(|s| (*s.request == Err(RequestFault::NoMethod)).then_some(Instead::Die))),
    flaw!("exits-on-deep-json" "robustness/alive"
        "JSON that is nested deep makes the provider exit."
        ProviderEffect::Instead(|s| is_deep(&s.received.content).then_some(Instead::Die))),
    flaw!("confuses-requests" "robustness/concurrent"
        "Requests that come at the same time get the answer to the one before." ProviderEffect::Switch(Switch::SharesRequest)),
    flaw!("silent-after-bad-json" "robustness/bad-json" "After a body that is no JSON nothing is answered."
        ProviderEffect::Instead(|s| after(s, ClientMistake::NoJson))),
    flaw!("silent-after-bad-envelope" "robustness/bad-envelope" "After JSON that is no request nothing is answered."
        ProviderEffect::Instead(|s| after(s, ClientMistake::NoRequest))),
    flaw!("silent-after-bad-params" "robustness/bad-params" "After wrong parameters nothing is answered."
        ProviderEffect::Instead(|s| after(s, ClientMistake::Params))),
    flaw!("silent-after-unknown-method" "robustness/unknown-method" "After an unknown method nothing is answered."
        ProviderEffect::Instead(|s| after(s, ClientMistake::NoMethod))),
    flaw!("silent-after-deep-json" "robustness/deep-json" "After JSON that is nested deep nothing is answered."
        ProviderEffect::Instead(|s| after(s, ClientMistake::Deep))),
    flaw!("silent-after-huge-content" "robustness/huge-content" "After a document of more than a mebibyte nothing is answered."
        ProviderEffect::Instead(|s| after(s, ClientMistake::Huge))),
    flaw!("silent-after-bad-head" "robustness/bad-head" "After a head that is no HTTP nothing is answered."
        ProviderEffect::Instead(|s| after(s, ClientMistake::Head))),
    flaw!("silent-after-huge-head" "robustness/huge-head" "After an endless head nothing is answered."
        ProviderEffect::Instead(|s| after(s, ClientMistake::EndlessHead))),
    flaw!("silent-after-wrong-length" "robustness/wrong-length"
        "After a head with a length that is none nothing is answered."
        ProviderEffect::Instead(|s| after(s, ClientMistake::Length))),
    flaw!("silent-after-bad-chunks" "robustness/bad-chunks" "After chunks that are none nothing is answered."
        ProviderEffect::Instead(|s| after(s, ClientMistake::Chunks))),
    flaw!("silent-after-reset" "robustness/reset"
        "After a connection was cut while a request was open nothing is answered."
        ProviderEffect::Instead(|s| after(s, ClientMistake::Cut))),
    flaw!("one-at-a-time" "robustness/half-request"
        ["robustness/silent-client": "A client that does not read has a connection as well."]
        "One connection is served at a time." ProviderEffect::Switch(Switch::OneAtATime)),
    flaw!("one-client-at-a-time" "robustness/silent-client"
        ["robustness/half-request": "A client that stops in the middle of a request has not read its answer either."]
        "While an answer is not read, nobody else gets one." ProviderEffect::Switch(Switch::OneAtATime)),
    flaw!("leaks-connections" "robustness/connection-flood"
        "After twenty connections without a request nothing is answered."
        ProviderEffect::Instead(|s| (s.memory.unused(s.received.head.tcp) > 20).then_some(Instead::Close))),
    flaw!("busy-beyond-fifty" "robustness/request-flood" "While fifty requests are open, others are not answered."
        ProviderEffect::Switch(Switch::AtMost(50))),
];

/// Closes every connection after something went wrong once.
fn after(seen: &RequestInContext<'_>, mistake: ClientMistake) -> Option<Instead> {
    seen.memory.had(mistake).then_some(Instead::Close)
}
