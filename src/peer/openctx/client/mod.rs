//! The OpenCtx client: what stands opposite a provider.
//!
//! [`OpenctxClient`] performs the verbs of the role `openctx-provider`. Each request is an exchange of its own, over a TCP
//! connection of its own unless a step says otherwise; what comes back writes the trace by itself.

mod about;
mod call;
mod request;
mod sent;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::peer::http_url::HttpUrl;
use crate::peer::{Act, BoxFuture, Peer, Performed, Setting, Trouble};
use crate::protocol::openctx::redirects;
use crate::trace::{End, Mark, What};
use crate::wire::http::{Client, Content, Control, Ending, Exchanges, Limits, Request};
use crate::wire::tcp::ConnectError;

use super::params::{deliberate, read, wrong};
use request::{HttpStep, RequestStep, envelope, post};
use sent::{Again, Follower, Hop, Sent};

pub use call::{call, detect};

/// How long the head, or the body, of an answer may take to come: longer than any expectation waits for it.
const LONG: Duration = Duration::from_secs(120);
/// Why an exchange is ended that nobody waits for any more.
const OVER: &str = "the play is over";
/// What exchanges of our own are called: those of barriers, and of looks at whether the provider still serves.
const BARRIER: &str = "barrier";

/// A client of the role `openctx-provider`.
pub struct OpenctxClient {
    setting: Setting,
    exchanges: Exchanges,
    /// By the names of their exchanges.
    sent: HashMap<String, Sent>,
    /// The latest exchange of each label, and how often the label was given.
    labels: HashMap<String, (String, u64)>,
}

/// How a request is sent.
struct Sending {
    label: Option<String>,
    over: Option<String>,
    read: bool,
    request: Request,
    /// The same for another URL, where a redirect leads there.
    again: Again,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct OpenStep {
    #[serde(rename = "as")]
    label: Option<String>,
    deliberate: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DropStep {
    of: String,
    #[serde(default)]
    how: How,
    deliberate: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    #[default]
    Eof,
    Reset,
}

impl OpenctxClient {
    /// A client that has sent nothing yet.
    pub fn new(setting: Setting) -> Self {
        let exchanges = Exchanges::new(setting.recorder.clone(), End::Client);
        Self { setting, exchanges, sent: HashMap::new(), labels: HashMap::new() }
    }

    fn url(&self) -> Result<HttpUrl, Trouble> {
        let server = self.setting.server.as_ref();
        let server = server
            .ok_or_else(|| Trouble::Scenario("the subject is not up; send after the step that starts it".into()))?;
        let usual = format!("http://127.0.0.1:{}/", server.port);
        HttpUrl::parse(server.url.as_ref().unwrap_or(&usual)).map_err(Trouble::Scenario)
    }

    fn client(&self, url: &HttpUrl) -> Client {
        Client::new(url.address.clone(), self.exchanges.clone(), limits(self.setting.patience))
    }

    /// A name for the next exchange of this label: the label itself, or one made of it where it was given before.
    fn name(&mut self, label: &str) -> String {
        let (latest, times) = self.labels.entry(label.to_owned()).or_default();
        *times += 1;
        *latest = if *times == 1 { label.to_owned() } else { format!("{label}-{times}") };
        latest.clone()
    }

    /// The latest exchange of a label.
    fn labelled(&self, verb: &str, label: &str) -> Result<&Sent, Trouble> {
        let sent = self.labels.get(label).and_then(|(latest, _)| self.sent.get(latest));
        sent.ok_or_else(|| wrong(verb, format!("no request `{label}` was sent; send it with `as: {label}`")))
    }

    async fn request(&mut self, act: &Act<'_>) -> Result<Performed, Trouble> {
        let step: RequestStep = read(act)?;
        let step = step.made().map_err(Trouble::Lacking)?;
        let why = deliberate(act, step.deliberate.as_ref());
        let request = step.request(&self.url()?, self.setting.settings.as_ref(), why.clone());
        let times = step.repeat.unwrap_or(1);
        let mut performed = Performed::default();
        for _ in 0..times {
            let (again, settings, why) = (step.clone(), self.setting.settings.clone(), why.clone());
            let sending = Sending {
                label: step.label.clone(),
                over: step.over.clone(),
                read: step.read.unwrap_or(true),
                request: request.clone(),
                again: Box::new(move |url| Some(again.request(url, settings.as_ref(), why.clone()))),
            };
            performed = self.send(act, sending).await?;
        }
        Ok(performed)
    }

    async fn http(&mut self, act: &Act<'_>) -> Result<Performed, Trouble> {
        let step: HttpStep = read(act)?;
        let why = deliberate(act, step.deliberate.as_ref());
        let url = self.url()?;
        let request = step.request(&url, &url.address.to_string(), why.clone()).map_err(|e| wrong(act.verb, e))?;
        let (label, over, read) = (step.label.clone(), step.over.clone(), step.read.unwrap_or(true));
        let again = move |url: &HttpUrl| {
            let moved = step.moved(&url.target)?;
            // What went wrong would have gone wrong before.
            moved.request(url, &url.address.to_string(), why.clone()).ok()
        };
        self.send(act, Sending { label, over, read, request, again: Box::new(again) }).await
    }

    async fn open(&mut self, act: &Act<'_>) -> Result<Performed, Trouble> {
        let step: OpenStep = read(act)?;
        let mut request = Request::new("", "");
        request.raw = Some(vec![]);
        request.content = Content::None;
        request.ending = Ending::Hold;
        request.manner.deliberate = deliberate(act, step.deliberate.as_ref());
        self.send(act, Sending { label: step.label, over: None, read: true, request, again: Box::new(|_| None) }).await
    }

    async fn drop(&mut self, act: &Act<'_>) -> Result<Performed, Trouble> {
        let step: DropStep = read(act)?;
        // To leave is no fault, but it is why there is no answer.
        let why = deliberate(act, step.deliberate.as_ref()).unwrap_or_else(|| act.step.to_owned());
        let control = self.labelled(act.verb, &step.of)?.hop().control;
        match step.how {
            How::Eof => control.close(Some(&why)).await,
            How::Reset => control.reset(Some(&why)).await,
        }
        Ok(Performed::default())
    }

    /// Sends a request, and binds its label to the name of its exchange.
    async fn send(&mut self, act: &Act<'_>, sending: Sending) -> Result<Performed, Trouble> {
        let Sending { label, over, read, mut request, again } = sending;
        let url = self.url()?;
        let mut kept = None;
        let client = match &over {
            None => {
                request.fresh = true;
                self.client(&url)
            }
            Some(earlier) => {
                request.fresh = false;
                let earlier = self.labelled(act.verb, earlier)?;
                if !earlier.over_within(self.setting.patience).await {
                    return Err(unanswered(earlier.hop().control.conn(), self.setting.patience));
                }
                let Hop { client, control, .. } = earlier.hop();
                kept = Some((control.conn().to_owned(), control.tcp()));
                client
            }
        };
        let name = label.as_deref().map(|label| self.name(label));
        let exchange = client.send(name.as_deref(), &request).await.map_err(unreachable)?;
        if let Some((earlier, _)) = kept.filter(|(_, tcp)| *tcp != exchange.control.tcp())
            && !self.announced(&earlier).await
        {
            return Err(closed_unannounced(&earlier));
        }
        if !read {
            exchange.control.set_reading(false);
        }
        let due = read && request.manner.deliberate.is_none() && request.ending == Ending::Usual;
        let follower = Follower { url, again, recorder: self.setting.recorder.clone(), ending: request.ending };
        let conn = exchange.control.conn().to_owned();
        self.sent.insert(conn, Sent::new(client, exchange, due, follower));
        Ok(Performed { bindings: label.into_iter().zip(name.map(Value::from)).collect() })
    }

    /// Whether the answer in an exchange that is over said that its connection ends. What is not known counts as said.
    async fn announced(&mut self, exchange: &str) -> bool {
        match self.sent.get_mut(redirects::asked(exchange)) {
            Some(sent) => sent.announced().await,
            None => true,
        }
    }

    async fn pass_barrier(&mut self, conn: Option<&str>, within: Duration) -> Result<(), Trouble> {
        let deadline = Instant::now() + within;
        let due: Vec<&Sent> = match conn {
            Some(label) => vec![self.labelled("barrier", label)?],
            None => self.sent.values().filter(|sent| sent.due && !sent.is_over()).collect(),
        };
        for sent in &due {
            if timeout_at(deadline, sent.over()).await.is_err() {
                return Err(unanswered(sent.hop().control.conn(), within));
            }
        }
        if due.is_empty() {
            self.ask(within).await?;
        }
        let mark = Mark { mark: BARRIER.to_owned(), text: conn.unwrap_or_default().to_owned() };
        self.setting.recorder.record(conn, None, What::Mark(mark));
        Ok(())
    }

    /// Asks for `meta`, which every provider has, on a connection of its own. Any answer will do.
    async fn ask(&mut self, within: Duration) -> Result<(), Trouble> {
        let url = self.url()?;
        let settings = self.setting.settings.clone().unwrap_or_else(|| json!({}));
        let request = post(&url, &envelope("meta", json!({}), settings));
        let name = self.name(BARRIER);
        let exchange = self.client(&url).send(Some(&name), &request).await.map_err(unreachable)?;
        match timeout_at(Instant::now() + within, exchange.whole()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(broken)) => Err(Trouble::Subject {
                message: format!("a request for `meta` got no answer: {broken}"),
                proves: Some("envelope/answered".to_owned()),
                expected: Some(json!("an answer")),
                actual: None,
            }),
            Err(_) => Err(unanswered(&name, within)),
        }
    }
}

/// Bounds that no expectation outlasts, but for connecting and for a provider that does not read.
fn limits(patience: Duration) -> Limits {
    Limits { connect: patience, head_within: LONG, body_within: LONG, write: LONG, ..Limits::default() }
}

fn unanswered(exchange: &str, within: Duration) -> Trouble {
    Trouble::Subject {
        message: format!("the request `{exchange}` was not answered within {within:?}"),
        proves: Some("envelope/answered".to_owned()),
        expected: Some(json!("an answer")),
        actual: None,
    }
}

fn closed_unannounced(exchange: &str) -> Trouble {
    Trouble::Subject {
        message: format!("the connection of `{exchange}` was ended after its answer, which did not say so"),
        proves: Some("http/close-announced".to_owned()),
        expected: Some(json!("Connection: close")),
        actual: None,
    }
}

/// The subject is up, so a port that refuses connections is its fault; a machine without sockets is not.
fn unreachable(error: ConnectError) -> Trouble {
    match &error {
        ConnectError::Broken { .. } => Trouble::Environment(error.to_string()),
        ConnectError::Unreachable { address, .. } | ConnectError::TimedOut { address, .. } => Trouble::Subject {
            message: error.to_string(),
            proves: Some("http/post".to_owned()),
            expected: Some(json!(format!("a TCP connection to {address}"))),
            actual: None,
        },
    }
}

impl Peer for OpenctxClient {
    fn perform<'a>(&'a mut self, act: Act<'a>) -> BoxFuture<'a, Result<Performed, Trouble>> {
        Box::pin(async move {
            match act.verb {
                "request" => self.request(&act).await,
                "http" => self.http(&act).await,
                "open" => self.open(&act).await,
                "drop" => self.drop(&act).await,
                other => Err(Trouble::Unable(format!("the OpenCtx client has no verb `{other}`"))),
            }
        })
    }

    fn barrier<'a>(&'a mut self, conn: Option<&'a str>, within: Duration) -> BoxFuture<'a, Result<(), Trouble>> {
        Box::pin(self.pass_barrier(conn, within))
    }

    fn alive<'a>(&'a mut self, within: Duration) -> BoxFuture<'a, Result<(), Trouble>> {
        Box::pin(self.ask(within))
    }

    fn finish<'a>(&'a mut self) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let open: Vec<Sent> = self.sent.drain().map(|(_, sent)| sent).collect();
            open.iter().for_each(Sent::stay);
            let controls = open.iter().map(|sent| sent.hop().control).filter(|control| !control.is_over());
            let leave = |control: Control| async move { control.close(Some(OVER)).await };
            let mut leaving: JoinSet<()> = controls.map(leave).collect();
            while leaving.join_next().await.is_some() {}
        })
    }
}
