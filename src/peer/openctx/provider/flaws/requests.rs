//! Requests that are not understood, what is remembered of them though it must not be, and what other clients suffer after a
//! bad one.

use serde_json::{Map, Value, json};

use crate::peer::deviation::http::received::ClientMistake;
use crate::peer::deviation::http::response::{Instead, ResponseEffect};
use crate::peer::deviation::http::server_flaws::after;
use crate::peer::deviation::{FlawRow, flaw};
use crate::wire::http::Response;

use super::super::deviations::{ProviderAnswer, ProviderEffect, Switch};
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
    flaw!("second-request-hangs" "http/keep-alive"
        "On each connection the first request is answered, and then it is held."
        ProviderEffect::Instead(|s| s.on_used_connection().then_some(Instead::Never))),
    flaw!("close-unanswered" "http/close-asked" "A request that asks for the end of the connection gets that, and no answer."
        ProviderEffect::Instead(|s| s.header("connection")?.eq_ignore_ascii_case("close").then_some(Instead::Close))),
    flaw!("continue-unanswered" "http/expect-continue" "A request that expects `100-continue` waits in vain."
        ProviderEffect::Switch(Switch::NoContinue)),
    flaw!("any-method" "http/method-not-allowed" "A request with another method than POST is answered as `meta` is."
        ProviderEffect::Instead(|s| (s.received.head.method() != "POST").then(|| Instead::result(json!({"name": "Any method"}))))),
    flaw!("settings-needed" "envelope/without-settings" "A request without settings is not answered."
        ProviderEffect::Instead(|s| (s.request.is_ok() && s.json().get("settings").is_none()).then_some(Instead::Close))),
    flaw!("params-needed" "envelope/without-params" "A request without parameters is not answered."
        ProviderEffect::Instead(|s| (s.request.is_ok() && s.json().get("params").is_none()).then_some(Instead::Close))),
    flaw!("ascii-only" "envelope/unicode"
        "A body with characters beyond ASCII counts as no JSON."
        ProviderEffect::Instead(|s| (!s.body().is_ascii()).then_some(Instead::Refuse))),
    flaw!("basic-plane-only" "envelope/unicode"
        "A body with characters beyond the Basic Multilingual Plane counts as no JSON."
        ProviderEffect::Instead(|s| s.body().contains(|c: char| c > '\u{ffff}').then_some(Instead::Refuse))),
    flaw!("escapes-refused" "envelope/escapes" "A body with escaped code units counts as no JSON."
        ProviderEffect::Instead(|s| s.body().contains("\\u").then_some(Instead::Refuse))),
    flaw!("whitespace-refused" "envelope/whitespace" "A body with white space at its beginning or between its tokens counts as no JSON."
    ProviderEffect::Instead(|s| {
        let compact = s.json().to_string().len() >= s.body().len();
        (s.request.is_ok() && !compact && !s.body().contains('\\')).then_some(Instead::Refuse)
    })),
    flaw!("method-first" "envelope/member-order" "The method must be the first member of a request."
    ProviderEffect::Instead(|s| {
        let first = s.json().as_object()?.keys().next()?.clone();
        (s.request.is_ok() && first != "method").then_some(Instead::Refuse)
    })),
    flaw!("extra-members-refused" "envelope/extra-members" "A request with a member that is not known is refused."
    ProviderEffect::Instead(|s| {
        let odd = s.json().as_object()?.keys().any(|key| !["method", "params", "settings"].contains(&key.as_str()));
        (s.request.is_ok() && odd).then_some(Instead::Answer(ProviderAnswer::Fault(RequestFault::NoRequest)))
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
        s.on_used_connection().then(|| Instead::error(-32003, "this connection has been used"))
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
        (kept && s.is(Method::Meta)).then(|| Instead::result(Value::Object(meta)))
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

fn refused(status: &str) -> Option<Instead<ProviderAnswer>> {
    Some(Instead::respond(Response::new(status).text("no\n")))
}

pub const ROBUSTNESS: &[FlawRow<ProviderEffect>] = &[
    flaw!("exits-on-unknown-method" "robustness/alive"
        "A request for an unknown method makes the provider exit."
        ProviderEffect::Instead(|s| (*s.request == Err(RequestFault::NoMethod)).then_some(Instead::Die))),
    flaw!("confuses-requests" "robustness/concurrent"
        "Requests that come at the same time get the answer to the one before." ProviderEffect::Switch(Switch::SharesRequest)),
    flaw!("silent-after-bad-params" "robustness/bad-params" "After wrong parameters nothing is answered."
        ProviderEffect::Http(ResponseEffect::Instead(|s| after(s, ClientMistake::Params)))),
    flaw!("silent-after-unknown-method" "robustness/unknown-method" "After an unknown method nothing is answered."
        ProviderEffect::Http(ResponseEffect::Instead(|s| after(s, ClientMistake::NoMethod)))),
    flaw!("silent-after-wrong-length" "robustness/wrong-length"
        "After a head with a length that is none nothing is answered."
        ProviderEffect::Http(ResponseEffect::Instead(|s| after(s, ClientMistake::Length)))),
    flaw!("silent-after-bad-chunks" "robustness/bad-chunks" "After chunks that are none nothing is answered."
        ProviderEffect::Http(ResponseEffect::Instead(|s| after(s, ClientMistake::Chunks)))),
    flaw!("one-at-a-time" "robustness/half-request"
        ["robustness/silent-client": "A client that does not read has a connection as well."]
        "One connection is served at a time." ProviderEffect::Switch(Switch::OneAtATime)),
    flaw!("one-client-at-a-time" "robustness/silent-client"
        ["robustness/half-request": "A client that stops in the middle of a request has not read its answer either."]
        "While an answer is not read, nobody else gets one." ProviderEffect::Switch(Switch::OneAtATime)),
    flaw!("leaks-connections" "robustness/connection-flood"
        "After twenty connections without a request nothing is answered."
        ProviderEffect::Instead(|s| (s.history.unused_connections(s.received.head.tcp) > 20).then_some(Instead::Close))),
    flaw!("busy-beyond-fifty" "robustness/request-flood" "While fifty requests are open, others are not answered."
        ProviderEffect::Switch(Switch::AtMost(50))),
];
