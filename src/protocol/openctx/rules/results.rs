//! Results: what each method returns, and where in a document its annotations are.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::protocol::ViolationDetail;
use crate::protocol::http::rule_context::RuleContext;
use crate::uri::decode_bytes;

use super::members::{BodyObject, INTEGER, LIST, OBJECT, STRING, STRING_OR_BOOLEAN, is_uri, pattern_fault, uri};
use super::requests::Request;

/// Judges the result of a request.
pub fn judge(request: &Request, result: &Value, ctx: &mut RuleContext<'_>) {
    // What is neither an object nor a list is no result of any method.
    if !result.is_object() && !result.is_array() {
        return;
    }
    if request.method == "meta" {
        let fault = ViolationDetail::new("the result of `meta` is no object").at("/result").actual(result.clone());
        ctx.check("meta/result", (!result.is_object()).then_some(fault));
        if let Some(members) = result.as_object() {
            ctx.check("meta/offered", None);
            meta(BodyObject { members, pointer: "/result" }, ctx);
        }
        return;
    }
    let area = request.method.as_str();
    let Some(list) = result.as_array() else {
        let fault =
            ViolationDetail::new(format!("the result of `{area}` is no list")).at("/result").actual(result.clone());
        return ctx.check(&format!("{area}/result"), Some(fault));
    };
    let content = request.params.get("content").and_then(Value::as_str).unwrap_or_default();
    let measures = LineLengths::of(content);
    for (n, entry) in list.iter().enumerate() {
        let pointer = format!("/result/{n}");
        let Some(members) = entry.as_object() else {
            let fault = ViolationDetail::new(format!("the result of `{area}` has what is no object in it")).at(pointer);
            return ctx.check(&format!("{area}/result"), Some(fault.actual(entry.clone())));
        };
        let place = BodyObject { members, pointer: &pointer };
        match area {
            "mentions" => mention(place, ctx),
            "items" => item(place, &ITEM, ctx),
            _ => annotation(request, &measures, place, ctx),
        }
    }
    ctx.check(&format!("{area}/result"), None);
    if area == "annotations" && list.iter().all(|entry| entry.get("range").is_none()) {
        // There is nothing to count.
        ctx.check("annotations/as-sent", None);
    }
}

/// So many requests are remembered, to compare those that come again.
const MAX_REMEMBERED: usize = 256;

/// The first results of requests, by method, parameters and settings.
#[derive(Default)]
pub struct FirstResults(HashMap<String, Vec<Value>>);

impl FirstResults {
    /// Judges the result of a request that came before: what was shown once is not shown more often. A provider may show
    /// other things after a while.
    pub fn compare(&mut self, request: &Request, result: &Value, ctx: &mut RuleContext<'_>) {
        let Some(list) = result.as_array().filter(|list| !list.is_empty()) else { return };
        let params = Value::Object(request.params.clone());
        let key = format!("{} {} {params}", request.method, request.settings);
        let Some(first) = self.0.get(&key) else {
            if self.0.len() < MAX_REMEMBERED {
                self.0.insert(key, list.clone());
            }
            return;
        };
        let count = |list: &[Value], entry: &Value| list.iter().filter(|other| *other == entry).count();
        // Of long lists the beginning will do.
        let grown = first.iter().take(16).find(|entry| count(list, entry) > count(first, entry));
        let what = format!("`{}` shows the same more often, when it is asked for again", request.method);
        let fault = ViolationDetail::new(what).at("/result");
        ctx.check("state/params-per-request", grown.map(|entry| fault.actual(entry.clone())));
    }
}

fn meta(meta: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    if let Some(name) = meta.required(ctx, "name", STRING, "meta/name") {
        ctx.check_if("meta/name-text", name.as_str() == Some(""), || "the name of the provider is empty".to_owned());
    }
    note_unknown_members(meta, &["name", "items", "mentions", "annotations"], "meta/result", "Metadata", ctx);
    // A provider need not have any of them.
    ctx.check("meta/features", None);
    let mut feature = |key: &str| Some((meta.optional(ctx, key, OBJECT, "meta/features")?.as_object()?, meta.at(key)));
    let (items, mentions, annotations) = (feature("items"), feature("mentions"), feature("annotations"));
    if let Some((members, pointer)) = &items {
        let place = BodyObject { members, pointer };
        each(place, "messageSelectors", "meta/message-selectors", ctx, |selector, ctx| {
            let pattern = selector.required(ctx, "pattern", STRING, "meta/message-selectors");
            if let Some(text) = pattern.and_then(Value::as_str) {
                let fault = pattern_fault(text)
                    .map(|what| ViolationDetail::new(format!("the pattern is no regular expression: {what}")));
                ctx.check("meta/pattern", fault.map(|fault| fault.at(selector.at("pattern")).actual(text)));
            }
        });
    }
    if let Some((members, pointer)) = &mentions {
        let place = BodyObject { members, pointer };
        place.optional(ctx, "label", STRING, "meta/label");
        if let Some(value) = place.optional(ctx, "autoInclude", STRING_OR_BOOLEAN, "meta/auto-include") {
            let kind = if value.is_string() { "a string" } else { "a boolean" };
            ctx.note("meta/auto-include", format!("`autoInclude` in the metadata is {kind}"));
        }
    }
    if let Some((members, pointer)) = &annotations {
        let place = BodyObject { members, pointer };
        each(place, "selectors", "meta/annotation-selectors", ctx, |selector, ctx| {
            selector.optional(ctx, "path", STRING, "meta/selector-path");
            selector.optional(ctx, "contentContains", STRING, "meta/selector-content");
        });
    }
}

/// Judges a list of objects that may be left out, and each of them.
fn each(
    place: BodyObject<'_>,
    key: &str,
    short: &str,
    ctx: &mut RuleContext<'_>,
    one: impl Fn(BodyObject<'_>, &mut RuleContext<'_>),
) {
    let Some(list) = place.optional(ctx, key, LIST, short).and_then(Value::as_array) else { return };
    for (n, entry) in list.iter().enumerate() {
        let pointer = format!("{}/{n}", place.at(key));
        match entry.as_object() {
            Some(members) => one(BodyObject { members, pointer: &pointer }, ctx),
            None => {
                let fault = ViolationDetail::new(format!("`{key}` has what is no object in it")).at(pointer);
                ctx.check(short, Some(fault.actual(entry.clone())));
            }
        }
    }
}

fn mention(mention: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    mention.required(ctx, "title", STRING, "mentions/title");
    mention.optional(ctx, "description", STRING, "mentions/description");
    mention.optional(ctx, "data", OBJECT, "mentions/data");
    if let Some(value) = mention.required(ctx, "uri", STRING, "mentions/uri") {
        uri(ctx, value, &mention.at("uri"), "mentions/uri-syntax");
    }
    note_unknown_members(mention, &["title", "description", "data", "uri"], "mentions/result", "Mentions", ctx);
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

fn item(item: BodyObject<'_>, rules: &ItemRules, ctx: &mut RuleContext<'_>) {
    item.required(ctx, "title", STRING, rules.title);
    if let Some(value) = item.optional(ctx, "url", STRING, rules.url) {
        uri(ctx, value, &item.at("url"), "items/url-syntax");
    }
    let mut inner = |place: BodyObject<'_>, key: &str, short: &str| -> Option<(Map<String, Value>, String)> {
        Some((place.optional(ctx, key, OBJECT, short)?.as_object()?.clone(), place.at(key)))
    };
    let (ui, ai) = (inner(item, "ui", rules.ui), inner(item, "ai", rules.ai));
    let hover = ui.as_ref().and_then(|(members, pointer)| inner(BodyObject { members, pointer }, "hover", rules.hover));
    if let Some((members, pointer)) = &hover {
        let place = BodyObject { members, pointer };
        place.optional(ctx, "markdown", STRING, rules.hover);
        place.optional(ctx, "text", STRING, rules.hover);
    }
    if let Some((members, pointer)) = &ai {
        BodyObject { members, pointer }.optional(ctx, "content", STRING, rules.ai);
    }
    note_unknown_members(item, &["title", "url", "ui", "ai"], rules.result, "Items", ctx);
}

fn annotation(request: &Request, content: &LineLengths, annotation: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    if let Some(value) = annotation.required(ctx, "uri", STRING, "annotations/uri") {
        uri(ctx, value, &annotation.at("uri"), "annotations/uri-syntax");
        let asked = request.params.get("uri").and_then(Value::as_str).unwrap_or_default();
        if let Some(uri) = value.as_str().filter(|uri| is_uri(uri)) {
            let fault = ViolationDetail::new("an annotation is one of another resource").at(annotation.at("uri"));
            let fault = || fault.expected(asked).actual(value.clone());
            ctx.check("annotations/uri-same", (decode_bytes(uri) != decode_bytes(asked)).then(fault));
        }
    }
    let held = annotation.required(ctx, "item", OBJECT, "annotations/item").and_then(Value::as_object);
    if let Some(members) = held {
        item(BodyObject { members, pointer: &annotation.at("item") }, &ITEM_OF_ANNOTATION, ctx);
    }
    if let Some(range) = annotation.optional(ctx, "range", OBJECT, "annotations/range") {
        judge_range(range, &annotation.at("range"), content, ctx);
    }
    if annotation.members.contains_key("presentationHints") {
        let text = "Annotations have `presentationHints`, which the published schemas know and the document does not";
        ctx.note("annotations/result", text);
    }
    note_unknown_members(
        annotation,
        &["uri", "item", "range", "presentationHints"],
        "annotations/result",
        "Annotations",
        ctx,
    );
}

/// Tells of members that neither the document nor the published schemas know.
fn note_unknown_members(place: BodyObject<'_>, known: &[&str], short: &str, whose: &str, ctx: &mut RuleContext<'_>) {
    let others = place.others(known);
    if !others.is_empty() {
        ctx.note(short, format!("{whose} have members that the protocol does not know: {}", others.join(", ")));
    }
}

/// How long the lines of a document are. Measured once, however many ranges lie in it.
struct LineLengths {
    /// The length of each line in bytes, without its line feed.
    lines: Vec<usize>,
    /// How many carriage returns there are without a line feed: each ends a line in some editors.
    returns: usize,
    /// How many other characters there are that end a line by some reading.
    separators: usize,
}

impl LineLengths {
    /// Measures this content.
    pub fn of(content: &str) -> Self {
        let returns = content.matches('\r').count() - content.matches("\r\n").count();
        let separators = content.matches(['\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']).count();
        Self { lines: content.split('\n').map(str::len).collect(), returns, separators }
    }

    /// Whether there is such a line by any reading of what ends one. The one after the last counts where a position is at its
    /// beginning.
    fn has_line(&self, line: f64, character: f64) -> bool {
        let lines = (self.lines.len() + self.returns + self.separators) as f64;
        line < lines || line == lines && character == 0.0
    }

    /// Whether there is such a position, in any unit of characters. The line after the last one has one position.
    fn holds(&self, line: f64, character: f64) -> bool {
        let (lines, alone) = (self.lines.len() as f64, self.returns as f64);
        if line >= lines {
            return line < lines + alone || line == lines + alone && character == 0.0;
        }
        let length = self.lines.get(line as usize).copied().unwrap_or_default();
        // One more for the line's end, where it has one.
        let end = if line + 1.0 < lines { 1.0 } else { 0.0 };
        alone > 0.0 || character <= length as f64 + end
    }
}

/// Judges a range in this content, as far as the document's words go: the unit of characters is left open.
fn judge_range(range: &Value, pointer: &str, content: &LineLengths, ctx: &mut RuleContext<'_>) {
    let short = "annotations/range";
    let Some(members) = range.as_object() else { return };
    let place = BodyObject { members, pointer };
    let mut position = |key: &str| {
        let pointer = place.at(key);
        let members = place.required(ctx, key, OBJECT, short)?.as_object()?;
        let position = BodyObject { members, pointer: &pointer };
        let line = position.required(ctx, "line", INTEGER, short).and_then(Value::as_f64);
        let character = position.required(ctx, "character", INTEGER, short).and_then(Value::as_f64);
        Some((line?, character?))
    };
    let (Some(start), Some(end)) = (position("start"), position("end")) else { return };
    let fault = |message: &str| ViolationDetail::new(message).at(pointer).actual(range.clone());
    let below = [start.0, start.1, end.0, end.1].into_iter().any(|n| n < 0.0);
    ctx.check("annotations/range-zero-based", below.then(|| fault("a position is negative, though they count from 0")));
    if below {
        return;
    }
    ctx.check("annotations/range-ordered", (end < start).then(|| fault("a range ends before it starts")));
    let lines = [start, end].into_iter().all(|(line, character)| content.has_line(line, character));
    ctx.check("annotations/range-lines", (!lines).then(|| fault("a range has a line that the content does not have")));
    if !lines {
        return;
    }
    let inside = [start, end].into_iter().all(|(line, character)| content.holds(line, character));
    ctx.check("annotations/range-inside", (!inside).then(|| fault("a range lies outside the content of the request")));
    if inside {
        // Whether it is the right place is for scenarios.
        ctx.check("annotations/as-sent", None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_ends_a_line_by_some_reading_may_begin_another() {
        let content = LineLengths::of("a\u{2028}b\u{c}c");
        assert!(content.has_line(2.0, 1.0) && content.has_line(3.0, 0.0) && !content.has_line(3.0, 1.0));
        assert!(!content.holds(1.0, 1.0), "editors do not take them for line ends");
    }

    #[test]
    fn a_carriage_return_of_its_own_may_end_a_line() {
        let feeds = LineLengths::of("ab\r\nc");
        assert!(feeds.holds(0.0, 4.0) && feeds.holds(1.0, 1.0) && feeds.holds(2.0, 0.0));
        assert!(!feeds.holds(0.0, 5.0) && !feeds.holds(1.0, 2.0) && !feeds.holds(2.0, 1.0) && !feeds.holds(3.0, 0.0));
        let returns = LineLengths::of("a\rb\nc");
        assert!(returns.holds(2.0, 1.0) && returns.holds(3.0, 0.0) && !returns.holds(4.0, 0.0));
    }
}
