//! Requests: the envelope that a client sent, and the parameters of each method.

use serde_json::{Map, Value};

use crate::protocol::ViolationDetail;
use crate::protocol::http::content::{Content, LOSSY};
use crate::protocol::http::heads;
use crate::protocol::http::rule_context::RuleContext;

use super::members::{BodyObject, OBJECT, STRING, STRING_OR_BOOLEAN, uri};

/// The four methods.
pub const METHODS: [&str; 4] = ["meta", "mentions", "items", "annotations"];

/// The body of a request, parsed.
#[derive(Clone, Debug, PartialEq)]
pub enum ParsedRequest {
    /// The body is no JSON.
    Malformed,
    /// Nobody can tell.
    Unknown,
    /// JSON that names no method, or whose parts have the wrong types.
    NoRequest,
    /// A request.
    Request(Request),
}

/// A request in the protocol's envelope.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub method: String,
    pub params: Map<String, Value>,
    /// Settings as JSON text, by which requests are told apart.
    pub settings: String,
    /// Whether it has parameters at all.
    pub has_params: bool,
    /// Whether its parameters are those of its method.
    pub sound: bool,
}

impl ParsedRequest {
    /// The request, where it is one.
    pub fn request(&self) -> Option<&Request> {
        match self {
            Self::Request(request) => Some(request),
            _ => None,
        }
    }
}

/// Reads the body of a request.
pub fn parse(content: &Content<'_>) -> ParsedRequest {
    match content {
        Content::Empty | Content::Text(_) | Content::Binary(_) => ParsedRequest::Malformed,
        Content::Coded
        | Content::TooManyValues
        | Content::Json { marked: true, .. }
        | Content::Json { whole: Some(_), .. } => ParsedRequest::Unknown,
        Content::Json { json, .. } => request(json).map_or(ParsedRequest::NoRequest, ParsedRequest::Request),
    }
}

fn request(json: &Value) -> Option<Request> {
    let members = json.as_object()?;
    let object = |key: &str| match members.get(key) {
        None => Some(None),
        Some(value) => value.as_object().map(Some),
    };
    let (params, settings) = (object("params")?, object("settings")?);
    let method = members.get("method")?.as_str()?.to_owned();
    let settings = settings.map_or_else(|| "none".to_owned(), |settings| Value::Object(settings.clone()).to_string());
    let has_params = params.is_some();
    let params = params.cloned().unwrap_or_default();
    let sound = are_params_sound(&method, &params);
    Some(Request { method, params, settings, has_params, sound })
}

/// Judges a request by its body.
pub fn judge(asked: &ParsedRequest, content: &Content<'_>, ctx: &mut RuleContext<'_>) {
    if heads::counts_characters(content, ctx) {
        return;
    }
    let utf8 = matches!(content, Content::Binary(_));
    ctx.check_if("http/client-utf-8", utf8, || "the body of a request is no UTF-8".to_owned());
    let marked = matches!(content, Content::Json { marked: true, .. });
    ctx.check_if("http/client-no-bom", marked, || "the body of a request begins with a byte order mark".to_owned());
    if matches!(content, Content::Coded | Content::TooManyValues | Content::Binary(_)) {
        return;
    }
    let fault = (*asked == ParsedRequest::Malformed).then(|| ViolationDetail::new("the body of a request is no JSON"));
    ctx.check("envelope/client-json", fault);
    if content.is_lossy() {
        ctx.note("envelope/client-json", LOSSY);
    }
    let Some(json) = content.json() else { return };
    let fault = ViolationDetail::new("a request is no object").actual(json.clone());
    ctx.check("envelope/client-object", (!json.is_object()).then_some(fault));
    let Some(members) = json.as_object() else { return };
    let place = BodyObject { members, pointer: "" };
    let method = members.get("method");
    let known = method.and_then(Value::as_str).filter(|method| METHODS.contains(method));
    let fault =
        ViolationDetail::new("a request names none of the four methods").at("/method").expected(METHODS.to_vec());
    let actual = method.cloned().unwrap_or(Value::Null);
    ctx.check("envelope/client-method", known.is_none().then(|| fault.actual(actual)));
    let short = if known == Some("meta") { "meta/client-params" } else { "envelope/client-params" };
    let params = place.optional(ctx, "params", OBJECT, short).and_then(Value::as_object);
    place.optional(ctx, "settings", OBJECT, "envelope/client-settings-type");
    let others = place.others(&["method", "params", "settings"]);
    let fault = ViolationDetail::new("a request has members that the protocol does not know").actual(others.clone());
    ctx.check("envelope/client-members", (!others.is_empty()).then_some(fault));
    // What is no object has no members to be judged.
    if let Some(method) = known.filter(|_| params.is_some() || !members.contains_key("params")) {
        let none = Map::new();
        judge_params(method, BodyObject { members: params.unwrap_or(&none), pointer: "/params" }, ctx);
    }
}

/// Whether a provider has what it needs: each parameter of the document has its type, and none is missing. Parameters of
/// methods that nobody knows are sound.
fn are_params_sound(method: &str, params: &Map<String, Value>) -> bool {
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
fn judge_params(method: &str, params: BodyObject<'_>, ctx: &mut RuleContext<'_>) {
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
