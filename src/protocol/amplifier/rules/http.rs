//! Heads: what Amplifier asks of them beyond HTTP.

use crate::protocol::ViolationDetail;
use crate::protocol::amplifier::routes::{Endpoint, Route};
use crate::protocol::http::heads;
use crate::protocol::http::requirement_index::RuleContext;
use crate::trace::{HttpRequest, HttpResponse};

/// Judges the head of a request.
pub fn request(head: &HttpRequest, route: Option<&Route>, ctx: &mut RuleContext<'_>) {
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
        let told: Vec<&str> = head.header("cache-control").collect();
        let fresh = told.iter().any(|line| line.to_ascii_lowercase().contains("no-cache"));
        let fault =
            ViolationDetail::new("a subscription may be answered from a cache").expected("Cache-Control: no-cache");
        let fault = if told.is_empty() { fault } else { fault.actual(format!("Cache-Control: {}", told.join(", "))) };
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

/// Judges the head of an answer that is not interim.
pub fn response(request: Option<&HttpRequest>, known: bool, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
    heads::response(request, head, ctx);
    if known {
        let redirects = head.status().is_some_and(|status| (300..400).contains(&status) && status != 304);
        let fault = ViolationDetail::new("a request for an endpoint is redirected").actual(head.start.clone());
        ctx.check("http/no-redirect", redirects.then_some(fault));
    }
}

/// Judges the answer to what is no endpoint.
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
