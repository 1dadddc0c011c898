//! Requests as they are understood.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::trace::read_json;

/// The methods of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-wirecert-noun" = "method"))]
pub enum Method {
    /// What the provider says of itself.
    Meta,
    /// What can be mentioned.
    Mentions,
    /// Documents and other content.
    Items,
    /// Items attached to ranges of a document.
    Annotations,
}

/// All of them, in the order of the document.
pub const METHODS: [Method; 4] = [Method::Meta, Method::Mentions, Method::Items, Method::Annotations];

impl Method {
    /// The name of the method on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Mentions => "mentions",
            Self::Items => "items",
            Self::Annotations => "annotations",
        }
    }

    /// The method of this name.
    pub fn parse(name: &str) -> Option<Self> {
        METHODS.into_iter().find(|method| method.name() == name)
    }
}

/// A request that is understood: of a known method, its parameters of the types that the document says.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// The settings of the request.
    pub settings: Map<String, Value>,
}

impl Request {
    /// A parameter that is a text; empty where it is not there.
    pub fn text(&self, name: &str) -> &str {
        self.params.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The URI of the mention that comes along, if one does.
    pub fn mention(&self) -> Option<&str> {
        self.params.get("mention")?.get("uri")?.as_str()
    }

    /// Whether default context is asked for. Both readings of the parameter are understood: a boolean, and a string,
    /// which means it unless it is empty or says otherwise.
    pub fn auto_include(&self) -> bool {
        match self.params.get("autoInclude") {
            Some(Value::Bool(wanted)) => *wanted,
            Some(Value::String(text)) => !["", "0", "false", "no"].contains(&text.to_lowercase().as_str()),
            _ => false,
        }
    }
}

/// Why a request is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFault {
    /// The body is no JSON.
    NoJson,
    /// The JSON is no request.
    NoRequest,
    /// There is no such method.
    NoMethod,
    /// A parameter is missing, or of a wrong type.
    Params(&'static str),
}

impl RequestFault {
    /// The code of the error that tells it, as in JSON-RPC 2.0, section 5.1.
    pub fn code(self) -> i64 {
        match self {
            Self::NoJson => -32700,
            Self::NoRequest => -32600,
            Self::NoMethod => -32601,
            Self::Params(_) => -32602,
        }
    }

    /// The status with which it is sent. Clients read errors that come with 200; what is no request at all is none
    /// of theirs.
    pub fn status(self) -> u16 {
        match self {
            Self::NoJson | Self::NoRequest => 400,
            Self::NoMethod | Self::Params(_) => 200,
        }
    }

    /// The description of the fault.
    pub fn message(self) -> &'static str {
        match self {
            Self::NoJson => "the body is not JSON",
            Self::NoRequest => "the body is not a request: an object with a string as its `method`",
            Self::NoMethod => "there is no such method; there are meta, mentions, items and annotations",
            Self::Params(what) => what,
        }
    }
}

/// Understands a body. Members that are null count as not there, others that are not known as nothing.
///
/// # Errors
/// What is wrong with it.
pub fn parse_request(body: &[u8]) -> Result<Request, RequestFault> {
    let read = std::str::from_utf8(body).ok().and_then(read_json).ok_or(RequestFault::NoJson)?;
    let Value::Object(mut message) = read.value else { return Err(RequestFault::NoRequest) };
    let Some(Value::String(method)) = message.get("method") else { return Err(RequestFault::NoRequest) };
    let method = Method::parse(method);
    let mut take = |name: &str| match message.swap_remove(name) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => Err(()),
    };
    let (params, settings) = (take("params"), take("settings"));
    let request = Request {
        method: method.ok_or(RequestFault::NoMethod)?,
        params: params.map_err(|()| RequestFault::Params("`params` must be an object"))?,
        settings: settings.map_err(|()| RequestFault::Params("`settings` must be an object"))?,
    };
    check(&request)?;
    Ok(request)
}

fn check(request: &Request) -> Result<(), RequestFault> {
    let is = |name: &str, right: fn(&Value) -> bool| {
        request.params.get(name).is_none_or(|value| value.is_null() || right(value))
    };
    let has_text = |name: &str| request.params.get(name).is_some_and(Value::is_string);
    let wrong = |what| Err(RequestFault::Params(what));
    match request.method {
        Method::Meta => {}
        Method::Mentions => {
            if !["query", "uri", "codebase"].iter().all(|name| is(name, Value::is_string)) {
                return wrong("`query`, `uri` and `codebase` must be strings");
            }
            if !is("autoInclude", |value| value.is_string() || value.is_boolean()) {
                return wrong("`autoInclude` must be a boolean or a string");
            }
        }
        Method::Items => {
            if !is("message", Value::is_string) {
                return wrong("`message` must be a string");
            }
            if !is("mention", |mention| mention["title"].is_string() && mention["uri"].is_string()) {
                return wrong("`mention` must be an object with strings as `title` and `uri`");
            }
        }
        Method::Annotations => {
            if !has_text("uri") || !has_text("content") {
                return wrong("`uri` and `content` are needed, and must be strings");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(value: &Value) -> Result<Request, RequestFault> {
        parse_request(value.to_string().as_bytes())
    }

    #[test]
    fn parameters_and_settings_may_be_left_out_or_null() {
        for whole in [json!({"method": "meta"}), json!({"method": "meta", "params": null, "settings": null, "x": 1})] {
            let request = parse(&whole).unwrap();
            assert_eq!((request.method, request.params.len(), request.settings.len()), (Method::Meta, 0, 0));
        }
    }

    #[test]
    fn what_is_no_sound_request_is_told_what_is_wrong() {
        assert_eq!(parse_request(b"{\"method\":"), Err(RequestFault::NoJson));
        assert_eq!(parse_request("[".repeat(100_000).as_bytes()), Err(RequestFault::NoJson));
        assert_eq!(parse_request(b""), Err(RequestFault::NoJson));
        for none in [json!([]), json!("meta"), json!({}), json!({"method": 1})] {
            assert_eq!(parse(&none), Err(RequestFault::NoRequest), "{none}");
        }
        assert_eq!(parse(&json!({"method": "fly", "params": []})), Err(RequestFault::NoMethod));
        for (method, params) in [
            ("meta", json!([])),
            ("mentions", json!({"query": 1})),
            ("mentions", json!({"autoInclude": 1})),
            ("items", json!({"message": []})),
            ("items", json!({"mention": {"title": ""}})),
            ("annotations", json!({"uri": "a:b"})),
            ("annotations", json!({"uri": "a:b", "content": null})),
        ] {
            let error = parse(&json!({"method": method, "params": params})).unwrap_err();
            assert!(matches!(error, RequestFault::Params(_)), "{method} {params}: {error:?}");
        }
    }

    #[test]
    fn both_readings_of_auto_include_are_understood() {
        for (value, wanted) in [
            (json!(true), true),
            (json!("true"), true),
            (json!("initial"), true),
            (json!(false), false),
            (json!("False"), false),
            (json!(""), false),
            (json!(null), false),
        ] {
            let request = parse(&json!({"method": "mentions", "params": {"autoInclude": value}})).unwrap();
            assert_eq!(request.auto_include(), wanted, "{value}");
        }
    }
}
