//! How requests are sent, and what is read in answer.

use crate::peer::params::encoded;
use crate::wire::http::{Content, Piece, Request};

use super::super::quirks::{Effect, Switch};
use super::{Entry, flaw};

pub const FLAWS: &[Entry] = &[
    flaw!("puts" "http/client-post" "Requests are sent by PUT." Effect::Http(|request| request.method = "PUT".into())),
    flaw!("api-path" "http/client-url" "Requests go to a folder below the provider's URL."
        Effect::Http(|request| request.target = format!("{}/api", request.target.trim_end_matches('/')))),
    flaw!("bad-header" "http/client-valid-head" "A header has a space in its name."
        Effect::Http(|request| set(request, "Open Ctx", Some("0.1")))),
    flaw!("no-host" "http/client-host" "Requests do not say where they go."
        Effect::Http(|request| set(request, "Host", None))),
    flaw!("short-length" "envelope/client-json"
        "The length of a body leaves its end out."
    Effect::Http(|request| {
        let length = if let Content::Whole(body) = &request.content { body.len().saturating_sub(1) } else { 0 };
        set(request, "Content-Length", Some(&length.to_string()));
    })),
    flaw!("short-chunks" "http/client-length" "The size of a chunk leaves its end out."
    Effect::Http(|request| {
        if let Content::Whole(body) = &request.content {
            let chunk = [format!("{:x}\r\n", body.len().saturating_sub(1)).as_bytes(), body, b"\r\n0\r\n\r\n"].concat();
            request.content = Content::Raw(vec![Piece::now(chunk)]);
        }
        set(request, "Transfer-Encoding", Some("chunked"));
    })),
    flaw!("text-plain" "http/client-content-type" "Requests say that they are plain text."
        Effect::Http(|request| set(request, "Content-Type", Some("text/plain")))),
    flaw!("latin-1" "http/client-utf-8" "Requests are encoded in Latin-1." Effect::Text(|body| {
        let text = String::from_utf8_lossy(body).into_owned();
        *body = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(0xbf)).collect();
    })),
    flaw!("byte-order-mark" "http/client-no-bom" "A byte order mark stands before requests."
        Effect::Text(|body| drop(body.splice(0..0, *b"\xef\xbb\xbf")))),
    flaw!("compresses" "http/client-plain-body" "Requests are compressed." Effect::Http(|request| {
        if let Content::Whole(body) = &mut request.content {
            *body = encoded("gzip", body);
        }
        set(request, "Content-Encoding", Some("gzip"));
    })),
    flaw!("refuses-200" "http/client-status-ok" "Answers with the status 200 are not taken, unless they are metadata."
        Effect::Fails(|seen| seen.status == 200 && seen.of != "meta")),
    flaw!("only-200" "http/client-status-2xx" "Answers with another status than 200 are not taken."
        Effect::Fails(|seen| seen.status != 200)),
    flaw!("reads-failures" "http/client-status-failed" "The body of an answer counts whatever its status is."
        Effect::Switch(Switch::ReadsFailures)),
    flaw!("exact-content-type" "http/client-charset"
        ["http/client-content-type-any": "A content type with parameters is a content type."]
        "A content type with parameters is not taken."
        Effect::Fails(|seen| seen.header("content-type").is_some_and(|value| value.contains(';')))),
    flaw!("checks-content-type" "http/client-content-type-any" "Only answers that say that they are JSON are taken."
        Effect::Fails(|seen| !seen.header("content-type").is_some_and(|value| value.starts_with("application/json")))),
    flaw!("headers-by-case" "http/client-header-case" "Headers are found only as they are usually written."
    Effect::Fails(|seen| {
        ["Content-Length", "Transfer-Encoding"].iter().any(|name| seen.has_header_but_not_as(name))
    })),
    flaw!("pieces-apart" "http/client-segments" "Each piece of an answer is decoded by itself."
        Effect::Switch(Switch::PiecesApart)),
    flaw!("no-chunks" "http/client-chunked" "Chunked answers are not taken."
        Effect::Fails(|seen| seen.header("transfer-encoding").is_some())),
    flaw!("needs-length" "http/client-until-close" "Answers that end with their connection are not taken."
        Effect::Fails(|seen| seen.header("transfer-encoding").is_none() && seen.header("content-length").is_none())),
    flaw!("offers-in-vain" "http/client-compressed" "It offers codings that it does not know."
        Effect::Fails(|seen| seen.header("content-encoding").is_some())),
    flaw!("interim-as-answer" "http/client-interim" "An interim answer is taken for the answer."
        Effect::Fails(|seen| seen.interim && !seen.told_to_go_on)),
    flaw!("unasked-continue" "http/client-continue" "`100 Continue` makes a call fail that did not ask for it."
        Effect::Fails(|seen| seen.told_to_go_on)),
    flaw!("no-reuse" "http/client-reuse" "A connection that was kept is used, and its answer lost."
        Effect::Fails(|seen| seen.reused)),
    flaw!("ignores-close" "http/client-close" "After an answer that ends its connection, the next call goes to it."
        Effect::Switch(Switch::IgnoresClose)),
    flaw!("trusts-idle" "http/client-idle-close" "A call fails after the provider has closed an idle connection."
        Effect::Fails(|seen| seen.replaced)),
    flaw!("no-redirects" "http/client-redirect" "Redirects are not followed." Effect::Switch(Switch::NoRedirects)),
    flaw!("redirects-forever" "http/client-redirect-loop" "Redirects without end are followed without end."
        Effect::Switch(Switch::RedirectsForever)),
    flaw!("no-byte-order-mark" "http/client-bom" "A byte order mark before an answer is not taken."
        Effect::Fails(|seen| seen.body.starts_with(b"\xef\xbb\xbf"))),
];

fn set(request: &mut Request, name: &str, value: Option<&str>) {
    request.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
    request.headers.push((name.to_owned(), value.map(str::to_owned)));
}
