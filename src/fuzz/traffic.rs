//! What the traffic of a role is made of, as its protocol tells it.

use serde_json::{Map, Value};

use crate::diagnostic::{Source, yaml};
use crate::protocol::Role;

/// A table of moves that is not as it should be.
#[derive(Debug, thiserror::Error)]
#[error("the traffic of {role}: {what}")]
pub struct TrafficError {
    /// Whose.
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
    pub edition: &'static str,
    /// Files that every case begins with.
    pub(super) files: Map<String, Value>,
    /// The steps that every case begins with.
    pub(super) opening: Vec<Value>,
    /// Sound moves, and ones that are wrong on purpose.
    pub(super) moves: Vec<Move>,
    /// The steps that show that the subject still serves; `<proves>` in them stands for what that proves.
    pub(super) alive: Vec<Value>,
    /// What it proves where nothing was wrong.
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
    /// What it cannot be made without: see `requires` of scenarios.
    pub requires: Vec<String>,
    /// What a subject breaks that does not serve after it, of a move that is wrong on purpose: area and slug.
    pub harms: Option<String>,
    /// Whether nothing may come in between its steps.
    pub together: bool,
    /// Values that its steps have in common.
    pub shared: Map<String, Value>,
    /// What it does.
    pub steps: Vec<Value>,
}

impl Traffic {
    /// The moves of a role in an edition.
    ///
    /// # Errors
    /// Where the table is wrong, which is our fault.
    pub fn of(role: &'static Role, edition: &'static str) -> Result<Self, TrafficError> {
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
            editions.is_empty() || editions.iter().any(|e| e == edition)
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
