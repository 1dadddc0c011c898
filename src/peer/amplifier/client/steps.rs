//! The client that stands opposite a server, steered by the steps of a scenario of the role `amplifier-server`.
//!
//! [`AmplifierClientSteps`] performs the verbs. Each request is an exchange of its own, and
//! so is each event stream; the exchanges record what comes back. This code looks at events only for approvals and for
//! progress, so that steps can decide and wait.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::peer::http::{HttpUrl, OutgoingRequest, RequestSender, Resend, address};
use crate::peer::params::{deliberate, read, wrong};
use crate::peer::{BoxFuture, Peer, PeerError, Performed, Setting, VerbCall};
use crate::protocol::amplifier::verbs::{self, ClientVerb, CreatedBy, Generated, Key};
use crate::protocol::http::verbs::Http;
use crate::wire::http::Request;

use self::request::{DefaultRequest, RefusalWatch, default_profile, prompt};
use self::sessions::{Approvals, CreatedSessions, PromptProgress};
use self::subscriptions::SessionSocket;
use super::{PROVES, below};

mod request;
mod sessions;
mod subscriptions;
#[cfg(test)]
mod tests;

/// Why a WebSocket is left that nobody needs any more.
const PLAY_OVER: &str = "the play is over";

/// A client of the role `amplifier-server`.
pub struct AmplifierClientSteps {
    setting: Setting,
    sender: RequestSender,
    approvals: Approvals,
    progress: PromptProgress,
    created: CreatedSessions,
    /// The labels of requests for sessions whose responses may not have been seen yet.
    pending_creations: Vec<String>,
    /// The profile of new sessions, once it was chosen.
    profile: Option<String>,
    /// Default requests that the server has granted already.
    granted_defaults: Vec<DefaultRequest>,
    /// Whether a session was created with another key than the good one.
    odd_key: bool,
    /// The WebSockets, by their labels.
    sockets: HashMap<String, SessionSocket>,
}

impl AmplifierClientSteps {
    /// A client that has sent nothing yet.
    pub fn new(setting: Setting) -> Self {
        let sender = RequestSender::new(&setting, PROVES);
        Self {
            setting,
            sender,
            approvals: Approvals::default(),
            progress: PromptProgress::default(),
            created: CreatedSessions::default(),
            pending_creations: vec![],
            profile: None,
            granted_defaults: vec![],
            odd_key: false,
            sockets: HashMap::new(),
        }
    }

    fn url(&self) -> Result<HttpUrl, PeerError> {
        address(&self.setting)
    }

    async fn request(&mut self, call: &VerbCall<'_>, mut step: verbs::Request) -> Result<Performed, PeerError> {
        let why = deliberate(call, step.deliberate.as_ref());
        let url = self.url()?;
        if let Some(CreatedBy(label)) = &step.created_by {
            let Some(id) = self.created_by(call.verb, label).await? else { return Ok(unsent(step.label)) };
            step.params.insert("session_id".to_owned(), id.into());
        }
        let mut generated = self.generated(&step.generated, step.session()).await?;
        if step.endpoint == "createSession" {
            self.odd_key |= step.key != Key::Good;
            self.pending_creations.extend(step.label.clone().map(String::from));
            generated.insert("profile".to_owned(), self.profile(step.sets("profile")).await.into());
        }
        if step.endpoint == "submitPrompt" && why.is_none() {
            self.progress.note_prompt(step.session());
        }
        let request = step.request(&url, &self.setting, generated, why)?;
        let times = step.repeat.unwrap_or(1);
        let default = DefaultRequest::of(&step, &self.setting.described, self.odd_key);
        let default = default.filter(|default| !self.granted_defaults.contains(default));
        let refusal = RefusalWatch::default();
        let mut performed = Performed::default();
        for _ in 0..times {
            let sending = OutgoingRequest {
                over: step.over.clone().map(String::from),
                read: step.read.is_none_or(|read| read.0),
                again: Some((
                    HttpUrl { target: request.target.clone(), ..url.clone() },
                    request_for_other_url(&request),
                )),
                watch: Some(refusal.watch(self.created.watch(step.label.clone().map(String::from)))),
                ..OutgoingRequest::new(step.label.clone(), request.clone())
            };
            performed = self.sender.send(call.verb, &url.address, sending).await?;
        }
        // A response that does not come is for the steps that follow.
        if let (Some(default), Some(label)) = (default, &step.label)
            && self.sender.over(call.verb, label).await.is_ok()
        {
            if let Some(lacks) = refusal.missing_description(default, &self.setting.described) {
                return Err(PeerError::Lacking(lacks));
            }
            self.granted_defaults.push(default);
        }
        Ok(performed)
    }

    /// The profile of new sessions: the one that is described, else one that the server lists. It is not looked for
    /// where the step says one itself.
    async fn profile(&mut self, given_by_step: bool) -> String {
        if let Some(good) = self.setting.described.text("profiles.good") {
            return good.to_owned();
        }
        if self.profile.is_none() && !given_by_step {
            self.profile = Some(default_profile(&self.setting).await);
        }
        self.profile.clone().unwrap_or_default()
    }

    /// The session that a request created, if it did.
    async fn created_by(&self, verb: &str, label: &str) -> Result<Option<String>, PeerError> {
        self.sender.over(verb, label).await?;
        Ok(self.created.by_label(label))
    }

    /// What a step leaves to be filled in: the prompt that provokes something, or a decision.
    async fn generated(&self, step: &Generated, session: &str) -> Result<Map<String, Value>, PeerError> {
        let mut generated = Map::new();
        if let Some(what) = &step.provokes {
            generated.insert("prompt".to_owned(), prompt(&self.setting, what)?.into());
        }
        if let Some(how) = step.decides {
            let Setting { described, patience, .. } = &self.setting;
            let decision = self.approvals.decision(session, how, described, *patience).await?;
            generated.insert("decision".to_owned(), decision.into());
        }
        Ok(generated)
    }

    async fn http(&mut self, call: &VerbCall<'_>, mut step: Http) -> Result<Performed, PeerError> {
        let why = deliberate(call, step.deliberate.as_ref());
        let url = self.url()?;
        if [&step.target, &step.raw].into_iter().flatten().any(|text| text.contains("/sessions/")) {
            // Which ids there are is known once their responses were seen.
            for label in std::mem::take(&mut self.pending_creations) {
                let _ = self.sender.over(call.verb, &label).await;
            }
        }
        step.target = step.target.map(|target| below(&url, &self.created.with_encoded_ids(target)));
        step.raw = step.raw.map(|raw| self.created.with_encoded_ids(raw));
        let host = url.address.to_string();
        let request = step.request(("GET", &url.target), &host, why.clone()).map_err(|e| wrong(call.verb, e))?;
        let requested = HttpUrl { target: request.target.clone(), ..url.clone() };
        let again = step.clone();
        let again: Resend = Box::new(move |url| {
            let moved = again.moved(&url.target)?;
            // What went wrong would have gone wrong before.
            moved.request(("GET", &url.target), &url.address.to_string(), why.clone()).ok()
        });
        let sending = OutgoingRequest {
            over: step.over.map(String::from),
            read: step.read.is_none_or(|read| read.0),
            again: Some((requested, again)),
            watch: Some(self.created.watch(step.label.clone().map(String::from))),
            ..OutgoingRequest::new(step.label, request)
        };
        self.sender.send(call.verb, &url.address, sending).await
    }

    /// A request that every server answers.
    fn health(url: &HttpUrl) -> Request {
        let mut request = Request::new("GET", below(url, "/health"));
        request.fresh = true;
        request
    }
}

/// Makes a request again for another URL.
fn request_for_other_url(request: &Request) -> Resend {
    let request = request.clone();
    Box::new(move |url| Some(Request { target: url.target.clone(), ..request.clone() }))
}

/// What a step has done that is not sent: its label stands for itself.
fn unsent(label: Option<impl Into<String>>) -> Performed {
    let label: Option<String> = label.map(Into::into);
    Performed { bindings: label.map(|label| (label.clone(), label.into())).into_iter().collect() }
}

impl Peer for AmplifierClientSteps {
    fn perform<'a>(&'a mut self, call: VerbCall<'a>) -> BoxFuture<'a, Result<Performed, PeerError>> {
        Box::pin(async move {
            match read(&call)? {
                ClientVerb::Request(step) => self.request(&call, *step).await,
                ClientVerb::Http(step) => self.http(&call, *step).await,
                ClientVerb::Subscribe(step) => self.subscribe(&call, step).await,
                ClientVerb::Control(step) => self.control(&call, *step).await,
                ClientVerb::Unsubscribe(step) => self.unsubscribe(&call, step).await,
                ClientVerb::AwaitSession(step) => {
                    self.progress.wait_for(&step, &self.setting).await.map(|()| Performed::default())
                }
                ClientVerb::Open(step) => {
                    let url = self.url()?;
                    self.sender.open(&call, step, &url.address).await
                }
                ClientVerb::Drop(step) => self.sender.drop(&call, step).await,
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
            for socket in std::mem::take(&mut self.sockets).into_values() {
                socket.sender.shutdown_deliberately(PLAY_OVER).await;
            }
            if let Ok(url) = self.url() {
                self.created.stop_all(&url).await;
            }
        })
    }

    /// Steps alone say what it sends: there is nothing that could deviate.
    #[cfg(test)]
    fn deviations(&self) -> Vec<&'static str> {
        vec![]
    }
}
