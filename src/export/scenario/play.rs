//! The items of a trace as the steps of a play.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::protocol::scenario_element::{ScenarioElement, hex};
use crate::protocol::{Reach, Role};
use crate::trace::NormalisationFacts;

use super::gather::{Gathering, Item};
use super::values::{Linked, Values, Whole, fields, linked};
use super::violation::{self, Failed, ViolationPattern};
use super::yaml::Step;
use super::{ScenarioGoal, yaml};

/// The parameter that says which answers to a handshake will do.
const HANDSHAKE: &str = "handshake";

/// Steps that only tidy up where nothing comes after them.
const LEAVING: &[&str] = &["close", "drop", "unsubscribe", "cut"];

struct Play<'a> {
    gathering: &'a Gathering,
    values: Values,
    linked: Linked,
    breach: ViolationPattern,
    steps: Vec<Step>,
    files: BTreeMap<String, Vec<u8>>,
    /// Paths of files that a user did something with.
    opened: BTreeSet<String>,
}

/// The scenario as YAML. `out` is what lets a sound subject show that it has come so far.
pub fn write(gathering: &Gathering, known: &NormalisationFacts, out: Vec<ScenarioElement>) -> String {
    let wanted = &gathering.wanted;
    let finding = wanted.finding.as_ref();
    let values = Values::new(known, has_token(wanted.role));
    let linked = linked(&gathering.items, wanted.role.subject, known);
    let breach = match finding {
        Some(shown) => match &shown.finding.awaited {
            Some(awaited) => Failed { shown, awaited, gathering, linked: &linked, known, values: &values }.breach(),
            None => violation::of(shown, gathering.evidence.as_ref(), &gathering.items, wanted.role, known),
        },
        None => ViolationPattern::Rules,
    };
    let mut play =
        Play { gathering, values, linked, breach, steps: vec![], files: BTreeMap::new(), opened: BTreeSet::new() };
    let last = play.last();
    for (at, item) in gathering.items.iter().enumerate() {
        if play.breach.replaces(at) {
            continue;
        }
        if at <= last || matches!(item.told, ScenarioElement::File { .. }) {
            play.item(at, item);
        }
    }
    if let ViolationPattern::Steps { steps, .. } = &play.breach {
        play.steps.extend(steps.clone());
    }
    let said = !matches!(play.breach, ViolationPattern::Rules);
    let expects = |step: &Step| matches!(step.verb, "expect" | "never");
    if !said && finding.is_some() || !play.steps.iter().any(expects) {
        for told in out {
            play.item(usize::MAX, &Item { told, conn: None, deliberate: None });
        }
    }
    // A client is given time to show it; of servers, what they answer last tells.
    if !play.steps.iter().any(expects) || finding.is_some() && wanted.role.is_client() && !said {
        play.never();
    }
    for path in std::mem::take(&mut play.opened) {
        play.file(&path, b"");
    }
    let unsaid = !said && finding.is_some_and(|shown| shown.finding.awaited.is_some());
    yaml::write(wanted, unsaid, &play.files, &play.steps)
}

impl Play<'_> {
    /// The last item that matters.
    fn last(&self) -> usize {
        let items = &self.gathering.items;
        let finding = self.gathering.wanted.finding.as_ref();
        if let ViolationPattern::At(at, _) = self.breach {
            return at;
        }
        let until = finding.map_or(u64::MAX, ScenarioGoal::last_event);
        let counts = |(_, item): &(usize, &Item)| match &item.told {
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
        self.gathering.wanted.role
    }

    fn kind(&self, item: &Item) -> &'static str {
        match &item.told {
            ScenarioElement::Seen { kind, .. } => kind,
            _ => "",
        }
    }

    fn item(&mut self, at: usize, item: &Item) {
        match &item.told {
            ScenarioElement::Step { index, verb, args, .. } => {
                let uses = self.linked.uses.get(&at);
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
                if self.breach.tries(item.conn.as_deref()) && violation::takes(self.role(), verb, HANDSHAKE) {
                    body.entry(HANDSHAKE.to_owned()).or_insert_with(|| "any".into());
                }
                if *verb == "stimulate" {
                    self.touched(args);
                }
                self.steps.push(Step { verb, body, comment: comment(*index) });
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
        let said = self.values.text(path, &|_| None);
        let path = said.strip_prefix("${workspace}/")?;
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
        self.steps.push(Step { verb, body, comment: comment(index) });
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
        let finding = self.gathering.wanted.finding.as_ref();
        let needed = self.linked.captures.contains_key(&at);
        // What comes by itself came for reasons that may be gone, unless something that we did provoked it.
        let provoked = finding.is_none() && self.steps.last().is_some_and(|step| step.verb == "stimulate");
        let breaks = match &self.breach {
            ViolationPattern::At(place, pattern) if *place == at => Some(pattern.clone()),
            _ => None,
        };
        if !(owed || needed || provoked || breaks.is_some()) {
            return;
        }
        if !(owed || needed || breaks.is_some()) && value.values().any(|value| self.values.is_of_others(value)) {
            return;
        }
        let mut body = selectors.clone();
        let whole = match finding {
            Some(_) => Whole::Nothing,
            None if owed => Whole::Answer,
            None => Whole::State,
        };
        let mut pattern = Value::Object(fields(&self.values, value, at, &self.linked, whole));
        if let Some(breaks) = &breaks {
            crate::export::scenario::values::merge(&mut pattern, Value::Object(breaks.clone()));
        }
        if let Value::Object(pattern) = pattern {
            body.extend(pattern);
        }
        let mut expect = Map::from_iter([(kind.to_owned(), Value::Object(body))]);
        let mut comment = comment(index);
        if let (Some(_), Some(shown)) = (breaks, finding) {
            expect.extend(violation::proves(shown));
            comment = comment.map(|comment| format!("{comment}: {}", shown.finding.message));
        }
        self.steps.push(Step { verb: "expect", body: expect, comment });
    }

    /// Where nothing can be expected, what every scenario can say: the subject lives on.
    fn never(&mut self) {
        let mut body =
            Map::from_iter([("exit".to_owned(), Value::Object(Map::new())), ("until".to_owned(), "300ms".into())]);
        let process = self.gathering.evidence.as_ref().is_some_and(|evidence| evidence.exit);
        let shown = self.gathering.wanted.finding.as_ref().filter(|_| process);
        body.extend(shown.and_then(violation::proves));
        self.steps.push(Step { verb: "never", body, comment: None });
    }
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
