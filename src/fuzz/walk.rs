//! Walks of the model of a role, as scenarios: [`Walks`].

use serde_json::{Map, Value, json};

use crate::config::SubjectSpec;
use crate::protocol::model::{BeginWalk, Draw};
use crate::protocol::{Edition, Role};

use super::SeededRandom;
use super::case::is_possible;

/// The fewest and the most acts of a walk.
const ACTS: (usize, usize) = (6, 16);

/// What walks of a role need.
pub struct Walks {
    begin: BeginWalk,
    role: &'static str,
    edition: &'static dyn Edition,
    can: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Draw for SeededRandom {
    fn below(&mut self, bound: usize) -> usize {
        SeededRandom::below(self, bound)
    }
}

impl Walks {
    /// The walks with all acts that the subject can be asked for. None where the role has no model in this edition.
    pub fn of(role: &'static Role, edition: &'static dyn Edition, spec: &SubjectSpec) -> Option<Self> {
        let spec = spec.clone();
        Self::with(role, edition, move |need| is_possible(&spec, need))
    }

    /// The walks with all acts whose needs, as in `requires` of scenarios, are met.
    pub fn with(
        role: &'static Role,
        edition: &'static dyn Edition,
        can: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Option<Self> {
        let begin = role.model?;
        begin(edition, &can)?;
        Some(Self { begin, role: role.name, edition, can: Box::new(can) })
    }

    /// One walk as the JSON of a scenario.
    pub(super) fn scenario_json(&self, random: &mut SeededRandom, title: String) -> Value {
        let mut scenario = Map::new();
        scenario.insert("wirecert".to_owned(), json!(1));
        scenario.insert("title".to_owned(), title.into());
        scenario.insert("role".to_owned(), self.role.into());
        scenario.insert("edition".to_owned(), self.edition.id().into());
        if let Some(mut model) = (self.begin)(self.edition, &self.can) {
            let files = model.files();
            if !files.is_empty() {
                scenario.insert("workspace".to_owned(), files.into());
            }
            let acts = ACTS.0 + random.below(ACTS.1 - ACTS.0 + 1);
            let mut steps = model.opening();
            steps.extend((0..acts).flat_map(|_| model.act(random)));
            let needs = model.needs();
            if !needs.is_empty() {
                scenario.insert("requires".to_owned(), needs.into());
            }
            scenario.insert("steps".to_owned(), steps.into());
        }
        scenario.into()
    }
}
