//! The OpenCtx client: what stands opposite a provider.
//!
//! [`OpenctxClient`] performs the verbs of the role `openctx-provider`. Each request is an exchange of its own, over a TCP
//! connection of its own unless a step says otherwise; what comes back writes the trace by itself.

mod about;
mod call;
mod request;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::json;

use crate::peer::asking::{Again, HttpStep, Proves, RequestSender, Sending, address};
use crate::peer::http_url::HttpUrl;
use crate::peer::params::{deliberate, read, wrong};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, VerbCall};
use crate::wire::http::Request;

use request::{RequestStep, envelope, post};

pub use call::{call, detect};

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

    async fn request(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let step: RequestStep = read(act)?;
        let step = step.made().map_err(PeerError::Lacking)?;
        let why = deliberate(act, step.deliberate.as_ref());
        let url = self.url()?;
        let request = step.request(&url, self.setting.settings.as_ref(), why.clone());
        let times = step.repeat.unwrap_or(1);
        let mut performed = Performed::default();
        for _ in 0..times {
            let (again, settings, why) = (step.clone(), self.setting.settings.clone(), why.clone());
            let again: Again = Box::new(move |url| Some(again.request(url, settings.as_ref(), why.clone())));
            let sending = Sending {
                over: step.over.clone(),
                read: step.read.unwrap_or(true),
                again: Some((url.clone(), again)),
                ..Sending::new(step.label.clone(), request.clone())
            };
            performed = self.sender.send(act.verb, &url.address, sending).await?;
        }
        Ok(performed)
    }

    async fn http(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let step: HttpStep = read(act)?;
        let why = deliberate(act, step.deliberate.as_ref());
        let url = self.url()?;
        let host = url.address.to_string();
        let request = step.request(("POST", &url.target), &host, why.clone()).map_err(|e| wrong(act.verb, e))?;
        let (label, over, read) = (step.label.clone(), step.over.clone(), step.read.unwrap_or(true));
        let again: Again = Box::new(move |url| {
            let moved = step.moved(&url.target)?;
            // What went wrong would have gone wrong before.
            moved.request(("POST", &url.target), &url.address.to_string(), why.clone()).ok()
        });
        let sending = Sending { over, read, again: Some((url.clone(), again)), ..Sending::new(label, request) };
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
            match act.verb {
                "request" => self.request(&act).await,
                "http" => self.http(&act).await,
                "open" => {
                    let url = self.url()?;
                    self.sender.open(&act, &url.address).await
                }
                "drop" => self.sender.drop(&act).await,
                other => Err(PeerError::Unable(format!("the OpenCtx client has no verb `{other}`"))),
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
