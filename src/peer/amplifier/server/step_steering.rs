//! What a server decides that the steps of a scenario steer ([`StepSteering`]): its agent answers requests, unless they are left to
//! steps or refused.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::diagnostic::{Source, Style, render_all};
use crate::peer::http::{Decision, OutgoingResponse};
use crate::protocol::amplifier::Endpoint;
use crate::protocol::amplifier::verbs::{CutHow, SubscriptionRefusal};
use crate::protocol::words::{StopMode, StreamEnd};
use crate::wire::http::{Received, Response};
use crate::wire::websocket::{Request, Sender};

use super::context::ServerContext;
use super::deviations::Deviations;
use super::format::{SocketFormat, StreamFormat};
use super::model::{EndpointRequest, Feed, Model, Refusal, Reply, Workspace};
use super::open_subscriptions::{OpenSubscriptions, StreamOrder, StreamSink};
use super::script::{Script, example};
use super::subscription::{EventStreamSubscription, SocketSubscription};
use super::{RequestDecision, Steering, UpgradeDecision, check, refusal_response, response};

/// The name under which subscriptions are withheld.
const SUBSCRIBE: &str = "subscribe";

/// Why the connection of a request is ended that comes before any step has started the server.
const NOBODY: &str = "nobody is there to answer";

/// Steers a server by the plan of the step that started it last.
#[derive(Default)]
pub struct StepSteering {
    plan: Mutex<ResponsePlan>,
    /// The subscriptions that are open.
    pub streams: OpenSubscriptions,
}

/// What a server does without a step. Nothing, where it has no agent.
#[derive(Default, Clone)]
pub struct ResponsePlan {
    /// Responds to requests and sends the events.
    pub agent: Option<StepAgent>,
    /// Whether all requests but subscriptions are left to steps.
    pub silent: bool,
    /// Endpoints that are left to steps.
    pub withheld: Vec<String>,
    /// Subscriptions that are refused.
    pub refuses: Option<SubscriptionRefusal>,
    /// Header lines of responses that accept WebSockets: other values, or none.
    pub upgrade_headers: Vec<(String, Option<String>)>,
}

impl StepSteering {
    /// Sets the plan for requests from now on.
    pub fn set_plan(&self, plan: ResponsePlan) {
        *self.plan.lock() = plan;
    }

    fn plan(&self) -> ResponsePlan {
        self.plan.lock().clone()
    }

    /// The names of the deviations of its agent.
    #[cfg(test)]
    pub fn deviations(&self) -> Vec<&'static str> {
        self.plan().agent.map(|agent| agent.context.model().deviations.names()).unwrap_or_default()
    }

    /// The refusal of a subscription, where it is to be refused.
    fn refusal(&self, plan: &ResponsePlan) -> Option<Response> {
        let refuses = plan.refuses.filter(|refuses| self.streams.count() >= refuses.after)?;
        let why = plan.agent.as_ref().and_then(|agent| agent.why.as_deref());
        Some(refuses.response().deliberate(why))
    }
}

impl ResponsePlan {
    /// Whether a request is left to steps.
    fn leaves_to_steps(&self, endpoint: Option<Endpoint>) -> bool {
        match endpoint {
            Some(endpoint @ (Endpoint::Events | Endpoint::Socket)) => self.withholds(name(endpoint)),
            Some(endpoint) => self.silent || self.withholds(name(endpoint)),
            None => self.silent,
        }
    }

    fn withholds(&self, name: &str) -> bool {
        self.withheld.iter().any(|withheld| withheld == name)
    }
}

/// The name of an endpoint, as `withholds` has it.
fn name(endpoint: Endpoint) -> &'static str {
    endpoint.name().unwrap_or(SUBSCRIBE)
}

impl Steering for StepSteering {
    type Subscribed<'a> = ();

    async fn decide(&self, received: &Received, request: Option<EndpointRequest>) -> RequestDecision {
        let plan = self.plan();
        let endpoint = request.as_ref().map(|request| request.route.endpoint);
        if plan.leaves_to_steps(endpoint) {
            return RequestDecision::Wait;
        }
        let Some(agent) = &plan.agent else {
            return Decision::HangUp(StreamEnd::Eof, Some(NOBODY.to_owned())).into();
        };
        if let (Some(Endpoint::Events), Some(request)) = (endpoint, &request) {
            return match self.refusal(&plan) {
                Some(refusal) => OutgoingResponse::from(refusal).into(),
                None => agent.event_stream(request.name()),
            };
        }
        let reply = match check(received, request) {
            Ok(request) => agent.handle(request),
            Err(refusal) => refusal.into(),
        };
        let response = response(reply, received, &Deviations::default()).deliberate(agent.why.as_deref());
        RequestDecision::Now(Decision::Respond(Box::new(response.into())), endpoint)
    }

    fn decide_upgrade(&self, request: &Request, session: &str) -> UpgradeDecision {
        let plan = self.plan();
        if plan.leaves_to_steps(Some(Endpoint::Socket)) {
            return UpgradeDecision::Wait;
        }
        if let Some(refusal) = self.refusal(&plan) {
            return UpgradeDecision::Refuse(refusal);
        }
        match plan.agent {
            None => UpgradeDecision::HangUp(NOBODY),
            Some(agent) => match request.fault() {
                Some(fault) => UpgradeDecision::Refuse(refusal_response(&Refusal::invalid(fault))),
                None => agent.socket(session, plan.upgrade_headers),
            },
        }
    }

    fn subscribe(&self) {}

    fn stream_opened(&self, conn: &str, session: &str) -> Option<mpsc::Receiver<StreamOrder>> {
        let (sink, orders) = StreamSink::events();
        self.streams.add(conn, session, sink);
        Some(orders)
    }

    fn socket_opened(&self, session: &str, sender: &Sender) {
        self.streams.add(sender.conn(), session, StreamSink::Socket(sender.clone()));
    }

    async fn end_streams(&self, how: StopMode, why: &str, within: Duration) {
        match how {
            StopMode::Quit => self.streams.end_all(CutHow::End, None, within).await,
            StopMode::Kill => self.streams.end_all(CutHow::Reset, Some(why), within).await,
        }
    }
}

/// Actions leave nothing behind: the client under test is not to be found out by files.
struct NoWorkspace;

impl Workspace for NoWorkspace {
    fn append(&self, _: Option<&str>, _: &str, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// The agent behind a server, and its sessions.
#[derive(Clone)]
pub struct StepAgent {
    context: Arc<ServerContext>,
    /// Whether its events are left to steps.
    quiet: bool,
    /// The sessions whose streams steps write into.
    streamed: Arc<Mutex<HashSet<String>>>,
    /// Why what it does is wrong on purpose, if it is.
    why: Option<String>,
}

impl StepAgent {
    /// An agent that goes by a script, or by the example of the mock server where there is none.
    ///
    /// # Errors
    /// What is wrong with the script, for the scenario's author.
    pub fn new(script: Option<&Value>, port: u16, quiet: bool, why: Option<String>) -> Result<Self, String> {
        let script = match script {
            None => example().clone(),
            Some(script) => read(script)?,
        };
        let model = Model::new(Arc::new(script), Deviations::default(), Box::new(NoWorkspace), Timestamp::now(), port);
        Ok(Self { context: ServerContext::new(model), quiet, streamed: Arc::default(), why })
    }

    /// The stream of a session's events; none where these are left to steps. A refusal where there is no such session.
    fn event_stream(&self, session: &str) -> RequestDecision {
        match self.feed(session) {
            Err(refusal) => OutgoingResponse::from(refusal_response(&refusal)).into(),
            Ok(feed) => RequestDecision::Stream(Box::new(EventStreamSubscription {
                session: session.to_owned(),
                feed,
                // What keeps it alive is for steps to send.
                format: StreamFormat { keep_alive: (Duration::MAX, ""), ..StreamFormat::default() },
                latency: None,
                began: Instant::now(),
                why: self.why.clone(),
            })),
        }
    }

    /// The same by a WebSocket.
    fn socket(&self, session: &str, upgrade_headers: Vec<(String, Option<String>)>) -> UpgradeDecision {
        match self.feed(session) {
            Err(refusal) => UpgradeDecision::Refuse(refusal_response(&refusal)),
            Ok(feed) => UpgradeDecision::Follow(Box::new(SocketSubscription {
                context: (!self.quiet).then(|| self.context.clone()),
                session: session.to_owned(),
                feed,
                deviations: Deviations::default(),
                format: SocketFormat::default(),
                latency: None,
                why: self.why.clone(),
                upgrade_headers,
                close_within: None,
                protocol_broken: Arc::default(),
            })),
        }
    }

    fn feed(&self, session: &str) -> Result<Option<Feed>, Refusal> {
        if !self.quiet {
            return self.context.subscribe(session).map(Some);
        }
        // Steps write into the streams of sessions that only they know.
        self.streamed.lock().insert(session.to_owned());
        Ok(None)
    }

    /// Answers a request. A session with a stream is there: a client may ask for it before it subscribes again.
    fn handle(&self, request: EndpointRequest) -> Reply {
        let session = (request.route.endpoint == Endpoint::GetSession).then(|| request.name().to_owned());
        let reply = self.context.handle(request);
        match session.filter(|session| reply.status == 404 && self.streamed.lock().contains(session)) {
            Some(session) => Reply::new(200, idle(&session)),
            None => reply,
        }
    }
}

/// The status of a session that does nothing, as the document shows it.
fn idle(session: &str) -> Value {
    let now = Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string();
    json!({
        "session_id": session, "status": "idle", "profile": "dev", "created_at": now, "last_activity": now,
        "message_count": 0, "token_usage": { "input_tokens": 0, "output_tokens": 0 }, "pending_approval": null,
    })
}

/// Reads a script of a scenario: in the format of a file, whose version need not be given.
fn read(script: &Value) -> Result<Script, String> {
    let mut script = script.clone();
    if let Value::Object(script) = &mut script {
        script.entry("wirecert").or_insert_with(|| 1.into());
    }
    Script::parse(&Source::new("script", script.to_string())).map_err(|wrong| render_all(&wrong, Style::Plain))
}
