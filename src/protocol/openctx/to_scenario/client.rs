//! What a client asked of our provider as observations, and what the provider answered as steps.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::protocol::http::content::Content;
use crate::protocol::http::to_scenario::{Exchanges, Whole, has_secret, raw, respond};
use crate::protocol::openctx::client_role::OPENCTX_CLIENT;
use crate::protocol::scenario_element::{ScenarioElement, TraceToScenario, args, word};
use crate::trace::{Closed, Direction, Event, EventKind, HttpResponse};

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
        let mut told = vec![];
        if OPENCTX_CLIENT.calls.iter().any(|(call, _)| *call == method) {
            let params = params.clone().unwrap_or(json!({}));
            told.push(ScenarioElement::Call { index, method: method.clone(), params });
        }
        let value = args([("params", params), ("settings", settings.filter(|settings| !has_secret(settings)))]);
        let seen = ScenarioElement::seen(index, "request", args([("method", Some(method.into()))]), value, true);
        told.push(seen.with_find("exchange", &word(name)));
        told
    }

    fn answered(&mut self, index: u64, name: &str, head: &HttpResponse, content: &Content<'_>) -> ScenarioElement {
        self.by_steps(name);
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
    fn by_steps(&mut self, name: &str) {
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
                self.by_steps(name);
                let Some(mut args) = raw(&bytes) else { return vec![] };
                args.insert("then".to_owned(), "close".into());
                vec![ScenarioElement::step(event.i, "respond", args).with_found("to", &word(name))]
            }
            _ => match (&event.kind, event.dir) {
                (EventKind::Closed(how), Some(Direction::ToClient))
                    if self.methods.contains_key(name) && !self.exchanges.is_answered(name) =>
                {
                    self.by_steps(name);
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
