//! Exchanges, streams and WebSockets.

use serde_json::json;

use super::{begun, submitted};
use crate::protocol::amplifier::testing::Play;
use crate::trace::{Call, Direction, End, EventKind, Exited, Head, Output, Payload, StreamEvent};

fn subscribed() -> Play {
    Play::new().session("s").subscribes("s")
}

fn junk() -> EventKind {
    EventKind::Bytes { bytes: b"junk".as_slice().into() }
}

#[test]
fn a_request_without_a_response_is_told() {
    assert_eq!(Play::new().gets("/health").server_closes().broken(), ["http/answered"]);
    assert!(Play::new().gets("/health").client_closes().server_closes().broken().is_empty());
    assert_eq!(Play::new().gets("/health").response_head(200, &[]).server_closes().broken(), ["http/length"]);
    assert_eq!(Play::new().gets("/health").server(junk()).broken(), ["http/valid-head"]);
    let connected = || Play::new().client(EventKind::Connected { address: "127.0.0.1:1".to_owned() });
    assert_eq!(connected().client(junk()).broken(), ["http/client-valid-head"]);
    let line = EventKind::Bytes { bytes: b"POST / HTTP/1.1\r\na b: c\r\n\r\n".as_slice().into() };
    assert_eq!(Play::new().client(line).broken(), ["http/client-valid-head"]);
    assert!(Play::new().client(junk()).broken().is_empty(), "it may be the rest of what came before the trace");
    let late = Play::new().gets("/collections").wait(11).returns(200, &json!({"collections": []}));
    assert_eq!(late.broken(), ["http/timely"]);
}

#[test]
fn json_that_not_every_reader_can_hold_is_json() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for odd in [deep.as_str(), r#""\udc00""#] {
        let created = format!(
            r#"{{"session_id":"550e8400-e29b-41d4-a716-446655440000","status":"created","profile":"dev",
            "created_at":"2025-12-09T10:30:00Z","x":{odd}}}"#
        );
        let json = [("Content-Type", "application/json")];
        let create = || Play::new().posts("/sessions", &json!({"profile": "dev", "credentials": {}}));
        let play = create().responds(201, &json, created.as_bytes());
        assert!(play.broken().is_empty(), "{odd}");
        assert!(play.assessed("create/created-at") && !play.notes().is_empty(), "{odd}");
        let error = format!(r#"{{"error":{{"code":"SERVER_ERROR","message":"m","details":{{"x":{odd}}}}}}}"#);
        assert!(create().responds(500, &json, error.as_bytes()).broken().is_empty(), "{odd}");
        let event = format!(r#"{{"event":"thinking:delta","data":{{"session_id":"s","delta":"d","x":{odd}}}}}"#);
        let streamed = subscribed().streams(&StreamEvent::data(event.clone()));
        assert!(streamed.broken().is_empty(), "{:?}", streamed.broken());
        let socket = Play::new().session("s").upgrades("s").socket_text(Direction::ToClient, &event);
        assert!(socket.broken().is_empty(), "{:?}", socket.broken());
    }
}

#[test]
fn a_stream_has_its_status_and_content_type() {
    let head = |status, kind: &str| {
        let start = "GET /sessions/s/events HTTP/1.1";
        let headers = [("Host", "a"), ("Accept", "text/event-stream"), ("Cache-Control", "no-cache")];
        let play = Play::new().request_head(start, &headers).client_body("", true);
        play.response_head(status, &[("Content-Type", kind)]).broken()
    };
    assert!(head(200, "text/event-stream").is_empty());
    assert_eq!(head(202, "text/event-stream"), ["stream/status"]);
    assert_eq!(head(200, "application/json"), ["stream/content-type"]);
}

#[test]
fn a_stream_ends_where_an_event_does_and_is_utf_8() {
    for whole in ["data: a\n\n", "\u{feff}data: a\r\n\r\n: more\r\n", "data: a\r\r", ": half"] {
        assert!(subscribed().server_body(whole.as_bytes(), false).stream_ends().broken().is_empty(), "{whole}");
        assert!(subscribed().server_body(whole.as_bytes(), false).server_closes().broken().is_empty(), "{whole}");
    }
    for half in ["data: a\n", "data", "data: a\n\ndata: b\r\n"] {
        let broken = subscribed().server_body(half.as_bytes(), false).stream_ends().broken();
        assert_eq!(broken, ["stream/complete-events"], "{half}");
    }
    let left = |text: &str, wait| subscribed().server_body(text.as_bytes(), false).wait(wait).client_closes().broken();
    assert_eq!(left("data: a\n", 3), ["stream/complete-events"]);
    assert!(left("data: a\n", 1).is_empty(), "the rest may be on its way");
    assert!(left("data: a\n\n", 3).is_empty() && left("data: a", 3).is_empty());
    let cut = subscribed().server_body(b": \xc3", false).server_body(b"\xa9\n", false);
    assert!(cut.broken().is_empty(), "a character may be cut in two");
    assert_eq!(subscribed().server_body(b": \xff\n", false).broken(), ["stream/utf-8"]);
}

#[test]
fn keep_alives_are_accepted_and_protocol_events_come_as_messages() {
    let typed = |event: &str, data: &str| {
        let event = StreamEvent { event: Some(event.to_owned()), data: Some(data.to_owned()), ..Default::default() };
        subscribed().streams(&event).broken()
    };
    let end = r#"{"event":"diagnostic:clear","data":{"session_id":"s","path":"/"}}"#;
    assert_eq!(typed("diagnostic:clear", end), ["stream/message-type"]);
    assert_eq!(typed("update", end), ["stream/message-type"]);
    assert!(typed("message", end).is_empty());
    assert!(typed("ping", "2025-12-09 10:30:00").is_empty());
    assert!(subscribed().streams(&StreamEvent::data("")).broken().is_empty());
    assert!(
        subscribed().streams(&StreamEvent { comment: Some("ping".into()), ..Default::default() }).broken().is_empty()
    );
    assert_eq!(subscribed().streams(&StreamEvent::data("ping")).broken(), ["stream/data-json"]);
}

#[test]
fn an_event_in_the_last_bytes_of_a_stream_is_judged_as_any_other() {
    let ended = || subscribed().server_body(b"data: ping\n\n", true);
    assert!(ended().broken().is_empty());
    assert_eq!(ended().streams(&StreamEvent::data("ping")).broken(), ["stream/data-json"]);
}

#[test]
fn errors_after_the_response_are_accepted_and_noted() {
    let error = json!({"error": {"code": "PROVIDER_ERROR", "message": "m"}}).to_string();
    let play = begun().streams(&StreamEvent::data(error));
    assert!(play.broken().is_empty());
    assert_eq!(play.notes().len(), 1);
    let play = submitted().sends_event("error", json!({"message": "m"}));
    assert!(play.broken().is_empty());
    assert_eq!(play.notes().len(), 1);
}

#[test]
fn web_sockets_are_held_to_their_protocol() {
    let socket = || Play::new().session("s").upgrades("s");
    let clear = json!({"event": "diagnostic:clear", "data": {"session_id": "s", "path": "/"}});
    assert!(socket().server_message(&clear).client_message(&json!({"action": "stop"})).broken().is_empty());
    assert_eq!(socket().socket_text(Direction::ToClient, "ping").broken(), ["websocket/text"]);
    assert_eq!(socket().socket_text(Direction::ToServer, "stop").broken(), ["websocket/client-text"]);
    let mut binary = socket().client_message(&json!({"action": "stop"}));
    if let Some(EventKind::Message(message)) = binary.events.last_mut().map(|event| &mut event.kind) {
        message.text = false;
    }
    assert_eq!(binary.broken(), ["websocket/client-text"]);
    assert_eq!(socket().client_message(&json!({"action": "halt"})).broken(), ["websocket/client-action"]);
    assert_eq!(
        socket().client_message(&json!({"action": "submit_prompt"})).broken(),
        ["websocket/client-submit-prompt"]
    );
    let approval = json!({"action": "submit_approval", "decision": 5});
    assert_eq!(socket().client_message(&approval).broken(), ["websocket/client-submit-approval"]);
    assert_eq!(socket().client_message(&json!({"action": "stop", "x": 1})).broken(), ["websocket/client-extra"]);
    assert_eq!(socket().frame(Direction::ToClient, 3, b"").broken(), ["websocket/frames"]);
    assert_eq!(socket().frame(Direction::ToServer, 9, &[0; 126]).broken(), ["websocket/client-frames"]);
    assert_eq!(socket().frame(Direction::ToServer, 8, b"\x03\xed").broken(), ["websocket/client-frames"]);
    assert_eq!(socket().frame(Direction::ToServer, 8, b"\x03").broken(), ["websocket/client-frames"]);
    assert_eq!(socket().frame(Direction::ToClient, 8, b"\x03\xe8\xff").broken(), ["websocket/frames"]);
    // Whoever repeats what came is not at fault for it.
    let odd = || socket().frame(Direction::ToServer, 8, b"\x03").deliberate();
    assert!(odd().frame(Direction::ToClient, 8, b"\x03").broken().is_empty());
    assert_eq!(odd().frame(Direction::ToClient, 8, b"\x03\xee").broken(), ["websocket/frames"]);
    let sound = || socket().frame(Direction::ToServer, 8, b"\x03\xe8bye");
    assert!(sound().frame(Direction::ToClient, 8, b"\x03\xe8").broken().is_empty());
    assert_eq!(sound().frame(Direction::ToClient, 8, b"\x03").broken(), ["websocket/frames"]);
    let delta = json!({"event": "content_block:delta", "data": {"session_id": "s", "delta": "d"}});
    assert!(socket().server_message(&delta).broken().is_empty());
    assert_eq!(socket().server_message(&delta).notes(), ["Deltas over WebSockets have no `block_index`"]);
}

#[test]
fn an_error_that_answers_a_message_of_the_client_tells_nothing_of_a_prompt() {
    let socket = || Play::new().session("s").upgrades("s");
    let error = json!({"error": {"code": "INVALID_REQUEST", "message": "m", "details": {}}});
    let request = socket().client_message(&json!({"action": "halt"})).server_message(&error);
    assert!(request.notes().is_empty());
    assert_eq!(request.server_message(&error).notes().len(), 1);
}

#[test]
fn masks_and_handshakes_are_judged() {
    let unmasked = |dir| {
        let mut play = Play::new().upgrades("s").frame(dir, 9, b"");
        if let Some(EventKind::Frame(frame)) = play.events.last_mut().map(|event| &mut event.kind) {
            frame.masked = !frame.masked;
        }
        play.broken()
    };
    assert_eq!(unmasked(Direction::ToClient), ["websocket/unmasked"]);
    assert_eq!(unmasked(Direction::ToServer), ["websocket/client-masked"]);
    let mut play = Play::new().upgrades("s");
    if let EventKind::Handshake(head) = &mut play.events[1].kind {
        head.headers[2].1 = "AAAA".to_owned();
    }
    assert_eq!(play.broken(), ["websocket/handshake"]);
    let mut play = Play::new().upgrades("s");
    if let EventKind::Handshake(head) = &mut play.events[0].kind {
        head.headers.remove(1);
    }
    assert_eq!(play.broken(), ["websocket/client-handshake"]);
}

#[test]
fn keys_come_back_nowhere() {
    let key = "sk-ant-0123456789";
    let session = || Play::new().session("s");
    let health = json!({"status": "healthy", "version": key, "uptime_seconds": 1, "active_sessions": 0});
    assert_eq!(session().gets("/health").returns(200, &health).broken(), ["safety/no-key-in-responses"]);
    let error = json!({"error": {"code": "INVALID_API_KEY", "message": format!("bad key {key}")}});
    assert_eq!(session().gets("/health").returns(401, &error).broken(), ["safety/no-key-in-errors"]);
    let reported = subscribed().sends_event("diagnostic:clear", json!({ "path": key }));
    assert_eq!(reported.broken(), ["safety/no-key-in-events"]);
    let printed = EventKind::Output(Output { stream: "stderr".to_owned(), bytes: Payload::Text(key.to_owned()) });
    assert_eq!(session().add(None, printed).broken(), ["safety/no-key-in-output"]);
    // A client that prints it may do so before it sends it.
    let params = json!({"profile": "dev", "credentials": {"anthropic_api_key": key}});
    let call = Call { id: 1, call: "createSession".to_owned(), params, settings: None };
    let printed = EventKind::Output(Output { stream: "stderr".to_owned(), bytes: Payload::Text(key.to_owned()) });
    let logged = Play::new().add(None, EventKind::Call(call)).add(None, printed);
    assert_eq!(logged.broken(), ["safety/no-key-in-output"]);
    let elsewhere = session().gets(&format!("/info?key={key}")).returns_error(400, "INVALID_REQUEST");
    assert_eq!(elsewhere.broken(), ["safety/client-no-key-elsewhere"]);
    let prompt = session().posts("/sessions/s/prompt", &json!({ "prompt": key })).returns_error(400, "INVALID_REQUEST");
    assert_eq!(prompt.broken(), ["safety/client-no-key-elsewhere"]);
    let control = json!({"action": "submit_prompt", "prompt": key});
    assert_eq!(session().upgrades("s").client_message(&control).broken(), ["safety/client-no-key-elsewhere"]);
    let start = format!("GET /sessions/s/ws?key={key} HTTP/1.1");
    let handshake = EventKind::Handshake(Head { start, headers: vec![], raw: None, body: None });
    let broken = session().add(Some(Direction::ToServer), handshake).broken();
    assert!(broken.contains(&"safety/client-no-key-elsewhere".to_owned()), "{broken:?}");
}

#[test]
fn what_is_wrong_on_purpose_is_held_against_nobody() {
    let odd = Play::new().request_head("GET /nothing HTTP/1.1", &[]).deliberate().client_body("", true);
    assert!(odd.returns(418, &json!("teapot")).broken().is_empty());
    assert!(subscribed().streams(&StreamEvent::data("ping")).deliberate().broken().is_empty());
    let peer = Play::new().gets("/health").response_head(500, &[]).deliberate().server_closes();
    assert!(peer.broken().is_empty());
}

#[test]
fn a_crash_is_held_against_the_end_that_runs() {
    let exit = EventKind::Exited(Exited { pid: 1, code: None, signal: Some(11), asked: false });
    let play = Play::new().gets("/health").add(None, exit);
    assert_eq!(play.broken(), ["robustness/alive"]);
    let mut rules = super::super::of();
    let mut out = crate::protocol::Judgements::default();
    rules.iter_mut().for_each(|rule| rule.processes(End::Client));
    play.events.iter().for_each(|event| rules.iter_mut().for_each(|rule| rule.event(event, &mut out)));
    assert_eq!(out.violations[0].requirement, "amplifier/2025-12-09/robustness/client-alive");
}

#[test]
fn a_last_event_id_is_one_of_the_session() {
    let again = |play: Play, session: &str, id: &str| {
        let head =
            [("Host", "a:1"), ("Accept", "text/event-stream"), ("Cache-Control", "no-cache"), ("Last-Event-ID", id)];
        play.request_head(&format!("GET /sessions/{session}/events HTTP/1.1"), &head).broken()
    };
    let sent = |play: Play, session: &str, id: &str| {
        let event = StreamEvent { id: Some(id.to_owned()), ..StreamEvent::data("{}") };
        play.subscribes(session).streams(&event).stream_ends()
    };
    let own = "stream/client-last-event-id-own";
    let seen = |session: &str, id: &str| {
        again(sent(sent(Play::new(), "s", "1"), "t", "2"), session, id).contains(&own.to_owned())
    };
    assert!(!seen("s", "1") && !seen("t", "2"));
    assert!(seen("s", "2") && seen("s", "3") && seen("u", "1"));
    // It may be from before the trace, or the client has none.
    assert!(!seen("u", "9") && !seen("s", ""));
    // One that sends none, sends no other's.
    let again = sent(Play::new(), "s", "1").subscribes("s");
    assert!(again.assessed(own) && !again.broken().contains(&own.to_owned()));
}
