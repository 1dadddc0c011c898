//! What was found, by the event that shows it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::protocol::{Level, Requirement};
use crate::trace::Culprit;

/// One breach of a requirement, as it is shown beside its event.
#[derive(Clone, Debug, Serialize)]
pub struct Remark {
    /// The requirement's id; none where an expectation failed that proves none.
    pub requirement: Option<String>,
    /// How binding it is.
    pub level: Level,
    /// Whose fault it is.
    pub blame: Culprit,
    /// What happened, in one sentence.
    pub message: String,
    /// The step that failed, and where it stands in its scenario.
    pub step: Option<String>,
    /// Where in the message's JSON, or in what was awaited, as a JSON pointer.
    pub path: Option<String>,
    /// What should have been there.
    pub expected: Option<Value>,
    /// What was there.
    pub actual: Option<Value>,
}

/// What was found in one trace.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    at: BTreeMap<u64, Vec<Remark>>,
    /// The requirements that were broken, for those who want to read what they say.
    requirements: BTreeMap<&'static str, &'static Requirement>,
    /// How many further breaches were counted and not kept.
    pub uncounted: u64,
}

impl Findings {
    /// Adds what was found at an event.
    pub fn add(&mut self, index: u64, requirement: Option<&'static Requirement>, remark: Remark) {
        if let Some(requirement) = requirement {
            self.requirements.insert(requirement.id, requirement);
        }
        self.at.entry(index).or_default().push(remark);
    }

    /// What was found at an event.
    pub fn at(&self, index: u64) -> &[Remark] {
        self.at.get(&index).map_or(&[], Vec::as_slice)
    }

    /// Everything that was found, with the numbers of the events, in order.
    pub fn all(&self) -> impl Iterator<Item = (u64, &Remark)> {
        self.at.iter().flat_map(|(index, remarks)| remarks.iter().map(move |remark| (*index, remark)))
    }

    /// The requirements that were broken.
    pub fn requirements(&self) -> impl Iterator<Item = &'static Requirement> {
        self.requirements.values().copied()
    }

    /// How many breaches of requirements of this level were kept.
    pub fn count(&self, level: Level) -> usize {
        self.all().filter(|(_, remark)| remark.level == level).count()
    }
}
