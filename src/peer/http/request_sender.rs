//! Requests under way and those that are over ([`RequestSender`]), and one request apart from any play ([`one`]).

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::format::types::Request as Label;
use crate::peer::http::HttpUrl;
use crate::peer::params::{deliberate, wrong};
use crate::peer::{PeerError, Performed, Setting, VerbCall};
use crate::protocol::http::redirects;
use crate::protocol::http::verbs::DropRequest;
use crate::protocol::words::{OpenTcp, StreamEnd};
use crate::trace::{BARRIER, End, EventKind, Mark, Recorder};
use crate::wire::http::{Client, Content, Control, Ending, Exchanges, Limits, Request, Whole};
use crate::wire::tcp::{Address, ConnectError};

use super::sent_request::{Hop, RedirectFollower, Resend, SentRequest, Watch};

/// How long the head, or the body, of a response may take to come: longer than any expectation waits for it.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// Why an exchange is ended that nobody waits for any more.
const PLAY_OVER: &str = "the play is over";
/// What a server breaks that does not do the first things: requirements, as area and slug.
#[derive(Clone, Copy)]
pub struct Proves {
    /// The port of the server accepts no connection.
    pub reached: &'static str,
    /// A request is not answered.
    pub answered: &'static str,
    /// A connection ends after a response that did not say so.
    pub announced: &'static str,
}

/// Sends requests, and knows them by their labels.
pub struct RequestSender {
    recorder: Recorder,
    exchanges: Exchanges,
    patience: Duration,
    proves: Proves,
    /// The requests that were sent, by the names of their exchanges.
    sent: HashMap<String, SentRequest>,
    /// What followed each exchange on its connection.
    continued: HashMap<String, String>,
    /// The latest exchange of each label, and how often the label was given.
    labels: HashMap<String, (String, u64)>,
}

/// A request, and how it is sent.
pub struct OutgoingRequest {
    /// The label of the request.
    pub label: Option<String>,
    /// The label of an earlier request, over whose TCP connection it goes.
    pub over: Option<String>,
    /// Whether the response is read.
    pub read: bool,
    /// Whether a barrier waits for the response, where a sound server gives one.
    pub awaited: bool,
    /// The request.
    pub request: Request,
    /// The function that gets each incoming part.
    pub watch: Option<Watch>,
    /// Where it goes, and what makes it again for another URL; none where redirects are not followed.
    pub again: Option<(HttpUrl, Resend)>,
}

/// Where the server of a setting is.
///
/// # Errors
/// [`PeerError::Scenario`] where it is not up, or its URL is none.
pub fn address(setting: &Setting) -> Result<HttpUrl, PeerError> {
    let server = setting.server.as_ref();
    let server = server
        .ok_or_else(|| PeerError::Scenario("the subject is not up; send after the step that starts it".into()))?;
    let usual = format!("http://127.0.0.1:{}/", server.port);
    HttpUrl::parse(server.url.as_ref().unwrap_or(&usual)).map_err(PeerError::Scenario)
}

impl OutgoingRequest {
    /// A request that is known by this label, over a connection of its own, and whose response is read.
    pub fn new(label: Option<impl Into<String>>, request: Request) -> Self {
        Self { label: label.map(Into::into), over: None, read: true, awaited: true, request, watch: None, again: None }
    }
}

impl RequestSender {
    /// A sender that has sent nothing yet.
    pub fn new(setting: &Setting, proves: Proves) -> Self {
        let exchanges = Exchanges::new(setting.recorder.clone(), End::Client);
        Self {
            recorder: setting.recorder.clone(),
            exchanges,
            patience: setting.patience,
            proves,
            sent: HashMap::new(),
            continued: HashMap::new(),
            labels: HashMap::new(),
        }
    }

    /// A name for the next exchange of this label: the label itself, or one made of it where it was given before.
    pub fn name(&mut self, label: &str) -> String {
        let (latest, times) = self.labels.entry(label.to_owned()).or_default();
        *times += 1;
        *latest = if *times == 1 { label.to_owned() } else { format!("{label}-{times}") };
        latest.clone()
    }

    /// Names exchanges and numbers connections.
    pub fn exchanges(&self) -> &Exchanges {
        &self.exchanges
    }

    /// The latest exchange of a label.
    fn labelled(&self, verb: &str, label: &str) -> Result<&SentRequest, PeerError> {
        let sent = self.labels.get(label).and_then(|(latest, _)| self.sent.get(latest));
        sent.ok_or_else(|| wrong(verb, format!("no request `{label}` was sent; send it with `as: {label}`")))
    }

    fn client(&self, address: &Address) -> Client {
        Client::new(address.clone(), self.exchanges.clone(), limits(self.patience))
    }

    /// Opens a TCP connection and sends nothing: the step `open`.
    pub async fn open(
        &mut self,
        act: &VerbCall<'_>,
        step: OpenTcp<Label>,
        address: &Address,
    ) -> Result<Performed, PeerError> {
        let mut request = Request::new("", "");
        request.raw = Some(vec![]);
        request.content = Content::None;
        request.ending = Ending::Hold;
        request.send_options.deliberate = deliberate(act, step.deliberate.as_ref());
        self.send(act.verb, address, OutgoingRequest::new(step.name, request)).await
    }

    /// Ends the TCP connection of a request: the step `drop`.
    pub async fn drop(&mut self, act: &VerbCall<'_>, step: DropRequest) -> Result<Performed, PeerError> {
        // To leave is no fault, but it is why there is no response.
        let why = deliberate(act, step.deliberate.as_ref()).unwrap_or_else(|| act.step.to_owned());
        self.leave(act.verb, &step.of, step.how == StreamEnd::Reset, &why).await?;
        Ok(Performed::default())
    }

    /// Ends the TCP connection of the latest exchange of a label: with RST, or with FIN.
    pub async fn leave(&self, verb: &str, label: &str, reset: bool, why: &str) -> Result<(), PeerError> {
        let control = self.labelled(verb, label)?.hop().control;
        if reset {
            control.reset(Some(why)).await;
        } else {
            control.close(Some(why)).await;
        }
        Ok(())
    }

    /// Sends a request to this address, and binds its label to the name of its exchange.
    ///
    /// # Errors
    /// [`PeerError::Subject`] where the server is not there, or does not answer the request before on the same connection.
    pub async fn send(
        &mut self,
        verb: &str,
        address: &Address,
        sending: OutgoingRequest,
    ) -> Result<Performed, PeerError> {
        let OutgoingRequest { label, over, read, awaited, mut request, watch, again } = sending;
        let mut kept = None;
        let client = match &over {
            None => {
                request.fresh = true;
                self.client(address)
            }
            Some(label) => {
                request.fresh = false;
                let earlier = self.labelled(verb, label)?;
                if !earlier.over_within(self.patience).await {
                    return Err(self.unanswered(earlier.hop().control.conn(), self.patience));
                }
                if let Some(next) = self.continued.get(earlier.hop().control.conn()) {
                    let what =
                        format!("{next} has followed on the connection of `{label}`; go on with `over` of that one");
                    return Err(wrong(verb, what));
                }
                let Hop { client, control, .. } = earlier.hop();
                kept = Some((control.conn().to_owned(), control.tcp()));
                client
            }
        };
        let name = label.as_deref().map(|label| self.name(label));
        let exchange = client.send(name.as_deref(), &request).await.map_err(|error| self.unreachable(&error))?;
        if let Some((earlier, _)) = &kept {
            let next = label.as_deref().map_or_else(|| "another request".to_owned(), |label| format!("`{label}`"));
            self.continued.insert(earlier.clone(), next);
        }
        if let Some((earlier, _)) = kept.filter(|(_, tcp)| *tcp != exchange.control.tcp())
            && !self.announced(&earlier).await
        {
            return Err(PeerError::Subject {
                message: format!("the connection of `{earlier}` was ended after its response, which did not say so"),
                proves: Some(self.proves.announced.to_owned()),
                expected: Some(json!("Connection: close")),
                actual: None,
            });
        }
        if !read {
            exchange.control.set_reading(false);
        }
        let due = awaited && read && request.send_options.deliberate.is_none() && request.ending == Ending::Usual;
        let follower =
            RedirectFollower { resend: again, watch, recorder: self.recorder.clone(), ending: request.ending };
        let conn = exchange.control.conn().to_owned();
        self.sent.insert(conn, SentRequest::new(client, exchange, due, follower));
        Ok(Performed { bindings: label.into_iter().zip(name.map(Value::from)).collect() })
    }

    /// Whether the response in an exchange that is over said that its connection ends. What is not known counts as said.
    async fn announced(&self, exchange: &str) -> bool {
        match self.sent.get(redirects::asked(exchange)) {
            Some(sent) => sent.announced().await,
            None => true,
        }
    }

    /// Waits until the latest exchange of a label is over, and whoever watches it has seen all that came.
    ///
    /// # Errors
    /// [`PeerError::Subject`] where it is not within our patience.
    pub async fn over(&self, verb: &str, label: &str) -> Result<(), PeerError> {
        let sent = self.labelled(verb, label)?;
        let seen = timeout_at(Instant::now() + self.patience, sent.announced()).await;
        seen.map(drop).map_err(|_| self.unanswered(sent.hop().control.conn(), self.patience))
    }

    /// Waits until the latest exchange of a label is over, or where none is named, every one whose response is due. Where
    /// none is, `request` is sent, and any response to it will do.
    pub async fn barrier(
        &mut self,
        label: Option<&str>,
        within: Duration,
        address: &Address,
        request: &Request,
    ) -> Result<(), PeerError> {
        let deadline = Instant::now() + within;
        let due: Vec<&SentRequest> = match label {
            Some(label) => vec![self.labelled("barrier", label)?],
            None => self.sent.values().filter(|sent| sent.due && !sent.is_over()).collect(),
        };
        for sent in &due {
            if timeout_at(deadline, sent.over()).await.is_err() {
                return Err(self.unanswered(sent.hop().control.conn(), within));
            }
        }
        if due.is_empty() {
            self.ask(within, address, request).await?;
        }
        let mark = Mark { mark: BARRIER.to_owned(), text: label.unwrap_or_default().to_owned() };
        self.recorder.record(label, None, EventKind::Mark(mark));
        Ok(())
    }

    /// Sends a request on a connection of its own, and waits for the response, whatever it is.
    pub async fn ask(&mut self, within: Duration, address: &Address, request: &Request) -> Result<(), PeerError> {
        let name = self.name(BARRIER);
        let sent = self.client(address).send(Some(&name), request).await;
        let exchange = sent.map_err(|error| self.unreachable(&error))?;
        match timeout_at(Instant::now() + within, exchange.whole()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(broken)) => Err(PeerError::Subject {
                message: format!("the request `{name}` got no response: {broken}"),
                proves: Some(self.proves.answered.to_owned()),
                expected: Some(json!("a response")),
                actual: None,
            }),
            Err(_) => Err(self.unanswered(&name, within)),
        }
    }

    /// Ends every exchange that is under way.
    pub async fn finish(&mut self) {
        let open: Vec<SentRequest> = self.sent.drain().map(|(_, sent)| sent).collect();
        open.iter().for_each(SentRequest::stop_following);
        let controls = open.iter().map(|sent| sent.hop().control).filter(|control| !control.is_over());
        let leave = |control: Control| async move { control.close(Some(PLAY_OVER)).await };
        let mut leaving: JoinSet<()> = controls.map(leave).collect();
        while leaving.join_next().await.is_some() {}
    }

    fn unanswered(&self, exchange: &str, within: Duration) -> PeerError {
        PeerError::Subject {
            message: format!("the request `{exchange}` was not answered within {within:?}"),
            proves: Some(self.proves.answered.to_owned()),
            expected: Some(json!("a response")),
            actual: None,
        }
    }

    /// The subject is up, so a port that refuses connections is its fault; a machine without sockets is not.
    pub fn unreachable(&self, error: &ConnectError) -> PeerError {
        match error {
            ConnectError::Broken { .. } => PeerError::Environment(error.to_string()),
            ConnectError::Unreachable { address, .. } | ConnectError::TimedOut { address, .. } => {
                PeerError::Unreachable {
                    message: error.to_string(),
                    proves: self.proves.reached,
                    address: address.to_string(),
                }
            }
        }
    }
}

/// Bounds that no expectation outlasts, but for connecting and for a server that does not read. A connection is kept for
/// whatever step names it, however long that takes on a busy machine.
fn limits(patience: Duration) -> Limits {
    Limits {
        connect: patience,
        head_within: MAX_WAIT,
        body_within: MAX_WAIT,
        write: MAX_WAIT,
        idle: MAX_WAIT,
        ..Limits::default()
    }
}

/// The number of bytes of an invalid response that are shown.
const SHOWN: usize = 500;

/// Makes one request to the server of `setting`, and waits for the whole response. `what` is the request in words, `request`
/// makes it for the server's URL. It is made again where a redirect leads, as often as clients do that, on one host.
///
/// # Errors
/// [`PeerError::Subject`] where the server is not there, or does not answer within the patience; [`PeerError::Scenario`] where
/// the setting names no server.
pub async fn one(
    setting: &Setting,
    proves: Proves,
    what: &str,
    request: impl FnOnce(&HttpUrl) -> Request,
) -> Result<Whole, PeerError> {
    let patience = setting.patience;
    let base = address(setting)?;
    let mut request = request(&base);
    let mut url = HttpUrl { target: request.target.clone(), ..base };
    let limits = Limits { connect: patience, head_within: patience, body_within: patience, ..Limits::default() };
    let mut client = Client::new(url.address.clone(), Exchanges::new(setting.recorder.clone(), End::Client), limits);
    let deadline = Instant::now() + patience;
    let mut followed = 0;
    loop {
        let sent = client.send(None, &request).await;
        let exchange = sent.map_err(|error| RequestSender::new(setting, proves).unreachable(&error))?;
        let whole = match timeout_at(deadline, exchange.whole()).await {
            Err(_) => return Err(failed(format!("no response to `{what}` within {patience:?}"))),
            Ok(Err(broken)) => return Err(failed(format!("no response to `{what}`: {broken}"))),
            Ok(Ok(whole)) => whole,
        };
        let next = redirects::leads_to(&whole.head).and_then(|location| url.join(location).ok());
        let Some(next) =
            next.filter(|next| followed < redirects::MAX_REDIRECTS && next.address.host == url.address.host)
        else {
            return Ok(whole);
        };
        if next.address != url.address {
            client = client.to(next.address.clone());
        }
        request.target.clone_from(&next.target);
        (url, followed) = (next, followed + 1);
    }
}

/// That a server gave no response of the protocol.
pub fn failed(message: String) -> PeerError {
    PeerError::Subject { message, proves: None, expected: None, actual: None }
}

/// The beginning of a body, for people.
pub fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]).into_owned();
    if body.len() > SHOWN { format!("{text}…") } else { text }
}
