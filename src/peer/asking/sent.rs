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
pub struct SentRequest {
    hops: watch::Receiver<Hop>,
    /// Whether a sound server answers it.
    pub due: bool,
    /// Whether the last answer said that the connection ends with it; known once all that came was seen.
    connection_ends: watch::Receiver<Option<bool>>,
    /// Follows redirects, if that is done.
    follower: Option<AbortHandle>,
}

/// One exchange of a request that may be redirected.
#[derive(Clone)]
pub struct Hop {
    pub client: Client,
    pub control: Control,
    /// Whether no other one follows.
    last: bool,
}

/// What makes the same request for another URL; nothing where it has no URL.
pub type Resend = Box<dyn Fn(&HttpUrl) -> Option<Request> + Send + Sync>;

/// Sees what comes in answer to a request, in order, after it is in the trace.
pub type Watch = Box<dyn FnMut(&Incoming) + Send>;

/// Takes in what comes, and follows redirects.
pub struct RedirectFollower {
    /// Where the request goes, and what makes it again for another URL; none where redirects are not followed.
    pub resend: Option<(HttpUrl, Resend)>,
    /// The function that gets each incoming part.
    pub watch: Option<Watch>,
    /// The trace.
    pub recorder: Recorder,
    /// How the connection ends after an answer.
    pub ending: Ending,
}

impl SentRequest {
    /// A request whose exchange has begun; the follower goes on with it.
    pub fn new(client: Client, exchange: Exchange, due: bool, follower: RedirectFollower) -> Self {
        let Exchange { control, incoming } = exchange;
        let (hop_sender, hops) = watch::channel(Hop { client, control, last: false });
        let follows = follower.resend.is_some();
        let (close_sender, connection_ends) = watch::channel(None);
        let task = tokio::spawn(async move {
            let announced_close = follower.follow(incoming, hop_sender).await;
            close_sender.send_replace(Some(announced_close));
        });
        Self { hops, due, connection_ends, follower: follows.then(|| task.abort_handle()) }
    }

    /// The exchange that it has come to.
    pub fn hop(&self) -> Hop {
        self.hops.borrow().clone()
    }

    /// Returns once its last exchange is over.
    pub async fn over(&self) {
        let mut hops = self.hops.clone();
        // An error means that nobody goes on with it, so that this is the last one.
        let _ = hops.wait_for(|hop| hop.last).await;
        self.hop().control.over().await;
    }

    /// Waits for the same within a time; returns whether it came.
    pub async fn over_within(&self, within: Duration) -> bool {
        timeout_at(Instant::now() + within, self.over()).await.is_ok()
    }

    /// Whether its last exchange is over.
    pub fn is_over(&self) -> bool {
        let hop = self.hop();
        (hop.last || self.hops.has_changed().is_err()) && hop.control.is_over()
    }

    /// Whether its answer said that its connection ends. Returns once all that came was seen; what is not known counts as
    /// said.
    pub async fn announced(&self) -> bool {
        let mut connection_ends = self.connection_ends.clone();
        connection_ends.wait_for(Option::is_some).await.map_or(true, |connection_ends| *connection_ends != Some(false))
    }

    /// Follows no further redirect.
    pub fn stop_following(&self) {
        if let Some(follower) = &self.follower {
            follower.abort();
        }
    }
}

impl RedirectFollower {
    /// Reads what comes, which is in the trace by itself, and goes on where it says so. Gives whether the last answer
    /// said that its connection ends.
    async fn follow(mut self, mut incoming: Receiver, hop_sender: watch::Sender<Hop>) -> bool {
        let mut head = None;
        for number in 1.. {
            let moved;
            (head, moved) = self.read_response(&mut incoming).await;
            let location = head.as_ref().filter(|_| moved).and_then(redirects::leads_to);
            let (Some(location), Some((url, resend))) = (location, &mut self.resend) else { break };
            let from = hop_sender.borrow().control.clone();
            match follow_redirect(url, resend, self.ending, &hop_sender, number, location).await {
                Ok(next) => incoming = next,
                Err(why) => {
                    let mark = Mark { mark: redirects::NOT_FOLLOWED.to_owned(), text: why };
                    self.recorder.record(Some(from.conn()), None, EventKind::Mark(mark));
                    break;
                }
            }
        }
        hop_sender.send_modify(|hop| hop.last = true);
        head.is_some_and(|head| announces_close(&head))
    }

    /// The head of the answer, and whether it came whole and leads on to where we go.
    async fn read_response(&mut self, incoming: &mut Receiver) -> (Option<HttpResponse>, bool) {
        let mut head = None;
        while let Some(came) = incoming.recv().await {
            if let Some(watch) = &mut self.watch {
                watch(&came);
            }
            match came {
                Incoming::Head(found) => head = Some(found),
                Incoming::Body(body)
                    if body.last && self.resend.is_some() && head.as_ref().is_some_and(is_redirect) =>
                {
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
async fn follow_redirect(
    url: &mut HttpUrl,
    resend: &Resend,
    ending: Ending,
    hop_sender: &watch::Sender<Hop>,
    number: usize,
    location: &str,
) -> Result<Receiver, String> {
    if number > redirects::MAX_REDIRECTS {
        return Err(format!("this is redirect number {number}"));
    }
    let Hop { mut client, control, .. } = hop_sender.borrow().clone();
    let next = url.join(location)?;
    if next.address.host != url.address.host {
        return Err("it leads to another host".to_owned());
    }
    *url = next;
    let mut request = resend(url).ok_or("the request names no target")?;
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
    hop_sender.send_replace(Hop { client, control, last: false });
    Ok(incoming)
}

/// Whether an answer leads on.
fn is_redirect(head: &HttpResponse) -> bool {
    redirects::leads_to(head).is_some()
}

/// Whether a connection ends with this answer, by its version and headers (RFC 9112 section 9.3).
fn announces_close(head: &HttpResponse) -> bool {
    let says = |word: &str| {
        head.header("connection").flat_map(|v| v.split(',')).any(|token| token.trim().eq_ignore_ascii_case(word))
    };
    says("close") || head.start.starts_with("HTTP/1.0") && !says("keep-alive")
}
