//! The finding as an expectation that fails: a violated requirement, or an expectation that failed in the play.

use serde_json::{Map, Value, json};

use crate::protocol::scenario_element::{ScenarioElement, word};
use crate::protocol::{ObservationKind, Role, Shape};
use crate::trace::{Awaited, AwaitedPart, Finder, Kind, NormalisationFacts};

use super::ScenarioGoal;
use super::gather::{Evidence, Gathering, Item, MAIN};
use super::values::{Linked, Values, exactly};
use super::yaml::Step;

/// A value that takes more than this is not named as the one that must not be there.
pub const LARGE: usize = 200;

/// How long nothing comes where there is no barrier.
pub const QUIET: &str = "300ms";

/// What shows a finding.
pub enum ViolationPattern {
    /// The observation of this item must be like this.
    At(usize, Map<String, Value>),
    /// Further steps say it.
    Steps {
        /// The steps.
        steps: Vec<Step>,
        /// The items of which they speak, which no step before them takes.
        instead_of: Vec<usize>,
        /// The connection of which they tell whether it is accepted: no step before them takes that for granted.
        tried: Option<String>,
    },
    /// No expectation can say it: the rules do.
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
pub fn takes(role: &Role, verb: &str, key: &str) -> bool {
    let fields = role.every_verb().find(|known| known.name == verb).map(|verb| match verb.shape {
        Shape::Object(fields) | Shape::Choose(fields, _) => fields,
        _ => &[],
    });
    fields.unwrap_or_default().iter().any(|field| field.name == key)
}

/// How a scenario can say what must not be as it was.
pub fn of(
    shown: &ScenarioGoal,
    evidence: Option<&Evidence>,
    items: &[Item],
    role: &Role,
    known: &NormalisationFacts,
) -> ViolationPattern {
    let at_fault = shown.finding.at;
    let on_conn = |item: &Item| evidence.is_some_and(|evidence| evidence.conn == item.conn);
    let at_event = |item: &&(usize, &Item)| item.1.told.index() == Some(at_fault);
    let numbered = || items.iter().enumerate();
    let seen = |item: &&(usize, &Item)| matches!(item.1.told, ScenarioElement::Seen { .. });
    let after = |item: &&(usize, &Item)| {
        item.1.told.index().is_some_and(|index| index > at_fault && index <= at_fault + 8) && on_conn(item.1)
    };
    let theirs = evidence.is_some_and(|evidence| evidence.sender == Some(role.subject));
    let here = numbered().filter(|item| at_event(&item) && seen(&item)).find(|item| named(role, item.1, "json"));
    let here = here.or_else(|| numbered().filter(|item| at_event(&item)).find(|item| seen(&item)));
    let here = here.or_else(|| numbered().filter(|item| theirs && after(&item)).find(|item| seen(&item)));
    if let Some((at, item)) = here
        && let ScenarioElement::Seen { kind, selectors, value, owed, .. } = &item.told
    {
        let field = pattern(shown, evidence, known).filter(|_| named(role, item, "json"));
        if let Some(pattern) = field {
            let pattern = Map::from_iter([("json".to_owned(), pattern)]);
            return if *owed { ViolationPattern::At(at, pattern) } else { ViolationPattern::Rules };
        }
        // What was asked for wrongly on purpose need not be granted.
        let asked = items[..at].iter().rev().find(|other| other.conn == item.conn);
        let wrong = asked.is_some_and(|asked| asked.deliberate.is_some());
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
            let body = body.into_iter().chain(proves(shown)).collect();
            let steps = vec![Step { verb: "never", body, comment: None }];
            return ViolationPattern::Steps { steps, instead_of: vec![], tried: None };
        }
        return if *owed { ViolationPattern::At(at, Map::new()) } else { ViolationPattern::Rules };
    }
    let asked = numbered().filter(|item| at_event(&item)).find_map(|(_, item)| match &item.told {
        ScenarioElement::Step { args, verb, .. } if *verb != "connect" => {
            args.get("as").map(|label| (label.clone(), args))
        }
        _ => None,
    });
    let Some((label, args)) = asked else { return ViolationPattern::Rules };
    let answers = if role.is_client() { "returned" } else { "response" };
    let answer =
        role.every_observation().find(|kind| kind.name == answers && kind.selectors.iter().any(|f| f.name == "to"));
    let Some(kind) = answer else { return ViolationPattern::Rules };
    let mut body = Map::from_iter([("to".to_owned(), label)]);
    body.extend(args.get("on").filter(|_| kind.on_connection).map(|on| ("on".to_owned(), on.clone())));
    let expect = Map::from_iter([(kind.name.to_owned(), Value::Object(body))]);
    let expect = expect.into_iter().chain(proves(shown)).collect();
    ViolationPattern::Steps {
        steps: vec![Step { verb: "expect", body: expect, comment: None }],
        instead_of: vec![],
        tried: None,
    }
}

/// What an expectation says that it proves.
pub fn proves(shown: &ScenarioGoal) -> Option<(String, Value)> {
    shown.requirement.map(|requirement| ("proves".to_owned(), requirement.short().into()))
}

/// Whether the observation of an item has this field.
fn named(role: &Role, item: &Item, field: &str) -> bool {
    let ScenarioElement::Seen { kind, .. } = &item.told else { return false };
    let kind = role.every_observation().find(|known| known.name == *kind);
    kind.is_some_and(|kind| kind.fields.iter().any(|known| known.name == field))
}

/// What the message must not be: one that has at the place of the fault what it had there, or nothing again. An answer of
/// another kind may have no such place.
fn pattern(shown: &ScenarioGoal, evidence: Option<&Evidence>, known: &NormalisationFacts) -> Option<Value> {
    let json = evidence?.json.as_ref()?;
    let path = shown.finding.path.as_deref().filter(|path| path.starts_with('/'))?;
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
