//! A trace that stands for the feed, and a state that asks it: [`Shown`].

use std::collections::BTreeMap;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Map, Value, json};

use crate::export::EventRow;
use crate::inspect::api::{
    Act, ActExample, ActRequest, Deviation, EventDetail, EventPage, FindingList, FindingText, FoundAt, LiveState,
    RequirementText, ShownRow,
};
use crate::protocol::Level;
use crate::trace::{Culprit, Direction};

use super::app::App;
use super::message::{Effect, Update};
use super::view::{Theme, draw};

/// A trace of so many events. Each tenth has a finding.
pub struct Trace {
    pub events: u64,
}

impl Trace {
    pub fn is_found(i: u64) -> bool {
        i % 10 == 3
    }

    pub fn row(i: u64) -> ShownRow {
        let to_server = i.is_multiple_of(2);
        let row = EventRow {
            i,
            t: i * 1500,
            conn: Some("c1".to_owned()),
            place: Some(0),
            dir: Some(if to_server { Direction::ToServer } else { Direction::ToClient }),
            kind: "message".to_owned(),
            tone: if to_server { "request" } else { "response" }.to_owned(),
            what: if to_server { format!("ping #{i}") } else { format!("ping #{} ok", i - 1) },
            text: "{\"message\":\"\u{1b}[2J\"}".to_owned(),
            after: (!to_server).then_some(1500),
            deliberate: Self::is_found(i).then(|| "id-as-number".to_owned()),
            head: None,
        };
        let level = Self::is_found(i).then(|| "must".to_owned());
        ShownRow { row, level, repeated: false, more: if i == 4 { 12 } else { 0 } }
    }

    pub fn found(&self) -> FindingList {
        let findings = (0..self.events).filter(|i| Self::is_found(*i)).map(|i| FoundAt {
            i,
            deliberate: Some("id-as-number".to_owned()),
            finding: FindingText {
                requirement: Some("amp/cli/rpc/response-id".to_owned()),
                level: Level::Must,
                blame: Culprit::Server,
                message: "the id is a number".to_owned(),
                path: Some("/serverResponse/id".to_owned()),
                expected: Some(json!("2")),
                actual: Some(json!(2)),
            },
        });
        let text = RequirementText {
            statement: "A response has the id of its request.".to_owned(),
            why: String::new(),
            source: "Amp CLI, RPC".to_owned(),
        };
        let requirements = BTreeMap::from([("amp/cli/rpc/response-id".to_owned(), text)]);
        FindingList { findings: findings.collect(), uncounted: 0, requirements }
    }

    pub fn live(&self) -> LiveState {
        let findings = self.found().findings.len() as u64;
        LiveState { events: self.events, settled: self.events, findings, connections: 1, ..LiveState::default() }
    }

    pub fn read(&self, effect: &Effect) -> Option<Update> {
        match effect {
            Effect::Page { query, around, from, limit } => {
                let fits = |i: &u64| !query.findings || Self::is_found(*i);
                let shown: Vec<u64> = (0..self.events).filter(fits).collect();
                let before = around.map(|at| shown.partition_point(|i| *i < at) as u64);
                let from = before.map_or(*from, |before| before.saturating_sub(*from));
                let skip = usize::try_from(from).unwrap();
                let rows = shown.iter().skip(skip).take(*limit).map(|i| Self::row(*i)).collect();
                let (events, total) = (self.events, shown.len() as u64);
                let page =
                    EventPage { events, scanned: events, total, from, settled: events, rows, connections: vec![] };
                Some(Update::Page(Ok(page)))
            }
            Effect::Detail(i) => {
                let findings = self.found().findings.into_iter().filter(|found| found.i == *i).collect();
                let event = json!({ "i": i, "payload": { "text": "\u{9b}2J", "clientRequest": { "id": "2" } } });
                let params = Map::from_iter([("method".to_owned(), json!("ping"))]);
                let act = Some(ActRequest { act: "request".to_owned(), params });
                Some(Update::Detail(*i, Box::new(Ok(EventDetail { event, findings, copies: vec![], act }))))
            }
            Effect::Findings => Some(Update::Findings(self.found())),
            Effect::Acts => {
                let example = |name: &str, wrong, params: Value| ActExample {
                    name: name.to_owned(),
                    wrong,
                    params: params.as_object().cloned().unwrap(),
                };
                let act = |name: &str, about: &str, examples| Act {
                    name: name.to_owned(),
                    about: about.to_owned(),
                    schema: json!({}),
                    examples,
                    forms: vec![],
                };
                let examples = vec![
                    example("ping", false, json!({ "method": "ping", "params": { "message": "a" } })),
                    example(
                        "ping: a number at /message",
                        true,
                        json!({ "method": "ping", "params": { "message": 1 } }),
                    ),
                ];
                let acts = vec![act("request", "Sends a request.", examples), act("quit", "Ends the mock.", vec![])];
                Some(Update::Acts(acts))
            }
            Effect::Deviations => {
                let deviation = |name: &str, flaw, breaks: Option<&str>| Deviation {
                    name: name.to_owned(),
                    flaw,
                    about: format!("It does {name}."),
                    breaks: breaks.map(str::to_owned),
                    on: name == "no-pong",
                };
                let all = vec![
                    deviation("id-as-number", true, Some("amp/cli/rpc/response-id")),
                    deviation("no-pong", true, Some("amp/cli/ping/pong")),
                    deviation("large-frames", false, None),
                ];
                Some(Update::Deviations(Ok(all)))
            }
            Effect::State => Some(Update::State(json!({ "open": ["a.txt"] }))),
            _ => None,
        }
    }
}

/// Does what a state wants. Gives what nobody can tell it.
pub fn perform(app: &mut App, mut effects: Vec<Effect>, tell: impl Fn(&Effect) -> Option<Update>) -> Vec<Effect> {
    let mut wanted = vec![];
    while !effects.is_empty() {
        let effect = effects.remove(0);
        match tell(&effect) {
            Some(update) => effects.extend(app.update(update)),
            None => wanted.push(effect),
        }
    }
    wanted
}

/// A state whose questions a trace answers, and what else it wants.
pub struct Shown {
    pub app: App,
    trace: Trace,
    /// What nobody has told it.
    pub wanted: Vec<Effect>,
    pub size: (u16, u16),
}

impl Shown {
    pub fn new(events: u64, size: (u16, u16)) -> Self {
        let (app, effects) = App::new("mock of amp-server", json!({ "url": "http://127.0.0.1:4711" }), size);
        let mut shown = Self { app, trace: Trace { events }, wanted: vec![], size };
        shown.perform(effects);
        shown.changed(events);
        shown
    }

    pub fn perform(&mut self, effects: Vec<Effect>) {
        let wanted = perform(&mut self.app, effects, |effect| self.trace.read(effect));
        self.wanted.extend(wanted);
    }

    pub fn update(&mut self, update: Update) {
        let effects = self.app.update(update);
        self.perform(effects);
    }

    pub fn changed(&mut self, events: u64) {
        self.trace.events = events;
        self.update(Update::Live(self.trace.live()));
    }

    pub fn press(&mut self, codes: impl IntoIterator<Item = KeyCode>) {
        for code in codes {
            self.update(Update::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
    }

    pub fn control(&mut self, c: char) {
        self.update(Update::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)));
    }

    pub fn type_text(&mut self, text: &str) {
        self.press(text.chars().map(KeyCode::Char));
    }

    pub fn terminal(&self, colored: bool) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| _ = draw(&self.app, Theme { colored }, frame.buffer_mut())).unwrap();
        terminal.backend().clone()
    }

    pub fn seen(&self) -> Vec<u64> {
        self.app.timeline.rows.iter().map(|row| row.row.i).collect()
    }
}

/// The least screen that should do.
pub const SMALL: (u16, u16) = (60, 16);
