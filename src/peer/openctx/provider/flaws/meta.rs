//! What it says of itself wrongly.

use serde_json::json;

use super::super::quirks::{Effect, Instead};
use super::super::request::Method;
use super::{Entry, feature, flaw, remove, set};

pub const FLAWS: &[Entry] = &[
    flaw!("meta-fails" "meta/offered" "`meta` is answered with an error."
        Effect::Instead(|s| s.is(Method::Meta).then(|| Instead::error(-32603, "something went wrong")))),
    flaw!("meta-as-list" "meta/result" "The result of `meta` is a list with one object."
        meta(|m| *m = json!([m.clone()]))),
    flaw!("meta-in-meta" "meta/name" "The result of `meta` is the member `meta` of another object."
        meta(|m| *m = json!({"meta": m.clone()}))),
    flaw!("name-missing" "meta/name" "There is no name." meta(|m| drop(remove(m, "name")))),
    flaw!("name-null" "meta/name" "The name is null." meta(|m| set(m, "name", json!(null)))),
    flaw!("name-as-object" "meta/name" "The name is an object with languages."
        meta(|m| set(m, "name", json!({"en": "Provider"})))),
    flaw!("name-empty" "meta/name-text" "The name is empty." meta(|m| set(m, "name", ""))),
    flaw!("features-as-flags" "meta/features" "The features are told by true."
    meta(|m| for name in ["items", "mentions", "annotations"] {
        set(m, name, true);
    })),
    flaw!("feature-null" "meta/features" "A feature that is not there is null." meta(|m| set(m, "mentions", json!(null)))),
    flaw!("message-selectors-as-texts" "meta/message-selectors" "The message selectors are a list of patterns."
        meta(|m| feature(m, "items", "messageSelectors", json!(["ticket|bug"])))),
    flaw!("message-selectors-as-object" "meta/message-selectors" "There is one message selector instead of a list."
        meta(|m| feature(m, "items", "messageSelectors", json!({"pattern": "ticket"})))),
    flaw!("message-selector-without-pattern" "meta/message-selectors" "A message selector has no pattern."
        meta(|m| feature(m, "items", "messageSelectors", json!([{"regex": "ticket"}])))),
    flaw!("pattern-unclosed" "meta/pattern" "A pattern has a parenthesis that is not closed."
        meta(|m| feature(m, "items", "messageSelectors", json!([{"pattern": "(ticket|bug"}])))),
    flaw!("pattern-as-glob" "meta/pattern" "A pattern is a glob."
        meta(|m| feature(m, "items", "messageSelectors", json!([{"pattern": "*ticket*"}])))),
    flaw!("label-as-object" "meta/label" "The label is an object."
        meta(|m| feature(m, "mentions", "label", json!({"text": "Search…"})))),
    flaw!("auto-include-as-number" "meta/auto-include" "`autoInclude` is 1."
        meta(|m| feature(m, "mentions", "autoInclude", 1))),
    flaw!("selectors-as-object" "meta/annotation-selectors" "There is one annotation selector instead of a list."
        meta(|m| feature(m, "annotations", "selectors", json!({"path": "**/*.ts"})))),
    flaw!("selectors-as-texts" "meta/annotation-selectors" "The annotation selectors are a list of globs."
        meta(|m| feature(m, "annotations", "selectors", json!(["**/*.ts"])))),
    flaw!("selector-path-as-list" "meta/selector-path" "The path of a selector is a list of globs."
        meta(|m| feature(m, "annotations", "selectors", json!([{"path": ["**/*.ts", "**/*.js"]}])))),
    flaw!("selector-content-as-list" "meta/selector-content" "`contentContains` of a selector is a list."
        meta(|m| feature(m, "annotations", "selectors", json!([{"contentContains": ["WIRE-"]}])))),
    flaw!("meta-params-refused" "meta/extra-params" "`meta` with parameters is answered with an error."
    Effect::Instead(|s| {
        let has = s.request.as_ref().is_ok_and(|request| !request.params.is_empty());
        (s.is(Method::Meta) && has).then(|| Instead::error(-32602, "`meta` has no parameters"))
    })),
];

const fn meta(change: fn(&mut serde_json::Value)) -> Effect {
    Effect::Result(Some(Method::Meta), change)
}
