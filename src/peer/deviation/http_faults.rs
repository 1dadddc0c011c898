//! Flaws and freedoms that HTTP servers of different protocols have in common: how responses are carried, which requests are
//! understood, and what a bad request costs.

use std::convert::Infallible;

use crate::peer::deviation::value::{bad_byte, byte_order_mark, escape, pretty, reverse_keys};
use crate::peer::deviation::{FlawRow, FreedomRow, flaw, freedom};
use crate::peer::http::allows;
use crate::wire::http::{Content, Ending, Received, Response};

use super::http_server::ResponseEffect::{self, Body, Instead as Does, Response as Changes, ResponseFor};
use super::http_server::{
    ClientMistake, Instead, ReceivedInContext, chunk, compress, content_type, cut_body, header, header_names, is_deep,
    length, raw_chunks, raw_head, until_close,
};

/// How responses are carried.
pub const RESPONSES: &[FlawRow<ResponseEffect>] = &[
    flaw!("status-line-short" "http/valid-head" "The status line has no version."
        Changes(|r| raw_head(r, |head| head.replacen("HTTP/1.1 ", "", 1)))),
    flaw!("header-without-colon" "http/valid-head" "A header line has no colon."
        Changes(|r| raw_head(r, |head| head.replacen("\r\n", "\r\nX-Powered-By\r\n", 1)))),
    flaw!("header-with-space" "http/valid-head" "A header name has a space before its colon."
        Changes(|r| raw_head(r, |head| head.replacen("\r\n", "\r\nX-Powered-By : wirecert\r\n", 1)))),
    flaw!("line-feeds" "http/valid-head" "The lines of the head end with line feeds alone."
        Changes(|r| raw_head(r, |head| head.replace("\r\n", "\n")))),
    flaw!("length-too-long" "http/length" "The head announces ten bytes more than there are, and the connection is closed."
    Changes(|r| if let Some(length) = length(r) {
        header(r, "Content-Length", length + 10);
        r.ending = Ending::Close;
    })),
    flaw!("length-in-characters" "http/length" "The head announces the number of characters, not of bytes."
        Changes(length_in_characters)),
    flaw!("length-twice" "http/length" "The head has two lengths that differ."
    Changes(|r| if let Some(length) = length(r) {
        header(r, "Content-Length", length);
        header(r, "Content-Length", length + 1);
    })),
    flaw!("length-and-chunks" "http/length" "The head has a length, and the body is chunked."
    Changes(|r| if let Some(length) = length(r) {
        chunk(r, 40);
        header(r, "Content-Length", length);
    })),
    flaw!("length-repeated" "http/length" "The head has the right length twice."
    Changes(|r| if let Some(length) = length(r) {
        header(r, "Content-Length", length);
        header(r, "Content-Length", length);
    })),
    flaw!("body-cut" "http/length" "The connection is closed in the middle of the body."
        Changes(|r| cut_body(r, Ending::Close))),
    flaw!("chunks-unended" "http/length" "The connection is closed before the last chunk."
        Changes(|r| raw_chunks(r, |body| format!("{:x}\r\n{body}\r\n", body.len())))),
    flaw!("chunks-for-http-1-0" "http/length-1-0" "A response is chunked, though the request is of HTTP/1.0."
        ResponseFor(|r, request| if request.head.start.ends_with(" HTTP/1.0") { chunk(r, 40) })),
    flaw!("error-then-result" "http/length" "After the response to a request that failed another one follows."
        Changes(another_after_error)),
    flaw!("content-type-missing" "http/content-type" "There is no content type."
    Changes(|r| if length(r).is_some() {
        r.headers.retain(|(name, _)| name != "Content-Type");
    })),
    flaw!("content-type-text" "http/content-type" "The content type is that of a text."
        Changes(|r| if length(r).is_some() { content_type(r, "text/plain; charset=utf-8") })),
    flaw!("json-twice" "http/json" | "envelope/json" "The JSON comes twice in one body." Body(|b| *b = b.repeat(2))),
    flaw!("bad-byte" "http/utf-8" "A body has a byte that no UTF-8 has, within a text." Body(bad_byte)),
    flaw!("byte-order-mark" "http/no-bom" "A body begins with a byte order mark." Body(byte_order_mark)),
    flaw!("gzip-in-name-only" "http/encoding" "The head says gzip, and the body is none."
        Changes(|r| if length(r).is_some() { header(r, "Content-Encoding", "gzip") })),
    flaw!("coding-unknown" "http/encoding" "The head names a content coding that nobody knows."
        Changes(|r| if length(r).is_some() { header(r, "Content-Encoding", "rot13") })),
    flaw!("gzip-unasked" "http/encoding-offered" "Bodies are gzip, whether the request allows it or not."
        ResponseFor(compress_unasked)),
    flaw!("close-ignored" "http/close-asked" "A connection is kept, though the request asks for its end."
    ResponseFor(|r, request| if request.head.header("connection").any(|value| value.eq_ignore_ascii_case("close")) {
        header(r, "Connection", "keep-alive");
        r.ending = Ending::Hold;
    })),
];

/// Sends a second response behind one that has an error.
fn another_after_error(response: &mut Response) {
    let first = length(response).unwrap_or_default();
    if let Content::Whole(body) = &mut response.content
        && body.starts_with(br#"{"error""#)
    {
        body.extend(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"result\":[]}");
        header(response, "Content-Length", first);
    }
}

fn length_in_characters(response: &mut Response) {
    if let Content::Whole(body) = &response.content {
        let characters = String::from_utf8_lossy(body).chars().count();
        header(response, "Content-Length", characters);
    }
}

/// Compresses a body in a coding that the request does not allow. What is left to break does not show where both are known.
fn compress_unasked(response: &mut Response, request: &Received) {
    match ["gzip", "deflate"].map(|coding| allows(&request.head, coding)) {
        [true, true] => {}
        [true, false] => compress(response, "deflate"),
        [false, _] => compress(response, "gzip"),
    }
}

/// Which requests are understood.
pub const REQUESTS: &[FlawRow<ResponseEffect>] = &[
    flaw!("headers-by-case" "http/header-case" "The content type is found only where its name is written as usual, or in lower case."
    Does(|s| {
        let odd = |name: &str| name.eq_ignore_ascii_case("content-type") && !["Content-Type", "content-type"].contains(&name);
        s.received.head.headers.iter().any(|(name, _)| odd(name)).then_some(Instead::Refuse)
    })),
    flaw!("length-by-case" "http/header-case" "The length is found only where its name is written as usual, or in lower case."
    Does(|s| {
        let capitals = s.received.head.headers.iter().any(|(name, _)| name == "CONTENT-LENGTH");
        capitals.then_some(Instead::Refuse)
    })),
    flaw!("extra-headers-refused" "http/extra-headers" "A request with a header that is not known is refused."
    Does(|s| {
        let odd = |(name, _): &(String, String)| !USUAL_HEADERS.contains(&name.to_lowercase().as_str());
        s.received.head.headers.iter().any(odd).then_some(Instead::Refuse)
    })),
    flaw!("request-in-one-read" "http/segments" "A request must come in few TCP segments."
        Does(|s| (s.received.reads > 4).then_some(Instead::Refuse))),
    flaw!("second-request-unanswered" "http/keep-alive" "On each connection the first request is answered."
        Does(|s| s.on_used_connection().then_some(Instead::Close))),
    flaw!("chunked-refused" "http/chunked-request" "A request with a chunked body is refused."
        Does(|s| s.header("transfer-encoding").map(|_| Instead::Refuse))),
];

/// The header fields that clients usually send.
const USUAL_HEADERS: [&str; 17] = [
    "host",
    "user-agent",
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "keep-alive",
    "last-event-id",
    "origin",
    "pragma",
    "sec-fetch-mode",
    "transfer-encoding",
    "te",
];

/// What a bad request costs.
pub const ROBUSTNESS: &[FlawRow<ResponseEffect>] = &[
    flaw!("exits-on-bad-json" "robustness/alive" "A body that is no JSON makes the server exit."
        Does(|s| (s.mistake == Some(ClientMistake::NoJson)).then_some(Instead::Die))),
    flaw!("exits-on-deep-json" "robustness/alive" "JSON that is nested deep makes the server exit."
        Does(|s| is_deep(&s.received.content).then_some(Instead::Die))),
    flaw!("silent-after-bad-json" "robustness/bad-json" "After a body that is no JSON nothing is answered."
        Does(|s| after(s, ClientMistake::NoJson))),
    flaw!("silent-after-bad-body" "robustness/bad-body" | "robustness/bad-envelope" "After JSON that is no request nothing is answered."
        Does(|s| after(s, ClientMistake::NoRequest))),
    flaw!("silent-after-huge-body" "robustness/huge-body" | "robustness/huge-content" "After a body of more than a mebibyte nothing is answered."
        Does(|s| after(s, ClientMistake::Huge))),
    flaw!("silent-after-deep-json" "robustness/deep-json" "After JSON that is nested deep nothing is answered."
        Does(|s| after(s, ClientMistake::Deep))),
    flaw!("silent-after-bad-head" "robustness/bad-head"
        ["2025-12-09/robustness/wrong-length": "A body of which the head says nothing is taken for a head that is no HTTP."]
        "After a head that is no HTTP nothing is answered."
        Does(|s| after(s, ClientMistake::Head))),
    flaw!("silent-after-huge-head" "robustness/huge-head" "After an endless head nothing is answered."
        Does(|s| after(s, ClientMistake::EndlessHead))),
    flaw!("silent-after-reset" "robustness/reset" "After a connection was cut while a request was open nothing is answered."
        Does(|s| after(s, ClientMistake::Cut))),
];

/// Answers nothing after something went wrong once.
pub fn after(request: &ReceivedInContext<'_>, mistake: ClientMistake) -> Option<Instead<Infallible>> {
    request.history.had(mistake).then_some(Instead::Never)
}

pub const FREEDOMS: &[FreedomRow<ResponseEffect>] = &[
    freedom!("http-1-0" "Answers are HTTP/1.0, and end with the connection."
    Changes(|r| {
        r.version = "HTTP/1.0".to_owned();
        until_close(r);
    })),
    freedom!("closes-announced" "The connection is closed after each response, and the head says so."
        Changes(|r| r.ending = Ending::Close)),
    freedom!("chunked-tiny" "Bodies are chunked, a few bytes each, also within characters, with trailers."
    Changes(|r| if let Some(length) = length(r) {
        chunk(r, length.div_ceil(50).max(7));
        if let Content::Chunked { trailers, .. } = &mut r.content {
            trailers.push(("X-Checksum".to_owned(), "none".to_owned()));
        }
    })),
    freedom!("in-segments" "Answers come in many TCP segments."
        Changes(|r| if let Some(length) = length(r) { r.send_options.split = Some(length.div_ceil(10).max(50)) })),
    freedom!("headers-in-lower-case" "Header names are in lower case." Changes(|r| header_names(r, str::to_lowercase))),
    freedom!("more-headers" "Answers have more headers, some of them several times."
    Changes(|r| for (name, value) in [
        ("Server", "provider"), ("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2; HttpOnly"), ("X-Empty", ""),
        ("Access-Control-Allow-Origin", "*"), ("Cache-Control", "no-store"), ("ETag", "W/\"1\""), ("X-Accel-Buffering", "no"),
    ] {
        header(r, name, value);
    })),
    freedom!("charset-named" "Content types name the charset."
    Changes(|r| for (name, value) in &mut r.headers {
        if let (true, Some(value)) = (name == "Content-Type", value) {
            *value += "; charset=utf-8";
        }
    })),
    freedom!("no-reason" "The status line has no reason." Changes(|r| r.status = r.status[..3].to_owned() + " ")),
    freedom!("pretty-json" "Bodies have white space between their tokens." Body(pretty)),
    freedom!("escaped-json" "Characters beyond ASCII, and slashes, are escaped in bodies." Body(escape)),
    freedom!("keys-reversed" "The members of objects come in another order."
    Body(|b| if let Ok(mut value) = serde_json::from_slice(b) {
        reverse_keys(&mut value);
        *b = value.to_string().into_bytes();
    })),
];
