use serde_json::json;

use super::super::super::testing::Play;
use crate::trace::{EventKind, HttpResponse, Payload};

const JSON: (&str, &str) = ("Content-Type", "application/json; charset=utf-8");
const HOST: (&str, &str) = ("Host", "127.0.0.1:1");
const META: &[u8] = b"{\"method\":\"meta\",\"params\":{}}";
const NAME: &[u8] = b"{\"result\":{\"name\":\"n\"}}";

fn sends(start: &str, headers: &[(&str, &str)]) -> Vec<String> {
    Play::new().request(start, headers, META).broken()
}

fn responds(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Play {
    Play::new().asks("meta", json!({})).responds(status, headers, body)
}

#[test]
fn requests_are_posted_with_one_host_and_a_json_type() {
    assert!(sends("POST / HTTP/1.1", &[HOST, JSON]).is_empty());
    assert!(sends("POST /a?b=c HTTP/1.1", &[HOST, ("content-type", "application/vnd.a+json")]).is_empty());
    assert_eq!(sends("POST / HTTP/1.1", &[JSON]), ["http/client-host"]);
    assert_eq!(sends("POST / HTTP/1.1", &[HOST, HOST, JSON]), ["http/client-host"]);
    assert!(sends("POST / HTTP/1.0", &[JSON]).is_empty());
    assert_eq!(sends("PUT / HTTP/1.1", &[HOST, JSON]), ["http/client-post"]);
    assert_eq!(sends("POST / HTTP/1.1", &[HOST]), ["http/client-content-type"]);
    assert_eq!(sends("POST / HTTP/1.1", &[HOST, ("Content-Type", "text/plain")]), ["http/client-content-type"]);
    assert_eq!(sends("POST / HTTP/1.1", &[HOST, JSON, ("Content-Encoding", "gzip")]), ["http/client-plain-body"]);
    for head in ["POST / HTTP/2", "POST /a b HTTP/1.1", "P@ST / HTTP/1.1"] {
        assert!(sends(head, &[HOST, JSON]).contains(&"http/client-valid-head".to_owned()), "{head}");
    }
    assert_eq!(sends("POST / HTTP/1.1", &[HOST, JSON, ("a b", "c")]), ["http/client-valid-head"]);
}

#[test]
fn a_browser_may_ask_first_and_go_on_with_a_get_after_a_redirect() {
    let preflight = [HOST, ("Access-Control-Request-Method", "POST")];
    assert!(Play::new().request("OPTIONS / HTTP/1.1", &preflight, b"").responds(204, &[], b"").broken().is_empty());
    let get = |play: Play| play.request("GET / HTTP/1.1", &[HOST], b"").responds(405, &[], b"").broken();
    assert_eq!(get(Play::new()), ["http/client-post"]);
    assert_eq!(get(responds(303, &[("Location", "/")], b"")), ["http/redirect"]);
}

#[test]
fn a_redirect_keeps_the_method() {
    assert!(responds(307, &[("Location", "/b")], b"").broken().is_empty());
    assert!(responds(308, &[("Location", "/b")], b"moved").assessed("http/redirect"));
    assert_eq!(responds(302, &[("Location", "/b")], b"").broken(), ["http/redirect"]);
    assert_eq!(responds(307, &[], b"").broken(), ["http/redirect"]);
}

#[test]
fn another_method_is_refused() {
    let on_purpose = Play::new().request_head("GET / HTTP/1.1", &[HOST]).deliberate().client_body("", true);
    assert!(on_purpose.responds(200, &[], b"x").broken().is_empty());
    let answers = |status| Play::new().request("GET / HTTP/1.1", &[HOST], b"").responds(status, &[], b"x").broken();
    assert_eq!(answers(405), ["http/client-post"]);
    assert_eq!(answers(200), ["http/client-post", "http/method-not-allowed"]);
}

#[test]
fn an_answer_has_a_valid_head_and_a_json_type() {
    assert_eq!(responds(200, &[("a b", "c"), JSON], NAME).broken(), ["http/valid-head"]);
    let raw = |line: &str| {
        let raw = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{line}\r\n\r\n");
        let headers = vec![
            ("Content-Type".to_owned(), "application/json".to_owned()),
            (line.trim_end_matches(':').to_owned(), String::new()),
        ];
        let start = "HTTP/1.1 200 OK".to_owned();
        let head = HttpResponse { start, headers, raw: Some(Payload::Text(raw)) };
        Play::new().asks("meta", json!({})).server(EventKind::HttpResponse(head)).broken()
    };
    assert_eq!(raw("X-Odd"), ["http/valid-head"]);
    assert!(raw("X-Odd:").is_empty());
    assert_eq!(responds(799, &[JSON], NAME).broken(), ["http/valid-head", "http/status-result"]);
    assert_eq!(responds(200, &[], NAME).broken(), ["http/content-type"]);
    assert_eq!(responds(200, &[("content-type", "text/html")], NAME).broken(), ["http/content-type"]);
}

#[test]
fn an_answer_is_coded_as_the_request_allows() {
    let answer = |accept: Option<&str>, coding: &str| {
        let lines = [HOST, JSON, ("Accept-Encoding", accept.unwrap_or_default())];
        let lines = if accept.is_some() { &lines[..] } else { &lines[..2] };
        let play = Play::new().request("POST / HTTP/1.1", lines, META);
        play.responds(200, &[JSON, ("Content-Encoding", coding)], NAME).broken()
    };
    assert!(answer(None, "gzip").is_empty());
    assert!(answer(Some("gzip, deflate;q=0.5"), "x-gzip").is_empty());
    assert!(answer(Some("*"), "br").is_empty());
    assert!(answer(Some("identity"), "identity").is_empty());
    for accept in ["", "deflate", "gzip;q=0", "gzip;q=0, *"] {
        assert_eq!(answer(Some(accept), "gzip"), ["http/encoding-offered"], "{accept}");
    }
}

#[test]
fn a_body_that_does_not_decode_is_told_where_the_coding_is_known() {
    use crate::trace::{Body, Message};
    let coded = |coding: &str| {
        let head = [JSON, ("Content-Encoding", coding)];
        let body = EventKind::Body(Body { bytes: Payload::Binary(vec![0xff]), last: true, trailers: vec![] });
        let message = EventKind::Message(Message { text: true, json: None, payload: None, frames: 1 });
        Play::new().asks("meta", json!({})).response_head(200, &head).server(body).server(message).broken()
    };
    assert_eq!(coded("gzip"), ["http/encoding"]);
    assert_eq!(coded("rot13"), ["http/encoding"], "no such coding is registered");
    assert!(coded("br").is_empty());
    assert!(coded("gzip, zstd").is_empty());
}
