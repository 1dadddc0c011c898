//! Requests, their responses, and messages.

use serde_json::{Value, json};

use crate::protocol::Use;
use crate::protocol::amp::testing::{TraceBuilder, notification, request, response};
use crate::trace::opcode;
use crate::trace::{EventKind, Mark, Message, Payload};

fn requested(edition: &str) -> TraceBuilder {
    TraceBuilder::open().client_sends(request(edition, "1", "readFile", json!({"path": "/a"})))
}

fn content(edition: &str, id: impl Into<Value>) -> Value {
    response(edition, id, "readFile", json!({"success": true, "content": "c"}))
}

/// The requirements broken by one response to a request of edition `cli`. What the response breaks, whatever is wrong
/// with the request.
fn exchange(method: &str, params: Value, result: Value) -> Vec<String> {
    let trace = TraceBuilder::open()
        .client_sends(request("cli", "1", method, params))
        .server_sends(response("cli", "1", method, result));
    trace.broken("cli").into_iter().filter(|short| !short.contains("/client-")).collect()
}

fn later(trace: TraceBuilder, seconds: u64) -> TraceBuilder {
    trace.wait(seconds).client_frame(opcode::PONG, b"")
}

#[test]
fn a_request_is_answered_once() {
    for edition in ["cli", "guide"] {
        assert!(requested(edition).server_sends(content(edition, "1")).broken(edition).is_empty());
        let twice = requested(edition).server_sends(content(edition, "1")).server_sends(content(edition, "1"));
        assert_eq!(twice.broken(edition), ["envelope/answered-once"]);
    }
}

#[test]
fn another_response_with_an_answered_id_is_that_to_the_request_that_waits() {
    for edition in ["cli", "guide"] {
        let waits = || {
            let answered = requested(edition).server_sends(content(edition, "1"));
            answered.client_sends(request(edition, "2", "readFile", json!({"path": "/b"})))
        };
        let confused = json!({"serverResponse": {"id": "1", "error": {"code": 1, "message": "no"}}});
        assert_eq!(waits().server_sends(confused).broken(edition), ["envelope/id"]);
        assert_eq!(waits().server_sends(content(edition, "1")).broken(edition), ["envelope/answered-once"]);
    }
}

#[test]
fn a_response_with_a_part_of_the_id_or_the_id_in_another_case_is_that_to_the_request_that_waits() {
    for (id, altered) in [("request-12345", "request-1"), ("request-1", "request-1\u{0}"), ("aBc", "abc"), ("a ", "a")]
    {
        let waits = || TraceBuilder::open().client_sends(request("cli", id, "readFile", json!({"path": "/a"})));
        assert_eq!(waits().server_sends(content("cli", altered)).broken("cli"), ["envelope/id"], "{altered:?}");
        assert_eq!(waits().server_sends(content("cli", "other")).broken("cli"), ["envelope/unasked"]);
    }
}

#[test]
fn an_id_may_be_used_again_after_its_answer() {
    let again = requested("cli").server_sends(content("cli", "1")).client_sends(request(
        "cli",
        "1",
        "readFile",
        json!({"path": "/a"}),
    ));
    assert!(again.server_sends(content("cli", "1")).broken("cli").is_empty());
    let early = requested("cli").client_sends(request("cli", "1", "readFile", json!({"path": "/a"})));
    assert_eq!(
        early.server_sends(content("cli", "1")).server_sends(content("cli", "1")).broken("cli"),
        ["envelope/client-id-unique"]
    );
}

#[test]
fn answers_may_come_in_any_order() {
    let both = requested("cli").client_sends(request("cli", "2", "readFile", json!({"path": "/b"})));
    assert!(both.server_sends(content("cli", "2")).server_sends(content("cli", "1")).broken("cli").is_empty());
}

#[test]
fn a_request_that_waits_forever_is_missed() {
    assert_eq!(later(requested("cli"), 30).broken("cli"), ["envelope/answered"]);
    assert_eq!(later(requested("guide"), 30).broken("guide"), ["envelope/answered"]);
    assert!(later(requested("guide"), 29).broken("guide").is_empty());
    assert!(later(requested("cli"), 3).broken("cli").is_empty(), "nobody knows whether it would have come");
    assert!(later(requested("cli").ends(), 60).broken("cli").is_empty(), "the connection ended before");
    let closing = requested("cli").client_closes(1000).server_closes(1000).ends();
    assert!(later(closing, 60).broken("cli").is_empty());
}

#[test]
fn what_nobody_can_read_may_have_been_the_response() {
    let unreadable = Message { text: true, json: None, payload: Some(Payload::Binary(vec![0xff])), frames: 1 };
    let broken = later(requested("cli").server(EventKind::Message(unreadable)), 60).broken("cli");
    assert!(
        !broken.iter().any(|short| short.starts_with("envelope/answered") || short.ends_with("timely")),
        "{broken:?}"
    );
}

#[test]
fn the_time_of_a_response_is_that_of_its_frame() {
    let answered = requested("cli").server_frame(opcode::TEXT, b"{}").wait(3).server_sends(content("cli", "1"));
    assert!(!answered.broken("cli").contains(&"envelope/timely".to_owned()));
}

#[test]
fn a_late_response_is_lost_to_the_cli() {
    assert_eq!(requested("cli").wait(3).server_sends(content("cli", "1")).broken("cli"), ["envelope/timely"]);
    assert!(requested("guide").wait(3).server_sends(content("guide", "1")).broken("guide").is_empty());
    let ping = TraceBuilder::open().client_sends(request("cli", "1", "ping", json!({"message": ""}))).wait(3);
    let late = ping.server_sends(response("cli", "1", "ping", json!({"message": ""})));
    assert_eq!(late.broken("cli"), ["envelope/timely", "ping/timely"]);
}

#[test]
fn what_takes_long_to_record_is_granted_more_time() {
    let large = vec![b' '; 1 << 20];
    let answered = |seconds| {
        let trace = requested("cli").wait(seconds).server_frame(opcode::TEXT, &large);
        trace.server_sends(content("cli", "1")).broken("cli").contains(&"envelope/timely".to_owned())
    };
    assert!(!answered(5));
    assert!(answered(7));
    let before = TraceBuilder::open().server_frame(opcode::TEXT, &large);
    let before = before.client_sends(request("cli", "1", "readFile", json!({"path": "/a"})));
    let late = before.wait(3).server_sends_text(&content("cli", "1").to_string());
    assert!(late.broken("cli").contains(&"envelope/timely".to_owned()), "what passed before holds up nothing");
    let requested = |trace: TraceBuilder| trace.client_sends(request("cli", "1", "readFile", json!({"path": "/a"})));
    let long =
        requested(TraceBuilder::open().client_frame(opcode::TEXT, &large)).wait(5).server_sends(content("cli", "1"));
    assert!(long.broken("cli").is_empty());
}

#[test]
fn the_id_comes_back_as_it_was() {
    assert_eq!(requested("cli").server_sends(content("cli", 1)).broken("cli"), ["envelope/id-string", "envelope/id"]);
    assert_eq!(requested("guide").server_sends(content("guide", 1)).broken("guide"), ["envelope/id"]);
    let without = json!({"serverResponse": {"readFile": {"success": true, "content": ""}}});
    assert_eq!(requested("cli").server_sends(without).broken("cli"), ["envelope/id"]);
}

#[test]
fn nobody_is_answered_who_did_not_ask() {
    assert_eq!(requested("cli").server_sends(content("cli", "2")).broken("cli"), ["envelope/unasked"]);
    let other = requested("cli").connect("second").server_sends(content("cli", "1"));
    let violation = other.judge("cli").violations.remove(0);
    assert_eq!(violation.requirement, "amp/cli/envelope/unasked");
    assert!(violation.message.contains("one on `main`"), "{}", violation.message);
}

#[test]
fn connections_count_for_themselves() {
    let both = requested("cli").connect("second").client_sends(request("cli", "1", "readFile", json!({"path": "/b"})));
    let both = both.server_sends(content("cli", "1")).on("main").server_sends(content("cli", "1"));
    assert!(both.broken("cli").is_empty());
    assert!(both.assessed("cli", "envelope/ids-per-connection"));
}

#[test]
fn after_something_that_was_no_request_strange_ids_may_come() {
    for bad in [json!({"clientRequest": {}}), json!(5), json!({"clientRequest": {"id": 5, "ping": {}}})] {
        let error = json!({"serverResponse": {"id": null, "error": {"code": -32600, "message": "no"}}});
        let trace = TraceBuilder::open().client_sends(bad).deliberate().server_sends(error);
        let server: Vec<_> = trace.broken("cli").into_iter().filter(|short| !short.contains("client")).collect();
        assert!(server.is_empty(), "{server:?}");
    }
}

#[test]
fn requests_in_bytes_that_nobody_took_apart_may_be_answered() {
    let bytes = EventKind::Bytes { bytes: Payload::Binary(vec![0x81]) };
    assert!(TraceBuilder::open().client(bytes.clone()).server_sends(content("cli", "9")).broken("cli").is_empty());
    assert!(TraceBuilder::open().client(bytes).client_closes(1000).ends().broken("cli").is_empty());
}

#[test]
fn a_response_has_its_methods_key_with_an_object() {
    for wrong in
        [json!({"id": "1"}), json!({"id": "1", "result": {"content": ""}}), json!({"id": "1", "readFile": null})]
    {
        assert_eq!(
            requested("cli").server_sends(json!({ "serverResponse": wrong })).broken("cli"),
            ["envelope/method-key"]
        );
    }
    let more = json!({"serverResponse": {"took": 5, "id": "1", "readFile": {"success": true, "content": ""}}});
    assert!(requested("cli").server_sends(more).broken("cli").is_empty());
    assert_eq!(
        requested("guide").server_sends(json!({"serverResponse": {"id": "1", "content": ""}})).broken("guide"),
        ["envelope/result-key"]
    );
}

#[test]
fn an_error_is_a_response_in_its_own_shape() {
    let error = |error: Value| json!({"serverResponse": {"id": "1", "error": error}});
    let complete = json!({"code": -32000, "message": "no", "data": {}});
    assert!(requested("cli").server_sends(error(complete)).broken("cli").is_empty());
    for wrong in [json!("no"), json!({"message": "no"}), json!({"code": "1", "message": "no"}), json!(null)] {
        assert_eq!(
            requested("cli").server_sends(error(wrong.clone())).broken("cli"),
            ["envelope/error-shape"],
            "{wrong}"
        );
        if !wrong.is_null() {
            assert!(requested("guide").server_sends(error(wrong.clone())).broken("guide").is_empty(), "{wrong}");
        }
    }
    let both = json!({"serverResponse": {"id": "1", "error": {"code": 1, "message": ""}, "readFile": {}}});
    assert_eq!(requested("cli").server_sends(both).broken("cli"), ["envelope/result-or-error"]);
}

#[test]
fn each_result_of_the_cli_has_its_shape() {
    let path = || json!({"path": "/a"});
    let range = json!({"startLine": 0, "startCharacter": 0, "endLine": 0, "endCharacter": 1});
    let entries = |uri: &str, severity: &str, range: &Value| {
        json!({"entries": [{"uri": uri, "diagnostics": [{"range": range, "severity": severity, "description": "",
            "lineContent": "", "startOffset": 0, "endOffset": 1}]}]})
    };
    let mut negative = range.clone();
    negative["startLine"] = json!(-1);
    let cases = [
        ("ping", json!({"message": "m"}), json!({"message": "m"}), vec![]),
        ("ping", json!({"message": "m"}), json!({"message": "n"}), vec!["ping/echo"]),
        ("ping", json!({"message": "m"}), json!({}), vec!["ping/result"]),
        ("authenticate", json!({"authToken": "t"}), json!({"authenticated": true}), vec![]),
        ("authenticate", json!({"authToken": "t"}), json!({"authenticated": "yes"}), vec!["authenticate/result"]),
        ("readFile", path(), json!({"success": true}), vec!["read-file/result"]),
        ("readFile", path(), json!({"success": false, "message": "no"}), vec![]),
        ("readFile", path(), json!({"success": false}), vec!["read-file/failure-message"]),
        (
            "editFile",
            json!({"path": "/a", "fullContent": ""}),
            json!({"success": true, "appliedChanges": true}),
            vec![],
        ),
        ("editFile", json!({"path": "/a", "fullContent": ""}), json!({"success": 1}), vec!["edit-file/result"]),
        (
            "editFile",
            json!({"path": "/a", "fullContent": ""}),
            json!({"success": false}),
            vec!["edit-file/failure-message"],
        ),
        ("editFile", json!({"path": "/a", "fullContent": ""}), json!({"success": false, "message": "no"}), vec![]),
        ("openURI", json!({"uri": "file:///a"}), json!({"success": false}), vec![]),
        ("openURI", json!({"uri": "file:///a"}), json!({}), vec!["open-uri/result"]),
        ("getDiagnostics", path(), json!({"entries": []}), vec![]),
        ("getDiagnostics", path(), entries("file:///a", "hint", &range), vec![]),
        ("getDiagnostics", path(), entries("/a", "error", &range), vec!["diagnostics/uri"]),
        ("getDiagnostics", path(), entries("file:///a", "fatal", &range), vec!["diagnostics/severity"]),
        ("getDiagnostics", path(), entries("file:///a", "error", &json!({})), vec!["diagnostics/result"]),
        ("getDiagnostics", path(), entries("file:///a", "error", &negative), vec!["diagnostics/range"]),
    ];
    for (method, params, result, expected) in cases {
        assert_eq!(exchange(method, params, result.clone()), expected, "{method} {result}");
    }
}

#[test]
fn results_of_the_guide_leave_failures_open() {
    for result in [json!(null), json!({"error": "no"}), json!({"content": "", "more": 1}), json!({})] {
        assert!(
            requested("guide")
                .server_sends(response("guide", "1", "readFile", result.clone()))
                .broken("guide")
                .is_empty(),
            "{result}"
        );
    }
    let wrong = response("guide", "1", "readFile", json!({"content": null}));
    assert_eq!(requested("guide").server_sends(wrong).broken("guide"), ["read-file/result"]);
}

#[test]
fn a_method_that_an_editor_may_lack_is_told_apart_from_one_that_fails() {
    let uses = |method: &str, params: Value, exchange: Value| {
        let request = json!({"clientRequest": {"id": "1", method: params}});
        TraceBuilder::open().client_sends(request).server_sends(json!({"serverResponse": exchange})).judge("cli").uses
    };
    let error = |code| json!({"id": "1", "error": {"code": code, "message": "no"}});
    let open = json!({"uri": "file:///a"});
    let used = |refusal| vec![Use { capability: "open_uri", request: "openURI".to_owned(), refusal }];
    assert_eq!(uses("openURI", open.clone(), error(-32601)), used(Some(-32601)));
    assert_eq!(uses("openURI", open, error(-32603)), used(None));
    assert_eq!(uses("openURI", json!({}), error(-32601)), [], "the request is wrong");
    assert_eq!(uses("readFile", json!({"path": "/a"}), error(-32601)), [], "no editor may lack it");
}

#[test]
fn what_cannot_succeed_has_to_fail() {
    let missing = |result| exchange("readFile", json!({}), result);
    assert_eq!(missing(json!({"success": true, "content": ""})), ["envelope/missing-param"]);
    assert!(missing(json!({"success": false, "message": "no path"})).is_empty());
    let wrong = exchange("readFile", json!({"path": 5}), json!({"success": true, "content": ""}));
    assert_eq!(wrong, ["envelope/wrong-param"]);
    assert_eq!(exchange("fly", json!({}), json!({})), ["envelope/unknown-method"]);
    let none = TraceBuilder::open().client_sends(json!({"clientRequest": {"id": "1"}}));
    let none = none.server_sends(json!({"serverResponse": {"id": "1", "ping": {}}})).broken("cli");
    assert_eq!(none, ["envelope/client-request", "envelope/no-method"]);
}

#[test]
fn what_was_wrong_on_purpose_may_be_answered_in_any_way() {
    let trace = TraceBuilder::open().client_sends(request("cli", "1", "readFile", json!({}))).deliberate();
    assert!(trace.server_sends(response("cli", "1", "readFile", json!({"content": 5}))).broken("cli").is_empty());
    let never = TraceBuilder::open().client_sends(request("cli", "1", "fly", json!({}))).deliberate();
    assert!(later(never, 60).broken("cli").is_empty());
}

#[test]
fn who_leaves_answers_to_a_scenario_on_purpose_is_not_blamed_for_late_ones() {
    let mark = || EventKind::Mark(Mark { mark: "step".to_owned(), text: "leaves answers to steps".to_owned() });
    let ping_request = || request("cli", "1", "openURI", json!({"uri": "file:///a"}));
    let never = |trace: TraceBuilder| later(trace.client_sends(ping_request()), 60).broken("cli");
    assert!(!never(TraceBuilder::open()).is_empty());
    assert!(never(TraceBuilder::open().server(mark()).deliberate()).is_empty());
    assert_eq!(never(TraceBuilder::open().server(mark())), never(TraceBuilder::open()));
}

#[test]
fn who_answers_no_pings_on_purpose_judges_those_who_have_to_all_the_same() {
    let mark = || EventKind::Mark(Mark { mark: "step".to_owned(), text: "ignores pings".to_owned() });
    let trace = || TraceBuilder::open().server(mark()).deliberate();
    let late = |trace: TraceBuilder| later(trace, 60).broken("cli");
    assert!(late(trace().client_frame(opcode::PING, b"a")).is_empty());
    assert_eq!(late(TraceBuilder::open().client_frame(opcode::PING, b"a")), ["framing/pong"]);
    let requested = trace().server_frame(opcode::PING, b"a").wait(60).server_frame(opcode::PONG, b"");
    assert_eq!(requested.broken("cli"), ["framing/client-pong"]);
}

fn notifies(edition: &str, name: &str, data: Value) -> TraceBuilder {
    TraceBuilder::open().server_sends(notification(edition, name, data))
}

fn range(numbers: [i64; 4]) -> Value {
    let [a, b, c, d] = numbers;
    json!({"startLine": a, "startCharacter": b, "endLine": c, "endCharacter": d})
}

#[test]
fn a_message_is_one_json_document() {
    assert_eq!(TraceBuilder::open().server_sends_text("{} {}").broken("cli"), ["framing/json"]);
    assert_eq!(TraceBuilder::open().server_sends_text("").broken("guide"), ["framing/json"]);
}

#[test]
fn json_that_is_hard_to_hold_is_json_all_the_same() {
    let trace =
        TraceBuilder::open().server_sends_text(r#"{"serverNotification":{"userSentMessage":{"message":"\ud800"}}}"#);
    assert!(trace.broken("cli").is_empty());
    assert_eq!(trace.judge("cli").notes.len(), 1);
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(TraceBuilder::open().server_sends_text(&deep).broken("cli").is_empty());
}

#[test]
fn a_message_is_a_response_or_a_notification() {
    for wrong in [json!({"hello": 1}), json!([]), json!("serverResponse"), json!({"serverResponse": null})] {
        assert_eq!(TraceBuilder::open().server_sends(wrong.clone()).broken("cli"), ["envelope/top-level"], "{wrong}");
    }
    let more = json!({"serverNotification": {"visibleFilesDidChange": {"uris": [], "more": 1}}, "more": 1});
    assert!(TraceBuilder::open().server_sends(more).broken("cli").is_empty());
}

#[test]
fn a_notification_has_a_name_with_an_object_and_no_id() {
    let trace = TraceBuilder::open()
        .server_sends(json!({"serverNotification": {"id": "1", "userSentMessage": {"message": ""}}}));
    assert_eq!(trace.broken("cli"), ["envelope/notification-without-id"]);
    assert_eq!(
        TraceBuilder::open().server_sends(json!({"serverNotification": {}})).broken("guide"),
        ["envelope/notification-shape"]
    );
    assert_eq!(notifies("cli", "somethingNew", json!([])).broken("cli"), ["envelope/notification-shape"]);
    // A key that nobody knows may hold anything beside one that is known.
    let beside = json!({"serverNotification": {"traceId": "é", "userSentMessage": {"message": ""}, "sequence": 7}});
    assert!(TraceBuilder::open().server_sends(beside).broken("cli").is_empty());
    let two = |name: &str| json!({"serverNotification": {"userSentMessage": {"message": ""}, name: {"message": ""}}});
    let sends = |name| TraceBuilder::open().server_sends(two(name)).broken("cli");
    assert_eq!(sends("appendToPrompt"), ["envelope/notification-shape"]);
    assert!(sends("somethingNew").is_empty());
    assert!(notifies("cli", "somethingNew", json!({})).broken("cli").is_empty());
    assert!(notifies("guide", "somethingNew", json!({})).broken("guide").is_empty());
}

#[test]
fn notifications_of_the_cli_have_their_data() {
    let selection = |uri: &str, range: Value| json!({"uri": uri, "selections": [{"range": range, "content": ""}]});
    let cases = [
        ("selectionDidChange", selection("file:///a", range([0, 0, 0, 1])), None),
        ("selectionDidChange", json!({"uri": "file:///a", "selections": []}), None),
        ("selectionDidChange", json!({"uri": "file:///a"}), Some("selection/data")),
        ("selectionDidChange", selection("file:///a", json!({})), Some("selection/data")),
        ("selectionDidChange", selection("/a", range([0, 0, 0, 1])), Some("selection/uri")),
        ("selectionDidChange", selection("file:///100%", range([0, 0, 0, 1])), Some("selection/uri")),
        ("selectionDidChange", selection("file:///a", range([-1, 0, 0, 1])), Some("selection/range")),
        ("selectionDidChange", selection("file:///a", range([1, 0, 0, 9])), Some("selection/ordered")),
        ("visibleFilesDidChange", json!({"uris": []}), None),
        ("visibleFilesDidChange", json!({"uris": "file:///a"}), Some("visible-files/data")),
        ("visibleFilesDidChange", json!({"uris": [1]}), Some("visible-files/data")),
        ("visibleFilesDidChange", json!({"uris": ["a"]}), Some("visible-files/uri")),
        ("visibleFilesDidChange", json!({"uris": ["file:///a", "file:///b"]}), None),
        (
            "visibleFilesDidChange",
            json!({"uris": ["file:///a", "file:///b", "file:///a"]}),
            Some("visible-files/no-duplicates"),
        ),
        ("pluginMetadata", json!({"version": "1", "pluginDirectory": "/p"}), None),
        ("pluginMetadata", json!({"version": 1}), Some("metadata/data")),
        ("userSentMessage", json!({"message": "m"}), None),
        ("userSentMessage", json!({"message": null}), Some("message/data")),
        ("appendToPrompt", json!({"message": "m"}), None),
        ("appendToPrompt", json!({}), Some("prompt/data")),
    ];
    for (name, data, expected) in cases {
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(notifies("cli", name, data.clone()).broken("cli"), expected, "{name} {data}");
    }
}

#[test]
fn notifications_of_the_guide_have_their_data() {
    let place = |line: i64| json!({"line": line, "col": 0});
    let cases = [
        ("selectionChanged", json!({"path": "/a", "start": place(1), "end": place(1)}), None),
        ("selectionChanged", json!({"path": "/a", "start": place(1), "end": place(0)}), Some("selection/ordered")),
        ("selectionChanged", json!({"path": "/a", "start": place(1)}), Some("selection/data")),
        (
            "selectionChanged",
            json!({"path": "/a", "start": {"line": "1", "col": 0}, "end": place(1)}),
            Some("selection/data"),
        ),
        ("visibleFilesChanged", json!({"files": ["/a"]}), None),
        ("visibleFilesChanged", json!({"uris": []}), Some("visible-files/data")),
    ];
    for (name, data, expected) in cases {
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(notifies("guide", name, data.clone()).broken("guide"), expected, "{name} {data}");
    }
}

#[test]
fn a_fault_says_where_it_is() {
    let trace = notifies("cli", "visibleFilesDidChange", json!({"uris": ["file:///a", "b"]}));
    let violation = trace.judge("cli").violations.remove(0);
    assert_eq!(violation.path.as_deref(), Some("/serverNotification/visibleFilesDidChange/uris/1"));
    assert_eq!(violation.actual, Some(json!("b")));
    assert_eq!(violation.index, 3);
}
