//! Labels of events in few words, those of the protocol where it has any: [`Labels`].

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::protocol::{Edition, MessageSort};
use crate::trace::{Body, Closed, Direction, Event, EventKind, Frame, Message, Payload, StreamEvent, summary};

use super::text::{self, clean, counted, cut};

/// The longest name that is shown, in columns.
const NAME: usize = 90;

/// How many requests without a response are remembered. Beyond that, responses are shown without their request's name.
const MOST_OPEN: usize = 10_000;

/// What an event was.
#[derive(Clone, Debug, PartialEq)]
pub struct Label<'a> {
    /// How it is coloured.
    pub tone: LabelStyle,
    /// A few words, clean.
    pub what: String,
    /// The content that the event carried.
    pub content: Content<'a>,
    /// Microseconds since the request.
    pub after: Option<u64>,
}

/// What an event carried.
#[derive(Clone, Debug, PartialEq)]
pub enum Content<'a> {
    /// There is no content, or the label has all of it.
    Nothing,
    /// JSON.
    Json(Cow<'a, Value>),
    /// Bytes.
    Payload(Cow<'a, Payload>),
}

/// The sorts of events as the eye tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelStyle {
    /// A request.
    Request,
    /// A response.
    Response,
    /// A response with an error.
    Failure,
    /// Something unasked.
    Notification,
    /// What holds a connection together: handshakes, pings, closes.
    Control,
    /// What one rarely wants to see: frames, pieces of bodies.
    Piece,
    /// Processes, their output, files, stimuli, calls.
    Harness,
    /// Landmarks.
    Mark,
}

impl LabelStyle {
    /// All styles.
    pub const ALL: [Self; 8] = [
        Self::Request,
        Self::Response,
        Self::Failure,
        Self::Notification,
        Self::Control,
        Self::Piece,
        Self::Harness,
        Self::Mark,
    ];

    /// The name of the style.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Failure => "failure",
            Self::Notification => "notification",
            Self::Control => "control",
            Self::Piece => "piece",
            Self::Harness => "around",
            Self::Mark => "mark",
        }
    }
}

impl Label<'_> {
    /// The content folded to one line of about `most` characters.
    pub fn folded(&self, most: usize) -> String {
        match &self.content {
            Content::Nothing => String::new(),
            Content::Json(value) => text::json(value, most),
            Content::Payload(payload) => text::payload(payload, most),
        }
    }
}

/// Gives the labels of a trace, event by event; remembers requests that have no response yet.
pub struct Labels {
    edition: Option<&'static dyn Edition>,
    open: HashMap<(String, String), (String, u64)>,
}

/// What identifies the request of a response where it is not the id: the exchange of HTTP, and the opening handshake.
const EXCHANGE: &str = "";

impl Labels {
    /// For a trace in this edition, where its protocol is known.
    pub fn new(edition: Option<&'static dyn Edition>) -> Self {
        Self { edition, open: HashMap::new() }
    }

    /// The label of the next event. `head`: the head that has no line of its own, since this event, its body, shows it.
    pub fn label<'a>(&mut self, event: &'a Event, head: Option<&Event>) -> Label<'a> {
        let label = |tone, what: String| Label { tone, what, content: Content::Nothing, after: None };
        let carrying = |tone, what: String, content| Label { tone, what, content, after: None };
        match &event.kind {
            EventKind::Connected { address } => label(LabelStyle::Control, format!("connected to {}", name(address))),
            EventKind::Handshake(head) => self.head(event, "handshake", &head.start, head.body.as_ref()),
            EventKind::HttpRequest(head) => self.head(event, "", &head.start, None),
            EventKind::HttpResponse(head) => self.head(event, "", &head.start, None),
            EventKind::Message(message) => self.message(event, message, head),
            EventKind::StreamEvent(stream) => self.stream_event(event, stream),
            EventKind::Frame(frame) => frame_label(frame),
            EventKind::Body(body) => body_label(body),
            EventKind::Bytes { bytes } => carrying(
                LabelStyle::Piece,
                counted(bytes.as_bytes().len() as u64, "stray byte"),
                Content::Payload(Cow::Borrowed(bytes)),
            ),
            EventKind::Closed(Closed::Eof) => label(LabelStyle::Control, "closed its side".to_owned()),
            EventKind::Closed(Closed::Reset) => label(LabelStyle::Control, "cut the connection".to_owned()),
            EventKind::Output(output) => {
                carrying(LabelStyle::Harness, name(&output.stream), Content::Payload(Cow::Borrowed(&output.bytes)))
            }
            EventKind::Launched(launched) => label(
                LabelStyle::Harness,
                format!("launched {} (pid {})", name(&launched.command.join(" ")), launched.pid),
            ),
            EventKind::Exited(exited) => {
                let how = match (exited.code, exited.signal) {
                    (Some(code), _) => format!(" with code {code}"),
                    (None, Some(signal)) => format!(" by signal {signal}"),
                    (None, None) => String::new(),
                };
                let unasked = if exited.asked { "" } else { ", unasked" };
                label(LabelStyle::Harness, format!("process {} ended{how}{unasked}", exited.pid))
            }
            EventKind::Stimulus(stimulus) => {
                let what = format!("stimulus {}: {}", name(&stimulus.name), name(&stimulus.outcome));
                carrying(LabelStyle::Harness, what, Content::Json(Cow::Owned(Value::Object(stimulus.params.clone()))))
            }
            EventKind::Call(call) => {
                let what = format!("call {} {}", call.id, name(&call.call));
                carrying(LabelStyle::Harness, what, Content::Json(Cow::Borrowed(&call.params)))
            }
            EventKind::Returned(returned) => match (&returned.error, &returned.result) {
                (Some(error), _) => carrying(
                    LabelStyle::Harness,
                    format!("call {} failed", returned.id),
                    Content::Json(Cow::Borrowed(error)),
                ),
                (None, Some(result)) => carrying(
                    LabelStyle::Harness,
                    format!("call {} gave", returned.id),
                    Content::Json(Cow::Borrowed(result)),
                ),
                (None, None) => label(LabelStyle::Harness, format!("call {} is not supported", returned.id)),
            },
            EventKind::Reported(reported) => {
                let what = format!("reported {}", name(&reported.event));
                carrying(LabelStyle::Harness, what, Content::Json(Cow::Borrowed(&reported.data)))
            }
            EventKind::File(change) => {
                let content = change.content.as_ref();
                let content = content.map_or(Content::Nothing, |bytes| Content::Payload(Cow::Borrowed(bytes)));
                carrying(LabelStyle::Harness, format!("file {}: {}", name(&change.path), name(&change.change)), content)
            }
            EventKind::Mark(mark) => label(LabelStyle::Mark, format!("{}: {}", name(&mark.mark), name(&mark.text))),
            EventKind::Finding(finding) => {
                let of = finding.requirement.as_deref().unwrap_or(&finding.message);
                label(LabelStyle::Mark, format!("finding at #{}: {}", finding.at, name(of)))
            }
            EventKind::Judged(judged) => {
                label(LabelStyle::Mark, format!("judged: {}", counted(judged.findings, "finding")))
            }
            other => label(LabelStyle::Harness, summary(other)),
        }
    }

    /// The request of the exchange of an event, if it has no response yet. [`Labels::label`] of the response forgets it;
    /// [`Labels::reopen`] undoes that.
    pub fn opened(&self, event: &Event) -> Option<(String, u64)> {
        self.open_name(event, EXCHANGE)
    }

    /// Remembers a request that [`Labels::opened`] gave.
    pub fn reopen(&mut self, event: &Event, request: (String, u64)) {
        self.open.insert((event.conn.clone().unwrap_or_default(), EXCHANGE.to_owned()), request);
    }

    /// The head of a handshake, request or response.
    fn head<'a>(&mut self, event: &'a Event, word: &str, start: &str, body: Option<&'a Payload>) -> Label<'a> {
        let content = body.map_or(Content::Nothing, |bytes| Content::Payload(Cow::Borrowed(bytes)));
        let summary = self.edition.and_then(|edition| edition.summarize(event));
        let title = summary.and_then(|summary| summary.name).map(|name| name.into_owned());
        let line = first_line(start);
        if event.dir == Some(Direction::ToServer) {
            let title = title.unwrap_or_else(|| word.to_owned());
            self.open_request(event, EXCHANGE, &title);
            let tone = if word.is_empty() { LabelStyle::Request } else { LabelStyle::Control };
            return Label { tone, what: words(&[&title, &line]), content, after: None };
        }
        let interim = start.split(' ').nth(1).is_some_and(|status| status.starts_with('1')) && word.is_empty();
        let opened = if interim { self.open_name(event, EXCHANGE) } else { self.close_request(event, EXCHANGE) };
        let (title, since) = opened.unwrap_or((word.to_owned(), event.t));
        let tone = match status(start) {
            Some(400..) => LabelStyle::Failure,
            _ if !word.is_empty() => LabelStyle::Control,
            _ => LabelStyle::Response,
        };
        Label { tone, what: words(&[&title, &line]), content, after: event.t.checked_sub(since).filter(|n| *n > 0) }
    }

    fn message<'a>(&mut self, event: &'a Event, message: &'a Message, head: Option<&Event>) -> Label<'a> {
        let head = head.map(|head| match &head.kind {
            EventKind::HttpRequest(request) => self.head(head, "", &request.start, None),
            EventKind::HttpResponse(response) => self.head(head, "", &response.start, None),
            _ => Label { tone: LabelStyle::Piece, what: String::new(), content: Content::Nothing, after: None },
        });
        let body = self.body(event, message);
        let pieces = if message.frames > 1 { format!("({} frames)", message.frames) } else { String::new() };
        match head {
            None => Label { what: words(&[&body.what, &pieces]), ..body },
            Some(head) => {
                let title = if body.what.starts_with("message") { "" } else { body.what.as_str() };
                let title = if head.what.starts_with(title) { "" } else { title };
                if event.dir == Some(Direction::ToServer) {
                    // The body may have the method: the response is to be named by it.
                    if !title.is_empty() {
                        self.open_request(event, EXCHANGE, title);
                    }
                    return Label { tone: head.tone, what: words(&[title, &head.what]), ..body };
                }
                let tone = if body.tone == LabelStyle::Failure { LabelStyle::Failure } else { head.tone };
                Label { tone, what: words(&[&head.what, title]), content: body.content, after: head.after }
            }
        }
    }

    /// A message by itself.
    fn body<'a>(&mut self, event: &'a Event, message: &'a Message) -> Label<'a> {
        let to_server = event.dir == Some(Direction::ToServer);
        let tone = if to_server { LabelStyle::Request } else { LabelStyle::Response };
        let summary = self.edition.and_then(|edition| edition.summarize(event));
        let Some(summary) = summary else {
            let (what, content) = match (&message.json, &message.payload) {
                (Some(json), _) => ("message", Content::Json(Cow::Borrowed(json))),
                (None, Some(payload @ Payload::Text(_))) => {
                    ("message, no JSON", Content::Payload(Cow::Borrowed(payload)))
                }
                (None, Some(payload)) => ("message, not UTF-8", Content::Payload(Cow::Borrowed(payload))),
                (None, None) => ("message, nothing readable", Content::Nothing),
            };
            return Label { tone, what: what.to_owned(), content, after: None };
        };
        let content = summary.content.map_or(Content::Nothing, Content::Json);
        let id = summary.id.map(|id| text::json(id, 40));
        let title = summary.name.as_deref().map(name);
        let shown = id.as_ref().map(|id| format!("#{}", id.trim_matches('"'))).unwrap_or_default();
        match summary.sort {
            MessageSort::Request => {
                let title = title.unwrap_or_else(|| "request".to_owned());
                if let Some(id) = &id {
                    self.open_request(event, id, &title);
                }
                Label { tone: LabelStyle::Request, what: words(&[&title, &shown]), content, after: None }
            }
            MessageSort::Response | MessageSort::Failure => {
                let opened = id.as_ref().and_then(|id| self.close_request(event, id));
                let after = opened.as_ref().map(|(_, t)| event.t.saturating_sub(*t));
                let failed = summary.sort == MessageSort::Failure;
                let outcome = match (failed, &id) {
                    (true, Some(_)) => "failed",
                    (false, Some(_)) => "ok",
                    (_, None) => "",
                };
                let opened = opened.map(|(opened, _)| opened).filter(|opened| title.as_ref() != Some(opened));
                let title = title.unwrap_or_default();
                let tone = if failed { LabelStyle::Failure } else { LabelStyle::Response };
                Label { tone, what: words(&[opened.as_deref().unwrap_or(""), &title, &shown, outcome]), content, after }
            }
            MessageSort::Notification => {
                let what = title.unwrap_or_else(|| "notification".to_owned());
                Label { tone: LabelStyle::Notification, what: words(&[&what, &shown]), content, after: None }
            }
        }
    }

    fn stream_event<'a>(&mut self, event: &'a Event, stream: &'a StreamEvent) -> Label<'a> {
        let tone = LabelStyle::Notification;
        let summary = self.edition.and_then(|edition| edition.summarize(event));
        if let Some(summary) = summary {
            let what = summary.name.as_deref().map_or_else(|| "event".to_owned(), name);
            let content = summary.content.map_or(Content::Nothing, Content::Json);
            return Label { tone, what, content, after: None };
        }
        if let (Some(comment), None) = (&stream.comment, &stream.data) {
            let content = Content::Payload(Cow::Owned(Payload::Text(comment.clone())));
            return Label { tone: LabelStyle::Control, what: "comment".to_owned(), content, after: None };
        }
        let content = match &stream.data {
            None => Content::Nothing,
            Some(data) => match serde_json::from_str(data) {
                Ok(json) => Content::Json(Cow::Owned(json)),
                Err(_) => Content::Payload(Cow::Owned(Payload::Text(data.clone()))),
            },
        };
        let rest = match (&content, stream.retry) {
            (Content::Nothing, Some(retry)) => format!("without data, retry {retry} ms"),
            (Content::Nothing, None) => "without data".to_owned(),
            _ => String::new(),
        };
        Label { tone, what: words(&["event", &name(stream.event_type()), &rest]), content, after: None }
    }

    fn open_request(&mut self, event: &Event, id: &str, title: &str) {
        if self.open.len() >= MOST_OPEN {
            self.open.clear();
        }
        let conn = event.conn.clone().unwrap_or_default();
        let t = self.open.get(&(conn.clone(), id.to_owned())).filter(|_| id == EXCHANGE).map_or(event.t, |(_, t)| *t);
        self.open.insert((conn, id.to_owned()), (title.to_owned(), t));
    }

    fn close_request(&mut self, event: &Event, id: &str) -> Option<(String, u64)> {
        self.open.remove(&(event.conn.clone().unwrap_or_default(), id.to_owned()))
    }

    fn open_name(&self, event: &Event, id: &str) -> Option<(String, u64)> {
        self.open.get(&(event.conn.clone().unwrap_or_default(), id.to_owned())).cloned()
    }
}

fn frame_label(frame: &Frame) -> Label<'_> {
    let odd = [
        (frame.rsv != 0).then(|| format!("rsv {}", frame.rsv)),
        frame.length_bits.map(|bits| format!("length in {bits} bits")),
        (!frame.fin).then(|| "more follows".to_owned()),
        (frame.length != frame.payload.as_bytes().len() as u64).then(|| format!("announces {} bytes", frame.length)),
    ];
    let odd = odd.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let odd = if odd.is_empty() { odd } else { format!("({odd})") };
    let (tone, what) = match frame.opcode {
        0 => (LabelStyle::Piece, "frame continuation".to_owned()),
        1 => (LabelStyle::Piece, "frame text".to_owned()),
        2 => (LabelStyle::Piece, "frame binary".to_owned()),
        8 => (LabelStyle::Control, close(frame.payload.as_bytes())),
        9 => (LabelStyle::Control, "ping".to_owned()),
        10 => (LabelStyle::Control, "pong".to_owned()),
        other => (LabelStyle::Piece, format!("frame of opcode {other}")),
    };
    let shown = frame.opcode != 8 && !frame.payload.as_bytes().is_empty();
    let content = if shown { Content::Payload(Cow::Borrowed(&frame.payload)) } else { Content::Nothing };
    Label { tone, what: words(&[&what, &odd]), content, after: None }
}

/// A close frame begins with its code (RFC 6455 section 5.5.1).
fn close(payload: &[u8]) -> String {
    match payload {
        [] => "close, no code".to_owned(),
        [high, low, reason @ ..] => {
            let code = u16::from_be_bytes([*high, *low]);
            words(&[&format!("close {code}"), &name(&String::from_utf8_lossy(reason))])
        }
        _ => "close, half a code".to_owned(),
    }
}

fn body_label(body: &Body) -> Label<'_> {
    let size = counted(body.bytes.as_bytes().len() as u64, "byte");
    let last = if body.last { ", the last" } else { "" };
    let mut trailers = Map::new();
    trailers.extend(body.trailers.iter().map(|(name, value)| (name.clone(), value.as_str().into())));
    let content = match (trailers.is_empty(), body.bytes.as_bytes().is_empty()) {
        (false, _) => Content::Json(Cow::Owned(Value::Object(trailers))),
        (true, false) => Content::Payload(Cow::Borrowed(&body.bytes)),
        (true, true) => Content::Nothing,
    };
    Label { tone: LabelStyle::Piece, what: format!("body, {size}{last}"), content, after: None }
}

/// The first line of a head without the version, which says nothing new.
fn first_line(start: &str) -> String {
    let line = start.strip_prefix("HTTP/1.1 ").or_else(|| start.strip_suffix(" HTTP/1.1")).unwrap_or(start);
    name(line)
}

fn status(start: &str) -> Option<u16> {
    start.strip_prefix("HTTP/")?.split(' ').nth(1)?.parse().ok()
}

/// A name from the trace, made safe and short.
fn name(text: &str) -> String {
    let end = text.char_indices().nth(4 * NAME).map_or(text.len(), |(at, _)| at);
    cut(&clean(&text[..end]), NAME)
}

/// Joins the words that are not empty.
fn words(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
}
