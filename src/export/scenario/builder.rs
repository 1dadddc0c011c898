//! Collecting what a scenario can express of a trace: [`ScenarioBuilder`].

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use crate::protocol::MessageSort;
use crate::protocol::scenario_element::{Labels, ScenarioElement, TraceToScenario, args};
use crate::trace::{Call, End, Event, EventKind, FileChange, Finding, Launched, NormalisationFacts, Payload, Returned};

use super::play::ScenarioItem;
use super::workspace::WorkspacePaths;
use super::{NoScenario, ScenarioGoal, ScenarioSpec, play};

/// The most steps and expectations of a scenario.
const MAX_ITEMS: usize = 2_000;

/// The connection that is meant where none is named.
pub(super) const MAIN: &str = "main";

/// A path that our side named counts as much as so many that the subject did, who may tell of much else.
const OWN_WEIGHT: usize = 1_000;

/// Collects the events of a trace that a scenario can express. Holds no more than a scenario can.
pub struct ScenarioBuilder {
    pub(super) spec: ScenarioSpec,
    to_scenario: Box<dyn TraceToScenario>,
    pub(super) items: Vec<ScenarioItem>,
    too_long: bool,
    labels: Labels,
    pub(super) calls: HashMap<u64, String>,
    /// The requests that have an id in their message: the connection, the id, the number of the event.
    pub(super) ids: Vec<(Option<String>, Value, u64)>,
    /// The name of the first connection.
    first: Option<String>,
    /// How often each name of a connection was given.
    opened: HashMap<String, u64>,
    paths: WorkspacePaths,
    ports: BTreeSet<u16>,
    /// What our side did wrong: by the number of the event, and why.
    wrong: BTreeMap<u64, String>,
    /// The same, of the connections on which no step has said so yet.
    pending: HashMap<Option<String>, String>,
    pub(super) evidence: Option<FindingEvidence>,
    /// What lets a sound subject show that it has come so far, as of the finding.
    liveness: Option<Vec<ScenarioElement>>,
    /// Where the last step of the recorded play began, if the trace is one of a play.
    step_start: Option<StepStart>,
    /// How many items there were at the last landmark of the recorded play; all that are still to come where it waited for
    /// what a call gave.
    last_mark: Option<usize>,
    /// How often the subject was launched.
    launches: u64,
    /// Whether our side has ended its service: what a driven client's calls fail for then, no traffic tells.
    stopped: bool,
    /// How many items there were at the last call to a driven client.
    last_call_at: usize,
}

/// The start of a step of the recorded play.
struct StepStart {
    /// The number of the event.
    index: u64,
    /// How many items there were.
    at: usize,
}

/// The verb that makes our side end its service, and the one that begins it.
const STOP: &str = "stop";
const SERVE: &str = "serve";

/// The verb that has a driven client end.
const DISMISS: &str = "dismiss";

/// The event that shows the finding.
pub(super) struct FindingEvidence {
    pub conn: Option<String>,
    /// The end that sent the event.
    pub sender: Option<End>,
    /// The JSON of the event's message.
    pub json: Option<Value>,
    /// Whether a process ended.
    pub exit: bool,
}

impl ScenarioBuilder {
    /// Nothing gathered yet. `wrong` is what rules find, which tells what our side does wrong in the trace.
    pub fn new(spec: ScenarioSpec, wrong: &[Finding]) -> Self {
        let ours = |found: &&Finding| found.blame.end().is_some_and(|end| end != spec.role.subject);
        let wrong = wrong.iter().filter(ours).map(|found| (found.at, found.message.clone()));
        let wrong = wrong.collect();
        Self {
            to_scenario: spec.edition.to_scenario(spec.role.subject),
            spec,
            items: vec![],
            too_long: false,
            labels: Labels::default(),
            calls: HashMap::new(),
            ids: vec![],
            first: None,
            opened: HashMap::new(),
            paths: WorkspacePaths::default(),
            ports: BTreeSet::new(),
            wrong,
            pending: HashMap::new(),
            evidence: None,
            liveness: None,
            step_start: None,
            last_mark: None,
            launches: 0,
            stopped: false,
            last_call_at: 0,
        }
    }

    /// Takes in the next event.
    pub fn event(&mut self, event: &Event) {
        let renamed = self.renamed(event);
        let event = renamed.as_ref().unwrap_or(event);
        let limit = self.spec.finding.as_ref().map_or(u64::MAX, ScenarioGoal::last_event);
        let theirs = event.dir.is_some_and(|dir| dir.sender() == self.spec.role.subject);
        if !theirs {
            let why = event.deliberate.clone().or_else(|| self.wrong.get(&event.i).cloned());
            self.pending.extend(why.map(|why| (event.conn.clone(), why)));
        }
        if let EventKind::Connected { address } = &event.kind {
            self.ports.extend(address.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()));
        }
        if self.spec.finding.is_some() && event.i == limit {
            self.evidence = Some(FindingEvidence {
                conn: event.conn.clone(),
                sender: event.dir.map(|dir| dir.sender()),
                json: message(event),
                exit: matches!(event.kind, EventKind::Exited(_)),
            });
        }
        if let Some((id, _)) = self.request_id(event).zip((self.ids.len() < MAX_ITEMS).then_some(())) {
            self.ids.push((event.conn.clone(), id, event.i));
        }
        if event.i > limit && self.liveness.is_none() {
            // By now, connections that end later still stand.
            self.liveness = Some(self.to_scenario.liveness_probe());
        }
        if let EventKind::Mark(mark) = &event.kind
            && mark.mark == "step"
        {
            self.step_start = Some(StepStart { index: event.i, at: self.items.len() });
            let waits = mark.text.starts_with("expect") && mark.text.contains("returned");
            self.last_mark = Some(if waits { usize::MAX } else { self.items.len() });
        }
        for element in self.to_scenario.event(event) {
            // Who has ended does nothing more: what still happens is how it ends.
            if self.stopped && matches!(element, ScenarioElement::Step { .. }) {
                continue;
            }
            self.keep(element, event.conn.clone(), limit);
        }
        if let Some(element) = self.driven(event) {
            self.keep(element, event.conn.clone(), limit);
        }
        if let Some((begun, element)) = self.external_action(event)
            && begun.index <= limit
            && self.items.len() < MAX_ITEMS
        {
            // It is recorded when it is over, and what it led to stands before it.
            self.learn_paths(&element);
            let at = begun.at.min(self.items.len());
            self.items.insert(at, ScenarioItem { element, conn: None, deliberate: None });
        }
    }

    /// The id of a request of ours.
    fn request_id(&self, event: &Event) -> Option<Value> {
        event.dir.filter(|dir| dir.sender() != self.spec.role.subject)?;
        let summary = self.spec.edition.summarize(event)?;
        summary.id.filter(|_| summary.sort == MessageSort::Request).cloned()
    }

    /// What was done to the subject from outside, and where that began.
    fn external_action(&mut self, event: &Event) -> Option<(StepStart, ScenarioElement)> {
        let now = |items: &[ScenarioItem]| StepStart { index: event.i, at: items.len() };
        match &event.kind {
            EventKind::Stimulus(stimulus) => {
                let known = (self.spec.role.stimuli)().iter().any(|verb| verb.name == stimulus.name);
                let body = Map::from_iter([(stimulus.name.clone(), Value::Object(stimulus.params.clone()))]);
                let begun = self.step_start.take().unwrap_or_else(|| now(&self.items));
                known.then(|| (StepStart { ..begun }, ScenarioElement::step(begun.index, "stimulate", body)))
            }
            EventKind::Launched(Launched { .. }) => {
                self.launches += 1;
                let begun = self.step_start.take().filter(|_| self.launches > 1)?;
                let launch = ScenarioElement::step(begun.index, "launch", Map::new());
                Some((begun, launch))
            }
            _ => None,
        }
    }

    /// What scenarios call a connection of the trace, if our side or the subject opened it in a way that they can name.
    pub(super) fn connection(&self, name: &str) -> Option<String> {
        let name = if self.first.as_deref() == Some(name) { MAIN } else { name };
        self.items.iter().any(|item| item.conn.as_deref() == Some(name)).then(|| name.to_owned())
    }

    /// The event on the connection that scenarios mean where they name none, if its own was the first.
    fn renamed(&mut self, event: &Event) -> Option<Event> {
        let conn = event.conn.as_ref().filter(|_| self.spec.role.observations.iter().any(|kind| kind.on_connection))?;
        let first = self.first.get_or_insert_with(|| conn.clone());
        let name = if conn == first { MAIN } else { conn };
        let times = self.opened.entry(conn.clone()).or_default();
        if matches!(event.kind, EventKind::Connected { .. }) {
            *times += 1;
        }
        // A name that is given again is that of another connection.
        let name = if *times > 1 { format!("{name}-again-{times}") } else { name.to_owned() };
        (*conn != name).then(|| Event { conn: Some(name), ..event.clone() })
    }

    fn keep(&mut self, element: ScenarioElement, conn: Option<String>, limit: u64) {
        self.learn_paths(&element);
        if let ScenarioElement::Folder { .. } = &element {
            return;
        }
        // Bytes are whole only some events after the one that a rule names.
        let later = element.index().is_some_and(|index| index > limit.saturating_add(8));
        if later && !matches!(element, ScenarioElement::File { .. }) {
            return;
        }
        if self.items.len() >= MAX_ITEMS {
            self.too_long = true;
            return;
        }
        // What a landmark reports belongs to the connection that it names.
        let landmark = conn.is_none() && self.spec.role.observations.iter().any(|kind| kind.on_connection);
        let named = |args: &Map<String, Value>| args.get("on").and_then(Value::as_str).unwrap_or(MAIN).to_owned();
        let conn = match &element {
            ScenarioElement::Step { args, .. } if landmark => Some(named(args)),
            _ => conn,
        };
        let deliberate = match &element {
            ScenarioElement::Step { verb, .. }
                if crate::export::scenario::violation::has_parameter(self.spec.role, verb, "deliberate") =>
            {
                self.pending.remove(&conn)
            }
            _ => None,
        };
        if let Some(former) = self.superseded(&element) {
            let deliberate = deliberate.or_else(|| former.deliberate.take());
            *former = ScenarioItem { element, conn, deliberate };
            return;
        }
        self.items.push(ScenarioItem { element, conn, deliberate });
    }

    /// Collects the paths in an element.
    fn learn_paths(&mut self, element: &ScenarioElement) {
        match element {
            ScenarioElement::Step { args, .. } => args.values().for_each(|value| self.paths.learn(value, OWN_WEIGHT)),
            ScenarioElement::Seen { value, .. } => value.values().for_each(|value| self.paths.learn(value, 1)),
            ScenarioElement::Call { params, .. } => self.paths.learn(params, OWN_WEIGHT),
            ScenarioElement::Folder { path } => self.paths.folder(path),
            ScenarioElement::Laid { path, .. } => self.paths.file(path, OWN_WEIGHT),
            ScenarioElement::File { path, .. } => self.paths.file(path, 0),
        }
    }

    /// The step that this one takes the place of: bytes that came behind what looked like a whole request belong to it.
    fn superseded(&mut self, element: &ScenarioElement) -> Option<&mut ScenarioItem> {
        let ScenarioElement::Step { verb, args, .. } = element else { return None };
        let label = args.get("as").filter(|_| args.contains_key("raw"))?;
        self.items.iter_mut().rev().find(|item| match &item.element {
            ScenarioElement::Step { verb: former, args, .. } => former == verb && args.get("as") == Some(label),
            _ => false,
        })
    }

    /// What belongs to no protocol: files of the play, and the calls of a driven client.
    fn driven(&mut self, event: &Event) -> Option<ScenarioElement> {
        let index = event.i;
        match &event.kind {
            EventKind::File(file) => self.file(index, file),
            EventKind::Mark(mark) if mark.mark == "step" => self.served(index, mark.text.split(' ').next()?),
            EventKind::Exited(exited) if !exited.asked && self.spec.finding.is_none() => {
                Some(ScenarioElement::seen(index, "exit", Map::new(), Map::new(), false))
            }
            EventKind::Call(call) if self.spec.role.is_client() => Some(self.call(index, call)),
            EventKind::Returned(returned) => self.returned(index, returned),
            EventKind::Reported(element) if self.spec.role.is_client() => {
                let selectors = args([("event", Some(element.event.as_str().into()))]);
                Some(ScenarioElement::seen(
                    index,
                    "reported",
                    selectors,
                    args([("data", Some(element.data.clone()))]),
                    false,
                ))
            }
            _ => None,
        }
    }

    /// A file that the recorded play laid or took away.
    fn file(&self, index: u64, file: &FileChange) -> Option<ScenarioElement> {
        let path = file.path.clone();
        match (file.change.as_str(), &file.content) {
            (FileChange::LAID, Some(content))
                if self.step_start.is_none() && self.items.iter().all(ScenarioItem::is_file) =>
            {
                Some(ScenarioElement::File { index, path, bytes: bytes(content) })
            }
            (FileChange::LAID, Some(content)) => {
                Some(ScenarioElement::Laid { index, path, bytes: Some(bytes(content)) })
            }
            (FileChange::TAKEN, _) => Some(ScenarioElement::Laid { index, path, bytes: None }),
            _ => None,
        }
    }

    /// A step of the recorded play in which our side ended its service, or began it again: no traffic tells of that.
    fn served(&mut self, index: u64, verb: &str) -> Option<ScenarioElement> {
        let role = self.spec.role;
        // Where our side has names of its own, the trace does not tell which of them it was that ended.
        let named = crate::export::scenario::violation::has_parameter(role, SERVE, "as");
        let known = !named && role.is_client() && role.every_verb().any(|verb| verb.name == STOP);
        match verb {
            DISMISS if role.is_client() => Some(ScenarioElement::step(index, DISMISS, Map::new())),
            STOP if known => {
                self.stopped = true;
                Some(ScenarioElement::step(index, STOP, Map::new()))
            }
            SERVE if known && self.stopped => {
                self.stopped = false;
                // How it serves is only known at the end.
                Some(ScenarioElement::step(index, SERVE, Map::new()))
            }
            _ => None,
        }
    }

    fn call(&mut self, index: u64, call: &Call) -> ScenarioElement {
        self.last_call_at = self.items.len();
        let label = self.labels.name(&call.call);
        self.calls.insert(call.id, label.clone());
        let params = (call.params != json!({})).then(|| call.params.clone());
        let args = args([
            ("as", Some(label.into())),
            ("method", Some(call.call.as_str().into())),
            ("params", params),
            ("settings", call.settings.clone()),
        ]);
        ScenarioElement::step(index, "call", args)
    }

    fn returned(&mut self, index: u64, returned: &Returned) -> Option<ScenarioElement> {
        let label = self.calls.get(&returned.id).filter(|_| !returned.unsupported)?;
        let selectors = args([("to", Some(label.as_str().into()))]);
        // What a client's own API makes of a response is its own matter; whether it failed is not.
        let error = returned.error.as_ref().map(|_| json!({}));
        // What no traffic led to had causes that the trace does not tell, such as a lockfile that was not there.
        let element =
            self.stopped || self.items[self.last_call_at.min(self.items.len())..].iter().any(ScenarioItem::is_traffic);
        let owed = error.is_none() || element;
        Some(ScenarioElement::seen(index, "returned", selectors, args([("error", error)]), owed))
    }

    /// Writes the scenario as YAML.
    ///
    /// # Errors
    /// Where there is nothing that could be played again, or too much.
    pub fn write(mut self) -> Result<String, NoScenario> {
        if self.too_long {
            return Err(NoScenario::TooLong { most: MAX_ITEMS });
        }
        let (mut first, mut last) = (vec![], vec![]);
        for element in self.to_scenario.end() {
            let item = ScenarioItem { conn: None, deliberate: None, element };
            if item.element.index() == Some(0) { first.push(item) } else { last.push(item) }
        }
        if self.spec.finding.is_some() {
            last.clear();
        }
        self.serve_again(&first);
        self.forget_the_end();
        let driven = !self.calls.is_empty();
        self.items.retain(|item| !(driven && matches!(item.element, ScenarioElement::Call { .. })));
        let wire: Vec<ScenarioItem> =
            std::mem::take(&mut self.items).into_iter().map(|item| self.called(item)).collect();
        if wire.is_empty() && !self.spec.role.is_client() && self.spec.finding.is_none() {
            return Err(NoScenario::Empty);
        }
        self.items = first.into_iter().chain(wire).chain(last).collect();
        let files = |item: &ScenarioItem| match &item.element {
            ScenarioElement::File { .. } | ScenarioElement::Laid { .. } => true,
            ScenarioElement::Step { verb, .. } => *verb == "stimulate",
            _ => false,
        };
        let folder = self.paths.folders(self.items.iter().any(files));
        let known = NormalisationFacts { folders: folder, ports: self.ports.clone(), ..NormalisationFacts::default() };
        let out = self.liveness.take().unwrap_or_else(|| self.to_scenario.liveness_probe());
        Ok(play::write(&self, &known, out))
    }

    /// Calls that failed after the last step of the recorded play failed because it was over.
    fn forget_the_end(&mut self) {
        let over = self.last_mark.unwrap_or(usize::MAX).min(self.items.len());
        for item in &mut self.items[over..] {
            if let ScenarioElement::Seen { kind: "returned", value, owed, .. } = &mut item.element {
                *owed &= !value.contains_key("error");
            }
        }
    }

    /// Has our side serve as it did in the beginning wherever it began again.
    fn serve_again(&mut self, first: &[ScenarioItem]) {
        let served = first.iter().find_map(|item| match &item.element {
            ScenarioElement::Step { verb: SERVE, args, .. } => Some(args.clone()),
            _ => None,
        });
        for item in &mut self.items {
            if let ScenarioElement::Step { verb: SERVE, args, .. } = &mut item.element {
                *args = served.clone().unwrap_or_default();
            }
        }
    }

    /// A call that was not recorded, as the step that makes it.
    fn called(&mut self, item: ScenarioItem) -> ScenarioItem {
        let ScenarioElement::Call { index, method, params } = item.element else { return item };
        let params = (params != json!({})).then_some(params);
        let label = self.labels.name(&method);
        let args = args([("as", Some(label.into())), ("method", Some(method.into())), ("params", params)]);
        ScenarioItem { element: ScenarioElement::step(index, "call", args), ..item }
    }
}

/// The JSON that an event carries as a whole.
fn message(event: &Event) -> Option<Value> {
    match &event.kind {
        EventKind::Message(message) => message.json.clone(),
        EventKind::StreamEvent(event) => serde_json::from_str(event.data.as_deref()?).ok(),
        _ => None,
    }
}

/// The bytes of a file's content.
fn bytes(content: &Payload) -> Vec<u8> {
    content.as_bytes().to_vec()
}
