//! Responses: one outcome in the protocol's envelope, with a status whose body clients read.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::protocol::ViolationDetail;
use crate::protocol::http::content::{Content, LOSSY};
use crate::protocol::http::exchanges::Exchange;
use crate::protocol::http::heads;
use crate::protocol::http::rule_context::RuleContext;
use crate::trace::{HttpResponse, read_json};

use super::members::{BodyObject, INTEGER, STRING, is_uri};
use super::requests::{METHODS, ParsedRequest, Request};
use super::results;

/// Statuses that whoever stands before a provider may send in its place.
const FROM_OTHERS: &[u16] = &[401, 407, 408, 411, 413, 414, 429, 431, 502, 503, 504];

/// Of these the ones that say nothing of the request: they keep what was asked for from being judged. A provider may have
/// a limit of its own for the length of a request, or for the head.
const FOR_THE_MOMENT: &[u16] = &[429, 502, 503, 504];

/// Statuses that send clients elsewhere. What they say is judged by their heads.
const REDIRECTS: &[u16] = &[301, 302, 303, 307, 308];

/// Judges a response to a POST request. Gives the result, where there is one.
pub fn judge(
    exchange: &Exchange<Option<ParsedRequest>>,
    asked: &ParsedRequest,
    content: &Content<'_>,
    ctx: &mut RuleContext<'_>,
) -> Option<Value> {
    let status = exchange.response.as_ref()?.status()?;
    if REDIRECTS.contains(&status) {
        return None;
    }
    ctx.check("http/post", None);
    let taken = (200..300).contains(&status);
    let response = content.json().and_then(Value::as_object);
    let failed = !taken || response.is_some_and(|response| response.get("error").is_some_and(|error| !error.is_null()));
    match asked {
        ParsedRequest::Unknown => {}
        ParsedRequest::Malformed => {
            check_refused("envelope/malformed", "a body that is no JSON", failed && status < 500, ctx)
        }
        ParsedRequest::NoRequest => {
            check_refused("envelope/no-request", "JSON that is no request", failed && status < 500, ctx)
        }
        ParsedRequest::Request(request) if !METHODS.contains(&request.method.as_str()) => {
            check_refused("envelope/unknown-method", "a request for a method that does not exist", failed, ctx);
        }
        ParsedRequest::Request(request) if !request.sound => {
            // Nothing can be missing where there is nothing at all: that is judged by itself.
            if request.has_params {
                let what = "a request with missing or wrong parameters";
                check_refused("envelope/bad-params", what, failed && status < 500, ctx);
            }
        }
        ParsedRequest::Request(request) => {
            if !taken {
                judge_unread(exchange, status, response, ctx);
                return None;
            }
            let outcome = envelope(exchange, content, ctx)?;
            let result = outcome.get("result").filter(|result| !result.is_null());
            if let Some(result) = result {
                ctx.check("http/status-result", None);
                results::judge(request, result, ctx);
            } else {
                ctx.check("http/status-error", None);
            }
            return result.filter(|_| !failed).cloned();
        }
    }
    if taken {
        envelope(exchange, content, ctx);
    }
    None
}

/// Judges the response to a POST request that is wrong on purpose: where it is taken the response is JSON all the same, and
/// an error in it is one; that to a request that can be understood is an object; that to a request for one of the four
/// methods has a result or an error, and a result is one of that method, if the parameters were sound (settings or
/// parameters that nobody knows stood beside them). Any other response may be as it likes.
pub fn judge_deliberate(exchange: &Exchange<Option<ParsedRequest>>, content: &Content<'_>, ctx: &mut RuleContext<'_>) {
    let taken = exchange.response.as_ref().and_then(HttpResponse::status).is_some_and(|s| (200..300).contains(&s));
    let Some(asked) = exchange.own.as_ref().filter(|_| taken && exchange.framed) else { return };
    let Some(json) = body(exchange, content, ctx) else { return };
    let request = asked.request();
    let known = request.is_some_and(|request| METHODS.contains(&request.method.as_str()));
    let members = if request.is_some() { object(&json, ctx) } else { json.as_object() };
    let Some(members) = members else { return };
    if !known && members.get("error").is_none_or(Value::is_null) {
        return;
    }
    outcome(BodyObject { members, pointer: "" }, ctx);
    // What a provider repeats of a wrong URI is no fault of its own. What it gives for a method that it does not offer, if it is
    // no list, is for the scenarios about that.
    let Some(request) = request.filter(|request| known && request.sound) else { return };
    let uri = match request.method.as_str() {
        "annotations" => request.params.get("uri"),
        "items" => request.params.get("mention").and_then(|mention| mention.get("uri")),
        _ => None,
    };
    let sound = uri.and_then(Value::as_str).is_none_or(is_uri);
    let is_told = |result: &&Value| sound && (request.method == "meta" || result.is_array());
    if let Some(result) = members.get("result").filter(is_told) {
        results::judge(request, result, ctx);
    }
}

/// Judges the response to a request that cannot succeed: it has to be an error or a refusal.
fn check_refused(short: &str, what: &str, failed: bool, ctx: &mut RuleContext<'_>) {
    ctx.check_if(short, !failed, || format!("{what} is neither answered with an error nor refused as it should be"));
}

/// A response to a sound request that clients do not look behind.
fn judge_unread(
    exchange: &Exchange<Option<ParsedRequest>>,
    status: u16,
    response: Option<&Map<String, Value>>,
    ctx: &mut RuleContext<'_>,
) {
    let asked = exchange.own.as_ref().and_then(ParsedRequest::request);
    let has = |key: &str| response.and_then(|response| response.get(key)).is_some_and(|value| !value.is_null());
    let fault = |what: &str| {
        let fault =
            ViolationDetail::new(format!("{what} comes with the status {status}, behind which clients do not look"));
        Some(fault.expected("a status from 200 to 299").actual(status))
    };
    if has("result") && !has("error") {
        ctx.check("http/status-result", fault("a result"));
    } else if has("error") && asked.is_some_and(has_flag) {
        // The document has a string there, so that a provider may refuse it.
        ctx.check("mentions/auto-include", fault("a refusal of `autoInclude` as a boolean"));
    } else if let Some(short) = requirement_of_refusal(exchange, status, has("error")) {
        ctx.check(short, fault("the response to a sound request"));
    } else if matches!(status, 400 | 422) && asked.is_some_and(lacks_params) {
        // The document says both that a request may have no parameters, and that these methods have some.
        ctx.check("envelope/without-params", fault("a refusal of a request without parameters"));
    } else if has("error") {
        ctx.check("http/status-error", fault("an error"));
    } else if FROM_OTHERS.contains(&status) {
        let text = format!("A request was refused with the status {status}");
        match FOR_THE_MOMENT.contains(&status) {
            true => ctx.refused("http/status-error", &text),
            false => ctx.note("http/status-error", text),
        }
    } else {
        ctx.check("http/status-error", fault("the response to a sound request"));
    }
}

/// Whether a request has no parameters although its method has some.
fn lacks_params(request: &Request) -> bool {
    !request.has_params && request.method != "meta"
}

/// Whether a request says `autoInclude` by a boolean.
fn has_flag(request: &Request) -> bool {
    request.method == "mentions" && request.params.get("autoInclude").is_some_and(Value::is_boolean)
}

/// The requirement that a status speaks of which refuses a sound request: for its URL or method, or for its content type.
///
/// `error`: whether the response has an error of the protocol, and so does speak of the request.
fn requirement_of_refusal(
    exchange: &Exchange<Option<ParsedRequest>>,
    status: u16,
    error: bool,
) -> Option<&'static str> {
    let first = |name: &'static str| exchange.request.as_ref().and_then(|request| request.header(name).next());
    let charset = || first("content-type").map(|value| value.contains("charset"));
    // A server that knows the names of headers in one case only finds no length in this one.
    let capitals = exchange
        .request
        .as_ref()
        .is_some_and(|request| request.headers.iter().any(|(name, _)| name == "CONTENT-LENGTH"));
    match (status, charset()) {
        (400 | 411, _) if capitals => Some("http/header-case"),
        (400 | 501, _) if !error && first("transfer-encoding").is_some() => Some("http/chunked-request"),
        (404 | 405 | 501, _) if !error => Some("http/post"),
        (415, Some(true)) => Some("http/content-type-charset"),
        (415, Some(false)) => Some("http/content-type-plain"),
        _ => None,
    }
}

/// Judges the body of a response that clients read. Gives its members.
fn envelope<'c>(
    exchange: &Exchange<Option<ParsedRequest>>,
    content: &'c Content<'_>,
    ctx: &mut RuleContext<'_>,
) -> Option<Cow<'c, Map<String, Value>>> {
    let json = body(exchange, content, ctx)?;
    heads::response_type(exchange.response.as_ref()?, ctx);
    object(&json, ctx);
    let members = match json {
        Cow::Borrowed(Value::Object(members)) => Cow::Borrowed(members),
        Cow::Owned(Value::Object(members)) => Cow::Owned(members),
        _ => return None,
    };
    outcome(BodyObject { members: &members, pointer: "" }, ctx);
    Some(members)
}

/// Judges the JSON of a response by its being an object. Gives its members.
fn object<'j>(json: &'j Value, ctx: &mut RuleContext<'_>) -> Option<&'j Map<String, Value>> {
    let fault = ViolationDetail::new("a response is no object").actual(json.clone());
    ctx.check("envelope/object", (!json.is_object()).then_some(fault));
    json.as_object()
}

/// Judges the body of a response by its being JSON. Gives that.
fn body<'c>(
    exchange: &Exchange<Option<ParsedRequest>>,
    content: &'c Content<'_>,
    ctx: &mut RuleContext<'_>,
) -> Option<Cow<'c, Value>> {
    let head = exchange.response.as_ref()?;
    if let Content::Coded = content {
        let broken = !heads::may_decode(head);
        ctx.check_if("http/encoding", broken, || "the body does not decode by its content codings".to_owned());
        return None;
    }
    if let Content::TooManyValues = content {
        return None;
    }
    if head.header("content-encoding").next().is_some() {
        ctx.check("http/encoding", None);
    }
    if heads::response_counts_characters(head, content, ctx) {
        return None;
    }
    json_of(content, ctx)
}

/// The JSON of a body, judged for being that.
fn json_of<'c>(content: &'c Content<'_>, ctx: &mut RuleContext<'_>) -> Option<Cow<'c, Value>> {
    let (json, utf8, marked) = match content {
        Content::Json { json, marked, .. } => (Some(Cow::Borrowed(json.as_ref())), true, *marked),
        // Some other encoding spoils the characters, not the shape.
        Content::Binary(bytes) => {
            (read_json(&String::from_utf8_lossy(bytes)).map(|read| Cow::Owned(read.value)), false, false)
        }
        _ => (None, true, false),
    };
    ctx.check_if("http/utf-8", !utf8, || "the body of a response is no UTF-8".to_owned());
    ctx.check_if("http/no-bom", marked, || "the body of a response begins with a byte order mark".to_owned());
    // What is no UTF-8 need not be reported twice.
    let none = json.is_none() && utf8;
    let fault = ViolationDetail::new("the body of a response is no JSON");
    let fault = match content {
        Content::Text(text) => fault.actual(text.chars().take(200).collect::<String>()),
        _ => fault,
    };
    ctx.check("envelope/json", none.then_some(fault));
    if content.is_lossy() {
        ctx.note("envelope/json", LOSSY);
    }
    json
}

/// Judges the result and the error of a response.
fn outcome(response: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    let given = |key: &str| response.members.get(key).filter(|value| !value.is_null());
    let (result, error) = (given("result"), given("error"));
    let fault =
        || ViolationDetail::new("a response has neither a result nor an error").actual(response.members.clone());
    ctx.check("envelope/outcome", (result.is_none() && error.is_none()).then(fault));
    let both = result.is_some() && error.is_some();
    ctx.check_if("envelope/one-outcome", both, || "a response has both a result and an error".to_owned());
    // Beside nothing, null is what is reported above.
    let null = ["result", "error"].into_iter().filter(|_| result.is_some() || error.is_some());
    let null = null.into_iter().find(|key| response.members.get(*key).is_some_and(Value::is_null));
    let fault =
        null.map(|key| ViolationDetail::new(format!("`{key}` is null instead of being left out")).at(response.at(key)));
    ctx.check("envelope/no-nulls", fault);
    if let Some(result) = result {
        let fault =
            ViolationDetail::new("a result is neither an object nor a list").at("/result").actual(result.clone());
        ctx.check("envelope/result-type", (!result.is_object() && !result.is_array()).then_some(fault));
    }
    if let Some(value) = error {
        let fault = ViolationDetail::new("an error is no object").at("/error").actual(value.clone());
        ctx.check("envelope/error-object", (!value.is_object()).then_some(fault));
        if let Some(members) = value.as_object() {
            error_members(BodyObject { members, pointer: "/error" }, ctx);
        }
    }
    let others = response.others(&["result", "error"]);
    if !others.is_empty() {
        ctx.note(
            "envelope/object",
            format!("Responses have members that the protocol does not know: {}", others.join(", ")),
        );
    }
}

/// Judges an error. The document has two readings of it: `code` and `message`, or `code` and `integer`.
fn error_members(error: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    let second = error.members.get("integer").is_some_and(|value| value.is_i64() || value.is_u64());
    if second && error.members.contains_key("code") {
        ctx.check("envelope/error-code", None);
        ctx.note("envelope/error-code", "Errors have the members `code` and `integer`");
    } else {
        error.required(ctx, "code", INTEGER, "envelope/error-code");
    }
    if error.members.contains_key("message") {
        error.optional(ctx, "message", STRING, "envelope/error-message");
    } else if !second {
        ctx.note("envelope/error-message", "Errors have no message");
    }
    if error.members.get("data").is_some_and(|data| !data.is_object() && !data.is_array()) {
        ctx.note("envelope/error-object", "The `data` of errors is neither an object nor a list");
    }
}
