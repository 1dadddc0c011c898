//! The requests of the HTTP interface: [`Interface`].

use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::export::chart::party;
use crate::trace::{Event, HttpRequest, Party, PartyKind};
use crate::wire::http::{Handler, OnHead, Received, Responder, Response};

use super::access::{Access, Denial};
use super::api::{
    ActRequest, ActResult, Deviations, EventDetail, EventPage, KeepRequest, OpenRequest, PlayList, PlayRequest,
    Refusal, ScenarioList, SessionDescription, ShrinkRequest, Switch, TraceList,
};
use super::compare::{CompareSide, compare};
use super::copies::copies;
use super::feed::Feed;
use super::inspector::Inspector;
use super::keep::{KeepError, keep};
use super::live;
use super::page;
use super::query::Query;
use super::samples::{step_at, without_names};
use super::suite::Suite;
use super::traces::{SESSION, Traces};

/// How many rows a page of events has at most, and where nothing is said.
const MAX_ROWS: usize = 1000;
const ROWS: usize = 200;

/// How long events are looked at for one request.
const SCAN: Duration = Duration::from_millis(150);

/// How many events before one are read to make an act of it.
const BEFORE: usize = 500;

/// Header fields of every response. Scripts, styles and connections of the page are its own, nobody shows it in a frame, and nothing
/// of it is kept.
const HEADERS: [(&str, &str); 7] = [
    (
        "Content-Security-Policy",
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
];

/// Answers requests for the page and for the interface.
pub struct Interface {
    inspector: Arc<Inspector>,
    traces: Arc<Traces>,
    access: Access,
}

/// A request that is refused: the status, and why.
struct Failed(&'static str, String);

impl Failed {
    fn request(why: impl Into<String>) -> Self {
        Self("400 Bad Request", why.into())
    }

    fn refused(why: impl Into<String>) -> Self {
        Self("422 Unprocessable Content", why.into())
    }

    fn unreadable(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self("404 Not Found", error.to_string()),
            _ => Self("500 Internal Server Error", format!("the trace file cannot be read: {error}")),
        }
    }
}

impl From<Denial> for Failed {
    fn from(denial: Denial) -> Self {
        Self(denial.status(), denial.message().to_owned())
    }
}

impl Interface {
    /// For an inspector; only who has access may use it.
    pub fn new(inspector: Inspector, access: Access) -> Self {
        let traces = Arc::new(Traces::new(inspector.feed.clone(), inspector.suite.clone()));
        Self { inspector: Arc::new(inspector), traces, access }
    }

    async fn answer(&self, request: &Received) -> Result<Response, Failed> {
        let head = &request.head;
        let get = |allowed: &str| match head.method() == allowed {
            true => Ok(()),
            false => Err(Failed("405 Method Not Allowed", format!("only {allowed} is possible here"))),
        };
        match head.path() {
            "/api/session" => get("GET").map(|()| self.session())?.await,
            "/api/events" => get("GET").map(|()| self.events(head))?.await,
            "/api/findings" => get("GET").and_then(|()| Ok(json_of(&self.trace_of(head)?.findings()))),
            "/api/act" => get("POST").map(|()| self.act(request))?.await,
            "/api/deviations" => get("POST").map(|()| self.switch(request))?.await,
            "/api/keep" => get("POST").map(|()| self.keep(request))?.await,
            "/api/traces" if head.method() == "POST" => self.open(request).await,
            "/api/traces" => get("GET").map(|()| json_of(&TraceList { traces: self.traces.list() })),
            "/api/compare" => get("GET").map(|()| self.compare(head))?.await,
            "/api/scenarios" => get("GET").map(|()| self.scenarios())?.await,
            "/api/plays" if head.method() == "POST" => self.play(request).await,
            "/api/plays" => get("GET").map(|()| json_of(&self.plays())),
            "/api/shrink" => get("POST").map(|()| self.shrink(request))?.await,
            "/api/stop" => get("POST").and_then(|()| self.stop(request)),
            path => match path.strip_prefix("/api/events/") {
                Some(number) => {
                    get("GET")?;
                    let number = number.parse().map_err(|_| Failed::request("an event has a number"))?;
                    self.event(head, number).await
                }
                None => Err(Failed("404 Not Found", format!("there is nothing at {path:.80}"))),
            },
        }
    }

    async fn session(&self) -> Result<Response, Failed> {
        let inspector = self.inspector.clone();
        // Making examples takes some time.
        let acts = blocking(move || inspector.controls.acts()).await?;
        let Inspector { session, feed, controls, .. } = &*self.inspector;
        let header = feed.header();
        // At a mock, whoever connects is not recorded but live.
        let is_mock = session.command == "mock";
        let name = |end: &Party| match is_mock && end.is == PartyKind::Unknown {
            true => "whoever connects".to_owned(),
            false => party(end),
        };
        Ok(json_of(&SessionDescription {
            title: session.title.clone(),
            command: session.command.to_owned(),
            protocol: header.protocol.clone(),
            edition: header.edition.clone(),
            role: session.role.map(|role| role.name.to_owned()),
            client: name(&header.client),
            server: name(&header.server),
            start: header.clock.start.to_string(),
            place: session.place.clone(),
            live: feed.live(),
            acts,
            deviations: controls.deviations().await,
            state: controls.state().await,
            keep: session.keep.display().to_string(),
        }))
    }

    async fn events(&self, head: &HttpRequest) -> Result<Response, Failed> {
        let parameters = parameters(head);
        let pairs = || parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let query = Query::from_parameters(pairs()).map_err(Failed::request)?;
        let number = |wanted: &str| match pairs().find(|(name, _)| *name == wanted) {
            None => Ok(None),
            Some((_, value)) => {
                value.parse::<u64>().map(Some).map_err(|_| Failed::request(format!("`{wanted}` is no number")))
            }
        };
        let (from, around) = (number("from")?.unwrap_or_default(), number("around")?);
        let limit = number("limit")?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(ROWS).min(MAX_ROWS);
        let feed = self.trace_of(head)?;
        let page: EventPage = blocking(move || feed.page(&query, around, from, limit, SCAN))
            .await?
            .map_err(|error| Failed::unreadable(&error))?;
        Ok(json_of(&page))
    }

    async fn event(&self, head: &HttpRequest, i: u64) -> Result<Response, Failed> {
        let (inspector, feed) = (self.inspector.clone(), self.trace_of(head)?);
        let detail =
            blocking(move || detail(&inspector, &feed, i)).await?.map_err(|error| Failed::unreadable(&error))?;
        Ok(json_of(&detail))
    }

    async fn act(&self, request: &Received) -> Result<Response, Failed> {
        let ActRequest { act, params } = body(request)?;
        let ok = self.inspector.controls.act(&act, &params).await.map_err(Failed::refused)?;
        Ok(json_of(&ActResult { ok }))
    }

    async fn switch(&self, request: &Received) -> Result<Response, Failed> {
        let Switch { name, on } = body(request)?;
        let controls = &self.inspector.controls;
        controls.switch(&name, on).await.map_err(Failed::refused)?;
        Ok(json_of(&Deviations { deviations: controls.deviations().await }))
    }

    async fn keep(&self, request: &Received) -> Result<Response, Failed> {
        let wanted: KeepRequest = body(request)?;
        let inspector = self.inspector.clone();
        let feed = self.trace(wanted.trace.as_deref().unwrap_or(SESSION))?;
        let kept = blocking(move || keep(&feed, &wanted, &inspector.session.keep)).await?;
        let kept = kept.map_err(|error| match &error {
            KeepError::Request(_) => Failed::refused(error.to_string()),
            KeepError::System { .. } => Failed("500 Internal Server Error", error.to_string()),
        })?;
        Ok(json_of(&kept))
    }

    async fn open(&self, request: &Received) -> Result<Response, Failed> {
        let OpenRequest { path } = body(request)?;
        let traces = self.traces.clone();
        let opened = blocking(move || traces.open(path.as_ref())).await?;
        Ok(json_of(&opened.map_err(Failed::refused)?))
    }

    async fn compare(&self, head: &HttpRequest) -> Result<Response, Failed> {
        let side = |trace: &str, connection: &str| -> Result<CompareSide, Failed> {
            let name = parameter(head, trace).unwrap_or_else(|| SESSION.to_owned());
            let connection = parameter(head, connection).filter(|connection| !connection.is_empty());
            Ok(CompareSide { feed: self.trace(&name)?, connection })
        };
        let (left, right) = (side("left", "left-conn")?, side("right", "right-conn")?);
        if left.connection.is_some() != right.connection.is_some() {
            return Err(Failed::request("a connection is compared with a connection: say both, or none"));
        }
        let compared = blocking(move || compare(&left, &right)).await?;
        Ok(json_of(&compared.map_err(Failed::refused)?))
    }

    async fn scenarios(&self) -> Result<Response, Failed> {
        let Some(suite) = self.inspector.suite.clone() else { return Ok(json_of(&ScenarioList::default())) };
        // Reading the scenarios takes some time.
        Ok(json_of(&blocking(move || suite.scenarios()).await?))
    }

    fn plays(&self) -> PlayList {
        self.inspector.suite.as_ref().map(|suite| suite.plays()).unwrap_or_default()
    }

    async fn play(&self, request: &Received) -> Result<Response, Failed> {
        let (wanted, suite): (PlayRequest, _) = (body(request)?, self.suite()?);
        let runtime = Handle::current();
        blocking(move || suite.play(&wanted, &runtime)).await?.map_err(Failed::refused)?;
        Ok(json_of(&self.plays()))
    }

    async fn shrink(&self, request: &Received) -> Result<Response, Failed> {
        let (wanted, suite): (ShrinkRequest, _) = (body(request)?, self.suite()?);
        let runtime = Handle::current();
        blocking(move || suite.shrink(&wanted, &runtime)).await?.map_err(Failed::refused)?;
        Ok(json_of(&self.plays()))
    }

    fn stop(&self, request: &Received) -> Result<Response, Failed> {
        let _: serde_json::Map<String, Value> = body(request)?;
        self.suite()?.stop();
        Ok(json_of(&self.plays()))
    }

    fn suite(&self) -> Result<Arc<Suite>, Failed> {
        let nobody = "scenarios are played where wirecert stands opposite a subject: `wirecert inspect`";
        self.inspector.suite.clone().ok_or_else(|| Failed::refused(nobody))
    }

    /// The trace that a request names; that of the session where it names none.
    fn trace_of(&self, head: &HttpRequest) -> Result<Feed, Failed> {
        self.trace(parameter(head, "trace").as_deref().unwrap_or(SESSION))
    }

    fn trace(&self, name: &str) -> Result<Feed, Failed> {
        self.traces.get(name).ok_or_else(|| Failed("404 Not Found", format!("there is no trace `{name:.80}`")))
    }
}

impl Handler for Interface {
    fn on_head(&self, request: &HttpRequest) -> OnHead {
        // Nothing that is sent by who has no access is read.
        let access = if is_api(request) { self.access.check(request) } else { self.access.check_origin(request) };
        if access.is_ok() { OnHead::Read } else { OnHead::Answer }
    }

    async fn handle(&self, request: Received, responder: Responder) {
        let head = &request.head;
        let answer = match is_api(head) {
            true => match self.access.check(head) {
                Ok(()) if head.path() == "/api/live" && head.method() == "GET" => match self.trace_of(head) {
                    Ok(feed) => {
                        // Fails only where the client is gone.
                        let _ = live::stream(&feed, responder, &guarded(Response::event_stream())).await;
                        return;
                    }
                    Err(failed) => Err(failed),
                },
                Ok(()) => self.answer(&request).await,
                Err(denial) => Err(denial.into()),
            },
            false => self.access.check_origin(head).map_err(Failed::from).and_then(|()| page_file(head)),
        };
        let response =
            answer.unwrap_or_else(|Failed(status, error)| Response::new(status).json(&json!(Refusal { error })));
        let _ = responder.send(&guarded(response)).await;
    }
}

fn is_api(request: &HttpRequest) -> bool {
    request.path().starts_with("/api/") || request.path() == "/api"
}

fn page_file(head: &HttpRequest) -> Result<Response, Failed> {
    let missing = || Failed("404 Not Found", "there is no such file".to_owned());
    if !matches!(head.method(), "GET" | "HEAD") {
        return Err(Failed("405 Method Not Allowed", "files are read by GET".to_owned()));
    }
    let file = page::file(head.path()).ok_or_else(missing)?;
    let content = crate::wire::http::Content::Whole(file.bytes);
    Ok(Response::new("200 OK").header("Content-Type", file.media_type).content(content))
}

/// A response with the header fields that protect the page.
fn guarded(mut response: Response) -> Response {
    response.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("cache-control"));
    HEADERS.iter().fold(response, |response, (name, value)| response.header(*name, *value))
}

fn json_of(value: &impl Serialize) -> Response {
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    let content = crate::wire::http::Content::Whole(bytes);
    Response::new("200 OK").header("Content-Type", "application/json").content(content)
}

/// The JSON of a request.
fn body<T: DeserializeOwned>(request: &Received) -> Result<T, Failed> {
    let mut types = request.head.header("content-type");
    let is_json =
        |text: &str| text.split(';').next().is_some_and(|t| t.trim().eq_ignore_ascii_case("application/json"));
    if !types.next().is_some_and(is_json) {
        return Err(Failed("415 Unsupported Media Type", "the content has to be application/json".to_owned()));
    }
    serde_json::from_slice(&request.content).map_err(|error| Failed::request(format!("the content is wrong: {error}")))
}

/// The parameters of a query, in order.
fn parameters(head: &HttpRequest) -> Vec<(String, String)> {
    let decode = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let query = head.target().split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).map(|(n, v)| (decode(n), decode(v))).collect()
}

/// The first value of a parameter of the query.
fn parameter(head: &HttpRequest, name: &str) -> Option<String> {
    parameters(head).into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failed> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failed("500 Internal Server Error", format!("the request failed: {error}")))
}

/// An event in full.
///
/// # Errors
/// As of reading a file; [`std::io::ErrorKind::NotFound`] where there is no such event.
pub fn detail(inspector: &Inspector, feed: &Feed, i: u64) -> std::io::Result<EventDetail> {
    let line = feed.line(i)?;
    let event: Event = serde_json::from_slice(&line)?;
    let value: Value = serde_json::from_slice(&line)?;
    let at = usize::try_from(i).unwrap_or_default();
    // What belongs to the event came on its connection, shortly before.
    let near = feed.read(feed.before(at, BEFORE))?;
    let near = near.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Event>(line).ok());
    let near: Vec<Event> = near.filter(|other| other.conn == event.conn).collect();
    let is_head = |other: &&Event| {
        other.dir == event.dir && other.i < event.i && matches!(other.kind, crate::trace::EventKind::HttpRequest(_))
    };
    let head = near.iter().rev().find(is_head);
    let act = inspector.session.role.and_then(|role| {
        let sender = event.dir?.sender();
        let first = head.map_or(event.i.saturating_sub(2), |head| head.i);
        let (verb, args) =
            (sender != role.subject).then(|| step_at(feed.edition(), role.subject, &near, Some(first)))??;
        let acts = inspector.controls.acts();
        let act = acts.iter().find(|act| act.name == verb)?;
        Some(ActRequest { act: verb.to_owned(), params: without_names(args, &act.schema, false) })
    });
    Ok(EventDetail { event: value, findings: feed.findings_at(i), copies: copies(feed, &event, head), act })
}
