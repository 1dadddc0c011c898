use serde_json::{Value, json};

use crate::protocol::amp::testing::Play;

fn notifies(edition: &str, name: &str, data: Value) -> Play {
    Play::open().says(match edition {
        "guide" => json!({"serverNotification": {"method": {name: data}}}),
        _ => json!({"serverNotification": {name: data}}),
    })
}

fn range(numbers: [i64; 4]) -> Value {
    let [a, b, c, d] = numbers;
    json!({"startLine": a, "startCharacter": b, "endLine": c, "endCharacter": d})
}

#[test]
fn a_message_is_one_json_document() {
    assert_eq!(Play::open().says_text("{} {}").broken("cli"), ["framing/json"]);
    assert_eq!(Play::open().says_text("").broken("guide"), ["framing/json"]);
}

#[test]
fn json_that_is_hard_to_hold_is_json_all_the_same() {
    let play = Play::open().says_text(r#"{"serverNotification":{"userSentMessage":{"message":"\ud800"}}}"#);
    assert!(play.broken("cli").is_empty());
    assert_eq!(play.judge("cli").notes.len(), 1);
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(Play::open().says_text(&deep).broken("cli").is_empty());
}

#[test]
fn a_message_is_a_response_or_a_notification() {
    for wrong in [json!({"hello": 1}), json!([]), json!("serverResponse"), json!({"serverResponse": null})] {
        assert_eq!(Play::open().says(wrong.clone()).broken("cli"), ["envelope/top-level"], "{wrong}");
    }
    let more = json!({"serverNotification": {"visibleFilesDidChange": {"uris": [], "more": 1}}, "more": 1});
    assert!(Play::open().says(more).broken("cli").is_empty());
}

#[test]
fn a_notification_has_a_name_with_an_object_and_no_id() {
    let play = Play::open().says(json!({"serverNotification": {"id": "1", "userSentMessage": {"message": ""}}}));
    assert_eq!(play.broken("cli"), ["envelope/notification-without-id"]);
    assert_eq!(Play::open().says(json!({"serverNotification": {}})).broken("guide"), ["envelope/notification-shape"]);
    assert_eq!(notifies("cli", "somethingNew", json!([])).broken("cli"), ["envelope/notification-shape"]);
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
    let play = notifies("cli", "visibleFilesDidChange", json!({"uris": ["file:///a", "b"]}));
    let violation = play.judge("cli").violations.remove(0);
    assert_eq!(violation.path.as_deref(), Some("/serverNotification/visibleFilesDidChange/uris/1"));
    assert_eq!(violation.actual, Some(json!("b")));
    assert_eq!(violation.index, 3);
}
