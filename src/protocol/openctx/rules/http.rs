//! Heads: what OpenCtx asks of them beyond HTTP.

use crate::protocol::Fault;
use crate::protocol::http::book::Bench;
use crate::protocol::http::heads;
use crate::trace::{HttpRequest, HttpResponse};

/// Judges the head of a request. `diverted` says that a redirect may have turned a POST into a GET.
pub fn request(head: &HttpRequest, diverted: bool, bench: &mut Bench<'_>) {
    heads::request(head, bench);
    // A browser asks first whether it may.
    let preflight = head.method() == "OPTIONS" && head.header("access-control-request-method").next().is_some();
    let excused = preflight || diverted && head.method() == "GET";
    if !excused {
        let fault = Fault::new("a request is not sent by POST").expected("POST").actual(head.method());
        bench.hold("http/client-post", (head.method() != "POST").then_some(fault));
    }
    if head.method() == "POST" {
        heads::request_body(head, bench);
    }
}

/// Judges the head of an answer that is not interim.
pub fn response(request: Option<&HttpRequest>, head: &HttpResponse, bench: &mut Bench<'_>) {
    heads::response(request, head, bench);
    let posted = request.is_some_and(|request| request.method() == "POST");
    match head.status() {
        Some(status @ (301..=303)) if posted => {
            let fault = Fault::new(format!("the redirect {status} makes clients go on with a GET"));
            bench.hold("http/redirect", Some(fault.expected("307 or 308").actual(status)));
        }
        Some(status @ (307 | 308)) => {
            let lost = head.header("location").next().is_none_or(str::is_empty);
            bench.hold_if("http/redirect", lost, || format!("the redirect {status} has no `Location`"));
            bench.note("http/redirect", format!("Clients are sent elsewhere with the status {status}"));
        }
        _ => {}
    }
}

/// Judges the answer to a request by another method.
pub fn other_method(request: &HttpRequest, head: &HttpResponse, bench: &mut Bench<'_>) {
    if matches!(request.method(), "" | "POST" | "OPTIONS" | "HEAD") {
        return;
    }
    let Some(status) = head.status() else { return };
    let fault = Fault::new(format!("a request by {} is not refused", request.method()));
    let fault = fault.expected("a status from 400 to 599").actual(status);
    bench.hold("http/method-not-allowed", (!(400..=599).contains(&status)).then_some(fault));
}
