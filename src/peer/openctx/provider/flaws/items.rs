//! Items that are none.

use serde_json::{Value, json};

use super::super::quirks::{Effect, Instead};
use super::super::request::{Method, Request};
use super::{Entry, each, flaw, remove, set, set_each, without};

pub const FLAWS: &[Entry] = &[
    flaw!("items-fail" "items/offered" "`items` is answered with an error, though the feature is there."
        Effect::Instead(|s| s.is(Method::Items).then(|| Instead::error(-32603, "something went wrong")))),
    flaw!("one-item-as-object" "items/result" "A single item is not put into a list."
    items(|i| if let Some([one]) = i.as_array().map(Vec::as_slice) {
        *i = one.clone();
    })),
    flaw!("items-in-object" "items/result" "The items are the member `items` of an object." items(|i| *i = json!({"items": i.clone()}))),
    flaw!("items-as-texts" "items/result" "The items are their contents." items(|i| each(i, |item| *item = item["ai"]["content"].clone()))),
    flaw!("item-without-title" "items/title" "Items have no title." items(|i| each(i, |item| drop(remove(item, "title"))))),
    flaw!("item-title-as-number" "items/title" "The titles of items are numbers." items(|i| set_each(i, "title", 5))),
    flaw!("item-url-null" "items/url" "The URLs of items are null." items(|i| set_each(i, "url", json!(null)))),
    flaw!("item-url-as-object" "items/url" "The URLs of items are objects." items(|i| set_each(i, "url", json!({"href": "https://a.example/"})))),
    flaw!("item-url-relative" "items/url-syntax" "The URLs of items have no scheme." items(|i| set_each(i, "url", "/tickets/WIRE-1"))),
    flaw!("item-ui-as-text" "items/ui" "`ui` of items is a text." items(|i| set_each(i, "ui", "hover here"))),
    flaw!("item-hover-as-text" "items/hover" "`hover` of items is a text." items(|i| set_each(i, "ui", json!({"hover": "text"})))),
    flaw!("item-markdown-as-object" "items/hover" "`markdown` of items is an object."
        items(|i| set_each(i, "ui", json!({"hover": {"markdown": {"value": "**text**"}}})))),
    flaw!("item-hover-text-as-number" "items/hover" "`text` of items is a number."
        items(|i| set_each(i, "ui", json!({"hover": {"text": 5}})))),
    flaw!("item-ai-as-text" "items/ai" "`ai` of items is a text." items(|i| set_each(i, "ai", "content"))),
    flaw!("item-content-as-list" "items/ai" "`content` of items is a list of lines."
        items(|i| set_each(i, "ai", json!({"content": ["line", "line"]})))),
    flaw!("item-content-null" "items/ai" "`content` of items is null." items(|i| set_each(i, "ai", json!({"content": null})))),
    flaw!("message-or-mention-needed" "items/optional-params"
    "Without a message and a mention `items` is not answered."
    Effect::Instead(|s| {
        let none = |request: &Request| ["message", "mention"].iter().all(|key| !request.params.contains_key(*key));
        (s.is(Method::Items) && s.request.as_ref().is_ok_and(none)).then_some(Instead::Close)
    })),
    flaw!("both-unanswered" "items/optional-params"
    "With both a message and a mention `items` is not answered."
    Effect::Instead(|s| {
        let both = |request: &Request| ["message", "mention"].iter().all(|key| request.params.contains_key(*key));
        (s.is(Method::Items) && s.request.as_ref().is_ok_and(both)).then_some(Instead::Close)
    })),
    flaw!("odd-message-unanswered" "items/any-message" "A message with a control character is not answered."
    Effect::Instead(|s| {
        (s.is(Method::Items) && s.text("message").contains(|c: char| c.is_control())).then_some(Instead::Close)
    })),
    flaw!("long-message-unanswered" "items/any-message" "A message of more than 1000 bytes is not answered."
        Effect::Instead(|s| (s.is(Method::Items) && s.text("message").len() > 1000).then_some(Instead::Close))),
    flaw!("own-mention-fails" "items/of-mention" "Mentions that come back are answered with an error."
    Effect::Instead(|s| {
        let mention = s.request.as_ref().is_ok_and(|request| request.mention().is_some());
        (s.is(Method::Items) && mention).then(|| Instead::error(404, "there is no such mention"))
    })),
    flaw!("foreign-mention-unanswered" "items/foreign-mention" "A mention of somebody else's is not answered."
    Effect::Instead(|s| {
        let uri = s.request.as_ref().ok().and_then(|request| request.mention().map(str::to_owned))?;
        let known = ["https://tickets.example/", "wirecert:"].iter().any(|ours| uri.starts_with(ours));
        (s.is(Method::Items) && !known).then_some(Instead::Close)
    })),
    flaw!("items-missing-empty-object" "envelope/method-not-offered"
        ["items/result": "An object is no list."]
        "There is no items feature, and `items` is answered with an empty object."
        Effect::Instead(|s| without(s, Method::Items, Instead::Result(json!({}))))),
    flaw!("items-missing-unanswered" "envelope/answered"
        "There is no items feature, and `items` is not answered."
    Effect::Instead(|s| without(s, Method::Items, Instead::Close))),
];

const fn items(change: fn(&mut Value)) -> Effect {
    Effect::Result(Some(Method::Items), change)
}

/// Sets a member of the item of each annotation.
pub(super) fn set_in_items(annotations: &mut Value, key: &str, value: &Value) {
    each(annotations, |annotation| set(&mut annotation["item"], key, value.clone()));
}
