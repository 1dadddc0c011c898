//! What expectations can speak about, made from events.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::protocol::{Observation, Observer};
use crate::trace::{Closed, Direction, End, Event, Frame, HttpRequest, HttpResponse, Message, StreamEvent, What};

use super::routes::{Endpoint, Route};
use crate::protocol::http::content::{Content, Wholes};

/// So much text of a prompt is joined, in bytes.
const JOINED: usize = 1 << 20;

/// So many names of events are kept for a prompt.
const NAMES: usize = 1000;

/// Makes observations of what one end does.
///
/// It holds the heads of what is not whole yet, and of each subscription what was told of the prompt under way.
pub struct AmplifierObserver {
    subject: End,
    wholes: Wholes,
    requests: HashMap<String, HttpRequest>,
    responses: HashMap<String, HttpResponse>,
    subscriptions: HashMap<String, Subscription>,
}

/// A subscription that is under way.
#[derive(Default)]
struct Subscription {
    session: Option<String>,
    socket: bool,
    /// Whether the server has accepted it.
    open: bool,
    names: Vec<Value>,
    joined: String,
    thinking: String,
    deltas: u64,
}

impl Subscription {
    /// Takes note of an event. Gives what is known of a prompt that it completes.
    fn told(&mut self, name: &str, data: &Value) -> Option<Map<String, Value>> {
        if name == "prompt:submit" {
            (self.names, self.joined, self.thinking, self.deltas) = (vec![], String::new(), String::new(), 0);
        }
        if self.names.last().is_none_or(|last| last != name) && self.names.len() < NAMES {
            self.names.push(name.into());
        }
        let delta = data.get("delta").and_then(Value::as_str).unwrap_or_default();
        match name {
            "content_block:delta" => {
                self.deltas += 1;
                add(&mut self.joined, delta);
            }
            "thinking:delta" => add(&mut self.thinking, delta),
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

fn add(text: &mut String, delta: &str) {
    if text.len() + delta.len() <= JOINED {
        text.push_str(delta);
    }
}

impl AmplifierObserver {
    /// Looking at what this end does.
    pub fn new(subject: End) -> Self {
        Self {
            subject,
            wholes: Wholes::default(),
            requests: HashMap::new(),
            responses: HashMap::new(),
            subscriptions: HashMap::new(),
        }
    }

    fn requested(&mut self, conn: &str, head: &HttpRequest) -> Vec<Seen> {
        self.requests.insert(conn.to_owned(), head.clone());
        self.subscriptions.remove(conn);
        vec![]
    }

    /// A client asks for events: by the head of a request, or that of a handshake.
    fn subscribes(&mut self, conn: &str, start: &str, headers: &[(String, String)]) -> Option<Seen> {
        let mut words = start.split(' ');
        let target = words.nth(1).unwrap_or_default();
        let route = Route::of(start.split(' ').next().unwrap_or_default(), target)?;
        let socket = match route.endpoint {
            Endpoint::Events => false,
            Endpoint::Socket => true,
            _ => return None,
        };
        let seen = Seen::new("subscribe")
            .choose("transport", if socket { "ws" } else { "sse" })
            .with("target", target)
            .with("headers", lines(headers))
            .with_some("session_id", route.name.clone());
        let subscription = Subscription { session: route.name, socket, ..Subscription::default() };
        self.subscriptions.insert(conn.to_owned(), subscription);
        Some(seen)
    }

    fn responded(&mut self, conn: &str, head: &HttpResponse) -> Option<Seen> {
        if matches!(head.status(), Some(100..=199)) {
            return None;
        }
        self.responses.insert(conn.to_owned(), head.clone());
        let subscription = self.subscriptions.get_mut(conn)?;
        subscription.open = head.status() == Some(200);
        Some(subscribed(subscription, head.status(), &head.headers))
    }

    fn whole(&mut self, conn: &str, dir: Direction, content: &Content<'_>) -> Option<Seen> {
        match dir {
            Direction::ToClient => {
                let head = self.responses.remove(conn)?;
                if self.subscriptions.get(conn).is_some_and(|subscription| subscription.open) {
                    self.subscriptions.remove(conn);
                    return Some(Seen::new("ended").with("how", "whole"));
                }
                Some(response(&head, content).with("whole", true))
            }
            Direction::ToServer => {
                let head = self.requests.remove(conn)?;
                let route = Route::of(head.method(), head.target());
                if route.as_ref().is_some_and(|route| route.endpoint == Endpoint::Events) {
                    return None;
                }
                Some(request(&head, route, content))
            }
        }
    }

    /// The subject ended its connection.
    fn closed(&mut self, conn: &str, how: Closed) -> Vec<Seen> {
        let how = match how {
            Closed::Eof => "eof",
            Closed::Reset => "reset",
        };
        let cut = self.responses.remove(conn);
        if self.subject == End::Server {
            if self.subscriptions.remove(conn).is_some_and(|subscription| subscription.open) {
                return vec![Seen::new("ended").with("how", how)];
            }
            let cut = cut.map(|head| response(&head, &Content::Empty).with("whole", false));
            return cut.into_iter().chain([Seen::new("closed").with("how", how)]).collect();
        }
        vec![Seen::new("closed").with("how", how)]
    }

    fn streamed(&mut self, conn: &str, event: &StreamEvent) -> Vec<Seen> {
        let Some(data) = &event.data else {
            let comment = event.comment.clone();
            return vec![Seen::new("keep_alive").with_some("comment", comment)];
        };
        let named = |seen: Seen| seen.with("type", event.event_type()).with_some("id", event.id.clone());
        match serde_json::from_str::<Value>(data) {
            Ok(message) if message.get("event").is_some_and(Value::is_string) => {
                self.told(conn, &message).into_iter().map(named).collect()
            }
            _ => vec![named(Seen::new("keep_alive")).with("text", data.as_str())],
        }
    }

    /// A protocol event, however it came.
    fn told(&mut self, conn: &str, message: &Value) -> Vec<Seen> {
        let Some(name) = message.get("event").and_then(Value::as_str) else { return vec![] };
        let data = message.get("data").cloned().unwrap_or_default();
        let completed = self.subscriptions.get_mut(conn).and_then(|subscription| subscription.told(name, &data));
        let event = Seen::new("event").choose("event", name).with("data", data).with("json", message.clone());
        let completed = completed.map(|value| Seen { value, ..Seen::new("completed") });
        [Some(event), completed].into_iter().flatten().collect()
    }

    fn socket_message(&mut self, conn: &str, message: &Message) -> Vec<Seen> {
        if !self.subscriptions.get(conn).is_some_and(|subscription| subscription.socket) {
            return vec![];
        }
        match self.subject {
            End::Server => message.json.as_ref().map(|json| self.told(conn, json)).unwrap_or_default(),
            End::Client => {
                let content = Content::of(Some(message));
                let action = content.json().and_then(|json| json.get("action")).and_then(Value::as_str);
                let seen = Seen::new("control");
                let seen = match action {
                    Some(action) => seen.choose("action", action),
                    None => seen,
                };
                vec![seen.with_body(&content)]
            }
        }
    }

    fn seen(&mut self, conn: &str, event: &Event) -> Vec<Seen> {
        match &event.what {
            What::HttpRequest(head) => {
                let mut seen = self.requested(conn, head);
                seen.extend(self.subscribes(conn, &head.start, &head.headers));
                seen
            }
            What::Handshake(head) if event.dir == Some(Direction::ToServer) => {
                self.subscribes(conn, &head.start, &head.headers).into_iter().collect()
            }
            What::Handshake(head) => {
                let Some(subscription) = self.subscriptions.get_mut(conn) else { return vec![] };
                subscription.open = head.status() == Some(101);
                vec![subscribed(subscription, head.status(), &head.headers)]
            }
            What::HttpResponse(head) => self.responded(conn, head).into_iter().collect(),
            What::StreamEvent(event) => self.streamed(conn, event),
            What::Message(message) => self.socket_message(conn, message),
            What::Frame(seen) => vec![frame(seen)],
            What::Closed(how) => self.closed(conn, *how),
            _ => vec![],
        }
    }
}

impl Observer for AmplifierObserver {
    fn observe(&mut self, event: &Event) -> Vec<Observation> {
        let whole = self.wholes.of(event);
        let (Some(conn), Some(dir)) = (event.conn.as_deref(), event.dir) else { return vec![] };
        if dir.sender() != self.subject {
            // What the other end asks for says what the subject's answers belong to.
            if let What::HttpRequest(_) | What::Handshake(_) = &event.what {
                self.seen(conn, event);
            }
            return vec![];
        }
        let mut seen = self.seen(conn, event);
        if let Some((dir, content)) = whole {
            seen.extend(self.whole(conn, dir, &content));
        }
        let label = |seen: &Seen| if matches!(seen.kind, "response" | "closed") { "to" } else { "of" };
        if self.subject == End::Server {
            seen = seen
                .into_iter()
                .map(|seen| {
                    let label = label(&seen);
                    seen.choose(label, conn)
                })
                .collect();
        }
        seen.into_iter().map(|seen| seen.on(event, conn)).collect()
    }
}

/// An observation without its place.
struct Seen {
    kind: &'static str,
    selectors: Map<String, Value>,
    value: Map<String, Value>,
}

impl Seen {
    fn new(kind: &'static str) -> Self {
        Self { kind, selectors: Map::new(), value: Map::new() }
    }

    fn choose(mut self, key: &str, value: &str) -> Self {
        self.selectors.insert(key.to_owned(), value.into());
        self
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.value.insert(key.to_owned(), value.into());
        self
    }

    fn with_some(self, key: &str, value: Option<String>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    fn with_body(self, content: &Content<'_>) -> Self {
        match content {
            Content::Json { json, .. } => self.with("json", json.as_ref().clone()),
            Content::Text(text) => self.with("text", *text),
            Content::Empty => self.with("text", ""),
            Content::Binary(bytes) => self.with("text", String::from_utf8_lossy(bytes)),
            Content::Deep | Content::Coded => self,
        }
    }

    fn on(mut self, event: &Event, conn: &str) -> Observation {
        self.value.insert("exchange".to_owned(), conn.into());
        Observation {
            kind: self.kind,
            conn: Some(conn.to_owned()),
            selectors: self.selectors,
            value: self.value,
            index: event.i,
        }
    }
}

fn subscribed(subscription: &Subscription, status: Option<u16>, headers: &[(String, String)]) -> Seen {
    let seen = Seen::new("subscribed").with("headers", lines(headers));
    let seen = seen.with_some("session_id", subscription.session.clone());
    match status {
        Some(status) => seen.with("status", status),
        None => seen,
    }
}

fn response(head: &HttpResponse, content: &Content<'_>) -> Seen {
    let mut seen = Seen::new("response").with_body(content).with("headers", lines(&head.headers));
    if let Some(error) = content.json().and_then(|json| json.get("error")) {
        seen = seen.with("error", error.clone());
        if let Some(code) = error.get("code") {
            seen = seen.with("code", code.clone());
        }
    }
    match head.status() {
        Some(status) => seen.with("status", status),
        None => seen,
    }
}

fn request(head: &HttpRequest, route: Option<Route>, content: &Content<'_>) -> Seen {
    let seen = Seen::new("request")
        .with_body(content)
        .with("verb", head.method())
        .with("target", head.target())
        .with("headers", lines(&head.headers))
        .with("tcp", head.tcp);
    let Some(route) = route else { return seen };
    let mut params: Map<String, Value> = route.query.into_iter().map(|(key, value)| (key, value.into())).collect();
    if let Some(name) = route.name {
        let key = if route.endpoint == Endpoint::GetProfile { "name" } else { "session_id" };
        params.insert(key.to_owned(), name.into());
    }
    let seen = seen.with("params", params);
    match route.endpoint.name() {
        Some(name) => seen.choose("endpoint", name),
        None => seen,
    }
}

fn frame(frame: &Frame) -> Seen {
    let mut seen =
        Seen::new("frame").with("fin", frame.fin).with_some("text", frame.payload.as_text().map(str::to_owned));
    if let (8, [high, low, ..]) = (frame.opcode, frame.payload.as_bytes()) {
        seen = seen.with("code", u16::from_be_bytes([*high, *low]));
    }
    seen.selectors.insert("opcode".to_owned(), json!(frame.opcode));
    seen
}

/// Header lines by their names in lower case; the values of repeated ones joined by a comma.
fn lines(lines: &[(String, String)]) -> Map<String, Value> {
    let mut headers = Map::new();
    for (name, value) in lines {
        let name = name.to_ascii_lowercase();
        let value = match headers.get(&name).and_then(Value::as_str) {
            Some(before) => format!("{before}, {value}"),
            None => value.clone(),
        };
        headers.insert(name, value.into());
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::amplifier::testing::Play;

    fn observed(play: &Play, subject: End) -> Vec<Observation> {
        let mut observer = AmplifierObserver::new(subject);
        play.events.iter().flat_map(|event| observer.observe(event)).collect()
    }

    fn kinds(seen: &[Observation]) -> Vec<&'static str> {
        seen.iter().map(|seen| seen.kind).collect()
    }

    #[test]
    fn an_answer_is_seen_with_its_error() {
        let error = json!({"error": {"code": "SESSION_BUSY", "message": "m"}});
        let seen = observed(&Play::new().gets("/health").gives(409, &error), End::Server);
        assert_eq!(kinds(&seen), ["response"]);
        assert_eq!(json!(seen[0].selectors), json!({"to": "x1"}));
        assert_eq!((&seen[0].value["status"], &seen[0].value["code"]), (&json!(409), &json!("SESSION_BUSY")));
    }

    #[test]
    fn a_request_tells_its_endpoint_and_parameters() {
        let play = Play::new().gets("/sessions?status=idle").posts("/sessions/a%20b/prompt", &json!({"prompt": "p"}));
        let seen = observed(&play.gets("/profiles/x:y"), End::Client);
        assert_eq!(json!(seen[0].selectors), json!({"endpoint": "listSessions"}));
        assert_eq!(seen[0].value["params"], json!({"status": "idle"}));
        assert_eq!(seen[1].value["params"], json!({"session_id": "a b"}));
        assert_eq!(seen[1].value["json"], json!({"prompt": "p"}));
        assert_eq!(seen[2].value["params"], json!({"name": "x:y"}));
    }

    #[test]
    fn events_of_a_stream_come_up_to_a_prompt_that_is_complete() {
        let play = Play::new()
            .subscribes("s")
            .sends("prompt:submit", json!({"request_id": "r"}))
            .sends("content_block:delta", json!({"delta": "a"}))
            .sends("content_block:delta", json!({"delta": "b"}))
            .sends("prompt:complete", json!({"request_id": "r", "response": "ab"}))
            .streams(&StreamEvent { comment: Some("ping".to_owned()), ..StreamEvent::default() })
            .stream_ends();
        let seen = observed(&play, End::Server);
        assert_eq!(
            kinds(&seen),
            ["subscribed", "event", "event", "event", "event", "completed", "keep_alive", "ended"]
        );
        let completed = &seen[5].value;
        assert_eq!((&completed["joined"], &completed["deltas"]), (&json!("ab"), &json!(2)));
        assert_eq!(completed["events"], json!(["prompt:submit", "content_block:delta", "prompt:complete"]));
        assert_eq!(json!(seen[1].selectors), json!({"of": "x1", "event": "prompt:submit"}));
        assert_eq!(seen[7].value["how"], "whole");
        assert_eq!(kinds(&observed(&play, End::Client)), ["subscribe"]);
    }

    #[test]
    fn a_web_socket_is_a_subscription_too() {
        let play = Play::new()
            .upgrades("s")
            .socket_tells(&json!({"event": "session:start", "data": {}}))
            .socket_asks(&json!({"action": "stop"}));
        let seen = observed(&play, End::Server);
        assert_eq!(kinds(&seen), ["subscribed", "frame", "event"]);
        assert_eq!(seen[0].value["status"], 101);
        let seen = observed(&play, End::Client);
        assert_eq!(kinds(&seen), ["subscribe", "frame", "control"]);
        assert_eq!(json!(seen[2].selectors), json!({"action": "stop"}));
    }

    #[test]
    fn a_stream_that_is_cut_is_seen_to_end() {
        let play = Play::new().subscribes("s").server_closes();
        assert_eq!(observed(&play, End::Server)[1].value["how"], "eof");
        let silent = Play::new().gets("/health").server_closes();
        assert_eq!(kinds(&observed(&silent, End::Server)), ["closed"]);
    }
}
