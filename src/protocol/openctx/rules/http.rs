//! Heads: of requests and of answers.

use super::book::{Bench, Fault};
use crate::trace::{HttpRequest, HttpResponse, Payload};

/// Judges the head of a request. `diverted` says that a redirect may have turned a POST into a GET.
pub fn request(head: &HttpRequest, diverted: bool, bench: &mut Bench<'_>) {
    let words: Vec<&str> = head.start.split(' ').collect();
    let sound = matches!(words[..], [method, target, "HTTP/1.1" | "HTTP/1.0"]
        if is_token(method) && !target.is_empty() && target.bytes().all(|b| b.is_ascii_graphic()));
    let names = are_fields(&head.headers, head.raw.as_ref());
    let fault = Fault::new("the head of a request is not valid").actual(head.start.clone());
    bench.hold("http/client-valid-head", (!sound || !names).then_some(fault));
    // A browser asks first whether it may.
    let preflight = head.method() == "OPTIONS" && head.header("access-control-request-method").next().is_some();
    let excused = preflight || diverted && head.method() == "GET";
    if !excused {
        let fault = Fault::new("a request is not sent by POST").expected("POST").actual(head.method());
        bench.hold("http/client-post", (head.method() != "POST").then_some(fault));
    }
    if words.last() == Some(&"HTTP/1.1") {
        let hosts = head.header("host").count();
        bench.hold_if("http/client-host", hosts != 1, || format!("a request has {hosts} lines `Host`"));
    }
    if head.method() == "POST" {
        let fault = Fault::new("a request's content type is not JSON").expected("application/json");
        let actual = content_type(head.header("content-type")).unwrap_or_default();
        bench.hold("http/client-content-type", (!is_json(&actual)).then(|| fault.actual(actual.clone())));
        let coded = codings(head.header("content-encoding")).next();
        let fault = coded.map(|coding| Fault::new("the body of a request has a content coding").actual(coding));
        bench.hold("http/client-plain-body", fault);
    }
}

/// Judges the head of an answer that is not interim.
pub fn response(request: Option<&HttpRequest>, head: &HttpResponse, bench: &mut Bench<'_>) {
    let names = are_fields(&head.headers, head.raw.as_ref());
    let status = head.status().is_some_and(|status| (200..=599).contains(&status));
    let fault = Fault::new("the head of an answer is not valid").actual(head.start.clone());
    bench.hold("http/valid-head", (!status || !names).then_some(fault));
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
    if let Some(request) = request {
        offered(request, head, bench);
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

/// Judges the content type of an answer that has content.
pub fn answer_type(head: &HttpResponse, bench: &mut Bench<'_>) {
    let actual = content_type(head.header("content-type")).unwrap_or_default();
    let fault = Fault::new("an answer's content type is not JSON").expected("application/json");
    bench.hold("http/content-type", (!is_json(&actual)).then(|| fault.actual(actual.clone())));
}

/// Whether the body of an answer had a content coding that is known to everybody.
pub fn is_zipped(head: &HttpResponse) -> bool {
    let mut codings = codings(head.header("content-encoding")).peekable();
    codings.peek().is_some() && codings.all(|coding| matches!(coding.as_str(), "gzip" | "x-gzip" | "deflate"))
}

/// Judges the content codings of an answer by those that the request allows (RFC 9110 section 12.5.3).
fn offered(request: &HttpRequest, head: &HttpResponse, bench: &mut Bench<'_>) {
    let allowed: Vec<(String, bool)> = request
        .header("accept-encoding")
        .flat_map(|line| line.split(','))
        .map(|entry| {
            let (coding, parameters) = entry.split_once(';').unwrap_or((entry, ""));
            let quality = parameters.trim().strip_prefix("q=").map(str::trim).and_then(|q| q.parse::<f64>().ok());
            (coding.trim().to_ascii_lowercase(), quality != Some(0.0))
        })
        .collect();
    let named = request.header("accept-encoding").next().is_some();
    for coding in codings(head.header("content-encoding")) {
        let entry = allowed.iter().find(|(name, _)| name.trim_start_matches("x-") == coding.trim_start_matches("x-"));
        let entry = entry.or_else(|| allowed.iter().find(|(name, _)| name == "*"));
        let refused = named && !entry.is_some_and(|(_, wanted)| *wanted);
        let fault = Fault::new("an answer has a content coding that the request does not allow").actual(coding);
        bench.hold("http/encoding-offered", refused.then_some(fault));
    }
}

/// The content codings of a message, in lower case; `identity` is none.
fn codings<'h>(lines: impl Iterator<Item = &'h str>) -> impl Iterator<Item = String> {
    let words = lines.flat_map(|line| line.split(',')).map(|word| word.trim().to_ascii_lowercase());
    words.filter(|word| !word.is_empty() && word != "identity")
}

/// The media type of a message, in lower case and without its parameters.
fn content_type<'h>(mut lines: impl Iterator<Item = &'h str>) -> Option<String> {
    Some(lines.next()?.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

fn is_json(media_type: &str) -> bool {
    matches!(media_type, "application/json" | "text/json") || media_type.ends_with("+json")
}

/// Whether header lines are valid. `raw` is the whole head, where it is not just these: there a line without a colon is
/// known from a field without a value.
fn are_fields(headers: &[(String, String)], raw: Option<&Payload>) -> bool {
    let colons = raw.is_none_or(|raw| {
        let text = String::from_utf8_lossy(raw.as_bytes());
        let lines = text.split('\n').map(|line| line.trim_end_matches('\r'));
        lines.skip(1).take_while(|line| !line.is_empty()).all(|line| line.contains(':'))
    });
    colons && headers.iter().all(|(name, value)| is_token(name) && is_field_value(value))
}

/// A token (RFC 9110 section 5.6.2).
fn is_token(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// A field value (RFC 9110 section 5.5); bytes beyond ASCII are allowed there.
fn is_field_value(value: &str) -> bool {
    !value.chars().any(|c| c.is_ascii_control() && c != '\t')
}
