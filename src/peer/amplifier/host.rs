//! The server that plays opposite a client.
//!
//! [`AmplifierHost`] performs the verbs of the role `amplifier-client`. It listens at one URL, which is known before it
//! serves. An agent that goes by a script answers requests in the background; requests that are left to steps wait in
//! the queue for them. Steps write into the subscriptions that are open.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;

use crate::peer::http::{OutgoingResponse, Port, Treatment};
use crate::peer::params::{deliberate, read, wrong};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, VerbCall};
use crate::protocol::amplifier::verbs::{Answer, Cut, CutHow, Event, OpenStream, Serve, ServerVerb, Stream};
use crate::protocol::http::verbs::{DropUnanswered, Respond, Status};
use crate::protocol::words::{self, StopMode, StreamEnd};
use crate::trace::End;
use crate::wire::http::{Exchanges, Limits, Server};
use crate::wire::websocket::SendOptions;

use self::request_queue::{HostAgent, PendingExchange, RequestQueue, ResponsePolicy};
use self::streams::OpenSubscription;

mod request_queue;
mod streams;
#[cfg(test)]
mod tests;

/// How long requests may take to come: longer than any play.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// Plays the server of a scenario of the role `amplifier-client`.
pub struct AmplifierHost {
    pub(super) setting: Setting,
    exchanges: Exchanges,
    port: Port,
    queue: Arc<RequestQueue>,
    server: Option<Server>,
}

impl AmplifierHost {
    /// A server that does not listen yet.
    pub fn new(setting: Setting) -> Self {
        let exchanges = Exchanges::new(setting.recorder.clone(), End::Server);
        Self { setting, exchanges, port: Port::hold(), queue: Arc::default(), server: None }
    }

    async fn serve(&mut self, call: &VerbCall<'_>, step: Serve) -> Result<Performed, PeerError> {
        if self.server.is_some() {
            return Err(wrong(call.verb, "the server serves already; `stop` it first"));
        }
        let address = self.port.address()?;
        let why = deliberate(call, step.deliberate.as_ref());
        let agent =
            HostAgent::new(step.script.as_ref(), address.port(), step.quiet, why).map_err(|e| wrong(call.verb, e))?;
        let silent = step.answers == words::ResponsePolicy::None;
        self.queue.open(ResponsePolicy { agent: Some(agent), silent, withheld: step.withholds, refuses: step.refuses });
        let cannot = |e: std::io::Error| PeerError::Environment(format!("cannot listen on {address}: {e}"));
        let limits = Limits { head_within: REQUEST_TIMEOUT, body_within: REQUEST_TIMEOUT, ..Limits::default() };
        let listener = self.port.listen()?;
        let server = Server::start(listener, self.queue.clone(), self.exchanges.clone(), limits).map_err(cannot)?;
        self.server = Some(server);
        let bindings = [("port", json!(address.port())), ("url", json!(url(address)))];
        Ok(Performed { bindings: bindings.map(|(name, value)| (name.to_owned(), value)).to_vec() })
    }

    async fn stop(&mut self, call: &VerbCall<'_>, how: StopMode) -> Result<Performed, PeerError> {
        self.serving(call.verb)?;
        self.end(how, call.step).await;
        Ok(Performed::default())
    }

    fn serving(&self, verb: &str) -> Result<(), PeerError> {
        match self.server {
            Some(_) => Ok(()),
            None => Err(wrong(verb, "the server does not serve; start it with `serve`")),
        }
    }

    /// Ends the server, if there is one.
    async fn end(&mut self, how: StopMode, why: &str) {
        let Some(server) = self.server.take() else { return };
        let patience = self.setting.patience;
        // First, so that a client that comes back at once does not find what is about to end.
        server.close();
        match how {
            StopMode::Quit => {
                // Dropped without a response, connections are closed.
                drop(self.queue.waiting.take_all());
                self.queue.streams.end_all(CutHow::End, None, patience).await;
                self.queue.waiting.settle(patience).await;
            }
            StopMode::Kill => {
                for pending in self.queue.waiting.take_all() {
                    pending.drop(StreamEnd::Reset, why).await;
                }
                self.queue.streams.end_all(CutHow::Reset, Some(why), patience).await;
            }
        }
        server.stop().await;
    }

    /// The request that a step is about, for which the client has some time.
    async fn pending_request(&self, verb: &str, to: Option<&str>) -> Result<PendingExchange, PeerError> {
        self.serving(verb)?;
        let patience = self.setting.patience;
        self.queue.waiting.take(to, patience).await.ok_or_else(|| {
            let which = to.map_or("no request".to_owned(), |name| format!("no request `{name}`"));
            PeerError::Subject {
                message: format!("{which} waits for an answer, after {patience:?}"),
                proves: Some("http/client-endpoint".to_owned()),
                expected: Some(json!("a request that waits for its answer")),
                actual: None,
            }
        })
    }

    /// The subscription that a step is about, for which the client has some time.
    async fn stream_of(&self, verb: &str, of: Option<&OpenStream>) -> Result<OpenSubscription, PeerError> {
        self.serving(verb)?;
        let of = of.map(|OpenStream(exchange)| exchange.as_str());
        let patience = self.setting.patience;
        self.queue.streams.find(of, patience).await.ok_or_else(|| {
            let which = of.map_or("no subscription".to_owned(), |name| format!("no subscription `{name}`"));
            PeerError::Subject {
                message: format!("{which} is open, after {patience:?}"),
                proves: Some("stream/client-accept".to_owned()),
                expected: Some(json!("a subscription")),
                actual: None,
            }
        })
    }

    async fn answer(&mut self, call: &VerbCall<'_>, step: Answer) -> Result<Performed, PeerError> {
        let why = deliberate(call, step.deliberate.as_ref());
        let pending = self.pending_request(call.verb, step.to.exchange.as_deref()).await?;
        let (delivery, body) = step.delivery(pending.endpoint());
        let sending = delivery.sending(body, Some("application/json"), &pending.head(), why);
        self.send(pending, sending, step.to.repeats).await;
        Ok(Performed::default())
    }

    async fn respond(&mut self, call: &VerbCall<'_>, mut step: Respond) -> Result<Performed, PeerError> {
        let why = deliberate(call, step.deliberate.as_ref());
        step.check().map_err(|e| wrong(call.verb, e))?;
        let pending = self.pending_request(call.verb, step.to.exchange.as_deref()).await?;
        step.delivery.status.get_or_insert(Status::Code(streams::success(pending.endpoint())));
        let sending = step.sending(&pending.head(), why).map_err(|e| wrong(call.verb, e))?;
        self.send(pending, sending, step.to.repeats).await;
        Ok(Performed::default())
    }

    async fn send(&self, pending: PendingExchange, sending: OutgoingResponse, repeats: bool) {
        if let (true, PendingExchange::Plain(request, _)) = (repeats, &pending) {
            self.queue.waiting.treat_repeats(request, Treatment::Answer(sending.clone()), &self.setting.recorder);
        }
        self.queue.send(pending, sending).await;
    }

    async fn drop(&mut self, call: &VerbCall<'_>, step: DropUnanswered) -> Result<Performed, PeerError> {
        let pending = self.pending_request(call.verb, step.to.exchange.as_deref()).await?;
        let why = deliberate(call, step.deliberate.as_ref()).unwrap_or_else(|| call.step.to_owned());
        if let (true, PendingExchange::Plain(request, _)) = (step.to.repeats, &pending) {
            let treatment = Treatment::HangUp(step.how, why.clone());
            self.queue.waiting.treat_repeats(request, treatment, &self.setting.recorder);
        }
        pending.drop(step.how, &why).await;
        Ok(Performed::default())
    }

    async fn event(&mut self, call: &VerbCall<'_>, step: Event) -> Result<Performed, PeerError> {
        let why = deliberate(call, step.deliberate.as_ref());
        let stream = self.stream_of(call.verb, step.of.as_ref()).await?;
        let sink = &stream.sink;
        if sink.is_socket() {
            if step.is_for_streams() {
                return Err(wrong(call.verb, "a WebSocket has no types, ids, line ends and the like"));
            }
            let options = SendOptions { deliberate: why, split: step.split(), cut: None };
            let (frames, times) = step.frames(&stream.session);
            for _ in 0..times {
                for frame in &frames {
                    sink.frame(frame, &options).await;
                }
            }
            return Ok(Performed::default());
        }
        for piece in step.pieces(&stream.session) {
            sink.write(piece, why.as_deref()).await;
        }
        Ok(Performed::default())
    }

    async fn stream(&mut self, call: &VerbCall<'_>, step: Stream) -> Result<Performed, PeerError> {
        let why = deliberate(call, step.deliberate.as_ref());
        let stream = self.stream_of(call.verb, step.of.as_ref()).await?;
        let sink = &stream.sink;
        if sink.is_socket() {
            let frame = step.frame().map_err(|e| wrong(call.verb, e))?;
            let split = step.split.map(|split| split.0);
            sink.frame(&frame, &SendOptions { deliberate: why, split, cut: None }).await;
            return Ok(Performed::default());
        }
        let bytes = step.bytes().map_err(|e| wrong(call.verb, e))?;
        // A client that does not read holds up nobody else.
        let _ = timeout(self.setting.patience, sink.write(bytes, why.as_deref())).await;
        Ok(Performed::default())
    }

    async fn cut(&mut self, call: &VerbCall<'_>, step: Cut) -> Result<Performed, PeerError> {
        let why = deliberate(call, step.deliberate.as_ref());
        // A stream that does not end as its protocol has it is wrong on purpose, said or not.
        let why = why.or_else(|| (step.how != CutHow::End).then(|| call.step.to_owned()));
        let stream = self.stream_of(call.verb, step.of.as_ref()).await?;
        stream.sink.end(step.how, why.as_deref()).await;
        Ok(Performed::default())
    }
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}

impl Peer for AmplifierHost {
    fn perform<'a>(&'a mut self, call: VerbCall<'a>) -> BoxFuture<'a, Result<Performed, PeerError>> {
        Box::pin(async move {
            match read(&call)? {
                ServerVerb::Serve(step) => self.serve(&call, step).await,
                ServerVerb::Stop(step) => self.stop(&call, step.how).await,
                ServerVerb::Event(step) => self.event(&call, *step).await,
                ServerVerb::Stream(step) => self.stream(&call, *step).await,
                ServerVerb::Cut(step) => self.cut(&call, step).await,
                ServerVerb::Answer(step) => self.answer(&call, *step).await,
                ServerVerb::Respond(step) => self.respond(&call, *step).await,
                ServerVerb::Drop(step) => self.drop(&call, step).await,
            }
        })
    }

    fn barrier<'a>(&'a mut self, _: Option<&'a str>, _: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(async { Err(PeerError::Unable("a server cannot ask its client anything".to_owned())) })
    }

    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(self.end(StopMode::Kill, "the play is over"))
    }

    fn url(&self) -> Option<String> {
        self.port.address().ok().map(url)
    }
}
