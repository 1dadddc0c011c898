//! From the [`Traffic`] of a role to a [`Case`]: moves chosen, filled in and put in order by the [`Generator`].

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::config::SubjectSpec;
use crate::diagnostic::{Source, yaml};
use crate::fixture::{Choices, Generator as Schemas};
use crate::protocol::{Edition, Role};
use crate::scenario::text::{Tree, write};
use crate::scenario::{Plan, load_str};

use super::SeededRandom;
use super::values::{self, broken_json};
use super::walk::Walks;

/// The most moves of a case.
const MAX_MOVES: usize = 8;

/// A case that is no valid scenario (a text was cut within a variable) is drawn anew so many times at most.
const MAX_TRIES: u64 = 20;

/// Makes cases.
pub struct Generator {
    source: CaseSource,
    seed: u64,
}

/// What the cases are made of.
enum CaseSource {
    Traffic(Traffic),
    Walks(Walks),
}

/// A generated scenario.
#[derive(Clone)]
pub struct Case {
    /// The number of the case, from 0.
    pub number: u64,
    /// The text of the scenario.
    pub text: String,
    /// The plan of the scenario, ready to be played.
    pub plan: Plan,
}

impl Generator {
    /// Makes cases of this traffic, without those moves that the subject cannot be asked for. What it cannot do changes
    /// the cases that a seed gives.
    pub fn new(mut traffic: Traffic, seed: u64, spec: &SubjectSpec) -> Self {
        traffic.moves.retain(|m| m.requires.iter().all(|need| is_possible(spec, need)));
        Self { source: CaseSource::Traffic(traffic), seed }
    }

    /// Makes cases that are walks of a model.
    pub fn of_walks(walks: Walks, seed: u64) -> Self {
        Self { source: CaseSource::Walks(walks), seed }
    }

    /// The case of this number. None where nothing that was drawn made a scenario, which does not happen with the tables
    /// that there are.
    pub fn case(&self, number: u64) -> Option<Case> {
        (0..MAX_TRIES).find_map(|again| {
            let mut random = SeededRandom::new(self.seed, number.wrapping_mul(MAX_TRIES).wrapping_add(again));
            let tree = Tree::from(self.scenario_json(&mut random, number));
            let text = write(&tree);
            let mut loaded = load_str(&format!("fuzz-{}-{number}.yaml", self.seed), &text);
            let plan = loaded.plans.pop().filter(|_| loaded.diagnostics.is_empty())?;
            Some(Case { number, text, plan })
        })
    }

    /// What is wrong with what a case would be, where it is no scenario: for tests of the tables.
    #[cfg(test)]
    pub(super) fn faults(&self, number: u64) -> Vec<String> {
        let mut random = SeededRandom::new(self.seed, number.wrapping_mul(MAX_TRIES));
        let text = write(&Tree::from(self.scenario_json(&mut random, number)));
        let loaded = load_str("case.yaml", &text);
        loaded.diagnostics.iter().map(|d| format!("{}\n{text}", d.message)).collect()
    }

    fn scenario_json(&self, random: &mut SeededRandom, number: u64) -> Value {
        match &self.source {
            CaseSource::Traffic(traffic) => traffic.scenario_json(self.seed, random, number),
            CaseSource::Walks(walks) => {
                walks.scenario_json(random, format!("A walk drawn with the seed {}: case {number}", self.seed))
            }
        }
    }
}

impl Traffic {
    fn scenario_json(&self, seed: u64, random: &mut SeededRandom, number: u64) -> Value {
        let traffic = self;
        let (sound, wrong): (Vec<&Move>, Vec<&Move>) = traffic.moves.iter().partition(|m| m.harms.is_none());
        // Of one kind only, so that its consequences can be told apart.
        let abuse = if random.once_in(3) { None } else { pick_weighted(random, &wrong) };
        let mut chosen: Vec<&Move> =
            (0..random.below(MAX_MOVES)).filter_map(|_| pick_weighted(random, &sound)).collect();
        if let Some(abuse) = abuse {
            for _ in 0..=random.below(traffic.most_wrong) {
                // After it, a client may have left: where its moves stay together, it comes last.
                let at = if traffic.interleaves { random.below(chosen.len() + 1) } else { chosen.len() };
                chosen.insert(at, abuse);
            }
        }
        if chosen.is_empty() {
            chosen.extend(pick_weighted(random, &sound));
        }
        let mut moves = vec![];
        for (n, one) in chosen.iter().enumerate() {
            let filled = Filling::new(traffic, one, n + 1, random).steps(one, random);
            let apart = traffic.interleaves && !one.together;
            moves.push(if apart {
                filled.into_iter().map(|step| vec![step]).collect()
            } else {
                VecDeque::from([filled])
            });
        }
        let mut steps = traffic.opening.clone();
        steps.extend(if traffic.interleaves {
            interleave(random, moves)
        } else {
            moves.into_iter().flatten().flatten().collect()
        });
        let proves = abuse.and_then(|m| m.harms.as_deref()).unwrap_or(&traffic.sound);
        steps.extend(traffic.alive.iter().map(|step| replace_mark(step, "<proves>", proves)));
        let mut scenario = Map::new();
        let title = format!("Fuzzed with the seed {seed}: case {number}");
        for (key, value) in [
            ("wirecert", json!(1)),
            ("title", title.into()),
            ("role", traffic.role.into()),
            ("edition", traffic.edition.id().into()),
            ("workspace", Value::Object(traffic.files.clone())),
            ("steps", Value::Array(steps)),
        ] {
            if value != json!({}) {
                scenario.insert(key.to_owned(), value);
            }
        }
        Value::Object(scenario)
    }
}

/// Whether a subject has what a move requires.
pub(super) fn is_possible(spec: &SubjectSpec, need: &str) -> bool {
    match need.split_once(':') {
        Some(("stimulus", name)) => spec.has_stimulus(name),
        Some(("capability", name)) => !spec.lacks(name),
        Some(("described", path)) => spec.described.at(path).is_some(),
        _ => true,
    }
}

fn pick_weighted<'a>(random: &mut SeededRandom, moves: &[&'a Move]) -> Option<&'a Move> {
    let all: usize = moves.iter().map(|m| m.weight).sum();
    let mut at = random.below(all);
    moves.iter().copied().find(|m| {
        let here = at < m.weight;
        at = at.saturating_sub(m.weight);
        here
    })
}

/// The steps of all moves, those of each in their order and what belongs together undivided.
fn interleave(random: &mut SeededRandom, mut moves: Vec<VecDeque<Vec<Value>>>) -> Vec<Value> {
    let mut steps = vec![];
    loop {
        moves.retain(|left| !left.is_empty());
        let at = random.below(moves.len());
        match moves.get_mut(at).and_then(VecDeque::pop_front) {
            Some(next) => steps.extend(next),
            None => return steps,
        }
    }
}

/// The value with a mark in its texts replaced.
fn replace_mark(value: &Value, mark: &str, by: &str) -> Value {
    match value {
        Value::String(text) => text.replace(mark, by).into(),
        Value::Array(items) => items.iter().map(|item| replace_mark(item, mark, by)).collect(),
        Value::Object(map) => map.iter().map(|(k, v)| (k.clone(), replace_mark(v, mark, by))).collect(),
        other => other.clone(),
    }
}

/// Fills in what a move leaves open.
struct Filling<'a> {
    traffic: &'a Traffic,
    /// Tells the names of this move from those of others.
    number: usize,
    shared: Map<String, Value>,
}

impl<'a> Filling<'a> {
    fn new(traffic: &'a Traffic, one: &Move, number: usize, random: &mut SeededRandom) -> Self {
        let mut filling = Self { traffic, number, shared: Map::new() };
        for (name, value) in &one.shared {
            let value = filling.fill(value, random).unwrap_or_default();
            filling.shared.insert(name.clone(), value);
        }
        filling
    }

    fn steps(&self, one: &Move, random: &mut SeededRandom) -> Vec<Value> {
        one.steps.iter().filter_map(|step| self.fill(step, random)).collect()
    }

    /// The value with its holes filled; none where it is left out.
    fn fill(&self, value: &Value, random: &mut SeededRandom) -> Option<Value> {
        Some(match value {
            Value::String(text) => {
                let text = text.replace("<n>", &self.number.to_string());
                let shared = self.shared.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
                shared.fold(text, |text, (name, value)| text.replace(&format!("<{name}>"), value)).into()
            }
            Value::Array(items) => items.iter().filter_map(|item| self.fill(item, random)).collect(),
            Value::Object(map) => match map.iter().next() {
                Some((hole, inner)) if hole.starts_with('~') => return self.hole(hole, inner, random),
                _ => map.iter().filter_map(|(key, inner)| Some((key.clone(), self.fill(inner, random)?))).collect(),
            },
            other => other.clone(),
        })
    }

    /// What makes values of the schema of this name.
    fn schemas(&self, name: &Value) -> Option<Schemas> {
        let schema = self.traffic.edition.schema(name.as_str()?)?;
        Schemas::new(schema).ok()
    }

    fn hole(&self, hole: &str, inner: &Value, random: &mut SeededRandom) -> Option<Value> {
        let number = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(20);
        let bound = |n: usize| inner[n].as_i64().unwrap_or_default();
        Some(match hole {
            "~text" => escaped(&values::text(random, number(inner), false)).into(),
            "~odd" => escaped(&values::text(random, number(inner), true)).into(),
            "~content" => escaped(&values::content(random, number(inner))).into(),
            "~name" => values::name(random).into(),
            "~file" => {
                let there: Vec<&String> = self.traffic.files.keys().collect();
                (*random.pick(&there)?).clone().into()
            }
            "~int" => random.between(bound(0), bound(1)).into(),
            "~json" => all_escaped(values::json(random, number(inner).min(6))),
            "~hex" => {
                let count = random.below(number(inner)) + 1;
                (0..count).map(|_| format!("{:02x}", random.below(256))).collect::<Vec<_>>().join(" ").into()
            }
            "~one_of" => {
                let chosen = random.pick(inner.as_array()?)?.clone();
                return self.fill(&chosen, random);
            }
            "~maybe" => return if random.once_in(2) { self.fill(inner, random) } else { None },
            "~list" => (0..random.below(4)).filter_map(|_| self.fill(inner, random)).collect(),
            "~mutated" => {
                let value = self.fill(inner, random)?;
                let wrong = values::mutated(random, &value);
                // What is known to be escaped stays so; what came new is not.
                if wrong == value { wrong } else { escape_new(&value, wrong) }
            }
            "~torn" => {
                let value = self.fill(inner, random)?;
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                broken_json(random, &text).into()
            }
            "~written" => self.fill(inner, random)?.to_string().into(),
            "~valid" => all_escaped(self.schemas(inner)?.valid(&mut Choices::seeded(random.number()))?),
            "~invalid" => all_escaped(self.schemas(inner)?.invalid(&mut Choices::seeded(random.number()))?.value),
            "~use" => self.shared.get(inner.as_str()?)?.clone(),
            "~of" => self.shared.get(inner[0].as_str()?)?.get(inner[1].as_str()?)?.clone(),
            "~deep" => values::deep(random, number(inner)).into(),
            _ => return None,
        })
    }
}

/// A text as a scenario has it.
fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

fn all_escaped(value: Value) -> Value {
    match value {
        Value::String(text) => escaped(&text).into(),
        Value::Array(items) => items.into_iter().map(all_escaped).collect(),
        Value::Object(map) => map.into_iter().map(|(k, v)| (k, all_escaped(v))).collect(),
        other => other,
    }
}

/// A changed value: what is as it was stays, what is new is escaped.
fn escape_new(was: &Value, is: Value) -> Value {
    if *was == is {
        return is;
    }
    match (was, is) {
        (Value::Object(was), Value::Object(is)) => is
            .into_iter()
            .map(|(k, v)| (k.clone(), was.get(&k).map_or_else(|| all_escaped(v.clone()), |w| escape_new(w, v.clone()))))
            .collect(),
        (Value::Array(was), Value::Array(is)) => is
            .into_iter()
            .enumerate()
            .map(|(n, v)| was.get(n).map_or_else(|| all_escaped(v.clone()), |w| escape_new(w, v.clone())))
            .collect(),
        (_, is) => all_escaped(is),
    }
}

/// A table of moves that is not as it should be.
#[derive(Debug, thiserror::Error)]
#[error("the traffic of {role}: {what}")]
pub struct TrafficError {
    /// The role.
    pub role: &'static str,
    /// What is wrong.
    pub what: String,
}

/// The moves of a role in one edition.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The role.
    pub role: &'static str,
    /// The edition.
    pub edition: &'static dyn Edition,
    /// Files that every case begins with.
    pub(super) files: Map<String, Value>,
    /// The steps that every case begins with.
    pub(super) opening: Vec<Value>,
    /// Sound moves, and ones that are wrong on purpose.
    pub(super) moves: Vec<Move>,
    /// The steps that show that the subject still serves; `<proves>` in them stands for what that proves.
    pub(super) alive: Vec<Value>,
    /// The requirement that the end of a case proves where nothing was wrong.
    pub(super) sound: String,
    /// Whether steps of several moves may come in between each other.
    pub(super) interleaves: bool,
    /// The most moves of a case that are wrong on purpose.
    pub(super) most_wrong: usize,
}

/// Something that our side does, with values left open.
#[derive(Clone, Debug)]
pub(super) struct Move {
    /// How often it is chosen, beside others.
    pub weight: usize,
    /// What the move requires: see `requires` of scenarios.
    pub requires: Vec<String>,
    /// What a subject breaks that does not serve after it, of a move that is wrong on purpose: area and slug.
    pub harms: Option<String>,
    /// Whether nothing may come in between its steps.
    pub together: bool,
    /// Values that its steps have in common.
    pub shared: Map<String, Value>,
    /// The steps of the move.
    pub steps: Vec<Value>,
}

impl Traffic {
    /// The moves of a role in an edition.
    ///
    /// # Errors
    /// Where the table is wrong, which is our fault.
    pub fn of(role: &'static Role, edition: &'static dyn Edition) -> Result<Self, TrafficError> {
        let wrong = |what: &str| TrafficError { role: role.name, what: what.to_owned() };
        let source = Source::new(format!("{}.yaml", role.name), role.traffic);
        let table = yaml::parse(&source).map_err(|faults| wrong(&faults[0].message))?.to_json();
        let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
        let map = |value: &Value, key: &str| value[key].as_object().cloned().unwrap_or_default();
        let words = |value: &Value, key: &str| -> Vec<String> {
            list(value, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let of_edition = |value: &&Value| {
            let editions = words(value, "editions");
            editions.is_empty() || editions.iter().any(|e| e == edition.id())
        };
        let moves: Vec<Move> = map(&table, "moves")
            .values()
            .filter(of_edition)
            .map(|value| Move {
                weight: value["weight"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
                requires: words(value, "requires"),
                harms: value["harms"].as_str().map(str::to_owned),
                together: value["together"].as_bool().unwrap_or(false),
                shared: map(value, "let"),
                steps: list(value, "steps"),
            })
            .collect();
        if moves.iter().any(|m| m.steps.is_empty()) || !moves.iter().any(|m| m.harms.is_none()) {
            return Err(wrong("there is no sound move, or one without steps"));
        }
        let alive = list(&table, "alive");
        let sound = table["sound"].as_str().filter(|_| !alive.is_empty());
        Ok(Self {
            role: role.name,
            edition,
            files: map(&table, "files"),
            opening: list(&table, "opening"),
            moves,
            alive,
            sound: sound.ok_or_else(|| wrong("nothing shows that the subject still serves"))?.to_owned(),
            interleaves: table["interleaves"].as_bool().unwrap_or(false),
            most_wrong: table["most_wrong"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
        })
    }
}
