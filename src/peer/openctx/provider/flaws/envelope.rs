//! Answers whose envelope is wrong.

use serde_json::{Value, json};

use crate::peer::deviation::http::response::{Instead, change_body, content_type};
use crate::peer::deviation::value::{remove, set};
use crate::peer::deviation::{FlawRow, flaw};
use crate::wire::http::{Content, Response};

use super::super::deviations::{ProviderAnswer, ProviderEffect, body, response};
use super::super::request::{Method, RequestFault};

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
    flaw!("json-in-json" "envelope/object" "The answer is JSON in a JSON text."
        ProviderEffect::Envelope(|a| *a = Value::String(a.to_string()))),
    flaw!("answer-in-list" "envelope/object" "The answer is in a list." ProviderEffect::Envelope(|a| *a = json!([a.clone()]))),
    flaw!("answer-null" "envelope/object" "The answer is null." ProviderEffect::Envelope(|a| *a = Value::Null)),
    flaw!("bare-result" "envelope/outcome" "The result is the whole answer."
    ProviderEffect::Envelope(|a| if let Some(result @ Value::Object(_)) = a.get_mut("result") {
        *a = result.take();
    } else if a.get("result").is_some() {
        let result = remove(a, "result");
        *a = json!({ "data": result });
    })),
    flaw!("outcome-missing" "envelope/outcome" "Empty lists are left out of the answer, which is empty then."
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
    flaw!("bad-params-fail" "envelope/bad-params" "Wrong parameters are answered with the status 500 and a page."
        ProviderEffect::Instead(|s| wrong_params(s.request).then(failed))),
];

fn wrong_params(request: &Result<super::super::request::Request, RequestFault>) -> bool {
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
