//! What an extension did to a server as steps, and what the server did as observations.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::protocol::amplifier::observer::AmplifierObserver;
use crate::protocol::amplifier::words::{EVENTS, Endpoint, Route};
use crate::protocol::http::content::Content;
use crate::protocol::http::redirects;
use crate::protocol::http::to_scenario::{Exchanges, Whole, has_secret, http, raw};
use crate::protocol::scenario_element::{Labels, ScenarioElement, TraceToScenario, args, word};
use crate::protocol::{Observation, Observer};
use crate::trace::{Closed, Direction, End, Event, EventKind, HttpRequest};

/// Tells again what a client of ours did to a server.
pub struct ServerToScenario {
    exchanges: Exchanges,
    observer: AmplifierObserver,
    labels: Labels,
    /// Subscriptions that stand, and whether they are WebSockets.
    following: HashMap<String, bool>,
    over: HashSet<String>,
    /// Exchanges that a step began.
    asked: HashSet<String>,
    /// Those of them that ask about all sessions.
    of_all: HashSet<String>,
    /// Those of them that showed a key, which the trace hides.
    keyed: HashSet<String>,
}

impl ServerToScenario {
    /// Nothing told yet.
    pub fn new() -> Self {
        Self {
            exchanges: Exchanges::default(),
            observer: AmplifierObserver::new(End::Server),
            labels: Labels::default(),
            following: HashMap::new(),
            over: HashSet::new(),
            asked: HashSet::new(),
            of_all: HashSet::new(),
            keyed: HashSet::new(),
        }
    }

    /// A subscription that the head of a request or handshake asks for.
    fn subscribes(&mut self, event: &Event, name: &str) -> Option<ScenarioElement> {
        let start = match &event.kind {
            EventKind::HttpRequest(head) => &head.start,
            EventKind::Handshake(head) => &head.start,
            _ => return None,
        };
        let mut words = start.split(' ');
        let route = Route::of(words.next()?, words.next()?)?;
        let socket = match route.endpoint {
            Endpoint::Events => false,
            Endpoint::Socket => true,
            _ => return None,
        };
        self.following.insert(name.to_owned(), socket);
        let args = args([
            ("as", Some(word(name).into())),
            ("session_id", route.name.map(Value::from)),
            ("transport", socket.then(|| "ws".into())),
        ]);
        Some(ScenarioElement::step(event.i, "subscribe", args))
    }

    /// What the client does in a subscription.
    fn ours(&mut self, event: &Event, name: &str) -> Option<ScenarioElement> {
        let of = || Some(Value::from(word(name)));
        let socket = *self.following.get(name)?;
        match &event.kind {
            EventKind::Message(message) if socket => {
                let body = match (&message.json, &message.payload) {
                    (Some(json @ Value::Object(_)), _) => ("message", json.clone()),
                    (Some(json), _) => ("text", json.to_string().into()),
                    (None, Some(payload)) => ("text", payload.as_text()?.into()),
                    (None, None) => return None,
                };
                Some(ScenarioElement::step(event.i, "control", args([("of", of()), (body.0, Some(body.1))])))
            }
            EventKind::Frame(frame) if frame.opcode == 8 && self.over.insert(name.to_owned()) => {
                Some(ScenarioElement::step(event.i, "unsubscribe", args([("of", of())])))
            }
            EventKind::Closed(how) if self.over.insert(name.to_owned()) => {
                let how = (*how == Closed::Reset).then(|| "reset".into());
                Some(ScenarioElement::step(event.i, "unsubscribe", args([("of", of()), ("how", how)])))
            }
            _ => None,
        }
    }
}

impl TraceToScenario for ServerToScenario {
    fn event(&mut self, event: &Event) -> Vec<ScenarioElement> {
        let seen = self.observer.observe(event);
        let Some(exchange) = event.conn.as_deref() else { return vec![] };
        let name = redirects::asked(exchange);
        let whole = self.exchanges.event(event);
        let mut told = vec![];
        // A redirect is followed by the step that asked.
        if event.dir == Some(Direction::ToServer) && (name == exchange || matches!(event.kind, EventKind::Closed(_))) {
            told.extend(self.subscribes(event, name));
            if self.following.contains_key(name) {
                told.extend(self.ours(event, name));
            } else {
                match whole {
                    Some(Whole::Request(head, content)) => {
                        if content.json().and_then(|body| body.get("credentials")).is_some_and(has_secret) {
                            self.keyed.insert(name.to_owned());
                        }
                        told.extend(asked(event.i, name, &head, &content));
                    }
                    Some(Whole::Torn(Direction::ToServer, bytes)) => {
                        if let Some(mut args) = raw(&bytes) {
                            args.insert("as".to_owned(), word(name).into());
                            told.push(ScenarioElement::step(event.i, "http", args));
                        }
                    }
                    _ => {}
                }
            }
        } else if let EventKind::Closed(_) = &event.kind {
            self.over.insert(name.to_owned());
        }
        for step in &told {
            let ScenarioElement::Step { args, .. } = step else { continue };
            self.asked.insert(name.to_owned());
            let endpoint = args.get("endpoint").and_then(Value::as_str);
            if endpoint.is_some_and(|endpoint| ["health", "listSessions"].contains(&endpoint)) {
                self.of_all.insert(name.to_owned());
            }
        }
        // How a subscription was answered, `subscribed` says.
        let follows = self.following.contains_key(name);
        let seen = seen.into_iter().filter(|seen| self.asked.contains(name) && !(follows && seen.kind == "response"));
        let of_all = self.of_all.contains(name);
        told.extend(seen.map(|seen| if of_all { without_others(seen) } else { seen }).filter_map(did));
        if self.keyed.contains(name) {
            told.iter_mut().for_each(forget_refusal);
        }
        told
    }

    fn liveness_probe(&mut self) -> Vec<ScenarioElement> {
        let label = self.labels.name("alive");
        let asked = args([("as", Some(label.as_str().into())), ("endpoint", Some("health".into()))]);
        vec![
            ScenarioElement::step(u64::MAX, "request", asked),
            ScenarioElement::seen(u64::MAX, "response", args([("to", Some(label.into()))]), Map::new(), true),
        ]
    }
}

/// A request: as the verb `request` has it, where that can say it.
fn asked(index: u64, name: &str, head: &HttpRequest, content: &Content<'_>) -> Vec<ScenarioElement> {
    let label = Some(Value::from(word(name)));
    let route = Route::of(head.method(), head.target()).and_then(|route| Some((route.endpoint.name()?, route)));
    let body = match content {
        Content::Empty => Some(Map::new()),
        content => content.json().and_then(Value::as_object).cloned(),
    };
    let fits = route.as_ref().is_some_and(|(_, r)| r.endpoint.has_body() != matches!(content, Content::Empty));
    let (Some((endpoint, route)), Some(mut body), true) = (route, body, fits) else {
        let mut args = http(head, content, "GET");
        args.extend(label.map(|label| ("as".to_owned(), label)));
        return vec![ScenarioElement::step(index, "http", args)];
    };
    let mut params: Map<String, Value> = route.query.into_iter().map(|(key, value)| (key, value.into())).collect();
    if let Some(name) = route.name {
        let key = if route.endpoint == Endpoint::GetProfile { "name" } else { "session_id" };
        params.insert(key.to_owned(), name.into());
    }
    let mut told = vec![];
    if route.endpoint == Endpoint::CreateSession {
        // Keys that the trace hides, and the folder of the play, are those that the subject was described with.
        if body.get("credentials").is_some_and(has_secret) {
            body.remove("credentials");
        }
        let context = body.get("context").and_then(Value::as_object);
        let root = context.and_then(|context| context.get("workspace_root")).and_then(Value::as_str);
        if let Some(path) = root.map(str::to_owned) {
            if context.is_some_and(|context| context.len() == 1) {
                body.remove("context");
            }
            told.push(ScenarioElement::Folder { path });
        }
        // What is left out is filled in, unless it is said that it is not there.
        body.entry("profile").or_insert(Value::Null);
    }
    let some = |map: Map<String, Value>| (!map.is_empty()).then(|| map.into());
    let args =
        args([("as", label), ("endpoint", Some(endpoint.into())), ("params", some(params)), ("body", some(body))]);
    told.push(ScenarioElement::step(index, "request", args));
    told
}

fn did(seen: Observation) -> Option<ScenarioElement> {
    let label = |key: &str| seen.selectors.get(key).and_then(Value::as_str).map(|name| Value::from(word(name)));
    let take = |keys: &[&str]| {
        let entry = |key: &&str| Some(((*key).to_owned(), seen.value.get(*key)?.clone()));
        keys.iter().filter_map(entry).collect::<Map<String, Value>>()
    };
    let (selectors, value, owed) = match seen.kind {
        "response" if seen.value.contains_key("json") => (args([("to", label("to"))]), take(&["status", "json"]), true),
        "response" => (args([("to", label("to"))]), take(&["status", "text"]), true),
        "subscribed" => (args([("of", label("of"))]), take(&["status"]), true),
        "completed" => (args([("of", label("of"))]), take(&["response"]), true),
        "event" => {
            let name = seen.selectors.get("event").cloned().unwrap_or_default();
            let known = name.as_str().is_some_and(|name| EVENTS.contains(&name));
            let value = take(if known { &["data"] } else { &["json"] });
            let owed = name == "approval:required";
            (args([("of", label("of")), ("event", known.then_some(name))]), value, owed)
        }
        _ => return None,
    };
    Some(ScenarioElement::seen(seen.index, seen.kind, selectors, value, owed))
}

/// An answer about all sessions without what sessions of others have a part in.
fn without_others(mut seen: Observation) -> Observation {
    if let Some(body) = seen.value.get_mut("json").and_then(Value::as_object_mut) {
        body.retain(|key, _| !["active_sessions", "sessions", "total"].contains(&key.as_str()));
    }
    seen
}

/// A key that was refused is not in the trace, so that another one is shown, which need not be refused.
fn forget_refusal(told: &mut ScenarioElement) {
    if let ScenarioElement::Seen { kind: "response", value, owed, .. } = told
        && matches!(value.get("status").and_then(Value::as_u64), Some(401 | 403))
    {
        *owed = false;
    }
}
