//! The items of a trace as the steps of a play.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::protocol::scenario_element::{ScenarioElement, hex};
use crate::protocol::{Reach, Role};
use crate::trace::NormalisationFacts;

use super::builder::ScenarioBuilder;
use super::values::{ExpectedDetail, Links, ScenarioValues, fields, find_links};
use super::violation::{self, FailedExpectation, ViolationPattern};
use super::yaml::ScenarioStep;
use super::{ScenarioGoal, yaml};

/// The parameter that says which responses to a handshake are accepted.
const HANDSHAKE: &str = "handshake";

/// Steps that only tidy up where nothing comes after them.
const LEAVING: &[&str] = &["close", "drop", "unsubscribe", "cut"];

/// An element of the scenario, and the connection it belongs to.
pub(super) struct ScenarioItem {
    pub element: ScenarioElement,
    pub conn: Option<String>,
    /// Why a step of our side is wrong on purpose, where it is.
    pub deliberate: Option<String>,
}

impl ScenarioItem {
    /// Whether it is a file that is there before the first step.
    pub fn is_file(&self) -> bool {
        matches!(self.element, ScenarioElement::File { .. })
    }

    /// Whether it crossed the wire.
    pub fn is_traffic(&self) -> bool {
        match &self.element {
            ScenarioElement::Seen { kind, .. } => !["returned", "reported", "state", "exit"].contains(kind),
            ScenarioElement::Step { verb, .. } => {
                !["call", "launch", "stimulate", "write_file", "remove_file"].contains(verb)
            }
            _ => false,
        }
    }
}

struct ScenarioPlay<'a> {
    builder: &'a ScenarioBuilder,
    values: ScenarioValues,
    links: Links,
    violation: ViolationPattern,
    steps: Vec<ScenarioStep>,
    files: BTreeMap<String, Vec<u8>>,
    /// Paths of files that a user did something with.
    opened: BTreeSet<String>,
    /// By the number of a request: the fields that depend on which of several requests comes first.
    order_dependent: BTreeMap<usize, BTreeSet<String>>,
}

/// The scenario as YAML. `out` is what lets a sound subject show that it has come so far.
pub fn write(builder: &ScenarioBuilder, known: &NormalisationFacts, out: Vec<ScenarioElement>) -> String {
    let spec = &builder.spec;
    let finding = spec.finding.as_ref();
    let values = ScenarioValues::new(known, has_token(spec.role));
    let links = find_links(&builder.items, spec.role.subject, known);
    let breach = match finding {
        Some(goal) => match &goal.finding.awaited {
            Some(awaited) => {
                FailedExpectation { goal, awaited, builder, links: &links, known, values: &values }.to_pattern()
            }
            None => violation::violation_pattern(goal, builder.evidence.as_ref(), &builder.items, spec.role, known),
        },
        None => ViolationPattern::Rules,
    };
    let mut play = ScenarioPlay {
        builder,
        values,
        links,
        violation: breach,
        steps: vec![],
        files: BTreeMap::new(),
        opened: BTreeSet::new(),
        order_dependent: order_dependent_fields(&builder.items, spec.role),
    };
    let last = play.last();
    for (at, item) in builder.items.iter().enumerate() {
        if play.violation.replaces(at) {
            continue;
        }
        if at <= last || matches!(item.element, ScenarioElement::File { .. }) {
            play.item(at, item);
        }
    }
    if let ViolationPattern::Steps { steps, .. } = &play.violation {
        play.steps.extend(steps.clone());
    }
    let is_expressed = !matches!(play.violation, ViolationPattern::Rules);
    let expects = |step: &ScenarioStep| matches!(step.verb, "expect" | "never");
    if !is_expressed && finding.is_some() || !play.steps.iter().any(expects) {
        for element in out {
            play.item(usize::MAX, &ScenarioItem { element, conn: None, deliberate: None });
        }
    }
    // A client is given time to show it; of servers, what they answer last tells.
    if !play.steps.iter().any(expects) || finding.is_some() && spec.role.is_client() && !is_expressed {
        play.never();
    }
    for path in std::mem::take(&mut play.opened) {
        play.file(&path, b"");
    }
    let unsaid = !is_expressed && finding.is_some_and(|goal| goal.finding.awaited.is_some());
    yaml::write(spec, unsaid, &play.files, &play.steps)
}

impl ScenarioPlay<'_> {
    /// The last item that matters.
    fn last(&self) -> usize {
        let items = &self.builder.items;
        let finding = self.builder.spec.finding.as_ref();
        if let ViolationPattern::At(at, _) = self.violation {
            return at;
        }
        let until = finding.map_or(u64::MAX, ScenarioGoal::last_event);
        let counts = |(_, item): &(usize, &ScenarioItem)| match &item.element {
            ScenarioElement::Step { verb, index, .. } => {
                *index <= until && (finding.is_some() || !LEAVING.contains(verb))
            }
            ScenarioElement::Laid { index, .. } => *index <= until,
            ScenarioElement::Seen { index, owed, .. } => {
                *index <= until && *owed && !matches!(self.kind(item), "close" | "closed")
            }
            _ => false,
        };
        items.iter().enumerate().filter(counts).map(|(at, _)| at).next_back().unwrap_or(0)
    }

    fn role(&self) -> &'static Role {
        self.builder.spec.role
    }

    fn kind(&self, item: &ScenarioItem) -> &'static str {
        match &item.element {
            ScenarioElement::Seen { kind, .. } => kind,
            _ => "",
        }
    }

    fn item(&mut self, at: usize, item: &ScenarioItem) {
        match &item.element {
            ScenarioElement::Step { index, verb, args, .. } => {
                let uses = self.links.uses.get(&at);
                let Value::Object(mut body) = self.values.sent(&Value::Object(args.clone()), &mut String::new(), uses)
                else {
                    return;
                };
                for (place, name) in uses.into_iter().flatten() {
                    // What was found by its name has no recorded value of its own.
                    if place.pointer.matches('/').count() == 1 {
                        body.entry(place.pointer[1..].to_owned()).or_insert_with(|| format!("${{{name}}}").into());
                    }
                }
                if let Some(why) = &item.deliberate {
                    body.insert("deliberate".to_owned(), why.replace("${", "$${").into());
                }
                if self.violation.tries(item.conn.as_deref()) && violation::has_parameter(self.role(), verb, HANDSHAKE)
                {
                    body.entry(HANDSHAKE.to_owned()).or_insert_with(|| "any".into());
                }
                if *verb == "stimulate" {
                    self.touched(args);
                }
                self.steps.push(ScenarioStep { verb, body, comment: comment(*index) });
            }
            ScenarioElement::Seen { index, kind, selectors, value, owed, .. } => {
                self.seen(at, *index, kind, selectors, value, *owed);
            }
            ScenarioElement::File { path, bytes, .. } => self.file(path, bytes),
            ScenarioElement::Laid { index, path, bytes } => self.laid(*index, path, bytes.as_deref()),
            ScenarioElement::Call { .. } | ScenarioElement::Folder { .. } => {}
        }
    }

    /// A file in the folder that the traffic is about, unless it is there already.
    fn file(&mut self, path: &str, bytes: &[u8]) {
        if let Some(path) = self.below(path) {
            self.files.entry(path).or_insert_with(|| bytes.to_vec());
        }
    }

    /// A path below the folder that the traffic is about.
    fn below(&self, path: &str) -> Option<String> {
        let text = self.values.text(path, &|_| None);
        let path = text.strip_prefix("${workspace}/")?;
        let inside = path.split('/').all(|part| !matches!(part, "" | "." | "..")) && !path.contains('\0');
        inside.then(|| path.replace("$${", "${"))
    }

    /// A file that comes or goes in the course of the play.
    fn laid(&mut self, index: u64, path: &str, bytes: Option<&[u8]>) {
        let Some(path) = self.below(path) else { return };
        let escaped = |text: &str| Value::from(text.replace("${", "$${"));
        let path = ("path".to_owned(), escaped(&path));
        let (verb, content) = match bytes.map(|bytes| (std::str::from_utf8(bytes), bytes)) {
            None => ("remove_file", None),
            Some((Ok(text), _)) => ("write_file", Some(("content".to_owned(), escaped(text)))),
            Some((Err(_), bytes)) => ("write_file", Some(("hex".to_owned(), hex(bytes).into()))),
        };
        let body = [path].into_iter().chain(content).collect();
        self.steps.push(ScenarioStep { verb, body, comment: comment(index) });
    }

    /// A file that a user opened was there, whatever was in it.
    fn touched(&mut self, stimulus: &Map<String, Value>) {
        let paths = stimulus.values().filter_map(|params| params.get("path")?.as_str());
        self.opened.extend(paths.map(str::to_owned));
    }

    fn seen(
        &mut self,
        at: usize,
        index: u64,
        kind: &'static str,
        selectors: &Map<String, Value>,
        value: &Map<String, Value>,
        owed: bool,
    ) {
        let finding = self.builder.spec.finding.as_ref();
        let needed = self.links.captures.contains_key(&at);
        // What comes by itself came for reasons that may be gone, unless something that we did provoked it.
        let provoked = finding.is_none() && self.steps.last().is_some_and(|step| step.verb == "stimulate");
        let breaks = match &self.violation {
            ViolationPattern::At(place, pattern) if *place == at => Some(pattern.clone()),
            _ => None,
        };
        if !(owed || needed || provoked || breaks.is_some()) {
            return;
        }
        if !(owed || needed || breaks.is_some()) && value.values().any(|value| self.values.is_foreign(value)) {
            return;
        }
        let mut body = selectors.clone();
        let detail = match finding {
            Some(_) => ExpectedDetail::Nothing,
            None if owed => ExpectedDetail::Answer,
            None => ExpectedDetail::State,
        };
        let mut pattern = fields(&self.values, value, at, &self.links, detail);
        let captured = |key: &str| {
            let mut captures = self.links.captures.get(&at).into_iter().flat_map(BTreeMap::keys);
            captures.any(|pointer| pointer.split('/').nth(1) == Some(key))
        };
        if let Some(keys) = self.order_dependent.get(&at) {
            pattern.retain(|key, _| !keys.contains(key) || captured(key));
        }
        let mut pattern = Value::Object(pattern);
        if let Some(breaks) = &breaks {
            crate::export::scenario::values::merge(&mut pattern, Value::Object(breaks.clone()));
        }
        if let Value::Object(pattern) = pattern {
            body.extend(pattern);
        }
        let mut expect = Map::from_iter([(kind.to_owned(), Value::Object(body))]);
        let mut comment = comment(index);
        if let (Some(_), Some(goal)) = (breaks, finding) {
            expect.extend(violation::proves(goal));
            comment = comment.map(|comment| format!("{comment}: {}", goal.finding.message));
        }
        self.steps.push(ScenarioStep { verb: "expect", body: expect, comment });
    }

    /// Adds what every scenario can expect: the subject lives on.
    fn never(&mut self) {
        let mut body =
            Map::from_iter([("exit".to_owned(), Value::Object(Map::new())), ("until".to_owned(), "300ms".into())]);
        let process = self.builder.evidence.as_ref().is_some_and(|evidence| evidence.exit);
        let goal = self.builder.spec.finding.as_ref().filter(|_| process);
        body.extend(goal.and_then(violation::proves));
        self.steps.push(ScenarioStep { verb: "never", body, comment: None });
    }
}

/// A request of a driven client: its number, what selects it, and its fields.
struct SeenRequest<'i> {
    at: usize,
    selectors: &'i Map<String, Value>,
    value: &'i Map<String, Value>,
}

/// The fields in which requests differ that several calls made while they were open together. A client that opens an HTTP
/// connection for each of them can send them in another order in the next run. On one WebSocket connection, their order is
/// the client's choice.
fn order_dependent_fields(items: &[ScenarioItem], role: &Role) -> BTreeMap<usize, BTreeSet<String>> {
    let mut found: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    if !role.is_client() || role.observations.iter().any(|kind| kind.on_connection) {
        return found;
    }
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut requests: Vec<SeenRequest<'_>> = vec![];
    let mut together = false;
    for (at, item) in items.iter().enumerate() {
        match &item.element {
            ScenarioElement::Step { verb: "call", args, .. } => {
                open.extend(args.get("as").and_then(Value::as_str));
                together |= open.len() > 1;
            }
            ScenarioElement::Seen { kind: "returned", selectors, .. } => {
                selectors.get("to").and_then(Value::as_str).map(|label| open.remove(label));
                if open.is_empty() {
                    requests.clear();
                    together = false;
                }
            }
            ScenarioElement::Seen { kind: "request", selectors, value, .. } if together => {
                for other in requests.iter().filter(|other| other.selectors == selectors) {
                    let keys = value.keys().chain(other.value.keys());
                    for key in keys.filter(|key| value.get(*key) != other.value.get(*key)) {
                        found.entry(at).or_default().insert(key.clone());
                        found.entry(other.at).or_default().insert(key.clone());
                    }
                }
                requests.push(SeenRequest { at, selectors, value });
            }
            _ => {}
        }
    }
    found
}

/// Whether scenarios of a role know a token: who is found through a lockfile has one.
fn has_token(role: &Role) -> bool {
    match role.reach {
        Reach::Lockfile { .. } => true,
        Reach::Seeks { data_home } => !data_home.is_empty(),
        Reach::Url { .. } => false,
    }
}

/// Where in the trace something is.
fn comment(index: u64) -> Option<String> {
    (index != u64::MAX).then(|| format!("event {index}"))
}
