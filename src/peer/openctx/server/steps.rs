//! The provider that stands opposite a client, steered by the steps of a scenario of the role `openctx-client`.
//!
//! [`OpenctxServerSteps`] performs the verbs. The server answers requests as its [`ProviderPlan`] says in the background; those that are left
//! to steps wait for them.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::peer::http::Decision;
use crate::peer::http::server::StepServer;
use crate::peer::params::{deliberate, read};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, VerbCall};
use crate::protocol::http::verbs::Delivery;
use crate::protocol::openctx::verbs::{Answer, Outcome, ProviderVerb, Results, Serve};
use crate::protocol::words::{ResponsePolicy, StopMode};
use crate::trace::read_json;
use crate::wire::http::Received;

use super::super::data::{CharacterUnit, Data};
use super::super::request::parse_request;
use super::deviations::Deviations;
use super::{Decided, OpenctxServer, ProviderResponse, Steering, refused};

#[cfg(test)]
mod tests;

/// Plays the provider of a scenario of the role `openctx-client`.
pub struct OpenctxServerSteps {
    server: StepServer<OpenctxServer<StepSteering>>,
}

impl OpenctxServerSteps {
    /// A provider that does not serve yet.
    pub fn new(setting: Setting) -> Self {
        Self { server: StepServer::new(setting, OpenctxServer::new(StepSteering::default())) }
    }

    fn serve(&mut self, call: &VerbCall<'_>, step: Serve) -> Result<Performed, PeerError> {
        self.server.check_stopped(call.verb)?;
        let why = deliberate(call, step.deliberate.as_ref());
        self.server.handler.steering.set_plan(ProviderPlan::new(step, why));
        self.server.start()
    }

    async fn answer(&mut self, call: &VerbCall<'_>, step: Answer) -> Result<Performed, PeerError> {
        let why = deliberate(call, step.deliberate.as_ref());
        let pending = self.server.pending_request(call.verb, step.to.exchange.as_deref()).await?;
        let response = step.carried.sending(step.body(), Some("application/json"), &pending.head, why);
        self.server.send(pending, response, step.to.repeats).await;
        Ok(Performed::default())
    }
}

impl Peer for OpenctxServerSteps {
    fn perform<'a>(&'a mut self, call: VerbCall<'a>) -> BoxFuture<'a, Result<Performed, PeerError>> {
        Box::pin(async move {
            match read(&call)? {
                ProviderVerb::Serve(step) => self.serve(&call, *step),
                ProviderVerb::Stop(step) => self.server.stop(&call, step.how).await,
                ProviderVerb::Answer(step) => self.answer(&call, *step).await,
                ProviderVerb::Respond(step) => self.server.respond(&call, *step, |_, _| ()).await,
                ProviderVerb::Drop(step) => self.server.drop(&call, step).await,
            }
        })
    }

    fn barrier<'a>(&'a mut self, _: Option<&'a str>, _: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(async { Err(PeerError::Unable("a provider cannot ask its client anything".to_owned())) })
    }

    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(self.server.end(StopMode::Kill, "the play is over"))
    }

    fn url(&self) -> Option<String> {
        self.server.url()
    }

    #[cfg(test)]
    fn deviations(&self) -> Vec<&'static str> {
        self.server.handler.steering.plan().deviations.names()
    }
}

/// Steers a provider by the plan of the step that started it last.
#[derive(Default)]
pub struct StepSteering {
    plan: Mutex<ProviderPlan>,
}

impl StepSteering {
    /// Sets how requests are answered from now on.
    fn set_plan(&self, plan: ProviderPlan) {
        *self.plan.lock() = plan;
    }

    fn plan(&self) -> ProviderPlan {
        self.plan.lock().clone()
    }
}

impl Steering for StepSteering {
    async fn decide(&self, received: &Received) -> Option<Decided> {
        let plan = self.plan();
        let read = std::str::from_utf8(&received.content).ok().and_then(read_json);
        let method = read.as_ref().and_then(|read| read.value["method"].as_str());
        if plan.leaves_to_steps(method.unwrap_or_default()) {
            return None;
        }
        let body = plan.respond(&received.content, method).to_string().into_bytes();
        let response = plan.carried.sending(body, Some("application/json"), &received.head, plan.why);
        Some(Decision::Respond(Box::new(response)).into())
    }
}

/// What a provider responds without a step.
#[derive(Default, Clone)]
struct ProviderPlan {
    /// The results of methods; those of an example for the others.
    results: Results,
    /// The example.
    example: Arc<Data>,
    /// Whether all requests are left to steps.
    silent: bool,
    /// Methods that are.
    withheld: Vec<String>,
    /// How its own responses are carried.
    carried: Delivery,
    /// Why they are wrong on purpose, if they are.
    why: Option<String>,
    /// None: what is wrong on purpose, a step says.
    deviations: Deviations,
}

impl ProviderPlan {
    /// The plan of a provider; `why` says why its responses are wrong on purpose, if they are.
    fn new(step: Serve, why: Option<String>) -> Self {
        let Serve { data, answers, withholds, carried, .. } = step;
        Self {
            results: data,
            example: Data::example(),
            silent: answers == ResponsePolicy::None,
            withheld: withholds,
            carried,
            why,
            deviations: Deviations::default(),
        }
    }

    /// Whether a request for this method is left to steps.
    fn leaves_to_steps(&self, method: &str) -> bool {
        self.silent || self.withheld.iter().any(|withheld| withheld == method)
    }

    /// The response to a body. What is wrong with the parameters of a request is for the rules to say: it gets the result that
    /// is laid down all the same, if one is.
    fn respond(&self, body: &[u8], method: Option<&str>) -> Value {
        if let Some(result) = method.and_then(|method| self.results.of(method)) {
            return json!({"result": result});
        }
        let request = parse_request(body);
        let outcome = match &request {
            Ok(request) => self.example.answer(request, CharacterUnit::default()).0,
            Err(fault) => refused(*fault),
        };
        let response = ProviderResponse::new(outcome, &request, &self.deviations, None);
        response.envelope.unwrap_or_else(|| json!({"error": {"code": -32603, "message": "the example fails"}}))
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
