//! Heads: of requests and of responses.

use super::content::Content;
use super::rule_context::RuleContext;
use crate::protocol::ViolationDetail;
use crate::trace::{HttpRequest, HttpResponse, Payload, trim_field};
use crate::uri;

/// Judges the head of a request, whatever it asks for.
pub fn request(head: &HttpRequest, ctx: &mut RuleContext<'_>) {
    let words: Vec<&str> = head.start.split(' ').collect();
    let sound = matches!(words[..], [method, target, "HTTP/1.1" | "HTTP/1.0"]
        if is_token(method) && !target.is_empty() && target.bytes().all(|b| b.is_ascii_graphic()));
    let names = are_fields(&head.headers, head.raw.as_ref());
    let fault = ViolationDetail::new("the head of a request is not valid").actual(head.start.clone());
    ctx.check("http/client-valid-head", (!sound || !names).then_some(fault));
    if words.last() == Some(&"HTTP/1.1") {
        let hosts: Vec<&str> = head.header("host").collect();
        let fault = match hosts[..] {
            [host] => (!uri::is_host(host)).then(|| "the `Host` of a request is no host".to_owned()),
            _ => Some(format!("a request has {} lines `Host`", hosts.len())),
        };
        let fault = fault.map(|what| ViolationDetail::new(what).actual(hosts.join("\n")));
        ctx.check("http/client-host", fault);
    }
    if let Some(what) = framing_fault(&head.headers) {
        ctx.check("http/client-length", Some(ViolationDetail::new(format!("a request has {what}"))));
    }
}

/// Whether the head of a request is one that every server can read, and says no more than where the request goes and how
/// long it is: whatever it asks for, HTTP holds for its response.
pub fn is_plain(head: &HttpRequest) -> bool {
    let words: Vec<&str> = head.start.split(' ').collect();
    let line = matches!(words[..], [method, target, "HTTP/1.1"]
        if is_token(method) && !target.is_empty() && target.bytes().all(|b| b.is_ascii_graphic()));
    let count = |name: &str| head.header(name).count();
    let one_length = count("content-length") + count("transfer-encoding") <= 1;
    let chunked = head.header("transfer-encoding").all(|coding| coding.eq_ignore_ascii_case("chunked"));
    let special = ["expect", "upgrade", "te", "range"].iter().any(|name| count(name) > 0);
    line && are_fields(&head.headers, head.raw.as_ref()) && count("host") == 1 && one_length && chunked && !special
}

/// Judges what the head of a request that has a body says of it.
pub fn request_body(head: &HttpRequest, ctx: &mut RuleContext<'_>) {
    let fault = ViolationDetail::new("a request's content type is not JSON").expected("application/json");
    let actual = content_type(head.header("content-type")).unwrap_or_default();
    ctx.check("http/client-content-type", (!is_json(&actual)).then(|| fault.actual(actual.clone())));
    let coded = codings(head.header("content-encoding")).next();
    let fault = coded.map(|coding| ViolationDetail::new("the body of a request has a content coding").actual(coding));
    ctx.check("http/client-plain-body", fault);
}

/// Judges the head of a response that is not interim.
pub fn response(request: Option<&HttpRequest>, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
    let names = are_fields(&head.headers, head.raw.as_ref());
    let status = head.status().is_some_and(|status| (200..=599).contains(&status));
    let fault = ViolationDetail::new("the head of a response is not valid").actual(head.start.clone());
    ctx.check("http/valid-head", (!status || !names).then_some(fault));
    if let Some(what) = framing_fault(&head.headers) {
        ctx.check("http/length", Some(ViolationDetail::new(format!("a response has {what}"))));
    }
    if let Some(request) = request {
        offered(request, head, ctx);
        if request.start.ends_with(" HTTP/1.0") {
            let what = "the response to a request of HTTP/1.0 has a transfer coding, which its client does not know";
            let coding = head.header("transfer-encoding").next();
            ctx.check("http/length-1-0", coding.map(|coding| ViolationDetail::new(what).actual(coding)));
        }
    }
}

/// Judges the content type of a response that has content.
pub fn response_type(head: &HttpResponse, ctx: &mut RuleContext<'_>) {
    let actual = content_type(head.header("content-type")).unwrap_or_default();
    let fault = ViolationDetail::new("a response's content type is not JSON").expected("application/json");
    ctx.check("http/content-type", (!is_json(&actual)).then(|| fault.actual(actual.clone())));
}

/// Judges a request by whether its length counts characters, and not bytes. Then nothing else of its body can be judged.
pub fn counts_characters(content: &Content<'_>, ctx: &mut RuleContext<'_>) -> bool {
    let counts = content.is_counted_in_characters();
    let fault = || {
        let what = "the body of a request ends before its JSON does, which has characters of several bytes";
        ViolationDetail::new(what).expected("a length in bytes")
    };
    ctx.check("http/client-length", counts.then(fault));
    counts
}

/// Judges a response by the same.
pub fn response_counts_characters(head: &HttpResponse, content: &Content<'_>, ctx: &mut RuleContext<'_>) -> bool {
    let counts = head.header("content-length").next().is_some() && content.is_counted_in_characters();
    if counts {
        let what = "the body of a response ends before its JSON does, which has characters of several bytes";
        ctx.check("http/length", Some(ViolationDetail::new(what).expected("a length in bytes")));
    }
    counts
}

/// Whether the body of a response has a content coding.
pub fn is_coded(head: &HttpResponse) -> bool {
    codings(head.header("content-encoding")).next().is_some()
}

/// Content codings that are undone here.
const UNDONE: &[&str] = &["gzip", "x-gzip", "deflate"];

/// The other ones that are registered (IANA, HTTP Content Coding Registry).
const NOT_UNDONE: &[&str] = &["aes128gcm", "br", "compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "zstd"];

/// Whether the body of a response, which was not decoded, may be right all the same: somebody else may know its
/// codings.
pub fn may_decode(head: &HttpResponse) -> bool {
    let codings: Vec<String> = codings(head.header("content-encoding")).collect();
    let others = codings.iter().filter(|coding| !UNDONE.contains(&coding.as_str()));
    let registered = others.clone().all(|coding| NOT_UNDONE.contains(&coding.as_str()));
    codings.is_empty() || registered && others.count() > 0
}

/// Judges the content codings of a response by those that the request allows (RFC 9110 section 12.5.3).
fn offered(request: &HttpRequest, head: &HttpResponse, ctx: &mut RuleContext<'_>) {
    if request.header("accept-encoding").next().is_none() {
        return;
    }
    let allowed: Vec<(String, bool)> = request
        .header("accept-encoding")
        .flat_map(|line| line.split(','))
        .map(|entry| {
            let mut parts = entry.split(';').map(|part| trim_field(part).to_ascii_lowercase());
            let coding = parts.next().unwrap_or_default();
            let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f64>().ok());
            (coding, quality != Some(0.0))
        })
        .collect();
    for coding in codings(head.header("content-encoding")) {
        let entry = allowed.iter().find(|(name, _)| name.trim_start_matches("x-") == coding.trim_start_matches("x-"));
        let entry = entry.or_else(|| allowed.iter().find(|(name, _)| name == "*"));
        let refused = !entry.is_some_and(|(_, wanted)| *wanted);
        let fault =
            ViolationDetail::new("a response has a content coding that the request does not allow").actual(coding);
        ctx.check("http/encoding-offered", refused.then_some(fault));
    }
}

/// The content codings of a message, in lower case; `identity` is none.
fn codings<'h>(lines: impl Iterator<Item = &'h str>) -> impl Iterator<Item = String> {
    let words = lines.flat_map(|line| line.split(',')).map(|word| trim_field(word).to_ascii_lowercase());
    words.filter(|word| !word.is_empty() && word != "identity")
}

/// The media type of a message, in lower case and without its parameters.
fn content_type<'h>(mut lines: impl Iterator<Item = &'h str>) -> Option<String> {
    Some(trim_field(lines.next()?.split(';').next().unwrap_or_default()).to_ascii_lowercase())
}

fn is_json(media_type: &str) -> bool {
    matches!(media_type, "application/json" | "text/json") || media_type.ends_with("+json")
}

/// What makes the length of a body ambiguous, though it can be read: recipients that read it in another way find other
/// messages in it (RFC 9112 sections 6.2 and 6.3).
fn framing_fault(headers: &[(String, String)]) -> Option<&'static str> {
    let values = |name: &str| -> Vec<&str> {
        let named = headers.iter().filter(|(given, _)| given.eq_ignore_ascii_case(name));
        named.flat_map(|(_, value)| value.split(',')).collect()
    };
    let lengths = values("content-length").len();
    if lengths > 1 {
        Some("more than one Content-Length")
    } else if lengths == 1 && !values("transfer-encoding").is_empty() {
        Some("both a Content-Length and a Transfer-Encoding")
    } else {
        None
    }
}

/// Whether header lines are valid. `raw` is the whole head, where it is not just these: there a line without a colon is
/// known from a field without a value, and a line feed alone from a line end (RFC 9112 section 2.2).
fn are_fields(headers: &[(String, String)], raw: Option<&Payload>) -> bool {
    let line_ends = raw.is_none_or(|raw| {
        let bytes = raw.as_bytes();
        memchr::memchr_iter(b'\n', bytes).all(|at| at > 0 && bytes[at - 1] == b'\r')
    });
    let colons = raw.is_none_or(|raw| {
        let text = String::from_utf8_lossy(raw.as_bytes());
        let lines = text.split('\n').map(|line| line.trim_end_matches('\r'));
        lines.skip(1).take_while(|line| !line.is_empty()).all(|line| line.contains(':'))
    });
    line_ends && colons && headers.iter().all(|(name, value)| is_token(name) && is_field_value(value))
}

/// A token (RFC 9110 section 5.6.2).
fn is_token(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// A field value (RFC 9110 section 5.5); bytes beyond ASCII are allowed there.
fn is_field_value(value: &str) -> bool {
    !value.chars().any(|c| c.is_ascii_control() && c != '\t')
}
