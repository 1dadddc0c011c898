//! The reference client: plays `amplifier-client`, driven by lines on stdin and stdout ([`MOCK`]).
//!
//! Each call is a task of its own, and its outcome a line. `request_client` sends what [`routes`](super::routes) gives for a call. `follow`
//! reads the event stream or WebSocket of a subscription with `reader`, and `subscriptions` passes the events on to the
//! caller. Flaws and freedoms change it in small ways, which `deviations` lists.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;
use tokio::time::sleep;

use crate::peer::deviation::Includes;
use crate::peer::deviation::http_client::ClientSwitch;
use crate::peer::driven::{self, Call, ClientOutput, DrivenClient, OutputWriter};
use crate::peer::http::HttpUrl;
use crate::peer::http::calls::server_url;
use crate::peer::http::fetch::{Failure, Kind};
use crate::peer::{Begin, BoxFuture, Ended, Lines, MockError, MockKind, MockOptions};
use crate::trace::Recorder;

use super::deviations::{AmplifierClientEffect, ClientMemory, Deviations, TABLE};
use super::follow::{self, EventStreamFollower, FollowSwitch, SubscribeError};
use super::request_client::RequestClient;
use super::routes::text;
use super::subscriptions::{Connection, ConnectionSlot, EventReporter, Subscription, Subscriptions, subscription};

/// What a client can do otherwise with calls and subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSwitch {
    /// Calls wait for streams to end.
    CallsWaitForStreams,
    /// A decision that was accepted is posted once more.
    DecidesTwice,
    /// A subscription that is refused is tried over and over again.
    SubscribesForever,
    /// A subscription that was ended keeps its connection.
    LeavesOpen,
    /// After a response of some mebibytes no call comes to its end.
    DeafAfterHuge,
    /// Before its first call it asks the server whether it is healthy.
    AsksHealthFirst,
}

/// The reference client.
pub static MOCK: MockKind = MockKind {
    role: "amplifier-client",
    described: crate::config::Described::default,
    flaws: || TABLE.flaws(),
    freedoms: || TABLE.freedoms(),
    commands: || &[],
    begin: Begin::Drive(|options, lines| Box::pin(drive(options, lines))),
    scripted: false,
};

async fn drive(options: MockOptions, lines: Lines) -> Result<Ended, MockError> {
    let deviations = Deviations::chosen(&options, &TABLE)?;
    let url = server_url(&options, "server")?;
    Ok(run(url, deviations, options.recorder, lines).await)
}

/// How long a flaw waits before it subscribes again to what it was refused.
const IMPATIENT_RETRY: Duration = Duration::from_millis(20);

/// A client.
struct AmplifierClientCalls {
    requester: Arc<RequestClient>,
    deviations: Deviations,
    output: OutputWriter,
    subscriptions: Subscriptions,
    /// Set once the server was asked whether it is healthy.
    asked_health: OnceCell<()>,
}

/// Runs a client to its end.
async fn run(url: HttpUrl, deviations: Deviations, recorder: Recorder, lines: Lines) -> Ended {
    let junk = deviations.has(ClientSwitch::Junk);
    if junk {
        eprintln!("starting");
    }
    driven::drive(lines, |output| {
        if junk {
            let text = "an extension, ready when you are\n{\"log\":\"starting\"}\n";
            output.at_once(ClientOutput::Text(text.to_owned()));
        }
        let requester = RequestClient::new(url, deviations.clone(), Arc::new(ClientMemory::default()), recorder);
        AmplifierClientCalls {
            requester: Arc::new(requester),
            deviations,
            output,
            subscriptions: Subscriptions::default(),
            asked_health: OnceCell::new(),
        }
    })
    .await
}

impl DrivenClient for AmplifierClientCalls {
    fn call(self: Arc<Self>, call: Call) -> BoxFuture<'static, Option<ClientOutput>> {
        Box::pin(async move { self.outcome(call).await })
    }

    fn leave(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut ending = tokio::task::JoinSet::new();
            for subscription in self.subscriptions.take_all() {
                ending.spawn(subscription.end(Arc::clone(&self.requester)));
            }
            ending.join_all().await;
        })
    }
}

impl AmplifierClientCalls {
    fn has<K: PartialEq>(&self, switch: K) -> bool
    where
        AmplifierClientEffect: Includes<K>,
    {
        self.deviations.has(switch)
    }

    /// What becomes of a call; nothing where a flaw lets it never come to its end.
    async fn outcome(&self, call: Call) -> Option<ClientOutput> {
        self.deviations.history().message();
        if self.requester.memory.calls.is_unresponsive() {
            return None;
        }
        if self.has(CallSwitch::AsksHealthFirst) && call.name != "health" {
            let ask = async || drop(self.requester.call("health", Value::Null).await);
            self.asked_health.get_or_init(ask).await;
        }
        let outcome = match call.name.as_str() {
            "subscribe" => self.subscribe(&call.params).await,
            "unsubscribe" => self.unsubscribe(&call.params).await,
            "control" => self.control(call.params).await,
            name => match self.request(name, call.params).await {
                Some(outcome) => outcome,
                None => return Some(ClientOutput::Line(json!({"id": call.id, "unsupported": true}))),
            },
        };
        let mut line = match outcome {
            Ok(result) => {
                if self.has(CallSwitch::DeafAfterHuge) && RequestClient::is_huge(&result) {
                    self.requester.memory.calls.stop_responding();
                }
                json!({"id": call.id, "result": self.changed_result(&call.name, result)})
            }
            Err(failure) => match self.requester.memory.calls.report_failure(&self.deviations, &call.id, &failure) {
                Ok(line) => line,
                Err(instead) => return instead,
            },
        };
        self.deviations.line(&mut line);
        Some(ClientOutput::Line(line))
    }

    /// A call that makes one request; none where there is no such call.
    async fn request(&self, name: &str, params: Value) -> Option<Result<Value, Failure>> {
        let _serial =
            if self.has(ClientSwitch::Serial) { Some(self.requester.memory.calls.turn().await) } else { None };
        if self.has(CallSwitch::CallsWaitForStreams) && self.subscriptions.any() {
            std::future::pending::<()>().await;
        }
        if self.has(CallSwitch::DecidesTwice) && name == "submitApproval" {
            let outcome = self.requester.call(name, params.clone()).await;
            if let Some(Ok(_)) = outcome {
                let requester = self.requester.clone();
                tokio::spawn(async move { requester.call("submitApproval", params).await });
            }
            return outcome;
        }
        if !self.has(ClientSwitch::Shares) {
            return self.requester.call(name, params).await;
        }
        let known = ["createSession", "submitPrompt", "getSession", "getProfile", "listAgents", "listProfiles"];
        let Some(name) = known.into_iter().find(|known| *known == name) else {
            return self.requester.call(name, params).await;
        };
        self.requester.memory.calls.share(name, params, |params| self.requester.call(name, params)).await
    }

    /// Follows the events of a session. Returns once the server has responded, so that nothing is missed after it.
    async fn subscribe(&self, params: &Value) -> Result<Value, Failure> {
        let session = text(params, "session_id").to_owned();
        let number = self.subscriptions.number();
        let reporter = EventReporter::new(self.requester.clone(), self.output.clone(), session.clone(), number);
        let slot = ConnectionSlot::default();
        let task = if text(params, "transport") == "ws" {
            match follow::open_socket(&self.requester, &session).await {
                Ok(socket) => {
                    slot.set_socket(socket.sender);
                    let (requester, slot) = (self.requester.clone(), slot.clone());
                    tokio::spawn(
                        async move { follow::follow_socket(&requester, reporter, slot, socket.incoming).await },
                    )
                }
                Err(_) if self.has(FollowSwitch::SilentClose) => tokio::spawn(std::future::ready(())),
                Err(failure) => return Err(failure),
            }
        } else {
            let exchange = loop {
                match follow::open_stream(&self.requester, &session, "").await {
                    Ok(exchange) => break exchange,
                    Err(SubscribeError::Refused(_)) if self.has(CallSwitch::SubscribesForever) => {
                        sleep(IMPATIENT_RETRY).await
                    }
                    Err(refusal) => return Err(refusal.into()),
                }
            };
            tokio::spawn(EventStreamFollower::new(self.requester.clone(), reporter, slot.clone()).follow(exchange))
        };
        self.requester.memory.lock().newest_subscription = number;
        self.subscriptions.keep(number, Subscription { slot, task: task.abort_handle() });
        Ok(json!({"subscription": subscription(&self.deviations, number)}))
    }

    async fn unsubscribe(&self, params: &Value) -> Result<Value, Failure> {
        if !self.has(CallSwitch::LeavesOpen)
            && let Some(subscription) = self.subscriptions.take(self.number(params)?)
        {
            subscription.end(Arc::clone(&self.requester)).await;
        }
        Ok(Value::Null)
    }

    async fn control(&self, mut params: Value) -> Result<Value, Failure> {
        match self.subscriptions.connection(self.number(&params)?) {
            Some(Connection::Socket(sender)) => {
                follow::control(&self.requester, &sender, params["message"].take()).await
            }
            Some(Connection::Stream(_)) => Err(Failure::new(Kind::Flaw, "control messages go over WebSockets only")),
            Some(Connection::None) if self.has(FollowSwitch::SilentClose) => Ok(Value::Null),
            Some(Connection::None) => Err(Failure::new(Kind::Closed, "the subscription has come to its end")),
            None => Err(Failure::new(Kind::Closed, "there is no such subscription")),
        }
    }

    /// The number of the subscription that is meant.
    fn number(&self, params: &Value) -> Result<u64, Failure> {
        let given = params.get("subscription").unwrap_or(&Value::Null);
        let named = || given.as_str()?.strip_prefix("subscription-")?.parse().ok();
        given.as_u64().or_else(named).ok_or_else(|| Failure::new(Kind::Flaw, "there is no such subscription"))
    }

    /// A result as the caller gets it.
    fn changed_result(&self, call: &str, mut result: Value) -> Value {
        let change = |effect| match effect {
            AmplifierClientEffect::Result(of, change) if of == call || of.is_empty() => Some(change),
            _ => None,
        };
        self.deviations.rewrite(&mut result, change);
        result
    }
}
