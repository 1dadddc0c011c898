//! The exchanges of a trace as scenario elements: [`ServerToScenario`] where the subject was the provider,
//! [`ClientToScenario`] where it was the client.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::protocol::http::content::Content;
use crate::protocol::http::redirects;
use crate::protocol::http::scenario::{Exchanges, Whole, has_secret, http, raw, respond};
use crate::protocol::scenario_element::{Labels, ScenarioElement, TraceToScenario, args, word};
use crate::protocol::{Observation, Observer};
use crate::trace::{Closed, Direction, End, Event, EventKind, HttpRequest, HttpResponse};

use super::observer::OpenCtxObserver;
use super::roles::OPENCTX_CLIENT;

/// Tells again what a client of ours asked of a provider.
pub struct ServerToScenario {
    exchanges: Exchanges,
    observer: OpenCtxObserver,
    labels: Labels,
    /// The labels of what was asked, or at least opened.
    asked: HashSet<String>,
}

impl ServerToScenario {
    /// A converter that has seen no event.
    pub fn new() -> Self {
        let (exchanges, labels) = (Exchanges::default(), Labels::default());
        Self { exchanges, observer: OpenCtxObserver::new(End::Server), labels, asked: HashSet::new() }
    }
}

impl TraceToScenario for ServerToScenario {
    fn event(&mut self, event: &Event) -> Vec<ScenarioElement> {
        let seen = self.observer.observe(event);
        let Some(name) = event.conn.as_deref() else { return vec![] };
        let label = word(redirects::asked(name));
        let mut elements = vec![];
        match self.exchanges.event(event) {
            // A redirect is followed by the step that asked.
            Some(Whole::Request(..)) if redirects::asked(name) != name => {}
            Some(Whole::Request(head, content)) => elements.push(asked(event.i, &label, &head, &content)),
            Some(Whole::Torn(Direction::ToServer, bytes)) => {
                if let Some(mut args) = raw(&bytes) {
                    args.insert("as".to_owned(), label.as_str().into());
                    elements.push(ScenarioElement::step(event.i, "http", args));
                }
            }
            _ => {}
        }
        if let (EventKind::Closed(how), Some(Direction::ToServer)) = (&event.kind, event.dir)
            && !self.exchanges.is_answered(name)
            && elements.is_empty()
        {
            let (of, how) = (Value::from(label.as_str()), (*how == Closed::Reset).then(|| "reset".into()));
            if !self.asked.contains(&label) {
                elements.push(ScenarioElement::step(event.i, "open", args([("as", Some(of.clone()))])));
            }
            elements.push(ScenarioElement::step(event.i, "drop", args([("of", Some(of)), ("how", how)])));
        }
        if !elements.is_empty() {
            self.asked.insert(label.clone());
        }
        elements.extend(seen.into_iter().filter(|_| self.asked.contains(&label)).filter_map(answered));
        elements
    }

    fn liveness_probe(&mut self) -> Vec<ScenarioElement> {
        let label = self.labels.name("alive");
        let asked = args([("as", Some(label.as_str().into())), ("method", Some("meta".into()))]);
        vec![
            ScenarioElement::step(u64::MAX, "request", asked),
            ScenarioElement::seen(u64::MAX, "response", args([("to", Some(label.into()))]), Map::new(), true),
        ]
    }
}

/// A request: as the verb `request` has it, where that can say it.
fn asked(index: u64, label: &str, head: &HttpRequest, content: &Content<'_>) -> ScenarioElement {
    let coding = head.header("content-encoding").next().filter(|coding| ["gzip", "deflate"].contains(coding));
    let usual = coding.is_none()
        && head.method() == "POST"
        && head.header("content-type").any(|v| v.starts_with("application/json"));
    let members = content.json().and_then(Value::as_object).filter(|_| usual);
    let known =
        |map: &Map<String, Value>| map.keys().all(|key| ["method", "params", "settings"].contains(&key.as_str()));
    if let Some(map) = members.filter(|map| known(map))
        && let Some(method) = map.get("method").and_then(Value::as_str)
    {
        let params = match map.get("params") {
            None => Some(Value::Null),
            Some(params) => Some(params.clone()).filter(|params| *params != json!({})),
        };
        let settings = match map.get("settings") {
            None => Some(Value::Null),
            Some(settings) => Some(settings.clone()).filter(|s| *s != json!({}) && !has_secret(s)),
        };
        let args = args([
            ("as", Some(label.into())),
            ("method", Some(method.into())),
            ("params", params),
            ("settings", settings),
        ]);
        return ScenarioElement::step(index, "request", args);
    }
    let mut args = http(head, content, "POST");
    args.remove("target").filter(|target| target != "/").map(|target| args.insert("target".to_owned(), target));
    args.insert("as".to_owned(), label.into());
    args.extend(coding.map(|coding| ("encoding".to_owned(), coding.into())));
    ScenarioElement::step(index, "http", args)
}

fn answered(seen: Observation) -> Option<ScenarioElement> {
    let to = seen.selectors.get("to").and_then(Value::as_str).map(|to| word(to).into());
    let take = |keys: &[&str]| {
        let entry = |key: &&str| Some(((*key).to_owned(), seen.value.get(*key)?.clone()));
        keys.iter().filter_map(entry).collect::<Map<String, Value>>()
    };
    let value = match seen.kind {
        "response" if seen.value.get("result").is_some() => take(&["status", "result"]),
        "response" if seen.value.get("error").is_some() => take(&["status", "error"]),
        "response" if seen.value.get("json").is_some() => take(&["status", "json"]),
        "response" => take(&["status", "text"]),
        "closed" => Map::new(),
        _ => return None,
    };
    Some(ScenarioElement::seen(seen.index, seen.kind, args([("to", to)]), value, seen.kind == "response"))
}

/// Tells again what a client asked of a provider of ours.
#[derive(Default)]
pub struct ClientToScenario {
    exchanges: Exchanges,
    /// The method of each exchange.
    methods: HashMap<String, Option<String>>,
    withheld: Vec<String>,
    /// Whether steps answer what has no method, too.
    all: bool,
}

impl ClientToScenario {
    fn asked(&mut self, index: u64, name: &str, content: &Content<'_>) -> Vec<ScenarioElement> {
        let member = |key: &str| content.json().and_then(|json| json.get(key));
        let method = member("method").and_then(Value::as_str).map(str::to_owned);
        self.methods.insert(name.to_owned(), method.clone());
        let Some(method) = method else {
            let seen = ScenarioElement::seen(index, "request", Map::new(), Map::new(), false);
            return vec![seen.with_find("exchange", &word(name))];
        };
        let (params, settings) = (member("params").cloned(), member("settings").cloned());
        let mut elements = vec![];
        if OPENCTX_CLIENT.calls.iter().any(|(call, _)| *call == method) {
            let params = params.clone().unwrap_or(json!({}));
            elements.push(ScenarioElement::Call { index, method: method.clone(), params });
        }
        let value = args([("params", params), ("settings", settings.filter(|settings| !has_secret(settings)))]);
        let seen = ScenarioElement::seen(index, "request", args([("method", Some(method.into()))]), value, true);
        elements.push(seen.with_find("exchange", &word(name)));
        elements
    }

    fn answered(&mut self, index: u64, name: &str, head: &HttpResponse, content: &Content<'_>) -> ScenarioElement {
        self.leave_to_steps(name);
        let step = |verb, args| ScenarioElement::step(index, verb, args).with_found("to", &word(name));
        let members = content.json().and_then(Value::as_object);
        let plain = head.status() == Some(200) && head.header("content-type").any(|v| v == "application/json");
        let enveloped = members.filter(|map| plain && map.contains_key("result") != map.contains_key("error"));
        match enveloped {
            Some(map) => {
                let mut extra = map.clone();
                let (result, error) = (extra.remove("result"), extra.remove("error"));
                let extra = (!extra.is_empty()).then(|| extra.into());
                step("answer", args([("result", result), ("error", error), ("extra", extra)]))
            }
            None => step("respond", respond(head, content)),
        }
    }

    /// An exchange that a step answers.
    fn leave_to_steps(&mut self, name: &str) {
        match self.methods.get(name) {
            Some(Some(method)) if !self.withheld.contains(method) => self.withheld.push(method.clone()),
            Some(Some(_)) => {}
            _ => self.all = true,
        }
    }
}

impl TraceToScenario for ClientToScenario {
    fn event(&mut self, event: &Event) -> Vec<ScenarioElement> {
        let Some(name) = event.conn.as_deref() else { return vec![] };
        match self.exchanges.event(event) {
            Some(Whole::Request(_, content)) => self.asked(event.i, name, &content),
            Some(Whole::Response(head, content)) => vec![self.answered(event.i, name, &head, &content)],
            Some(Whole::Torn(Direction::ToClient, bytes)) => {
                self.leave_to_steps(name);
                let Some(mut args) = raw(&bytes) else { return vec![] };
                args.insert("then".to_owned(), "close".into());
                vec![ScenarioElement::step(event.i, "respond", args).with_found("to", &word(name))]
            }
            _ => match (&event.kind, event.dir) {
                (EventKind::Closed(how), Some(Direction::ToClient))
                    if self.methods.contains_key(name) && !self.exchanges.is_answered(name) =>
                {
                    self.leave_to_steps(name);
                    let how = (*how == Closed::Reset).then(|| "reset".into());
                    vec![ScenarioElement::step(event.i, "drop", args([("how", how)])).with_found("to", &word(name))]
                }
                _ => vec![],
            },
        }
    }

    fn end(&mut self) -> Vec<ScenarioElement> {
        let serve = match (self.all, self.withheld.is_empty()) {
            (true, _) => args([("answers", Some("none".into()))]),
            (false, true) => Map::new(),
            (false, false) => args([("withholds", Some(self.withheld.clone().into()))]),
        };
        vec![ScenarioElement::step(0, "serve", serve), ScenarioElement::step(0, "launch", Map::new())]
    }
}
