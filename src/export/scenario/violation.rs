//! The finding as an expectation that fails: a violated requirement, or an expectation that failed in the play.

use serde_json::{Map, Value, json};

use crate::protocol::scenario_element::{ScenarioElement, word};
use crate::protocol::{ObservationKind, Role};
use crate::trace::{Awaited, AwaitedPart, Finder, NormalisationFacts, ValueKind};

use super::ScenarioGoal;
use super::builder::{FindingEvidence, MAIN, ScenarioBuilder};
use super::play::ScenarioItem;
use super::values::{Links, ScenarioValues, exactly};
use super::yaml::ScenarioStep;

/// A value that takes more than this is not named as the one that must not be there.
pub const LARGE: usize = 200;

/// How long nothing comes where there is no barrier.
pub const QUIET: &str = "300ms";

/// How a scenario shows a finding.
pub enum ViolationPattern {
    /// The observation of this item must be like this.
    At(usize, Map<String, Value>),
    /// Further steps express it.
    Steps {
        /// The steps.
        steps: Vec<ScenarioStep>,
        /// The items of which they speak, which no step before them takes.
        instead_of: Vec<usize>,
        /// The connection of which they tell whether it is accepted: no step before them takes that for granted.
        tried: Option<String>,
    },
    /// No expectation can express it: the rules find it.
    Rules,
}

impl ViolationPattern {
    /// Whether it says of this connection whether it is accepted.
    pub fn tries(&self, conn: Option<&str>) -> bool {
        matches!(self, Self::Steps { tried: Some(tried), .. } if Some(tried.as_str()) == conn)
    }

    /// Whether it says of an item what would have been awaited there.
    pub fn replaces(&self, at: usize) -> bool {
        matches!(self, Self::Steps { instead_of, .. } if instead_of.contains(&at))
    }
}

/// Whether a verb of a role has this parameter.
pub fn has_parameter(role: &Role, verb: &str, key: &str) -> bool {
    let verb = role.every_verb().find(|known| known.name == verb);
    verb.is_some_and(|verb| verb.shape.fields().iter().any(|field| field.name == key))
}

/// How a scenario expresses that something must not be as it was.
pub fn violation_pattern(
    goal: &ScenarioGoal,
    evidence: Option<&FindingEvidence>,
    items: &[ScenarioItem],
    role: &Role,
    known: &NormalisationFacts,
) -> ViolationPattern {
    let at_fault = goal.finding.at;
    let on_conn = |item: &ScenarioItem| evidence.is_some_and(|evidence| evidence.conn == item.conn);
    let at_event = |item: &&(usize, &ScenarioItem)| item.1.element.index() == Some(at_fault);
    let numbered = || items.iter().enumerate();
    let seen = |item: &&(usize, &ScenarioItem)| matches!(item.1.element, ScenarioElement::Seen { .. });
    let after = |item: &&(usize, &ScenarioItem)| {
        item.1.element.index().is_some_and(|index| index > at_fault && index <= at_fault + 8) && on_conn(item.1)
    };
    let theirs = evidence.is_some_and(|evidence| evidence.sender == Some(role.subject));
    let here = numbered().filter(|item| at_event(&item) && seen(&item)).find(|item| named(role, item.1, "json"));
    let here = here.or_else(|| numbered().filter(|item| at_event(&item)).find(|item| seen(&item)));
    let here = here.or_else(|| numbered().filter(|item| theirs && after(&item)).find(|item| seen(&item)));
    if let Some((at, item)) = here
        && let ScenarioElement::Seen { kind, selectors, value, owed, .. } = &item.element
    {
        let field = pattern(goal, evidence, known).filter(|_| named(role, item, "json"));
        if let Some(pattern) = field {
            let pattern = Map::from_iter([("json".to_owned(), pattern)]);
            return if *owed { ViolationPattern::At(at, pattern) } else { ViolationPattern::Rules };
        }
        // What was asked for wrongly on purpose need not be granted.
        let request = items[..at].iter().rev().find(|other| other.conn == item.conn);
        let wrong = request.is_some_and(|request| request.deliberate.is_some());
        if wrong && *kind == "handshake" {
            return ViolationPattern::Rules;
        }
        if *kind == "handshake" && value.get("accepted") == Some(&json!(false)) {
            return ViolationPattern::At(at, Map::from_iter([("accepted".to_owned(), true.into())]));
        }
        if !owed && !value.is_empty() && *kind == "frame" {
            let mut body = selectors.clone();
            body.extend(value.clone());
            let until = if role.is_client() { QUIET } else { "barrier" };
            let body = Map::from_iter([((*kind).to_owned(), Value::Object(body)), ("until".to_owned(), until.into())]);
            let body = body.into_iter().chain(proves(goal)).collect();
            let steps = vec![ScenarioStep { verb: "never", body, comment: None }];
            return ViolationPattern::Steps { steps, instead_of: vec![], tried: None };
        }
        return if *owed { ViolationPattern::At(at, Map::new()) } else { ViolationPattern::Rules };
    }
    let request = numbered().filter(|item| at_event(&item)).find_map(|(_, item)| match &item.element {
        ScenarioElement::Step { args, verb, .. } if *verb != "connect" => {
            args.get("as").map(|label| (label.clone(), args))
        }
        _ => None,
    });
    let Some((label, args)) = request else { return ViolationPattern::Rules };
    let response_kind = if role.is_client() { "returned" } else { "response" };
    let response = role
        .every_observation()
        .find(|kind| kind.name == response_kind && kind.selectors.iter().any(|f| f.name == "to"));
    let Some(kind) = response else { return ViolationPattern::Rules };
    let mut body = Map::from_iter([("to".to_owned(), label)]);
    body.extend(args.get("on").filter(|_| kind.on_connection).map(|on| ("on".to_owned(), on.clone())));
    let expect = Map::from_iter([(kind.name.to_owned(), Value::Object(body))]);
    let expect = expect.into_iter().chain(proves(goal)).collect();
    ViolationPattern::Steps {
        steps: vec![ScenarioStep { verb: "expect", body: expect, comment: None }],
        instead_of: vec![],
        tried: None,
    }
}

/// What an expectation says that it proves.
pub fn proves(goal: &ScenarioGoal) -> Option<(String, Value)> {
    goal.requirement.map(|requirement| ("proves".to_owned(), requirement.short().into()))
}

/// Whether the observation of an item has this field.
fn named(role: &Role, item: &ScenarioItem, field: &str) -> bool {
    let ScenarioElement::Seen { kind, .. } = &item.element else { return false };
    let kind = role.every_observation().find(|known| known.name == *kind);
    kind.is_some_and(|kind| kind.fields.iter().any(|known| known.name == field))
}

/// What the message must not be: one that has at the place of the fault what it had there, or nothing again. A response of
/// another kind may have no such place.
fn pattern(goal: &ScenarioGoal, evidence: Option<&FindingEvidence>, known: &NormalisationFacts) -> Option<Value> {
    let json = evidence?.json.as_ref()?;
    let path = goal.finding.path.as_deref().filter(|path| path.starts_with('/'))?;
    let wrong = match json.pointer(path) {
        None => json!({ "$absent": true }),
        Some(value) => {
            let volatile = Finder::new(known).find(value).iter().any(|find| find.kind.is_volatile());
            if volatile || value.to_string().len() > LARGE {
                return None;
            }
            json!({ "$literal": value })
        }
    };
    Some(json!({ "$not": exactly(json, path, wrong) }))
}

/// The parameters by which an expectation names the request that it belongs to.
const NAMES: [&str; 2] = ["to", "of"];

/// An expectation that failed in the recorded play, to be expressed for another run.
pub struct FailedExpectation<'a> {
    pub goal: &'a ScenarioGoal,
    pub awaited: &'a Awaited,
    pub builder: &'a ScenarioBuilder,
    pub links: &'a Links,
    pub known: &'a NormalisationFacts,
    pub values: &'a ScenarioValues,
}

impl FailedExpectation<'_> {
    /// How a scenario expresses the expectation.
    pub fn to_pattern(&self) -> ViolationPattern {
        let described = match self.goal.finding.step.as_deref().and_then(|step| step.split(' ').next()) {
            Some("expect") => self.expected(),
            Some("never") => self.unwanted(),
            Some("collect") => None,
            _ => self.refused(),
        };
        described.unwrap_or(ViolationPattern::Rules)
    }

    fn expected(&self) -> Option<ViolationPattern> {
        let mut taken = vec![];
        let mut outcomes = vec![];
        for parts in &self.awaited.outcomes {
            let mut described = vec![];
            for part in parts {
                let (kind, fields) = self.part(part)?;
                taken.extend(self.alike(part, &fields));
                described.push((kind.name, fields));
            }
            outcomes.push(described);
        }
        // What has to be captured there is used before the expectation.
        if taken.iter().any(|at| self.links.captures.contains_key(at)) {
            return None;
        }
        let single =
            |(kind, fields): (&str, Map<String, Value>)| Map::from_iter([(kind.to_owned(), Value::Object(fields))]);
        let combined = |mut parts: Vec<(&str, Map<String, Value>)>| match parts.len() {
            0 | 1 => parts.pop().map(single).unwrap_or_default(),
            _ => {
                let all: Vec<Value> = parts.into_iter().map(|part| single(part).into()).collect();
                Map::from_iter([("all_of".to_owned(), Value::from(all))])
            }
        };
        let mut outcomes: Vec<Map<String, Value>> = outcomes.into_iter().map(combined).collect();
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
        let tried = tried.and_then(|on| self.builder.connection(on));
        Some(ViolationPattern::Steps { steps: vec![self.step("expect", body)], instead_of: taken, tried })
    }

    fn unwanted(&self) -> Option<ViolationPattern> {
        let [parts] = self.awaited.outcomes.as_slice() else { return None };
        let [part] = parts.as_slice() else { return None };
        let (kind, fields) = self.part(part)?;
        let until = if self.builder.spec.role.is_client() { QUIET } else { "barrier" };
        let instead_of = self.alike(part, &fields).collect();
        let body = Map::from_iter([(kind.name.to_owned(), Value::Object(fields)), ("until".to_owned(), until.into())]);
        Some(ViolationPattern::Steps { steps: vec![self.step("never", body)], instead_of, tried: None })
    }

    /// Where a verb of ours failed: that our handshake is accepted, if it was one.
    fn refused(&self) -> Option<ViolationPattern> {
        let refusal = |item: &ScenarioItem| match &item.element {
            ScenarioElement::Seen { index, kind: "handshake", value, .. } => {
                *index <= self.goal.last_event() && value.get("accepted") == Some(&false.into())
            }
            _ => false,
        };
        let at = self.builder.items.iter().rposition(refusal)?;
        Some(ViolationPattern::At(at, Map::from_iter([("accepted".to_owned(), true.into())])))
    }

    fn step(&self, verb: &'static str, body: Map<String, Value>) -> ScenarioStep {
        let comment = Some(format!("event {}: {}", self.goal.finding.at, self.goal.finding.message));
        ScenarioStep { verb, body: body.into_iter().chain(proves(self.goal)).collect(), comment }
    }

    /// An observation that is awaited, in the words of the scenario.
    fn part(&self, part: &AwaitedPart) -> Option<(&'static ObservationKind, Map<String, Value>)> {
        let kind = self.builder.spec.role.every_observation().find(|kind| kind.name == part.observation)?;
        let mut fields = Map::new();
        if let Some(on) = part.on.as_ref().filter(|_| kind.on_connection) {
            match self.builder.connection(on) {
                Some(on) if on != MAIN => drop(fields.insert("on".to_owned(), on.into())),
                // A connection that never stood is the one that is meant where none is named.
                None if on != MAIN => return None,
                _ => {}
            }
        }
        for (key, value) in &part.selectors {
            let value =
                if NAMES.contains(&key.as_str()) { self.label(part, value)?.into() } else { self.again(value)? };
            fields.insert(key.clone(), value);
        }
        for (key, value) in &part.pattern {
            fields.insert(key.clone(), self.again(value)?);
        }
        Some((kind, fields))
    }

    /// The items that the same expectation meets in the scenario: no step before it may take them.
    fn alike(&self, part: &AwaitedPart, fields: &Map<String, Value>) -> impl Iterator<Item = usize> {
        let named = part.selectors.keys().any(|key| NAMES.contains(&key.as_str()));
        let alike = move |(_, item): &(usize, &ScenarioItem)| match &item.element {
            ScenarioElement::Seen { index, kind, selectors, .. } => {
                *kind == part.observation
                    && part.selectors.keys().all(|key| selectors.get(key) == fields.get(key))
                    && (named || *index >= self.awaited.since)
            }
            _ => false,
        };
        self.builder.items.iter().enumerate().filter(alike).map(|(at, _)| at)
    }

    /// What the scenario calls the request, call or exchange that the play called so.
    fn label(&self, part: &AwaitedPart, name: &Value) -> Option<String> {
        if part.observation == "returned" {
            return self.builder.calls.get(&name.as_u64()?).cloned();
        }
        let request = || self.builder.items.iter().filter_map(label_of);
        let word = name.as_str().map(word);
        let exchange = request().find(|(_, label)| word.as_deref() == Some(*label));
        let by_id = || {
            let here = |conn: &Option<String>| part.on.is_none() || part.on == *conn;
            let ids = self.builder.ids.iter().rev();
            let (.., event) = ids.into_iter().find(|(conn, id, _)| id == name && here(conn))?;
            request().find(|(index, _)| index == event)
        };
        exchange.or_else(by_id).map(|(_, label)| label.to_owned())
    }

    /// A value of the recorded play for another run; none where it speaks of what differs from run to run.
    fn again(&self, value: &Value) -> Option<Value> {
        let differs =
            |kind: &ValueKind| kind.is_volatile() && !matches!(kind, ValueKind::Folder(_)) || *kind == ValueKind::Id;
        let found = Finder::new(self.known).find(value);
        let same = value.to_string().len() <= 10 * LARGE && !found.iter().any(|find| differs(&find.kind));
        same.then(|| self.values.sent(value, &mut String::new(), None))
    }
}

/// The label of a request in a step of ours, and the number of its event.
fn label_of(item: &ScenarioItem) -> Option<(u64, &str)> {
    let ScenarioElement::Step { index, verb, args, .. } = &item.element else { return None };
    Some((*index, args.get("as").filter(|_| *verb != "connect" && *verb != "call")?.as_str()?))
}
