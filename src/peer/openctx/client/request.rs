//! What the step `request` sends.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::about;
use crate::peer::http_url::HttpUrl;
use crate::peer::params::{given, headers};
use crate::wire::http::{Content, Request};

/// The step `request`.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestStep {
    #[serde(rename = "as")]
    pub label: Option<String>,
    pub over: Option<String>,
    method: String,
    #[serde(default, deserialize_with = "given")]
    params: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    settings: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    about: Option<Value>,
    number: Option<usize>,
    #[serde(default)]
    extra: Map<String, Value>,
    #[serde(default)]
    headers: Map<String, Value>,
    pub repeat: Option<u64>,
    pub read: Option<bool>,
    pub deliberate: Option<String>,
}

impl RequestStep {
    /// With its parameters made of what the provider said, where the step wants that.
    ///
    /// # Errors
    /// Why they cannot be made.
    pub fn made(mut self) -> Result<Self, String> {
        if let Some(answer) = self.about.take() {
            let mut params = about::params(&self.method, &answer, self.number.unwrap_or(1))?;
            if let Some(Value::Object(given)) = &self.params {
                params.extend(given.clone());
            }
            self.params = Some(Value::Object(params));
        }
        Ok(self)
    }

    /// The request, as the reference client sends one.
    pub fn request(&self, url: &HttpUrl, settings: Option<&Value>, deliberate: Option<String>) -> Request {
        let params = self.params.clone().unwrap_or_else(|| json!({}));
        let settings = self.settings.clone().or_else(|| settings.cloned()).unwrap_or_else(|| json!({}));
        let mut message = envelope(&self.method, params, settings);
        if let Value::Object(members) = &mut message {
            members.extend(self.extra.clone());
        }
        let mut request = post(url, &message);
        for (name, value) in headers(&self.headers) {
            request.headers.retain(|(usual, _)| !usual.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        request.manner.deliberate = deliberate;
        request
    }
}

/// The envelope of a request. What is null is left out.
pub fn envelope(method: &str, params: Value, settings: Value) -> Value {
    let mut message = Map::from_iter([("method".to_owned(), Value::from(method))]);
    let members = [("params", params), ("settings", settings)];
    message.extend(members.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k.to_owned(), v)));
    Value::Object(message)
}

/// A request with this body, as the reference client sends it.
pub fn post(url: &HttpUrl, message: &Value) -> Request {
    let mut request = Request::new("POST", url.target.clone())
        .header("Content-Type", "application/json; charset=utf-8")
        .header("Accept-Encoding", "gzip, deflate")
        .content(Content::Whole(message.to_string().into_bytes()));
    request.fresh = true;
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url() -> HttpUrl {
        HttpUrl::parse("http://127.0.0.1:3000/p?q").unwrap()
    }

    fn headers_of(request: &Request) -> Vec<(String, String)> {
        request.head("h").headers
    }

    fn header(request: &Request, name: &str) -> Option<String> {
        headers_of(request).into_iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    #[test]
    fn a_request_has_the_envelope_and_the_headers_of_the_reference_client() {
        let request = |step: Value| {
            let step: RequestStep = serde_json::from_value(step).unwrap();
            step.request(&url(), Some(&json!({"key": "k"})), None)
        };
        let plain = request(json!({"method": "meta"}));
        assert_eq!(plain.target, "/p?q");
        assert_eq!(plain.content, Content::Whole(br#"{"method":"meta","params":{},"settings":{"key":"k"}}"#.to_vec()));
        assert_eq!(header(&plain, "Content-Type").as_deref(), Some("application/json; charset=utf-8"));
        let bare = request(json!({"method": "m", "params": null, "settings": null, "extra": {"id": 1}}));
        assert_eq!(bare.content, Content::Whole(br#"{"method":"m","id":1}"#.to_vec()));
        let other = request(json!({"method": "m", "headers": {"content-type": "text/plain", "accept-encoding": null}}));
        assert_eq!(header(&other, "content-type").as_deref(), Some("text/plain"));
        assert_eq!(header(&other, "Accept-Encoding"), None);
    }
}
