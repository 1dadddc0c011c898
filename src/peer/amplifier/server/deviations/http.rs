//! Flaws of HTTP: how responses are carried, which requests are understood, and the format of errors.

use serde_json::json;

use crate::peer::amplifier::server::mock_steering::SteeringSwitch;
use crate::peer::amplifier::server::model::{FeedSwitch, PromptSwitch};
use crate::peer::deviation::http_faults::after;
use crate::peer::deviation::http_server::{ClientMistake, Instead, ResponseEffect};
use crate::peer::deviation::value::{remove, rename, set};
use crate::peer::deviation::{FlawRow, flaw};
use crate::protocol::amplifier::Endpoint;
use crate::wire::http::Response;

use super::super::model::{Refusal, Reply};
use super::AmplifierServerEffect;

/// What a query ends with that a redirect has led to.
const MOVED: &str = "moved=1";

pub const HTTP: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("lists-unanswered" "http/answered" "A request for a list closes the connection."
    AmplifierServerEffect::Instead(|s| {
        let lists = [Endpoint::ListSessions, Endpoint::ListProfiles, Endpoint::ListAgents, Endpoint::ListCollections];
        lists.into_iter().any(|list| s.is(list)).then_some(Instead::Close)
    })),
    flaw!("info-reset" "http/answered" "A request for the server's information cuts the connection."
        AmplifierServerEffect::Instead(|s| s.is(Endpoint::Info).then_some(Instead::Reset))),
    flaw!("bodies-as-text" "http/json" "Bodies are texts for humans."
        AmplifierServerEffect::Http(ResponseEffect::Body(|b| *b = format!("answer: {}", b.len()).into_bytes()))),
    flaw!("redirects-lists" "http/no-redirect" "A request for a list is redirected to the same with a longer query."
    AmplifierServerEffect::Instead(|s| {
        let list = s.is(Endpoint::ListSessions) || s.is(Endpoint::ListProfiles);
        let target = s.received.head.target();
        let joined = if target.contains('?') { '&' } else { '?' };
        let target = format!("{target}{joined}{MOVED}");
        (list && !s.received.head.target().ends_with(MOVED)).then(|| Instead::respond(Response::new("307 Temporary Redirect").header("Location", target)))
    })),
];

pub const REQUESTS: &[FlawRow<AmplifierServerEffect>] = &[
    flaw!("under-api-v1" "http/base-path" "The endpoints, but for health, are below `/api/v1`."
    AmplifierServerEffect::Instead(|s| {
        let moved = !s.received.head.path().starts_with("/health");
        moved.then(|| Instead::Answer(Refusal::new("SESSION_NOT_FOUND", "Not Found").into()))
    })),
    flaw!("charset-refused" "http/content-type-charset" "A content type with a charset is refused."
        AmplifierServerEffect::Instead(|s| s.header("content-type")?.contains("charset").then_some(Instead::Refuse))),
    flaw!("extra-query-refused" "http/extra-query" "Query parameters that are not known are refused."
    AmplifierServerEffect::Refuse(|request, _| {
        let known = |key: &str| ["status", "limit", "collection"].contains(&key);
        request.route.query.iter().any(|(key, _)| !known(key)).then(|| Refusal::invalid("unknown parameter"))
    })),
    flaw!("paths-undecoded" "http/encoded-path" "Paths with encoded characters are not found."
    AmplifierServerEffect::Instead(|s| {
        let code = if s.is(Endpoint::GetProfile) { "PROFILE_NOT_FOUND" } else { "SESSION_NOT_FOUND" };
        s.received.head.path().contains('%').then(|| Instead::Answer(Refusal::new(code, "Not Found").into()))
    })),
    flaw!("absolute-targets-unknown" "http/absolute-target" "A target that is an absolute URI is taken for a path, and not found."
        AmplifierServerEffect::Instead(|s| s.received.head.target().starts_with("http://")
            .then(|| Instead::Answer(Refusal::new("SESSION_NOT_FOUND", "Not Found").into())))),
    flaw!("unknown-paths-found" "http/unknown-path" "What is no endpoint is answered with the status 200."
    AmplifierServerEffect::Instead(|s| {
        let get = s.request.is_none() && s.received.head.method() == "GET";
        get.then(|| Instead::respond(Response::new("200 OK").json(&json!({}))))
    })),
    flaw!("any-method" "http/method-not-allowed" "PUT, PATCH and DELETE are answered with the status 200 everywhere."
    AmplifierServerEffect::Instead(|s| {
        let odd = s.request.is_none() && ["PUT", "PATCH", "DELETE", "POST"].contains(&s.received.head.method());
        odd.then(|| Instead::respond(Response::new("200 OK").json(&json!({}))))
    })),
    flaw!("confuses-requests" "robustness/concurrent" ["robustness/bad-json": "A sound request gets the refusal of the broken one beside it."] "Requests that come at the same time get the response to the last one."
        SteeringSwitch::Confuses.on()),
    flaw!("mixes-sessions" "stream/own-session" "What a session does that begins while another one works is told to the subscribers of that one."
        PromptSwitch::MixesSessions.on()),
    flaw!("one-session-at-a-time" "robustness/concurrent-sessions" "While a session works others are refused as busy."
        PromptSwitch::OneAtATime.on()),
    flaw!("silent-after-wrong-length" "robustness/wrong-length"
    ["robustness/bad-head": "What is left of the body is taken for a head that is no HTTP."]
    "After a body that is not as long as its head says nothing is answered."
    AmplifierServerEffect::Http(ResponseEffect::Instead(|s| {
        [ClientMistake::Length, ClientMistake::Torn, ClientMistake::Chunks, ClientMistake::Head].into_iter().find_map(|m| after(s, m))
    }))),
    flaw!("waits-for-half-requests" "robustness/half-request"
        ["robustness/wrong-length": "A body that is shorter than its length is one that still comes."]
        "While a body comes on one connection nobody is answered on another."
        AmplifierServerEffect::Instead(|s| s.memory.waits_for_another(s.received.head.tcp).then_some(Instead::Never))),
    flaw!("odd-ids-fail" "robustness/odd-session-id" "A session id with other characters than those of a UUID is answered with the status 500."
    AmplifierServerEffect::Refuse(|request, _| {
        let id = request.route.name.as_deref().filter(|_| request.route.endpoint != Endpoint::GetProfile)?;
        (!id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')).then(|| Refusal::new("SERVER_ERROR", "invalid literal for UUID"))
    })),
    flaw!("flood-unanswered" "robustness/request-flood" "After two hundred requests alike the next two hundred are not answered."
        AmplifierServerEffect::Instead(|s| (200..400).contains(&(s.memory.repeated % 400)).then_some(Instead::Close))),
    flaw!("subscriber-cut-ends-all" "robustness/stream-cut"
        ["stream/subscriber-leaves": "Whether it closes its connection or resets it, the others lose their streams."]
        "When a subscriber is gone, the streams of all others end."
        FeedSwitch::LeavingEndsOthers.on()),
    flaw!("many-streams-tire" "robustness/stream-flood" "After thirty subscribers of a session have left it, those who subscribe are told of nothing."
        SteeringSwitch::Tires.on()),
    flaw!("silent-after-bad-websocket" "robustness/bad-websocket" "After a WebSocket that breaks its protocol nothing is answered."
        AmplifierServerEffect::Http(ResponseEffect::Instead(|s| after(s, ClientMistake::Socket)))),
];

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
