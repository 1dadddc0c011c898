//! Parameters: what each method takes.

use serde_json::{Map, Value};

use super::members::{BodyObject, OBJECT, STRING, STRING_OR_BOOLEAN, uri};
use crate::protocol::ViolationDetail;
use crate::protocol::http::requirement_index::RuleContext;

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
pub fn judge(method: &str, params: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    match method {
        "meta" => extra(params, &[], "meta/client-params-empty", ctx),
        "mentions" => mentions(params, ctx),
        "items" => items(params, ctx),
        _ => annotations(params, ctx),
    }
}

fn mentions(params: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    for key in ["query", "uri", "codebase"] {
        params.optional(ctx, key, STRING, "mentions/client-params");
    }
    let short = "mentions/client-auto-include";
    if let Some(value) = params.optional(ctx, "autoInclude", STRING_OR_BOOLEAN, short) {
        let kind = if value.is_string() { "a string" } else { "a boolean" };
        ctx.note(short, format!("`autoInclude` in the parameters of `mentions` is {kind}"));
    }
    extra(params, &["query", "uri", "codebase", "autoInclude"], "mentions/client-extra-params", ctx);
}

fn items(params: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    params.optional(ctx, "message", STRING, "items/client-params");
    let mention = params.optional(ctx, "mention", OBJECT, "items/client-params").and_then(Value::as_object);
    if let Some(members) = mention {
        let place = BodyObject { members, pointer: "/params/mention" };
        let short = "items/client-mention-shape";
        place.required(ctx, "title", STRING, short);
        place.required(ctx, "uri", STRING, short);
        place.optional(ctx, "description", STRING, short);
        place.optional(ctx, "data", OBJECT, short);
    }
    extra(params, &["message", "mention"], "items/client-extra-params", ctx);
}

fn annotations(params: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
    if let Some(value) = params.required(ctx, "uri", STRING, "annotations/client-params") {
        uri(ctx, value, &params.at("uri"), "annotations/client-uri-syntax");
    }
    params.required(ctx, "content", STRING, "annotations/client-params");
    extra(params, &["uri", "content"], "annotations/client-extra-params", ctx);
}

fn extra(params: BodyObject<'_>, known: &[&str], short: &str, ctx: &mut RuleContext<'_>) {
    let others = params.others(known);
    let fault = ViolationDetail::new("there are parameters that the document does not have").at(params.pointer);
    ctx.check(short, (!others.is_empty()).then(|| fault.actual(others.clone())));
}
