//! Responses: a status and a body for each endpoint, and the format, the codes and the statuses of errors.

use serde_json::Value;

use super::sessions::Sessions;
use super::{Exchange, messages, requests};
use crate::protocol::amplifier::CODES;
use crate::protocol::amplifier::bodies::responses::ERROR;
use crate::protocol::amplifier::endpoints::{Endpoint, Route};
use crate::protocol::amplifier::members::BodyObject;
use crate::protocol::http::content::{Content, LOSSY};
use crate::protocol::http::heads;
use crate::protocol::http::rule_context::RuleContext;
use crate::protocol::{Use, ViolationDetail};
use crate::trace::{HttpRequest, HttpResponse};

/// Statuses that an intermediary may send in place of the server.
const FROM_INTERMEDIARIES: &[u16] = &[408, 413, 414, 429, 431, 502, 503, 504];

/// Judges a complete response.
pub fn judge(exchange: &Exchange, content: &Content<'_>, sessions: &mut Sessions, ctx: &mut RuleContext<'_>) {
    let (Some(request), Some(response)) = (&exchange.request, &exchange.response) else { return };
    let Some(status) = response.status() else { return };
    if request.method() == "HEAD" || (300..400).contains(&status) {
        return;
    }
    if status < 300 && error_as_success(status, content, ctx) {
        return;
    }
    let Some(route) = &exchange.own.route else {
        requests::outside(request, response, ctx);
        if status >= 400 {
            error_outside(content, ctx);
        }
        return;
    };
    if let Some(short) = exchange.own.must_refuse {
        judge_must_refuse(short, route, status, ctx);
    }
    if let (Some((capability, request)), None) = (capability(route.endpoint), exchange.own.must_refuse) {
        let refusal = matches!(status, 404 | 405 | 501).then_some(i64::from(status));
        ctx.used(Use { capability, request: request.to_owned(), refusal });
    }
    if is_taken_for_path(request, status) {
        error_outside(content, ctx);
        return;
    }
    if status >= 400 {
        judge_error(route, status, response, content, sessions, ctx);
        return;
    }
    let area = area(route.endpoint);
    let expected_status = match route.endpoint {
        Endpoint::CreateSession => 201,
        Endpoint::SubmitPrompt => 202,
        Endpoint::Events | Endpoint::Socket => return,
        _ => 200,
    };
    let fault = ViolationDetail::new("a response has another status than the endpoint")
        .expected(expected_status)
        .actual(status)
        .in_status();
    ctx.check(&format!("{area}status"), (status != expected_status).then_some(fault));
    if exchange.own.must_refuse.is_some() {
        return;
    }
    let Some(json) = json_of(response, content, ctx) else { return };
    let object = if matches!(area, "list/") { "list/object".to_owned() } else { format!("{area}object") };
    let object = match route.endpoint {
        Endpoint::ListProfiles | Endpoint::ListCollections | Endpoint::ListAgents => format!("{area}list"),
        _ => object,
    };
    let fault = ViolationDetail::new("a response is no object").at("").actual(json.clone());
    ctx.check(&object, (!json.is_object()).then_some(fault));
    let Some(members) = json.as_object() else { return };
    messages::judge_body(route, exchange, BodyObject { members, pointer: "" }, ctx);
    sessions.note_response(route, exchange, members, ctx);
}

/// Judges a whole response to a request that was wrong on purpose, and sound as HTTP: an error has its format all the
/// same.
pub fn judge_deliberate(
    exchange: &Exchange,
    content: &Content<'_>,
    sessions: &mut Sessions,
    ctx: &mut RuleContext<'_>,
) {
    let (Some(request), Some(response)) = (&exchange.request, &exchange.response) else { return };
    let Some(status) = response.status().filter(|status| !FROM_INTERMEDIARIES.contains(status)) else { return };
    if status < 400 {
        if status < 300 && request.method() != "HEAD" {
            error_as_success(status, content, ctx);
        }
        return;
    }
    match &exchange.own.route {
        _ if request.method() == "HEAD" => {}
        // Whether an encoded slash parts segments is the router's choice: the path may be that of no endpoint.
        Some(Route { name: Some(name), .. }) if name.contains('/') => {}
        Some(_) if is_taken_for_path(request, status) => error_outside(content, ctx),
        Some(route) => judge_error(route, status, response, content, sessions, ctx),
        None if matches!(status, 404 | 405) => error_outside(content, ctx),
        None => {}
    }
}

/// Whether a server took a target that is a whole URI for a path, and found no endpoint there.
fn is_taken_for_path(request: &HttpRequest, status: u16) -> bool {
    status == 404 && !request.target().starts_with('/')
}

/// Judges a response of an endpoint that is an error.
fn judge_error(
    route: &Route,
    status: u16,
    head: &HttpResponse,
    content: &Content<'_>,
    sessions: &mut Sessions,
    ctx: &mut RuleContext<'_>,
) {
    if json_of(head, content, ctx).is_some() {
        let session = route.name.as_deref().and_then(|id| sessions.session(id));
        let stopped = session.is_some_and(|session| session.stopped.is_some());
        judge_error_body(route, status, stopped, content, ctx);
    }
}

/// What the slugs of an endpoint begin with.
fn area(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::CreateSession => "create/",
        Endpoint::SubmitPrompt => "prompt/",
        Endpoint::GetSession => "status/",
        Endpoint::SubmitApproval => "approval/",
        Endpoint::DeleteSession => "stop/",
        Endpoint::ListSessions => "list/",
        Endpoint::ListProfiles => "profiles/",
        Endpoint::GetProfile => "profiles/detail-",
        Endpoint::ListCollections => "collections/",
        Endpoint::ListAgents => "agents/",
        Endpoint::Health => "health/",
        Endpoint::Info => "info/",
        Endpoint::Events | Endpoint::Socket => "stream/",
    }
}

/// The capability that an endpoint is all of, and its method and path.
fn capability(endpoint: Endpoint) -> Option<(&'static str, &'static str)> {
    match endpoint {
        Endpoint::ListProfiles => Some(("profiles", "GET /profiles")),
        Endpoint::ListCollections => Some(("collections", "GET /collections")),
        Endpoint::ListAgents => Some(("agents", "GET /agents")),
        _ => None,
    }
}

/// A request that has to be refused.
fn judge_must_refuse(short: &str, route: &Route, status: u16, ctx: &mut RuleContext<'_>) {
    // That is judged as the status of whatever does not validate.
    if status == 422 {
        return;
    }
    let fine = match status {
        400 => true,
        401 => route.endpoint == Endpoint::CreateSession,
        // The session may be looked for first.
        404 | 409 => route.name.is_some(),
        _ => FROM_INTERMEDIARIES.contains(&status),
    };
    let fault =
        ViolationDetail::new("a body that does not fit is not refused as it should be").expected(400).actual(status);
    let fault = fault.in_status();
    ctx.check(short, (!fine).then_some(fault));
}

/// The JSON of a response, judged for being that.
fn json_of<'c>(head: &HttpResponse, content: &'c Content<'_>, ctx: &mut RuleContext<'_>) -> Option<&'c Value> {
    if let Content::Coded = content {
        let broken = !heads::may_decode(head);
        ctx.check_if("http/encoding", broken, || "the body does not decode by its content codings".to_owned());
        return None;
    }
    if let Content::TooManyValues = content {
        return None;
    }
    if heads::is_coded(head) {
        ctx.check("http/encoding", None);
    }
    // What has no content has no JSON either (RFC 9110 sections 15.3.5 and 15.3.6).
    if matches!(content, Content::Empty) && matches!(head.status(), Some(204 | 205)) {
        return None;
    }
    if heads::response_counts_characters(head, content, ctx) {
        return None;
    }
    let binary = matches!(content, Content::Binary(_));
    ctx.check_if("http/utf-8", binary, || "the body of a response is no UTF-8".to_owned());
    if binary {
        return None;
    }
    let marked = matches!(content, Content::Json { marked: true, .. });
    ctx.check_if("http/no-bom", marked, || "the body of a response begins with a byte order mark".to_owned());
    let json = content.json();
    let fault = ViolationDetail::new("the body of a response is no JSON");
    let fault = match content {
        Content::Text(text) => fault.actual(text.chars().take(200).collect::<String>()),
        _ => fault,
    };
    ctx.check("http/json", json.is_none().then_some(fault));
    if content.is_lossy() {
        ctx.note("http/json", LOSSY);
    }
    if json.is_some() {
        heads::response_type(head, ctx);
    }
    json
}

/// Statuses that HTTP has for what the document does not speak of, so that none of its codes belongs to them.
const WITHOUT_CODE: &[u16] = &[405, 406, 410, 411, 412, 413, 414, 415, 416, 417, 421, 426, 428, 431, 501, 504, 505];

/// Judges the response of an endpoint with a status from 400 to 599. `stopped`: it is about a session that was stopped,
/// for which there is no code.
fn judge_error_body(route: &Route, status: u16, stopped: bool, content: &Content<'_>, ctx: &mut RuleContext<'_>) {
    let json = content.json();
    let error = json.and_then(|json| json.get("error")).and_then(Value::as_object);
    let fault = || {
        let fault = ViolationDetail::new("an error has another format than the document's").at("/error");
        let fault = fault.expected(serde_json::json!({"error": {"code": "…", "message": "…", "details": {}}}));
        json.map_or(fault.clone(), |json| fault.actual(json.clone()))
    };
    ctx.check("errors/format", error.is_none().then(fault));
    let code = error.and_then(|error| error.get("code")).and_then(Value::as_str);
    if status == 422 && code.is_none_or(|code| CODES.iter().all(|(name, ..)| *name != code)) {
        let fault =
            ViolationDetail::new("what does not validate is refused with another status").expected(400).actual(status);
        ctx.check("errors/invalid-request", Some(fault.in_status()));
    }
    let Some(members) = error else { return };
    let error = BodyObject { members, pointer: "/error" };
    ERROR.check(error, ctx);
    let Some(code) = error.text("code") else { return };
    let known = CODES.iter().find(|(name, ..)| *name == code);
    let of_collection = matches!(route.endpoint, Endpoint::ListProfiles | Endpoint::ListAgents) && status == 404;
    // The table has no code for a collection that does not exist: that of invalid requests is as good as any other.
    let of_collection = of_collection && known.is_none_or(|(name, ..)| *name == "INVALID_REQUEST");
    if WITHOUT_CODE.contains(&status) || of_collection || known.is_none() && stopped {
        ctx.note(
            "errors/code-known",
            format!("An error for which there is no code has the status {status} and `{code}`"),
        );
        return;
    }
    let fault =
        ViolationDetail::new("an error has a code that the document does not know").at("/error/code").actual(code);
    ctx.check("errors/code-known", known.is_none().then_some(fault));
    let Some((_, expected_status, short)) = known else { return };
    let deciding = route.endpoint == Endpoint::SubmitApproval;
    let other = match code {
        // The description of the endpoint has 400.
        "PROFILE_NOT_FOUND" => route.endpoint == Endpoint::CreateSession && status == 400,
        // No code is there for a decision that comes again, or too late.
        _ => deciding && status == 409,
    };
    let fault = ViolationDetail::new(format!("the code `{code}` comes with another status"))
        .expected(*expected_status)
        .actual(status);
    let fault = fault.in_status();
    ctx.check(short, (status != *expected_status && !other).then_some(fault));
    if deciding && matches!(status, 408 | 409) {
        let text = format!("A decision that came too late, or again, is refused with the status {status} and `{code}`");
        ctx.note("errors/approval-timeout", text);
    }
    if route.endpoint == Endpoint::CreateSession && code == "PROFILE_NOT_FOUND" {
        ctx.note(
            "errors/profile-not-found",
            format!("A profile that does not exist is refused with the status {status}"),
        );
    }
}

/// Judges the response of an endpoint with a status that is none of an error, by whether its body is an error. Gives
/// whether it is.
fn error_as_success(status: u16, content: &Content<'_>, ctx: &mut RuleContext<'_>) -> bool {
    // A session in the status `error` may say beside its other members what went wrong.
    let alone = content.json().and_then(Value::as_object).filter(|members| members.len() == 1);
    let is_error = alone.and_then(|members| members.get("error")).and_then(Value::as_object);
    let is_error = is_error.is_some_and(|error| error.contains_key("code") || error.contains_key("message"));
    let fault = || {
        let fault = ViolationDetail::new("an error comes with a status that is none of errors").expected("400 to 599");
        fault.actual(status).in_status()
    };
    ctx.check("errors/status", is_error.then(fault));
    is_error
}

/// Judges the format of an error where there is no endpoint.
fn error_outside(content: &Content<'_>, ctx: &mut RuleContext<'_>) {
    let format = content.json().and_then(|json| json.get("error")).is_some_and(Value::is_object);
    let fault =
        ViolationDetail::new("an error outside the endpoints has another format than the document's").at("/error");
    ctx.check("errors/outside", (!format).then_some(fault));
}

/// Whether a message is in the format of an error.
pub fn is_error(message: &Value) -> bool {
    message.get("error").is_some_and(Value::is_object)
}
