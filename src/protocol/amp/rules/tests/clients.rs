//! What binds the client, as far as its handshakes, requests and pongs show it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::protocol::Judgements;
use crate::protocol::amp::editions::CLI;
use crate::protocol::amp::rules;
use crate::protocol::amp::testing::{TraceBuilder, head, request, request_head, response_head};
use crate::trace::opcode;
use crate::trace::{Closed, End, EventKind, Exited, Frame, Head, Mark, Payload};

const LOCKFILE: &str = "/home/u/.local/share/amp/ide/8080.json";

fn upgrade(request: Head) -> TraceBuilder {
    TraceBuilder::new().client(EventKind::Handshake(request))
}

fn starting(start: &str) -> Head {
    Head { start: start.to_owned(), ..request_head(&[]) }
}

#[test]
fn each_part_of_the_clients_handshake_is_judged() {
    let cases = [
        (starting("POST /?auth=t HTTP/1.1"), "method"),
        (starting("GET /?auth=t HTTP/1.0"), "http-version"),
        (starting("GET /?auth=t"), "http-version"),
        (starting("GET ?auth=t HTTP/1.1"), "target"),
        (starting("GET /amp?auth=t HTTP/1.1"), "target"),
        (request_head(&[("Host", "")]), "host"),
        (request_head(&[("Upgrade", "h2c")]), "upgrade"),
        (request_head(&[("Connection", "close")]), "connection"),
        (request_head(&[("Sec-WebSocket-Version", "8")]), "version"),
        (request_head(&[("Sec-WebSocket-Key", "c2hvcnQ=")]), "key"),
    ];
    for (request, slug) in cases {
        assert_eq!(upgrade(request.clone()).broken("cli"), [format!("connection/client-{slug}")]);
        assert_eq!(upgrade(request.clone()).deliberate().broken("cli"), [""; 0], "{slug}: on purpose");
    }
    for start in ["GET /?x=1&auth=t HTTP/1.1", "GET ws://localhost:1/?auth=t HTTP/1.1", "GET / HTTP/1.1"] {
        assert_eq!(upgrade(starting(start)).broken("guide"), [""; 0], "{start}");
    }
}

#[test]
fn each_handshake_has_a_key_of_its_own() {
    let trace = TraceBuilder::open().client(EventKind::Closed(Closed::Eof)).server(EventKind::Closed(Closed::Eof));
    assert_eq!(trace.connect("again").broken("cli"), [""; 0]);
    let trace = TraceBuilder::open().on("again").client(EventKind::Handshake(request_head(&[])));
    assert_eq!(trace.broken("cli"), ["connection/client-key-fresh"]);
}

#[test]
fn the_client_sends_nothing_before_it_is_accepted() {
    let sent = |trace: TraceBuilder| trace.client_frame(opcode::PING, b"");
    assert_eq!(sent(upgrade(request_head(&[]))).broken("cli"), ["connection/client-waits"]);
    let refused = upgrade(request_head(&[])).server(EventKind::Handshake(head("HTTP/1.1 401 Unauthorized", &[], &[])));
    assert_eq!(sent(refused).broken("cli"), ["connection/client-waits"]);
    let accepted = upgrade(request_head(&[])).server(EventKind::Handshake(response_head(&[])));
    assert_eq!(sent(accepted).broken("cli"), [""; 0]);
    assert_eq!(sent(TraceBuilder::new()).broken("cli"), [""; 0], "a trace may begin in the middle");
}

fn shows(auth: &str) -> TraceBuilder {
    TraceBuilder::new()
        .connect_to("main", 8080)
        .client(EventKind::Handshake(starting(&format!("GET /{auth} HTTP/1.1"))))
}

fn locked(trace: TraceBuilder, token: &str) -> TraceBuilder {
    let content =
        json!({"port": 8080, "authToken": token, "pid": 7, "ideName": "ed", "workspaceFolders": ["/w"]}).to_string();
    trace.file(LOCKFILE, &content)
}

#[test]
fn the_token_is_that_of_the_lockfile_with_the_port() {
    let wrong = ["connection/client-token"];
    assert_eq!(locked(shows("?auth=a%20secret%2Btoken"), "a secret+token").broken("cli"), [""; 0]);
    assert!(locked(shows("?auth=a-secret-token"), "a-secret-token").assessed("cli", "connection/client-token"));
    assert_eq!(locked(shows("?auth=another-token"), "a-secret-token").broken("guide"), wrong);
    assert_eq!(locked(shows("?auth="), "a-secret-token").broken("cli"), wrong);
    assert_eq!(locked(shows(""), "a-secret-token").broken("cli"), wrong);
    assert_eq!(locked(locked(shows("?auth=a-secret-token"), "a-secret-token"), "its-successor").broken("cli"), [""; 0]);
    assert_eq!(shows("?auth=another-token").broken("cli"), [""; 0], "no lockfile was seen");
}

#[test]
fn tokens_are_compared_by_what_stands_in_their_place() {
    let wrong = ["connection/client-token"];
    assert_eq!(locked(shows("?auth=<secret:1******>"), "<secret:1***>").broken("cli"), [""; 0]);
    assert_eq!(locked(shows("?auth=<secret:2***>"), "<secret:1***>").broken("cli"), wrong);
    assert_eq!(locked(shows("?auth=********"), "<secret:1***>").broken("cli"), wrong);
    let hidden = locked(shows("?auth=<secret:2***>"), "**********").broken("cli");
    assert_eq!(hidden, [""; 0], "nobody can tell");
}

fn client_sends(edition: &'static str, method: &str, params: Value) -> Vec<String> {
    let broken = TraceBuilder::open().client_sends(request(edition, "1", method, params)).broken(edition);
    broken.into_iter().filter(|short| short.contains("/client-")).collect()
}

#[test]
fn a_client_sends_requests() {
    for wrong in [
        json!({}),
        json!([]),
        json!({"clientRequest": {"id": "1"}}),
        json!({"clientRequest": {"ping": {"message": ""}}}),
        json!({"clientRequest": {"id": "1", "ping": {"message": ""}, "readFile": {"path": "/a"}}}),
    ] {
        assert_eq!(
            TraceBuilder::open().client_sends(wrong.clone()).broken("cli"),
            ["envelope/client-request"],
            "{wrong}"
        );
    }
    // A key that nobody knows may hold anything beside the method.
    let beside = json!({"clientRequest": {"jsonrpc": "2.0", "id": "1", "ping": {"message": ""}, "meta": {}}});
    assert!(TraceBuilder::open().client_sends(beside).broken("cli").is_empty());
    let two = json!({"clientRequest": {"id": "1", "method": {"readFile": {"path": "/a"}, "openURI": {"uri": "a:b"}}}});
    assert_eq!(TraceBuilder::open().client_sends(two).broken("guide"), ["envelope/client-request"]);
}

#[test]
fn the_id_of_a_request_is_a_string() {
    for edition in ["cli", "guide"] {
        let trace = TraceBuilder::open().client_sends(request(edition, 1, "readFile", json!({"path": "/a"})));
        assert_eq!(trace.broken(edition), ["envelope/client-id-string"], "{edition}");
    }
}

#[test]
fn a_client_asks_for_methods_of_the_edition() {
    assert_eq!(client_sends("cli", "fly", json!({})), ["envelope/client-known-method"]);
    assert_eq!(client_sends("guide", "ping", json!({"message": "m"})), ["envelope/client-known-method"]);
}

#[test]
fn the_parameters_are_those_of_the_method() {
    let cases = [
        ("cli", "readFile", json!({}), "read-file/client-params"),
        ("guide", "readFile", json!({"path": 1}), "read-file/client-params"),
        ("cli", "readFile", json!({"path": "a"}), "read-file/client-absolute-path"),
        ("cli", "editFile", json!({"path": "/a"}), "edit-file/client-params"),
        ("cli", "editFile", json!({"path": "a", "fullContent": ""}), "edit-file/client-absolute-path"),
        ("guide", "editFile", json!({"path": "/a", "start": "0", "end": 1, "newText": ""}), "edit-file/client-params"),
        ("cli", "getDiagnostics", json!({}), "diagnostics/client-params"),
        ("guide", "getDiagnostics", json!(null), "diagnostics/client-params"),
        ("cli", "getDiagnostics", json!({"path": "a"}), "diagnostics/client-absolute-path"),
        ("guide", "openURI", json!({"url": "a:b"}), "open-uri/client-params"),
        ("cli", "ping", json!({}), "ping/client-params"),
        ("cli", "authenticate", json!({"authToken": 1}), "authenticate/client-params"),
    ];
    for (edition, method, params, short) in cases {
        assert_eq!(client_sends(edition, method, params.clone()), [short], "{edition}: {method} {params}");
    }
    assert_eq!(client_sends("guide", "readFile", json!({"path": "README.md"})), [""; 0]);
    assert_eq!(client_sends("guide", "getDiagnostics", json!({})), [""; 0]);
    assert_eq!(client_sends("cli", "readFile", json!({"path": "C:\\a", "more": 1})), [""; 0]);
}

/// Something that says how late it is.
fn later(trace: TraceBuilder, seconds: u64) -> Vec<String> {
    trace.wait(seconds).server_frame(opcode::PONG, b"").broken("cli")
}

#[test]
fn the_client_answers_pings() {
    let pinged = || TraceBuilder::open().server_frame(opcode::PING, b"a");
    assert_eq!(later(pinged(), 30), ["framing/client-pong"]);
    assert_eq!(later(pinged().client_frame(opcode::PONG, b"b"), 30), ["framing/client-pong-payload"]);
    assert_eq!(later(pinged().client_frame(opcode::PONG, b"a"), 60), [""; 0]);
    assert_eq!(later(pinged().deliberate(), 60), [""; 0]);
}

fn exits(code: Option<i32>, signal: Option<i32>) -> EventKind {
    EventKind::Exited(Exited { pid: 1, code, signal, asked: false })
}

#[test]
fn the_client_answers_close_frames() {
    let closing = || TraceBuilder::open().server_closes(4001);
    assert_eq!(later(closing(), 30), ["framing/client-close-answered"]);
    assert_eq!(later(closing().client(EventKind::Closed(Closed::Eof)), 30), ["framing/client-close-answered"]);
    assert_eq!(closing().client_closes(4001).ends().broken("cli"), [""; 0]);
    assert_eq!(closing().client_closes(4002).ends().broken("cli"), ["framing/client-close-echoed"]);
    assert_eq!(closing().client_closes(1000).ends().broken("cli"), [""; 0], "it may have been about to close");
    assert_eq!(later(closing().client_closes(4001), 60), ["framing/tcp-closed"], "the rest is for the server");
}

#[test]
fn a_client_that_is_leaving_owes_no_close_frame() {
    let left = || TraceBuilder::open().server_closes(1001).client(EventKind::Closed(Closed::Eof));
    assert_eq!(left().add(None, exits(Some(0), None)).wait(60).add(None, exits(Some(0), None)).broken("cli"), [""; 0]);
    assert_eq!(left().broken("cli"), [""; 0]);
    assert_eq!(later(TraceBuilder::open().server_closes(1001).client(EventKind::Closed(Closed::Reset)), 60), [""; 0]);
}

#[test]
fn a_close_code_that_may_not_be_sent_is_not_sent_back() {
    let trace = TraceBuilder::open().server_closes(1005).deliberate().client_closes(1005);
    assert_eq!(trace.broken("cli"), ["framing/close-code", "framing/client-close-refused"]);
}

/// The requirements that the rules find broken where the process in the trace is the client.
fn judged(trace: &TraceBuilder) -> Judgements {
    let (mut all, mut out) = (rules::of(&CLI), Judgements::default());
    all.iter_mut().for_each(|rule| rule.processes(End::Client));
    trace.events.iter().for_each(|event| all.iter_mut().for_each(|rule| rule.event(event, &mut out)));
    all.iter_mut().for_each(|rule| rule.end(&mut out));
    out
}

fn blamed(trace: &TraceBuilder) -> Vec<&'static str> {
    judged(trace).violations.into_iter().map(|violation| violation.requirement).collect()
}

#[test]
fn a_crash_of_the_client_is_held_against_it() {
    let alive = ["amp/cli/robustness/client-alive"];
    assert_eq!(blamed(&TraceBuilder::open().add(None, exits(None, Some(11)))), alive);
    assert_eq!(blamed(&TraceBuilder::open().add(None, exits(Some(134), None))), alive);
    assert_eq!(blamed(&TraceBuilder::open().add(None, exits(Some(1), None))), [""; 0], "it may have had other work");
    assert_eq!(blamed(&TraceBuilder::new().add(None, exits(None, Some(11)))), [""; 0], "it met no server");
    let call = crate::trace::Call { id: 1, call: "ping".to_owned(), params: json!({}), settings: None };
    let driven = TraceBuilder::open().add(None, EventKind::Call(call));
    assert_eq!(blamed(&driven.add(None, exits(Some(1), None))), alive);
}

#[test]
fn a_client_that_hammers_at_a_port_is_told_off() {
    let calm = (0..20).fold(TraceBuilder::new(), |trace, n| trace.wait(1).connect(&n.to_string()));
    assert_eq!(blamed(&calm), [""; 0]);
    let twice = (0..10).fold(TraceBuilder::new(), |trace, n| trace.connect(&n.to_string()));
    assert_eq!(blamed(&twice), [""; 0], "five tries, each after a look whether the handshake is accepted");
    let wild = (0..11).fold(TraceBuilder::new(), |trace, n| trace.connect(&n.to_string()));
    assert_eq!(blamed(&wild), ["amp/cli/lifecycle/client-retries-calmly"]);
    assert_eq!(wild.broken("cli"), [""; 0], "several clients may be there");
    let looks = (0..11).fold(TraceBuilder::new(), |trace, n| trace.connect_to(&n.to_string(), 1));
    assert_eq!(blamed(&looks), [""; 0], "it only looks whether the port accepts");
}

#[test]
fn of_several_clients_that_one_process_started_each_is_counted_for_itself() {
    let process = |pid: u32| EventKind::Mark(Mark { mark: Mark::PROCESS.to_owned(), text: pid.to_string() });
    let many = |pid: &dyn Fn(u32) -> u32| {
        (0..11).fold(TraceBuilder::new(), |trace, n| {
            let mut trace = trace.connect_to(&n.to_string(), 1).client(process(pid(n)));
            let conn = trace.events[trace.events.len() - 2].conn.clone();
            trace.events.last_mut().unwrap().conn = conn;
            let key = BASE64.encode(format!("{n:016}"));
            trace.client(EventKind::Handshake(request_head(&[("Sec-WebSocket-Key", &key)])))
        })
    };
    assert_eq!(blamed(&many(&|n| 100 + n)), [""; 0]);
    assert_eq!(blamed(&many(&|_| 100)), ["amp/cli/lifecycle/client-retries-calmly"]);
    let looks = (0..11).fold(many(&|n| 100 + n), |trace, n| trace.connect_to(&format!("look-{n}"), 1));
    assert_eq!(blamed(&looks), [""; 0], "whoever looked was gone too soon");
}

#[test]
fn a_message_of_the_client_is_whole() {
    let part = Frame {
        fin: false,
        masked: true,
        payload: Payload::from(b"{".as_slice()),
        ..Frame::unmasked(opcode::TEXT, b"{")
    };
    for edition in ["cli", "guide"] {
        let trace = TraceBuilder::open().client(EventKind::Frame(part.clone()));
        assert_eq!(trace.broken(edition), ["framing/client-one-frame"]);
    }
}
