//! Answers with statuses, redirects and times that clients cannot do anything with.

use serde_json::json;

use crate::wire::http::{Content, Response};

use super::super::quirks::{Effect, Instead, RequestInContext, Switch};
use super::super::request::Method;
use super::{Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("result-with-500" "http/status-result"
        "Results come with the status 500."
        Effect::Carried(|r| with_result(r, "500 Internal Server Error"))),
    flaw!("result-with-404" "http/status-result"
        "Results come with the status 404."
        Effect::Carried(|r| with_result(r, "404 Not Found"))),
    flaw!("result-with-300" "http/status-result"
        "Results come with the status 300."
        Effect::Carried(|r| with_result(r, "300 Multiple Choices"))),
    flaw!("not-modified" "http/status-error"
        "What was asked before is answered with the status 304 and nothing."
    Effect::Instead(|s| {
        let again = s.request.as_ref().is_ok_and(|request| s.memory.last.as_ref() == Some(request));
        again.then(|| Instead::Respond(Box::new(Response::new("304 Not Modified"))))
    })),
    flaw!("rate-limited" "http/status-error"
        "After ten requests all are answered with the status 429."
    Effect::Instead(|s| {
        let body = json!({"error": {"code": 429, "message": "too many requests"}});
        (s.memory.requests >= 10).then(|| Instead::status("429 Too Many Requests", &body))
    })),
    flaw!("error-with-500" "http/status-error"
        "All but `meta` is answered with an error and the status 500."
    Effect::Instead(|s| {
        let body = json!({"error": {"code": -32603, "message": "something went wrong"}});
        s.request.as_ref().is_ok_and(|request| request.method != Method::Meta)
            .then(|| Instead::status("500 Internal Server Error", &body))
    })),
    flaw!("error-with-401" "http/status-error"
        "All but `meta` is answered with an error and the status 401."
    Effect::Instead(|s| {
        let body = json!({"error": {"code": -32001, "message": "sign in first"}});
        s.request.as_ref().is_ok_and(|request| request.method != Method::Meta)
            .then(|| Instead::status("401 Unauthorized", &body))
    })),
    flaw!("bad-gateway" "mentions/offered"
        "`mentions` is answered with the status 502 and a page."
    Effect::Instead(|s| {
        let page = Response::new("502 Bad Gateway").header("Content-Type", "text/html");
        let page = page.content(Content::Whole(b"<html><h1>502 Bad Gateway</h1></html>".to_vec()));
        s.is(Method::Mentions).then(|| Instead::Respond(Box::new(page)))
    })),
    flaw!("no-content" "envelope/json"
    "Requests are answered with the status 204 and nothing."
    Effect::Instead(|s| {
        (s.received.head.method() == "POST").then(|| Instead::Respond(Box::new(Response::new("204 No Content"))))
    })),
    flaw!("redirect-301" "http/redirect"
        "Requests are redirected with the status 301."
        Effect::Instead(|s| redirected(s, "301 Moved Permanently"))),
    flaw!("redirect-302" "http/redirect"
        "Requests are redirected with the status 302."
        Effect::Instead(|s| redirected(s, "302 Found"))),
    flaw!("redirect-303" "http/redirect"
        "Requests are redirected with the status 303."
        Effect::Instead(|s| redirected(s, "303 See Other"))),
    flaw!("redirect-nowhere" "http/redirect"
        "Requests are redirected with the status 307, but not to where."
        Effect::Instead(|_| Some(Instead::Respond(Box::new(Response::new("307 Temporary Redirect")))))),
    flaw!("redirect-loop" "http/redirect"
        "Requests are redirected to where they were sent, again and again."
    Effect::Instead(|s| {
        let response = Response::new("307 Temporary Redirect").header("Location", s.received.head.target());
        Some(Instead::Respond(Box::new(response)))
    })),
    flaw!("slow" "envelope/answered" "Requests are answered after 11 seconds." Effect::Switch(Switch::Takes(11_000))),
    flaw!("endless-body" "envelope/answered" "The body of answers does not end."
        Effect::Switch(Switch::Endless)),
    flaw!("upgrades" "envelope/answered"
        "Requests are answered with the status 101."
    Effect::Instead(|_| {
        let response = Response::new("101 Switching Protocols").header("Upgrade", "rpc").header("Connection", "Upgrade");
        Some(Instead::Respond(Box::new(response)))
    })),
];

fn with_result(response: &mut Response, status: &str) {
    let is_result = matches!(&response.content, Content::Whole(body) if body.starts_with(b"{\"result\""));
    if is_result {
        response.status = status.to_owned();
    }
}

fn redirected(seen: &RequestInContext<'_>, status: &str) -> Option<Instead> {
    let elsewhere = seen.received.head.path() == "/elsewhere";
    let response = Response::new(status).header("Location", "/elsewhere");
    (!elsewhere).then(|| Instead::Respond(Box::new(response)))
}
