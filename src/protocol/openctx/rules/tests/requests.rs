use serde_json::{Value, json};

use super::super::super::testing::Play;

fn posts(json: Value) -> Vec<String> {
    Play::new().posts(json.to_string().as_bytes()).broken()
}

fn asks(method: &str, params: Value) -> Vec<String> {
    Play::new().asks(method, params).broken()
}

#[test]
fn a_request_is_an_object_in_json() {
    assert!(posts(json!({"method": "meta"})).is_empty());
    assert_eq!(Play::new().posts(b"{").broken(), ["envelope/client-json"]);
    assert_eq!(Play::new().posts(b"").broken(), ["envelope/client-json"]);
    assert_eq!(posts(json!([])), ["envelope/client-object"]);
    assert_eq!(Play::new().posts(b"{\"method\":\"meta\",\"params\":\"\xff\"}").broken(), ["http/client-utf-8"]);
    assert_eq!(Play::new().posts("\u{feff}{\"method\":\"meta\"}".as_bytes()).broken(), ["http/client-no-bom"]);
}

#[test]
fn a_request_names_one_of_the_four_methods() {
    for wrong in [json!({}), json!({"method": "fly"}), json!({"method": 5})] {
        assert_eq!(posts(wrong.clone()), ["envelope/client-method"], "{wrong}");
    }
    assert_eq!(posts(json!({"method": "meta", "params": []})), ["meta/client-params"]);
    assert_eq!(posts(json!({"method": "annotations", "params": []})), ["envelope/client-params"]);
    assert_eq!(posts(json!({"method": "meta", "settings": null})), ["envelope/client-settings-type"]);
    assert_eq!(posts(json!({"jsonrpc": "2.0", "method": "meta"})), ["envelope/client-members"]);
}

#[test]
fn parameters_are_those_of_the_method() {
    assert_eq!(asks("meta", json!({"x": 1})), ["meta/client-params-empty"]);
    assert!(asks("mentions", json!({})).is_empty());
    for key in ["query", "uri", "codebase"] {
        assert_eq!(asks("mentions", json!({ key: 5 })), ["mentions/client-params"]);
    }
    assert_eq!(asks("mentions", json!({"autoInclude": 1})), ["mentions/client-auto-include"]);
    assert_eq!(asks("mentions", json!({"more": 1})), ["mentions/client-extra-params"]);
    assert!(asks("items", json!({"message": "m", "mention": {"title": "t", "uri": "u"}})).is_empty());
    assert_eq!(asks("items", json!({"message": 5})), ["items/client-params"]);
    assert_eq!(asks("items", json!({"mention": "m"})), ["items/client-params"]);
    assert_eq!(asks("items", json!({"mention": {"title": "t"}})), ["items/client-mention-shape"]);
    assert_eq!(asks("items", json!({"query": "q"})), ["items/client-extra-params"]);
    assert_eq!(asks("annotations", json!({"uri": "a:b"})), ["annotations/client-params"]);
    assert_eq!(asks("annotations", json!({"uri": "/a", "content": ""})), ["annotations/client-uri-syntax"]);
    assert_eq!(asks("annotations", json!({"uri": "a:b", "content": "", "x": 1})), ["annotations/client-extra-params"]);
}

#[test]
fn either_type_of_auto_include_is_taken_and_told() {
    for (value, kind) in [(json!(true), "a boolean"), (json!("true"), "a string")] {
        let play = Play::new().asks("mentions", json!({ "autoInclude": value }));
        assert!(play.broken().is_empty());
        assert_eq!(play.notes(), [format!("`autoInclude` in the parameters of `mentions` is {kind}")]);
    }
}

fn scoped(annotations: Option<Value>, content: &str) -> Play {
    let mut meta = json!({"name": "n"});
    if let Some(annotations) = annotations {
        meta["annotations"] = annotations;
    }
    let play = Play::new().asks("meta", json!({})).gives(meta);
    play.asks("annotations", json!({"uri": "file:///a", "content": content})).gives(json!([]))
}

#[test]
fn a_provider_is_asked_within_the_scope_that_it_gave() {
    let texts = |texts: &[&str]| {
        let selectors: Vec<Value> = texts.iter().map(|text| json!({ "contentContains": text })).collect();
        Some(json!({ "selectors": selectors }))
    };
    assert_eq!(scoped(None, "x").broken(), ["selectors/client-feature"]);
    assert_eq!(scoped(texts(&["a", "b"]), "x").broken(), ["selectors/client-content-other"]);
    let both = Some(json!({"selectors": [{"contentContains": "a", "path": "**"}]}));
    assert!(scoped(both, "x").broken().is_empty(), "a text beside a glob is left to scenarios");
    assert!(scoped(texts(&["X"]), "x").broken().is_empty(), "the case of a text is left to scenarios");
    assert!(scoped(texts(&["a", "b"]), "xbx").broken().is_empty());
    assert!(scoped(texts(&[]), "x").broken().is_empty(), "an empty list may stand for everything");
    assert!(scoped(texts(&["a", "b"]), "xbx").assessed("selectors/client-content-other"));
    for open in [json!({}), json!({"selectors": []}), json!({"selectors": [{"path": "b"}, {"contentContains": "a"}]})] {
        assert!(scoped(Some(open.clone()), "x").broken().is_empty(), "{open}");
    }
}

#[test]
fn a_provider_that_changes_its_mind_is_asked_by_either_word() {
    let meta = |text: &str| json!({"name": "n", "annotations": {"selectors": [{"contentContains": text}]}});
    let play = Play::new().asks("meta", json!({})).gives(meta("a")).asks("meta", json!({})).gives(meta("b"));
    let ask = |play: Play, content: &str| play.asks("annotations", json!({"uri": "a:b", "content": content})).broken();
    assert!(ask(play, "a").is_empty());
    let many = (0..20).fold(Play::new(), |play, n| play.asks("meta", json!({})).gives(meta(&format!("text {n}"))));
    assert!(ask(many, "none of them").is_empty());
}

#[test]
fn what_a_provider_says_for_other_settings_counts_for_those() {
    let meta = json!({"name": "n"});
    let play = Play::new().posts(json!({"method": "meta", "settings": {"a": 1}}).to_string().as_bytes()).gives(meta);
    assert!(play.asks("annotations", json!({"uri": "a:b", "content": ""})).gives(json!([])).broken().is_empty());
}
