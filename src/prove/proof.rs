//! What a proof consists of.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// One mock that the suite is played against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// The role that the mock plays.
    pub role: &'static str,
    /// The edition it speaks.
    pub edition: &'static str,
    /// What is special about it.
    pub kind: CaseKind,
}

/// What is special about a mock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseKind {
    /// Nothing: it must conform.
    Sound,
    /// It takes this freedom: it must conform all the same.
    Freedom {
        /// The freedom's name.
        name: &'static str,
        /// The ids of what is no `must` and that it does without.
        forgoes: Vec<&'static str>,
    },
    /// It has this flaw: the requirement that the flaw breaks must be seen violated.
    Flaw {
        /// The flaw's name.
        name: &'static str,
        /// The id of the requirement that it breaks.
        breaks: &'static str,
        /// The ids of what it cannot help breaking as well.
        also: Vec<&'static str>,
    },
}

/// How a case came out.
#[derive(Clone, Debug, Serialize)]
pub struct Result {
    /// The case.
    pub case: Case,
    /// How many scenarios were played.
    pub scenarios: usize,
    /// The scenarios in which the broken requirement was seen violated; for rules, those in which they saw it.
    pub caught_by: BTreeSet<String>,
    /// Requirements of which a sound mock was accused, with the scenario and the message.
    pub accused: BTreeSet<(String, String)>,
    /// Requirements seen violated beside the one that a flaw breaks and those that it names.
    pub beside: BTreeSet<String>,
    /// Everything that was seen violated: by requirement, the scenarios, each with the message.
    pub violated: BTreeMap<String, BTreeSet<(String, String)>>,
    /// Scenarios that could not be judged, with the reason.
    pub errors: Vec<(String, String)>,
}

impl Result {
    /// A case of which nothing has been played yet.
    pub fn of(case: Case) -> Self {
        Self {
            case,
            scenarios: 0,
            caught_by: BTreeSet::new(),
            accused: BTreeSet::new(),
            beside: BTreeSet::new(),
            violated: BTreeMap::new(),
            errors: vec![],
        }
    }

    /// Whether the suite did what it should.
    pub fn holds(&self) -> bool {
        let caught = !matches!(self.case.kind, CaseKind::Flaw { .. }) || !self.caught_by.is_empty();
        // A flaw may make scenarios unplayable that are about something else; a sound mock may not.
        let judged = matches!(self.case.kind, CaseKind::Flaw { .. }) || self.errors.is_empty();
        caught && self.accused.is_empty() && judged && self.scenarios > 0
    }
}

/// All cases of a proof.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proof {
    /// Each case, in the order of the tables.
    pub results: Vec<Result>,
    /// Binding requirements that no flaw breaks, so that nothing shows that they are checked.
    pub unproved: Vec<&'static str>,
}

impl Proof {
    /// Whether every case holds and no `must` is without a flaw.
    pub fn holds(&self) -> bool {
        self.unproved.is_empty() && !self.results.is_empty() && self.results.iter().all(Result::holds)
    }
}
