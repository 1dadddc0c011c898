//! The OpenCtx client: what stands opposite a provider.
//!
//! [`OpenctxClient`] performs the verbs of the role `openctx-provider`. Each request is an exchange of its own, over a TCP
//! connection of its own unless a step says otherwise; what comes back writes the trace by itself.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::peer::http::{HttpUrl, OutgoingRequest, Proves, RequestSender, Resend, address, failed, one, shown};
use crate::peer::params::{deliberate, headers, read, wrong};
use crate::peer::{Answer, BoxFuture, Detected, Peer, PeerError, Performed, Setting, VerbCall};
use crate::protocol::Lock;
use crate::protocol::http::verbs::Http;
use crate::protocol::openctx::PROTOCOL;
use crate::protocol::openctx::verbs::{self, ClientVerb};
use crate::trace::Recorder;
use crate::wire::http::{Content, Request, Whole};

#[cfg(test)]
mod tests;

/// What a provider breaks that does not do the first things.
const PROVES: Proves =
    Proves { reached: "http/post", answered: "envelope/answered", announced: "http/close-announced" };

/// A client of the role `openctx-provider`.
pub struct OpenctxClient {
    setting: Setting,
    sender: RequestSender,
}

impl OpenctxClient {
    /// A client that has sent nothing yet.
    pub fn new(setting: Setting) -> Self {
        let sender = RequestSender::new(&setting, PROVES);
        Self { setting, sender }
    }

    fn url(&self) -> Result<HttpUrl, PeerError> {
        address(&self.setting)
    }

    async fn request(&mut self, act: &VerbCall<'_>, step: verbs::Request) -> Result<Performed, PeerError> {
        let step = step.with_params_made().map_err(PeerError::Lacking)?;
        let why = deliberate(act, step.deliberate.as_ref());
        let url = self.url()?;
        let request = step.request(&url, self.setting.settings.as_ref(), why.clone());
        let times = step.repeat.unwrap_or(1);
        let mut performed = Performed::default();
        for _ in 0..times {
            let (again, settings, why) = (step.clone(), self.setting.settings.clone(), why.clone());
            let again: Resend = Box::new(move |url| Some(again.request(url, settings.as_ref(), why.clone())));
            let sending = OutgoingRequest {
                over: step.over.clone().map(String::from),
                read: step.read.is_none_or(|read| read.0),
                again: Some((url.clone(), again)),
                ..OutgoingRequest::new(step.label.clone(), request.clone())
            };
            performed = self.sender.send(act.verb, &url.address, sending).await?;
        }
        Ok(performed)
    }

    async fn http(&mut self, act: &VerbCall<'_>, step: Http) -> Result<Performed, PeerError> {
        let why = deliberate(act, step.deliberate.as_ref());
        let url = self.url()?;
        let host = url.address.to_string();
        let request = step.request(("POST", &url.target), &host, why.clone()).map_err(|e| wrong(act.verb, e))?;
        let (label, over) = (step.label.clone(), step.over.clone().map(String::from));
        let read = step.read.is_none_or(|read| read.0);
        let again: Resend = Box::new(move |url| {
            let moved = step.moved(&url.target)?;
            // What went wrong would have gone wrong before.
            moved.request(("POST", &url.target), &url.address.to_string(), why.clone()).ok()
        });
        let sending =
            OutgoingRequest { over, read, again: Some((url.clone(), again)), ..OutgoingRequest::new(label, request) };
        self.sender.send(act.verb, &url.address, sending).await
    }

    /// A request for `meta`, which every provider has.
    fn meta(&self, url: &HttpUrl) -> Request {
        let settings = self.setting.settings.clone().unwrap_or_else(|| json!({}));
        post(url, &envelope("meta", json!({}), settings))
    }
}

impl Peer for OpenctxClient {
    fn perform<'a>(&'a mut self, act: VerbCall<'a>) -> BoxFuture<'a, Result<Performed, PeerError>> {
        Box::pin(async move {
            match read(&act)? {
                ClientVerb::Request(step) => self.request(&act, *step).await,
                ClientVerb::Http(step) => self.http(&act, *step).await,
                ClientVerb::Open(step) => {
                    let url = self.url()?;
                    self.sender.open(&act, step, &url.address).await
                }
                ClientVerb::Drop(step) => self.sender.drop(&act, step).await,
            }
        })
    }

    fn barrier<'a>(&'a mut self, conn: Option<&'a str>, within: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(async move {
            let url = self.url()?;
            let meta = self.meta(&url);
            self.sender.barrier(conn, within, &url.address, &meta).await
        })
    }

    fn alive<'a>(&'a mut self, within: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(async move {
            let url = self.url()?;
            let meta = self.meta(&url);
            self.sender.ask(within, &url.address, &meta).await
        })
    }

    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(self.sender.finish())
    }
}

impl verbs::Request {
    /// Makes the parameters from an earlier response of the provider, where the step wants that.
    ///
    /// # Errors
    /// Why they cannot be made.
    pub fn with_params_made(mut self) -> Result<Self, String> {
        if let Some(answer) = self.about.take() {
            let mut params = params_about(&self.method, &answer, self.number.unwrap_or(1))?;
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
        for (name, value) in headers(&self.headers.0) {
            request.headers.retain(|(usual, _)| !usual.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        request.send_options.deliberate = deliberate;
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

/// What a request asks for is made of an earlier answer: of `mentions` for `items`, of `meta` for `annotations`. Of what there
/// are several there, `number` (from 1) says which one, and goes round.
///
/// # Errors
/// Why nothing can be made of it, as a sentence without its end.
fn params_about(method: &str, answer: &Value, number: usize) -> Result<Map<String, Value>, String> {
    let params = match method {
        "items" => json!({ "mention": pick(answer.get("result"), number).ok_or("the provider gave no mention")? }),
        "annotations" => {
            let feature = answer.pointer("/result/annotations").ok_or("the provider has no annotations")?;
            // It may stand for no resource as well as for every one.
            if feature.get("selectors").and_then(Value::as_array).is_some_and(Vec::is_empty) {
                return Err("the provider has an empty list of selectors".to_owned());
            }
            let selector = pick(feature.get("selectors"), number).cloned().unwrap_or_default();
            resource(&selector)?
        }
        other => return Err(format!("nothing about `{other}` follows from an earlier answer")),
    };
    let Value::Object(params) = params else { return Err("no parameters follow from it".to_owned()) };
    Ok(params)
}

fn pick(list: Option<&Value>, number: usize) -> Option<&Value> {
    let list = list?.as_array().filter(|list| !list.is_empty())?;
    list.get(number.saturating_sub(1) % list.len())
}

/// The parameters for a resource that satisfies a selector (OpenCtx 0.1, Meta).
fn resource(selector: &Value) -> Result<Value, String> {
    let path = match selector.get("path").and_then(Value::as_str) {
        None => "wirecert/matched.txt".to_owned(),
        Some(glob) => path(glob).ok_or_else(|| format!("the glob `{glob}` says more than the document knows"))?,
    };
    let text = selector.get("contentContains").and_then(Value::as_str).unwrap_or("a text");
    Ok(json!({ "uri": format!("file:///{path}"), "content": format!("first line\nbefore {text} after\nlast line\n") }))
}

/// A path that a glob of the document's own forms matches.
fn path(glob: &str) -> Option<String> {
    let glob = glob.trim_start_matches('/');
    let path = glob.replace("**/", "wirecert/sub/").replace("/**", "/wirecert/any.txt").replace('*', "wirecert");
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./~".contains(c);
    (!path.is_empty() && path.chars().all(plain)).then_some(path)
}

/// The edition of every provider: there is one.
pub async fn detect(_: Lock, _: Duration, _: Recorder) -> Detected {
    Detected { edition: PROTOCOL.default_edition(), how: "there is no other".to_owned() }
}

/// Makes one request to the provider of `setting`, with its settings, and waits for the answer.
///
/// # Errors
/// [`PeerError::Subject`] where the provider is not there, does not answer within the patience, or gives an answer that is
/// none of the protocol; [`PeerError::Scenario`] where the setting names no provider.
pub async fn call(setting: Setting, method: String, params: Value) -> Result<Answer, PeerError> {
    let settings = setting.settings.clone().unwrap_or_else(|| json!({}));
    let message = envelope(&method, params, settings);
    let whole = one(&setting, PROVES, &method, |url| post(url, &message)).await?;
    answer(&method, &whole)
}

/// What an answer gives a client: its body counts only where the status says that all went well.
fn answer(method: &str, whole: &Whole) -> Result<Answer, PeerError> {
    let status = whole.head.status().unwrap_or_default();
    let json = whole.message.as_ref().and_then(|message| Some(message.value()?.into_owned()));
    if !(200..300).contains(&status) {
        return Err(failed(format!("`{method}` was answered with the status {status}: {}", shown(&whole.body))));
    }
    let Some(Value::Object(mut members)) = json else {
        return Err(failed(format!("the answer to `{method}` is no JSON object: {}", shown(&whole.body))));
    };
    let mut outcome = |key: &str| members.remove(key).filter(|value| !value.is_null());
    match (outcome("error"), outcome("result")) {
        (Some(error), _) => Ok(Answer::Error(error)),
        (None, Some(result)) => Ok(Answer::Result(result)),
        // An answer that is neither is shown whole.
        (None, None) => Ok(Answer::Error(Value::Object(members))),
    }
}
