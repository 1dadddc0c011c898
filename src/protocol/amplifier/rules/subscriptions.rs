//! Subscriptions: event streams and WebSockets, and what is told in them.

use std::collections::HashMap;

use serde_json::Value;

use super::framing::Bytes;
use super::lifecycle::{self, Life};
use super::sessions::Sessions;
use super::traffic::Exchange;
use super::{INDEX, events, framing, requests};
use crate::protocol::amplifier::words::Route;
use crate::protocol::http::content::{Content, LOSSY};
use crate::protocol::http::heads;
use crate::protocol::http::requirement_index::RuleContext;
use crate::protocol::{Judgements, ViolationDetail};
use crate::trace::{Direction, Event, Head, HttpResponse, Message, StreamEvent, read_json};

/// So many request ids are remembered that no answer has given yet.
const EARLY: usize = 1024;

/// The subscriptions that stand, by the names of their exchanges.
#[derive(Default)]
pub struct Subscriptions {
    streams: HashMap<String, Stream>,
    /// Request ids of events that nobody has given yet.
    early: Vec<Early>,
}

/// A request id that nobody had given when an event told it.
struct Early {
    session: String,
    request: String,
    /// The number of the event, and of the one with which its stream began.
    index: u64,
    opened: u64,
    /// The prompt, where the event tells it.
    prompt: Option<String>,
}

/// A stream or WebSocket that stands.
struct Stream {
    session: String,
    /// The handshake of a WebSocket.
    socket: Option<Head>,
    bytes: Bytes,
    /// Whether it has the content type of an event stream.
    labelled: bool,
    /// Whether an event has come in it.
    any: bool,
    coded: bool,
    odd: bool,
    /// Whether the client has sent a message here that an error may answer.
    asked: bool,
    life: Life,
}

impl Stream {
    fn of(session: String, socket: Option<Head>, index: u64) -> Self {
        Self {
            session,
            socket,
            bytes: Bytes::default(),
            labelled: true,
            any: false,
            coded: false,
            odd: false,
            asked: false,
            life: Life::new(index),
        }
    }

    /// Whether its bytes are judged as those of an event stream.
    fn is_read(&self) -> bool {
        self.socket.is_none() && self.labelled && !self.odd && !self.coded
    }
}

impl Subscriptions {
    /// The answer to a subscription has come: it is judged, and stands where it is an event stream.
    pub fn answered(
        &mut self,
        conn: &str,
        event: &Event,
        head: &HttpResponse,
        exchange: &Exchange,
        ctx: &mut RuleContext<'_>,
    ) {
        let stream = heads::is_stream(head);
        if exchange.counts() {
            let fault = ViolationDetail::new("an event stream has another status than 200").actual(head.status());
            ctx.check("stream/status", (head.status() != Some(200)).then_some(fault));
            let fault = ViolationDetail::new("an event stream has another content type").expected("text/event-stream");
            let actual = head.header("content-type").next().unwrap_or_default();
            ctx.check("stream/content-type", (!stream).then(|| fault.actual(actual)));
        }
        // Events that come under another content type are events all the same.
        if stream || matches!(head.status(), Some(200..=299)) {
            let session = exchange.own.route.as_ref().and_then(|route| route.name.clone()).unwrap_or_default();
            let (coded, odd) = (heads::is_coded(head), !exchange.counts());
            let opened = Stream { labelled: stream, coded, odd, ..Stream::of(session, None, event.i) };
            self.streams.insert(conn.to_owned(), opened);
        }
    }

    /// Nothing that came before under this name counts any more.
    pub fn forget(&mut self, conn: &str) {
        self.streams.remove(conn);
    }

    /// Whether this is a WebSocket.
    pub fn is_socket(&self, conn: &str) -> bool {
        self.streams.get(conn).is_some_and(|stream| stream.socket.is_some())
    }

    /// Ends what stands under this name, if something does: its last line is judged where the server `counts`.
    pub fn ended(&mut self, conn: &str, counts: bool, sessions: &mut Sessions, ctx: &mut RuleContext<'_>) -> bool {
        let Some(stream) = self.streams.remove(conn) else { return false };
        if sessions.of(&stream.session).is_some_and(|session| session.stopped.is_some()) {
            // Whatever was told after the stop has been judged.
            ctx.check("life/stopped-no-work", None);
        }
        if stream.is_read() && counts {
            stream.bytes.end(ctx);
        }
        stream.labelled || stream.any
    }

    /// The client left what stands under this name, if something does.
    pub fn left(&mut self, conn: &str, t: u64, ctx: &mut RuleContext<'_>) {
        let stream = self.streams.get(conn);
        if let Some(stream) = stream.filter(|stream| stream.is_read()) {
            stream.bytes.left(t, ctx);
        }
    }

    /// Bytes of an event stream, if they are that.
    pub fn bytes(&mut self, conn: &str, event: &Event, bytes: &[u8], ctx: &mut RuleContext<'_>) {
        let Some(stream) = self.streams.get_mut(conn) else { return };
        stream.odd |= event.deliberate.is_some();
        if stream.is_read() {
            stream.bytes.feed(bytes, event.t, ctx);
        }
    }

    /// Something in an event stream.
    pub fn streamed(
        &mut self,
        conn: &str,
        event: &Event,
        sent: &StreamEvent,
        sessions: &mut Sessions,
        ctx: &mut RuleContext<'_>,
    ) {
        if event.deliberate.is_some() || self.streams.get(conn).is_none_or(|stream| stream.odd) {
            return;
        }
        if !sessions.keys.is_empty() {
            let texts = [&sent.data, &sent.comment, &sent.id, &sent.event];
            let leaked = texts.into_iter().flatten().any(|text| sessions.leaked(text));
            ctx.check_if("safety/no-key-in-events", leaked, || "an event has an API key".to_owned());
        }
        let Some(data) = sent.data.as_deref().filter(|data| !data.trim().is_empty()) else { return };
        if let Some(stream) = self.streams.get_mut(conn) {
            stream.any = true;
        }
        let read = read_json(data);
        if read.as_ref().is_some_and(|read| read.lossy) {
            ctx.note("stream/data-json", LOSSY);
        }
        let message = read.map(|read| read.value);
        let name = message.as_ref().and_then(|message| message.get("event")).and_then(Value::as_str);
        if sent.event_type() != "message" {
            let protocol = name.is_some_and(|name| crate::protocol::amplifier::EVENTS.contains(&name))
                || crate::protocol::amplifier::EVENTS.contains(&sent.event_type());
            let fault =
                ViolationDetail::new("a protocol event comes under an event type of its own").expected("message");
            ctx.check("stream/message-type", protocol.then(|| fault.actual(sent.event_type())));
            return;
        }
        ctx.check("stream/message-type", None);
        let fault =
            ViolationDetail::new("the data of a message is no JSON").actual(data.chars().take(200).collect::<String>());
        ctx.check("stream/data-json", message.is_none().then_some(fault));
        if let Some(message) = &message {
            self.told(conn, event, message, sessions, ctx);
        }
    }

    /// A protocol event, however it came.
    fn told(&mut self, conn: &str, event: &Event, message: &Value, sessions: &mut Sessions, ctx: &mut RuleContext<'_>) {
        let Some(stream) = self.streams.get_mut(conn) else { return };
        let id = &stream.session;
        if events::is_error(message) && std::mem::take(&mut stream.asked) {
            return;
        }
        let Some((name, data)) = events::judge(message, id, stream.socket.is_some(), ctx) else { return };
        let mut session = sessions.of(id);
        if let (Some(request), Some(session)) = (data.text("request_id"), session.as_deref_mut()) {
            session.tells(request);
            if session.given(request).is_none() && self.early.len() < EARLY {
                let prompt = data.text("prompt").filter(|_| name == "prompt:submit").map(str::to_owned);
                let (session, request) = (id.clone(), request.to_owned());
                self.early.push(Early { session, request, index: event.i, opened: stream.life.opened, prompt });
            }
        }
        if let Some(session) = session.as_deref_mut().filter(|_| lifecycle::is_work(name)) {
            session.works();
        }
        stream.life.told(name, data, event.t, session, ctx);
    }

    /// The head of a WebSocket's handshake, of either end.
    pub fn handshake(&mut self, conn: &str, event: &Event, head: &Head, ctx: &mut RuleContext<'_>) {
        let odd = event.deliberate.is_some();
        if event.dir == Some(Direction::ToServer) {
            if !odd {
                framing::handshake_request(head, ctx);
            }
            let session =
                Route::of("GET", head.start.split(' ').nth(1).unwrap_or_default()).and_then(|route| route.name);
            let stream = Stream::of(session.unwrap_or_default(), Some(head.clone()), event.i);
            self.streams.insert(conn.to_owned(), Stream { odd, ..stream });
            return;
        }
        if let Some(stream) = self.streams.get_mut(conn) {
            stream.odd |= odd;
            if let Some(request) = stream.socket.as_ref().filter(|_| !stream.odd) {
                framing::handshake_response(request, head, ctx);
            }
        }
    }

    /// A message over a WebSocket.
    pub fn message(
        &mut self,
        conn: &str,
        event: &Event,
        message: &Message,
        sessions: &mut Sessions,
        ctx: &mut RuleContext<'_>,
    ) {
        let Some(stream) = self.streams.get_mut(conn).filter(|stream| stream.socket.is_some()) else { return };
        let session = stream.session.clone();
        let odd = stream.odd || event.deliberate.is_some();
        match event.dir {
            Some(Direction::ToServer) => {
                stream.asked = true;
                let content = Content::of(Some(message));
                let text = |key: &str| {
                    content.json().and_then(|json| json.get(key)).and_then(Value::as_str).unwrap_or_default()
                };
                if !odd {
                    requests::control(&content, message.text, ctx);
                    if text("action") == "submit_approval" {
                        stream.life.decides(text("decision"), event.t);
                    }
                }
                let Some(session) = sessions.of(&session) else { return };
                // What comes of it is told by events alone.
                session.others = true;
                session.stops |= text("action") == "stop";
            }
            Some(Direction::ToClient) if !odd => {
                let content = Content::of(Some(message));
                let json = content.json().filter(|_| message.text);
                let fault = ViolationDetail::new("a message is no text with JSON");
                ctx.check("websocket/text", json.is_none().then_some(fault));
                if content.is_lossy() {
                    ctx.note("websocket/text", LOSSY);
                }
                let Some(json) = json else { return };
                if !sessions.keys.is_empty() {
                    let leaked = sessions.leaked(&json.to_string());
                    ctx.check_if("safety/no-key-in-events", leaked, || "an event has an API key".to_owned());
                }
                self.told(conn, event, json, sessions, ctx);
            }
            _ => {}
        }
    }

    /// Judges request ids that no answer had given when they were told. One that never came, as long as a prompt is `waiting`,
    /// may have had any. Nor is everything that a session is asked in the trace: others may use it, and beginnings may be
    /// missing. So an id is made up only where the prompt under it is one of the trace whose own id is told nowhere.
    pub fn end(&mut self, waiting: bool, sessions: &mut Sessions, out: &mut Judgements) {
        for early in std::mem::take(&mut self.early) {
            let Some(session) = sessions.of(&early.session) else { continue };
            let ctx = &mut INDEX.ctx(out, early.index);
            if let Some(given) = session.given(&early.request) {
                ctx.check("life/request-id", None);
                if let Some(prompt) = &early.prompt {
                    let given = session.given_for(&early.request, prompt).unwrap_or(given);
                    lifecycle::told_prompt(given, prompt, ctx);
                }
                continue;
            }
            if waiting || session.others || early.prompt.is_none() {
                continue;
            }
            let own = session.requests.iter().find(|given| {
                given.posted > early.opened && given.prompt == early.prompt && session.is_untold(&given.id)
            });
            if let Some(own) = own {
                let fault =
                    ViolationDetail::new("an event has a `request_id` that was not given").at("/data/request_id");
                ctx.check("life/request-id", Some(fault.expected(own.id.clone()).actual(early.request)));
            }
        }
    }
}
