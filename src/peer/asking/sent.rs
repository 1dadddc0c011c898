//! A request that was sent, and where redirects lead it.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use crate::peer::http::HttpUrl;
use crate::protocol::http::redirects;
use crate::trace::{EventKind, HttpResponse, Mark, Recorder};
use crate::wire::http::{Client, Control, Ending, Exchange, Incoming, Receiver, Request};

/// A request that was sent. Where it can be made again, it follows redirects by itself.
pub struct Sent {
    way: watch::Receiver<Hop>,
    /// Whether a sound server answers it.
    pub due: bool,
    /// Whether the last answer said that the connection ends with it; known once all that came was seen.
    closes: watch::Receiver<Option<bool>>,
    /// Follows redirects, if that is done.
    follower: Option<AbortHandle>,
}

/// One exchange on the way of a request.
#[derive(Clone)]
pub struct Hop {
    pub client: Client,
    pub control: Control,
    /// Whether no other one follows.
    last: bool,
}

/// What makes the same request for another URL; nothing where it has no URL.
pub type Again = Box<dyn Fn(&HttpUrl) -> Option<Request> + Send + Sync>;

/// Sees what comes in answer to a request, in order, after it is in the trace.
pub type Watch = Box<dyn FnMut(&Incoming) + Send>;

/// Takes in what comes, and follows redirects.
pub struct Follower {
    /// Where the request goes, and what makes it again for another URL; none where redirects are not followed.
    pub again: Option<(HttpUrl, Again)>,
    /// Who sees what comes.
    pub watch: Option<Watch>,
    /// The trace.
    pub recorder: Recorder,
    /// How the connection ends after an answer.
    pub ending: Ending,
}

impl Sent {
    /// Of an exchange that has begun, and that a follower goes on with.
    pub fn new(client: Client, exchange: Exchange, due: bool, follower: Follower) -> Self {
        let Exchange { control, incoming } = exchange;
        let (tell, way) = watch::channel(Hop { client, control, last: false });
        let follows = follower.again.is_some();
        let (say, closes) = watch::channel(None);
        let task = tokio::spawn(async move {
            let said = follower.follow(incoming, tell).await;
            say.send_replace(Some(said));
        });
        Self { way, due, closes, follower: follows.then(|| task.abort_handle()) }
    }

    /// The exchange that it has come to.
    pub fn hop(&self) -> Hop {
        self.way.borrow().clone()
    }

    /// Returns once its last exchange is over.
    pub async fn over(&self) {
        let mut way = self.way.clone();
        // An error means that nobody goes on with it, so that this is the last one.
        let _ = way.wait_for(|hop| hop.last).await;
        self.hop().control.over().await;
    }

    /// The same, within a time; gives whether it is.
    pub async fn over_within(&self, within: Duration) -> bool {
        timeout_at(Instant::now() + within, self.over()).await.is_ok()
    }

    /// Whether its last exchange is over.
    pub fn is_over(&self) -> bool {
        let hop = self.hop();
        (hop.last || self.way.has_changed().is_err()) && hop.control.is_over()
    }

    /// Whether its answer said that its connection ends. Returns once all that came was seen; what is not known counts as
    /// said.
    pub async fn announced(&self) -> bool {
        let mut closes = self.closes.clone();
        closes.wait_for(Option::is_some).await.map_or(true, |closes| *closes != Some(false))
    }

    /// Follows no further redirect.
    pub fn stay(&self) {
        if let Some(follower) = &self.follower {
            follower.abort();
        }
    }
}

impl Follower {
    /// Reads what comes, which is in the trace by itself, and goes on where it says so. Gives whether the last answer
    /// said that its connection ends.
    async fn follow(mut self, mut incoming: Receiver, tell: watch::Sender<Hop>) -> bool {
        let mut head = None;
        for number in 1.. {
            let moved;
            (head, moved) = self.answer(&mut incoming).await;
            let location = head.as_ref().filter(|_| moved).and_then(redirects::leads_to);
            let (Some(location), Some((url, again))) = (location, &mut self.again) else { break };
            let from = tell.borrow().control.clone();
            match go(url, again, self.ending, &tell, number, location).await {
                Ok(next) => incoming = next,
                Err(why) => {
                    let mark = Mark { mark: redirects::NOT_FOLLOWED.to_owned(), text: why };
                    self.recorder.record(Some(from.conn()), None, EventKind::Mark(mark));
                    break;
                }
            }
        }
        tell.send_modify(|hop| hop.last = true);
        head.is_some_and(|head| says_close(&head))
    }

    /// The head of the answer, and whether it came whole and leads on to where we go.
    async fn answer(&mut self, incoming: &mut Receiver) -> (Option<HttpResponse>, bool) {
        let mut head = None;
        while let Some(came) = incoming.recv().await {
            if let Some(watch) = &mut self.watch {
                watch(&came);
            }
            match came {
                Incoming::Head(found) => head = Some(found),
                Incoming::Body(body) if body.last && self.again.is_some() && head.as_ref().is_some_and(moves) => {
                    return (head, true);
                }
                _ => {}
            }
        }
        (head, false)
    }
}

/// Sends a request to where a redirect leads.
///
/// # Errors
/// Why it is not followed.
async fn go(
    url: &mut HttpUrl,
    again: &Again,
    ending: Ending,
    tell: &watch::Sender<Hop>,
    number: usize,
    location: &str,
) -> Result<Receiver, String> {
    if number > redirects::MOST {
        return Err(format!("this is redirect number {number}"));
    }
    let Hop { mut client, control, .. } = tell.borrow().clone();
    let next = url.join(location)?;
    if next.address.host != url.address.host {
        return Err("it leads to another host".to_owned());
    }
    *url = next;
    let mut request = again(url).ok_or("the request names no target")?;
    request.fresh = false;
    if ending == Ending::Usual {
        // So that the same connection can be used.
        control.over().await;
    }
    if url.address != *client.address() {
        client = client.to(url.address.clone());
    }
    let name = redirects::after(redirects::asked(control.conn()), number);
    let exchange = client.send(Some(&name), &request).await.map_err(|e| e.to_string())?;
    let Exchange { control, incoming } = exchange;
    tell.send_replace(Hop { client, control, last: false });
    Ok(incoming)
}

/// Whether an answer leads on.
fn moves(head: &HttpResponse) -> bool {
    redirects::leads_to(head).is_some()
}

/// Whether a connection ends with this answer, by its version and headers (RFC 9112 section 9.3).
fn says_close(head: &HttpResponse) -> bool {
    let says = |word: &str| {
        head.header("connection").flat_map(|v| v.split(',')).any(|token| token.trim().eq_ignore_ascii_case(word))
    };
    says("close") || head.start.starts_with("HTTP/1.0") && !says("keep-alive")
}
