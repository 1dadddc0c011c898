//! Observations of a server, and of a client.

use serde_json::json;

use super::*;
use crate::protocol::amp::testing::{TraceBuilder, close_payload, edition, head, request, request_head, response};
use crate::trace::Direction;

fn observed(edition: &str, trace: &TraceBuilder) -> Vec<Observation> {
    let mut observer = AmpObserver::new(self::edition(edition), End::Server);
    trace.events.iter().flat_map(|event| observer.observe(event)).collect()
}

fn last(edition: &str, trace: &TraceBuilder) -> Observation {
    observed(edition, trace).pop().expect("an observation")
}

#[test]
fn an_acceptance_is_told_from_a_refusal() {
    let accepted = last("cli", &TraceBuilder::open());
    assert_eq!((accepted.kind, accepted.conn.as_deref(), accepted.index), ("handshake", Some("main"), 2));
    assert_eq!(accepted.value["status"], 101);
    assert_eq!(accepted.value["accepted"], true);
    assert_eq!(accepted.value["headers"]["upgrade"], "websocket");

    let mut refusal = head("HTTP/1.1 401 Unauthorized", &[], &[("X-A", "1"), ("x-a", "2")]);
    refusal.body = Some(Payload::Text("no".to_owned()));
    let trace = TraceBuilder::new().client(EventKind::Handshake(request_head(&[])));
    let refused = last("cli", &trace.server(EventKind::Handshake(refusal)));
    assert_eq!(
        json!(refused.value),
        json!({"status": 401, "accepted": false, "headers": {"x-a": "1, 2"}, "body": "no"})
    );
}

#[test]
fn a_response_is_the_same_in_both_editions_but_for_the_method() {
    for edition in ["cli", "guide"] {
        let trace = TraceBuilder::open().server_sends(response(edition, "7", "readFile", json!({"content": "c"})));
        let observed = last(edition, &trace);
        assert_eq!(observed.kind, "response");
        assert_eq!(json!(observed.selectors), json!({"to": "7", "id": "7"}));
        assert_eq!(observed.value["result"], json!({"content": "c"}));
        assert_eq!(observed.value.get("method"), (edition == "cli").then(|| json!("readFile")).as_ref());
    }
}

#[test]
fn a_response_counts_although_a_part_of_it_is_beyond_every_number() {
    let text = r#"{"serverResponse":{"id":"1","ping":{"message":"m"}},"more":1e999999999}"#;
    let message = Message { text: true, json: None, payload: Some(Payload::Text(text.to_owned())), frames: 1 };
    let observed = last("cli", &TraceBuilder::open().server(EventKind::Message(message)));
    assert_eq!((observed.kind, &observed.value["result"]), ("response", &json!({"message": "m"})));
}

#[test]
fn an_error_has_no_result() {
    let error = json!({"code": -32601, "message": "no"});
    let observed =
        last("cli", &TraceBuilder::open().server_sends(json!({"serverResponse": {"id": "1", "error": error}})));
    assert_eq!(observed.value["error"], error);
    assert!(observed.value.get("result").is_none());
}

#[test]
fn a_notification_is_known_by_its_name() {
    let trace = TraceBuilder::open().server_sends(json!({"serverNotification": {"userSentMessage": {"message": "m"}}}));
    let kinds: Vec<_> = observed("cli", &trace).iter().map(|o| o.kind).collect();
    assert_eq!(kinds, ["handshake", "message", "notification"]);
    let observed = last("cli", &trace);
    assert_eq!(json!(observed.selectors), json!({"name": "userSentMessage"}));
    assert_eq!(observed.value["data"], json!({"message": "m"}));
}

#[test]
fn answers_to_probes_are_no_observations() {
    let response_text = response("cli", "wirecert-1", "ping", json!({"message": ""})).to_string();
    let trace = TraceBuilder::open().server_sends_text(&response_text).server_frame(opcode::PONG, b"wirecert-2");
    assert_eq!(observed("cli", &trace).len(), 1, "only the handshake");
    let trace =
        TraceBuilder::open().server_sends_text(r#"{"serverResponse":{"id":"1","ping":{"message":"wirecert-1"}}}"#);
    let kinds: Vec<_> = observed("cli", &trace).iter().map(|o| o.kind).collect();
    assert_eq!(kinds, ["handshake", "frame", "message", "response"]);
}

#[test]
fn frames_are_told_bit_by_bit() {
    let observed = observed("cli", &TraceBuilder::open().server_frame(opcode::PING, b"\xff"));
    assert_eq!(
        json!(observed[1].value),
        json!({"opcode": "ping", "fin": true, "rsv": 0, "masked": false, "length": 1, "hex": "ff"})
    );
    assert_eq!((observed[2].kind, &observed[2].value), ("ping", &json!({})));
    let observed = last("cli", &TraceBuilder::open().server_frame(11, b"ab"));
    assert_eq!((&observed.value["opcode"], &observed.value["text"]), (&json!(11), &json!("ab")));
}

#[test]
fn a_close_frame_may_come_without_a_code() {
    let observed = last("cli", &TraceBuilder::open().server_frame(opcode::CLOSE, &close_payload(1001, "bye")));
    assert_eq!((observed.kind, json!(observed.value)), ("close", json!({"code": 1001, "reason": "bye"})));
    assert_eq!(last("cli", &TraceBuilder::open().server_frame(opcode::CLOSE, b"")).value, json!({}));
}

#[test]
fn the_end_of_the_stream_says_how() {
    let trace = TraceBuilder::open().add(Some(Direction::ToClient), EventKind::Closed(Closed::Reset));
    let observed = last("cli", &trace);
    assert_eq!((observed.kind, &observed.value["how"]), ("closed", &json!("reset")));
}

#[test]
fn what_the_client_does_is_no_observation() {
    let trace = TraceBuilder::open()
        .client_sends(request("cli", "1", "ping", json!({"message": ""})))
        .client_frame(opcode::PING, b"");
    assert_eq!(observed("cli", &trace).len(), 1);
}

fn observed_of_client(trace: &TraceBuilder) -> Vec<Observation> {
    let mut observer = AmpObserver::new(edition("cli"), End::Client);
    trace.events.iter().flat_map(|event| observer.observe(event)).collect()
}

#[test]
fn a_handshake_is_seen_with_what_our_editor_made_of_it() {
    let observed = observed_of_client(&TraceBuilder::open());
    assert_eq!(observed[0].kind, "handshake");
    assert_eq!(observed[0].value["valid"], true);
    assert_eq!(observed[0].value["path"], "/");
    assert_eq!((observed[1].kind, &observed[1].value["status"]), ("admitted", &json!(101)));
}

#[test]
fn the_target_of_a_handshake_may_be_an_absolute_uri() {
    let valid = |target: &str| {
        let mut head = request_head(&[]);
        head.start = format!("GET {target} HTTP/1.1");
        is_valid_handshake(&head)
    };
    assert!(["/?auth=a", "http://localhost:8123/?auth=a", "HTTP://localhost:8123?auth=a"].map(valid) == [true; 3]);
    assert!(["localhost:8123/", "ws:/", "*"].map(valid) == [false; 3]);
    let paths = ["/a?b=/c", "http://h:1/a?b=/c", "http://h:1?b=/c", "http://h:1"].map(path);
    assert_eq!(paths, ["/a", "/a", "/", "/"]);
}

#[test]
fn a_handshake_without_a_sound_key_is_not_valid() {
    let mut head = request_head(&[]);
    head.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("sec-websocket-key"));
    assert!(!is_valid_handshake(&head));
    head.headers.push(("Sec-WebSocket-Key".to_owned(), "c2hvcnQ=".to_owned()));
    assert!(!is_valid_handshake(&head));
}

#[test]
fn a_request_is_chosen_by_its_method() {
    let trace = TraceBuilder::open().client_sends(request("cli", "7", "readFile", json!({"path": "/a"})));
    let observed = observed_of_client(&trace);
    let requested = observed.iter().find(|o| o.kind == "request").expect("a request");
    assert_eq!(json!(requested.selectors), json!({"method": "readFile"}));
    assert_eq!((&requested.value["id"], &requested.value["params"]), (&json!("7"), &json!({"path": "/a"})));
    assert_eq!(requested.value["id_json"], json!("\"7\""));
}
