//! The Amplifier client: what stands opposite a server.
//!
//! [`AmplifierClient`] performs the verbs of the role `amplifier-server`. Each request is an exchange of its own, and so is
//! each event stream; what comes back writes the trace by itself. Of events only the approvals are looked at here, so
//! that decisions can be taken about them.

mod approvals;
mod call;
mod progress;
mod request;
mod sockets;
#[cfg(test)]
mod tests;
mod tidy;
mod usual;

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::peer::asking::{HttpStep, OutgoingRequest, Proves, RequestSender, Resend, Watch, address};
use crate::peer::http_url::HttpUrl;
use crate::peer::params::{deliberate, headers, read, wrong};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, VerbCall};
use crate::trace::read_json;
use crate::wire::Limits;
use crate::wire::http::{Incoming, Request};
use crate::wire::websocket::{self, ClientRequest, FrameSpec};

use approvals::Approvals;
use progress::{AwaitStep, Progress};
use request::{Key, RequestStep, below, prompt};
use sockets::{ControlStep, Line};
use tidy::Created;
use usual::{Refusal, Usual};

pub use call::{call, detect};

/// What a server breaks that does not do the first things.
const PROVES: Proves = Proves { reached: "health/status", answered: "http/answered", announced: "http/keep-alive" };

/// Why a WebSocket is left that nobody needs any more.
const OVER: &str = "the play is over";

/// A client of the role `amplifier-server`.
pub struct AmplifierClient {
    setting: Setting,
    sender: RequestSender,
    approvals: Approvals,
    progress: Progress,
    created: Created,
    /// The labels of requests for sessions whose answers may not have been seen yet.
    creating: Vec<String>,
    /// The profile of new sessions, once it was chosen.
    profile: Option<String>,
    /// What the server has granted already.
    granted: Vec<Usual>,
    /// Whether a session was created with another key than the good one.
    odd_key: bool,
    /// The WebSockets, by their labels.
    lines: HashMap<String, Line>,
}

/// The step `subscribe`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubscribeStep {
    #[serde(rename = "as")]
    label: Option<String>,
    #[serde(default)]
    session_id: String,
    created_by: Option<String>,
    #[serde(default)]
    transport: Transport,
    #[serde(default)]
    headers: Map<String, Value>,
    read: Option<bool>,
    deliberate: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Transport {
    #[default]
    Sse,
    Ws,
}

/// The step `unsubscribe`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnsubscribeStep {
    of: String,
    #[serde(default)]
    how: Leaving,
    deliberate: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Leaving {
    #[default]
    Close,
    Eof,
    Reset,
}

impl AmplifierClient {
    /// A client that has sent nothing yet.
    pub fn new(setting: Setting) -> Self {
        let sender = RequestSender::new(&setting, PROVES);
        Self {
            setting,
            sender,
            approvals: Approvals::default(),
            progress: Progress::default(),
            created: Created::default(),
            creating: vec![],
            profile: None,
            granted: vec![],
            odd_key: false,
            lines: HashMap::new(),
        }
    }

    fn url(&self) -> Result<HttpUrl, PeerError> {
        address(&self.setting)
    }

    async fn request(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let mut step: RequestStep = read(act)?;
        let why = deliberate(act, step.deliberate.as_ref());
        let url = self.url()?;
        if let Some(by) = &step.created_by {
            let Some(id) = self.created_by(act.verb, by).await? else { return Ok(unsent(step.label)) };
            step.params.insert("session_id".to_owned(), id.into());
        }
        let mut filled = self.filled(step.provokes.as_deref(), step.decides.as_deref(), step.session()).await?;
        if step.endpoint == "createSession" {
            self.odd_key |= step.key != Key::Good;
            self.creating.extend(step.label.clone());
            filled.insert("profile".to_owned(), self.profile(step.says("profile")).await.into());
        }
        let request = step.request(&url, &self.setting, filled, why)?;
        let times = step.repeat.unwrap_or(1);
        let usual = Usual::of(&step, &self.setting.described, self.odd_key);
        let usual = usual.filter(|usual| !self.granted.contains(usual));
        let refusal = Refusal::default();
        let mut performed = Performed::default();
        for _ in 0..times {
            let sending = OutgoingRequest {
                over: step.over.clone(),
                read: step.read.unwrap_or(true),
                again: Some((HttpUrl { target: request.target.clone(), ..url.clone() }, moved(&request))),
                watch: Some(refusal.watch(self.created.watch(step.label.clone()))),
                ..OutgoingRequest::new(step.label.clone(), request.clone())
            };
            performed = self.sender.send(act.verb, &url.address, sending).await?;
        }
        // An answer that does not come is for the steps that follow.
        if let (Some(usual), Some(label)) = (usual, &step.label)
            && self.sender.over(act.verb, label).await.is_ok()
        {
            if let Some(lacks) = refusal.lacks(usual, &self.setting.described) {
                return Err(PeerError::Lacking(lacks));
            }
            self.granted.push(usual);
        }
        Ok(performed)
    }

    /// The profile of new sessions: the one that is described, else one that the server lists. It is not looked for where the
    /// step says one itself.
    async fn profile(&mut self, said: bool) -> String {
        if let Some(good) = self.setting.described.text("profiles.good") {
            return good.to_owned();
        }
        if self.profile.is_none() && !said {
            self.profile = Some(usual::profile(&self.setting).await);
        }
        self.profile.clone().unwrap_or_default()
    }

    /// The session that a request created, if it did.
    async fn created_by(&self, verb: &str, label: &str) -> Result<Option<String>, PeerError> {
        self.sender.over(verb, label).await?;
        Ok(self.created.by(label))
    }

    /// What a step leaves to be filled in: the prompt that provokes something, or a decision.
    async fn filled(
        &self,
        provokes: Option<&str>,
        decides: Option<&str>,
        session: &str,
    ) -> Result<Map<String, Value>, PeerError> {
        let mut filled = Map::new();
        if let Some(what) = provokes {
            filled.insert("prompt".to_owned(), prompt(&self.setting, what)?.into());
        }
        if let Some(how) = decides {
            let Setting { described, patience, .. } = &self.setting;
            let decision = self.approvals.decision(session, how, described, *patience).await?;
            filled.insert("decision".to_owned(), decision.into());
        }
        Ok(filled)
    }

    async fn http(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let mut step: HttpStep = read(act)?;
        let why = deliberate(act, step.deliberate.as_ref());
        let url = self.url()?;
        if [&step.target, &step.raw].into_iter().flatten().any(|text| text.contains("/sessions/")) {
            // Which ids there are is known once their answers were seen.
            for label in std::mem::take(&mut self.creating) {
                let _ = self.sender.over(act.verb, &label).await;
            }
        }
        step.target = step.target.map(|target| below(&url, &self.created.encoded(target)));
        step.raw = step.raw.map(|raw| self.created.encoded(raw));
        let host = url.address.to_string();
        let request = step.request(("GET", &url.target), &host, why.clone()).map_err(|e| wrong(act.verb, e))?;
        let asked = HttpUrl { target: request.target.clone(), ..url.clone() };
        let again = step.clone();
        let again: Resend = Box::new(move |url| {
            let moved = again.moved(&url.target)?;
            // What went wrong would have gone wrong before.
            moved.request(("GET", &url.target), &url.address.to_string(), why.clone()).ok()
        });
        let sending = OutgoingRequest {
            over: step.over,
            read: step.read.unwrap_or(true),
            again: Some((asked, again)),
            watch: Some(self.created.watch(step.label.clone())),
            ..OutgoingRequest::new(step.label, request)
        };
        self.sender.send(act.verb, &url.address, sending).await
    }

    async fn subscribe(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let mut step: SubscribeStep = read(act)?;
        if let Some(by) = &step.created_by {
            let Some(id) = self.created_by(act.verb, by).await? else { return Ok(unsent(step.label)) };
            step.session_id = id;
        }
        match step.transport {
            Transport::Sse => self.stream(act, step).await,
            Transport::Ws => self.socket(act, step).await,
        }
    }

    async fn stream(&mut self, act: &VerbCall<'_>, step: SubscribeStep) -> Result<Performed, PeerError> {
        let url = self.url()?;
        let target = format!("/sessions/{}/events", segment(&step.session_id));
        let mut request = Request::new("GET", below(&url, &target))
            .header("Accept", "text/event-stream")
            .header("Cache-Control", "no-cache");
        for (name, value) in headers(&step.headers) {
            request.headers.retain(|(usual, _)| !usual.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        request.manner.deliberate = deliberate(act, step.deliberate.as_ref());
        let (approvals, progress, session) = (self.approvals.clone(), self.progress.clone(), step.session_id);
        let watch: Watch = Box::new(move |came| {
            if let Incoming::Event(event) = came
                && let Some(json) = event.data.as_deref().and_then(read_json)
            {
                approvals.told(&session, &json.value);
                progress.told(&session, &json.value);
            }
        });
        let read = step.read.unwrap_or(true);
        let again = Some((HttpUrl { target: request.target.clone(), ..url.clone() }, moved(&request)));
        let sending = OutgoingRequest {
            read,
            awaited: false,
            watch: Some(watch),
            again,
            ..OutgoingRequest::new(step.label.clone(), request)
        };
        step.label.iter().for_each(|label| drop(self.lines.remove(label)));
        self.sender.send(act.verb, &url.address, sending).await
    }

    async fn socket(&mut self, act: &VerbCall<'_>, step: SubscribeStep) -> Result<Performed, PeerError> {
        let url = self.url()?;
        let target = format!("/sessions/{}/ws", segment(&step.session_id));
        let mut request = ClientRequest::new(below(&url, &target));
        request.headers = headers(&step.headers);
        request.manner.deliberate = deliberate(act, step.deliberate.as_ref());
        request.options.read = step.read.unwrap_or(true);
        let name = step.label.as_deref().map(|label| self.sender.name(label));
        let tap = self.sender.exchanges().tap(name.as_deref());
        let limits = Limits { handshake: self.setting.patience, ..Limits::default() };
        let opened = websocket::connect(&url.address, &request, tap, &limits).await;
        let opened = opened.map_err(|error| self.sender.unreachable(&error))?;
        let (approvals, progress) = (self.approvals.clone(), self.progress.clone());
        let told = move |session: &str, json: &Value| {
            approvals.told(session, json);
            progress.told(session, json);
        };
        let line = Line::new(step.session_id, opened.socket.sender, opened.socket.incoming, told);
        let label = step.label.clone().unwrap_or_else(|| line.sender.conn().to_owned());
        self.lines.insert(label, line);
        Ok(Performed { bindings: step.label.into_iter().zip(name.map(Value::from)).collect() })
    }

    async fn control(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let step: ControlStep = read(act)?;
        let why = deliberate(act, step.deliberate.as_ref());
        let line = self.lines.get(&step.of);
        let line = line.ok_or_else(|| wrong(act.verb, format!("`{}` is no WebSocket", step.of)))?;
        let filled = self.filled(step.provokes.as_deref(), step.decides.as_deref(), &line.session).await?;
        for frame in step.frames(filled).map_err(|e| wrong(act.verb, e))? {
            // One that the server has ended shows so in the trace.
            if line.sender.send(&frame, why.as_deref()).await.is_err() {
                break;
            }
        }
        Ok(Performed::default())
    }

    async fn unsubscribe(&mut self, act: &VerbCall<'_>) -> Result<Performed, PeerError> {
        let step: UnsubscribeStep = read(act)?;
        let odd = deliberate(act, step.deliberate.as_ref());
        // To leave is no fault, but it is why nothing comes any more.
        let why = odd.clone().unwrap_or_else(|| act.step.to_owned());
        let Some(line) = self.lines.get(&step.of) else {
            self.sender.leave(act.verb, &step.of, step.how == Leaving::Reset, &why).await?;
            return Ok(Performed::default());
        };
        match step.how {
            Leaving::Close => _ = line.sender.send(&FrameSpec::close(Some(1000), ""), odd.as_deref()).await,
            Leaving::Eof => line.sender.shutdown_deliberately(&why).await,
            Leaving::Reset => line.sender.reset(Some(&why)).await,
        }
        Ok(Performed::default())
    }

    /// A request that every server answers.
    fn health(url: &HttpUrl) -> Request {
        let mut request = Request::new("GET", below(url, "/health"));
        request.fresh = true;
        request
    }
}

/// Makes a request again for another URL.
fn moved(request: &Request) -> Resend {
    let request = request.clone();
    Box::new(move |url| Some(Request { target: url.target.clone(), ..request.clone() }))
}

/// What a step has done that is not sent: its label stands for itself.
fn unsent(label: Option<String>) -> Performed {
    Performed { bindings: label.map(|label| (label.clone(), label.into())).into_iter().collect() }
}

/// A text as one segment of a path.
fn segment(text: &str) -> String {
    crate::peer::amplifier::routes::Encoding::default().segment(text)
}

impl Peer for AmplifierClient {
    fn perform<'a>(&'a mut self, act: VerbCall<'a>) -> BoxFuture<'a, Result<Performed, PeerError>> {
        Box::pin(async move {
            match act.verb {
                "request" => self.request(&act).await,
                "http" => self.http(&act).await,
                "subscribe" => self.subscribe(&act).await,
                "control" => self.control(&act).await,
                "unsubscribe" => self.unsubscribe(&act).await,
                "await_session" => {
                    let step: AwaitStep = read(&act)?;
                    self.progress.awaited(&step, &self.setting).await.map(|()| Performed::default())
                }
                "open" => {
                    let url = self.url()?;
                    self.sender.open(&act, &url.address).await
                }
                "drop" => self.sender.drop(&act).await,
                other => Err(PeerError::Unable(format!("the Amplifier client has no verb `{other}`"))),
            }
        })
    }

    fn barrier<'a>(&'a mut self, conn: Option<&'a str>, within: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(async move {
            let url = self.url()?;
            self.sender.barrier(conn, within, &url.address, &Self::health(&url)).await
        })
    }

    fn alive<'a>(&'a mut self, within: Duration) -> BoxFuture<'a, Result<(), PeerError>> {
        Box::pin(async move {
            let url = self.url()?;
            self.sender.ask(within, &url.address, &Self::health(&url)).await
        })
    }

    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.sender.finish().await;
            for line in std::mem::take(&mut self.lines).into_values() {
                line.sender.shutdown_deliberately(OVER).await;
            }
            if let Ok(url) = self.url() {
                self.created.tidy(&url).await;
            }
        })
    }
}
