//! Results of the methods that are wrong: metadata, mentions, items, annotations.

use serde_json::{Value, json};

use crate::peer::deviation::http_server::Instead;
use crate::peer::deviation::value::{each, remove, set, set_each};
use crate::peer::deviation::{FlawRow, flaw};

use super::{ProviderAnswer, ProviderEffect, RequestInContext};
use crate::peer::openctx::request::{METHODS, Method, Request};

pub const META: &[FlawRow<ProviderEffect>] = &[
    flaw!("meta-fails" "meta/offered" "`meta` is answered with an error."
        ProviderEffect::Instead(|s| s.is(Method::Meta).then(|| Instead::error(-32603, "something went wrong")))),
    flaw!("meta-as-list" "meta/result" "The result of `meta` is a list with one object."
        meta(|m| *m = json!([m.clone()]))),
    flaw!("meta-in-meta" "meta/name" "The result of `meta` is the member `meta` of another object."
        meta(|m| *m = json!({"meta": m.clone()}))),
    flaw!("name-missing" "meta/name" "There is no name." meta(|m| drop(remove(m, "name")))),
    flaw!("name-null" "meta/name" "The name is null." meta(|m| set(m, "name", json!(null)))),
    flaw!("name-null-with-settings" "meta/name" "The name is null where a request has settings."
    ProviderEffect::Instead(|s| {
        let settings = s.json()["settings"].as_object().is_some_and(|settings| !settings.is_empty());
        (s.is(Method::Meta) && settings).then(|| Instead::result(json!({ "name": null })))
    })),
    flaw!("name-as-object" "meta/name" "The name is an object with languages."
        meta(|m| set(m, "name", json!({"en": "Provider"})))),
    flaw!("name-empty" "meta/name-text" "The name is empty." meta(|m| set(m, "name", ""))),
    flaw!("features-as-flags" "meta/features" "The features are reported by true."
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
    ProviderEffect::Instead(|s| {
        let has = s.request.as_ref().is_ok_and(|request| !request.params.is_empty());
        (s.is(Method::Meta) && has).then(|| Instead::error(-32602, "`meta` has no parameters"))
    })),
];

const fn meta(change: fn(&mut serde_json::Value)) -> ProviderEffect {
    ProviderEffect::Result(Some(Method::Meta), change)
}

/// Sets a member of a feature in the result of `meta`, which has it from then on.
fn feature(meta: &mut Value, feature: &str, key: &str, value: impl Into<Value>) {
    if !meta[feature].is_object() {
        set(meta, feature, json!({}));
    }
    set(&mut meta[feature], key, value);
}

/// Behaves as a provider without the feature of this method, which answers the method in this way.
fn without(
    seen: &RequestInContext<'_>,
    method: Method,
    instead: Instead<ProviderAnswer>,
) -> Option<Instead<ProviderAnswer>> {
    if seen.is(method) {
        return Some(instead);
    }
    let features = METHODS.iter().skip(1).filter(|feature| **feature != method);
    let mut meta = json!({"name": format!("No {}", method.name())});
    features.for_each(|feature| set(&mut meta, feature.name(), json!({})));
    seen.is(Method::Meta).then_some(Instead::result(meta))
}

pub const MENTIONS: &[FlawRow<ProviderEffect>] = &[
    flaw!("mentions-fail" "mentions/offered" "`mentions` is answered with an error, though the feature is there."
        ProviderEffect::Instead(|s| s.is(Method::Mentions).then(|| Instead::error(-32603, "something went wrong")))),
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
    flaw!("mention-uri-space" "mentions/uri-syntax" "The URIs of mentions have a space that is not encoded."
        mentions(|m| set_each(m, "uri", "https://tickets.example/WIRE 1"))),
    flaw!("mention-description-as-list" "mentions/description" "The descriptions of mentions are lists."
        mentions(|m| set_each(m, "description", json!(["one", "two"])))),
    flaw!("mention-description-null" "mentions/description" "The descriptions of mentions are null."
        mentions(|m| set_each(m, "description", json!(null)))),
    flaw!("mention-data-as-text" "mentions/data" "The data of mentions is JSON in a text."
        mentions(|m| set_each(m, "data", "{\"key\":\"WIRE-1\"}"))),
    flaw!("mention-data-as-list" "mentions/data" "The data of mentions is a list." mentions(|m| set_each(m, "data", json!([1])))),
    flaw!("query-needed" "mentions/optional-params" "Without a query `mentions` is answered with an error."
    ProviderEffect::Instead(|s| {
        let absent = s.request.as_ref().is_ok_and(|request| !request.params.contains_key("query"));
        (s.is(Method::Mentions) && absent).then(|| Instead::error(-32602, "`query` is needed"))
    })),
    flaw!("uri-needed" "mentions/optional-params" "Without the URI of a document `mentions` is answered with an error."
    ProviderEffect::Instead(|s| {
        let absent = s.request.as_ref().is_ok_and(|request| !request.params.contains_key("uri"));
        (s.is(Method::Mentions) && absent).then(|| Instead::error(-32602, "`uri` is needed"))
    })),
    flaw!("query-as-expression" "mentions/any-query" "A query that is no regular expression is not answered."
    ProviderEffect::Instead(|s| {
        (s.is(Method::Mentions) && regex::Regex::new(s.text("query")).is_err()).then_some(Instead::Close)
    })),
    flaw!("empty-query-unanswered" "mentions/any-query" "An empty query is not answered."
    ProviderEffect::Instead(|s| {
        let empty = s.request.as_ref().is_ok_and(|request| request.params.get("query") == Some(&json!("")));
        (s.is(Method::Mentions) && empty).then_some(Instead::Close)
    })),
    flaw!("long-query-unanswered" "mentions/any-query" "A query of more than 1000 bytes is not answered."
        ProviderEffect::Instead(|s| (s.is(Method::Mentions) && s.text("query").len() > 1000).then_some(Instead::Close))),
    flaw!("auto-include-boolean-only" "mentions/auto-include" "`autoInclude` as a text is answered with an error."
        ProviderEffect::Instead(|s| include(s, Value::is_string))),
    flaw!("auto-include-text-only" "mentions/auto-include" "`autoInclude` as a boolean is answered with an error."
        ProviderEffect::Instead(|s| include(s, Value::is_boolean))),
    flaw!("mentions-missing-empty-object" "envelope/method-not-offered"
        ["mentions/result": "An object is no list."]
        "There is no mentions feature, and `mentions` is answered with an empty object."
        ProviderEffect::Instead(|s| without(s, Method::Mentions, Instead::result(json!({}))))),
    flaw!("mentions-missing-unanswered" "envelope/answered"
        "There is no mentions feature, and `mentions` is not answered."
    ProviderEffect::Instead(|s| without(s, Method::Mentions, Instead::Close))),
];

const fn mentions(change: fn(&mut Value)) -> ProviderEffect {
    ProviderEffect::Result(Some(Method::Mentions), change)
}

/// An error where `autoInclude` is what is not understood.
fn include(seen: &RequestInContext<'_>, wrong: fn(&Value) -> bool) -> Option<Instead<ProviderAnswer>> {
    let given = seen.request.as_ref().ok()?.params.get("autoInclude")?;
    (seen.is(Method::Mentions) && wrong(given)).then(|| Instead::error(-32602, "`autoInclude` is of a wrong type"))
}

pub const ITEMS: &[FlawRow<ProviderEffect>] = &[
    flaw!("items-fail" "items/offered" "`items` is answered with an error, though the feature is there."
        ProviderEffect::Instead(|s| s.is(Method::Items).then(|| Instead::error(-32603, "something went wrong")))),
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
    flaw!("item-url-space" "items/url-syntax" "The URLs of items have a space that is not encoded."
        items(|i| set_each(i, "url", "https://tickets.example/WIRE 1"))),
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
    ProviderEffect::Instead(|s| {
        let none = |request: &Request| ["message", "mention"].iter().all(|key| !request.params.contains_key(*key));
        (s.is(Method::Items) && s.request.as_ref().is_ok_and(none)).then_some(Instead::Close)
    })),
    flaw!("both-unanswered" "items/optional-params"
    "With both a message and a mention `items` is not answered."
    ProviderEffect::Instead(|s| {
        let both = |request: &Request| ["message", "mention"].iter().all(|key| request.params.contains_key(*key));
        (s.is(Method::Items) && s.request.as_ref().is_ok_and(both)).then_some(Instead::Close)
    })),
    flaw!("odd-message-unanswered" "items/any-message" "A message with a control character is not answered."
    ProviderEffect::Instead(|s| {
        (s.is(Method::Items) && s.text("message").contains(|c: char| c.is_control())).then_some(Instead::Close)
    })),
    flaw!("long-message-unanswered" "items/any-message" "A message of more than 1000 bytes is not answered."
        ProviderEffect::Instead(|s| (s.is(Method::Items) && s.text("message").len() > 1000).then_some(Instead::Close))),
    flaw!("own-mention-fails" "items/of-mention" "Mentions that come back are answered with an error."
    ProviderEffect::Instead(|s| {
        let mention = s.request.as_ref().is_ok_and(|request| request.mention().is_some());
        (s.is(Method::Items) && mention).then(|| Instead::error(404, "there is no such mention"))
    })),
    flaw!("foreign-mention-unanswered" "items/foreign-mention" "A mention of somebody else's is not answered."
    ProviderEffect::Instead(|s| {
        let uri = s.request.as_ref().ok().and_then(|request| request.mention().map(str::to_owned))?;
        let known = ["https://tickets.example/", "wirecert:"].iter().any(|ours| uri.starts_with(ours));
        (s.is(Method::Items) && !known).then_some(Instead::Close)
    })),
    flaw!("items-missing-empty-object" "envelope/method-not-offered"
        ["items/result": "An object is no list."]
        "There is no items feature, and `items` is answered with an empty object."
        ProviderEffect::Instead(|s| without(s, Method::Items, Instead::result(json!({}))))),
    flaw!("items-missing-unanswered" "envelope/answered"
        "There is no items feature, and `items` is not answered."
    ProviderEffect::Instead(|s| without(s, Method::Items, Instead::Close))),
];

const fn items(change: fn(&mut Value)) -> ProviderEffect {
    ProviderEffect::Result(Some(Method::Items), change)
}

/// Sets a member of the item of each annotation.
fn set_in_items(annotations: &mut Value, key: &str, value: &Value) {
    each(annotations, |annotation| set(&mut annotation["item"], key, value.clone()));
}

/// Changes the content that is annotated.
macro_rules! contents {
    (|$content:ident| $changed:expr) => {
        ProviderEffect::Request(|request, _| {
            if let Some(Value::String($content)) = request.params.get_mut("content") {
                *$content = $changed;
            }
        })
    };
}

/// Changes every range.
macro_rules! ranges {
    ($change:expr) => {
        annotations(|list| {
            each(list, |one| {
                if let Some(range) = one.get_mut("range") {
                    let change: fn(&mut Value) = $change;
                    change(range);
                }
            });
        })
    };
}

pub const ANNOTATIONS: &[FlawRow<ProviderEffect>] = &[
    flaw!("annotations-fail" "annotations/offered" "`annotations` is answered with an error, though the feature is there."
        ProviderEffect::Instead(|s| s.is(Method::Annotations).then(|| Instead::error(-32603, "something went wrong")))),
    flaw!("annotations-in-object" "annotations/result" "The annotations are the member `annotations` of an object."
        annotations(|a| *a = json!({"annotations": a.clone()}))),
    flaw!("annotations-by-uri" "annotations/result" "The result is an object with a list for each URI."
    annotations(|a| {
        let uri = a[0]["uri"].as_str().unwrap_or("file:///").to_owned();
        *a = json!({ uri: a.clone() });
    })),
    flaw!("annotations-with-null" "annotations/result" "The list of annotations ends with null."
        annotations(|a| a.as_array_mut().into_iter().for_each(|list| list.push(Value::Null)))),
    flaw!("annotation-without-uri" "annotations/uri" "Annotations have no URI."
        annotations(|a| each(a, |one| drop(remove(one, "uri"))))),
    flaw!("annotation-uri-as-object" "annotations/uri" "The URIs of annotations are taken apart."
        annotations(|a| set_each(a, "uri", json!({"scheme": "file", "path": "/a"})))),
    flaw!("annotation-uri-as-path" "annotations/uri-syntax" "The URIs of annotations are paths."
        annotations(|a| set_each(a, "uri", "/src/main.ts"))),
    flaw!("annotation-uri-bad-percent" "annotations/uri-syntax"
        "The URIs of annotations have a percent sign that encodes nothing."
        annotations(|a| set_each(a, "uri", "file:///a%zz.ts"))),
    flaw!("annotation-uri-unencoded" "annotations/uri-syntax" "The URIs of annotations are not encoded where they have to be."
        annotations(|a| set_each(a, "uri", "file:///src/{id} <main>.ts"))),
    flaw!("annotation-of-elsewhere" "annotations/uri-same" "Annotations are those of another document."
        annotations(|a| set_each(a, "uri", "file:///elsewhere.ts"))),
    flaw!("range-as-list" "annotations/range" "Ranges are lists of two positions."
        ranges!(|r| *r = json!([r["start"], r["end"]]))),
    flaw!("range-null" "annotations/range" "Annotations of the whole document have null as their range."
    annotations(|a| each(a, |one| if one.get("range").is_none() {
        set(one, "range", json!(null));
    }))),
    flaw!("range-without-end" "annotations/range" "Ranges have no end." ranges!(|r| drop(remove(r, "end")))),
    flaw!("positions-as-text" "annotations/range" "Lines and characters are texts."
    ranges!(|r| for end in ["start", "end"] {
        for axis in ["line", "character"] {
            r[end][axis] = r[end][axis].to_string().into();
        }
    })),
    flaw!("positions-as-fractions" "annotations/range" "Lines and characters are no integers."
    ranges!(|r| for end in ["start", "end"] {
        r[end]["character"] = json!(r[end]["character"].as_f64().unwrap_or_default() + 0.5);
    })),
    flaw!("positions-as-columns" "annotations/range" "Positions have `column` instead of `character`."
    ranges!(|r| for end in ["start", "end"] {
        let column = remove(&mut r[end], "character");
        set(&mut r[end], "column", column);
    })),
    flaw!("range-minus-one" "annotations/range-zero-based" "Lines begin with -1."
    ranges!(|r| for end in ["start", "end"] {
        r[end]["line"] = (r[end]["line"].as_i64().unwrap_or_default() - 1).into();
    })),
    flaw!("range-backwards" "annotations/range-ordered" "Ranges end before they start."
    ranges!(|r| {
        let (start, end) = (remove(r, "start"), remove(r, "end"));
        set(r, "start", end);
        set(r, "end", start);
    })),
    flaw!("range-beyond" "annotations/range-lines" "Ranges end a thousand lines after the document."
        ranges!(|r| r["end"]["line"] = (r["end"]["line"].as_i64().unwrap_or_default() + 1000).into())),
    flaw!("range-beyond-line" "annotations/range-inside" "Ranges end a thousand characters after their line."
        ranges!(|r| r["end"]["character"] = (r["end"]["character"].as_i64().unwrap_or_default() + 1000).into())),
    flaw!("lines-from-one" "annotations/range-lines" "Lines are counted from 1."
    ranges!(|r| for end in ["start", "end"] {
        r[end]["line"] = (r[end]["line"].as_i64().unwrap_or_default() + 1).into();
    })),
    flaw!("tabs-expanded" "annotations/as-sent" "Tabs of the content are expanded before positions are counted."
        contents!(|text| text.replace('\t', "        "))),
    flaw!("characters-composed" "annotations/as-sent" "The content is composed (NFC) before positions are counted."
        contents!(|text| text.replace("e\u{301}", "é"))),
    flaw!("capitals-folded" "annotations/as-sent" "Letters of the content are folded before positions are counted."
        contents!(|text| text.replace('ß', "ss"))),
    flaw!("content-trimmed" "annotations/as-sent" "Empty lines at the beginning of the content are dropped."
        contents!(|text| text.trim_start_matches(['\r', '\n']).to_owned())),
    flaw!("lines-in-16-bits" "annotations/as-sent" "Lines are counted in 16 bits."
        contents!(|text| text.splitn(0x1_0001, '\n').last().filter(|_| text.matches('\n').count() > 0xffff).unwrap_or(text).to_owned())),
    flaw!("annotation-without-item" "annotations/item" "Annotations have no item."
        annotations(|a| each(a, |one| drop(remove(one, "item"))))),
    flaw!("annotation-item-flat" "annotations/item" "The members of the item are those of the annotation."
    annotations(|a| each(a, |one| if let (Value::Object(item), Value::Object(one)) = (remove(one, "item"), one) {
        one.extend(item);
    }))),
    flaw!("annotation-item-without-title" "annotations/item" "The items of annotations have no title."
        annotations(|a| each(a, |one| drop(remove(&mut one["item"], "title"))))),
    flaw!("annotation-url-as-number" "annotations/item-content" "The URLs of items of annotations are numbers."
        annotations(|a| set_in_items(a, "url", &json!(5)))),
    flaw!("annotation-hover-as-text" "annotations/item-content" "`hover` of items of annotations is a text."
        annotations(|a| set_in_items(a, "ui", &json!({"hover": "text"})))),
    flaw!("annotation-ai-as-text" "annotations/item-content" "`ai` of items of annotations is a text."
        annotations(|a| set_in_items(a, "ai", &json!("content")))),
    flaw!("empty-document-unanswered" "annotations/any-content" "An empty document is not answered."
        ProviderEffect::Instead(|s| (s.is(Method::Annotations) && s.text("content").is_empty()).then_some(Instead::Close))),
    flaw!("odd-document-unanswered" "annotations/any-content" "A document with a control character is not answered."
    ProviderEffect::Instead(|s| {
        let odd = |c: char| c.is_control() && !"\r\n\t".contains(c);
        (s.is(Method::Annotations) && s.text("content").contains(odd)).then_some(Instead::Close)
    })),
    flaw!("files-only" "annotations/any-uri" "A document that is no file is not answered."
        ProviderEffect::Instead(|s| (s.is(Method::Annotations) && !s.text("uri").starts_with("file:")).then_some(Instead::Close))),
    flaw!("encoded-uri-unanswered" "annotations/any-uri" "A URI with encoded characters is not answered."
        ProviderEffect::Instead(|s| (s.is(Method::Annotations) && s.text("uri").contains('%')).then_some(Instead::Close))),
    flaw!("unmatched-unanswered" "annotations/unmatched"
    "A document whose name has no extension that is known is not answered."
    ProviderEffect::Instead(|s| {
        let path = s.text("uri").split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let unknown = !name.contains('.') || name.ends_with("-unknown");
        (s.is(Method::Annotations) && unknown).then_some(Instead::Close)
    })),
    flaw!("annotations-missing-empty-object" "envelope/method-not-offered"
        ["annotations/result": "An object is no list."]
       
        "There is no annotations feature, and `annotations` is answered with an empty object."
        ProviderEffect::Instead(|s| without(s, Method::Annotations, Instead::result(json!({}))))),
    flaw!("annotations-missing-unanswered" "envelope/answered"
        "There is no annotations feature, and `annotations` is not answered."
        ProviderEffect::Instead(|s| without(s, Method::Annotations, Instead::Close))),
];

const fn annotations(change: fn(&mut Value)) -> ProviderEffect {
    ProviderEffect::Result(Some(Method::Annotations), change)
}
