use serde_json::{Value, json};

use super::super::super::testing::Play;
use crate::matcher::Pattern;
use crate::protocol::Level;
use crate::protocol::openctx::{PROTOCOL, requirements};

/// What the result of a method breaks. The schema of the result allows the same as the rules, as far as they say `must`.
fn gives(method: &str, params: Value, result: Value) -> Vec<String> {
    let broken = Play::new().asks(method, params).gives(result.clone()).broken();
    let schema = json!({ "$schema": format!("{method}.result") });
    let pattern = Pattern::compile(&schema, &PROTOCOL.schemas("0.1")).unwrap();
    let allowed = pattern.check(Some(&result), &mut serde_json::Map::new()).is_ok();
    let must = |short: &&String| requirements::all().iter().any(|r| r.short() == **short && r.level == Level::Must);
    let beyond = |short: &&String| *short == "meta/pattern";
    assert_eq!(allowed, broken.iter().filter(|short| !beyond(short)).all(|short| !must(&short)), "{result}");
    broken
}

#[test]
fn metadata_has_a_name_and_features_of_their_types() {
    let meta = |more: Value| {
        let mut meta = json!({"name": "n"});
        meta.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        gives("meta", json!({}), meta)
    };
    assert!(meta(json!({"more": 1})).is_empty());
    assert_eq!(gives("meta", json!({}), json!([])), ["meta/result"]);
    assert_eq!(gives("meta", json!({}), json!({})), ["meta/name"]);
    assert_eq!(meta(json!({"name": 5})), ["meta/name"]);
    assert_eq!(meta(json!({"name": ""})), ["meta/name-text"]);
    for feature in ["items", "mentions", "annotations"] {
        assert_eq!(meta(json!({ feature: true })), ["meta/features"]);
        assert!(meta(json!({ feature: {} })).is_empty());
    }
    let selectors = |value: Value| meta(json!({"items": {"messageSelectors": value}}));
    for wrong in [json!({}), json!(["a"]), json!([{}]), json!([{"pattern": 5}])] {
        assert_eq!(selectors(wrong.clone()), ["meta/message-selectors"], "{wrong}");
    }
    assert_eq!(selectors(json!([{"pattern": "a("}])), ["meta/pattern"]);
    assert_eq!(meta(json!({"mentions": {"label": 5}})), ["meta/label"]);
    assert_eq!(meta(json!({"mentions": {"autoInclude": 1}})), ["meta/auto-include"]);
    for wrong in [json!({"path": "a"}), json!(["a"])] {
        assert_eq!(meta(json!({"annotations": {"selectors": wrong}})), ["meta/annotation-selectors"]);
    }
    assert_eq!(meta(json!({"annotations": {"selectors": [{"path": ["a"]}]}})), ["meta/selector-path"]);
    assert_eq!(meta(json!({"annotations": {"selectors": [{"contentContains": 1}]}})), ["meta/selector-content"]);
}

#[test]
fn either_type_of_auto_include_in_the_metadata_is_taken_and_told() {
    for (value, kind) in [(json!(true), "a boolean"), (json!("true"), "a string")] {
        let meta = json!({"name": "n", "mentions": {"autoInclude": value}});
        let play = Play::new().asks("meta", json!({})).gives(meta);
        assert!(play.broken().is_empty());
        assert_eq!(play.notes(), [format!("`autoInclude` in the metadata is {kind}")]);
    }
}

#[test]
fn mentions_have_a_title_and_a_uri() {
    let mention = |mention: Value| gives("mentions", json!({}), json!([mention]));
    assert!(mention(json!({"title": "", "uri": "a:b"})).is_empty());
    assert_eq!(gives("mentions", json!({}), json!({})), ["mentions/result"]);
    assert_eq!(mention(json!("m")), ["mentions/result"]);
    assert_eq!(mention(json!({"uri": "a:b"})), ["mentions/title"]);
    assert_eq!(mention(json!({"title": "t"})), ["mentions/uri"]);
    assert_eq!(mention(json!({"title": "t", "uri": 5})), ["mentions/uri"]);
    assert_eq!(mention(json!({"title": "t", "uri": "a b"})), ["mentions/uri-syntax"]);
    assert_eq!(mention(json!({"title": "t", "uri": "a:b", "description": null})), ["mentions/description"]);
    assert_eq!(mention(json!({"title": "t", "uri": "a:b", "data": "d"})), ["mentions/data"]);
}

#[test]
fn items_have_a_title_and_what_else_they_have_is_of_its_type() {
    let item = |more: Value| {
        let mut item = json!({"title": "t"});
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        gives("items", json!({}), json!([item]))
    };
    assert!(item(json!({"more": 1})).is_empty());
    assert_eq!(gives("items", json!({}), json!({"title": "t"})), ["items/result"]);
    assert_eq!(gives("items", json!({}), json!([{}])), ["items/title"]);
    assert_eq!(item(json!({"url": 5})), ["items/url"]);
    assert_eq!(item(json!({"url": "example.com/a"})), ["items/url-syntax"]);
    assert_eq!(item(json!({"ui": "u"})), ["items/ui"]);
    for wrong in [json!("h"), json!({"markdown": 5}), json!({"text": []})] {
        assert_eq!(item(json!({"ui": {"hover": wrong}})), ["items/hover"]);
    }
    assert_eq!(item(json!({"ai": "c"})), ["items/ai"]);
    assert_eq!(item(json!({"ai": {"content": 5}})), ["items/ai"]);
}

const CONTENT: &str = "one\ntwo\n";

fn annotated(more: Value) -> Vec<String> {
    let mut annotation = json!({"uri": "file:///a%20b", "item": {"title": "t"}});
    annotation.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    gives("annotations", json!({"uri": "file:///a%20b", "content": CONTENT}), json!([annotation]))
}

#[test]
fn annotations_have_the_uri_of_the_document_and_an_item() {
    assert!(annotated(json!({})).is_empty());
    assert_eq!(gives("annotations", json!({"uri": "a:b", "content": ""}), json!({})), ["annotations/result"]);
    assert_eq!(annotated(json!({"uri": null})), ["annotations/uri"]);
    assert_eq!(annotated(json!({"uri": "/a%20b"})), ["annotations/uri-syntax"]);
    assert_eq!(annotated(json!({"uri": "file:///b"})), ["annotations/uri-same"]);
    assert_eq!(annotated(json!({"item": null})), ["annotations/item"]);
    assert_eq!(annotated(json!({"item": {}})), ["annotations/item"]);
    for wrong in
        [json!({"title": "t", "url": 5}), json!({"title": "t", "ai": 5}), json!({"title": "t", "ui": {"hover": 5}})]
    {
        assert_eq!(annotated(json!({ "item": wrong })), ["annotations/item-content"]);
    }
    let hints = Play::new().asks("annotations", json!({"uri": "a:b", "content": ""}));
    let hints = hints.gives(json!([{"uri": "a:b", "item": {"title": "t"}, "presentationHints": ["x"]}]));
    assert!(hints.broken().is_empty());
    assert!(hints.notes()[0].contains("presentationHints"));
}

#[test]
fn ranges_count_from_nothing_are_in_order_and_lie_in_the_document() {
    let range = |start: (Value, Value), end: (Value, Value)| {
        let at = |(line, character): (Value, Value)| json!({"line": line, "character": character});
        annotated(json!({"range": {"start": at(start), "end": at(end)}}))
    };
    let at = |line: i64, character: i64| (json!(line), json!(character));
    assert!(range(at(0, 0), at(0, 3)).is_empty());
    assert!(range(at(0, 0), at(2, 0)).is_empty(), "the end of the last line");
    assert_eq!(range(at(0, -1), at(0, 0)), ["annotations/range-zero-based"]);
    assert_eq!(range(at(1, 0), at(0, 0)), ["annotations/range-ordered"]);
    assert_eq!(range(at(0, 2), at(0, 1)), ["annotations/range-ordered"]);
    assert_eq!(range(at(0, 0), at(9, 0)), ["annotations/range-inside"]);
    assert_eq!(range(at(0, 0), at(0, 9)), ["annotations/range-inside"]);
    assert_eq!(range((json!(0.5), json!(0)), at(1, 0)), ["annotations/range"]);
    assert_eq!(range((json!("0"), json!(0)), at(1, 0)), ["annotations/range"]);
    for wrong in
        [json!([0, 1]), json!({}), json!({"start": {"line": 0, "character": 0}}), json!({"start": 1, "end": 2})]
    {
        assert_eq!(annotated(json!({"range": wrong.clone()})), ["annotations/range"], "{wrong}");
    }
}

#[test]
fn the_unit_of_characters_is_left_open() {
    let content = "héllo🎉\r\nx";
    let last = |character: i64, line: i64| {
        let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": line, "character": character}});
        let annotation = json!([{"uri": "a:b", "range": range, "item": {"title": "t"}}]);
        Play::new().asks("annotations", json!({"uri": "a:b", "content": content})).gives(annotation).broken()
    };
    for units in [6, 7, 10] {
        assert!(last(units, 0).is_empty(), "{units}");
    }
    assert!(last(0, 2).is_empty() && !last(0, 9).is_empty());
}
