//! Subscriptions: event streams and WebSockets, and the events in them.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::framing::{self, EventStreamBytes, FramesBefore};
use super::lifecycle::{self, StreamLifecycle};
use super::sessions::Sessions;
use super::{Exchange, INDEX, messages, requests};
use crate::protocol::amplifier::endpoints::Route;
use crate::protocol::amplifier::find_event;
use crate::protocol::http::content::{Content, LOSSY};
use crate::protocol::http::heads;
use crate::protocol::http::rule_context::RuleContext;
use crate::protocol::{Judgements, ViolationDetail};
use crate::trace::{
    Direction, Event, Frame, Head, HttpRequest, HttpResponse, Message, StreamEvent, has_too_many_values, opcode,
    read_json,
};

/// How many request ids are remembered that no response has had yet.
const MAX_UNASSIGNED: usize = 1024;
/// So many keys of handshakes are remembered; of more, none is taken for an old one.
const MAX_KEYS: usize = 10_000;
/// So many ids of events are remembered; of more, none is judged.
const MAX_EVENT_IDS: usize = 100_000;

/// The open subscriptions, by the names of their exchanges.
#[derive(Default)]
pub struct Subscriptions {
    streams: HashMap<String, OpenStream>,
    /// The event stream that ended last, with its name: the events in its last bytes are recorded after these.
    ending: Option<(String, OpenStream)>,
    /// Request ids of events that no response has had yet.
    unassigned: Vec<UnassignedRequestId>,
    /// The keys of handshakes.
    keys: HashSet<String>,
    /// The ids that the events of each session had.
    event_ids: HashMap<String, HashSet<String>>,
    event_id_count: usize,
}

/// A request id that no response had when it came in an event.
struct UnassignedRequestId {
    session: String,
    request: String,
    /// The number of the event, and of the one with which its stream began.
    index: u64,
    opened: u64,
    /// The prompt, where the event has it.
    prompt: Option<String>,
}

/// An event stream or WebSocket that is open.
struct OpenStream {
    session: String,
    /// The handshake of a WebSocket.
    socket: Option<Head>,
    bytes: EventStreamBytes,
    /// Whether it has the content type of an event stream.
    labelled: bool,
    /// Whether an event has come in it.
    has_events: bool,
    coded: bool,
    deliberate: bool,
    /// Whether the client has sent a message here that an error may answer.
    client_sent: bool,
    /// Whether a frame came masked.
    masked: bool,
    /// What the first close frame carried.
    closing: Option<Vec<u8>>,
    lifecycle: StreamLifecycle,
}

impl OpenStream {
    fn of(session: String, socket: Option<Head>, index: u64) -> Self {
        Self {
            session,
            socket,
            bytes: EventStreamBytes::default(),
            labelled: true,
            has_events: false,
            coded: false,
            deliberate: false,
            client_sent: false,
            masked: false,
            closing: None,
            lifecycle: StreamLifecycle::new(index),
        }
    }

    /// Whether its bytes are judged as those of an event stream.
    fn is_read(&self) -> bool {
        self.socket.is_none() && self.labelled && !self.deliberate && !self.coded
    }
}

/// The subscription of this name, open or just ended.
fn open_or_ending<'s>(
    streams: &'s mut HashMap<String, OpenStream>,
    ending: &'s mut Option<(String, OpenStream)>,
    conn: &str,
) -> Option<&'s mut OpenStream> {
    let ended = ending.as_mut().filter(|(name, _)| name == conn).map(|(_, stream)| stream);
    streams.get_mut(conn).or(ended)
}

impl Subscriptions {
    /// Judges the response to a subscription, which is open where that is an event stream.
    pub fn response(
        &mut self,
        conn: &str,
        event: &Event,
        head: &HttpResponse,
        exchange: &Exchange,
        ctx: &mut RuleContext<'_>,
    ) {
        let stream = head.is_event_stream();
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
            let (coded, deliberate) = (heads::is_coded(head), !exchange.counts());
            let opened = OpenStream { labelled: stream, coded, deliberate, ..OpenStream::of(session, None, event.i) };
            self.streams.insert(conn.to_owned(), opened);
        }
    }

    /// Forgets the subscription of this name.
    pub fn forget(&mut self, conn: &str) {
        self.streams.remove(conn);
        self.ending = self.ending.take().filter(|(name, _)| name != conn);
    }

    /// Whether this is a WebSocket.
    pub fn is_socket(&self, conn: &str) -> bool {
        self.streams.get(conn).is_some_and(|stream| stream.socket.is_some())
    }

    /// Ends the subscription of this name, if there is one: its last line is judged where the server `counts`.
    pub fn ended(&mut self, conn: &str, counts: bool, sessions: &mut Sessions, ctx: &mut RuleContext<'_>) -> bool {
        let Some(mut stream) = self.streams.remove(conn) else { return false };
        if sessions.session(&stream.session).is_some_and(|session| session.stopped.is_some()) {
            // Whatever came after the stop has been judged.
            ctx.check("life/stopped-no-work", None);
        }
        if stream.is_read() && counts {
            std::mem::take(&mut stream.bytes).end(ctx);
        }
        let has_been_one = stream.labelled || stream.has_events;
        if stream.socket.is_none() {
            self.ending = Some((conn.to_owned(), stream));
        }
        has_been_one
    }

    /// The client left the subscription of this name, if there is one.
    pub fn left(&mut self, conn: &str, t: u64, ctx: &mut RuleContext<'_>) {
        let stream = self.streams.get(conn);
        if let Some(stream) = stream.filter(|stream| stream.is_read()) {
            stream.bytes.left(t, ctx);
        }
    }

    /// Bytes of an event stream, if they are that.
    pub fn bytes(&mut self, conn: &str, event: &Event, bytes: &[u8], ctx: &mut RuleContext<'_>) {
        let Some(stream) = self.streams.get_mut(conn) else { return };
        stream.deliberate |= event.deliberate.is_some();
        if stream.is_read() {
            stream.bytes.feed(bytes, event.t, ctx);
        }
    }

    /// Something in an event stream.
    pub fn stream_event(
        &mut self,
        conn: &str,
        event: &Event,
        sent: &StreamEvent,
        sessions: &mut Sessions,
        ctx: &mut RuleContext<'_>,
    ) {
        self.note_event_id(conn, sent);
        if event.deliberate.is_some()
            || open_or_ending(&mut self.streams, &mut self.ending, conn).is_none_or(|stream| stream.deliberate)
        {
            return;
        }
        if !sessions.keys.is_empty() {
            let texts = [&sent.data, &sent.comment, &sent.id, &sent.event];
            let leaked = texts.into_iter().flatten().any(|text| sessions.leaked(text));
            ctx.check_if("safety/no-key-in-events", leaked, || "an event has an API key".to_owned());
        }
        let Some(data) = sent.data.as_deref().filter(|data| !data.trim().is_empty()) else { return };
        if let Some(stream) = open_or_ending(&mut self.streams, &mut self.ending, conn) {
            stream.has_events = true;
        }
        if has_too_many_values(data.as_bytes()) {
            return;
        }
        let read = read_json(data);
        if read.as_ref().is_some_and(|read| read.lossy) {
            ctx.note("stream/data-json", LOSSY);
        }
        let message = read.map(|read| read.value);
        let name = message.as_ref().and_then(|message| message.get("event")).and_then(Value::as_str);
        if sent.event_type() != "message" {
            let protocol =
                name.is_some_and(|name| find_event(name).is_some()) || find_event(sent.event_type()).is_some();
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
            self.protocol_event(conn, event, message, sessions, ctx);
        }
    }

    /// A protocol event, however it came.
    fn protocol_event(
        &mut self,
        conn: &str,
        event: &Event,
        message: &Value,
        sessions: &mut Sessions,
        ctx: &mut RuleContext<'_>,
    ) {
        let Some(stream) = open_or_ending(&mut self.streams, &mut self.ending, conn) else { return };
        let id = &stream.session;
        if messages::is_error(message) && std::mem::take(&mut stream.client_sent) {
            return;
        }
        if messages::is_failure(message) {
            stream.lifecycle.note_failure();
        }
        let Some((name, data)) = messages::judge_event(message, id, stream.socket.is_some(), ctx) else { return };
        let mut session = sessions.session(id);
        if let (Some(request), Some(session)) = (data.text("request_id"), session.as_deref_mut()) {
            session.note_request_id(request);
            if session.accepted(request).is_none() && self.unassigned.len() < MAX_UNASSIGNED {
                let prompt = data.text("prompt").filter(|_| name == "prompt:submit").map(str::to_owned);
                let (session, request) = (id.clone(), request.to_owned());
                self.unassigned.push(UnassignedRequestId {
                    session,
                    request,
                    index: event.i,
                    opened: stream.lifecycle.opened,
                    prompt,
                });
            }
        }
        if let Some(session) = session.as_deref_mut().filter(|_| lifecycle::is_work(name)) {
            session.note_work();
        }
        if name == "tool:post"
            && let Some(session) = session.as_deref()
        {
            session.judge_duration(data, event.t, ctx);
        }
        stream.lifecycle.event(name, data, event.t, session, ctx);
    }

    /// The head of a WebSocket's handshake, of either end.
    pub fn handshake(&mut self, conn: &str, event: &Event, head: &Head, ctx: &mut RuleContext<'_>) {
        let deliberate = event.deliberate.is_some();
        if event.dir == Some(Direction::ToServer) {
            if !deliberate {
                framing::handshake_request(head, ctx);
                self.handshake_key(head, ctx);
            }
            let session =
                Route::of("GET", head.start.split(' ').nth(1).unwrap_or_default()).and_then(|route| route.name);
            let stream = OpenStream::of(session.unwrap_or_default(), Some(head.clone()), event.i);
            self.streams.insert(conn.to_owned(), OpenStream { deliberate, ..stream });
            return;
        }
        if let Some(stream) = self.streams.get_mut(conn) {
            stream.deliberate |= deliberate;
            if let Some(request) = stream.socket.as_ref().filter(|_| !stream.deliberate) {
                framing::handshake_response(request, head, ctx);
            }
        }
    }

    /// Judges the `Last-Event-ID` of a request for an event stream by the ids that the events of sessions had.
    pub fn last_event_id(&self, session: &str, head: &HttpRequest, ctx: &mut RuleContext<'_>) {
        let own = self.event_ids.get(session);
        let Some(id) = head.header("last-event-id").next().filter(|id| !id.is_empty()) else {
            // Without one, none is wrong.
            if own.is_some() {
                ctx.check("stream/client-last-event-id-own", None);
            }
            return;
        };
        let is_own = own.is_some_and(|ids| ids.contains(id));
        let others = || self.event_ids.iter().any(|(other, ids)| other != session && ids.contains(id));
        // One that nobody has seen may be that of an event before the trace.
        if is_own || self.event_id_count < MAX_EVENT_IDS && (own.is_some() || others()) {
            let fault = ViolationDetail::new("the `Last-Event-ID` is that of no event of the session").actual(id);
            ctx.check("stream/client-last-event-id-own", (!is_own).then_some(fault));
        }
    }

    /// Notes the id of an event.
    fn note_event_id(&mut self, conn: &str, sent: &StreamEvent) {
        let Some(id) = sent.id.as_ref().filter(|id| !id.is_empty()) else { return };
        let Some(stream) = open_or_ending(&mut self.streams, &mut self.ending, conn) else { return };
        if self.event_id_count < MAX_EVENT_IDS
            && self.event_ids.entry(stream.session.clone()).or_default().insert(id.clone())
        {
            self.event_id_count += 1;
        }
    }

    /// Judges whether the key of a handshake is new.
    fn handshake_key(&mut self, head: &Head, ctx: &mut RuleContext<'_>) {
        let Some(key) = head.header("sec-websocket-key").next() else { return };
        let fault = ViolationDetail::new("a handshake has the key of an earlier one").actual(key);
        let old = self.keys.contains(key);
        if !self.keys.is_empty() {
            ctx.check("websocket/client-key-fresh", old.then_some(fault));
        }
        if self.keys.len() < MAX_KEYS {
            self.keys.insert(key.to_owned());
        }
    }

    /// Notes a frame. Gives what the frames before it on its connection say of it.
    pub fn note_frame(&mut self, conn: &str, frame: &Frame) -> FramesBefore {
        let Some(stream) = self.streams.get_mut(conn) else { return FramesBefore::default() };
        let closes = frame.opcode == opcode::CLOSE;
        let payload = frame.payload.as_bytes();
        // A response has the whole payload of the first close frame, or its code alone.
        let is_echo = |theirs: &Vec<u8>| theirs == payload || payload.len() == 2 && theirs.starts_with(payload);
        let echoed = closes && stream.closing.as_ref().is_some_and(is_echo);
        let before = FramesBefore { masked: stream.masked, echoed };
        stream.masked |= frame.masked;
        if closes && stream.closing.is_none() {
            stream.closing = Some(payload.to_vec());
        }
        before
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
        let deliberate = stream.deliberate || event.deliberate.is_some();
        match event.dir {
            Some(Direction::ToServer) => {
                stream.client_sent = true;
                let content = Content::of(Some(message));
                let text = |key: &str| {
                    content.json().and_then(|json| json.get(key)).and_then(Value::as_str).unwrap_or_default()
                };
                if !deliberate {
                    requests::control(&content, message.text, ctx);
                    if text("action") == "submit_approval" {
                        stream.lifecycle.note_decision(text("decision"), event.t);
                    }
                }
                let Some(session) = sessions.session(&session) else { return };
                // Only events show what comes of it.
                session.has_unseen_prompts = true;
                session.stop_requested |= text("action") == "stop";
            }
            Some(Direction::ToClient) if !deliberate => {
                let content = Content::of(Some(message));
                if let Content::TooManyValues = content {
                    return;
                }
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
                self.protocol_event(conn, event, json, sessions, ctx);
            }
            _ => {}
        }
    }

    /// Judges request ids that no response had when an event had them. A response that never came, as long as a prompt
    /// is `waiting`, may have had any. Nor are all requests for a session in the trace: others may use it, and the
    /// beginning may be missing. So an id is made up only where its prompt is one of the trace whose own id is in no
    /// event.
    pub fn end(&mut self, waiting: bool, sessions: &mut Sessions, out: &mut Judgements) {
        for unassigned in std::mem::take(&mut self.unassigned) {
            let Some(session) = sessions.session(&unassigned.session) else { continue };
            let ctx = &mut INDEX.ctx(out, unassigned.index);
            if let Some(accepted) = session.accepted(&unassigned.request) {
                ctx.check("life/request-id", None);
                if let Some(prompt) = &unassigned.prompt {
                    let accepted = session.accepted_for(&unassigned.request, prompt).unwrap_or(accepted);
                    lifecycle::judge_submitted_prompt(accepted, prompt, ctx);
                }
                continue;
            }
            if waiting || session.has_unseen_prompts || unassigned.prompt.is_none() {
                continue;
            }
            let expected = session.requests.iter().find(|accepted| {
                accepted.posted > unassigned.opened
                    && accepted.prompt == unassigned.prompt
                    && session.is_unreported(&accepted.id)
            });
            if let Some(expected) = expected {
                let fault =
                    ViolationDetail::new("an event has a `request_id` that was not given").at("/data/request_id");
                ctx.check("life/request-id", Some(fault.expected(expected.id.clone()).actual(unassigned.request)));
            }
        }
    }
}
