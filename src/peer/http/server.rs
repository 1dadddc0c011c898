//! Servers over HTTP: one that the steps of a scenario steer ([`StepServer`]), which start and stop it and say what becomes of requests
//! that wait for them; and one that runs as a mock ([`MockServer`]), with its end and the events that others can wait for
//! ([`MockLifecycle`]).

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{Mutex, broadcast, watch};

use crate::peer::params::{deliberate, wrong};
use crate::peer::{Ended, MockError, MockEvent, PeerError, Performed, Setting, VerbCall};
use crate::protocol::http::verbs::{DropUnanswered, Respond};
use crate::protocol::words::{StopMode, StreamEnd};
use crate::trace::{End, HttpRequest, Recorder};
use crate::wire::http::{Exchanges, Handler, Limits, Server};
use crate::wire::tcp::{self, BACKLOG};

use super::{Decision, OutgoingResponse, PendingRequest, PendingRequests};

/// How long requests may take to come: longer than any play.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// What handles the requests of such a server: some by itself, others wait for steps.
pub trait StepHandler: Handler {
    /// A request that waits.
    type Pending: Pending;
    /// What the server is called in messages.
    const NAME: &'static str;
    /// The path of its URL.
    const PATH: &'static str;
    /// The requirement that a client breaks which makes no request.
    const PROVES: &'static str;

    /// The requests that wait for steps, over all restarts.
    fn waiting(&self) -> &PendingRequests<Self::Pending>;

    /// Ends the streams that are open, since the server ends: each has so long. `why` is the reason where they are cut.
    fn end_streams(&self, _how: StopMode, _why: &str, _within: Duration) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// A request that waits for a step.
pub trait Pending: Sized + Send + 'static {
    /// The head of the request.
    fn head(&self) -> HttpRequest;

    /// The request as one that others may repeat; none where repeats of it are not recognised.
    fn repeatable(&self) -> Option<&PendingRequest>;

    /// Sends a response: before the next step, unless that takes its time.
    fn send(self, waiting: &PendingRequests<Self>, response: OutgoingResponse) -> impl Future<Output = ()> + Send;

    /// Ends its connection without a response; `why` says why that is wrong on purpose.
    fn hang_up(self, how: StreamEnd, why: &str) -> impl Future<Output = ()> + Send;
}

impl Pending for PendingRequest {
    fn head(&self) -> HttpRequest {
        self.head.clone()
    }

    fn repeatable(&self) -> Option<&PendingRequest> {
        Some(self)
    }

    async fn send(self, waiting: &PendingRequests<Self>, response: OutgoingResponse) {
        waiting.send(self, response).await;
    }

    async fn hang_up(self, how: StreamEnd, why: &str) {
        Decision::HangUp(how, Some(why.to_owned())).carry_out(self.responder).await;
    }
}

/// A server at one URL, which is known before it serves, and stays the same over restarts.
pub struct StepServer<H> {
    /// Where it is played.
    pub setting: Setting,
    /// What handles its requests.
    pub handler: Arc<H>,
    exchanges: Exchanges,
    port: Port,
    running: Option<Server>,
}

impl<H: StepHandler> StepServer<H> {
    /// A server that does not serve yet.
    pub fn new(setting: Setting, handler: H) -> Self {
        let exchanges = Exchanges::new(setting.recorder.clone(), End::Server);
        Self { setting, handler: Arc::new(handler), exchanges, port: Port::hold(), running: None }
    }

    /// Where it is, or will be once it serves.
    ///
    /// # Errors
    /// That there was no port to be had.
    pub fn address(&self) -> Result<SocketAddr, PeerError> {
        self.port.address()
    }

    /// Its URL; none where there was no port to be had.
    pub fn url(&self) -> Option<String> {
        self.address().ok().map(Self::url_at)
    }

    fn url_at(address: SocketAddr) -> String {
        format!("http://{address}{}", H::PATH)
    }

    /// That it serves.
    ///
    /// # Errors
    /// A fault of the scenario where it does not.
    pub fn check_running(&self, verb: &str) -> Result<(), PeerError> {
        match self.running {
            Some(_) => Ok(()),
            None => Err(wrong(verb, format!("the {} does not serve; start it with `serve`", H::NAME))),
        }
    }

    /// That it does not serve.
    ///
    /// # Errors
    /// A fault of the scenario where it does.
    pub fn check_stopped(&self, verb: &str) -> Result<(), PeerError> {
        match self.running {
            None => Ok(()),
            Some(_) => Err(wrong(verb, format!("the {} serves already; `stop` it first", H::NAME))),
        }
    }

    /// Starts it. Gives its port and URL.
    ///
    /// # Errors
    /// That the machine is in the way.
    pub fn start(&mut self) -> Result<Performed, PeerError> {
        let address = self.address()?;
        let cannot = |e: std::io::Error| PeerError::Environment(format!("cannot listen on {address}: {e}"));
        let limits = Limits { head_within: REQUEST_TIMEOUT, body_within: REQUEST_TIMEOUT, ..Limits::default() };
        let listener = self.port.listen()?;
        let server = Server::start(listener, self.handler.clone(), self.exchanges.clone(), limits).map_err(cannot)?;
        self.running = Some(server);
        let bindings = [("port", json!(address.port())), ("url", json!(Self::url_at(address)))];
        Ok(Performed { bindings: bindings.map(|(name, value)| (name.to_owned(), value)).to_vec() })
    }

    /// Stops it: the step `stop`.
    pub async fn stop(&mut self, call: &VerbCall<'_>, how: StopMode) -> Result<Performed, PeerError> {
        self.check_running(call.verb)?;
        self.end(how, call.step).await;
        Ok(Performed::default())
    }

    /// Ends it, if it serves.
    pub async fn end(&mut self, how: StopMode, why: &str) {
        let Some(server) = self.running.take() else { return };
        let patience = self.setting.patience;
        let waiting = self.handler.waiting();
        // First, so that a client that comes back at once does not find what is about to end.
        server.close();
        match how {
            StopMode::Quit => {
                // Dropped without a response, connections are closed.
                drop(waiting.take_all());
                self.handler.end_streams(how, why, patience).await;
                waiting.settle(patience).await;
            }
            StopMode::Kill => {
                for pending in waiting.take_all() {
                    pending.hang_up(StreamEnd::Reset, why).await;
                }
                self.handler.end_streams(how, why, patience).await;
            }
        }
        server.stop().await;
    }

    /// The request that a step is about, for which the client has some time.
    ///
    /// # Errors
    /// [`PeerError::Subject`] where it does not come.
    pub async fn pending_request(&self, verb: &str, to: Option<&str>) -> Result<H::Pending, PeerError> {
        self.check_running(verb)?;
        let patience = self.setting.patience;
        self.handler.waiting().take(to, patience).await.ok_or_else(|| {
            let which = to.map_or("no request".to_owned(), |name| format!("no request `{name}`"));
            PeerError::Subject {
                message: format!("{which} waits for a response, after {patience:?}"),
                proves: Some(H::PROVES.to_owned()),
                expected: Some(json!("a request that waits for its response")),
                actual: None,
            }
        })
    }

    /// Responds as the step `respond` says; `prepare` completes it by what the request is.
    pub async fn respond(
        &self,
        call: &VerbCall<'_>,
        mut step: Respond,
        prepare: impl FnOnce(&mut Respond, &H::Pending),
    ) -> Result<Performed, PeerError> {
        let why = deliberate(call, step.deliberate.as_ref());
        step.check().map_err(|e| wrong(call.verb, e))?;
        let pending = self.pending_request(call.verb, step.to.exchange.as_deref()).await?;
        prepare(&mut step, &pending);
        let response = step.sending(&pending.head(), why).map_err(|e| wrong(call.verb, e))?;
        self.send(pending, response, step.to.repeats).await;
        Ok(Performed::default())
    }

    /// Sends a response; `repeats` says whether requests that repeat this one get the same.
    pub async fn send(&self, pending: H::Pending, response: OutgoingResponse, repeats: bool) {
        self.note_repeats(&pending, repeats, || Decision::Respond(Box::new(response.clone())));
        pending.send(self.handler.waiting(), response).await;
    }

    /// Ends the connection of a request without a response: the step `drop`.
    pub async fn drop(&self, call: &VerbCall<'_>, step: DropUnanswered) -> Result<Performed, PeerError> {
        let pending = self.pending_request(call.verb, step.to.exchange.as_deref()).await?;
        let why = deliberate(call, step.deliberate.as_ref()).unwrap_or_else(|| call.step.to_owned());
        self.note_repeats(&pending, step.to.repeats, || Decision::HangUp(step.how, Some(why.clone())));
        pending.hang_up(step.how, &why).await;
        Ok(Performed::default())
    }

    fn note_repeats(&self, pending: &H::Pending, repeats: bool, decision: impl FnOnce() -> Decision) {
        if let Some(request) = pending.repeatable().filter(|_| repeats) {
            self.handler.waiting().decide_repeats(request, decision(), &self.setting.recorder);
        }
    }
}

/// A port of the loopback address. While nobody listens there, who connects is refused.
struct Port(Result<(TcpSocket, SocketAddr), String>);

impl Port {
    /// Any port that is free.
    fn hold() -> Self {
        Self(bind(0).map_err(|e| e.to_string()))
    }

    /// The address of the port.
    ///
    /// # Errors
    /// That there was no port to be had.
    fn address(&self) -> Result<SocketAddr, PeerError> {
        let held = self.0.as_ref();
        held.map(|(_, address)| *address).map_err(|e| PeerError::Environment(format!("cannot get a port: {e}")))
    }

    /// Listens there.
    ///
    /// # Errors
    /// That the machine is in the way.
    fn listen(&self) -> Result<TcpListener, PeerError> {
        let address = self.address()?;
        let listener = bind(address.port()).and_then(|(socket, _)| socket.listen(BACKLOG));
        listener.map_err(|e| PeerError::Environment(format!("cannot listen on {address}: {e}")))
    }
}

/// A socket that is bound to this port of the loopback address, or to any free one. It does not listen.
fn bind(port: u16) -> std::io::Result<(TcpSocket, SocketAddr)> {
    let socket = TcpSocket::new_v4()?;
    // So that another socket can listen there while this one holds the port.
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    let address = socket.local_addr()?;
    Ok((socket, address))
}

/// The number of events that wait for a reader.
const MAX_EVENTS: usize = 1024;

/// A server that serves from its start to its end.
pub struct MockServer<H> {
    /// What handles its requests.
    pub handler: Arc<H>,
    address: SocketAddr,
    running: Mutex<Option<Server>>,
}

/// Listens on a port of the loopback address; on any free one where none is named.
///
/// # Errors
/// That the machine is in the way.
pub fn listen(port: Option<u16>) -> Result<(TcpListener, SocketAddr), MockError> {
    let listener = tcp::listen((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).map_err(|source| {
        let port = port.map_or("any port".to_owned(), |port| format!("port {port}"));
        MockError::System { doing: format!("listen on {port} of the loopback address"), source }
    })?;
    let address = listener.local_addr().map_err(no_address)?;
    Ok((listener, address))
}

fn no_address(source: std::io::Error) -> MockError {
    MockError::System { doing: "learn where it listens".to_owned(), source }
}

impl<H: Handler> MockServer<H> {
    /// Starts it.
    ///
    /// # Errors
    /// That the machine is in the way.
    pub fn start(
        (listener, address): (TcpListener, SocketAddr),
        handler: H,
        recorder: Recorder,
        limits: Limits,
    ) -> Result<Self, MockError> {
        let handler = Arc::new(handler);
        let exchanges = Exchanges::new(recorder, End::Server);
        let server = Server::start(listener, handler.clone(), exchanges, limits).map_err(no_address)?;
        Ok(Self { handler, address, running: Mutex::new(Some(server)) })
    }

    /// Where it is, for whoever waits for it.
    pub fn ready(&self, role: &str, edition: &str) -> Value {
        json!({
            "role": role,
            "edition": edition,
            "port": self.address.port(),
            "url": format!("http://{}/", self.address),
            "pid": std::process::id(),
        })
    }

    /// Stops it: accepts nothing new, waits for what `finish` does, and closes what is open. May be called again.
    pub async fn stop(&self, finish: impl Future<Output = ()>) {
        let Some(server) = self.running.lock().await.take() else { return };
        server.close();
        finish.await;
        server.stop().await;
    }
}

/// How a mock ends, and what clients do at it.
pub struct MockLifecycle {
    ended: watch::Sender<Option<Ended>>,
    events: broadcast::Sender<MockEvent>,
}

impl Default for MockLifecycle {
    fn default() -> Self {
        Self { ended: watch::Sender::new(None), events: broadcast::channel(MAX_EVENTS).0 }
    }
}

impl MockLifecycle {
    /// Ends the mock. The first end counts.
    pub fn end(&self, how: Ended) {
        self.ended.send_if_modified(|ended| ended.is_none() && ended.replace(how).is_none());
    }

    /// Ends it as a crash does: whoever waits for a response keeps its connection until the process is gone.
    pub async fn die(&self) -> ! {
        self.end(Ended::Died);
        std::future::pending().await
    }

    /// Returns once it is to serve no more.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.subscribe();
        // The sender lives as long as we do.
        ended.wait_for(Option::is_some).await.ok().and_then(|ended| *ended).unwrap_or(Ended::Quit)
    }

    /// The events of clients from now on.
    pub fn events(&self) -> broadcast::Receiver<MockEvent> {
        self.events.subscribe()
    }

    /// Reports an event.
    pub fn report(&self, event: MockEvent) {
        // An error means that nobody wants to know.
        let _ = self.events.send(event);
    }
}
