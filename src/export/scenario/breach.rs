//! The finding as the expectation that fails.

use serde_json::{Map, Value, json};

use super::gather::{Evidence, Item};
use super::nest::exactly;
use super::{ScenarioGoal, Step};
use crate::protocol::scenario_element::ScenarioElement;
use crate::protocol::{Role, Shape};
use crate::trace::{Finder, NormalisationFacts};

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
