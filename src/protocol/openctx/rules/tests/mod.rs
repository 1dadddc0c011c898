//! Every rule: traces that break it, and sound ones that it must not accuse.

mod messages;

use serde_json::{Value, json};

use crate::protocol::openctx::testing::Play;
use crate::trace::{Closed, Direction, EventKind, Exited, HttpResponse, Payload};

#[test]
fn an_ordinary_session_breaks_nothing() {
    let meta = json!({"name": "n", "mentions": {"label": "l"}, "items": {"messageSelectors": [{"pattern": ".*"}]},
        "annotations": {"selectors": [{"path": "**/*.ts", "contentContains": "x"}, {}]}});
    let mention = json!({"title": "t", "uri": "https://a.example/b", "description": "d", "data": {"k": 1}});
    let item = json!({"title": "t", "url": "https://a.example", "ui": {"hover": {"markdown": "m", "text": "t"}},
        "ai": {"content": "c"}});
    let at = |line, character| json!({"line": line, "character": character});
    let annotation = json!({"uri": "file:///a.ts", "range": {"start": at(0, 0), "end": at(1, 1)}, "item": item});
    let play = Play::new()
        .asks("meta", json!({}))
        .gives(meta)
        .asks("mentions", json!({"query": "q", "uri": "file:///a", "codebase": "c"}))
        .gives(json!([mention, mention]))
        .asks("items", json!({"mention": mention}))
        .gives(json!([item]))
        .asks("items", json!({"message": "m"}))
        .says(json!({"error": {"code": -32000, "message": "no", "data": {"why": "not"}}}))
        .asks("annotations", json!({"uri": "file:///a.ts", "content": "x\ny"}))
        .gives(json!([annotation]));
    assert_eq!(play.broken(), [""; 0]);
    assert_eq!(play.notes(), [""; 0]);
    for short in [
        "envelope/answered",
        "envelope/outcome",
        "http/status-result",
        "http/status-error",
        "http/timely",
        "meta/name",
        "meta/pattern",
        "mentions/uri-syntax",
        "items/hover",
        "annotations/range-inside",
        "envelope/client-method",
        "http/client-post",
    ] {
        assert!(play.assessed(short), "{short}");
    }
}

fn asked() -> Play {
    Play::new().asks("meta", json!({}))
}

fn junk() -> EventKind {
    EventKind::Bytes { bytes: b"junk".as_slice().into() }
}

/// Ends a wait with a further exchange.
fn later(play: Play, seconds: u64) -> Play {
    play.wait(seconds).asks("mentions", json!({})).gives(json!([]))
}

#[test]
fn a_connection_that_is_closed_without_a_response_leaves_a_request_unanswered() {
    assert_eq!(asked().server_closes().broken(), ["envelope/answered"]);
    assert!(asked().client_closes().server_closes().broken().is_empty(), "the client had gone");
    let half = Play::new().request_head("POST / HTTP/1.1", &[("Host", "a"), ("Content-Type", "application/json")]);
    assert!(half.server_closes().broken().is_empty(), "the request was not whole");
}

#[test]
fn an_idle_connection_may_be_closed_while_a_request_is_under_way() {
    let reused = Play::new().over(7).asks("meta", json!({})).gives(json!({"name": "n"})).asks("meta", json!({}));
    assert!(reused.server_closes().broken().is_empty());
}

#[test]
fn requests_that_follow_one_another_on_a_connection_show_that_it_is_kept() {
    let twice = Play::new().over(7).asks("items", json!({})).gives(json!([]));
    assert!(!twice.assessed("http/keep-alive"));
    assert!(twice.asks("items", json!({})).gives(json!([])).assessed("http/keep-alive"));
}

#[test]
fn a_response_that_ends_early_or_does_not_end_in_time_is_shorter_than_its_head_says() {
    assert_eq!(asked().response_head(200, &[]).server_closes().broken(), ["http/length"]);
    assert_eq!(asked().response_head(200, &[]).server(junk()).server_closes().broken(), ["http/length"]);
    assert_eq!(asked().gives(json!({"name": "n"})).server(junk()).broken(), ["http/length"]);
    let late = EventKind::Bytes { bytes: b"HTTP/1.1 408 Request Timeout\r\n\r\n".as_slice().into() };
    assert!(asked().gives(json!({"name": "n"})).server(late).broken().is_empty(), "it says that it closes");
    let closing =
        EventKind::Bytes { bytes: b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".as_slice().into() };
    assert!(asked().gives(json!({"name": "n"})).server(closing).broken().is_empty(), "so does this");
    let second = EventKind::Bytes { bytes: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".as_slice().into() };
    assert_eq!(asked().gives(json!({"name": "n"})).server(second).broken(), ["http/length"]);
}

#[test]
fn bytes_after_the_response_to_a_chunked_request_show_that_chunks_are_unknown() {
    let head = [("Host", "a"), ("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")];
    let asked =
        || Play::new().request_head("POST / HTTP/1.1", &head).body(Direction::ToServer, br#"{"method":"meta"}"#);
    assert_eq!(asked().gives(json!({"name": "n"})).server(junk()).broken(), ["http/chunked-request"]);
    let odd = asked().client(junk()).deliberate();
    assert!(odd.gives(json!({"name": "n"})).server(junk()).broken().is_empty(), "the chunks were wrong on purpose");
}

#[test]
fn what_is_no_http_is_told_of_the_end_that_sent_it() {
    assert_eq!(asked().server(junk()).server_closes().broken(), ["http/valid-head"]);
    let connected = || Play::new().client(EventKind::Connected { address: "127.0.0.1:1".to_owned() });
    assert_eq!(connected().client(junk()).broken(), ["http/client-valid-head"]);
    let line = EventKind::Bytes { bytes: b"POST / HTTP/1.1\r\na b: c\r\n\r\n".as_slice().into() };
    assert_eq!(Play::new().client(line).broken(), ["http/client-valid-head"]);
    assert!(Play::new().client(junk()).broken().is_empty(), "it may be the rest of what came before the trace");
    let body = Play::new().request_head("POST / HTTP/1.1", &[("Host", "a"), ("Content-Type", "application/json")]);
    assert_eq!(body.client(junk()).broken(), ["http/client-length"]);
    assert!(Play::new().client(junk()).deliberate().server_closes().broken().is_empty());
}

#[test]
fn half_a_head_is_the_fault_of_whoever_ended_the_connection() {
    let half = || EventKind::Bytes { bytes: b"HTTP/1.1 200 OK\r\nConte".as_slice().into() };
    assert_eq!(asked().server(half()).server_closes().broken(), ["http/valid-head"]);
    assert!(asked().server(half()).client_closes().broken().is_empty());
    assert!(asked().client_closes().server(half()).server_closes().broken().is_empty());
    let whole = EventKind::Bytes { bytes: b"HTTP/1.1 two hundred\r\n\r\n".as_slice().into() };
    assert_eq!(asked().server(whole).client_closes().broken(), ["http/valid-head"]);
}

#[test]
fn half_a_size_or_end_of_a_chunk_is_the_fault_of_whoever_ended_the_connection() {
    let chunks =
        || asked().response_head(200, &[("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")]);
    let bytes = |bytes: &[u8]| EventKind::Bytes { bytes: bytes.into() };
    for half in [b"1f".as_slice(), b"1f\r", b"1f;ext=\"va", b"\r"] {
        assert!(chunks().server(bytes(half)).client_closes().broken().is_empty());
        assert_eq!(chunks().server(bytes(half)).server_closes().broken(), ["http/length"]);
    }
    for wrong in [b"xyz".as_slice(), b"-1\r\n", b"1f{}", b"\r{", b"\r\r"] {
        assert_eq!(chunks().server(bytes(wrong)).client_closes().broken(), ["http/length"]);
    }
}

#[test]
fn a_late_response_is_told_and_one_that_never_came_is_missed() {
    assert!(asked().wait(9).gives(json!({"name": "n"})).broken().is_empty());
    assert_eq!(asked().wait(11).gives(json!({"name": "n"})).broken(), ["http/timely"]);
    assert!(later(asked(), 9).broken().is_empty());
    assert_eq!(later(asked(), 11).broken(), ["http/timely"]);
    assert_eq!(later(asked(), 301).broken(), ["http/timely", "envelope/answered"]);
    assert!(later(asked().client_closes(), 301).broken().is_empty());
}

#[test]
fn what_is_wrong_on_purpose_may_be_answered_in_any_way() {
    for bad in ["{", "[]", "{\"method\": 5}"] {
        assert!(Play::new().posts(bad.as_bytes()).deliberate().gives(json!(5)).broken().is_empty(), "{bad}");
        assert!(Play::new().posts(bad.as_bytes()).deliberate().server_closes().broken().is_empty(), "{bad}");
    }
    // A request for one of the methods has an outcome, whatever its parameters are.
    let wrong = || Play::new().posts(br#"{"method":"items","params":{"message":5}}"#).deliberate();
    assert!(wrong().says(json!({"error": {"code": 1, "message": "wrong"}})).broken().is_empty());
    assert_eq!(wrong().says(json!({"errors": ["wrong"]})).broken(), ["envelope/outcome"]);
    let peer = asked().response_head(500, &[]).deliberate().server_closes();
    assert!(peer.broken().is_empty(), "{:?}", peer.broken());
    assert!(
        later(asked().server(EventKind::Bytes { bytes: b"".as_slice().into() }).deliberate(), 301).broken().is_empty()
    );
}

#[test]
fn a_result_beside_settings_that_nobody_knows_is_one_of_its_method() {
    let broken = |body: &str, result: Value| Play::new().posts(body.as_bytes()).deliberate().gives(result).broken();
    let meta = r#"{"method":"meta","settings":{"unknown":1}}"#;
    assert_eq!(broken(meta, json!({ "name": null })), ["meta/name"]);
    assert!(broken(meta, json!({ "name": "a provider" })).is_empty());
    // What repeats a wrong URI is no fault of the provider.
    let annotations = r#"{"method":"annotations","params":{"uri":"no uri","content":""}}"#;
    let of_wrong_uri = json!([{ "uri": "no uri", "item": { "title": "a" } }]);
    assert!(broken(annotations, of_wrong_uri).is_empty());
    let wrong = r#"{"method":"items","params":{"message":5}}"#;
    assert!(broken(wrong, json!([{}])).is_empty(), "nobody says what these parameters give");
}

#[test]
fn what_is_wrong_on_purpose_is_answered_as_http_wants_it() {
    let odd = || Play::new().posts(b"{").deliberate();
    let long = [("Content-Type", "application/json"), ("Content-Length", "10")];
    assert_eq!(odd().response_head(400, &long).server_closes().broken(), ["http/length"]);
    assert_eq!(odd().responds(200, &[], b"{").broken(), ["envelope/json"]);
    assert!(odd().responds(400, &[], b"{").broken().is_empty());
    // Whoever refuses a request may reset the connection.
    let reset = EventKind::Closed(Closed::Reset);
    assert!(odd().response_head(400, &long).server(reset).broken().is_empty());
    // Of a request that is no HTTP nothing can be said.
    let bad = || Play::new().request_head("POST / HTTP/1.1", &[("Host", "a"), ("Host", "b")]).deliberate();
    let bad = || bad().body(Direction::ToServer, b"{}");
    assert!(bad().response_head(400, &long).server_closes().broken().is_empty());
}

#[test]
fn a_request_that_stops_short_is_told_where_the_client_waits() {
    let head = [("Host", "127.0.0.1:1"), ("Content-Type", "application/json"), ("Content-Length", "10")];
    let begun = || Play::new().request_head("POST / HTTP/1.1", &head);
    assert_eq!(begun().wait(3).client_closes().broken(), ["http/client-length"]);
    assert_eq!(later(begun(), 3).broken(), ["http/client-length"]);
    assert!(begun().wait(1).client_closes().broken().is_empty());
    assert!(begun().response_head(413, &[]).wait(3).client_closes().broken().is_empty());
}

#[test]
fn a_name_may_come_again() {
    let play = asked().gives(json!({"name": "n"}));
    let mut again = play.asks("items", json!({}));
    again.events.iter_mut().for_each(|event| event.conn = Some("same".to_owned()));
    assert!(again.on("same").gives(json!([])).broken().is_empty());
}

fn exits(code: Option<i32>, signal: Option<i32>, asked: bool) -> EventKind {
    EventKind::Exited(Exited { pid: 1, code, signal, asked })
}

#[test]
fn a_crash_after_a_request_is_held_against_the_provider() {
    assert_eq!(asked().add(None, exits(None, Some(11), false)).broken(), ["robustness/alive"]);
    assert_eq!(asked().add(None, exits(Some(1), None, false)).broken(), ["robustness/alive"]);
    for exit in [exits(Some(0), None, false), exits(None, Some(15), false), exits(Some(1), None, true)] {
        assert!(asked().add(None, exit).broken().is_empty());
    }
    assert!(Play::new().add(None, exits(Some(1), None, false)).broken().is_empty(), "nobody had asked anything");
}

#[test]
fn a_crash_of_a_client_is_its_own() {
    let broken = |play: Play| {
        let mut rules = super::of();
        let mut out = crate::protocol::Judgements::default();
        rules.iter_mut().for_each(|rule| rule.processes(crate::trace::End::Client));
        play.events.iter().for_each(|event| rules.iter_mut().for_each(|rule| rule.event(event, &mut out)));
        out.violations.iter().map(|violation| violation.requirement).collect::<Vec<_>>()
    };
    assert_eq!(broken(asked().add(None, exits(None, Some(6), false))), ["openctx/0.1/robustness/client-alive"]);
    assert!(
        broken(asked().add(None, exits(Some(1), None, false))).is_empty(),
        "one that is not driven ends as it likes"
    );
}

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
fn a_response_has_a_valid_head_and_a_json_type() {
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
fn a_response_is_coded_as_the_request_allows() {
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
    for accept in ["", "deflate", "gzip;q=0", "GZIP ; Q=0.0", "gzip;q=0, *"] {
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

#[test]
fn a_length_that_counts_characters_is_told_as_such() {
    let cut = r#"{"result":{"name":"größe"}"#;
    let ascii = r#"{"result":{"name":"size"}"#;
    let answer = |head: &[(&str, &str)], body: &str| responds(200, head, body.as_bytes()).broken();
    assert_eq!(answer(&[JSON, ("Content-Length", "28")], cut), ["http/length"]);
    assert_eq!(answer(&[JSON], cut), ["envelope/json"], "no length was given");
    assert_eq!(answer(&[JSON, ("Content-Length", "25")], ascii), ["envelope/json"]);
}
