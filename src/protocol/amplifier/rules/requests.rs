//! Requests: their heads, what clients post, and what servers have to refuse of it; and the heads of responses.

use serde_json::Value;

use crate::protocol::amplifier::endpoints::{Endpoint, Route};
use crate::protocol::http::content::{Content, LOSSY};
use crate::protocol::http::heads;
use crate::protocol::http::rule_context::RuleContext;
use crate::protocol::{Judgements, ViolationDetail};
use crate::trace::{End, HttpRequest, HttpResponse};

use super::INDEX;
use crate::protocol::amplifier::bodies;
use crate::protocol::amplifier::members::{BodyObject, STRING};
use crate::protocol::amplifier::objects::judge_others_than;

/// Judges the body of a request. Gives its JSON, and the requirement by which a server has to refuse it.
pub fn judge(
    endpoint: Endpoint,
    content: &Content<'_>,
    ctx: &mut RuleContext<'_>,
) -> (Option<Value>, Option<&'static str>) {
    let area = match endpoint {
        Endpoint::CreateSession => 0,
        Endpoint::SubmitPrompt => 1,
        Endpoint::SubmitApproval => 2,
        _ => return (None, None),
    };
    let bad_json = ["create/bad-json", "prompt/bad-json", "approval/bad-json"][area];
    if heads::counts_characters(content, ctx) {
        return (None, Some(bad_json));
    }
    let json = match content {
        // What is coded, or too much, is left to the servers.
        Content::Coded | Content::TooManyValues => return (None, None),
        Content::Json { json, .. } => Some(json.as_ref()),
        _ => None,
    };
    let binary = matches!(content, Content::Binary(_));
    ctx.check_if("http/client-utf-8", binary, || "the body of a request is no UTF-8".to_owned());
    let marked = matches!(content, Content::Json { marked: true, .. });
    ctx.check_if("http/client-no-bom", marked, || "the body of a request begins with a byte order mark".to_owned());
    let object = json.and_then(Value::as_object);
    let fault = ViolationDetail::new("the body of a request is no JSON object");
    ctx.check("http/client-json", object.is_none().then_some(fault));
    if content.is_lossy() {
        ctx.note("http/client-json", LOSSY);
    }
    if json.is_none() {
        return (None, Some(bad_json));
    }
    let Some(members) = object else {
        return (None, Some(["create/bad-body", "prompt/prompt-missing", "approval/decision-missing"][area]));
    };
    let body = BodyObject { members, pointer: "" };
    if let Some(kind) = bodies::find(endpoint, End::Client) {
        kind.check(body, ctx);
    }
    let must_refuse = match endpoint {
        Endpoint::CreateSession => refusal_of_session(body),
        Endpoint::SubmitPrompt => refusal_of_prompt(body),
        _ => refusal_of_decision(body),
    };
    // Whether a server takes what it may not be able to hold is left to it.
    (json.cloned(), must_refuse.filter(|_| !content.is_lossy()))
}

/// The requirement by which a server has to refuse what asks for a session.
fn refusal_of_session(body: BodyObject<'_>) -> Option<&'static str> {
    let context = body.members.get("context");
    match body.members.get("profile") {
        None => Some("create/profile-missing"),
        Some(profile) if !profile.is_string() => Some("create/profile-type"),
        _ if context.is_some_and(|c| !c.get("workspace_root").is_some_and(Value::is_string) && !c.is_null()) => {
            Some("create/context-invalid")
        }
        _ => None,
    }
}

/// The requirement by which a server has to refuse a prompt.
fn refusal_of_prompt(body: BodyObject<'_>) -> Option<&'static str> {
    match body.members.get("prompt") {
        None => Some("prompt/prompt-missing"),
        Some(prompt) if !prompt.is_string() => Some("prompt/prompt-type"),
        _ if body.members.get("context_update").is_some_and(|u| !u.is_object() && !u.is_null()) => {
            Some("prompt/context-update-invalid")
        }
        _ => None,
    }
}

/// The requirement by which a server has to refuse a decision.
fn refusal_of_decision(body: BodyObject<'_>) -> Option<&'static str> {
    match body.members.get("decision") {
        None => Some("approval/decision-missing"),
        Some(decision) if !decision.is_string() => Some("approval/decision-type"),
        Some(_) => None,
    }
}

/// Judges a message of a client over a WebSocket, which came as text or not.
pub fn control(content: &Content<'_>, text: bool, ctx: &mut RuleContext<'_>) {
    if let Content::TooManyValues = content {
        return;
    }
    let members = content.json().and_then(Value::as_object).filter(|_| text);
    let fault = ViolationDetail::new("a control message is no text with a JSON object");
    ctx.check("websocket/client-text", members.is_none().then_some(fault));
    let Some(members) = members else { return };
    let message = BodyObject { members, pointer: "" };
    let (key, short) = match message.text("action") {
        Some("submit_prompt") => ("prompt", "websocket/client-submit-prompt"),
        Some("submit_approval") => ("decision", "websocket/client-submit-approval"),
        Some("stop") => ("action", "websocket/client-action"),
        _ => {
            let fault = ViolationDetail::new("a control message has no action that exists").actual(members.clone());
            ctx.check("websocket/client-action", Some(fault));
            return;
        }
    };
    ctx.check("websocket/client-action", None);
    message.check(ctx, &[(key, STRING, true, short)]);
    judge_others_than(message, &["action", key], "websocket/client-extra", ctx);
}

/// Reads the body of a request that is wrong on purpose, without judging it.
pub fn read_unjudged(endpoint: Endpoint, content: &Content<'_>) -> (Option<Value>, Option<&'static str>) {
    judge(endpoint, content, &mut INDEX.ctx(&mut Judgements::default(), 0))
}

/// Judges the head of a request.
pub fn request_head(head: &HttpRequest, route: Option<&Route>, ctx: &mut RuleContext<'_>) {
    heads::request(head, ctx);
    // A browser asks first whether it may.
    if !matches!(head.method(), "OPTIONS" | "HEAD") {
        let fault = ViolationDetail::new("a request goes to no endpoint").actual(head.start.clone());
        ctx.check("http/client-endpoint", route.is_none().then_some(fault));
    }
    let Some(route) = route else { return };
    if route.endpoint.has_body() {
        heads::request_body(head, ctx);
    }
    if route.endpoint == Endpoint::Events {
        let accepts = head.header("accept").any(|line| line.to_ascii_lowercase().contains("text/event-stream"));
        let fault =
            ViolationDetail::new("a subscription does not accept event streams").expected("Accept: text/event-stream");
        ctx.check("stream/client-accept", (!accepts).then_some(fault));
        let cache_control: Vec<&str> = head.header("cache-control").collect();
        let fresh = cache_control.iter().any(|line| line.to_ascii_lowercase().contains("no-cache"));
        let fault =
            ViolationDetail::new("a subscription may be answered from a cache").expected("Cache-Control: no-cache");
        let fault = if cache_control.is_empty() {
            fault
        } else {
            fault.actual(format!("Cache-Control: {}", cache_control.join(", ")))
        };
        ctx.check("stream/client-cache-control", (!fresh).then_some(fault));
    }
    if route.endpoint == Endpoint::ListSessions {
        if let Some(limit) = route.param("limit") {
            let fault = ViolationDetail::new("the `limit` that is asked for is no integer").actual(limit);
            ctx.check("list/client-limit", limit.parse::<i64>().is_err().then_some(fault));
        }
        if let Some(status) = route.param("status") {
            let known = crate::protocol::amplifier::STATUSES.contains(&status);
            let fault = ViolationDetail::new("the `status` that is asked for does not exist").actual(status);
            ctx.check("list/client-status-known", (!known).then_some(fault));
        }
    }
}

/// Judges the head of a response that is not interim.
pub fn response_head(request: Option<&HttpRequest>, known: bool, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
    heads::response(request, head, ctx);
    if known {
        let redirects = head.status().is_some_and(|status| (300..400).contains(&status) && status != 304);
        let fault = ViolationDetail::new("a request for an endpoint is redirected").actual(head.start.clone());
        ctx.check("http/no-redirect", redirects.then_some(fault));
    }
}

/// Judges the response to what is no endpoint.
pub fn outside(request: &HttpRequest, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
    if matches!(request.method(), "" | "OPTIONS" | "HEAD") {
        return;
    }
    let Some(status) = head.status() else { return };
    let path = request.path().trim_end_matches('/');
    // What servers offer beside the interface is theirs.
    let other_method = ["GET", "POST", "DELETE"].iter().any(|method| Route::of(method, path).is_some());
    if other_method && request.method() != "GET" {
        let fault = ViolationDetail::new(format!("a request for an endpoint by {} is not refused", request.method()));
        let fault = fault.expected("the status 405, 404 or 501").actual(status);
        ctx.check("http/method-not-allowed", (!matches!(status, 404 | 405 | 501)).then_some(fault));
    } else if status >= 400 {
        let fault = ViolationDetail::new("a request for what is no endpoint is refused by another status than 404");
        ctx.check("http/unknown-path", (!matches!(status, 404 | 405)).then(|| fault.expected(404).actual(status)));
    }
}
