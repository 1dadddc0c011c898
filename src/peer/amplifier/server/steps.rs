//! The server that stands opposite a client, steered by the steps of a scenario of the role `amplifier-client`.
//!
//! [`AmplifierServerSteps`] performs the verbs. An agent that goes by a script answers requests in the background; requests that are left to
//! steps wait for them. Steps write into the subscriptions that are open.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;

use crate::peer::http::server::{Pending as _, StepServer};
use crate::peer::params::{deliberate, headers, read, wrong};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, VerbCall};
use crate::protocol::amplifier::verbs::{Answer, Cut, CutHow, Event, OpenStream, Serve, ServerVerb, Stream};
use crate::protocol::http::verbs::{Respond, Status};
use crate::protocol::words::{ResponsePolicy, StopMode};
use crate::wire::websocket::SendOptions;

use super::open_subscriptions::OpenSubscription;
use super::step_steering::{ResponsePlan, StepAgent, StepSteering};
use super::{AmplifierServer, PendingExchange};

mod content;
#[cfg(test)]
mod tests;

/// Plays the server of a scenario of the role `amplifier-client`.
pub struct AmplifierServerSteps {
    server: StepServer<AmplifierServer<StepSteering>>,
}

impl AmplifierServerSteps {
    /// A server that does not serve yet.
    pub fn new(setting: Setting) -> Self {
        Self { server: StepServer::new(setting, AmplifierServer::new(StepSteering::default())) }
    }

    fn steering(&self) -> &StepSteering {
        &self.server.handler.steering
    }

    fn serve(&mut self, call: &VerbCall<'_>, step: Serve) -> Result<Performed, PeerError> {
        self.server.check_stopped(call.verb)?;
        let port = self.server.address()?.port();
        let why = deliberate(call, step.deliberate.as_ref());
        let agent = StepAgent::new(step.script.as_ref(), port, step.quiet, why).map_err(|e| wrong(call.verb, e))?;
        let silent = step.answers == ResponsePolicy::None;
        let upgrade_headers = headers(&step.upgrade_headers);
        let (withheld, refuses) = (step.withholds, step.refuses);
        let plan = ResponsePlan { agent: Some(agent), silent, withheld, refuses, upgrade_headers };
        self.steering().set_plan(plan);
        self.server.start()
    }

    /// The subscription that a step is about, for which the client has some time.
    async fn stream_of(&self, verb: &str, of: Option<&OpenStream>) -> Result<OpenSubscription, PeerError> {
        self.server.check_running(verb)?;
        let of = of.map(|OpenStream(exchange)| exchange.as_str());
        let patience = self.server.setting.patience;
        self.steering().streams.find(of, patience).await.ok_or_else(|| {
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
        let pending = self.server.pending_request(call.verb, step.to.exchange.as_deref()).await?;
        let (delivery, body) = step.delivery(pending.endpoint());
        let response = delivery.sending(body, Some("application/json"), &pending.head(), why);
        self.server.send(pending, response, step.to.repeats).await;
        Ok(Performed::default())
    }

    async fn respond(&mut self, call: &VerbCall<'_>, step: Respond) -> Result<Performed, PeerError> {
        let with_status = |step: &mut Respond, pending: &PendingExchange| {
            step.delivery.status.get_or_insert(Status::Code(content::success(pending.endpoint())));
        };
        self.server.respond(call, step, with_status).await
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
        let _ = timeout(self.server.setting.patience, sink.write(bytes, why.as_deref())).await;
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

impl Peer for AmplifierServerSteps {
    fn perform<'a>(&'a mut self, call: VerbCall<'a>) -> BoxFuture<'a, Result<Performed, PeerError>> {
        Box::pin(async move {
            match read(&call)? {
                ServerVerb::Serve(step) => self.serve(&call, step),
                ServerVerb::Stop(step) => self.server.stop(&call, step.how).await,
                ServerVerb::Event(step) => self.event(&call, *step).await,
                ServerVerb::Stream(step) => self.stream(&call, *step).await,
                ServerVerb::Cut(step) => self.cut(&call, step).await,
                ServerVerb::Answer(step) => self.answer(&call, *step).await,
                ServerVerb::Respond(step) => self.respond(&call, *step).await,
                ServerVerb::Drop(step) => self.server.drop(&call, step).await,
            }
        })
    }

    fn barrier<'a>(&'a mut self, _: Option<&'a str>, _: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(async { Err(PeerError::Unable("a server cannot ask its client anything".to_owned())) })
    }

    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(self.server.end(StopMode::Kill, "the play is over"))
    }

    fn url(&self) -> Option<String> {
        self.server.url()
    }

    #[cfg(test)]
    fn deviations(&self) -> Vec<&'static str> {
        self.steering().deviations()
    }
}
