//! An expectation that failed in the recorded play, as one that fails in another run.

use serde_json::{Map, Value};

use super::breach::{LARGE, QUIET, ViolationPattern, proves};
use super::gather::{Gathering, Item, MAIN};
use super::linked::Linked;
use super::values::Values;
use super::{ScenarioGoal, Step};
use crate::protocol::ObservationKind;
use crate::protocol::scenario_element::{ScenarioElement, word};
use crate::trace::{Awaited, AwaitedPart, Finder, Kind, NormalisationFacts};

/// The parameters by which an expectation names what it is the answer to.
const NAMES: [&str; 2] = ["to", "of"];

/// Says again what the play expected, where the words of scenarios can say it of another run.
pub struct Failed<'a> {
    pub shown: &'a ScenarioGoal,
    pub awaited: &'a Awaited,
    pub gathering: &'a Gathering,
    pub linked: &'a Linked,
    pub known: &'a NormalisationFacts,
    pub values: &'a Values,
}

impl Failed<'_> {
    /// How a scenario can say it.
    pub fn breach(&self) -> ViolationPattern {
        let said = match self.shown.finding.step.as_deref().and_then(|step| step.split(' ').next()) {
            Some("expect") => self.expected(),
            Some("never") => self.unwanted(),
            Some("collect") => None,
            _ => self.refused(),
        };
        said.unwrap_or(ViolationPattern::Rules)
    }

    fn expected(&self) -> Option<ViolationPattern> {
        let mut taken = vec![];
        let mut outcomes = vec![];
        for parts in &self.awaited.outcomes {
            let mut said = vec![];
            for part in parts {
                let (kind, about) = self.part(part)?;
                taken.extend(self.alike(part, &about));
                said.push((kind.name, about));
            }
            outcomes.push(said);
        }
        // What has to be captured there is used before the expectation.
        if taken.iter().any(|at| self.linked.captures.contains_key(at)) {
            return None;
        }
        let single =
            |(kind, about): (&str, Map<String, Value>)| Map::from_iter([(kind.to_owned(), Value::Object(about))]);
        let whole = |mut parts: Vec<(&str, Map<String, Value>)>| match parts.len() {
            0 | 1 => parts.pop().map(single).unwrap_or_default(),
            _ => {
                let all: Vec<Value> = parts.into_iter().map(|part| single(part).into()).collect();
                Map::from_iter([("all_of".to_owned(), Value::from(all))])
            }
        };
        let mut outcomes: Vec<Map<String, Value>> = outcomes.into_iter().map(whole).collect();
        let body = match outcomes.len() {
            0 => return None,
            1 => outcomes.pop()?,
            _ => Map::from_iter([(
                "any_of".to_owned(),
                Value::from(outcomes.into_iter().map(Value::from).collect::<Vec<_>>()),
            )]),
        };
        let handshake = |part: &&AwaitedPart| part.observation == "handshake";
        let tried = self.awaited.outcomes.iter().flatten().find(handshake).and_then(|part| part.on.as_deref());
        let tried = tried.and_then(|on| self.gathering.connection(on));
        Some(ViolationPattern::Steps { steps: vec![self.step("expect", body)], instead_of: taken, tried })
    }

    fn unwanted(&self) -> Option<ViolationPattern> {
        let [parts] = self.awaited.outcomes.as_slice() else { return None };
        let [part] = parts.as_slice() else { return None };
        let (kind, about) = self.part(part)?;
        let until = if self.gathering.wanted.role.is_client() { QUIET } else { "barrier" };
        let instead_of = self.alike(part, &about).collect();
        let body = Map::from_iter([(kind.name.to_owned(), Value::Object(about)), ("until".to_owned(), until.into())]);
        Some(ViolationPattern::Steps { steps: vec![self.step("never", body)], instead_of, tried: None })
    }

    /// Where a verb of ours failed: that our handshake is accepted, if it was one.
    fn refused(&self) -> Option<ViolationPattern> {
        let refusal = |item: &Item| match &item.told {
            ScenarioElement::Seen { index, kind: "handshake", value, .. } => {
                *index <= self.shown.last_event() && value.get("accepted") == Some(&false.into())
            }
            _ => false,
        };
        let at = self.gathering.items.iter().rposition(refusal)?;
        Some(ViolationPattern::At(at, Map::from_iter([("accepted".to_owned(), true.into())])))
    }

    fn step(&self, verb: &'static str, body: Map<String, Value>) -> Step {
        let comment = Some(format!("event {}: {}", self.shown.finding.at, self.shown.finding.message));
        Step { verb, body: body.into_iter().chain(proves(self.shown)).collect(), comment }
    }

    /// An observation that is awaited, in the words of the scenario.
    fn part(&self, part: &AwaitedPart) -> Option<(&'static ObservationKind, Map<String, Value>)> {
        let kind = self.gathering.wanted.role.every_observation().find(|kind| kind.name == part.observation)?;
        let mut about = Map::new();
        if let Some(on) = part.on.as_ref().filter(|_| kind.on_connection) {
            match self.gathering.connection(on) {
                Some(on) if on != MAIN => drop(about.insert("on".to_owned(), on.into())),
                // A connection that never stood is the one that is meant where none is named.
                None if on != MAIN => return None,
                _ => {}
            }
        }
        for (key, value) in &part.selectors {
            let value =
                if NAMES.contains(&key.as_str()) { self.label(part, value)?.into() } else { self.again(value)? };
            about.insert(key.clone(), value);
        }
        for (key, value) in &part.pattern {
            about.insert(key.clone(), self.again(value)?);
        }
        Some((kind, about))
    }

    /// The items that the same expectation meets in the scenario: no step before it may take them.
    fn alike(&self, part: &AwaitedPart, about: &Map<String, Value>) -> impl Iterator<Item = usize> {
        let named = part.selectors.keys().any(|key| NAMES.contains(&key.as_str()));
        let alike = move |(_, item): &(usize, &Item)| match &item.told {
            ScenarioElement::Seen { index, kind, selectors, .. } => {
                *kind == part.observation
                    && part.selectors.keys().all(|key| selectors.get(key) == about.get(key))
                    && (named || *index >= self.awaited.since)
            }
            _ => false,
        };
        self.gathering.items.iter().enumerate().filter(alike).map(|(at, _)| at)
    }

    /// What the scenario calls the request, call or exchange that the play called so.
    fn label(&self, part: &AwaitedPart, name: &Value) -> Option<String> {
        if part.observation == "returned" {
            return self.gathering.calls.get(&name.as_u64()?).cloned();
        }
        let asked = || self.gathering.items.iter().filter_map(asked);
        let word = name.as_str().map(word);
        let exchange = asked().find(|(_, label)| word.as_deref() == Some(*label));
        let by_id = || {
            let here = |conn: &Option<String>| part.on.is_none() || part.on == *conn;
            let ids = self.gathering.ids.iter().rev();
            let (.., event) = ids.into_iter().find(|(conn, id, _)| id == name && here(conn))?;
            asked().find(|(index, _)| index == event)
        };
        exchange.or_else(by_id).map(|(_, label)| label.to_owned())
    }

    /// A value of the recorded play for another run; none where it speaks of what differs from run to run.
    fn again(&self, value: &Value) -> Option<Value> {
        let differs = |kind: &Kind| kind.is_volatile() && !matches!(kind, Kind::Folder(_)) || *kind == Kind::Id;
        let found = Finder::new(self.known).find(value);
        let same = value.to_string().len() <= 10 * LARGE && !found.iter().any(|find| differs(&find.kind));
        same.then(|| self.values.sent(value, &mut String::new(), None))
    }
}

/// The label of what a step of ours asked for, and the event that shows it.
fn asked(item: &Item) -> Option<(u64, &str)> {
    let ScenarioElement::Step { index, verb, args, .. } = &item.told else { return None };
    Some((*index, args.get("as").filter(|_| *verb != "connect" && *verb != "call")?.as_str()?))
}
