//! Ways in which a mock provider can differ from the next and be right all the same.

use std::time::Duration;

use serde_json::{Value, json};

use crate::peer::deviation::value::{escape, pretty, reverse_keys};
use crate::peer::deviation::{FreedomRow, freedom};
use crate::peer::http::allows;
use crate::wire::http::{Content, Ending, Piece, Response};

use super::deviations::{Instead, ProviderEffect, RequestInContext, Switch};
use super::flaws::transport::{content_type, gzip, take};
use super::request::{Method, RequestFault};

pub const FREEDOMS: &[FreedomRow<ProviderEffect>] = &[
    freedom!("selectors-empty" "An empty list of selectors says that there are no annotations, and who asks for some gets an error."
    ProviderEffect::Instead(|s| match s.request.as_ref().ok()?.method {
        Method::Meta => Some(Instead::Result(json!({"name": "None", "mentions": {}, "items": {}, "annotations": {"selectors": []}}))),
        Method::Annotations => Some(Instead::error(-32601, "there are no annotations")),
        _ => None,
    })),
    freedom!("http-1-0" "Answers are HTTP/1.0, and end with the connection."
    ProviderEffect::Carried(|r| {
        r.version = "HTTP/1.0".to_owned();
        until_close(r);
    })),
    freedom!("until-close" "Answers have no length, and end with the connection." ProviderEffect::Carried(until_close)),
    freedom!("closes-announced" "The connection is closed after each answer, and the head says so."
        ProviderEffect::Carried(|r| r.ending = Ending::Close)),
    freedom!("chunked" "Bodies are chunked."
        ProviderEffect::Carried(|r| chunked(r, 1000))),
    freedom!("chunked-tiny" "Bodies are chunked, a few bytes each, also within characters, with trailers."
    ProviderEffect::Carried(|r| {
        let size = if let Content::Whole(body) = &r.content { body.len().div_ceil(50).max(7) } else { 7 };
        chunked(r, size);
        if let Content::Chunked { trailers, .. } = &mut r.content {
            trailers.push(("X-Checksum".to_owned(), "none".to_owned()));
        }
    })),
    freedom!("chunk-extensions" "Chunks have extensions."
    ProviderEffect::Carried(|r| {
        let body = take(r);
        let mut raw = format!("{:X};name=\"a;b\"\r\n", body.len()).into_bytes();
        raw.extend(body);
        raw.extend(b"\r\n00\r\n\r\n");
        r.headers.push(("Transfer-Encoding".to_owned(), Some("chunked".to_owned())));
        r.content = Content::Raw(vec![Piece::now(raw)]);
    })),
    freedom!("in-segments" "Answers come in many TCP segments." ProviderEffect::Carried(|r| {
        let length = if let Content::Whole(body) = &r.content { body.len() } else { 0 };
        r.manner.split = Some(length.div_ceil(10).max(50));
    })),
    freedom!("head-then-body" "The body comes a little after the head."
    ProviderEffect::Carried(|r| {
        let body = take(r);
        r.headers.push(("Content-Length".to_owned(), Some(body.len().to_string())));
        r.content = Content::Raw(vec![Piece::after(Duration::from_millis(50), body)]);
    })),
    freedom!("headers-in-lower-case" "Header names are in lower case."
        ProviderEffect::Carried(|r| names(r, str::to_lowercase))),
    freedom!("headers-in-upper-case" "Header names are in upper case."
        ProviderEffect::Carried(|r| names(r, str::to_uppercase))),
    freedom!("more-headers" "Answers have more headers, some of them several times."
    ProviderEffect::Carried(|r| for (name, value) in [
        ("Server", "provider"), ("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2; HttpOnly"), ("X-Empty", ""),
        ("Access-Control-Allow-Origin", "*"), ("Cache-Control", "no-store"), ("ETag", "W/\"1\""),
    ] {
        r.headers.push((name.to_owned(), Some(value.to_owned())));
    })),
    freedom!("charset-named" "The content type names the charset." ProviderEffect::Carried(|r| content_type(r, "application/json; charset=utf-8"))),
    freedom!("content-type-odd" "The content type is written in an odd way."
        ProviderEffect::Carried(|r| content_type(r, "Application/JSON ;Charset=\"UTF-8\""))),
    freedom!("content-type-suffix" "The content type is one that ends with `+json`."
        ProviderEffect::Carried(|r| content_type(r, "application/vnd.openctx+json"))),
    freedom!("status-201" "Answers have the status 201." ProviderEffect::Carried(|r| if r.status.starts_with("200") {
        r.status = "201 Created".to_owned();
    })),
    freedom!("no-reason" "The status line has no reason." ProviderEffect::Carried(|r| r.status = r.status[..3].to_owned() + " ")),
    freedom!("compressed" "Bodies are gzip where the request allows it."
    ProviderEffect::CarriedFor(|r, request| {
        if allows(&request.head, "gzip") {
            gzip(r);
        }
    })),
    freedom!("redirects" "Requests are redirected to another path of the provider's URL."
        ProviderEffect::Instead(|s| redirected(s, "307 Temporary Redirect", "elsewhere?for=good".to_owned()))),
    freedom!("redirects-twice" "Requests are redirected to another URL, and from there to a third."
    ProviderEffect::Instead(|s| {
        let host = s.header("host")?;
        match s.received.head.path() {
            "/elsewhere" => None,
            "/there" => redirected(s, "308 Permanent Redirect", "/elsewhere".to_owned()),
            _ => redirected(s, "308 Permanent Redirect", format!("http://{host}/there")),
        }
    })),
    freedom!("interim" "An interim answer with the status 103 comes before each answer." ProviderEffect::Switch(Switch::Interim)),
    freedom!("unhurried" "Answers take half a second." ProviderEffect::Switch(Switch::Takes(500))),
    freedom!("chunked-requests-refused" "A chunked request is refused with the status 411."
    ProviderEffect::Instead(|s| {
        s.header("transfer-encoding")?;
        Some(Instead::Respond(Box::new(Response::new("411 Length Required").text("say how long it is\n"))))
    })),
    freedom!("bad-requests-refused" "What is no sound request is refused with a status."
    ProviderEffect::Instead(|s| {
        let status = match s.request {
            Err(RequestFault::NoMethod) => "404 Not Found",
            Err(RequestFault::Params(_)) => "422 Unprocessable Content",
            Err(_) => "400 Bad Request",
            Ok(_) => return None,
        };
        let post = s.received.head.method() == "POST";
        post.then(|| Instead::Respond(Box::new(Response::new(status).text("no\n"))))
    })),
    freedom!("bad-requests-with-200" "What is no request is answered with an error and the status 200."
    ProviderEffect::Carried(|r| if r.status.starts_with("400") {
        r.status = "200 OK".to_owned();
    })),
    freedom!("pretty-json" "Bodies have white space between their tokens."
        ProviderEffect::Body(pretty)),
    freedom!("escaped-json" "Characters beyond ASCII, and slashes, are escaped." ProviderEffect::Body(escape)),
    freedom!("half-surrogates" "Titles begin with the escape of half a surrogate pair." ProviderEffect::Body(|b| {
        *b = String::from_utf8_lossy(b).replace("\"title\":\"", "\"title\":\"\\ud800").into_bytes();
    })),
    freedom!("deep-member" "Answers have a member that nobody knows, and that is nested deep."
    ProviderEffect::Body(|b| if b.starts_with(b"{\"") {
        let deep = format!("{{\"x-deep\":{}{},", "[".repeat(200), "]".repeat(200));
        b.splice(..1, deep.into_bytes());
    })),
    freedom!("keys-reversed" "The keys of objects come in another order." ProviderEffect::Envelope(reverse_keys)),
    freedom!("extra-keys" "Everything has a member that nobody knows." ProviderEffect::Envelope(extra)),
    freedom!("as-in-json-rpc" "Answers have the members of JSON-RPC."
    ProviderEffect::Envelope(|a| if let Value::Object(map) = a {
        map.insert("jsonrpc".to_owned(), "2.0".into());
        map.insert("id".to_owned(), 1.into());
    })),
    freedom!("error-without-message" "Errors have no message, as where the document lists their members."
    ProviderEffect::Error(|e| if let Value::Object(map) = e {
        map.shift_remove("message");
    })),
    freedom!("error-integer" "The integer of errors is in a member of that name, as the document can be read."
        ProviderEffect::Error(|e| *e = json!({"code": "provider", "integer": e["code"], "message": e["message"]}))),
    freedom!("error-codes" "Errors have another code." ProviderEffect::Error(|e| e["code"] = 0.into())),
    freedom!("error-data" "Errors have `data`." ProviderEffect::Error(|e| e["data"] = json!({"hint": null, "more": [1]}))),
    freedom!("auto-include-as-text" "`autoInclude` of the mentions feature is a text."
        of(Method::Meta, |m| m["mentions"]["autoInclude"] = "true".into())),
    freedom!("pattern-with-flags" "A pattern begins with flags, as in many dialects, but not in JavaScript's."
        of(Method::Meta, |m| m["items"]["messageSelectors"] = json!([{"pattern": "(?i)ticket"}]))),
    freedom!("features-empty" "The features have no members."
    of(Method::Meta, |m| for name in ["items", "mentions", "annotations"] {
        m[name] = json!({});
    })),
    freedom!("nothing-offered" "There is no feature, and methods but `meta` give an empty list."
    ProviderEffect::Instead(|s| match s.request {
        Ok(request) if request.method == Method::Meta => Some(Instead::Result(json!({"name": "Nothing"}))),
        Ok(_) => Some(Instead::Result(json!([]))),
        Err(_) => None,
    })),
    freedom!("methods-refused" "There is no feature, and methods but `meta` are answered with an error."
    ProviderEffect::Instead(|s| match s.request {
        Ok(request) if request.method == Method::Meta => Some(Instead::Result(json!({"name": "Nothing"}))),
        Ok(_) => Some(Instead::error(-32601, "not implemented")),
        Err(_) => None,
    })),
    freedom!("presentation-hints" "Annotations have `presentationHints`, as in the published schemas."
    of(Method::Annotations, |list| for one in list.as_array_mut().into_iter().flatten() {
        one["presentationHints"] = json!(["show-at-top-of-file"]);
    })),
    freedom!("whole-documents" "Annotations have no ranges."
    of(Method::Annotations, |list| for one in list.as_array_mut().into_iter().flatten() {
        if let Value::Object(one) = one {
            one.shift_remove("range");
        }
    })),
    freedom!("empty-ranges" "Ranges are empty."
    of(Method::Annotations, |list| for one in list.as_array_mut().into_iter().flatten() {
        if let Some(range) = one.get_mut("range") {
            range["end"] = range["start"].clone();
        }
    })),
    freedom!("code-points" "Characters of positions count code points." ProviderEffect::Switch(Switch::CodePoints)),
    freedom!("bare-items" "Items consist of their titles."
    of(Method::Items, |list| for item in list.as_array_mut().into_iter().flatten() {
        *item = json!({"title": item["title"]});
    })),
];

const fn of(method: Method, change: fn(&mut Value)) -> ProviderEffect {
    ProviderEffect::Result(Some(method), change)
}

/// Sends whoever is not there yet elsewhere, by a page that says so.
fn redirected(seen: &RequestInContext<'_>, status: &str, location: String) -> Option<Instead> {
    let moved = Response::new(status).header("Location", location).text("it is elsewhere\n");
    (seen.received.head.path() != "/elsewhere").then(|| Instead::Respond(Box::new(moved)))
}

fn until_close(response: &mut Response) {
    let body = take(response);
    response.content = Content::Raw(vec![Piece::now(body)]);
    response.ending = Ending::Close;
}

fn chunked(response: &mut Response, size: usize) {
    let pieces = take(response).chunks(size).map(Piece::now).collect();
    response.content = Content::Chunked { pieces, trailers: vec![] };
}

/// Writes the names of all headers in another way.
fn names(response: &mut Response, write: fn(&str) -> String) {
    let head = response.head(false);
    response.headers = head.headers.iter().map(|(name, value)| (write(name), Some(value.clone()))).collect();
}

fn extra(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(extra);
            map.insert("x-extra".to_owned(), json!({"null": null, "deep": [[{}]]}));
        }
        Value::Array(items) => items.iter_mut().for_each(extra),
        _ => {}
    }
}
