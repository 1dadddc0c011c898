//! Requests: what the client sent, as JSON.

use serde_json::{Map, Value};

use super::members::{BodyObject, OBJECT};
use super::params;
use crate::protocol::ViolationDetail;
use crate::protocol::http::content::{Content, LOSSY};
use crate::protocol::http::requirement_index::RuleContext;

/// The four methods.
pub const METHODS: [&str; 4] = ["meta", "mentions", "items", "annotations"];

/// What a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum ParsedRequest {
    /// It is no JSON.
    Malformed,
    /// Nobody can tell.
    Unknown,
    /// It is JSON, but names no method, or its parts have the wrong types.
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
    /// The method, where it is one of the four.
    pub fn method(&self) -> Option<&str> {
        self.request().map(|request| request.method.as_str()).filter(|method| METHODS.contains(method))
    }

    /// The request, where it is one.
    pub fn request(&self) -> Option<&Request> {
        match self {
            Self::Request(request) => Some(request),
            _ => None,
        }
    }
}

/// Reads the body of a request.
pub fn read(content: &Content<'_>) -> ParsedRequest {
    match content {
        Content::Empty | Content::Text(_) | Content::Binary(_) => ParsedRequest::Malformed,
        Content::Coded | Content::Json { marked: true, .. } | Content::Json { whole: Some(_), .. } => {
            ParsedRequest::Unknown
        }
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
    let sound = params::are_sound(&method, &params);
    Some(Request { method, params, settings, has_params, sound })
}

/// Judges a request by its body.
pub fn judge(asked: &ParsedRequest, content: &Content<'_>, ctx: &mut RuleContext<'_>) {
    let utf8 = matches!(content, Content::Binary(_));
    ctx.check_if("http/client-utf-8", utf8, || "the body of a request is no UTF-8".to_owned());
    let marked = matches!(content, Content::Json { marked: true, .. });
    ctx.check_if("http/client-no-bom", marked, || "the body of a request begins with a byte order mark".to_owned());
    if matches!(content, Content::Coded | Content::Binary(_)) {
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
        params::judge(method, BodyObject { members: params.unwrap_or(&none), pointer: "/params" }, ctx);
    }
}
