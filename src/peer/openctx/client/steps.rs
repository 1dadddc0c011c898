//! The client that stands opposite a provider, steered by the steps of a scenario of the role `openctx-provider`.
//!
//! [`OpenctxClientSteps`] performs the verbs. Each request is an exchange of its own, over a TCP connection of its own unless a step says
//! otherwise; what comes back writes the trace by itself.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::peer::http::{HttpUrl, OutgoingRequest, RequestSender, Resend, address};
use crate::peer::params::{deliberate, headers, read, wrong};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, VerbCall};
use crate::protocol::http::verbs::Http;
use crate::protocol::openctx::verbs::{self, ClientVerb};
use crate::wire::http::Request;

use super::{PROVES, envelope, request};

#[cfg(test)]
mod tests;

/// A client of the role `openctx-provider`.
pub struct OpenctxClientSteps {
    setting: Setting,
    sender: RequestSender,
}

impl OpenctxClientSteps {
    /// A client that has sent nothing yet.
    pub fn new(setting: Setting) -> Self {
        let sender = RequestSender::new(&setting, PROVES);
        Self { setting, sender }
    }

    fn url(&self) -> Result<HttpUrl, PeerError> {
        address(&self.setting)
    }

    async fn request(&mut self, act: &VerbCall<'_>, step: verbs::Request) -> Result<Performed, PeerError> {
        if step.around.is_some() && (step.about.is_none() || step.method != "annotations") {
            return Err(wrong(act.verb, "`around` needs `about`, and the method `annotations`"));
        }
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
        Request { fresh: true, ..request(url, &envelope("meta", json!({}), settings)) }
    }
}

impl Peer for OpenctxClientSteps {
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

    /// Steps alone say what it sends: there is nothing that could deviate.
    #[cfg(test)]
    fn deviations(&self) -> Vec<&'static str> {
        vec![]
    }
}

impl verbs::Request {
    /// Makes the parameters from an earlier response of the provider, where the step wants that.
    ///
    /// # Errors
    /// Why they cannot be made.
    pub fn with_params_made(mut self) -> Result<Self, String> {
        if let Some(response) = self.about.take() {
            let given = self.params.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
            let number = self.number.unwrap_or(1);
            let params = match response.get("result") {
                Some(Value::Array(annotations)) if self.method == "annotations" => {
                    annotated(given, annotations, number, self.around.as_ref())?
                }
                _ => {
                    let mut params = params_about(&self.method, &response, number)?;
                    params.extend(given);
                    params
                }
            };
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
        let mut request = request(url, &message);
        request.fresh = true;
        for (name, value) in headers(&self.headers.0) {
            request.headers.retain(|(usual, _)| !usual.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        request.send_options.deliberate = deliberate;
        request
    }
}

/// What a request asks for is made of an earlier response: of `mentions` for `items`, of `meta` for `annotations`. Of what there
/// are several there, `number` (from 1) says which one, and goes round.
///
/// # Errors
/// Why nothing can be made of it, as a sentence without its end.
fn params_about(method: &str, response: &Value, number: usize) -> Result<Map<String, Value>, String> {
    let params = match method {
        "items" => json!({ "mention": pick(response.get("result"), number).ok_or("the provider gave no mention")? }),
        "annotations" => {
            let feature = response.pointer("/result/annotations").ok_or("the provider has no annotations")?;
            // It may stand for no resource as well as for every one.
            if feature.get("selectors").and_then(Value::as_array).is_some_and(Vec::is_empty) {
                return Err("the provider has an empty list of selectors".to_owned());
            }
            let selector = pick(feature.get("selectors"), number).cloned().unwrap_or_default();
            resource(&selector)?
        }
        other => return Err(format!("nothing about `{other}` follows from an earlier response")),
    };
    let Value::Object(params) = params else { return Err("no parameters follow from it".to_owned()) };
    Ok(params)
}

fn pick(list: Option<&Value>, number: usize) -> Option<&Value> {
    let list = list?.as_array().filter(|list| !list.is_empty())?;
    list.get(number.saturating_sub(1) % list.len())
}

/// The parameters for a resource whose content ends where one of its annotations does; or, with `around`, is the annotated
/// text between two others.
///
/// # Errors
/// Why that place is not known.
fn annotated(
    mut params: Map<String, Value>,
    annotations: &[Value],
    number: usize,
    around: Option<&verbs::Around>,
) -> Result<Map<String, Value>, String> {
    let ranges: Vec<Value> = annotations.iter().filter_map(|found| found.get("range").cloned()).collect();
    let range = pick(Some(&Value::Array(ranges)), number).cloned().ok_or("no annotation has a range")?;
    let content = params.get("content").and_then(Value::as_str).ok_or("`params` has no `content`")?;
    let end = offset(content, range.get("end"), "end")?;
    let made = match around {
        None => content[..end].to_owned(),
        Some(verbs::Around { before, after }) => {
            let start = offset(content, range.get("start"), "start")?;
            let text = content.get(start..end).filter(|text| !text.is_empty()).ok_or("the annotated text is empty")?;
            format!("{before}{text}{after}")
        }
    };
    params.insert("content".to_owned(), made.into());
    Ok(params)
}

/// Where a position is in a text, in bytes; `which` names the position in messages.
///
/// # Errors
/// That it is not within an ASCII line: elsewhere it depends on the unit of the characters.
fn offset(content: &str, position: Option<&Value>, which: &str) -> Result<usize, String> {
    let at = |name: &str| whole(position?.get(name)?);
    let place = at("line").zip(at("character"));
    let (line, character) = place.ok_or_else(|| format!("the range of the annotation has no {which}"))?;
    let before: usize = content.split_inclusive('\n').take(line).map(str::len).sum();
    let last = content[before..].lines().next().unwrap_or_default();
    if character > last.len() || !last.is_ascii() {
        return Err(format!("the {which} of the annotation's range is not within an ASCII line of the content"));
    }
    Ok(before + character)
}

/// A whole number, in whichever form JSON has it: `2`, `2.0` or `2e0`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within the range")]
fn whole(number: &Value) -> Option<usize> {
    let of_fraction = || number.as_f64().filter(|n| n.fract() == 0.0 && (0.0..1e9).contains(n)).map(|n| n as usize);
    number.as_u64().and_then(|n| usize::try_from(n).ok()).or_else(of_fraction)
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
