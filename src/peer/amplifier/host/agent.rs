//! What a server does by itself: the model of the mock server, told to the subscriptions of a play.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::diagnostic::{Source, Style, render_all};
use crate::peer::amplifier::server::model::{Ask, Feed, FeedEnd, Model, Refusal, Workspace};
use crate::peer::amplifier::server::quirks::Quirks;
use crate::peer::amplifier::server::script::{Script, example};
use crate::peer::amplifier::server::stage::ServerContext;
use crate::peer::hosting::line;
use crate::protocol::amplifier::Route;
use crate::trace::StreamEvent;
use crate::wire::http::{EventWriter, Response};
use crate::wire::websocket::{FrameSpec, SendOptions};

use super::streams::{Bytes, CutHow, StreamSink};

/// How many events are written at a time.
const AT_ONCE: usize = 256;

/// Actions leave nothing behind: the client under test is not to be found out by files.
struct NoWorkspace;

impl Workspace for NoWorkspace {
    fn append(&self, _: Option<&str>, _: &str, _: &str) -> Result<(), String> {
        Ok(())
    }
}

/// An agent behind a server, and its sessions.
#[derive(Clone)]
pub struct Agent {
    stage: Arc<ServerContext>,
    /// Whether its events are left to steps.
    quiet: bool,
    /// Why what it does is wrong on purpose, if it is.
    why: Option<String>,
}

impl Agent {
    /// One that goes by a script, or by the example of the mock server where there is none.
    ///
    /// # Errors
    /// What is wrong with the script, for the scenario's author.
    pub fn new(script: Option<&Value>, port: u16, quiet: bool, why: Option<String>) -> Result<Self, String> {
        let script = match script {
            None => example().clone(),
            Some(script) => read(script)?,
        };
        let model = Model::new(Arc::new(script), Quirks::default(), Box::new(NoWorkspace), Timestamp::now(), port);
        Ok(Self { stage: ServerContext::new(model), quiet, why })
    }

    /// Why what it does is wrong on purpose, if it is.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// The answer to a request.
    pub fn answer(&self, route: Option<Route>, body: &[u8]) -> Response {
        let (status, body) = match route {
            Some(route) => {
                let reply = self.stage.ask(Ask::read(route, body));
                (reply.status, reply.body)
            }
            None => (404, Refusal::invalid("there is no such endpoint").body()),
        };
        Response::new(line(status)).json(&body).deliberate(self.why.as_deref())
    }

    /// The head of the stream of a session, and its events; none where these are left to steps. A refusal where there
    /// is no such session.
    pub fn subscribe(&self, session: &str) -> Result<Option<Feed>, Response> {
        // Steps write into the streams of sessions that only they know.
        if self.quiet {
            return Ok(None);
        }
        let refused = |refusal: Refusal| Response::new(line(refusal.status)).json(&refusal.body());
        self.stage.subscribe(session).map(Some).map_err(refused)
    }

    /// Does what a message over a WebSocket says; what went wrong is told to its sender.
    pub async fn control(&self, session: &str, message: &str, outlet: &StreamSink) {
        if self.quiet {
            return;
        }
        if let Err(refusal) = self.stage.control(session, message) {
            outlet
                .frame(&FrameSpec::text(refusal.body().to_string()), &SendOptions::deliberate(self.why.as_deref()))
                .await;
        }
    }

    /// Tells a subscriber what happens in its session, to the end.
    pub async fn tell(&self, mut feed: Feed, outlet: &StreamSink) {
        let why = self.why.as_deref();
        loop {
            match feed.next(AT_ONCE).await {
                Ok(told) if outlet.is_socket() => {
                    for one in told {
                        outlet.frame(&FrameSpec::text(one.json.clone()), &SendOptions::deliberate(why)).await;
                    }
                }
                Ok(told) => {
                    let events = told.iter().map(|one| EventWriter::default().write(&StreamEvent::data(&*one.json)));
                    let bytes = events.collect::<Vec<_>>().concat();
                    outlet.write(Bytes { bytes, ..Bytes::default() }, why).await;
                }
                Err(FeedEnd::Over | FeedEnd::Slow | FeedEnd::Cut { reset: false }) => {
                    return outlet.end(CutHow::End, why).await;
                }
                Err(FeedEnd::Cut { reset: true }) => return outlet.end(CutHow::Reset, why).await,
            }
        }
    }
}

/// A script that stands in a scenario: in the format of a file, whose version need not be said.
fn read(script: &Value) -> Result<Script, String> {
    let mut script = script.clone();
    if let Value::Object(script) = &mut script {
        script.entry("wirecert").or_insert_with(|| 1.into());
    }
    Script::parse(&Source::new("script", script.to_string())).map_err(|wrong| render_all(&wrong, Style::Plain))
}
