//! Observations: what expectations can speak about, made from events.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::endpoints::{Endpoint, Route};
use crate::protocol::http::content::{BodyAssembler, Content, ObservationDraft, how, lines};
use crate::protocol::http::redirects;
use crate::protocol::http::repeats::{self, RepeatedRequests};
use crate::protocol::{Observation, Observer};
use crate::trace::{
    Closed, Direction, End, Event, EventKind, Frame, HttpRequest, HttpResponse, Message, StreamEvent, read_json,
};

/// Makes observations of what one end does.
///
/// It keeps the heads of exchanges that are not complete, and for each subscription the events of the current prompt.
/// Where a client follows a redirect, only what comes in the last exchange is observed, as the response to the request.
pub struct AmplifierObserver {
    subject: End,
    bodies: BodyAssembler,
    requests: HashMap<String, HttpRequest>,
    responses: HashMap<String, HttpResponse>,
    subscriptions: HashMap<String, Subscription>,
    /// When the last subscription to a session ended, in microseconds.
    ended: HashMap<String, u64>,
    repeats: RepeatedRequests,
    redirected: redirects::RedirectedObservations,
    /// The sessions of event streams that are redirected, by the exchange that the client began with.
    redirected_sessions: HashMap<String, Option<String>>,
}

impl AmplifierObserver {
    /// Looking at what this end does.
    pub fn new(subject: End) -> Self {
        Self {
            subject,
            bodies: BodyAssembler::default(),
            requests: HashMap::new(),
            responses: HashMap::new(),
            subscriptions: HashMap::new(),
            ended: HashMap::new(),
            repeats: RepeatedRequests::default(),
            redirected: redirects::RedirectedObservations::default(),
            redirected_sessions: HashMap::new(),
        }
    }

    fn request_head(&mut self, conn: &str, head: &HttpRequest) -> Vec<ObservationDraft> {
        self.requests.insert(conn.to_owned(), head.clone());
        self.subscriptions.remove(conn);
        vec![]
    }

    /// A client subscribes to events: by the head of a request, or that of a handshake.
    fn subscribe_request(
        &mut self,
        conn: &str,
        t: u64,
        start: &str,
        headers: &[(String, String)],
    ) -> Option<ObservationDraft> {
        let mut words = start.split(' ');
        let target = words.nth(1).unwrap_or_default();
        let method = start.split(' ').next().unwrap_or_default();
        let (session, socket) = match (self.redirected_sessions.get(redirects::asked(conn)), Route::of(method, target))
        {
            (Some(session), _) => (session.clone(), false),
            (None, Some(Route { endpoint: Endpoint::Events, name, .. })) => (name, false),
            (None, Some(Route { endpoint: Endpoint::Socket, name, .. })) => (name, true),
            _ => return None,
        };
        let draft = ObservationDraft::new("subscribe")
            .choose("transport", if socket { "ws" } else { "sse" })
            .with("target", target)
            .with("headers", lines(headers))
            .with_some("session_id", session.clone());
        let ended = session.as_ref().and_then(|session| self.ended.get(session));
        let draft = ended.iter().fold(draft, |draft, ended| draft.with("pause", t.saturating_sub(**ended) / 1000));
        let subscription = Subscription::new(session, socket);
        self.subscriptions.insert(conn.to_owned(), subscription);
        Some(draft)
    }

    fn response_head(&mut self, conn: &str, head: &HttpResponse) -> Option<ObservationDraft> {
        if matches!(head.status(), Some(100..=199)) {
            return None;
        }
        self.responses.insert(conn.to_owned(), head.clone());
        let moves = self.subject == End::Server && redirects::leads_to(head).is_some();
        if moves {
            self.redirected.hold(conn);
        }
        let subscription = self.subscriptions.get_mut(conn)?;
        if moves {
            self.redirected_sessions.insert(redirects::asked(conn).to_owned(), subscription.session.clone());
        }
        subscription.open = matches!(head.status(), Some(200..=299));
        Some(subscribed(subscription, head.status(), &head.headers))
    }

    fn body_complete(&mut self, conn: &str, dir: Direction, content: &Content<'_>) -> Option<ObservationDraft> {
        match dir {
            Direction::ToClient => {
                let head = self.responses.remove(conn)?;
                if self.subscriptions.get(conn).is_some_and(|subscription| subscription.open) {
                    self.subscriptions.remove(conn);
                    return Some(ObservationDraft::new("ended").with("how", "whole"));
                }
                Some(response(&head, content).with("whole", true))
            }
            Direction::ToServer => {
                let head = self.requests.remove(conn)?;
                let route = Route::of(head.method(), head.target());
                if route.as_ref().is_some_and(|route| route.endpoint == Endpoint::Events) {
                    return None;
                }
                if self.repeats.asks(conn, &head, content) {
                    return None;
                }
                Some(request(&head, route, content))
            }
        }
    }

    /// The subject ended its connection.
    fn closed(&mut self, conn: &str, closed: Closed) -> Vec<ObservationDraft> {
        let how = how(closed);
        let cut = self.responses.remove(conn);
        if self.subject == End::Server {
            if self.subscriptions.remove(conn).is_some_and(|subscription| subscription.open) {
                return vec![ObservationDraft::new("ended").with("how", how)];
            }
            let cut = cut.map(|head| response(&head, &Content::Empty).with("whole", false));
            return cut.into_iter().chain([ObservationDraft::new("closed").with("how", how)]).collect();
        }
        vec![ObservationDraft::new("closed").with("how", how)]
    }

    fn stream_event(&mut self, conn: &str, event: &StreamEvent) -> Vec<ObservationDraft> {
        let Some(data) = &event.data else {
            let comment = event.comment.clone();
            return vec![ObservationDraft::new("keep_alive").with_some("comment", comment)];
        };
        let named = |draft: ObservationDraft| draft.with("type", event.event_type()).with_some("id", event.id.clone());
        match read_json(data).map(|read| read.value) {
            Some(message) if message.get("event").is_some_and(Value::is_string) => {
                self.protocol_event(conn, &message).into_iter().map(named).collect()
            }
            _ => vec![named(ObservationDraft::new("keep_alive")).with("text", data.as_str())],
        }
    }

    /// A protocol event, however it came.
    fn protocol_event(&mut self, conn: &str, message: &Value) -> Vec<ObservationDraft> {
        let Some(name) = message.get("event").and_then(Value::as_str) else { return vec![] };
        let data = message.get("data").cloned().unwrap_or_default();
        let completed = self.subscriptions.get_mut(conn).and_then(|subscription| subscription.note_event(name, &data));
        let event =
            ObservationDraft::new("event").choose("event", name).with("data", data).with("json", message.clone());
        let completed = completed.map(|value| ObservationDraft { value, ..ObservationDraft::new("completed") });
        [Some(event), completed].into_iter().flatten().collect()
    }

    fn socket_message(&mut self, conn: &str, message: &Message) -> Vec<ObservationDraft> {
        if !self.subscriptions.get(conn).is_some_and(|subscription| subscription.socket) {
            return vec![];
        }
        match self.subject {
            End::Server => message.value().map(|json| self.protocol_event(conn, &json)).unwrap_or_default(),
            End::Client => {
                let content = Content::of(Some(message));
                let action = content.json().and_then(|json| json.get("action")).and_then(Value::as_str);
                let draft = ObservationDraft::new("control");
                let draft = match action {
                    Some(action) => draft.choose("action", action),
                    None => draft,
                };
                vec![draft.with_body(&content)]
            }
        }
    }

    fn event_drafts(&mut self, conn: &str, event: &Event) -> Vec<ObservationDraft> {
        match &event.kind {
            EventKind::HttpRequest(head) => {
                let mut drafts = self.request_head(conn, head);
                drafts.extend(self.subscribe_request(conn, event.t, &head.start, &head.headers));
                drafts
            }
            EventKind::Handshake(head) if event.dir == Some(Direction::ToServer) => {
                self.subscribe_request(conn, event.t, &head.start, &head.headers).into_iter().collect()
            }
            EventKind::Handshake(head) => {
                let Some(subscription) = self.subscriptions.get_mut(conn) else { return vec![] };
                subscription.open = head.status() == Some(101);
                vec![subscribed(subscription, head.status(), &head.headers)]
            }
            EventKind::HttpResponse(head) => self.response_head(conn, head).into_iter().collect(),
            EventKind::StreamEvent(event) => self.stream_event(conn, event),
            EventKind::Message(message) => self.socket_message(conn, message),
            EventKind::Frame(draft) => vec![frame(draft)],
            EventKind::Closed(how) => self.closed(conn, *how),
            _ => vec![],
        }
    }
}

impl Observer for AmplifierObserver {
    fn observe(&mut self, event: &Event) -> Vec<Observation> {
        let body = self.bodies.of(event);
        match (&event.kind, event.conn.as_deref(), self.subject) {
            (EventKind::Mark(mark), Some(conn), End::Client) if mark.mark == repeats::ALIKE => {
                self.repeats.are_alike(conn)
            }
            (EventKind::Mark(mark), Some(conn), End::Server) if mark.mark == redirects::NOT_FOLLOWED => {
                return self.redirected.release(conn);
            }
            (EventKind::HttpRequest(_), Some(conn), End::Server) => self.redirected.asks(conn),
            _ => {}
        }
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return vec![] };
        let over = matches!(event.kind, EventKind::Closed(_)) || matches!(body, Some((Direction::ToClient, _)));
        let followed = self.subscriptions.get(conn).and_then(|subscription| subscription.session.clone());
        if let (true, Some(session)) = (over, followed) {
            self.ended.insert(session, event.t);
        }
        if dir.sender() != self.subject {
            // The requests of the other end show what the subject's responses belong to.
            if let EventKind::HttpRequest(_) | EventKind::Handshake(_) = &event.kind {
                self.event_drafts(conn, event);
            }
            return vec![];
        }
        if self.redirected.is_followed(conn) {
            return vec![];
        }
        // What is cut leads nowhere.
        let cut = matches!(event.kind, EventKind::Closed(_)) && self.responses.contains_key(conn);
        let mut before = if cut { self.redirected.release(conn) } else { vec![] };
        let mut drafts = self.event_drafts(conn, event);
        if let Some((dir, content)) = body {
            drafts.extend(self.body_complete(conn, dir, &content));
        }
        let label = |draft: &ObservationDraft| if matches!(draft.kind, "response" | "closed") { "to" } else { "of" };
        if self.subject == End::Server {
            drafts = drafts
                .into_iter()
                .map(|draft| {
                    let label = label(&draft);
                    draft.choose(label, redirects::asked(conn))
                })
                .collect();
        }
        before.extend(drafts.into_iter().map(|draft| draft.on(event, conn)));
        self.redirected.pass(conn, before)
    }
}

fn subscribed(subscription: &Subscription, status: Option<u16>, headers: &[(String, String)]) -> ObservationDraft {
    let draft = ObservationDraft::new("subscribed").with("headers", lines(headers));
    draft.with_some("session_id", subscription.session.clone()).with_status(status)
}

fn response(head: &HttpResponse, content: &Content<'_>) -> ObservationDraft {
    let mut draft = ObservationDraft::new("response").with_body(content).with("headers", lines(&head.headers));
    if let Some(error) = content.json().and_then(|json| json.get("error")) {
        draft = draft.with("error", error.clone());
        if let Some(code) = error.get("code") {
            draft = draft.with("code", code.clone());
        }
    }
    draft.with_status(head.status())
}

fn request(head: &HttpRequest, route: Option<Route>, content: &Content<'_>) -> ObservationDraft {
    let draft = ObservationDraft::new("request").with_body(content).with_request(head);
    let Some(route) = route else { return draft };
    let mut params: Map<String, Value> = route.query.into_iter().map(|(key, value)| (key, value.into())).collect();
    if let Some(name) = route.name {
        let key = if route.endpoint == Endpoint::GetProfile { "name" } else { "session_id" };
        params.insert(key.to_owned(), name.into());
    }
    let draft = draft.with("params", params);
    match route.endpoint.name() {
        Some(name) => draft.choose("endpoint", name),
        None => draft,
    }
}

fn frame(frame: &Frame) -> ObservationDraft {
    let mut draft = ObservationDraft::new("frame")
        .with("fin", frame.fin)
        .with_some("text", frame.payload.as_text().map(str::to_owned));
    if let (8, [high, low, ..]) = (frame.opcode, frame.payload.as_bytes()) {
        draft = draft.with("code", u16::from_be_bytes([*high, *low]));
    }
    draft.selectors.insert("opcode".to_owned(), json!(frame.opcode));
    draft
}

/// So much text of a prompt is joined, in bytes.
const MAX_JOINED: usize = 1 << 20;

/// So many names of events are kept for a prompt.
const MAX_NAMES: usize = 1000;

/// A subscription that is in progress.
#[derive(Default)]
pub struct Subscription {
    pub session: Option<String>,
    pub socket: bool,
    /// Whether the server has accepted it.
    pub open: bool,
    names: Vec<Value>,
    joined: String,
    thinking: String,
    deltas: u64,
}

impl Subscription {
    /// Asked for, and not yet accepted.
    pub fn new(session: Option<String>, socket: bool) -> Self {
        Self { session, socket, ..Self::default() }
    }

    /// Notes an event. Gives what is known of a prompt that it completes.
    pub fn note_event(&mut self, name: &str, data: &Value) -> Option<Map<String, Value>> {
        if name == "prompt:submit" {
            (self.names, self.joined, self.thinking, self.deltas) = (vec![], String::new(), String::new(), 0);
        }
        if self.names.last().is_none_or(|last| last != name) && self.names.len() < MAX_NAMES {
            self.names.push(name.into());
        }
        let delta = data.get("delta").and_then(Value::as_str).unwrap_or_default();
        match name {
            "content_block:delta" => {
                self.deltas += 1;
                append(&mut self.joined, delta);
            }
            "thinking:delta" => append(&mut self.thinking, delta),
            "prompt:complete" => {
                let mut all = Map::new();
                for key in ["request_id", "response"] {
                    data.get(key).map(|value| all.insert(key.to_owned(), value.clone()));
                }
                all.insert("joined".to_owned(), std::mem::take(&mut self.joined).into());
                all.insert("thinking".to_owned(), std::mem::take(&mut self.thinking).into());
                all.insert("deltas".to_owned(), std::mem::take(&mut self.deltas).into());
                all.insert("events".to_owned(), std::mem::take(&mut self.names).into());
                return Some(all);
            }
            _ => {}
        }
        None
    }
}

fn append(text: &mut String, delta: &str) {
    if text.len() + delta.len() <= MAX_JOINED {
        text.push_str(delta);
    }
}
