//! Results: what each method gives.

use serde_json::{Map, Value};

use super::members::{LIST, OBJECT, Place, STRING, STRING_OR_BOOLEAN, is_uri, uri};
use super::requests::Request;
use super::{patterns, ranges};
use crate::protocol::Fault;
use crate::protocol::http::book::Bench;

/// Judges the result of a request.
pub fn judge(request: &Request, result: &Value, bench: &mut Bench<'_>) {
    // What is neither an object nor a list is no result of any method.
    if !result.is_object() && !result.is_array() {
        return;
    }
    if request.method == "meta" {
        let fault = Fault::new("the result of `meta` is no object").at("/result").actual(result.clone());
        bench.hold("meta/result", (!result.is_object()).then_some(fault));
        if let Some(members) = result.as_object() {
            bench.hold("meta/offered", None);
            meta(Place { members, pointer: "/result" }, bench);
        }
        return;
    }
    let area = request.method.as_str();
    let Some(list) = result.as_array() else {
        let fault = Fault::new(format!("the result of `{area}` is no list")).at("/result").actual(result.clone());
        return bench.hold(&format!("{area}/result"), Some(fault));
    };
    let content = request.params.get("content").and_then(Value::as_str).unwrap_or_default();
    let measures = ranges::Measures::of(content);
    for (n, entry) in list.iter().enumerate() {
        let pointer = format!("/result/{n}");
        let Some(members) = entry.as_object() else {
            let fault = Fault::new(format!("the result of `{area}` has what is no object in it")).at(pointer);
            return bench.hold(&format!("{area}/result"), Some(fault.actual(entry.clone())));
        };
        let place = Place { members, pointer: &pointer };
        match area {
            "mentions" => mention(place, bench),
            "items" => item(place, &ITEM, bench),
            _ => annotation(request, &measures, place, bench),
        }
    }
    bench.hold(&format!("{area}/result"), None);
}

fn meta(meta: Place<'_>, bench: &mut Bench<'_>) {
    if let Some(name) = meta.required(bench, "name", STRING, "meta/name") {
        bench.hold_if("meta/name-text", name.as_str() == Some(""), || "the name of the provider is empty".to_owned());
    }
    unknown(meta, &["name", "items", "mentions", "annotations"], "meta/result", "Metadata", bench);
    // A provider need not have any of them.
    bench.hold("meta/features", None);
    let mut feature =
        |key: &str| Some((meta.optional(bench, key, OBJECT, "meta/features")?.as_object()?, meta.at(key)));
    let (items, mentions, annotations) = (feature("items"), feature("mentions"), feature("annotations"));
    if let Some((members, pointer)) = &items {
        let place = Place { members, pointer };
        each(place, "messageSelectors", "meta/message-selectors", bench, |selector, bench| {
            let pattern = selector.required(bench, "pattern", STRING, "meta/message-selectors");
            if let Some(text) = pattern.and_then(Value::as_str) {
                let fault = patterns::fault(text)
                    .map(|what| Fault::new(format!("the pattern is no regular expression: {what}")));
                bench.hold("meta/pattern", fault.map(|fault| fault.at(selector.at("pattern")).actual(text)));
            }
        });
    }
    if let Some((members, pointer)) = &mentions {
        let place = Place { members, pointer };
        place.optional(bench, "label", STRING, "meta/label");
        if let Some(value) = place.optional(bench, "autoInclude", STRING_OR_BOOLEAN, "meta/auto-include") {
            let kind = if value.is_string() { "a string" } else { "a boolean" };
            bench.note("meta/auto-include", format!("`autoInclude` in the metadata is {kind}"));
        }
    }
    if let Some((members, pointer)) = &annotations {
        let place = Place { members, pointer };
        each(place, "selectors", "meta/annotation-selectors", bench, |selector, bench| {
            selector.optional(bench, "path", STRING, "meta/selector-path");
            selector.optional(bench, "contentContains", STRING, "meta/selector-content");
        });
    }
}

/// Judges a list of objects that may be left out, and each of them.
fn each(place: Place<'_>, key: &str, short: &str, bench: &mut Bench<'_>, one: impl Fn(Place<'_>, &mut Bench<'_>)) {
    let Some(list) = place.optional(bench, key, LIST, short).and_then(Value::as_array) else { return };
    for (n, entry) in list.iter().enumerate() {
        let pointer = format!("{}/{n}", place.at(key));
        match entry.as_object() {
            Some(members) => one(Place { members, pointer: &pointer }, bench),
            None => {
                let fault = Fault::new(format!("`{key}` has what is no object in it")).at(pointer);
                bench.hold(short, Some(fault.actual(entry.clone())));
            }
        }
    }
}

fn mention(mention: Place<'_>, bench: &mut Bench<'_>) {
    mention.required(bench, "title", STRING, "mentions/title");
    mention.optional(bench, "description", STRING, "mentions/description");
    mention.optional(bench, "data", OBJECT, "mentions/data");
    if let Some(value) = mention.required(bench, "uri", STRING, "mentions/uri") {
        uri(bench, value, &mention.at("uri"), "mentions/uri-syntax");
    }
    unknown(mention, &["title", "description", "data", "uri"], "mentions/result", "Mentions", bench);
}

/// What an item breaks, member by member.
struct ItemRules {
    title: &'static str,
    url: &'static str,
    ui: &'static str,
    hover: &'static str,
    ai: &'static str,
    result: &'static str,
}

const ITEM: ItemRules = ItemRules {
    title: "items/title",
    url: "items/url",
    ui: "items/ui",
    hover: "items/hover",
    ai: "items/ai",
    result: "items/result",
};

const ITEM_OF_ANNOTATION: ItemRules = ItemRules {
    title: "annotations/item",
    url: "annotations/item-content",
    ui: "annotations/item-content",
    hover: "annotations/item-content",
    ai: "annotations/item-content",
    result: "annotations/result",
};

fn item(item: Place<'_>, rules: &ItemRules, bench: &mut Bench<'_>) {
    item.required(bench, "title", STRING, rules.title);
    if let Some(value) = item.optional(bench, "url", STRING, rules.url) {
        uri(bench, value, &item.at("url"), "items/url-syntax");
    }
    let mut inner = |place: Place<'_>, key: &str, short: &str| -> Option<(Map<String, Value>, String)> {
        Some((place.optional(bench, key, OBJECT, short)?.as_object()?.clone(), place.at(key)))
    };
    let (ui, ai) = (inner(item, "ui", rules.ui), inner(item, "ai", rules.ai));
    let hover = ui.as_ref().and_then(|(members, pointer)| inner(Place { members, pointer }, "hover", rules.hover));
    if let Some((members, pointer)) = &hover {
        let place = Place { members, pointer };
        place.optional(bench, "markdown", STRING, rules.hover);
        place.optional(bench, "text", STRING, rules.hover);
    }
    if let Some((members, pointer)) = &ai {
        Place { members, pointer }.optional(bench, "content", STRING, rules.ai);
    }
    unknown(item, &["title", "url", "ui", "ai"], rules.result, "Items", bench);
}

fn annotation(request: &Request, content: &ranges::Measures, annotation: Place<'_>, bench: &mut Bench<'_>) {
    if let Some(value) = annotation.required(bench, "uri", STRING, "annotations/uri") {
        uri(bench, value, &annotation.at("uri"), "annotations/uri-syntax");
        let asked = request.params.get("uri").and_then(Value::as_str).unwrap_or_default();
        if let Some(uri) = value.as_str().filter(|uri| is_uri(uri)) {
            let fault = Fault::new("an annotation is one of another resource").at(annotation.at("uri"));
            let fault = || fault.expected(asked).actual(value.clone());
            bench.hold("annotations/uri-same", (plain(uri) != plain(asked)).then(fault));
        }
    }
    let held = annotation.required(bench, "item", OBJECT, "annotations/item").and_then(Value::as_object);
    if let Some(members) = held {
        item(Place { members, pointer: &annotation.at("item") }, &ITEM_OF_ANNOTATION, bench);
    }
    if let Some(range) = annotation.optional(bench, "range", OBJECT, "annotations/range") {
        ranges::judge(range, &annotation.at("range"), content, bench);
    }
    if annotation.members.contains_key("presentationHints") {
        let text = "Annotations have `presentationHints`, which the published schemas know and the document does not";
        bench.note("annotations/result", text);
    }
    unknown(annotation, &["uri", "item", "range", "presentationHints"], "annotations/result", "Annotations", bench);
}

/// A URI with its encoded bytes as they are, for comparing.
fn plain(uri: &str) -> Vec<u8> {
    let mut out = vec![];
    let mut rest = uri.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let digits = more.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &more[2..] } else { more };
    }
    out
}

/// Tells of members that neither the document nor the published schemas know.
fn unknown(place: Place<'_>, known: &[&str], short: &str, whose: &str, bench: &mut Bench<'_>) {
    let others = place.others(known);
    if !others.is_empty() {
        bench.note(short, format!("{whose} have members that the protocol does not know: {}", others.join(", ")));
    }
}
