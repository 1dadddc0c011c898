//! Responses that are carried wrongly (heads, lengths, chunks, codings, bytes), or whose status, redirect or time makes them
//! useless to clients.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::peer::deviation::value::{bad_byte, byte_order_mark};
use crate::peer::deviation::{FlawRow, flaw};
use crate::peer::http::allows;
use crate::wire::http::{Content, Ending, Piece, Response};
use crate::wire::http_head;

use super::super::deviations::{Instead, ProviderEffect, RequestInContext, Switch};
use super::super::request::Method;

pub const CARRIED: &[FlawRow<ProviderEffect>] = &[
    flaw!("status-line-short" "http/valid-head"
        "The status line has no version."
        ProviderEffect::Carried(|r| raw(r, |head| head.replacen("HTTP/1.1 ", "", 1)))),
    flaw!("status-not-a-number" "http/valid-head"
        "The status is a word."
        ProviderEffect::Carried(|r| raw(r, |head| head.replacen(" 200 ", " OK ", 1)))),
    flaw!("header-without-colon" "http/valid-head"
        "A header line has no colon."
        ProviderEffect::Carried(|r| raw(r, |head| head.replacen("\r\n", "\r\nX-Powered-By\r\n", 1)))),
    flaw!("header-with-space" "http/valid-head"
        "A header name has a space before its colon."
        ProviderEffect::Carried(|r| raw(r, |head| head.replacen("\r\n", "\r\nX-Powered-By : wirecert\r\n", 1)))),
    flaw!("header-not-text" "http/valid-head"
        "A header has a control character."
        ProviderEffect::Carried(|r| raw(r, |head| head.replacen("\r\n", "\r\nX-Odd: a\u{1}b\r\n", 1)))),
    flaw!("head-cut" "http/valid-head"
        "The connection is closed within the head."
    ProviderEffect::Carried(|r| {
        r.manner.cut = Some(30);
        r.ending = Ending::Close;
    })),
    flaw!("no-http" "http/valid-head"
        "The body comes without a head."
    ProviderEffect::Carried(|r| {
        let body = take(r);
        r.raw = Some(vec![]);
        r.content = Content::Raw(vec![Piece::now(body)]);
        r.ending = Ending::Close;
    })),
    flaw!("length-too-long" "http/length"
        "The head announces ten bytes more than there are, and the connection is closed."
    ProviderEffect::Carried(|r| {
        let length = length(r) + 10;
        r.headers.push(("Content-Length".to_owned(), Some(length.to_string())));
        r.ending = Ending::Close;
    })),
    flaw!("length-never-reached" "envelope/answered"
    "The head announces ten bytes more than there are, and the connection is held."
    ProviderEffect::Carried(|r| {
        let length = length(r) + 10;
        r.headers.push(("Content-Length".to_owned(), Some(length.to_string())));
        r.ending = Ending::Hold;
    })),
    flaw!("length-too-short" "http/length"
        "The head announces ten bytes less than there are."
    ProviderEffect::Carried(|r| {
        let length = length(r).saturating_sub(10);
        r.headers.push(("Content-Length".to_owned(), Some(length.to_string())));
    })),
    flaw!("length-in-characters" "http/length"
        "The head announces the number of characters, not of bytes."
    ProviderEffect::Carried(|r| {
        let body = if let Content::Whole(body) = &r.content { String::from_utf8_lossy(body).chars().count() } else { 0 };
        r.headers.push(("Content-Length".to_owned(), Some(body.to_string())));
    })),
    flaw!("length-twice" "http/length"
        "The head has two lengths that differ."
    ProviderEffect::Carried(|r| {
        let length = length(r);
        for said in [length, length + 1] {
            r.headers.push(("Content-Length".to_owned(), Some(said.to_string())));
        }
    })),
    flaw!("length-not-a-number" "http/length" "The length is a word."
        ProviderEffect::Carried(|r| r.headers.push(("Content-Length".to_owned(), Some("many".to_owned()))))),
    flaw!("body-cut" "http/length"
        "The connection is closed in the middle of the body."
    ProviderEffect::Carried(|r| {
        let cut = r.head(true);
        r.manner.cut = Some(http_head::encode(&cut).len() + length(r) / 2);
        r.ending = Ending::Close;
    })),
    flaw!("body-reset" "http/length"
        ["envelope/answered": "A reset may discard all that was sent before it."]
        "The connection is cut in the middle of the body."
    ProviderEffect::Carried(|r| {
        let cut = r.head(false);
        r.manner.cut = Some(http_head::encode(&cut).len() + length(r) / 2);
        r.ending = Ending::Reset;
    })),
    flaw!("chunks-unended" "http/length"
        "The connection is closed before the last chunk."
        ProviderEffect::Carried(|r| chunks(r, |body| format!("{:x}\r\n{body}\r\n", body.len())))),
    flaw!("chunk-size-wrong" "http/length"
        "The size of a chunk is smaller than the chunk."
        ProviderEffect::Carried(|r| chunks(r, |body| format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len().saturating_sub(5))))),
    flaw!("chunk-size-decimal" "http/length"
        "Sizes of chunks are decimal."
        ProviderEffect::Carried(|r| chunks(r, |body| format!("{}\r\n{body}\r\n0\r\n\r\n", body.len() + 1000)))),
    flaw!("chunked-but-plain" "http/length"
        "The head says that the body is chunked, and it is not."
        ProviderEffect::Carried(|r| chunks(r, str::to_owned))),
    flaw!("redirect-with-301-and-body" "http/redirect"
        "Answers have the status 301, a `Location` and the body."
    ProviderEffect::Carried(|r| {
        r.status = "301 Moved Permanently".to_owned();
        r.headers.push(("Location".to_owned(), Some("/moved".to_owned())));
    })),
    flaw!("content-type-missing" "http/content-type" "There is no content type."
        ProviderEffect::Carried(|r| r.headers.retain(|(name, _)| name != "Content-Type"))),
    flaw!("content-type-text" "http/content-type" "The content type is that of a text."
        ProviderEffect::Carried(|r| content_type(r, "text/plain; charset=utf-8"))),
    flaw!("content-type-page" "http/content-type" "The content type is that of a page."
        ProviderEffect::Carried(|r| content_type(r, "text/html"))),
    flaw!("latin-1" "http/utf-8" "Characters beyond ASCII are sent as Latin-1."
    ProviderEffect::Carried(|r| {
        let chars = String::from_utf8_lossy(&take(r)).into_owned();
        let body = chars.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'\xbf')).collect();
        r.content = Content::Whole(body);
        content_type(r, "application/json; charset=iso-8859-1");
    })),
    flaw!("utf-16" "http/utf-8" "The body is UTF-16, as its content type says."
    ProviderEffect::Carried(|r| {
        let text = String::from_utf8_lossy(&take(r)).into_owned();
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        r.content = Content::Whole(units.flat_map(u16::to_be_bytes).collect());
        content_type(r, "application/json; charset=utf-16");
    })),
    flaw!("bad-byte" "http/utf-8" "The body has a byte that no UTF-8 has, within a text."
        ProviderEffect::Body(bad_byte)),
    flaw!("byte-order-mark" "http/no-bom" "The body begins with a byte order mark."
        ProviderEffect::Body(byte_order_mark)),
    flaw!("gzip-in-name-only" "http/encoding" "The head says gzip, and the body is none."
        ProviderEffect::CarriedFor(|r, _| r.headers.push(("Content-Encoding".to_owned(), Some("gzip".to_owned()))))),
    flaw!("gzip-cut" "http/encoding" "The body is gzip without its end."
    ProviderEffect::CarriedFor(|r, _| {
        gzip(r);
        let mut body = take(r);
        body.truncate(body.len() / 2);
        r.content = Content::Whole(body);
    })),
    flaw!("coding-unknown" "http/encoding"
        "The head names a content coding that nobody knows."
        ProviderEffect::Carried(|r| r.headers.push(("Content-Encoding".to_owned(), Some("rot13".to_owned()))))),
    flaw!("gzip-unasked" "http/encoding-offered" "Bodies are gzip, whether the request allows it or not."
    ProviderEffect::CarriedFor(|r, request| {
        match ["gzip", "deflate"].map(|coding| allows(&request.head, coding)) {
            [true, false] => deflate(r),
            [false, _] => gzip(r),
            // What is left to break does not show where both are known.
            [true, true] => {}
        }
    })),
    flaw!("trickles" "envelope/answered" "A body comes byte by byte, for twelve seconds."
    ProviderEffect::Carried(|r| {
        let body = take(r);
        let length = body.len();
        let size = length.div_ceil(24).max(1);
        let pieces = body.chunks(size).map(|piece| Piece::after(Duration::from_millis(500), piece)).collect::<Vec<_>>();
        let missing = 24_usize.saturating_sub(pieces.len());
        let pause = Piece::after(Duration::from_millis(500 * missing as u64), "");
        r.headers.push(("Content-Length".to_owned(), Some(length.to_string())));
        r.content = Content::Raw(std::iter::once(pause).chain(pieces).collect());
    })),
];

/// The length of a body.
fn length(response: &Response) -> usize {
    if let Content::Whole(body) = &response.content { body.len() } else { 0 }
}

/// Takes the body out.
pub fn take(response: &mut Response) -> Vec<u8> {
    match std::mem::take(&mut response.content) {
        Content::Whole(body) => body,
        _ => vec![],
    }
}

/// Changes the head as it is sent.
fn raw(response: &mut Response, change: fn(String) -> String) {
    let head = String::from_utf8_lossy(&http_head::encode(&response.head(false))).into_owned();
    response.raw = Some(change(head).into_bytes());
}

/// The body as these chunks, after which the connection is closed.
fn chunks(response: &mut Response, make: fn(&str) -> String) {
    let body = String::from_utf8_lossy(&take(response)).into_owned();
    response.headers.push(("Transfer-Encoding".to_owned(), Some("chunked".to_owned())));
    response.content = Content::Raw(vec![Piece::now(make(&body))]);
    response.ending = Ending::Close;
}

/// Another content type.
pub fn content_type(response: &mut Response, value: &str) {
    response.headers.retain(|(name, _)| name != "Content-Type");
    response.headers.push(("Content-Type".to_owned(), Some(value.to_owned())));
}

/// The body in the coding gzip, as the head says.
pub fn gzip(response: &mut Response) {
    let body = take(response);
    let mut encoder = GzEncoder::new(vec![], Compression::default());
    // Into memory, it cannot fail.
    let packed = encoder.write_all(&body).and_then(|()| encoder.finish()).unwrap_or_default();
    response.headers.push(("Content-Encoding".to_owned(), Some("gzip".to_owned())));
    response.headers.push(("Vary".to_owned(), Some("Accept-Encoding".to_owned())));
    response.content = Content::Whole(packed);
}

/// The body in the coding deflate, as the head says.
fn deflate(response: &mut Response) {
    let body = take(response);
    let mut encoder = flate2::write::ZlibEncoder::new(vec![], Compression::default());
    // Into memory, it cannot fail.
    let packed = encoder.write_all(&body).and_then(|()| encoder.finish()).unwrap_or_default();
    response.headers.push(("Content-Encoding".to_owned(), Some("deflate".to_owned())));
    response.content = Content::Whole(packed);
}

pub const STATUSES: &[FlawRow<ProviderEffect>] = &[
    flaw!("result-with-500" "http/status-result"
        "Results come with the status 500."
        ProviderEffect::Carried(|r| with_result(r, "500 Internal Server Error"))),
    flaw!("result-with-404" "http/status-result"
        "Results come with the status 404."
        ProviderEffect::Carried(|r| with_result(r, "404 Not Found"))),
    flaw!("result-with-300" "http/status-result"
        "Results come with the status 300."
        ProviderEffect::Carried(|r| with_result(r, "300 Multiple Choices"))),
    flaw!("not-modified" "http/status-error"
        "What was asked before is answered with the status 304 and nothing."
    ProviderEffect::Instead(|s| {
        let again = s.request.as_ref().is_ok_and(|request| s.memory.last.as_ref() == Some(request));
        again.then(|| Instead::Respond(Box::new(Response::new("304 Not Modified"))))
    })),
    flaw!("rate-limited" "http/status-error"
        "After ten requests all are answered with the status 429."
    ProviderEffect::Instead(|s| {
        let body = json!({"error": {"code": 429, "message": "too many requests"}});
        (s.memory.requests >= 10).then(|| Instead::status("429 Too Many Requests", &body))
    })),
    flaw!("error-with-500" "http/status-error"
        "All but `meta` is answered with an error and the status 500."
    ProviderEffect::Instead(|s| {
        let body = json!({"error": {"code": -32603, "message": "something went wrong"}});
        s.request.as_ref().is_ok_and(|request| request.method != Method::Meta)
            .then(|| Instead::status("500 Internal Server Error", &body))
    })),
    flaw!("error-with-401" "http/status-error"
        "All but `meta` is answered with an error and the status 401."
    ProviderEffect::Instead(|s| {
        let body = json!({"error": {"code": -32001, "message": "sign in first"}});
        s.request.as_ref().is_ok_and(|request| request.method != Method::Meta)
            .then(|| Instead::status("401 Unauthorized", &body))
    })),
    flaw!("bad-gateway" "mentions/offered"
        "`mentions` is answered with the status 502 and a page."
    ProviderEffect::Instead(|s| {
        let page = Response::new("502 Bad Gateway").header("Content-Type", "text/html");
        let page = page.content(Content::Whole(b"<html><h1>502 Bad Gateway</h1></html>".to_vec()));
        s.is(Method::Mentions).then(|| Instead::Respond(Box::new(page)))
    })),
    flaw!("no-content" "envelope/json"
    "Requests are answered with the status 204 and nothing."
    ProviderEffect::Instead(|s| {
        (s.received.head.method() == "POST").then(|| Instead::Respond(Box::new(Response::new("204 No Content"))))
    })),
    flaw!("redirect-301" "http/redirect"
        "Requests are redirected with the status 301."
        ProviderEffect::Instead(|s| redirected(s, "301 Moved Permanently"))),
    flaw!("redirect-302" "http/redirect"
        "Requests are redirected with the status 302."
        ProviderEffect::Instead(|s| redirected(s, "302 Found"))),
    flaw!("redirect-303" "http/redirect"
        "Requests are redirected with the status 303."
        ProviderEffect::Instead(|s| redirected(s, "303 See Other"))),
    flaw!("redirect-nowhere" "http/redirect"
        "Requests are redirected with the status 307, but not to where."
        ProviderEffect::Instead(|_| Some(Instead::Respond(Box::new(Response::new("307 Temporary Redirect")))))),
    flaw!("redirect-loop" "http/redirect"
        "Requests are redirected to where they were sent, again and again."
    ProviderEffect::Instead(|s| {
        let response = Response::new("307 Temporary Redirect").header("Location", s.received.head.target());
        Some(Instead::Respond(Box::new(response)))
    })),
    flaw!("slow" "envelope/answered" "Requests are answered after 11 seconds." ProviderEffect::Switch(Switch::Takes(11_000))),
    flaw!("endless-body" "envelope/answered" "The body of answers does not end."
        ProviderEffect::Switch(Switch::Endless)),
    flaw!("upgrades" "envelope/answered"
        "Requests are answered with the status 101."
    ProviderEffect::Instead(|_| {
        let response = Response::new("101 Switching Protocols").header("Upgrade", "rpc").header("Connection", "Upgrade");
        Some(Instead::Respond(Box::new(response)))
    })),
];

fn with_result(response: &mut Response, status: &str) {
    let is_result = matches!(&response.content, Content::Whole(body) if body.starts_with(b"{\"result\""));
    if is_result {
        response.status = status.to_owned();
    }
}

fn redirected(seen: &RequestInContext<'_>, status: &str) -> Option<Instead> {
    let elsewhere = seen.received.head.path() == "/elsewhere";
    let response = Response::new(status).header("Location", "/elsewhere");
    (!elsewhere).then(|| Instead::Respond(Box::new(response)))
}
