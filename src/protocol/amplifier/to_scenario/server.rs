//! A trace of a server as a scenario: requests of the extension as steps, and reactions of the server as observations.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::protocol::amplifier::endpoints::{Endpoint, Route};
use crate::protocol::amplifier::find_event;
use crate::protocol::amplifier::observer::AmplifierObserver;
use crate::protocol::http::content::Content;
use crate::protocol::http::redirects;
use crate::protocol::http::scenario::{Exchanges, Whole, has_secret, http, raw};
use crate::protocol::scenario_element::{Labels, ScenarioElement, TraceToScenario, args, word};
use crate::protocol::{Observation, Observer};
use crate::trace::{Closed, Direction, End, Event, EventKind, HttpRequest};

/// Makes a scenario of what our client did to a server.
pub struct ServerToScenario {
    exchanges: Exchanges,
    observer: AmplifierObserver,
    labels: Labels,
    /// Open subscriptions, and whether they are WebSockets.
    subscriptions: HashMap<String, bool>,
    ended: HashSet<String>,
    /// Exchanges that a step began.
    begun_by_step: HashSet<String>,
    /// Exchanges begun by a step that request something about all sessions.
    about_all_sessions: HashSet<String>,
    /// Exchanges begun by a step that sent an API key, which the trace hides.
    keyed: HashSet<String>,
}

impl ServerToScenario {
    /// At the beginning of a trace.
    pub fn new() -> Self {
        Self {
            exchanges: Exchanges::default(),
            observer: AmplifierObserver::new(End::Server),
            labels: Labels::default(),
            subscriptions: HashMap::new(),
            ended: HashSet::new(),
            begun_by_step: HashSet::new(),
            about_all_sessions: HashSet::new(),
            keyed: HashSet::new(),
        }
    }

    /// The step for a subscription that the head of a request or handshake begins.
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
        self.subscriptions.insert(name.to_owned(), socket);
        let args = args([
            ("as", Some(word(name).into())),
            ("session_id", route.name.map(Value::from)),
            ("transport", socket.then(|| "ws".into())),
        ]);
        Some(ScenarioElement::step(event.i, "subscribe", args))
    }

    /// What the client does in a subscription.
    fn client_element(&mut self, event: &Event, name: &str) -> Option<ScenarioElement> {
        let of = || Some(Value::from(word(name)));
        let socket = *self.subscriptions.get(name)?;
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
            EventKind::Frame(frame) if frame.opcode == 8 && self.ended.insert(name.to_owned()) => {
                Some(ScenarioElement::step(event.i, "unsubscribe", args([("of", of())])))
            }
            EventKind::Closed(how) if self.ended.insert(name.to_owned()) => {
                let how = (*how == Closed::Reset).then(|| "reset".into());
                Some(ScenarioElement::step(event.i, "unsubscribe", args([("of", of()), ("how", how)])))
            }
            _ => None,
        }
    }
}

impl TraceToScenario for ServerToScenario {
    fn event(&mut self, event: &Event) -> Vec<ScenarioElement> {
        let observations = self.observer.observe(event);
        let Some(exchange) = event.conn.as_deref() else { return vec![] };
        let name = redirects::asked(exchange);
        let message = self.exchanges.event(event);
        let mut elements = vec![];
        // A redirect is followed by the step that made the request.
        if event.dir == Some(Direction::ToServer) && (name == exchange || matches!(event.kind, EventKind::Closed(_))) {
            elements.extend(self.subscribes(event, name));
            if self.subscriptions.contains_key(name) {
                elements.extend(self.client_element(event, name));
            } else {
                match message {
                    Some(Whole::Request(head, content)) => {
                        if content.json().and_then(|body| body.get("credentials")).is_some_and(has_secret) {
                            self.keyed.insert(name.to_owned());
                        }
                        elements.extend(request_elements(event.i, name, &head, &content));
                    }
                    Some(Whole::Torn(Direction::ToServer, bytes)) => {
                        if let Some(mut args) = raw(&bytes) {
                            args.insert("as".to_owned(), word(name).into());
                            elements.push(ScenarioElement::step(event.i, "http", args));
                        }
                    }
                    _ => {}
                }
            }
        } else if let EventKind::Closed(_) = &event.kind {
            self.ended.insert(name.to_owned());
        }
        for step in &elements {
            let ScenarioElement::Step { args, .. } = step else { continue };
            self.begun_by_step.insert(name.to_owned());
            let endpoint = args.get("endpoint").and_then(Value::as_str);
            if endpoint.is_some_and(|endpoint| ["health", "listSessions"].contains(&endpoint)) {
                self.about_all_sessions.insert(name.to_owned());
            }
        }
        // How a subscription was answered, `subscribed` says.
        let follows = self.subscriptions.contains_key(name);
        let observations = observations
            .into_iter()
            .filter(|observation| self.begun_by_step.contains(name) && !(follows && observation.kind == "response"));
        let about_all_sessions = self.about_all_sessions.contains(name);
        elements.extend(
            observations
                .map(|observation| if about_all_sessions { without_others(observation) } else { observation })
                .filter_map(observation_element),
        );
        if self.keyed.contains(name) {
            elements.iter_mut().for_each(forget_refusal);
        }
        elements
    }

    fn liveness_probe(&mut self) -> Vec<ScenarioElement> {
        let label = self.labels.name("alive");
        let arguments = args([("as", Some(label.as_str().into())), ("endpoint", Some("health".into()))]);
        vec![
            ScenarioElement::step(u64::MAX, "request", arguments),
            ScenarioElement::seen(u64::MAX, "response", args([("to", Some(label.into()))]), Map::new(), true),
        ]
    }
}

/// A request: as the verb `request` has it, where that can say it.
fn request_elements(index: u64, name: &str, head: &HttpRequest, content: &Content<'_>) -> Vec<ScenarioElement> {
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
    let mut elements = vec![];
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
            elements.push(ScenarioElement::Folder { path });
        }
        // What is left out is filled in, unless it is said that it is not there.
        body.entry("profile").or_insert(Value::Null);
    }
    let some = |map: Map<String, Value>| (!map.is_empty()).then(|| map.into());
    let args =
        args([("as", label), ("endpoint", Some(endpoint.into())), ("params", some(params)), ("body", some(body))]);
    elements.push(ScenarioElement::step(index, "request", args));
    elements
}

fn observation_element(observation: Observation) -> Option<ScenarioElement> {
    let label = |key: &str| observation.selectors.get(key).and_then(Value::as_str).map(|name| Value::from(word(name)));
    let take = |keys: &[&str]| {
        let entry = |key: &&str| Some(((*key).to_owned(), observation.value.get(*key)?.clone()));
        keys.iter().filter_map(entry).collect::<Map<String, Value>>()
    };
    let (selectors, value, owed) = match observation.kind {
        "response" if observation.value.get("json").is_some() => {
            (args([("to", label("to"))]), take(&["status", "json"]), true)
        }
        "response" => (args([("to", label("to"))]), take(&["status", "text"]), true),
        "subscribed" => (args([("of", label("of"))]), take(&["status"]), true),
        "completed" => (args([("of", label("of"))]), take(&["response"]), true),
        "event" => {
            let name = observation.selectors.get("event").cloned().unwrap_or_default();
            let known = name.as_str().and_then(find_event).is_some();
            let value = take(if known { &["data"] } else { &["json"] });
            let owed = name == "approval:required";
            (args([("of", label("of")), ("event", known.then_some(name))]), value, owed)
        }
        _ => return None,
    };
    Some(ScenarioElement::seen(observation.index, observation.kind, selectors, value, owed))
}

/// A response about all sessions, without the members that sessions of others change.
fn without_others(mut observation: Observation) -> Observation {
    if let Some(body) = observation.value.get_mut("json").and_then(Value::as_object_mut) {
        body.retain(|key, _| !["active_sessions", "sessions", "total"].contains(&key.as_str()));
    }
    observation
}

/// A key that was refused is not in the trace, so that another one is shown, which need not be refused.
fn forget_refusal(elements: &mut ScenarioElement) {
    if let ScenarioElement::Seen { kind: "response", value, owed, .. } = elements
        && matches!(value.get("status").and_then(Value::as_u64), Some(401 | 403))
    {
        *owed = false;
    }
}
