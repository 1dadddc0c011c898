//! The provider that stands opposite a client.
//!
//! [`OpenctxHost`] performs the verbs of the role `openctx-client`. It listens at one URL, which is known before it
//! serves, and answers requests from its data in the background; those that are left to steps wait for them.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::peer::http::{OutgoingResponse, PendingRequest, PendingRequests, Port, Treatment};
use crate::peer::params::{deliberate, read, wrong};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, VerbCall};
use crate::protocol::http::verbs::{Delivery, DropUnanswered, Respond};
use crate::protocol::openctx::roles::TARGET;
use crate::protocol::openctx::verbs::{Answer, Outcome, ProviderVerb, Results, Serve};
use crate::protocol::words::{ResponsePolicy, StopMode};
use crate::trace::{End, read_json};
use crate::wire::http::{Exchanges, Handler, Limits, Received, Responder, Server};

use super::provider::data::{CharacterUnit, Data, ProviderOutcome};
use super::provider::request::parse_request;

#[cfg(test)]
mod tests;

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
    /// A host that does not serve yet.
    pub fn new(setting: Setting) -> Self {
        let exchanges = Exchanges::new(setting.recorder.clone(), End::Server);
        Self { setting, exchanges, port: Port::hold(), queue: Arc::default(), server: None }
    }

    async fn serve(&mut self, act: &VerbCall<'_>, step: Serve) -> Result<Performed, PeerError> {
        if self.server.is_some() {
            return Err(wrong(act.verb, "the provider serves already; `stop` it first"));
        }
        let address = self.port.address()?;
        let why = deliberate(act, step.deliberate.as_ref());
        self.queue.open(ProviderPlan::of(step, why));
        let cannot = |e: std::io::Error| PeerError::Environment(format!("cannot listen on {address}: {e}"));
        let listener = self.port.listen()?;
        let limits = Limits { head_within: LONG, body_within: LONG, ..Limits::default() };
        let server = Server::start(listener, self.queue.clone(), self.exchanges.clone(), limits).map_err(cannot)?;
        self.server = Some(server);
        let bindings = [("port", json!(address.port())), ("url", json!(url(address)))];
        Ok(Performed { bindings: bindings.map(|(name, value)| (name.to_owned(), value)).to_vec() })
    }

    async fn stop(&mut self, act: &VerbCall<'_>, how: StopMode) -> Result<Performed, PeerError> {
        if self.server.is_none() {
            return Err(wrong(act.verb, "the provider does not serve; start it with `serve`"));
        }
        self.end(how, act.step).await;
        Ok(Performed::default())
    }

    /// Ends the server, if there is one.
    async fn end(&mut self, how: StopMode, why: &str) {
        let Some(server) = self.server.take() else { return };
        // First, so that a client that comes back at once does not find what is about to end.
        server.close();
        match how {
            StopMode::Quit => {
                // Dropped without an answer, connections are closed.
                drop(self.queue.waiting.take_all());
                self.queue.waiting.settle(self.setting.patience).await;
            }
            StopMode::Kill => self.queue.waiting.take_all().into_iter().for_each(|held| held.answer.reset(Some(why))),
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

    async fn answer(&mut self, act: &VerbCall<'_>, step: Answer) -> Result<Performed, PeerError> {
        let why = deliberate(act, step.deliberate.as_ref());
        let held = self.held(act.verb, step.to.exchange.as_deref()).await?;
        let sending = step.carried.sending(step.body(), Some("application/json"), &held.head, why);
        self.send(held, sending, step.to.repeats).await;
        Ok(Performed::default())
    }

    async fn respond(&mut self, act: &VerbCall<'_>, step: Respond) -> Result<Performed, PeerError> {
        let why = deliberate(act, step.deliberate.as_ref());
        step.check().map_err(|e| wrong(act.verb, e))?;
        let held = self.held(act.verb, step.to.exchange.as_deref()).await?;
        let sending = step.sending(&held.head, why).map_err(|e| wrong(act.verb, e))?;
        self.send(held, sending, step.to.repeats).await;
        Ok(Performed::default())
    }

    async fn send(&self, held: PendingRequest, sending: OutgoingResponse, repeats: bool) {
        if repeats {
            self.queue.waiting.treat_repeats(&held, Treatment::Answer(sending.clone()), &self.setting.recorder);
        }
        self.queue.waiting.send(held, sending).await;
    }

    async fn drop(&mut self, act: &VerbCall<'_>, step: DropUnanswered) -> Result<Performed, PeerError> {
        let held = self.held(act.verb, step.to.exchange.as_deref()).await?;
        let why = deliberate(act, step.deliberate.as_ref()).unwrap_or_else(|| act.step.to_owned());
        if step.to.repeats {
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
            match read(&act)? {
                ProviderVerb::Serve(step) => self.serve(&act, *step).await,
                ProviderVerb::Stop(step) => self.stop(&act, step.how).await,
                ProviderVerb::Answer(step) => self.answer(&act, *step).await,
                ProviderVerb::Respond(step) => self.respond(&act, *step).await,
                ProviderVerb::Drop(step) => self.drop(&act, step).await,
            }
        })
    }

    fn barrier<'a>(&'a mut self, _: Option<&'a str>, _: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(async { Err(PeerError::Unable("a provider cannot ask its client anything".to_owned())) })
    }

    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(self.end(StopMode::Kill, "the play is over"))
    }

    fn url(&self) -> Option<String> {
        self.port.address().ok().map(url)
    }
}

/// The queue of one provider, over all its restarts.
#[derive(Default)]
pub struct RequestQueue {
    plan: Mutex<ProviderPlan>,
    /// The requests that wait for steps.
    pub waiting: PendingRequests<PendingRequest>,
}

/// What a provider responds without a step.
#[derive(Default, Clone)]
pub struct ProviderPlan {
    /// The results of methods; those of an example for the others.
    pub results: Results,
    /// The example.
    pub example: Arc<Data>,
    /// Whether all requests are left to steps.
    pub silent: bool,
    /// Methods that are.
    pub withheld: Vec<String>,
    /// How its own answers are carried.
    pub carried: Delivery,
    /// Why they are wrong on purpose, if they are.
    pub why: Option<String>,
}

impl RequestQueue {
    /// Sets how requests are answered from now on.
    pub fn open(&self, plan: ProviderPlan) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }
}

impl ProviderPlan {
    /// The plan of a provider; `why` says why its answers are wrong on purpose, if they are.
    fn of(step: Serve, why: Option<String>) -> Self {
        let Serve { data, answers, withholds, carried, .. } = step;
        Self {
            results: data,
            example: Data::example(),
            silent: answers == ResponsePolicy::None,
            withheld: withholds,
            carried,
            why,
        }
    }

    /// Whether a request for this method is left to steps.
    fn leaves_to_steps(&self, method: &str) -> bool {
        self.silent || self.withheld.iter().any(|withheld| withheld == method)
    }

    /// The answer to a body. What is wrong with the parameters of a request is for the rules to say: it has its answer all
    /// the same, if one is laid down.
    fn answer(&self, body: &[u8], method: Option<&str>) -> Value {
        if let Some(result) = method.and_then(|method| self.results.of(method)) {
            return json!({"result": result});
        }
        let request = match parse_request(body) {
            Ok(request) => request,
            Err(fault) => return json!({"error": {"code": fault.code(), "message": fault.message()}}),
        };
        match self.example.answer(&request, CharacterUnit::default()).0 {
            ProviderOutcome::Result(result) => json!({"result": result}),
            ProviderOutcome::Error(error, _) => json!({"error": error}),
            ProviderOutcome::Status(_) => json!({"error": {"code": -32603, "message": "the example fails"}}),
        }
    }
}

impl Handler for RequestQueue {
    async fn handle(&self, received: Received, answer: Responder) {
        if let Some(treatment) = self.waiting.repeats(&received) {
            let _busy = self.waiting.begin();
            return treatment.apply(answer).await;
        }
        let plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let read = std::str::from_utf8(&received.content).ok().and_then(read_json);
        let method = read.as_ref().and_then(|read| read.value["method"].as_str());
        if plan.leaves_to_steps(method.unwrap_or_default()) {
            self.waiting.hold(received, answer);
            return;
        }
        let _busy = self.waiting.begin();
        let body = plan.answer(&received.content, method).to_string().into_bytes();
        let sending = plan.carried.sending(body, Some("application/json"), &received.head, plan.why.clone());
        // Fails only where the client is gone, which is in the trace.
        drop(sending.send(answer).await);
    }
}

impl Answer {
    /// The body: the envelope of the protocol.
    fn body(&self) -> Vec<u8> {
        let (key, value) = match &self.outcome {
            Outcome::Result(result) => ("result", result),
            Outcome::Error(error) => ("error", error),
        };
        let mut envelope = Map::from_iter([(key.to_owned(), value.clone())]);
        envelope.extend(self.extra.clone());
        Value::Object(envelope).to_string().into_bytes()
    }
}
