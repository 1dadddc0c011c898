//! Heads: what Amplifier asks of them beyond HTTP.

use crate::protocol::Fault;
use crate::protocol::amplifier::routes::{Endpoint, Route};
use crate::protocol::http::book::Bench;
use crate::protocol::http::heads;
use crate::trace::{HttpRequest, HttpResponse};

/// Judges the head of a request.
pub fn request(head: &HttpRequest, route: Option<&Route>, bench: &mut Bench<'_>) {
    heads::request(head, bench);
    // A browser asks first whether it may.
    if !matches!(head.method(), "OPTIONS" | "HEAD") {
        let fault = Fault::new("a request goes to no endpoint").actual(head.start.clone());
        bench.hold("http/client-endpoint", route.is_none().then_some(fault));
    }
    let Some(route) = route else { return };
    if route.endpoint.has_body() {
        heads::request_body(head, bench);
    }
    if route.endpoint == Endpoint::Events {
        let accepts = head.header("accept").any(|line| line.to_ascii_lowercase().contains("text/event-stream"));
        let fault = Fault::new("a subscription does not accept event streams").expected("Accept: text/event-stream");
        bench.hold("stream/client-accept", (!accepts).then_some(fault));
        let told: Vec<&str> = head.header("cache-control").collect();
        let fresh = told.iter().any(|line| line.to_ascii_lowercase().contains("no-cache"));
        let fault = Fault::new("a subscription may be answered from a cache").expected("Cache-Control: no-cache");
        let fault = if told.is_empty() { fault } else { fault.actual(format!("Cache-Control: {}", told.join(", "))) };
        bench.hold("stream/client-cache-control", (!fresh).then_some(fault));
    }
    if route.endpoint == Endpoint::ListSessions {
        if let Some(limit) = route.param("limit") {
            let fault = Fault::new("the `limit` that is asked for is no integer").actual(limit);
            bench.hold("list/client-limit", limit.parse::<i64>().is_err().then_some(fault));
        }
        if let Some(status) = route.param("status") {
            let known = crate::protocol::amplifier::STATUSES.contains(&status);
            let fault = Fault::new("the `status` that is asked for does not exist").actual(status);
            bench.hold("list/client-status-known", (!known).then_some(fault));
        }
    }
}

/// Judges the head of an answer that is not interim.
pub fn response(request: Option<&HttpRequest>, known: bool, head: &HttpResponse, bench: &mut Bench<'_>) {
    heads::response(request, head, bench);
    if known {
        let redirects = head.status().is_some_and(|status| (300..400).contains(&status) && status != 304);
        let fault = Fault::new("a request for an endpoint is redirected").actual(head.start.clone());
        bench.hold("http/no-redirect", redirects.then_some(fault));
    }
}

/// Judges the answer to what is no endpoint.
pub fn outside(request: &HttpRequest, head: &HttpResponse, bench: &mut Bench<'_>) {
    if matches!(request.method(), "" | "OPTIONS" | "HEAD") {
        return;
    }
    let Some(status) = head.status() else { return };
    let path = request.path().trim_end_matches('/');
    // What servers offer beside the interface is theirs.
    let other_method = ["GET", "POST", "DELETE"].iter().any(|method| Route::of(method, path).is_some());
    if other_method && request.method() != "GET" {
        let fault = Fault::new(format!("a request for an endpoint by {} is not refused", request.method()));
        let fault = fault.expected("the status 405, 404 or 501").actual(status);
        bench.hold("http/method-not-allowed", (!matches!(status, 404 | 405 | 501)).then_some(fault));
    } else if status >= 400 {
        let fault = Fault::new("a request for what is no endpoint is refused by another status than 404");
        bench.hold("http/unknown-path", (!matches!(status, 404 | 405)).then(|| fault.expected(404).actual(status)));
    }
}
