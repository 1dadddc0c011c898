//! Parameters: what each method takes.

use serde_json::{Map, Value};

use super::members::{OBJECT, Place, STRING, STRING_OR_BOOLEAN, uri};
use crate::protocol::Fault;
use crate::protocol::http::book::Bench;

/// Whether a provider has what it needs: each parameter of the document has its type, and none is missing. Parameters of
/// methods that nobody knows are sound.
pub fn are_sound(method: &str, params: &Map<String, Value>) -> bool {
    let is = |key: &str, is: fn(&Value) -> bool| params.get(key).is_none_or(is);
    match method {
        "mentions" => {
            ["query", "uri", "codebase"].into_iter().all(|key| is(key, Value::is_string))
                && is("autoInclude", |v| v.is_string() || v.is_boolean())
        }
        "items" => is("message", Value::is_string) && is("mention", is_mention),
        "annotations" => ["uri", "content"].into_iter().all(|key| params.get(key).is_some_and(Value::is_string)),
        _ => true,
    }
}

fn is_mention(value: &Value) -> bool {
    let text = |key: &str| value.get(key).is_some_and(Value::is_string);
    text("title") && text("uri")
}

/// Judges the parameters of a request.
pub fn judge(method: &str, params: Place<'_>, bench: &mut Bench<'_>) {
    match method {
        "meta" => extra(params, &[], "meta/client-params-empty", bench),
        "mentions" => mentions(params, bench),
        "items" => items(params, bench),
        _ => annotations(params, bench),
    }
}

fn mentions(params: Place<'_>, bench: &mut Bench<'_>) {
    for key in ["query", "uri", "codebase"] {
        params.optional(bench, key, STRING, "mentions/client-params");
    }
    let short = "mentions/client-auto-include";
    if let Some(value) = params.optional(bench, "autoInclude", STRING_OR_BOOLEAN, short) {
        let kind = if value.is_string() { "a string" } else { "a boolean" };
        bench.note(short, format!("`autoInclude` in the parameters of `mentions` is {kind}"));
    }
    extra(params, &["query", "uri", "codebase", "autoInclude"], "mentions/client-extra-params", bench);
}

fn items(params: Place<'_>, bench: &mut Bench<'_>) {
    params.optional(bench, "message", STRING, "items/client-params");
    let mention = params.optional(bench, "mention", OBJECT, "items/client-params").and_then(Value::as_object);
    if let Some(members) = mention {
        let place = Place { members, pointer: "/params/mention" };
        let short = "items/client-mention-shape";
        place.required(bench, "title", STRING, short);
        place.required(bench, "uri", STRING, short);
        place.optional(bench, "description", STRING, short);
        place.optional(bench, "data", OBJECT, short);
    }
    extra(params, &["message", "mention"], "items/client-extra-params", bench);
}

fn annotations(params: Place<'_>, bench: &mut Bench<'_>) {
    if let Some(value) = params.required(bench, "uri", STRING, "annotations/client-params") {
        uri(bench, value, &params.at("uri"), "annotations/client-uri-syntax");
    }
    params.required(bench, "content", STRING, "annotations/client-params");
    extra(params, &["uri", "content"], "annotations/client-extra-params", bench);
}

fn extra(params: Place<'_>, known: &[&str], short: &str, bench: &mut Bench<'_>) {
    let others = params.others(known);
    let fault = Fault::new("there are parameters that the document does not have").at(params.pointer);
    bench.hold(short, (!others.is_empty()).then(|| fault.actual(others.clone())));
}
