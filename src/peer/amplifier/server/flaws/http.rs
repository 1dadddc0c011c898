//! Answers that are carried wrongly: heads, lengths, codings, bytes.

use crate::protocol::amplifier::Endpoint;
use crate::wire::http::{Content, Ending, Piece, Response};
use crate::wire::http_head;

use super::super::quirks::{Effect, Instead};
use super::{Entry, flaw};

/// What a query ends with that a redirect has led to.
const MOVED: &str = "moved=1";

pub const FLAWS: &[Entry] = &[
    flaw!("status-line-short" "http/valid-head" "The status line has no version."
        Effect::Carried(|r| raw(r, |head| head.replacen("HTTP/1.1 ", "", 1)))),
    flaw!("header-without-colon" "http/valid-head" "A header line has no colon."
        Effect::Carried(|r| raw(r, |head| head.replacen("\r\n", "\r\nX-Powered-By\r\n", 1)))),
    flaw!("header-with-space" "http/valid-head" "A header name has a space before its colon."
        Effect::Carried(|r| raw(r, |head| head.replacen("Content-Type:", "Content-Type :", 1)))),
    flaw!("length-too-long" "http/length" "The head announces ten bytes more than there are, and the connection is closed."
    Effect::Carried(|r| if let Some(length) = length(r) {
        announce(r, (length + 10).to_string());
        r.ending = Ending::Close;
    })),
    flaw!("length-in-characters" "http/length" "The head announces the number of characters, not of bytes."
    Effect::Carried(|r| if let Content::Whole(body) = &r.content {
        let characters = String::from_utf8_lossy(body).chars().count();
        announce(r, characters.min(body.len().saturating_sub(1)).to_string());
    })),
    flaw!("length-twice" "http/length" "The head has two lengths that differ."
    Effect::Carried(|r| if let Some(length) = length(r) {
        announce(r, length.to_string());
        announce(r, (length + 1).to_string());
    })),
    flaw!("body-cut" "http/length" "The connection is closed in the middle of the body."
    Effect::Carried(|r| if let Some(length) = length(r) {
        r.manner.cut = Some(http_head::encode(&r.head(true)).len() + length / 2);
        r.ending = Ending::Close;
    })),
    flaw!("chunks-unended" "http/length" "The connection is closed before the last chunk."
    Effect::Carried(|r| if let Some(body) = take(r) {
        r.headers.push(("Transfer-Encoding".to_owned(), Some("chunked".to_owned())));
        let chunk = [format!("{:x}\r\n", body.len()).into_bytes(), body, b"\r\n".to_vec()].concat();
        r.content = Content::Raw(vec![Piece::now(chunk)]);
        r.ending = Ending::Close;
    })),
    flaw!("lists-unanswered" "http/answered" "A request for a list closes the connection."
    Effect::Instead(|s| {
        let lists = [Endpoint::ListSessions, Endpoint::ListProfiles, Endpoint::ListAgents, Endpoint::ListCollections];
        lists.into_iter().any(|list| s.is(list)).then_some(Instead::Close)
    })),
    flaw!("info-reset" "http/answered" "A request for the server's information cuts the connection."
        Effect::Instead(|s| s.is(Endpoint::Info).then_some(Instead::Reset))),
    flaw!("bodies-as-text" "http/json" "Bodies are texts for humans."
        Effect::Body(|b| *b = format!("answer: {}", b.len()).into_bytes())),
    flaw!("body-twice" "http/json" "The JSON of a body is there twice."
        Effect::Body(|b| *b = [b.clone(), b.clone()].concat())),
    flaw!("json-as-text" "http/content-type" "The content type is that of a text."
        Effect::Carried(|r| if is_json(r) { content_type(r, "text/plain; charset=utf-8") })),
    flaw!("content-type-missing" "http/content-type" "There is no content type."
        Effect::Carried(|r| if is_json(r) { r.headers.retain(|(name, _)| name != "Content-Type") })),
    flaw!("bad-byte" "http/utf-8" "A body has a byte that no UTF-8 has, within a text."
    Effect::Body(|b| if let Some(at) = b.windows(2).rposition(|two| two == b":\"") {
        b.insert(at + 2, 0xff);
    })),
    flaw!("byte-order-mark" "http/no-bom" "A body begins with a byte order mark."
        Effect::Body(|b| drop(b.splice(..0, *b"\xef\xbb\xbf")))),
    flaw!("gzip-in-name-only" "http/encoding" "The head says gzip, and the body is none."
        Effect::Carried(|r| if is_json(r) { header(r, "Content-Encoding", "gzip") })),
    flaw!("coding-unknown" "http/encoding" "The head names a content coding that nobody knows."
        Effect::Carried(|r| if is_json(r) { header(r, "Content-Encoding", "rot13") })),
    flaw!("gzip-unasked" "http/encoding-offered" "Bodies are gzip, whether the request allows it or not."
    Effect::Carried(|r| if let Some(body) = take(r) {
        r.content = Content::Whole(crate::peer::params::encoded("gzip", &body));
        header(r, "Content-Encoding", "gzip");
    })),
    flaw!("redirects-lists" "http/no-redirect" "A request for a list is redirected to the same with a longer query."
    Effect::Instead(|s| {
        let list = s.is(Endpoint::ListSessions) || s.is(Endpoint::ListProfiles);
        let target = s.received.head.target();
        let joined = if target.contains('?') { '&' } else { '?' };
        let target = format!("{target}{joined}{MOVED}");
        (list && !s.received.head.target().ends_with(MOVED)).then(|| Instead::Respond(Box::new(Response::new("307 Temporary Redirect").header("Location", target))))
    })),
];

/// The length of a body; none where it has not all of it.
pub fn length(response: &Response) -> Option<usize> {
    if let Content::Whole(body) = &response.content { Some(body.len()) } else { None }
}

/// Takes the body out.
pub fn take(response: &mut Response) -> Option<Vec<u8>> {
    match std::mem::take(&mut response.content) {
        Content::Whole(body) => Some(body),
        other => {
            response.content = other;
            None
        }
    }
}

pub fn announce(response: &mut Response, length: String) {
    response.headers.push(("Content-Length".to_owned(), Some(length)));
}

pub fn header(response: &mut Response, name: &str, value: &str) {
    response.headers.push((name.to_owned(), Some(value.to_owned())));
}

/// Whether it is an answer, and no event stream.
pub fn is_json(response: &Response) -> bool {
    matches!(response.content, Content::Whole(_))
}

/// Another content type.
pub fn content_type(response: &mut Response, value: &str) {
    response.headers.retain(|(name, _)| name != "Content-Type");
    header(response, "Content-Type", value);
}

/// Changes the head of an answer as it is sent.
fn raw(response: &mut Response, change: fn(String) -> String) {
    if is_json(response) {
        let head = String::from_utf8_lossy(&http_head::encode(&response.head(false))).into_owned();
        response.raw = Some(change(head).into_bytes());
    }
}
