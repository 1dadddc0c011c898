//! Where requests arrive: answered from data at once, or held until a step says what becomes of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::peer::openctx::provider::data::{Characters, Data, Outcome};
use crate::peer::openctx::provider::request::understand;
use crate::trace::HttpRequest;
use crate::wire::http::{Handler, Received, Responder};

use super::carried::Carried;

/// How many requests are held for steps. Others are not answered.
const MOST: usize = 10_000;

/// The desk of one provider, over all its restarts.
pub struct Desk {
    state: Mutex<State>,
    /// Counts what arrives.
    arrived: watch::Sender<u64>,
    /// How many answers are on their way.
    busy: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    plan: Plan,
    held: VecDeque<Held>,
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
    pub carried: Carried,
    /// Why they are wrong on purpose, if they are.
    pub why: Option<String>,
}

/// A request that waits for its answer.
pub struct Held {
    /// The name of its exchange.
    conn: String,
    /// Its head.
    pub head: HttpRequest,
    /// The way back.
    pub answer: Responder,
}

/// An answer on its way; it has arrived when this is dropped.
pub struct Busy(watch::Sender<usize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.send_modify(|busy| *busy = busy.saturating_sub(1));
    }
}

impl Default for Desk {
    fn default() -> Self {
        Self { state: Mutex::default(), arrived: watch::Sender::new(0), busy: watch::Sender::new(0) }
    }
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on requests are answered so.
    pub fn open(&self, plan: Plan) {
        self.state().plan = plan;
    }

    /// An answer begins.
    pub fn begin(&self) -> Busy {
        self.busy.send_modify(|busy| *busy += 1);
        Busy(self.busy.clone())
    }

    /// Takes the request of this exchange, or the oldest one, for which the client has so long.
    pub async fn take(&self, to: Option<&str>, within: Duration) -> Option<Held> {
        let find = || {
            let held = &mut self.state().held;
            let at = held.iter().position(|held| to.is_none_or(|name| name == held.conn))?;
            held.remove(at)
        };
        let mut arrived = self.arrived.subscribe();
        let waiting = async {
            loop {
                arrived.mark_unchanged();
                if let Some(held) = find() {
                    return Some(held);
                }
                // The sender lives as long as we do.
                arrived.changed().await.ok()?;
            }
        };
        timeout(within, waiting).await.ok().flatten()
    }

    /// Sends what is on its way, and closes what waits.
    pub async fn finish(&self, within: Duration) {
        let held = std::mem::take(&mut self.state().held);
        // Dropped without an answer, connections are closed.
        drop(held);
        let mut busy = self.busy.subscribe();
        // What takes too long is cut.
        let _ = timeout(within, busy.wait_for(|busy| *busy == 0)).await;
    }

    /// Cuts what waits.
    pub fn abandon(&self, why: &str) {
        let held = std::mem::take(&mut self.state().held);
        held.into_iter().for_each(|held| held.answer.reset(Some(why)));
    }

    fn hold(&self, received: Received, answer: Responder) {
        let held = &mut self.state().held;
        if held.len() < MOST {
            held.push_back(Held { conn: received.conn, head: received.head, answer });
        }
        self.arrived.send_modify(|arrived| *arrived += 1);
    }
}

impl Plan {
    /// Whether a request for this method is left to steps.
    fn leaves(&self, method: &str) -> bool {
        self.silent || self.withheld.iter().any(|withheld| withheld == method)
    }

    /// The answer to a body.
    fn answer(&self, body: &[u8]) -> Value {
        let request = match understand(body) {
            Ok(request) => request,
            Err(fault) => return json!({"error": {"code": fault.code(), "message": fault.message()}}),
        };
        if let Some(result) = self.results.get(request.method.name()) {
            return json!({"result": result});
        }
        match self.example.answer(&request, Characters::default()).0 {
            Outcome::Result(result) => json!({"result": result}),
            Outcome::Error(error, _) => json!({"error": error}),
            Outcome::Status(_) => json!({"error": {"code": -32603, "message": "the example fails"}}),
        }
    }
}

impl Handler for Desk {
    async fn handle(&self, received: Received, answer: Responder) {
        let plan = self.state().plan.clone();
        let method = serde_json::from_slice::<Value>(&received.content).unwrap_or_default();
        if plan.leaves(method["method"].as_str().unwrap_or_default()) {
            self.hold(received, answer);
            return;
        }
        let _busy = self.begin();
        let body = plan.answer(&received.content).to_string().into_bytes();
        let sending = plan.carried.sending(body, Some("application/json"), &received.head, plan.why.clone());
        match sending {
            // Fails only where the client is gone, which is in the trace.
            Ok(sending) => drop(sending.send(answer).await),
            // It was tried before it served.
            Err(_) => answer.close(Some("what it was told to send cannot be sent")),
        }
    }
}
