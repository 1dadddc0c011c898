//! Flaws of HTTP: how responses are carried, which requests are understood, and the format of errors.

use serde_json::json;

use crate::peer::deviation::value::{bad_byte, byte_order_mark, remove, rename, set};
use crate::peer::deviation::{FlawRow, flaw};
use crate::protocol::amplifier::Endpoint;
use crate::wire::http::{Content, Ending, Piece, Response};
use crate::wire::http_head;

use super::super::deviations::{AmplifierServerEffect, ClientMistake, Instead, RequestInContext, Switch, is_deep};
use super::super::model::{Refusal, Reply};
use super::effects::switch;

/// What a query ends with that a redirect has led to.
const MOVED: &str = "moved=1";

pub const HTTP: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("status-line-short" "http/valid-head" "The status line has no version."
        AmplifierServerEffect::Response(|r| raw(r, |head| head.replacen("HTTP/1.1 ", "", 1)))),
    flaw!("header-without-colon" "http/valid-head" "A header line has no colon."
        AmplifierServerEffect::Response(|r| raw(r, |head| head.replacen("\r\n", "\r\nX-Powered-By\r\n", 1)))),
    flaw!("header-with-space" "http/valid-head" "A header name has a space before its colon."
        AmplifierServerEffect::Response(|r| raw(r, |head| head.replacen("Content-Type:", "Content-Type :", 1)))),
    flaw!("length-too-long" "http/length" "The head announces ten bytes more than there are, and the connection is closed."
    AmplifierServerEffect::Response(|r| if let Some(length) = length(r) {
        announce(r, (length + 10).to_string());
        r.ending = Ending::Close;
    })),
    flaw!("length-in-characters" "http/length" "The head announces the number of characters, not of bytes."
    AmplifierServerEffect::Response(|r| if let Content::Whole(body) = &r.content {
        let characters = String::from_utf8_lossy(body).chars().count();
        announce(r, characters.min(body.len().saturating_sub(1)).to_string());
    })),
    flaw!("length-twice" "http/length" "The head has two lengths that differ."
    AmplifierServerEffect::Response(|r| if let Some(length) = length(r) {
        announce(r, length.to_string());
        announce(r, (length + 1).to_string());
    })),
    flaw!("body-cut" "http/length" "The connection is closed in the middle of the body."
    AmplifierServerEffect::Response(|r| if let Some(length) = length(r) {
        r.manner.cut = Some(http_head::encode(&r.head(true)).len() + length / 2);
        r.ending = Ending::Close;
    })),
    flaw!("chunks-unended" "http/length" "The connection is closed before the last chunk."
    AmplifierServerEffect::Response(|r| if let Some(body) = take(r) {
        r.headers.push(("Transfer-Encoding".to_owned(), Some("chunked".to_owned())));
        let chunk = [format!("{:x}\r\n", body.len()).into_bytes(), body, b"\r\n".to_vec()].concat();
        r.content = Content::Raw(vec![Piece::now(chunk)]);
        r.ending = Ending::Close;
    })),
    flaw!("lists-unanswered" "http/answered" "A request for a list closes the connection."
    AmplifierServerEffect::Instead(|s| {
        let lists = [Endpoint::ListSessions, Endpoint::ListProfiles, Endpoint::ListAgents, Endpoint::ListCollections];
        lists.into_iter().any(|list| s.is(list)).then_some(Instead::Close)
    })),
    flaw!("info-reset" "http/answered" "A request for the server's information cuts the connection."
        AmplifierServerEffect::Instead(|s| s.is(Endpoint::Info).then_some(Instead::Reset))),
    flaw!("bodies-as-text" "http/json" "Bodies are texts for humans."
        AmplifierServerEffect::Body(|b| *b = format!("answer: {}", b.len()).into_bytes())),
    flaw!("body-twice" "http/json" "The JSON of a body is there twice."
        AmplifierServerEffect::Body(|b| *b = [b.clone(), b.clone()].concat())),
    flaw!("json-as-text" "http/content-type" "The content type is that of a text."
        AmplifierServerEffect::Response(|r| if is_json(r) { content_type(r, "text/plain; charset=utf-8") })),
    flaw!("content-type-missing" "http/content-type" "There is no content type."
        AmplifierServerEffect::Response(|r| if is_json(r) { r.headers.retain(|(name, _)| name != "Content-Type") })),
    flaw!("bad-byte" "http/utf-8" "A body has a byte that no UTF-8 has, within a text."
        AmplifierServerEffect::Body(bad_byte)),
    flaw!("byte-order-mark" "http/no-bom" "A body begins with a byte order mark."
        AmplifierServerEffect::Body(byte_order_mark)),
    flaw!("gzip-in-name-only" "http/encoding" "The head says gzip, and the body is none."
        AmplifierServerEffect::Response(|r| if is_json(r) { header(r, "Content-Encoding", "gzip") })),
    flaw!("coding-unknown" "http/encoding" "The head names a content coding that nobody knows."
        AmplifierServerEffect::Response(|r| if is_json(r) { header(r, "Content-Encoding", "rot13") })),
    flaw!("gzip-unasked" "http/encoding-offered" "Bodies are gzip, whether the request allows it or not."
    AmplifierServerEffect::Response(|r| if let Some(body) = take(r) {
        r.content = Content::Whole(crate::peer::params::encoded("gzip", &body));
        header(r, "Content-Encoding", "gzip");
    })),
    flaw!("redirects-lists" "http/no-redirect" "A request for a list is redirected to the same with a longer query."
    AmplifierServerEffect::Instead(|s| {
        let list = s.is(Endpoint::ListSessions) || s.is(Endpoint::ListProfiles);
        let target = s.received.head.target();
        let joined = if target.contains('?') { '&' } else { '?' };
        let target = format!("{target}{joined}{MOVED}");
        (list && !s.received.head.target().ends_with(MOVED)).then(|| Instead::Respond(Box::new(Response::new("307 Temporary Redirect").header("Location", target))))
    })),
];

/// The length of a body; none where it has not all of it.
pub fn length(response: &Response) -> Option<usize> {
    if let Content::Whole(body) = &response.content { Some(body.len()) } else { None }
}

/// Takes the body out.
pub fn take(response: &mut Response) -> Option<Vec<u8>> {
    match std::mem::take(&mut response.content) {
        Content::Whole(body) => Some(body),
        other => {
            response.content = other;
            None
        }
    }
}

pub fn announce(response: &mut Response, length: String) {
    response.headers.push(("Content-Length".to_owned(), Some(length)));
}

pub fn header(response: &mut Response, name: &str, value: &str) {
    response.headers.push((name.to_owned(), Some(value.to_owned())));
}

/// Whether it is a response, and no event stream.
pub fn is_json(response: &Response) -> bool {
    matches!(response.content, Content::Whole(_))
}

/// Another content type.
pub fn content_type(response: &mut Response, value: &str) {
    response.headers.retain(|(name, _)| name != "Content-Type");
    header(response, "Content-Type", value);
}

/// Changes the head of a response as it is sent.
fn raw(response: &mut Response, change: fn(String) -> String) {
    if is_json(response) {
        let head = String::from_utf8_lossy(&http_head::encode(&response.head(false))).into_owned();
        response.raw = Some(change(head).into_bytes());
    }
}

pub const REQUESTS: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("under-api-v1" "http/base-path" "The endpoints, but for health, are below `/api/v1`."
    AmplifierServerEffect::Instead(|s| {
        let moved = !s.received.head.path().starts_with("/health");
        moved.then(|| Instead::Reply(Refusal::new("SESSION_NOT_FOUND", "Not Found").into()))
    })),
    flaw!("charset-refused" "http/content-type-charset" "A content type with a charset is refused."
        AmplifierServerEffect::Instead(|s| s.header("content-type").filter(|value| value.contains("charset")).map(|_| no()))),
    flaw!("headers-by-case" "http/header-case" "A content type is found only where its name is written as usual, and is needed."
    AmplifierServerEffect::Instead(|s| {
        let named = |name: &&(String, String)| name.0.eq_ignore_ascii_case("content-type") && name.0 != "Content-Type";
        s.received.head.headers.iter().find(named).map(|_| no())
    })),
    flaw!("extra-headers-refused" "http/extra-headers" "Header fields that begin with X- are refused."
    AmplifierServerEffect::Instead(|s| {
        let extra = |(name, _): &(String, String)| name.to_ascii_lowercase().starts_with("x-");
        s.received.head.headers.iter().any(extra).then(no)
    })),
    flaw!("extra-query-refused" "http/extra-query" "Query parameters that are not known are refused."
    AmplifierServerEffect::Refuse(|request, _| {
        let known = |key: &str| ["status", "limit", "collection"].contains(&key);
        request.route.query.iter().any(|(key, _)| !known(key)).then(|| Refusal::invalid("unknown parameter"))
    })),
    flaw!("paths-undecoded" "http/encoded-path" "Paths with encoded characters are not found."
    AmplifierServerEffect::Instead(|s| {
        let code = if s.is(Endpoint::GetProfile) { "PROFILE_NOT_FOUND" } else { "SESSION_NOT_FOUND" };
        s.received.head.path().contains('%').then(|| Instead::Reply(Refusal::new(code, "Not Found").into()))
    })),
    flaw!("one-segment-only" "http/segments" "A request that does not come in a few segments is refused."
        AmplifierServerEffect::Instead(|s| (s.received.reads > 4).then(no))),
    flaw!("second-request-hung-up-on" "http/keep-alive" "The second request on a connection is not answered."
        AmplifierServerEffect::Instead(|s| s.history.knows(s.received.head.tcp).then_some(Instead::Close))),
    flaw!("close-ignored" "http/close-asked" "A connection that is to be closed stays open."
    AmplifierServerEffect::ResponseFor(|r, request| if request.head.header("connection").any(|value| value.eq_ignore_ascii_case("close")) {
        r.ending = Ending::Hold;
        r.headers.push(("Connection".to_owned(), Some("keep-alive".to_owned())));
    })),
    flaw!("chunked-refused" "http/chunked-request" "A chunked body is refused with the status 400."
        AmplifierServerEffect::Instead(|s| s.header("transfer-encoding").map(|_| no()))),
    flaw!("unknown-paths-found" "http/unknown-path" "What is no endpoint is answered with the status 200."
    AmplifierServerEffect::Instead(|s| {
        let get = s.request.is_none() && s.received.head.method() == "GET";
        get.then(|| Instead::Respond(Box::new(Response::new("200 OK").json(&json!({})))))
    })),
    flaw!("any-method" "http/method-not-allowed" "PUT, PATCH and DELETE are answered with the status 200 everywhere."
    AmplifierServerEffect::Instead(|s| {
        let odd = s.request.is_none() && ["PUT", "PATCH", "DELETE", "POST"].contains(&s.received.head.method());
        odd.then(|| Instead::Respond(Box::new(Response::new("200 OK").json(&json!({})))))
    })),
    flaw!("exits-on-bad-json" "robustness/alive" "A body that is no JSON makes the server exit."
        AmplifierServerEffect::Instead(|s| bad_json(s).then_some(Instead::Die))),
    flaw!("exits-on-deep-json" "robustness/alive" "JSON that is nested deep makes the server exit."
        AmplifierServerEffect::Instead(|s| is_deep(&s.received.content).then_some(Instead::Die))),
    flaw!("confuses-requests" "robustness/concurrent" "Requests that come at the same time get the answer to the last one."
        switch(Switch::Confuses)),
    flaw!("mixes-sessions" "stream/own-session" "What a session does that begins while another one works is told to the subscribers of that one."
        switch(Switch::MixesSessions)),
    flaw!("one-session-at-a-time" "robustness/concurrent-sessions" "While a session works others are refused as busy."
        switch(Switch::OneAtATime)),
    flaw!("silent-after-bad-json" "robustness/bad-json" "After a body that is no JSON nothing is answered."
        AmplifierServerEffect::Instead(|s| after(s, ClientMistake::NoJson))),
    flaw!("silent-after-bad-body" "robustness/bad-body" "After a body that is not as it should be nothing is answered."
        AmplifierServerEffect::Instead(|s| after(s, ClientMistake::Body))),
    flaw!("silent-after-deep-json" "robustness/deep-json" "After JSON that is nested deep nothing is answered."
        AmplifierServerEffect::Instead(|s| after(s, ClientMistake::Deep))),
    flaw!("silent-after-huge-body" "robustness/huge-body" "After a body of more than a mebibyte nothing is answered."
        AmplifierServerEffect::Instead(|s| after(s, ClientMistake::Huge))),
    flaw!("silent-after-bad-head" "robustness/bad-head"
        ["robustness/wrong-length": "A body of which the head says nothing is taken for a head that is no HTTP."]
        "After a head that is no HTTP nothing is answered."
        AmplifierServerEffect::Instead(|s| after(s, ClientMistake::Head))),
    flaw!("silent-after-huge-head" "robustness/huge-head" "After an endless head nothing is answered."
        AmplifierServerEffect::Instead(|s| after(s, ClientMistake::EndlessHead))),
    flaw!("silent-after-wrong-length" "robustness/wrong-length"
        ["robustness/bad-head": "What is left of the body is taken for a head that is no HTTP."]
        "After a body that is not as long as its head says nothing is answered."
        AmplifierServerEffect::Instead(|s| after(s, ClientMistake::Length).or_else(|| after(s, ClientMistake::Head)))),
    flaw!("waits-for-half-requests" "robustness/half-request"
        ["robustness/wrong-length": "A body that is shorter than its length is one that still comes."]
        "While a body comes on one connection nobody is answered on another."
        AmplifierServerEffect::Instead(|s| s.history.waits_for_another(s.received.head.tcp).then_some(Instead::Never))),
    flaw!("silent-after-reset" "robustness/reset" "After a connection was cut nothing is answered."
        AmplifierServerEffect::Instead(|s| after(s, ClientMistake::Cut))),
    flaw!("odd-ids-fail" "robustness/odd-session-id" "A session id that is no UUID is answered with the status 500."
    AmplifierServerEffect::Refuse(|request, _| {
        let id = request.route.name.as_deref().filter(|_| request.route.endpoint != Endpoint::GetProfile)?;
        (id.len() != 36).then(|| Refusal::new("SERVER_ERROR", "invalid literal for UUID"))
    })),
    flaw!("flood-unanswered" "robustness/request-flood" "After two hundred requests alike the next two hundred are not answered."
        AmplifierServerEffect::Instead(|s| (200..400).contains(&(s.history.repeated % 400)).then_some(Instead::Close))),
    flaw!("subscriber-cut-ends-all" "robustness/stream-cut"
        ["stream/subscriber-leaves": "Whether it closes its connection or resets it, the others lose their streams."]
        "When a subscriber is gone, the streams of all others end."
        switch(Switch::LeavingEndsOthers)),
    flaw!("many-streams-tire" "robustness/stream-flood" "After thirty subscribers of a session have left it, those who subscribe are told of nothing."
        switch(Switch::Tires)),
    flaw!("silent-after-bad-websocket" "robustness/bad-websocket" "After a WebSocket that breaks its protocol nothing is answered."
        AmplifierServerEffect::Instead(|s| after(s, ClientMistake::Socket))),
];

fn no() -> Instead {
    Instead::Reply(Refusal::invalid("this is not understood").into())
}

fn bad_json(context: &RequestInContext<'_>) -> bool {
    context
        .request
        .is_some_and(|request| request.body.as_ref().is_err_and(|refusal| refusal.message.contains("not JSON")))
}

/// Nothing is answered once this happened.
fn after(context: &RequestInContext<'_>, mistake: ClientMistake) -> Option<Instead> {
    context.history.had(mistake).then_some(Instead::Never)
}

pub const ERRORS: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("error-under-detail" "errors/format" ["errors/outside": "An error for what does not belong to the interface has it as well."]
        "The body of an error has a text as `detail`."
        AmplifierServerEffect::Failed(|r| r.body = json!({"detail": r.body["error"]["message"]}))),
    flaw!("error-wrapped-in-detail" "errors/format" ["errors/outside": "An error for what does not belong to the interface has it as well."]
        "The error is wrapped in `detail`."
        AmplifierServerEffect::Failed(|r| r.body = json!({"detail": r.body.clone()}))),
    flaw!("error-as-text" "errors/format" ["errors/outside": "An error for what does not belong to the interface has it as well."]
        "The `error` is a text."
        AmplifierServerEffect::Failed(|r| r.body = json!({"error": r.body["error"]["message"]}))),
    flaw!("errors-as-successes" "errors/status" "Errors come with the status 200." AmplifierServerEffect::Failed(|r| r.status = 200)),
    flaw!("error-without-code" "errors/code" "Errors have no `code`." AmplifierServerEffect::Failed(|r| drop(remove(&mut r.body["error"], "code")))),
    flaw!("error-code-as-number" "errors/code" "The `code` of an error is its status."
        AmplifierServerEffect::Failed(|r| set(&mut r.body["error"], "code", r.status))),
    flaw!("error-code-in-lower-case" "errors/code-known" "The codes of errors are in lower case."
    AmplifierServerEffect::Failed(|r| {
        let code = r.code().to_lowercase();
        set(&mut r.body["error"], "code", code);
    })),
    flaw!("error-without-message" "errors/message" "The message of an error is its `msg`."
        AmplifierServerEffect::Failed(|r| rename(&mut r.body["error"], "message", "msg"))),
    flaw!("error-details-as-list" "errors/details" "The details of an error are a list."
        AmplifierServerEffect::Failed(|r| set(&mut r.body["error"], "details", json!([])))),
    flaw!("outside-under-detail" "errors/outside" "What is no endpoint is refused with a text as `detail`."
    AmplifierServerEffect::Failed(|r| if r.body["error"]["message"] == "There is no such endpoint" {
        r.body = json!({"detail": "Not Found"});
    })),
    flaw!("invalid-request-422" "errors/invalid-request" "INVALID_REQUEST comes with the status 422."
        AmplifierServerEffect::Failed(|r| instead(r, "INVALID_REQUEST", 422))),
    flaw!("framework-422" "errors/invalid-request" ["errors/format": "The body has a list of faults as `detail`."]
    "What does not validate is refused with the status 422, and a list as `detail`."
    AmplifierServerEffect::Failed(|r| if r.code() == "INVALID_REQUEST" {
        *r = Reply { status: 422, body: json!({"detail": [{"type": "missing", "loc": ["body"], "msg": "Field required"}]}), why: r.why };
    })),
    flaw!("session-not-found-400" "errors/session-not-found"
        ["http/unknown-path": "A path that is none of the interface has the same status."] "SESSION_NOT_FOUND comes with the status 400."
        AmplifierServerEffect::Failed(|r| instead(r, "SESSION_NOT_FOUND", 400))),
    flaw!("profile-not-found-500" "errors/profile-not-found" "PROFILE_NOT_FOUND comes with the status 500."
        AmplifierServerEffect::Failed(|r| instead(r, "PROFILE_NOT_FOUND", 500))),
    flaw!("session-busy-429" "errors/session-busy" "SESSION_BUSY comes with the status 429."
        AmplifierServerEffect::Failed(|r| instead(r, "SESSION_BUSY", 429))),
    flaw!("missing-credentials-403" "errors/missing-credentials" "MISSING_CREDENTIALS comes with the status 403."
        AmplifierServerEffect::Failed(|r| instead(r, "MISSING_CREDENTIALS", 403))),
    flaw!("invalid-api-key-403" "errors/invalid-api-key" "INVALID_API_KEY comes with the status 403."
        AmplifierServerEffect::Failed(|r| instead(r, "INVALID_API_KEY", 403))),
    flaw!("unauthorized-401" "errors/api-key-unauthorized" "API_KEY_UNAUTHORIZED comes with the status 401."
        AmplifierServerEffect::Failed(|r| instead(r, "API_KEY_UNAUTHORIZED", 401))),
    flaw!("rate-limited-503" "errors/rate-limited" "RATE_LIMITED comes with the status 503."
        AmplifierServerEffect::Failed(|r| instead(r, "RATE_LIMITED", 503))),
    flaw!("provider-error-500" "errors/provider-error" "PROVIDER_ERROR comes with the status 500."
        AmplifierServerEffect::Failed(|r| instead(r, "PROVIDER_ERROR", 500))),
    flaw!("provider-unavailable-502" "errors/provider-unavailable" "PROVIDER_UNAVAILABLE comes with the status 502."
        AmplifierServerEffect::Failed(|r| instead(r, "PROVIDER_UNAVAILABLE", 502))),
    flaw!("server-error-400" "errors/server-error" "SERVER_ERROR comes with the status 400."
        AmplifierServerEffect::Failed(|r| instead(r, "SERVER_ERROR", 400))),
    flaw!("module-load-failed-503" "errors/module-load-failed" "MODULE_LOAD_FAILED comes with the status 503."
        AmplifierServerEffect::Failed(|r| instead(r, "MODULE_LOAD_FAILED", 503))),
    flaw!("approval-timeout-410" "errors/approval-timeout" "APPROVAL_TIMEOUT comes with the status 410."
        AmplifierServerEffect::Failed(|r| instead(r, "APPROVAL_TIMEOUT", 410))),
    flaw!("approval-invalid-422" "errors/approval-invalid" "APPROVAL_INVALID comes with the status 422."
        AmplifierServerEffect::Failed(|r| instead(r, "APPROVAL_INVALID", 422))),
];

fn instead(reply: &mut Reply, code: &str, status: u16) {
    if reply.code() == code {
        reply.status = status;
    }
}
