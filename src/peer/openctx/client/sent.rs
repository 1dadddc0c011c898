//! A request that was sent, and where redirects lead it.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::peer::http_url::HttpUrl;
use crate::protocol::openctx::redirects;
use crate::trace::{HttpResponse, Mark, Recorder, What};
use crate::wire::http::{Client, Control, Ending, Exchange, Incoming, Receiver, Request};

/// A request that was sent. It follows redirects by itself, as the reference client does.
pub struct Sent {
    way: watch::Receiver<Hop>,
    /// Whether a sound provider answers it.
    pub due: bool,
    /// Whether the last answer said that the connection ends with it.
    closes: Option<JoinHandle<bool>>,
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
pub type Again = Box<dyn Fn(&HttpUrl) -> Option<Request> + Send>;

/// Follows redirects.
pub struct Follower {
    pub url: HttpUrl,
    pub again: Again,
    pub recorder: Recorder,
    /// How the connection ends after an answer.
    pub ending: Ending,
}

impl Sent {
    /// Of an exchange that has begun, and that a follower goes on with.
    pub fn new(client: Client, exchange: Exchange, due: bool, follower: Follower) -> Self {
        let Exchange { control, incoming } = exchange;
        let (tell, way) = watch::channel(Hop { client, control, last: false });
        let closes = tokio::spawn(follower.follow(incoming, tell));
        Self { way, due, closes: Some(closes) }
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

    /// Whether its answer said that its connection ends. What is not known counts as said.
    pub async fn announced(&mut self) -> bool {
        match self.closes.take() {
            Some(closes) => closes.await.unwrap_or(true),
            None => true,
        }
    }

    /// Follows no further redirect.
    pub fn stay(&self) {
        if let Some(closes) = &self.closes {
            closes.abort();
        }
    }
}

impl Follower {
    /// Reads what comes, which is in the trace by itself, and goes on where it says so. Gives whether the last answer
    /// said that its connection ends.
    async fn follow(mut self, mut incoming: Receiver, tell: watch::Sender<Hop>) -> bool {
        let mut head = None;
        for number in 1.. {
            head = whole(&mut incoming).await;
            let Some(location) = head.as_ref().and_then(redirects::leads_to) else { break };
            let from = tell.borrow().control.clone();
            match self.go(&tell, number, location).await {
                Ok(next) => incoming = next,
                Err(why) => {
                    let mark = Mark { mark: redirects::NOT_FOLLOWED.to_owned(), text: why };
                    self.recorder.record(Some(from.conn()), None, What::Mark(mark));
                    break;
                }
            }
        }
        tell.send_modify(|hop| hop.last = true);
        head.is_some_and(|head| says_close(&head))
    }

    /// Sends the request to where a redirect leads.
    ///
    /// # Errors
    /// Why it is not followed.
    async fn go(&mut self, tell: &watch::Sender<Hop>, number: usize, location: &str) -> Result<Receiver, String> {
        if number > redirects::MOST {
            return Err(format!("this is redirect number {number}"));
        }
        let Hop { mut client, control, .. } = tell.borrow().clone();
        let next = self.url.join(location)?;
        if next.address.host != self.url.address.host {
            return Err("it leads to another host".to_owned());
        }
        self.url = next;
        let mut request = (self.again)(&self.url).ok_or("the request names no target")?;
        request.fresh = false;
        if self.ending == Ending::Usual {
            // So that the same connection can be used.
            control.over().await;
        }
        if self.url.address != *client.address() {
            client = client.to(self.url.address.clone());
        }
        let name = redirects::after(redirects::asked(control.conn()), number);
        let exchange = client.send(Some(&name), &request).await.map_err(|e| e.to_string())?;
        let Exchange { control, incoming } = exchange;
        tell.send_replace(Hop { client, control, last: false });
        Ok(incoming)
    }
}

/// The head of the answer, once that is whole; none where it never is.
async fn whole(incoming: &mut Receiver) -> Option<HttpResponse> {
    let mut head = None;
    while let Some(came) = incoming.recv().await {
        match came {
            Incoming::Head(found) => head = Some(found),
            Incoming::Body(body) if body.last => return head,
            Incoming::Broken(_) => return None,
            _ => {}
        }
    }
    head
}

/// Whether a connection ends with this answer, by its version and headers (RFC 9112 section 9.3).
fn says_close(head: &HttpResponse) -> bool {
    let says = |word: &str| {
        head.header("connection").flat_map(|v| v.split(',')).any(|token| token.trim().eq_ignore_ascii_case(word))
    };
    says("close") || head.start.starts_with("HTTP/1.0") && !says("keep-alive")
}
