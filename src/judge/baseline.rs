//! Known violations: [`Baseline`], a list of what is expected to be wrong, each entry with a reason.

mod file;

use jiff::civil::Date;

use crate::scenario::glob;

/// The violations that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    /// One for each line of the file.
    pub entries: Vec<BaselineEntry>,
}

/// One known violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineEntry {
    /// The requirement's whole id.
    pub requirement: String,
    /// The scenario's id, where it is known in that scenario only; `*` stands for any text.
    pub scenario: Option<String>,
    /// Why it is put up with.
    pub reason: String,
    /// The last day on which it is.
    pub until: Option<Date>,
}

impl BaselineEntry {
    /// Whether it speaks of this requirement in this scenario.
    pub fn covers(&self, requirement: &str, scenario: &str) -> bool {
        self.requirement == requirement && self.concerns(scenario)
    }

    /// Whether it speaks of this scenario.
    pub fn concerns(&self, scenario: &str) -> bool {
        self.scenario.as_deref().is_none_or(|pattern| glob(pattern, scenario))
    }

    /// Whether its time is over.
    pub fn expired(&self, today: Date) -> bool {
        self.until.is_some_and(|until| today > until)
    }
}

impl Baseline {
    /// The entry that covers a violation, where there is one whose time is not over.
    pub fn lookup(&self, requirement: &str, scenario: &str, today: Date) -> Option<(usize, &BaselineEntry)> {
        self.entries.iter().enumerate().find(|(_, known)| known.covers(requirement, scenario) && !known.expired(today))
    }
}
