//! Flaws of messages: responses whose envelope is wrong; requests that are not understood; what is remembered of them though
//! it must not be; and what other clients suffer after a bad one.

use serde_json::{Map, Value, json};

use crate::peer::deviation::http_faults::after;
use crate::peer::deviation::http_server::{ClientMistake, Instead, ResponseEffect, change_body, content_type};
use crate::peer::deviation::value::{remove, set};
use crate::peer::deviation::{FlawRow, flaw};
use crate::peer::openctx::server::mock_steering::SteeringSwitch;
use crate::wire::http::{Content, Response};

use super::{ProviderAnswer, ProviderEffect, body, response};
use crate::peer::openctx::request::{Method, Request, RequestFault};

pub const ENVELOPE: &[FlawRow<ProviderEffect>] = &[
    flaw!("unanswered" "envelope/answered"
        "Requests other than the first are not answered, and the connection is held."
        ProviderEffect::Instead(|s| (s.history.requests > 0).then_some(Instead::Never))),
    flaw!("closes-without-answer" "envelope/answered" "Connections are closed in answer to a request for `mentions`, `items` or `annotations`."
        ProviderEffect::Instead(|s| (!s.is(Method::Meta)).then_some(Instead::Close))),
    flaw!("resets-without-answer" "envelope/answered" "Connections are cut in answer to a request for `mentions`, `items` or `annotations`."
        ProviderEffect::Instead(|s| (!s.is(Method::Meta)).then_some(Instead::Reset))),
    flaw!("json-cut-short" "envelope/json" "The JSON ends before it is whole." body(|b| b.truncate(b.len().saturating_sub(1)))),
    flaw!("json-as-javascript" "envelope/json" "Keys have no quotes, as in JavaScript."
    body(|b| {
        let text = String::from_utf8_lossy(b);
        *b = text.replace("\"result\":", "result:").replace("\"error\":", "error:").into_bytes();
    })),
    flaw!("json-with-nan" "envelope/json" "A number is NaN."
        body(|b| replace_last(b, b"}", b",\"took\":NaN}"))),
    flaw!("json-with-prefix" "envelope/json" "Before the JSON goes `)]}'`, against hijacking."
        body(|b| drop(b.splice(..0, *b")]}'\n")))),
    flaw!("body-empty" "envelope/json" "The body is empty." body(Vec::clear)),
    flaw!("page-instead-of-json" "envelope/json" "The body is an HTML page."
    response(|r| {
        content_type(r, "text/html; charset=utf-8");
        change_body(r, |_| b"<!doctype html><title>Sign in</title>".to_vec());
    })),
    flaw!("json-in-json" "envelope/object" "The response is JSON in a JSON text."
        ProviderEffect::Envelope(|a| *a = Value::String(a.to_string()))),
    flaw!("answer-in-list" "envelope/object" "The response is in a list." ProviderEffect::Envelope(|a| *a = json!([a.clone()]))),
    flaw!("answer-null" "envelope/object" "The response is null." ProviderEffect::Envelope(|a| *a = Value::Null)),
    flaw!("bare-result" "envelope/outcome" "The result is the whole response."
    ProviderEffect::Envelope(|a| if let Some(result @ Value::Object(_)) = a.get_mut("result") {
        *a = result.take();
    } else if a.get("result").is_some() {
        let result = remove(a, "result");
        *a = json!({ "data": result });
    })),
    flaw!("outcome-missing" "envelope/outcome" "Empty lists are left out of the response, which is empty then."
    ProviderEffect::Envelope(|a| if a["result"] == json!([]) {
        remove(a, "result");
    })),
    flaw!("answer-empty-object" "envelope/outcome" "Answers to `mentions`, `items` and `annotations` are empty objects."
    ProviderEffect::Envelope(|a| if a["result"].is_array() {
        *a = json!({});
    })),
    flaw!("result-and-error" "envelope/one-outcome" "A result comes with an error that says that there is none."
    ProviderEffect::Envelope(|a| if a.get("result").is_some() {
        set(a, "error", json!({"code": 0, "message": "success"}));
    })),
    flaw!("error-with-result" "envelope/one-outcome" "An error comes with an empty list as the result."
    ProviderEffect::Envelope(|a| if a.get("error").is_some() {
        set(a, "result", json!([]));
    })),
    flaw!("error-null" "envelope/no-nulls" "A result comes with null as the error."
    ProviderEffect::Envelope(|a| if a.get("result").is_some() {
        set(a, "error", Value::Null);
    })),
    flaw!("result-null" "envelope/no-nulls" "An error comes with null as the result."
    ProviderEffect::Envelope(|a| if a.get("error").is_some() {
        set(a, "result", Value::Null);
    })),
    flaw!("nothing-as-null" "envelope/outcome"
    "An empty result is null." ProviderEffect::Envelope(|a| if a["result"] == json!([]) {
        a["result"] = Value::Null;
    })),
    flaw!("nothing-as-false" "envelope/result-type"
        "An empty result is false." ProviderEffect::Envelope(|a| nothing_as(a, json!(false)))),
    flaw!("nothing-as-zero" "envelope/result-type"
        "An empty result is 0." ProviderEffect::Envelope(|a| nothing_as(a, json!(0)))),
    flaw!("nothing-as-text" "envelope/result-type"
        "An empty result is an empty text." ProviderEffect::Envelope(|a| nothing_as(a, json!("")))),
    flaw!("result-as-text" "envelope/result-type"
    "Results are JSON in a text." ProviderEffect::Envelope(|a| if let Some(result) = a.get_mut("result") {
        *result = Value::String(result.to_string());
    })),
    flaw!("error-as-text" "envelope/error-object" "Errors are texts."
        ProviderEffect::Error(|e| *e = e["message"].clone())),
    flaw!("error-as-list" "envelope/error-object" "Errors come in a list."
        ProviderEffect::Error(|e| *e = json!([e.clone()]))),
    flaw!("error-as-true" "envelope/error-object" "An error is `true`." ProviderEffect::Error(|e| *e = json!(true))),
    flaw!("error-code-as-text" "envelope/error-code" "The code of errors is a text." ProviderEffect::Error(|e| set(e, "code", "ENOENT"))),
    flaw!("error-code-missing" "envelope/error-code" "Errors have no code." ProviderEffect::Error(|e| drop(remove(e, "code")))),
    flaw!("error-code-fraction" "envelope/error-code" "The code of errors is no integer." ProviderEffect::Error(|e| set(e, "code", 4.5))),
    flaw!("error-message-as-object" "envelope/error-message" "The message of errors is an object."
        ProviderEffect::Error(|e| set(e, "message", json!({"en": "no"})))),
    flaw!("error-message-null" "envelope/error-message" "The message of errors is null." ProviderEffect::Error(|e| set(e, "message", Value::Null))),
    flaw!("unknown-method-as-meta" "envelope/unknown-method" "Unknown methods are answered as `meta` is."
        ProviderEffect::Instead(|s| (*s.request == Err(RequestFault::NoMethod)).then(|| Instead::result(json!({"name": "Any method"}))))),
    flaw!("unknown-method-empty" "envelope/unknown-method" "Unknown methods are answered with an empty list."
        ProviderEffect::Instead(|s| (*s.request == Err(RequestFault::NoMethod)).then(|| Instead::result(json!([]))))),
    flaw!("malformed-as-empty" "envelope/malformed" "A body that is no JSON counts as an empty request for `mentions`."
    ProviderEffect::Instead(|s| {
        let posted = s.received.head.method() == "POST";
        (posted && *s.request == Err(RequestFault::NoJson)).then(|| Instead::result(json!([])))
    })),
    flaw!("malformed-fails" "envelope/malformed" "A body that is no JSON is answered with the status 500 and a page."
        ProviderEffect::Instead(|s| (*s.request == Err(RequestFault::NoJson)).then(failed))),
    flaw!("no-request-as-meta" "envelope/no-request" "JSON that is no request is answered as `meta` is."
        ProviderEffect::Instead(|s| (*s.request == Err(RequestFault::NoRequest)).then(|| Instead::result(json!({"name": "Any request"}))))),
    flaw!("no-request-fails" "envelope/no-request" "JSON that is no request is answered with the status 500 and a page."
        ProviderEffect::Instead(|s| (*s.request == Err(RequestFault::NoRequest)).then(failed))),
    flaw!("bad-params-as-none" "envelope/bad-params" "Wrong parameters are answered with an empty list."
        ProviderEffect::Instead(|s| wrong_params(s.request).then(|| Instead::result(json!([]))))),
    flaw!("bad-params-errors" "envelope/outcome"
        ["envelope/bad-params": "A list that no client looks for is no error."]
        "Wrong parameters are answered with a list `errors` in place of an error."
    ProviderEffect::Instead(|s| {
        let body = json!({"errors": [{"message": "wrong parameters"}]});
        wrong_params(s.request).then(|| Instead::respond(Response::new("200 OK").json(&body)))
    })),
    flaw!("bad-params-fail" "envelope/bad-params" "Wrong parameters are answered with the status 500 and a page."
        ProviderEffect::Instead(|s| wrong_params(s.request).then(failed))),
];

fn wrong_params(request: &Result<Request, RequestFault>) -> bool {
    matches!(request, Err(RequestFault::Params(_)))
}

/// The response of common frameworks when an exception was thrown.
fn failed() -> Instead<ProviderAnswer> {
    let page = "<!DOCTYPE html>\n<html><body><pre>TypeError: Cannot read properties of undefined</pre></body></html>\n";
    let response = Response::new("500 Internal Server Error");
    let page = Content::Whole(page.into());
    Instead::respond(response.header("Content-Type", "text/html; charset=utf-8").content(page))
}

fn nothing_as(answer: &mut Value, nothing: Value) {
    if answer["result"] == json!([]) {
        answer["result"] = nothing;
    }
}

/// Replaces the last of these bytes.
fn replace_last(body: &mut Vec<u8>, what: &[u8], with: &[u8]) {
    if let Some(at) = body.windows(what.len()).rposition(|window| window == what) {
        body.splice(at..at + what.len(), with.iter().copied());
    }
}

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
    flaw!("close-unanswered" "http/close-asked" "A request that asks for the end of the connection gets that, and no response."
        ProviderEffect::Instead(|s| s.header("connection")?.eq_ignore_ascii_case("close").then_some(Instead::Close))),
    flaw!("continue-unanswered" "http/expect-continue" "A request that expects `100-continue` waits in vain."
        SteeringSwitch::NoContinue.on()),
    flaw!("any-method" "http/method-not-allowed" "A request with another method than POST is answered as `meta` is."
        ProviderEffect::Instead(|s| (s.received.head.method() != "POST").then(|| Instead::result(json!({"name": "Any method"}))))),
    flaw!("settings-needed" "envelope/without-settings" "A request without settings is not answered."
        ProviderEffect::Instead(|s| (s.request.is_ok() && s.json().get("settings").is_none()).then_some(Instead::Close))),
    flaw!("params-needed" "envelope/without-params" "A request without parameters is not answered."
        ProviderEffect::Instead(|s| (s.request.is_ok() && s.json().get("params").is_none()).then_some(Instead::Close))),
    flaw!("params-needed-refused" "envelope/without-params"
        "A request without parameters is refused with the status 400 where its method has some."
        ProviderEffect::Instead(|s| if s.json().get("params").is_none() && s.json().get("method")? != "meta" { refused("400 Bad Request") } else { None })),
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
    flaw!("settings-of-first" "state/settings-per-request" "What looks things up is made with the settings of the first request, and finds nothing for others."
    ProviderEffect::Instead(|s| {
        let request = s.request.as_ref().ok()?;
        let first = s.memory.first_settings.as_ref()?;
        (request.method != Method::Meta && *first != request.settings).then(|| Instead::result(json!([])))
    })),
    flaw!("params-kept" "state/params-per-request"
    "A request for mentions or items gets the response to the request before, where that was for the same method."
    ProviderEffect::Request(|request, memory| {
        let same = |last: &&Request| last.method == request.method && request.method != Method::Annotations;
        if let Some(last) = memory.last.as_ref().filter(same) {
            request.params.clone_from(&last.params);
        }
    })),
    flaw!("mentions-grow" "state/params-per-request" "The mentions of each request are shown with those of the next ones as well."
        SteeringSwitch::MentionsGrow.on()),
];

fn refused(status: &str) -> Option<Instead<ProviderAnswer>> {
    Some(Instead::respond(Response::new(status).text("no\n")))
}

pub const ROBUSTNESS: &[FlawRow<ProviderEffect>] = &[
    flaw!("exits-on-unknown-method" "robustness/alive"
        "A request for an unknown method makes the provider exit."
        ProviderEffect::Instead(|s| (*s.request == Err(RequestFault::NoMethod)).then_some(Instead::Die))),
    flaw!("confuses-requests" "robustness/concurrent"
        "Requests that come at the same time get the response to the one before." SteeringSwitch::SharesRequest.on()),
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
        "One connection is served at a time." SteeringSwitch::OneAtATime.on()),
    flaw!("one-client-at-a-time" "robustness/silent-client"
        ["robustness/half-request": "A client that stops in the middle of a request has not read its response either."]
        "While a response is not read, nobody else gets one." SteeringSwitch::OneAtATime.on()),
    flaw!("leaks-connections" "robustness/connection-flood"
        "After twenty connections without a request nothing is answered."
        ProviderEffect::Instead(|s| (s.history.unused_connections(s.received.head.tcp) > 20).then_some(Instead::Close))),
    flaw!("busy-beyond-fifty" "robustness/request-flood" "While fifty requests are open, others are not answered."
        SteeringSwitch::AtMost(50).on()),
];
