//! What is observed of either end.

use super::*;
use crate::protocol::amplifier::testing::Play;

fn observed(play: &Play, subject: End) -> Vec<Observation> {
    let mut observer = AmplifierObserver::new(subject);
    play.events.iter().flat_map(|event| observer.observe(event)).collect()
}

fn kinds(observations: &[Observation]) -> Vec<&'static str> {
    observations.iter().map(|observation| observation.kind).collect()
}

#[test]
fn a_response_is_seen_with_its_error() {
    let error = json!({"error": {"code": "SESSION_BUSY", "message": "m"}});
    let observations = observed(&Play::new().gets("/health").returns(409, &error), End::Server);
    assert_eq!(kinds(&observations), ["response"]);
    assert_eq!(json!(observations[0].selectors), json!({"to": "x1"}));
    assert_eq!((&observations[0].value["status"], &observations[0].value["code"]), (&json!(409), &json!("SESSION_BUSY")));
}

#[test]
fn a_request_tells_its_endpoint_and_parameters() {
    let play = Play::new().gets("/sessions?status=idle").posts("/sessions/a%20b/prompt", &json!({"prompt": "p"}));
    let observations = observed(&play.gets("/profiles/x:y"), End::Client);
    assert_eq!(json!(observations[0].selectors), json!({"endpoint": "listSessions"}));
    assert_eq!(observations[0].value["params"], json!({"status": "idle"}));
    assert_eq!(observations[1].value["params"], json!({"session_id": "a b"}));
    assert_eq!(observations[1].value["json"], json!({"prompt": "p"}));
    assert_eq!(observations[2].value["params"], json!({"name": "x:y"}));
}

#[test]
fn events_of_a_stream_come_up_to_a_prompt_that_is_complete() {
    let play = Play::new()
        .subscribes("s")
        .sends_event("prompt:submit", json!({"request_id": "r"}))
        .sends_event("content_block:delta", json!({"delta": "a"}))
        .sends_event("content_block:delta", json!({"delta": "b"}))
        .sends_event("prompt:complete", json!({"request_id": "r", "response": "ab"}))
        .streams(&StreamEvent { comment: Some("ping".to_owned()), ..StreamEvent::default() })
        .stream_ends();
    let observations = observed(&play, End::Server);
    assert_eq!(kinds(&observations), ["subscribed", "event", "event", "event", "event", "completed", "keep_alive", "ended"]);
    let completed = &observations[5].value;
    assert_eq!((&completed["joined"], &completed["deltas"]), (&json!("ab"), &json!(2)));
    assert_eq!(completed["events"], json!(["prompt:submit", "content_block:delta", "prompt:complete"]));
    assert_eq!(json!(observations[1].selectors), json!({"of": "x1", "event": "prompt:submit"}));
    assert_eq!(observations[7].value["how"], "whole");
    assert_eq!(kinds(&observed(&play, End::Client)), ["subscribe"]);
}

#[test]
fn a_web_socket_is_a_subscription_too() {
    let play = Play::new()
        .upgrades("s")
        .server_message(&json!({"event": "session:start", "data": {}}))
        .client_message(&json!({"action": "stop"}));
    let observations = observed(&play, End::Server);
    assert_eq!(kinds(&observations), ["subscribed", "frame", "event"]);
    assert_eq!(observations[0].value["status"], 101);
    let observations = observed(&play, End::Client);
    assert_eq!(kinds(&observations), ["subscribe", "frame", "control"]);
    assert_eq!(json!(observations[2].selectors), json!({"action": "stop"}));
}

#[test]
fn a_stream_that_is_cut_is_seen_to_end() {
    let play = Play::new().subscribes("s").server_closes();
    assert_eq!(observed(&play, End::Server)[1].value["how"], "eof");
    let silent = Play::new().gets("/health").server_closes();
    assert_eq!(kinds(&observed(&silent, End::Server)), ["closed"]);
}

/// Gives another name to the second exchange of a play: that of the first one, redirected.
fn redirected(mut play: Play) -> Play {
    let second = play.events.iter_mut().filter(|event| event.conn.as_deref() == Some("x2"));
    second.for_each(|event| event.conn = Some("x1~1".to_owned()));
    play
}

#[test]
fn where_a_redirect_is_followed_the_last_response_is_the_response() {
    let moved = Play::new().gets("/sessions").responds(307, &[("Location", "/all")], b"");
    assert!(observed(&moved, End::Server).is_empty());
    let observations = observed(&redirected(moved.gets("/all").returns(200, &json!({}))), End::Server);
    assert_eq!(kinds(&observations), ["response"]);
    assert_eq!((json!(observations[0].selectors), &observations[0].value["status"]), (json!({"to": "x1"}), &json!(200)));

    let stream = Play::new().gets("/sessions/s/events").responds(308, &[("Location", "/streams/s")], b"");
    let stream = stream.gets("/streams/s").response_head(200, &[("Content-Type", "text/event-stream")]);
    let observations = observed(&redirected(stream.sends_event("session:start", json!({}))), End::Server);
    assert_eq!(kinds(&observations), ["subscribed", "event"]);
    assert_eq!((json!(observations[0].selectors), &observations[0].value["session_id"]), (json!({"of": "x1"}), &json!("s")));
}

#[test]
fn where_a_redirect_is_not_followed_it_is_the_response() {
    let mark = crate::trace::Mark { mark: redirects::NOT_FOLLOWED.to_owned(), text: String::new() };
    let moved = |play: Play| play.responds(307, &[("Location", "/all")], b"");
    let mut play = moved(Play::new().gets("/sessions/s/events")).client(EventKind::Mark(mark));
    play.events.last_mut().unwrap().dir = None;
    assert_eq!(kinds(&observed(&play, End::Server)), ["subscribed", "response"]);
    let cut = Play::new().gets("/sessions").response_head(307, &[("Location", "/all")]).server_closes();
    assert_eq!(kinds(&observed(&cut, End::Server)), ["response", "closed"]);
}
