//! One request to the provider, and what a client takes from the answer.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};

use crate::peer::http_url::HttpUrl;
use crate::protocol::openctx::redirects;
use crate::trace::{End, HttpResponse, Message, Payload, Recorder};
use crate::wire::http::{Broken, Client, Content, Exchanges, Incoming, Limits, Request};

use super::failure::{Failure, Kind};
use super::quirks::{Effect, Quirks, Switch};
use super::seen::Seen;

/// How long an answer may take: providers ask others, who take their time (docs/openctx.md, Time).
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a client waits that a flaw makes impatient.
const IMPATIENCE: Duration = Duration::from_millis(500);
/// An answer beyond this is huge, in bytes.
const HUGE: usize = 1 << 20;
/// How many bytes of an answer are read.
const MOST: usize = 64 << 20;
/// A connection that was used within this time is not one that stood idle.
const IDLE: Duration = Duration::from_millis(100);

/// Asks one provider.
pub struct Asker {
    url: HttpUrl,
    client: Client,
    quirks: Quirks,
    past: Mutex<Past>,
    one_body: tokio::sync::Mutex<()>,
}

/// What flaws remember of earlier exchanges.
#[derive(Default)]
struct Past {
    /// The highest number of a TCP connection.
    tcp: u64,
    /// When the last answer came, and whether it said that its connection ends.
    last: Option<(Instant, bool)>,
}

impl Asker {
    /// Of the provider at this URL.
    pub fn new(url: HttpUrl, quirks: Quirks, recorder: Recorder) -> Self {
        let exchanges = Exchanges::new(recorder, End::Client);
        let client = Client::new(url.address.clone(), exchanges, limits());
        Self { url, client, quirks, past: Mutex::default(), one_body: tokio::sync::Mutex::default() }
    }

    /// The result of a method.
    pub async fn ask(&self, method: &'static str, mut params: Value, settings: Value) -> Result<Value, Failure> {
        let change = |effect| match effect {
            Effect::Params(of, change) if of == method => Some(change),
            _ => None,
        };
        let mut why = self.quirks.rewrite(&mut params, change);
        let members = [("method", Value::from(method)), ("params", params), ("settings", settings)];
        let mut message = Value::Object(Map::from_iter(members.map(|(key, value)| (key.to_owned(), value))));
        let change = |effect| if let Effect::Message(change) = effect { Some(change) } else { None };
        why = self.quirks.rewrite(&mut message, change).or(why);
        let mut text = message.to_string().into_bytes();
        let change = |effect| if let Effect::Text(change) = effect { Some(change) } else { None };
        why = self.quirks.rewrite(&mut text, change).or(why);
        let mut request = Request::new("POST", self.url.target.clone())
            .header("Content-Type", "application/json; charset=utf-8")
            .header("Accept-Encoding", "gzip, deflate")
            .content(Content::Whole(text));
        let change = |effect| if let Effect::Http(change) = effect { Some(change) } else { None };
        why = self.quirks.rewrite(&mut request, change).or(why);
        request.manner.deliberate = why.map(str::to_owned);
        request.fresh = self.quirks.has(Switch::FreshConnections);
        let patience = if self.quirks.has(Switch::Impatient) { IMPATIENCE } else { PATIENCE };
        let answered = timeout(patience, self.follow(method, request)).await;
        let seen = answered.map_err(|_| Failure::new(Kind::Late, "the provider did not answer in time"))??;
        self.take(&seen)
    }

    /// Sends a request, and again to where a redirect leads.
    async fn follow(&self, method: &'static str, mut request: Request) -> Result<Seen, Failure> {
        let mut client = self.client.clone();
        let mut url = self.url.clone();
        for hop in 0.. {
            let seen = self.exchange(&client, method, &request).await?;
            let moved = matches!(seen.status, 301 | 302 | 303 | 307 | 308) && !self.quirks.has(Switch::NoRedirects);
            let Some(location) = seen.header("location").filter(|_| moved) else { return Ok(seen) };
            if hop == redirects::MOST {
                if self.quirks.has(Switch::RedirectsForever) {
                    std::future::pending::<()>().await;
                }
                return Err(Failure::new(Kind::Status, "redirect count exceeded"));
            }
            url = url.join(location).map_err(|what| Failure::new(Kind::Status, what))?;
            if url.address != *client.address() {
                client = client.to(url.address.clone());
            }
            request.target.clone_from(&url.target);
            if matches!(seen.status, 301..=303) {
                // As the Fetch standard has it for a POST.
                request.method = "GET".to_owned();
                request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
                request.content = Content::None;
            }
        }
        Err(Failure::new(Kind::Status, "redirect count exceeded"))
    }

    async fn exchange(&self, client: &Client, method: &'static str, request: &Request) -> Result<Seen, Failure> {
        match self.once(client, method, request).await {
            // It was closed while it stood idle: nobody has read the request.
            Err((_, Some(Broken::Closed { reused: true, .. }))) => {
                let again = Request { fresh: true, ..request.clone() };
                self.once(client, method, &again).await.map_err(|(failure, _)| failure)
            }
            outcome => outcome.map_err(|(failure, _)| failure),
        }
    }

    async fn once(
        &self,
        client: &Client,
        method: &'static str,
        request: &Request,
    ) -> Result<Seen, (Failure, Option<Broken>)> {
        let refused = |e: crate::wire::tcp::ConnectError| (Failure::new(Kind::Refused, e.to_string()), None);
        let mut exchange = client.send(None, request).await.map_err(refused)?;
        let tcp = exchange.control.tcp();
        let (reused, replaced, lost) = self.connection(tcp);
        if lost && self.quirks.has(Switch::IgnoresClose) {
            return Err((Failure::new(Kind::Flaw, "the connection is closed"), None));
        }
        let mut told_to_go_on = false;
        let (mut interim, mut head, mut pieces, mut message) = (false, None::<HttpResponse>, vec![], None::<Message>);
        let mut one_body = None;
        while let Some(incoming) = exchange.recv().await {
            match incoming {
                Incoming::Interim(head) => {
                    interim = true;
                    told_to_go_on |= head.status() == Some(100);
                }
                Incoming::Head(found) => {
                    head = Some(found);
                    if self.quirks.has(Switch::OneBody) {
                        one_body = Some(self.one_body.lock().await);
                    }
                }
                Incoming::Body(body) => pieces.push(body.bytes.as_bytes().to_vec()),
                Incoming::Event(_) => {}
                Incoming::Message(found) => message = Some(found),
                Incoming::Broken(broken) => {
                    if head.is_some() && self.quirks.has(Switch::IncompleteAsResult) {
                        return Ok(incomplete(method, head.unwrap_or_else(ok)));
                    }
                    return Err((Failure::of_exchange(&broken, head.is_some()), Some(broken)));
                }
            }
        }
        drop(one_body);
        let Some(head) = head else { return Err((Failure::new(Kind::Closed, "there was no answer"), None)) };
        self.note_end(&head);
        let body = self.body(&head, &pieces, message);
        let status = head.status().unwrap_or_default();
        let json = json_of(&body).ok();
        Ok(Seen { method, status, head, interim, told_to_go_on, reused, replaced, body, json })
    }

    /// What is known of a connection: whether it was used before, whether it took the place of one that had stood idle,
    /// and whether the one before it ended with its answer.
    fn connection(&self, tcp: u64) -> (bool, bool, bool) {
        let mut past = self.past.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let reused = tcp <= past.tcp;
        past.tcp = past.tcp.max(tcp);
        let replaced = past.last.is_some_and(|(at, closes)| !reused && !closes && at.elapsed() > IDLE);
        let lost = past.last.take().is_some_and(|(_, closes)| closes);
        (reused, replaced, lost)
    }

    fn note_end(&self, head: &HttpResponse) {
        let closes = head.header("connection").any(|value| value.to_ascii_lowercase().contains("close"));
        let mut past = self.past.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        past.last = Some((Instant::now(), closes));
    }

    /// The body with its content coding undone, and as flaws make it.
    fn body(&self, head: &HttpResponse, pieces: &[Vec<u8>], message: Option<Message>) -> Vec<u8> {
        let coded = head.header("content-encoding").next().is_some();
        let mut body = match message {
            Some(Message { payload: Some(Payload::Text(text)), .. }) if coded => text.into_bytes(),
            Some(Message { payload: Some(Payload::Binary(bytes)), .. }) if coded => bytes.to_vec(),
            Some(Message { json: Some(json), .. }) if coded => json.to_string().into_bytes(),
            _ if self.quirks.has(Switch::PiecesApart) => {
                pieces.iter().flat_map(|piece| String::from_utf8_lossy(piece).into_owned().into_bytes()).collect()
            }
            _ => pieces.concat(),
        };
        let change = |effect| if let Effect::Incoming(change) = effect { Some(change) } else { None };
        self.quirks.rewrite(&mut body, change);
        body
    }

    /// What a client takes from an answer.
    fn take(&self, seen: &Seen) -> Result<Value, Failure> {
        let has = |switch| self.quirks.has(switch);
        if let Some(flaw) = self.quirks.fails(seen) {
            return Err(Failure::new(Kind::Flaw, format!("this client does not take such an answer ({flaw})")));
        }
        if !((200..300).contains(&seen.status) || has(Switch::ReadsFailures) && seen.json.is_some()) {
            return Err(Failure::of_status(seen.status));
        }
        let Some(json) = &seen.json else {
            let coded = seen.header("content-encoding").is_some_and(|c| matches!(c, "gzip" | "deflate"));
            if coded && has(Switch::BadCodingAsResult) || !coded && has(Switch::BadJsonAsResult) {
                return Ok(entry(seen.method));
            }
            let kind = match json_of(&seen.body) {
                Err(e) if e.to_string().contains("recursion") => Kind::Deep,
                _ if coded => Kind::Coding,
                _ => Kind::Json,
            };
            return Err(Failure::new(kind, "the answer is no JSON"));
        };
        let given = |key: &str| json.get(key).filter(|value| is_truthy(value));
        let (error, result) = (given("error"), given("result"));
        let error = error.filter(|_| !(has(Switch::ResultFirst) && result.is_some()));
        if let Some(error) = error {
            let code = error.get("code").and_then(Value::as_i64).unwrap_or(1);
            let lenient = has(Switch::ErrorsAsResults)
                || has(Switch::ZeroIsNoError) && code <= 0
                || has(Switch::DataAsResult) && error.get("data").is_some();
            return if lenient { Ok(entry(seen.method)) } else { Err(Failure::of_error(error)) };
        }
        let Some(result) = result else {
            if has(Switch::NothingAsResult) {
                return Ok(entry(seen.method));
            }
            return Err(Failure::new(Kind::Envelope, "the answer has neither a result nor an error"));
        };
        let fits = if seen.method == "meta" { result.is_object() } else { result.is_array() };
        if fits { Ok(result.clone()) } else { Err(Failure::new(Kind::Type, "the result has the wrong type")) }
    }

    /// Whether an answer of this length would make a fragile client die.
    pub fn is_huge(result: &Value) -> bool {
        result.to_string().len() > HUGE
    }
}

fn limits() -> Limits {
    Limits { message: MOST, body: MOST as u64, head_within: PATIENCE, body_within: PATIENCE, ..Limits::default() }
}

fn json_of(body: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body))
}

/// As JavaScript has it.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

/// What a client makes up that takes for a result what is none.
fn entry(method: &str) -> Value {
    let item = serde_json::json!({"title": "unknown", "name": "unknown", "uri": "unknown:"});
    if method == "meta" { item } else { Value::Array(vec![item]) }
}

fn incomplete(method: &'static str, head: HttpResponse) -> Seen {
    let json = serde_json::json!({"result": entry(method)});
    let body = json.to_string().into_bytes();
    let json = Some(json);
    let (interim, told_to_go_on, reused, replaced) = (false, false, false, false);
    Seen { method, status: 200, head, interim, told_to_go_on, reused, replaced, body, json }
}

fn ok() -> HttpResponse {
    HttpResponse { start: "HTTP/1.1 200 OK".to_owned(), headers: vec![], raw: None }
}
