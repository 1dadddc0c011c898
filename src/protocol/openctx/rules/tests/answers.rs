use serde_json::{Value, json};

use super::super::super::testing::Play;
use crate::trace::Direction;

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

fn asked() -> Play {
    Play::new().asks("meta", json!({}))
}

/// What an answer to a sound request breaks.
fn says(answer: Value) -> Vec<String> {
    asked().says(answer).broken()
}

fn bytes(body: &[u8]) -> Vec<String> {
    asked().responds(200, JSON, body).broken()
}

fn named() -> Value {
    json!({"name": "n"})
}

#[test]
fn an_answer_is_an_object_in_json() {
    assert_eq!(bytes(b"<html>"), ["envelope/json"]);
    assert_eq!(bytes(b""), ["envelope/json"]);
    assert_eq!(says(json!([])), ["envelope/object"]);
    assert_eq!(says(named()), ["envelope/outcome"]);
    assert!(bytes("[".repeat(5000).as_bytes()).contains(&"envelope/json".to_owned()));
}

#[test]
fn json_that_not_every_reader_can_hold_is_json() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let deep = format!("{{\"result\":{{\"name\":\"n\",\"x\":{deep}}}}}");
    for body in [deep.as_str(), r#"{"result":{"name":"\ud800","x":[1e999]}}"#] {
        let play = asked().responds(200, JSON, body.as_bytes());
        assert!(play.broken().is_empty(), "{body}");
        assert!(play.assessed("meta/name"), "{body}");
        assert!(play.notes().iter().any(|note| note.contains("not every reader")), "{body}");
    }
    assert_eq!(bytes(br#"{"result":{"name":5,"x":"\ud800"}}"#), ["meta/name"]);
    let content = br#"{"method":"annotations","params":{"uri":"file:///a","content":"\ud800"}}"#;
    assert!(Play::new().posts(content).gives(json!([])).broken().is_empty(), "it is for the provider to take it");
}

#[test]
fn json_is_utf_8_without_a_mark() {
    assert_eq!(bytes(b"{\"result\":{\"name\":\"\xe9\"}}"), ["http/utf-8"]);
    assert_eq!(bytes("\u{feff}{\"result\":{\"name\":\"n\"}}".as_bytes()), ["http/no-bom"]);
    let utf16: Vec<u8> = "{\"result\":{}}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(bytes(&utf16).contains(&"envelope/json".to_owned()));
}

#[test]
fn an_answer_has_one_outcome() {
    let error = json!({"code": 1, "message": "no"});
    assert_eq!(says(json!({})), ["envelope/outcome"]);
    assert_eq!(says(json!({"result": null})), ["envelope/outcome"]);
    assert_eq!(says(json!({"result": named(), "error": error})), ["envelope/one-outcome"]);
    assert_eq!(says(json!({"result": named(), "error": null})), ["envelope/no-nulls"]);
    for falsy in [json!(0), json!(false), json!("")] {
        assert_eq!(says(json!({ "result": falsy })), ["envelope/result-type"], "{falsy}");
    }
    assert!(says(json!({"error": error})).is_empty());
    let more = asked().says(json!({"jsonrpc": "2.0", "id": null, "result": named()}));
    assert!(more.broken().is_empty());
    assert_eq!(more.notes(), ["Answers have members that the protocol does not know: jsonrpc, id"]);
}

#[test]
fn an_error_has_a_code() {
    let error = |error: Value| says(json!({ "error": error }));
    assert_eq!(error(json!("no")), ["envelope/error-object"]);
    assert_eq!(error(json!({"message": "no"})), ["envelope/error-code"]);
    assert_eq!(error(json!({"code": "E_NO", "message": "no"})), ["envelope/error-code"]);
    assert_eq!(error(json!({"code": 1.5, "message": "no"})), ["envelope/error-code"]);
    assert_eq!(error(json!({"code": 1, "message": {}})), ["envelope/error-message"]);
}

#[test]
fn an_error_is_one_though_the_request_is_wrong_on_purpose() {
    let answer = |body: &[u8], status: u16, answer: Value| {
        let head = [("Host", "127.0.0.1:1"), ("Content-Type", "application/json")];
        let play = Play::new().request_head("POST / HTTP/1.1", &head).deliberate();
        let play = play.body(Direction::ToServer, body).responds(status, JSON, answer.to_string().as_bytes());
        play.broken()
    };
    let fly = b"{\"method\":\"fly\"}";
    assert_eq!(answer(fly, 200, json!({"error": "no"})), ["envelope/error-object"]);
    assert_eq!(answer(fly, 200, json!({"error": {"message": "no"}})), ["envelope/error-code"]);
    assert_eq!(answer(fly, 200, json!({"error": {"code": 1}, "result": []})), ["envelope/one-outcome"]);
    assert!(answer(fly, 200, json!({"error": {"code": 1, "message": "no"}})).is_empty());
    // Any other answer may be as it likes.
    assert!(answer(fly, 200, json!({"oops": true})).is_empty());
    assert!(answer(fly, 404, json!({"error": "no"})).is_empty());
    assert!(answer(b"{", 200, json!({"error": "no"})).is_empty());
}

#[test]
fn both_readings_of_an_error_are_taken_and_told() {
    let error = |error: Value| {
        let play = asked().says(json!({ "error": error }));
        assert!(play.broken().is_empty());
        play.notes()
    };
    assert!(error(json!({"code": -1, "message": "no", "data": []})).is_empty());
    assert_eq!(error(json!({"code": 1})), ["Errors have no message"]);
    assert_eq!(error(json!({"code": "E", "integer": 1})), ["Errors have the members `code` and `integer`"]);
    let data = error(json!({"code": 1, "message": "no", "data": "text"}));
    assert_eq!(data, ["The `data` of errors is neither an object nor a list"]);
}

#[test]
fn clients_do_not_look_behind_other_statuses() {
    let answer = |status, json: Value| asked().responds(status, JSON, json.to_string().as_bytes());
    let error = json!({"error": {"code": 1, "message": "no"}});
    assert!(answer(201, json!({"result": named()})).broken().is_empty());
    assert_eq!(answer(500, error.clone()).broken(), ["http/status-error"]);
    assert_eq!(answer(503, error).broken(), ["http/status-error"]);
    assert_eq!(answer(404, json!({"result": named()})).broken(), ["http/status-result"]);
    assert_eq!(answer(500, json!("crash")).broken(), ["http/status-error"]);
    assert_eq!(answer(300, json!({"result": named()})).broken(), ["http/status-result"]);
    assert_eq!(asked().responds(304, &[], b"").broken(), ["http/status-error"]);
    let busy = asked().responds(503, &[], b"");
    assert!(busy.broken().is_empty());
    assert_eq!(busy.notes(), ["A request was refused with the status 503"]);
    assert_eq!(asked().responds(204, &[], b"").broken(), ["envelope/json"]);
}

#[test]
fn what_cannot_succeed_has_to_fail() {
    let error = || json!({"error": {"code": 1, "message": "no"}});
    // What the client did is its own matter.
    let server = |play: Play| play.broken().into_iter().filter(|s| !s.contains("/client-")).collect::<Vec<_>>();
    let cases: [(&[u8], &str); 4] = [
        (b"{", "envelope/malformed"),
        (b"[]", "envelope/no-request"),
        (b"{\"method\":\"fly\"}", "envelope/unknown-method"),
        (b"{\"method\":\"annotations\",\"params\":{\"uri\":\"a:b\"}}", "envelope/bad-params"),
    ];
    for (body, short) in cases {
        assert_eq!(server(Play::new().posts(body).gives(json!([]))), [short]);
        assert!(server(Play::new().posts(body).says(error())).is_empty(), "{short}");
        assert!(server(Play::new().posts(body).responds(400, &[], b"no")).is_empty(), "{short}");
        let crash = server(Play::new().posts(body).responds(500, &[], b"no"));
        assert_eq!(crash.is_empty(), short == "envelope/unknown-method", "{short}");
    }
    for body in [&b"{\"method\":5}"[..], b"{}", b"5", b"{\"method\":\"meta\",\"params\":[]}"] {
        assert_eq!(server(Play::new().posts(body).gives(named())), ["envelope/no-request"]);
    }
    let none = server(Play::new().posts(b"{\"method\":\"annotations\"}").gives(json!([])));
    assert!(none.is_empty(), "whether parameters are needed is left to scenarios");
}
