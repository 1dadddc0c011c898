//! Mentions that are none.

use serde_json::{Value, json};

use super::super::quirks::{Effect, Instead, RequestInContext};
use super::super::request::Method;
use super::{Entry, each, flaw, remove, set, set_each, without};

pub const FLAWS: &[Entry] = &[
    flaw!("mentions-fail" "mentions/offered" "`mentions` is answered with an error, though the feature is there."
        Effect::Instead(|s| s.is(Method::Mentions).then(|| Instead::error(-32603, "something went wrong")))),
    flaw!("mentions-in-object" "mentions/result" "The mentions are the member `mentions` of an object."
        mentions(|m| *m = json!({"mentions": m.clone()}))),
    flaw!("mentions-by-number" "mentions/result" "The result is an object with numbers as keys, as PHP makes of a list."
    mentions(|m| {
        let numbered = m.as_array().into_iter().flatten().enumerate().map(|(n, m)| (n.to_string(), m.clone()));
        *m = Value::Object(numbered.collect());
    })),
    flaw!("mentions-with-null" "mentions/result" "The list of mentions ends with null."
        mentions(|m| m.as_array_mut().into_iter().for_each(|list| list.push(Value::Null)))),
    flaw!("mentions-as-texts" "mentions/result" "The mentions are their titles."
        mentions(|m| each(m, |mention| *mention = mention["title"].clone()))),
    flaw!("mention-without-title" "mentions/title" "Mentions have a `name` instead of a `title`."
    mentions(|m| each(m, |mention| {
        let title = remove(mention, "title");
        set(mention, "name", title);
    }))),
    flaw!("mention-title-null" "mentions/title" "The titles of mentions are null." mentions(|m| set_each(m, "title", json!(null)))),
    flaw!("mention-without-uri" "mentions/uri" "Mentions have a `url` instead of a `uri`."
    mentions(|m| each(m, |mention| {
        let uri = remove(mention, "uri");
        set(mention, "url", uri);
    }))),
    flaw!("mention-uri-as-object" "mentions/uri" "The URIs of mentions are taken apart."
        mentions(|m| set_each(m, "uri", json!({"scheme": "https", "path": "/a"})))),
    flaw!("mention-uri-as-path" "mentions/uri-syntax" "The URIs of mentions are paths." mentions(|m| set_each(m, "uri", "/docs/a b"))),
    flaw!("mention-uri-bad-percent" "mentions/uri-syntax" "The URIs of mentions have a percent sign that encodes nothing."
        mentions(|m| set_each(m, "uri", "https://tickets.example/100%"))),
    flaw!("mention-description-as-list" "mentions/description" "The descriptions of mentions are lists."
        mentions(|m| set_each(m, "description", json!(["one", "two"])))),
    flaw!("mention-description-null" "mentions/description" "The descriptions of mentions are null."
        mentions(|m| set_each(m, "description", json!(null)))),
    flaw!("mention-data-as-text" "mentions/data" "The data of mentions is JSON in a text."
        mentions(|m| set_each(m, "data", "{\"key\":\"WIRE-1\"}"))),
    flaw!("mention-data-as-list" "mentions/data" "The data of mentions is a list." mentions(|m| set_each(m, "data", json!([1])))),
    flaw!("query-needed" "mentions/optional-params" "Without a query `mentions` is answered with an error."
    Effect::Instead(|s| {
        let absent = s.request.as_ref().is_ok_and(|request| !request.params.contains_key("query"));
        (s.is(Method::Mentions) && absent).then(|| Instead::error(-32602, "`query` is needed"))
    })),
    flaw!("uri-needed" "mentions/optional-params" "Without the URI of a document `mentions` is answered with an error."
    Effect::Instead(|s| {
        let absent = s.request.as_ref().is_ok_and(|request| !request.params.contains_key("uri"));
        (s.is(Method::Mentions) && absent).then(|| Instead::error(-32602, "`uri` is needed"))
    })),
    flaw!("query-as-expression" "mentions/any-query" "A query that is no regular expression is not answered."
    Effect::Instead(|s| {
        (s.is(Method::Mentions) && regex::Regex::new(s.text("query")).is_err()).then_some(Instead::Close)
    })),
    flaw!("empty-query-unanswered" "mentions/any-query" "An empty query is not answered."
    Effect::Instead(|s| {
        let empty = s.request.as_ref().is_ok_and(|request| request.params.get("query") == Some(&json!("")));
        (s.is(Method::Mentions) && empty).then_some(Instead::Close)
    })),
    flaw!("long-query-unanswered" "mentions/any-query" "A query of more than 1000 bytes is not answered."
        Effect::Instead(|s| (s.is(Method::Mentions) && s.text("query").len() > 1000).then_some(Instead::Close))),
    flaw!("auto-include-boolean-only" "mentions/auto-include" "`autoInclude` as a text is answered with an error."
        Effect::Instead(|s| include(s, Value::is_string))),
    flaw!("auto-include-text-only" "mentions/auto-include" "`autoInclude` as a boolean is answered with an error."
        Effect::Instead(|s| include(s, Value::is_boolean))),
    flaw!("mentions-missing-empty-object" "envelope/method-not-offered"
        ["mentions/result": "An object is no list."]
        "There is no mentions feature, and `mentions` is answered with an empty object."
        Effect::Instead(|s| without(s, Method::Mentions, Instead::Result(json!({}))))),
    flaw!("mentions-missing-unanswered" "envelope/answered"
        "There is no mentions feature, and `mentions` is not answered."
    Effect::Instead(|s| without(s, Method::Mentions, Instead::Close))),
];

const fn mentions(change: fn(&mut Value)) -> Effect {
    Effect::Result(Some(Method::Mentions), change)
}

/// An error where `autoInclude` is what is not understood.
fn include(seen: &RequestInContext<'_>, wrong: fn(&Value) -> bool) -> Option<Instead> {
    let given = seen.request.as_ref().ok()?.params.get("autoInclude")?;
    (seen.is(Method::Mentions) && wrong(given)).then(|| Instead::error(-32602, "`autoInclude` is of a wrong type"))
}
