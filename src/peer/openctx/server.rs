//! An OpenCtx provider on a socket: the peer of plays against a client, and the mock.
//!
//! [`OpenctxServer`] takes requests in and carries responses out. What becomes of a request is decided by whoever steers the
//! server ([`Steering`]): the steps of a scenario (`steps`), or the data, flaws and freedoms of a mock (`mock_steering`). What the
//! protocol responds to a request is one fact for both: `ProviderResponse`.

use serde_json::{Value, json};

use crate::peer::deviation::Why;
use crate::peer::http::server::StepHandler;
use crate::peer::http::{Decision, PendingRequest, PendingRequests};
use crate::protocol::openctx::roles::TARGET;
use crate::trace::HttpRequest;
use crate::wire::http::{Handler, OnHead, ReceiveError, Received, Responder};

use self::deviations::Deviations;
use super::data::ProviderOutcome;
use super::request::{Method, Request, RequestFault};

mod deviations;
pub mod mock;
mod mock_steering;
pub mod steps;

/// A provider that serves.
pub struct OpenctxServer<S> {
    /// Decides on its requests.
    pub steering: S,
    /// The requests that wait for steps; a mock leaves none to them.
    waiting: PendingRequests<PendingRequest>,
}

/// Who steers a provider: decides what becomes of its requests.
pub trait Steering: Send + Sync + 'static {
    /// Decides on a request; none where it waits for a step.
    fn decide(&self, received: &Received) -> impl Future<Output = Option<Decided>> + Send;

    /// Called once a decision has been carried out.
    fn done(&self, _answered: Option<Method>) {}

    /// Decides what to do with a request whose head has come.
    fn on_head(&self) -> OnHead {
        OnHead::Read
    }

    /// Called for a request that could not be received, or whose client left.
    fn on_receive_error(&self, _error: ReceiveError) {}
}

/// A decision on a request.
pub struct Decided {
    /// What becomes of it.
    pub decision: Decision,
    /// The method whose response it is, for who watches the provider.
    pub answered: Option<Method>,
}

impl From<Decision> for Decided {
    fn from(decision: Decision) -> Self {
        Self { decision, answered: None }
    }
}

impl<S> OpenctxServer<S> {
    /// A provider that is steered so.
    pub fn new(steering: S) -> Self {
        Self { steering, waiting: PendingRequests::default() }
    }
}

impl<S: Steering> Handler for OpenctxServer<S> {
    fn on_head(&self, _request: &HttpRequest) -> OnHead {
        self.steering.on_head()
    }

    fn on_receive_error(&self, error: ReceiveError) {
        self.steering.on_receive_error(error);
    }

    async fn handle(&self, received: Received, responder: Responder) {
        let decided = match self.waiting.repeats(&received) {
            Some(decision) => Some(decision.into()),
            None => self.steering.decide(&received).await,
        };
        let Some(Decided { decision, answered }) = decided else { return self.waiting.hold(received, responder) };
        let _busy = self.waiting.begin();
        decision.carry_out(responder).await;
        self.steering.done(answered);
    }
}

impl<S: Steering> StepHandler for OpenctxServer<S> {
    type Pending = PendingRequest;
    const NAME: &'static str = "provider";
    const PATH: &'static str = TARGET;
    const PROVES: &'static str = "http/client-post";

    fn waiting(&self) -> &PendingRequests<PendingRequest> {
        &self.waiting
    }
}

/// The response of the protocol to a request.
struct ProviderResponse {
    /// The envelope: the result or the error. None where the data says that the provider fails.
    envelope: Option<Value>,
    status: u16,
    /// The flaw that changed it, if one did.
    why: Why,
}

impl ProviderResponse {
    /// The response that gives an outcome, as deviations change it.
    fn new(
        outcome: ProviderOutcome,
        request: &Result<Request, RequestFault>,
        deviations: &Deviations,
        mut why: Why,
    ) -> Self {
        let (mut envelope, status) = match outcome {
            ProviderOutcome::Result(mut result) => {
                if let Ok(request) = request {
                    why = deviations.result(request.method, &mut result).or(why);
                }
                // Whoever gives a result to what is no request has seen no fault in it.
                (json!({"result": result}), None)
            }
            ProviderOutcome::Error(mut error, status) => {
                why = deviations.error(&mut error).or(why);
                let fault = request.as_ref().err().map(|fault| fault.status());
                (json!({"error": error}), status.or(fault))
            }
            ProviderOutcome::Status(status) => return Self { envelope: None, status, why },
        };
        why = deviations.envelope(&mut envelope).or(why);
        Self { envelope: Some(envelope), status: status.unwrap_or(200), why }
    }
}

/// The error for what is no request, or none that is understood.
fn refused(fault: RequestFault) -> ProviderOutcome {
    ProviderOutcome::Error(json!({"code": fault.code(), "message": fault.message()}), Some(fault.status()))
}
