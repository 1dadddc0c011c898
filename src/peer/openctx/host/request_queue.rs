//! Where requests arrive: answered from data at once, or held until a step says what becomes of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::peer::hosting::{BodyDelivery, PendingRequest, Waiting};
use crate::peer::openctx::provider::data::{Characters, Data, Outcome};
use crate::peer::openctx::provider::request::understand;
use crate::trace::read_json;
use crate::wire::http::{Handler, Received, Responder};

/// The queue of one provider, over all its restarts.
#[derive(Default)]
pub struct RequestQueue {
    plan: Mutex<Plan>,
    /// What waits for steps.
    pub waiting: Waiting<PendingRequest>,
}

/// What a provider gives by itself.
#[derive(Default, Clone)]
pub struct Plan {
    /// The results of methods; those of an example for the others.
    pub results: BTreeMap<String, Value>,
    /// The example.
    pub example: Arc<Data>,
    /// Whether all requests are left to steps.
    pub silent: bool,
    /// Methods that are.
    pub withheld: Vec<String>,
    /// How its own answers are carried.
    pub carried: BodyDelivery,
    /// Why they are wrong on purpose, if they are.
    pub why: Option<String>,
}

impl RequestQueue {
    /// From now on requests are answered so.
    pub fn open(&self, plan: Plan) {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
    }
}

impl Plan {
    /// Whether a request for this method is left to steps.
    fn leaves(&self, method: &str) -> bool {
        self.silent || self.withheld.iter().any(|withheld| withheld == method)
    }

    /// The answer to a body. What is wrong with the parameters of a request is for the rules to say: it has its answer all
    /// the same, if one is laid down.
    fn answer(&self, body: &[u8], method: Option<&str>) -> Value {
        if let Some(result) = method.and_then(|method| self.results.get(method)) {
            return json!({"result": result});
        }
        let request = match understand(body) {
            Ok(request) => request,
            Err(fault) => return json!({"error": {"code": fault.code(), "message": fault.message()}}),
        };
        match self.example.answer(&request, Characters::default()).0 {
            Outcome::Result(result) => json!({"result": result}),
            Outcome::Error(error, _) => json!({"error": error}),
            Outcome::Status(_) => json!({"error": {"code": -32603, "message": "the example fails"}}),
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
        if plan.leaves(method.unwrap_or_default()) {
            self.waiting.hold(received, answer);
            return;
        }
        let _busy = self.waiting.begin();
        let body = plan.answer(&received.content, method).to_string().into_bytes();
        let sending = plan.carried.sending(body, Some("application/json"), &received.head, plan.why.clone());
        match sending {
            // Fails only where the client is gone, which is in the trace.
            Ok(sending) => drop(sending.send(answer).await),
            // It was tried before it served.
            Err(_) => answer.close(Some("what it was told to send cannot be sent")),
        }
    }
}
