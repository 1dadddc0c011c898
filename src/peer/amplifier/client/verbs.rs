//! The verbs of the role `amplifier-server`, performed by [`AmplifierClient`].

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::peer::asking::{Again, HttpStep, Proves, RequestSender, Sending, address};
use crate::peer::http_url::HttpUrl;
use crate::peer::params::{deliberate, read, wrong};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, VerbCall};
use crate::wire::http::Request;

use super::request::{DefaultRequest, Key, Refusal, RequestStep, below, default_profile, prompt};
use super::sessions::{Approvals, AwaitStep, Created, Progress};
use super::subscriptions::SessionSocket;

/// What a server breaks that does not do the first things.
pub(super) const PROVES: Proves =
    Proves { reached: "health/status", answered: "http/answered", announced: "http/keep-alive" };

/// Why a WebSocket is left that nobody needs any more.
const OVER: &str = "the play is over";

/// A client of the role `amplifier-server`.
pub struct AmplifierClient {
    pub(super) setting: Setting,
    pub(super) sender: RequestSender,
    pub(super) approvals: Approvals,
    pub(super) progress: Progress,
    pub(super) created: Created,
    /// The labels of requests for sessions whose answers may not have been seen yet.
    creating: Vec<String>,
    /// The profile of new sessions, once it was chosen.
    profile: Option<String>,
    /// What the server has granted already.
    granted: Vec<DefaultRequest>,
    /// Whether a session was created with another key than the good one.
    odd_key: bool,
    /// The WebSockets, by their labels.
    pub(super) lines: HashMap<String, SessionSocket>,
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

    pub(super) fn url(&self) -> Result<HttpUrl, PeerError> {
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
        let usual = DefaultRequest::of(&step, &self.setting.described, self.odd_key);
        let usual = usual.filter(|usual| !self.granted.contains(usual));
        let refusal = Refusal::default();
        let mut performed = Performed::default();
        for _ in 0..times {
            let sending = Sending {
                over: step.over.clone(),
                read: step.read.unwrap_or(true),
                again: Some((HttpUrl { target: request.target.clone(), ..url.clone() }, moved(&request))),
                watch: Some(refusal.watch(self.created.watch(step.label.clone()))),
                ..Sending::new(step.label.clone(), request.clone())
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
            self.profile = Some(default_profile(&self.setting).await);
        }
        self.profile.clone().unwrap_or_default()
    }

    /// The session that a request created, if it did.
    pub(super) async fn created_by(&self, verb: &str, label: &str) -> Result<Option<String>, PeerError> {
        self.sender.over(verb, label).await?;
        Ok(self.created.by(label))
    }

    /// What a step leaves to be filled in: the prompt that provokes something, or a decision.
    pub(super) async fn filled(
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
        let again: Again = Box::new(move |url| {
            let moved = again.moved(&url.target)?;
            // What went wrong would have gone wrong before.
            moved.request(("GET", &url.target), &url.address.to_string(), why.clone()).ok()
        });
        let sending = Sending {
            over: step.over,
            read: step.read.unwrap_or(true),
            again: Some((asked, again)),
            watch: Some(self.created.watch(step.label.clone())),
            ..Sending::new(step.label, request)
        };
        self.sender.send(act.verb, &url.address, sending).await
    }

    /// A request that every server answers.
    fn health(url: &HttpUrl) -> Request {
        let mut request = Request::new("GET", below(url, "/health"));
        request.fresh = true;
        request
    }
}

/// Makes a request again for another URL.
pub(super) fn moved(request: &Request) -> Again {
    let request = request.clone();
    Box::new(move |url| Some(Request { target: url.target.clone(), ..request.clone() }))
}

/// What a step has done that is not sent: its label stands for itself.
pub(super) fn unsent(label: Option<String>) -> Performed {
    Performed { bindings: label.map(|label| (label.clone(), label.into())).into_iter().collect() }
}

/// A text as one segment of a path.
pub(super) fn segment(text: &str) -> String {
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
