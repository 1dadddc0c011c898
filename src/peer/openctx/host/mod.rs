//! The provider that stands opposite a client.
//!
//! [`OpenctxHost`] performs the verbs of the role `openctx-client`. It listens at one URL, which is known before it
//! serves, and answers requests from its data in the background; those that are left to steps wait for them.

mod request_queue;
mod steps;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::peer::hosting::{DropStep, Gone, PendingRequest, Port, RespondStep, Sending, StopStep, Treatment};
use crate::peer::params::{deliberate, read, wrong};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, VerbCall};
use crate::protocol::openctx::client_role::TARGET;
use crate::trace::End;
use crate::wire::http::{Exchanges, Limits, Server};
use serde_json::json;

use request_queue::RequestQueue;
use steps::{AnswerStep, ServeStep};

/// How long requests may take to come: longer than any play.
const LONG: Duration = Duration::from_secs(120);

/// Plays the provider of a scenario of the role `openctx-client`.
pub struct OpenctxHost {
    setting: Setting,
    exchanges: Exchanges,
    port: Port,
    queue: Arc<RequestQueue>,
    server: Option<Server>,
}

impl OpenctxHost {
    /// One that does not serve yet.
    pub fn new(setting: Setting) -> Self {
        let exchanges = Exchanges::new(setting.recorder.clone(), End::Server);
        Self { setting, exchanges, port: Port::hold(), queue: Arc::default(), server: None }
    }

    async fn serve(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let step: ServeStep = read(act)?;
        if self.server.is_some() {
            return Err(wrong(act.verb, "the provider serves already; `stop` it first"));
        }
        let address = self.port.address()?;
        let why = deliberate(act, step.deliberate.as_ref());
        self.queue.open(step.plan(why)?);
        let cannot = |e: std::io::Error| PeerError::Environment(format!("cannot listen on {address}: {e}"));
        let listener = self.port.listen()?;
        let limits = Limits { head_within: LONG, body_within: LONG, ..Limits::default() };
        let server = Server::start(listener, self.queue.clone(), self.exchanges.clone(), limits).map_err(cannot)?;
        self.server = Some(server);
        let bindings = [("port", json!(address.port())), ("url", json!(url(address)))];
        Ok(Performed { bindings: bindings.map(|(name, value)| (name.to_owned(), value)).to_vec() })
    }

    async fn stop(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let step: StopStep = read(act)?;
        if self.server.is_none() {
            return Err(wrong(act.verb, "the provider does not serve; start it with `serve`"));
        }
        self.end(step.how, act.step).await;
        Ok(Performed::default())
    }

    /// Ends the server, if there is one.
    async fn end(&mut self, how: Gone, why: &str) {
        let Some(server) = self.server.take() else { return };
        // First, so that a client that comes back at once does not find what is about to end.
        server.close();
        match how {
            Gone::Quit => {
                // Dropped without an answer, connections are closed.
                drop(self.queue.waiting.take_all());
                self.queue.waiting.settle(self.setting.patience).await;
            }
            Gone::Kill => self.queue.waiting.take_all().into_iter().for_each(|held| held.answer.reset(Some(why))),
        }
        server.stop().await;
    }

    /// The request that a step is about, for which the client has some time.
    async fn held(&self, verb: &str, to: Option<&str>) -> Result<PendingRequest, PeerError> {
        if self.server.is_none() {
            return Err(wrong(verb, "the provider does not serve; start it with `serve`"));
        }
        let patience = self.setting.patience;
        self.queue.waiting.take(to, patience).await.ok_or_else(|| {
            let which = to.map_or("no request".to_owned(), |name| format!("no request `{name}`"));
            PeerError::Subject {
                message: format!("{which} waits for an answer, after {patience:?}"),
                proves: Some("http/client-post".to_owned()),
                expected: Some(json!("a request that waits for its answer")),
                actual: None,
            }
        })
    }

    async fn answer(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let step: AnswerStep = read(act)?;
        let why = deliberate(act, step.deliberate.as_ref());
        let body = step.body();
        let held = self.held(act.verb, step.to.as_deref()).await?;
        let sending = step.carried.sending(body, Some("application/json"), &held.head, why);
        self.send(held, sending.map_err(|e| wrong(act.verb, e))?, step.repeats).await;
        Ok(Performed::default())
    }

    async fn respond(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let step = RespondStep::read(act)?;
        let why = deliberate(act, step.deliberate.as_ref());
        // What is wrong with the step is wrong before there is a request.
        step.body().map_err(|e| wrong(act.verb, e))?;
        let held = self.held(act.verb, step.to.as_deref()).await?;
        let sending = step.sending(&held.head, why).map_err(|e| wrong(act.verb, e))?;
        self.send(held, sending, step.repeats).await;
        Ok(Performed::default())
    }

    async fn send(&self, held: PendingRequest, sending: Sending, repeats: bool) {
        if repeats {
            self.queue.waiting.treat_repeats(&held, Treatment::Answer(sending.clone()), &self.setting.recorder);
        }
        self.queue.waiting.send(held, sending).await;
    }

    async fn drop(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let step: DropStep = read(act)?;
        let held = self.held(act.verb, step.to.as_deref()).await?;
        let why = deliberate(act, step.deliberate.as_ref()).unwrap_or_else(|| act.step.to_owned());
        if step.repeats {
            let treatment = Treatment::HangUp(step.how, why.clone());
            self.queue.waiting.treat_repeats(&held, treatment, &self.setting.recorder);
        }
        held.hang_up(step.how, &why);
        Ok(Performed::default())
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}{TARGET}")
}

impl Peer for OpenctxHost {
    fn perform<'a>(&'a mut self, act: VerbCall<'a>) -> BoxFuture<'a, Result<Performed, PeerError>> {
        Box::pin(async move {
            match act.verb {
                "serve" => self.serve(&act).await,
                "stop" => self.stop(&act).await,
                "answer" => self.answer(&act).await,
                "respond" => self.respond(&act).await,
                "drop" => self.drop(&act).await,
                other => Err(PeerError::Unable(format!("the provider of a play has no verb `{other}`"))),
            }
        })
    }

    fn barrier<'a>(&'a mut self, _: Option<&'a str>, _: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(async { Err(PeerError::Unable("a provider cannot ask its client anything".to_owned())) })
    }

    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(self.end(Gone::Kill, "the play is over"))
    }

    fn url(&self) -> Option<String> {
        self.port.address().ok().map(url)
    }
}
