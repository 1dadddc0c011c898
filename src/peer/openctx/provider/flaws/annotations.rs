//! Annotations that are none, or elsewhere.

use serde_json::{Value, json};

use super::super::quirks::{Effect, Instead};
use super::super::request::Method;
use super::items::set_in_items;
use super::{Entry, each, flaw, remove, set, set_each, without};

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

pub const FLAWS: &[Entry] = &[
    flaw!("annotations-fail" "annotations/offered" "`annotations` is answered with an error, though the feature is there."
        Effect::Instead(|s| s.is(Method::Annotations).then(|| Instead::error(-32603, "something went wrong")))),
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
    flaw!("range-beyond" "annotations/range-inside" "Ranges end a thousand lines after the document."
        ranges!(|r| r["end"]["line"] = (r["end"]["line"].as_i64().unwrap_or_default() + 1000).into())),
    flaw!("range-beyond-line" "annotations/range-inside" "Ranges end a thousand characters after their line."
        ranges!(|r| r["end"]["character"] = (r["end"]["character"].as_i64().unwrap_or_default() + 1000).into())),
    flaw!("range-from-one" "annotations/range-inside" "Lines are counted from 1."
    ranges!(|r| for end in ["start", "end"] {
        r[end]["line"] = (r[end]["line"].as_i64().unwrap_or_default() + 1).into();
    })),
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
        Effect::Instead(|s| (s.is(Method::Annotations) && s.text("content").is_empty()).then_some(Instead::Close))),
    flaw!("odd-document-unanswered" "annotations/any-content" "A document with a control character is not answered."
    Effect::Instead(|s| {
        let odd = |c: char| c.is_control() && !"\r\n\t".contains(c);
        (s.is(Method::Annotations) && s.text("content").contains(odd)).then_some(Instead::Close)
    })),
    flaw!("files-only" "annotations/any-uri" "A document that is no file is not answered."
        Effect::Instead(|s| (s.is(Method::Annotations) && !s.text("uri").starts_with("file:")).then_some(Instead::Close))),
    flaw!("encoded-uri-unanswered" "annotations/any-uri" "A URI with encoded characters is not answered."
        Effect::Instead(|s| (s.is(Method::Annotations) && s.text("uri").contains('%')).then_some(Instead::Close))),
    flaw!("unmatched-unanswered" "annotations/unmatched"
    "A document whose name has no extension that is known is not answered."
    Effect::Instead(|s| {
        let path = s.text("uri").split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let unknown = !name.contains('.') || name.ends_with("-unknown");
        (s.is(Method::Annotations) && unknown).then_some(Instead::Close)
    })),
    flaw!("annotations-missing-empty-object" "envelope/method-not-offered"
        ["annotations/result": "An object is no list."]
       
        "There is no annotations feature, and `annotations` is answered with an empty object."
        Effect::Instead(|s| without(s, Method::Annotations, Instead::Result(json!({}))))),
    flaw!("annotations-missing-unanswered" "envelope/answered"
        "There is no annotations feature, and `annotations` is not answered."
        Effect::Instead(|s| without(s, Method::Annotations, Instead::Close))),
];

const fn annotations(change: fn(&mut Value)) -> Effect {
    Effect::Result(Some(Method::Annotations), change)
}
