//! Heads: what OpenCtx asks of them beyond HTTP.

use crate::protocol::ViolationDetail;
use crate::protocol::http::heads;
use crate::protocol::http::requirement_index::RuleContext;
use crate::trace::{HttpRequest, HttpResponse};

/// Judges the head of a request. `diverted` says that a redirect may have turned a POST into a GET.
pub fn request(head: &HttpRequest, diverted: bool, ctx: &mut RuleContext<'_>) {
    heads::request(head, ctx);
    // A browser asks first whether it may.
    let preflight = head.method() == "OPTIONS" && head.header("access-control-request-method").next().is_some();
    let excused = preflight || diverted && head.method() == "GET";
    if !excused {
        let fault = ViolationDetail::new("a request is not sent by POST").expected("POST").actual(head.method());
        ctx.check("http/client-post", (head.method() != "POST").then_some(fault));
    }
    if head.method() == "POST" {
        heads::request_body(head, ctx);
    }
}

/// Judges the head of an answer that is not interim.
pub fn response(request: Option<&HttpRequest>, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
    heads::response(request, head, ctx);
    let posted = request.is_some_and(|request| request.method() == "POST");
    match head.status() {
        Some(status @ (301..=303)) if posted => {
            let fault = ViolationDetail::new(format!("the redirect {status} makes clients go on with a GET"));
            ctx.check("http/redirect", Some(fault.expected("307 or 308").actual(status)));
        }
        Some(status @ (307 | 308)) => {
            let lost = head.header("location").next().is_none_or(str::is_empty);
            ctx.check_if("http/redirect", lost, || format!("the redirect {status} has no `Location`"));
            ctx.note("http/redirect", format!("Clients are sent elsewhere with the status {status}"));
        }
        _ => {}
    }
}

/// Judges the answer to a request by another method.
pub fn other_method(request: &HttpRequest, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
    if matches!(request.method(), "" | "POST" | "OPTIONS" | "HEAD") {
        return;
    }
    let Some(status) = head.status() else { return };
    let fault = ViolationDetail::new(format!("a request by {} is not refused", request.method()));
    let fault = fault.expected("a status from 400 to 599").actual(status);
    ctx.check("http/method-not-allowed", (!(400..=599).contains(&status)).then_some(fault));
}
