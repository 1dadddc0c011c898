//! A trace of a client as a scenario: requests of the extension as observations, and actions of our server as steps.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::protocol::amplifier::observer::AmplifierObserver;
use crate::protocol::http::scenario::{Exchanges, Whole, has_secret, raw, respond};
use crate::protocol::scenario_element::{ScenarioElement, TraceToScenario, args, hex, word};
use crate::protocol::{Observation, Observer};
use crate::trace::{Closed, Direction, End, Event, EventKind};

/// Makes a scenario of what an extension did to our server.
pub struct ClientToScenario {
    exchanges: Exchanges,
    observer: AmplifierObserver,
    /// The endpoint of each exchange that is no subscription.
    endpoints: HashMap<String, Option<String>>,
    subscriptions: HashSet<String>,
    ended: HashSet<String>,
    withheld: Vec<String>,
    all_by_steps: bool,
    /// How many subscriptions were accepted.
    accepted: u64,
    refused: Option<RefusedSubscriptions>,
}

/// How our server refused subscriptions.
struct RefusedSubscriptions {
    /// How many were accepted before.
    after: u64,
    status: u16,
    deliberate: bool,
}

impl ClientToScenario {
    /// At the beginning of a trace.
    pub fn new() -> Self {
        Self {
            exchanges: Exchanges::default(),
            observer: AmplifierObserver::new(End::Client),
            endpoints: HashMap::new(),
            subscriptions: HashSet::new(),
            ended: HashSet::new(),
            withheld: vec![],
            all_by_steps: false,
            accepted: 0,
            refused: None,
        }
    }

    fn client_elements(&mut self, observation: Observation) -> Vec<ScenarioElement> {
        let name = observation.conn.clone().unwrap_or_default();
        let take = |keys: &[&str]| {
            let entry =
                |key: &&str| Some(((*key).to_owned(), observation.value.get(*key).filter(|v| !has_secret(v))?.clone()));
            keys.iter().filter_map(entry).collect::<Map<String, Value>>()
        };
        let index = observation.index;
        match observation.kind {
            "request" => {
                let endpoint = observation.selectors.get("endpoint").and_then(Value::as_str).map(str::to_owned);
                self.endpoints.insert(name.clone(), endpoint.clone());
                let mut elements = vec![];
                if let Some(method) = endpoint.clone() {
                    let body = observation.value.get("json").and_then(Value::as_object).cloned().unwrap_or_default();
                    let mut params = body;
                    params.extend(
                        observation.value.get("params").and_then(Value::as_object).cloned().unwrap_or_default(),
                    );
                    params.retain(|_, value| !has_secret(value));
                    elements.push(ScenarioElement::Call { index, method, params: params.into() });
                }
                let value = take(&["params", "json"]);
                let owed = endpoint.is_some();
                let element = ScenarioElement::seen(
                    index,
                    "request",
                    args([("endpoint", endpoint.map(Value::from))]),
                    value,
                    owed,
                );
                elements.push(element.with_find("exchange", &word(&name)));
                elements
            }
            "subscribe" => {
                self.subscriptions.insert(name.clone());
                let transport = observation.selectors.get("transport").cloned();
                let session = observation.value.get("session_id").cloned();
                let params = args([("session_id", session), ("transport", transport.clone())]);
                let value = take(&["session_id"]);
                let element = ScenarioElement::seen(index, "subscribe", args([("transport", transport)]), value, true);
                vec![
                    ScenarioElement::Call { index, method: "subscribe".to_owned(), params: params.into() },
                    element.with_find("exchange", &word(&name)),
                ]
            }
            "control" => {
                let action = observation.selectors.get("action").cloned();
                vec![ScenarioElement::seen(index, "control", args([("action", action)]), take(&["json"]), true)]
            }
            _ => vec![],
        }
    }

    /// What our server did.
    fn server_elements(&mut self, event: &Event, name: &str) -> Vec<ScenarioElement> {
        let message = self.exchanges.event(event);
        let step = |verb, args| vec![ScenarioElement::step(event.i, verb, args)];
        if self.subscriptions.contains(name) && self.is_refusal(event) {
            self.subscriptions.remove(name);
            if self.refused.is_none() {
                // It is no event stream: only a response by a step can be that.
                self.endpoints.insert(name.to_owned(), Some("subscribe".to_owned()));
            } else {
                self.ended.insert(name.to_owned());
            }
        }
        if self.subscriptions.contains(name) {
            let of = |steps: Vec<ScenarioElement>| steps.into_iter().map(|s| s.with_found("of", &word(name))).collect();
            return match &event.kind {
                EventKind::StreamEvent(sent) => {
                    let text = sent.data.as_deref().unwrap_or_default();
                    let more = [("type", sent.event.clone()), ("id", sent.id.clone())];
                    match serde_json::from_str::<Value>(text).ok().as_ref().and_then(event_of) {
                        Some(mut args) => {
                            args.extend(more.into_iter().filter_map(|(key, v)| Some((key.to_owned(), v?.into()))));
                            of(step("event", args))
                        }
                        None if sent.data.is_some() => {
                            let lines: String = text.split('\n').map(|line| format!("data: {line}\n")).collect();
                            of(step("stream", args([("text", Some(format!("{lines}\n").into()))])))
                        }
                        None => vec![],
                    }
                }
                EventKind::Message(message) => match message.json.as_ref().and_then(event_of) {
                    Some(args) => of(step("event", args)),
                    None => {
                        let text = message.json.as_ref().map(Value::to_string);
                        let text = text.or_else(|| message.payload.as_ref()?.as_text().map(str::to_owned));
                        let bytes = message.payload.as_ref().filter(|_| text.is_none());
                        let hex = bytes.map(|bytes| hex(bytes.as_bytes()).into());
                        let opcode = (!message.text).then(|| 2.into());
                        of(step("stream", args([("text", text.map(Value::from)), ("hex", hex), ("opcode", opcode)])))
                    }
                },
                EventKind::Body(body) if body.last && self.ended.insert(name.to_owned()) => of(step("cut", Map::new())),
                EventKind::Closed(how) if self.ended.insert(name.to_owned()) => {
                    let how = if *how == Closed::Reset { "reset" } else { "eof" };
                    of(step("cut", args([("how", Some(how.into()))])))
                }
                _ => vec![],
            };
        }
        if self.refused.is_some() && self.ended.contains(name) && !self.endpoints.contains_key(name) {
            return vec![];
        }
        let to = |steps: Vec<ScenarioElement>| steps.into_iter().map(|s| s.with_found("to", &word(name))).collect();
        match message {
            Some(Whole::Response(head, content)) => {
                self.note_answered_by_step(name);
                to(step("respond", respond(&head, &content)))
            }
            Some(Whole::Torn(Direction::ToClient, bytes)) => {
                self.note_answered_by_step(name);
                let Some(mut args) = raw(&bytes) else { return vec![] };
                args.insert("then".to_owned(), "close".into());
                to(step("respond", args))
            }
            _ => match &event.kind {
                EventKind::Closed(how) if self.endpoints.contains_key(name) && !self.exchanges.is_answered(name) => {
                    self.note_answered_by_step(name);
                    let how = (*how == Closed::Reset).then(|| "reset".into());
                    to(step("drop", args([("how", how)])))
                }
                _ => vec![],
            },
        }
    }

    /// Whether a response of our server refuses a subscription; notes how.
    fn is_refusal(&mut self, event: &Event) -> bool {
        let (status, stream) = match &event.kind {
            EventKind::HttpResponse(head) if !matches!(head.status(), Some(100..=199)) => {
                (head.status(), head.is_event_stream())
            }
            EventKind::Handshake(head) => (head.status(), false),
            _ => return false,
        };
        if status == Some(101) || status == Some(200) && stream {
            self.accepted += 1;
            return false;
        }
        let upgrade = matches!(event.kind, EventKind::Handshake(_));
        if let Some(status) = status.filter(|status| upgrade || *status != 200) {
            let deliberate = event.deliberate.is_some();
            let refused = self.refused.get_or_insert(RefusedSubscriptions { after: self.accepted, status, deliberate });
            refused.deliberate |= deliberate;
        }
        true
    }

    fn note_answered_by_step(&mut self, name: &str) {
        match self.endpoints.get(name) {
            Some(Some(endpoint)) if !self.withheld.contains(endpoint) => self.withheld.push(endpoint.clone()),
            Some(Some(_)) => {}
            _ => self.all_by_steps = true,
        }
    }
}

impl TraceToScenario for ClientToScenario {
    fn event(&mut self, event: &Event) -> Vec<ScenarioElement> {
        let observations = self.observer.observe(event);
        let (Some(name), Some(dir)) = (event.conn.as_deref(), event.dir) else { return vec![] };
        if dir == Direction::ToClient {
            return self.server_elements(event, name);
        }
        if let EventKind::Closed(_) = &event.kind {
            self.ended.insert(name.to_owned());
        }
        self.exchanges.event(event);
        observations.into_iter().flat_map(|observation| self.client_elements(observation)).collect()
    }

    fn end(&mut self) -> Vec<ScenarioElement> {
        let mut serve = args([("quiet", Some(true.into()))]);
        if self.all_by_steps {
            serve.insert("answers".to_owned(), "none".into());
        } else if !self.withheld.is_empty() {
            serve.insert("withholds".to_owned(), self.withheld.clone().into());
        }
        if let Some(refused) = self.refused.take() {
            let after = (refused.after > 0).then(|| refused.after.into());
            let how = args([("after", after), ("status", Some(refused.status.into()))]);
            serve.insert("refuses".to_owned(), how.into());
            if refused.deliberate {
                serve.insert("deliberate".to_owned(), "subscriptions are refused as in the trace".into());
            }
        }
        vec![ScenarioElement::step(0, "serve", serve), ScenarioElement::step(0, "launch", Map::new())]
    }
}

/// An event as the verb `event` has it; none where the message is no such thing.
fn event_of(message: &Value) -> Option<Map<String, Value>> {
    let map = message.as_object()?;
    let name = map.get("event")?.as_str()?;
    let data = map.get("data").cloned().unwrap_or(json!({}));
    let known = map.keys().all(|key| key == "event" || key == "data") && data.is_object();
    known.then(|| args([("event", Some(name.into())), ("data", Some(data))]))
}
