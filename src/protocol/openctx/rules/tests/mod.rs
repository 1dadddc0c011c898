//! Every rule: traces that break it, and sound ones that it must not accuse.

mod exchanges;
mod messages;

use serde_json::json;

use super::super::testing::Play;

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
