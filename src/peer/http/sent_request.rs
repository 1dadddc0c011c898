//! What the step `http` sends: a request of any kind; and a request that was sent, with where redirects lead it.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use crate::peer::http::HttpUrl;
use crate::peer::params::{encoded, headers};
use crate::protocol::http::redirects;
use crate::protocol::http::verbs::{Body, ChunkSize, Http, Length, LetterCase, Pieces};
use crate::trace::{EventKind, HttpResponse, Mark, Recorder};
use crate::wire::http::{Client, Content, Control, Ending, Exchange, Incoming, Piece, Receiver, Request};
use crate::wire::http_head;
use crate::wire::websocket::SendOptions;

/// A request that was sent. Where it can be made again, it follows redirects by itself.
pub struct SentRequest {
    hops: watch::Receiver<Hop>,
    /// Whether a sound server answers it.
    pub due: bool,
    /// Whether the last response said that the connection ends with it; known once all that came was seen.
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
    /// How the connection ends after a response.
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

    /// Whether its response said that its connection ends. Returns once all that came was seen; what is not known counts as
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
    /// Reads what comes, which is in the trace by itself, and goes on where it says so. Gives whether the last response
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

    /// The head of the response, and whether it came whole and leads on to where we go.
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

/// Whether a response leads on.
fn is_redirect(head: &HttpResponse) -> bool {
    redirects::leads_to(head).is_some()
}

/// Whether a connection ends with this response, by its version and headers (RFC 9112 section 9.3).
fn announces_close(head: &HttpResponse) -> bool {
    let says = |word: &str| {
        head.header("connection").flat_map(|v| v.split(',')).any(|token| token.trim().eq_ignore_ascii_case(word))
    };
    says("close") || head.start.starts_with("HTTP/1.0") && !says("keep-alive")
}

/// How long a request that expects `100-continue` holds its body back where it is not told to go on: a response should come
/// before that (RFC 9110 section 10.1.1).
const CONTINUE: Duration = Duration::from_secs(5);

impl Http {
    /// The request, by this method and for this target where the step does not say; `host` is where it goes, as in a `Host`
    /// header.
    ///
    /// # Errors
    /// What is wrong with the step, as a fragment.
    pub fn request(
        &self,
        (method, target): (&str, &str),
        host: &str,
        deliberate: Option<String>,
    ) -> Result<Request, String> {
        let method = self.method.as_deref().unwrap_or(method);
        let mut request = Request::new(method, self.target.as_deref().unwrap_or(target));
        let Pieces { split, pace, cut } = self.pieces;
        let split = split.map(|split| split.0);
        request.send_options = SendOptions { deliberate, split, cut };
        request.ending = if self.hold || cut.is_some() { Ending::Hold } else { Ending::Usual };
        if let Some(raw) = &self.raw {
            request.raw = Some(raw.clone().into_bytes());
        } else {
            if let Some(version) = &self.version {
                request.version.clone_from(version);
            }
            request.headers = headers(&self.headers.0);
            self.set_body(&mut request)?;
            if let Some(case) = self.header_names {
                let written = |name: String| match case {
                    LetterCase::Lower => name.to_ascii_lowercase(),
                    LetterCase::Upper => name.to_ascii_uppercase(),
                };
                let headers = request.head(host).headers;
                request.headers = headers.into_iter().map(|(name, value)| (written(name), Some(value))).collect();
            }
        }
        if let Some(split) = split.filter(|_| !pace.0.is_zero()) {
            set_pace(&mut request, host, split, pace.0);
        }
        Ok(request)
    }

    /// The same step for another target; none where it has no target, since its head is none of HTTP.
    pub fn moved(&self, target: &str) -> Option<Self> {
        let mut step = self.clone();
        step.target = Some(target.to_owned());
        if let Some(raw) = &self.raw {
            let (start, rest) = raw.split_once("\r\n")?;
            let [method, _, version] = start.split(' ').collect::<Vec<_>>()[..] else { return None };
            step.raw = Some(format!("{method} {target} {version}\r\n{rest}"));
        }
        Some(step)
    }

    /// Puts the body in, and the headers that go with it where they are not given.
    fn set_body(&self, request: &mut Request) -> Result<(), String> {
        let mut add = |name: &str, value: &str| {
            if !request.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                request.headers.push((name.to_owned(), Some(value.to_owned())));
            }
        };
        let Some(body) = &self.body else { return Ok(()) };
        if matches!(body, Body::Json(_)) {
            add("Content-Type", "application/json");
        }
        let mut body = body.bytes()?;
        if let Some(coding) = self.encoding {
            body = encoded(coding.name(), &body);
            add("Content-Encoding", coding.name());
        }
        if self.expect {
            add("Expect", "100-continue");
        }
        let length = match self.length {
            None => (self.chunked.is_none()).then(|| body.len().to_string()),
            Some(Length::Bytes(length)) => Some(length.to_string()),
            Some(Length::None) => None,
        };
        if let Some(length) = length {
            add("Content-Length", &length);
        }
        let pause = if self.expect { CONTINUE } else { Duration::ZERO };
        request.content = match self.chunked {
            Some(ChunkSize(size)) => {
                add("Transfer-Encoding", "chunked");
                let mut pieces: Vec<Piece> = body.chunks(size.max(1)).map(Piece::now).collect();
                if let Some(first) = pieces.first_mut() {
                    first.after = pause;
                }
                Content::Chunked { pieces, trailers: vec![] }
            }
            None => Content::Raw(vec![Piece::after(pause, body)]),
        };
        Ok(())
    }
}

/// Sends the same bytes with a pause between its pieces, those of the head included.
fn set_pace(request: &mut Request, host: &str, split: usize, pace: Duration) {
    let mut bytes = http_head::encode(&request.head(host));
    match &request.content {
        Content::None => {}
        Content::Whole(body) => bytes.extend(body),
        Content::Raw(pieces) => bytes.extend(pieces.iter().flat_map(|piece| &piece.bytes)),
        // Each of them has its pauses already, and the head goes at once.
        Content::Chunked { pieces, trailers } => {
            let pieces = pieces.iter().map(|piece| Piece::after(pace, piece.bytes.clone())).collect();
            request.content = Content::Chunked { pieces, trailers: trailers.clone() };
            return;
        }
    }
    let first = |n: usize| if n == 0 { Duration::ZERO } else { pace };
    let pieces = bytes.chunks(split.max(1)).enumerate().map(|(n, piece)| Piece::after(first(n), piece)).collect();
    request.raw = Some(vec![]);
    request.send_options.split = None;
    request.content = Content::Raw(pieces);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::protocol::openctx::verbs::ClientVerb;

    use super::*;

    fn step(step: Value) -> Request {
        let step: Http = serde_json::from_value(step).unwrap();
        step.request(("POST", "/p?q"), "127.0.0.1:3000", None).unwrap()
    }

    fn header(request: &Request, name: &str) -> Option<String> {
        request.head("h").headers.into_iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    #[test]
    fn header_names_are_written_in_the_case_that_is_asked_for_also_those_that_every_request_has() {
        let names = |case: &str| {
            let sent = step(json!({"json": {}, "headers": {"X-a": "b"}, "header_names": case}));
            sent.head("h").headers.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("upper"), "HOST USER-AGENT ACCEPT X-A CONTENT-TYPE CONTENT-LENGTH");
        assert_eq!(names("lower"), "host user-agent accept x-a content-type content-length");
    }

    #[test]
    fn a_body_has_its_length_unless_it_is_chunked_or_told_otherwise() {
        assert_eq!(header(&step(json!({"text": "abc"})), "Content-Length").as_deref(), Some("3"));
        assert_eq!(header(&step(json!({"text": "abc", "length": 9})), "Content-Length").as_deref(), Some("9"));
        assert_eq!(header(&step(json!({"text": "abc", "length": "none"})), "Content-Length"), None);
        let both = step(json!({"text": "abc", "chunked": 2, "length": 3}));
        assert_eq!(header(&both, "Content-Length").as_deref(), Some("3"));
        assert_eq!(header(&both, "Transfer-Encoding").as_deref(), Some("chunked"));
        let chunked = step(json!({"text": "abc", "chunked": 2}));
        assert_eq!(header(&chunked, "Content-Length"), None);
        let pieces = vec![Piece::now("ab"), Piece::now("c")];
        assert_eq!(chunked.content, Content::Chunked { pieces, trailers: vec![] });
    }

    #[test]
    fn what_is_sent_at_a_pace_is_the_same_in_pieces() {
        let request = step(json!({"method": "GET", "split": 10, "pace": "5ms"}));
        let Content::Raw(pieces) = &request.content else { panic!("pieces") };
        assert_eq!(pieces[0], Piece::now("GET /p?q H"));
        assert_eq!(pieces[1].after, Duration::from_millis(5));
        let all: Vec<u8> = pieces.iter().flat_map(|piece| piece.bytes.clone()).collect();
        assert!(all.ends_with(b"\r\n\r\n"));
        assert_eq!(request.raw, Some(vec![]));
    }

    #[test]
    fn a_step_can_be_sent_to_another_target() {
        let moved = |step: Value| {
            let step: Http = serde_json::from_value(step).unwrap();
            Some(step.moved("/b")?.request(("POST", "/"), "h", None).unwrap())
        };
        assert_eq!(moved(json!({"text": "x", "target": "/a"})).unwrap().target, "/b");
        let raw = moved(json!({"raw": "POST / HTTP/1.1\r\nHost: a b c\r\n\r\nx"})).unwrap().raw;
        assert_eq!(raw, Some(b"POST /b HTTP/1.1\r\nHost: a b c\r\n\r\nx".to_vec()));
        assert!(moved(json!({"raw": "nonsense\r\n\r\n"})).is_none());
        let paced = moved(json!({"method": "GET", "split": 100, "pace": "5ms"})).unwrap();
        let Content::Raw(pieces) = &paced.content else { panic!("pieces") };
        assert!(pieces[0].bytes.starts_with(b"GET /b HTTP/1.1"));
    }

    #[test]
    fn two_bodies_are_one_too_many() {
        let step = crate::format::variant::<ClientVerb>("http", json!({"text": "", "json": {}}));
        assert_eq!(step.unwrap_err(), "`http` takes at most one of json, text, hex, fill");
    }
}
