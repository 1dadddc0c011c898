//! Responses that are carried wrongly (heads, lengths, chunks, codings, bytes), or whose status, redirect or time makes them
//! useless to clients.

use std::time::Duration;

use serde_json::json;

use crate::peer::deviation::http_server::ResponseEffect::{self, Response as Changes};
use crate::peer::deviation::http_server::{
    Instead, change_body, compress, content_type, cut_body, header, length, raw_body, raw_chunks, raw_head,
    without_header,
};
use crate::peer::deviation::value::latin_1;
use crate::peer::deviation::{FlawRow, flaw};
use crate::peer::openctx::server::mock_steering::SteeringSwitch;
use crate::wire::http::{Content, Ending, Piece, Response};

use super::{ProviderAnswer, ProviderEffect, RequestInContext, response};
use crate::peer::openctx::request::Method;

/// How responses are carried, beside what servers of other protocols have as well.
pub const CARRIED: &[FlawRow<ResponseEffect>] = &[
    flaw!("status-not-a-number" "http/valid-head" "The status is a word."
        Changes(|r| raw_head(r, |head| head.replacen(" 200 ", " OK ", 1)))),
    flaw!("header-not-text" "http/valid-head" "A header has a control character."
        Changes(|r| raw_head(r, |head| head.replacen("\r\n", "\r\nX-Odd: a\u{1}b\r\n", 1)))),
    flaw!("head-cut" "http/valid-head" "The connection is closed within the head."
    Changes(|r| {
        r.send_options.cut = Some(30);
        r.ending = Ending::Close;
    })),
    flaw!("no-http" "http/valid-head" "The body comes without a head."
    Changes(|r| {
        r.raw = Some(vec![]);
        raw_body(r, |body| vec![Piece::now(body)]);
        r.ending = Ending::Close;
    })),
    flaw!("length-never-reached" "envelope/answered"
    "The head announces ten bytes more than there are, and the connection is held."
    Changes(|r| {
        header(r, "Content-Length", length(r).unwrap_or_default() + 10);
        r.ending = Ending::Hold;
    })),
    flaw!("length-too-short" "http/length" "The head announces ten bytes less than there are."
        Changes(|r| header(r, "Content-Length", length(r).unwrap_or_default().saturating_sub(10)))),
    flaw!("length-not-a-number" "http/length" "The length is a word." Changes(|r| header(r, "Content-Length", "many"))),
    flaw!("body-reset" "http/length"
        ["envelope/answered": "A reset may discard all that was sent before it."]
        "The connection is cut in the middle of the body."
        Changes(|r| cut_body(r, Ending::Reset))),
    flaw!("chunk-size-wrong" "http/length" "The size of a chunk is smaller than the chunk."
        Changes(|r| raw_chunks(r, |body| format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len().saturating_sub(5))))),
    flaw!("chunk-size-decimal" "http/length" "Sizes of chunks are decimal."
        Changes(|r| raw_chunks(r, |body| format!("{}\r\n{body}\r\n0\r\n\r\n", body.len() + 1000)))),
    flaw!("chunked-but-plain" "http/length" "The head says that the body is chunked, and it is not."
        Changes(|r| raw_chunks(r, str::to_owned))),
    flaw!("redirect-with-301-and-body" "http/redirect" "Answers have the status 301, a `Location` and the body."
    Changes(|r| {
        r.status = "301 Moved Permanently".to_owned();
        header(r, "Location", "/moved");
    })),
    flaw!("content-type-page" "http/content-type" "The content type is that of a page."
        Changes(|r| content_type(r, "text/html"))),
    flaw!("latin-1" "http/utf-8" "Characters beyond ASCII are sent as Latin-1."
    Changes(|r| {
        change_body(r, |mut body| {
            latin_1(&mut body);
            body
        });
        content_type(r, "application/json; charset=iso-8859-1");
    })),
    flaw!("utf-16" "http/utf-8" "The body is UTF-16, as its content type says."
    Changes(|r| {
        change_body(r, |body| {
            let text = String::from_utf8_lossy(&body).into_owned();
            std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect()
        });
        content_type(r, "application/json; charset=utf-16");
    })),
    flaw!("gzip-cut" "http/encoding" "The body is gzip without its end."
    Changes(|r| {
        compress(r, "gzip");
        change_body(r, |body| body[..body.len() / 2].to_vec());
    })),
    flaw!("trickles" "envelope/answered" "A body comes byte by byte, for twelve seconds."
    Changes(|r| {
        header(r, "Content-Length", length(r).unwrap_or_default());
        raw_body(r, |body| {
            let size = body.len().div_ceil(24).max(1);
            let pieces = body.chunks(size).map(|piece| Piece::after(Duration::from_millis(500), piece)).collect::<Vec<_>>();
            let missing = 24_usize.saturating_sub(pieces.len());
            let pause = Piece::after(Duration::from_millis(500 * missing as u64), "");
            std::iter::once(pause).chain(pieces).collect()
        });
    })),
    flaw!("closes-unannounced" "http/close-announced" "The connection is closed after each response, and the head does not say so."
    Changes(|r| {
        without_header(r, "Connection");
        r.ending = Ending::Close;
    })),
    flaw!("closes-though-kept" "http/close-announced" "The connection is closed after each response, and the head says that it is kept."
    Changes(|r| {
        header(r, "Connection", "keep-alive");
        r.ending = Ending::Close;
    })),
];

pub const STATUSES: &[FlawRow<ProviderEffect>] = &[
    flaw!("result-with-500" "http/status-result"
        "Results come with the status 500."
        response(|r| with_result(r, "500 Internal Server Error"))),
    flaw!("result-with-404" "http/status-result"
        "Results come with the status 404."
        response(|r| with_result(r, "404 Not Found"))),
    flaw!("result-with-300" "http/status-result"
        "Results come with the status 300."
        response(|r| with_result(r, "300 Multiple Choices"))),
    flaw!("not-modified" "http/status-error"
        "What was asked before is answered with the status 304 and nothing."
    ProviderEffect::Instead(|s| {
        let again = s.request.as_ref().is_ok_and(|request| s.memory.last.as_ref() == Some(request));
        again.then(|| Instead::respond(Response::new("304 Not Modified")))
    })),
    flaw!("rate-limited" "http/status-error"
        "After ten requests all are answered with the status 429."
    ProviderEffect::Instead(|s| {
        let body = json!({"error": {"code": 429, "message": "too many requests"}});
        (s.history.requests >= 10).then(|| Instead::status("429 Too Many Requests", &body))
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
    flaw!("no-content" "envelope/json"
    "Requests are answered with the status 204 and nothing."
    ProviderEffect::Instead(|s| {
        (s.received.head.method() == "POST").then(|| Instead::respond(Response::new("204 No Content")))
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
        ProviderEffect::Instead(|_| Some(Instead::respond(Response::new("307 Temporary Redirect"))))),
    flaw!("redirect-loop" "http/redirect"
        "Requests are redirected to where they were sent, again and again."
    ProviderEffect::Instead(|s| {
        let response = Response::new("307 Temporary Redirect").header("Location", s.received.head.target());
        Some(Instead::respond(response))
    })),
    flaw!("slow" "envelope/answered" "Requests are answered after 11 seconds." SteeringSwitch::Takes(11_000).on()),
    flaw!("endless-body" "envelope/answered" "The body of responses does not end."
        SteeringSwitch::Endless.on()),
    flaw!("upgrades" "envelope/answered"
        "Requests are answered with the status 101."
    ProviderEffect::Instead(|_| {
        let response = Response::new("101 Switching Protocols").header("Upgrade", "rpc").header("Connection", "Upgrade");
        Some(Instead::respond(response))
    })),
];

fn with_result(response: &mut Response, status: &str) {
    let is_result = matches!(&response.content, Content::Whole(body) if body.starts_with(b"{\"result\""));
    if is_result {
        response.status = status.to_owned();
    }
}

fn redirected(seen: &RequestInContext<'_>, status: &str) -> Option<Instead<ProviderAnswer>> {
    let elsewhere = seen.received.head.path() == "/elsewhere";
    let response = Response::new(status).header("Location", "/elsewhere");
    (!elsewhere).then(|| Instead::respond(response))
}
