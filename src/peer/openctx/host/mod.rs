//! The provider that stands opposite a client.
//!
//! [`OpenctxHost`] performs the verbs of the role `openctx-client`. It listens at one URL, which is known before it
//! serves, and answers requests from its data in the background; those that are left to steps wait for them.

mod carried;
mod desk;
mod steps;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::{TcpListener, TcpSocket};

use crate::peer::{Act, BoxFuture, Peer, Performed, Setting, Trouble};
use crate::protocol::openctx::client_role::TARGET;
use crate::trace::End;
use crate::wire::http::{Exchanges, Limits, Server};

use super::params::{deliberate, read, wrong};

use carried::Sending;
use desk::{Desk, Held};
use steps::{AnswerStep, DropStep, Gone, How, RespondStep, ServeStep, StopStep};

/// How long requests may take to come: longer than any play.
const LONG: Duration = Duration::from_secs(120);

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Plays the provider of a scenario of the role `openctx-client`.
pub struct OpenctxHost {
    setting: Setting,
    exchanges: Exchanges,
    /// Holds the port while nobody listens; why there is none, otherwise.
    place: Result<(TcpSocket, SocketAddr), String>,
    desk: Arc<Desk>,
    server: Option<Server>,
}

impl OpenctxHost {
    /// One that does not serve yet.
    pub fn new(setting: Setting) -> Self {
        let exchanges = Exchanges::new(setting.recorder.clone(), End::Server);
        Self { setting, exchanges, place: bind(0).map_err(|e| e.to_string()), desk: Arc::default(), server: None }
    }

    fn address(&self) -> Result<SocketAddr, Trouble> {
        let place = self.place.as_ref();
        place.map(|(_, address)| *address).map_err(|e| Trouble::Environment(format!("cannot get a port: {e}")))
    }

    async fn serve(&mut self, act: &Act<'_>) -> Result<Performed, Trouble> {
        let step: ServeStep = read(act)?;
        if self.server.is_some() {
            return Err(wrong(act.verb, "the provider serves already; `stop` it first"));
        }
        let address = self.address()?;
        let why = deliberate(act, step.deliberate.as_ref());
        self.desk.open(step.plan(why)?);
        let cannot = |e: std::io::Error| Trouble::Environment(format!("cannot listen on {address}: {e}"));
        let listener = listen(address).map_err(cannot)?;
        let limits = Limits { head_within: LONG, body_within: LONG, ..Limits::default() };
        let server = Server::start(listener, self.desk.clone(), self.exchanges.clone(), limits).map_err(cannot)?;
        self.server = Some(server);
        let bindings = [("port", json!(address.port())), ("url", json!(url(address)))];
        Ok(Performed { bindings: bindings.map(|(name, value)| (name.to_owned(), value)).to_vec() })
    }

    async fn stop(&mut self, act: &Act<'_>) -> Result<Performed, Trouble> {
        let step: StopStep = read(act)?;
        if self.server.is_none() {
            return Err(wrong(act.verb, "the provider does not serve; start it with `serve`"));
        }
        self.end(step.how, act.step).await;
        Ok(Performed::default())
    }

    /// Ends the server, if there is one.
    async fn end(&mut self, how: Gone, why: &str) {
        let Some(server) = self.server.take() else { return };
        match how {
            Gone::Quit => self.desk.finish(self.setting.patience).await,
            Gone::Kill => self.desk.abandon(why),
        }
        server.stop().await;
    }

    /// The request that a step is about, for which the client has some time.
    async fn held(&self, verb: &str, to: Option<&str>) -> Result<Held, Trouble> {
        if self.server.is_none() {
            return Err(wrong(verb, "the provider does not serve; start it with `serve`"));
        }
        let patience = self.setting.patience;
        self.desk.take(to, patience).await.ok_or_else(|| {
            let which = to.map_or("no request".to_owned(), |name| format!("no request `{name}`"));
            Trouble::Subject {
                message: format!("{which} waits for an answer, after {patience:?}"),
                proves: Some("http/client-post".to_owned()),
                expected: Some(json!("a request that waits for its answer")),
                actual: None,
            }
        })
    }

    async fn answer(&mut self, act: &Act<'_>) -> Result<Performed, Trouble> {
        let step: AnswerStep = read(act)?;
        let why = deliberate(act, step.deliberate.as_ref());
        let body = step.body();
        let held = self.held(act.verb, step.to.as_deref()).await?;
        let sending = step.carried.sending(body, Some("application/json"), &held.head, why);
        self.send(held, sending.map_err(|e| wrong(act.verb, e))?).await;
        Ok(Performed::default())
    }

    async fn respond(&mut self, act: &Act<'_>) -> Result<Performed, Trouble> {
        let step = RespondStep::read(act)?;
        let why = deliberate(act, step.deliberate.as_ref());
        // What is wrong with the step is wrong before there is a request.
        step.body().map_err(|e| wrong(act.verb, e))?;
        let held = self.held(act.verb, step.to.as_deref()).await?;
        let sending = step.sending(&held.head, why).map_err(|e| wrong(act.verb, e))?;
        self.send(held, sending).await;
        Ok(Performed::default())
    }

    /// Sends an answer: before the next step, unless that takes its time.
    async fn send(&self, held: Held, sending: Sending) {
        let guard = self.desk.begin();
        let slow = sending.is_slow();
        let sent = async move {
            // Fails only where the client is gone, which is in the trace.
            let _ = sending.send(held.answer).await;
            drop(guard);
        };
        if slow {
            tokio::spawn(sent);
        } else {
            sent.await;
        }
    }

    async fn drop(&mut self, act: &Act<'_>) -> Result<Performed, Trouble> {
        let step: DropStep = read(act)?;
        let held = self.held(act.verb, step.to.as_deref()).await?;
        let why = deliberate(act, step.deliberate.as_ref()).unwrap_or_else(|| act.step.to_owned());
        match step.how {
            How::Eof => held.answer.close(Some(&why)),
            How::Reset => held.answer.reset(Some(&why)),
        }
        Ok(Performed::default())
    }
}

/// A socket that is bound to this port of the loopback address, or to any free one. It does not listen: who connects is
/// refused.
fn bind(port: u16) -> std::io::Result<(TcpSocket, SocketAddr)> {
    let socket = TcpSocket::new_v4()?;
    // So that another socket can listen there while this one holds the port.
    socket.set_reuseaddr(true)?;
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    let address = socket.local_addr()?;
    Ok((socket, address))
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    bind(address.port())?.0.listen(BACKLOG)
}

fn url(address: SocketAddr) -> String {
    format!("http://{address}{TARGET}")
}

impl Peer for OpenctxHost {
    fn perform<'a>(&'a mut self, act: Act<'a>) -> BoxFuture<'a, Result<Performed, Trouble>> {
        Box::pin(async move {
            match act.verb {
                "serve" => self.serve(&act).await,
                "stop" => self.stop(&act).await,
                "answer" => self.answer(&act).await,
                "respond" => self.respond(&act).await,
                "drop" => self.drop(&act).await,
                other => Err(Trouble::Unable(format!("the provider of a play has no verb `{other}`"))),
            }
        })
    }

    fn barrier<'a>(&'a mut self, _: Option<&'a str>, _: Duration) -> BoxFuture<'a, Result<(), Trouble>> {
        Box::pin(async { Err(Trouble::Unable("a provider cannot ask its client anything".to_owned())) })
    }

    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(self.end(Gone::Kill, "the play is over"))
    }

    fn url(&self) -> Option<String> {
        self.place.as_ref().ok().map(|(_, address)| url(*address))
    }
}
