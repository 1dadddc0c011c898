//! What a proof consists of: the cases that it plays against (sound mocks, freedoms and flaws, pairs of flaws, and flaws
//! that do not always show), and their results.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::peer;
use crate::peer::deviation::Modifier;
use crate::protocol::{Edition, Level, Protocol, Role};

/// One mock that the suite is played against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// The role that the mock plays.
    pub role: &'static str,
    /// The edition it speaks.
    pub edition: &'static dyn Edition,
    /// What is special about it.
    pub kind: CaseKind,
}

impl Case {
    /// Whether the mock is wrong on purpose.
    pub fn is_flawed(&self) -> bool {
        matches!(self.kind, CaseKind::Flaw { .. } | CaseKind::Pair { .. })
    }
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
        /// What else it breaks: each requirement's id, and why.
        also: Vec<(&'static str, &'static str)>,
        /// When it shows; always, where that is not said.
        #[serde(skip_serializing_if = "Option::is_none")]
        when: Option<Modifier>,
    },
    /// It has two flaws at once: neither may hide the other.
    Pair {
        /// The flaws, each with its name and the id of the requirement that it breaks.
        flaws: [(&'static str, &'static str); 2],
    },
}

/// How a flaw shows in a mock that has another one as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairOutcome {
    /// What it breaks is violated.
    Violated,
    /// What it breaks could not be judged, because of these violated requirements.
    Blocked(Vec<String>),
    /// What it breaks counts as met, excused or never seen: the other flaw hides it.
    Hidden(String),
}

/// How a case came out.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    /// The case.
    pub case: Case,
    /// Whether this is what came of it where nothing else was played at the same time, after it did not hold beside others.
    pub alone: bool,
    /// Whether the whole suite was played, so that exactly what a flaw breaks has to be violated.
    pub whole: bool,
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
    /// How each flaw of a pair shows.
    pub reported: Vec<PairOutcome>,
}

impl CaseResult {
    /// A case of which nothing has been played yet.
    pub fn of(case: Case) -> Self {
        Self {
            case,
            alone: false,
            whole: false,
            scenarios: 0,
            caught_by: BTreeSet::new(),
            accused: BTreeSet::new(),
            beside: BTreeSet::new(),
            violated: BTreeMap::new(),
            errors: vec![],
            reported: vec![],
        }
    }

    /// The modifier of the flaw, if it has one.
    pub fn modifier(&self) -> Option<Modifier> {
        if let CaseKind::Flaw { when, .. } = self.case.kind { when } else { None }
    }

    /// Whether the suite did what it should. A flaw that does not always show need not be caught.
    pub fn holds(&self) -> bool {
        let flawed = matches!(self.case.kind, CaseKind::Flaw { .. });
        if self.modifier().is_some() {
            return self.scenarios > 0;
        }
        if matches!(self.case.kind, CaseKind::Pair { .. }) {
            return !self.reported.is_empty()
                && !self.reported.iter().any(|reported| matches!(reported, PairOutcome::Hidden(_)));
        }
        // A flaw may make scenarios unplayable that are about something else; a sound mock may not.
        let judged = flawed || self.errors.is_empty();
        let caught = !flawed || !self.caught_by.is_empty();
        let exact = !self.whole || self.beside.is_empty() && self.unseen().is_empty();
        caught && exact && self.accused.is_empty() && judged && self.scenarios > 0
    }

    /// Whether the mock has two flaws.
    pub fn is_pair(&self) -> bool {
        matches!(self.case.kind, CaseKind::Pair { .. })
    }

    /// What the flaw breaks and was not seen violated.
    pub fn unseen(&self) -> Vec<&'static str> {
        let CaseKind::Flaw { breaks, also, .. } = &self.case.kind else { return vec![] };
        let caught = self.caught_by.is_empty().then_some(*breaks);
        let also = also.iter().map(|(id, _)| *id).filter(|id| !self.violated.contains_key(*id));
        caught.into_iter().chain(also).collect()
    }

    /// Whether something was seen violated in this scenario that the flaw does not break.
    pub(super) fn saw_beside(&self, scenario: &str) -> bool {
        let seen = self.beside.iter().filter_map(|id| self.violated.get(id));
        seen.flatten().any(|(in_which, _)| in_which == scenario)
    }

    /// Nothing could be played, since the flaw is that the mock is not reached.
    pub(super) fn unreachable(&mut self, scenarios: usize, how: &str) {
        self.scenarios += scenarios;
        self.caught_by.insert(how.to_owned());
        if self.is_pair() {
            self.reported = vec![PairOutcome::Violated, PairOutcome::Blocked(vec![how.to_owned()])];
        }
    }

    /// Takes in what is seen where doubtful scenarios were played once more: what is not seen again beside the flaw was seen
    /// in error.
    pub(super) fn confirm(&mut self, again: Self) {
        self.beside.retain(|id| again.beside.contains(id));
        let CaseKind::Flaw { breaks, also, .. } = &self.case.kind else { return };
        let broken = |id: &str| id == *breaks || also.iter().any(|(also, _)| *also == id);
        for (id, seen) in again.violated {
            self.violated.entry(id).or_insert(seen);
        }
        let beside = &self.beside;
        self.violated.retain(|id, _| broken(id) || beside.contains(id));
        self.caught_by.extend(again.caught_by);
    }
}

/// The share of the pairs of flaws of which both have to be distinguished. Some pairs act at the same place, where only one can show.
pub const PAIRS_DISTINGUISHED: f64 = 0.95;

/// All cases of a proof.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proof {
    /// Each case, in the order of the tables.
    pub results: Vec<CaseResult>,
    /// Binding requirements that no flaw breaks, so that nothing shows that they are checked.
    pub unproved: Vec<&'static str>,
}

/// How many requirements the flaws of a proof were seen to violate, where the whole suite was played.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ViolationStatistics {
    /// The median.
    pub median: usize,
    /// The mean.
    pub mean: f64,
    /// How many flaws violate more than three.
    pub above_three: usize,
    /// How many flaws these are.
    pub flaws: usize,
}

/// What was caught of flaws that do not always show.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Modified {
    /// For each modifier, how many flaws were caught, and of how many.
    pub flaws: BTreeMap<Modifier, (usize, usize)>,
    /// For each requirement that they break, the modifiers with which one of them was caught.
    pub requirements: BTreeMap<&'static str, BTreeSet<Modifier>>,
}

impl Modified {
    /// With so many modifiers at least, a flaw has to be caught of each requirement.
    pub const ENOUGH: usize = 2;

    /// The requirements whose flaws are caught with fewer modifiers than are enough.
    pub fn seldom(&self) -> impl Iterator<Item = (&'static str, &BTreeSet<Modifier>)> {
        self.requirements.iter().filter(|(_, with)| with.len() < Self::ENOUGH).map(|(id, with)| (*id, with))
    }
}

impl Proof {
    /// How many requirements a flaw violates; none where no flaw was played against wholly.
    pub fn spread(&self) -> Option<ViolationStatistics> {
        let flaws = self.results.iter().filter(|r| r.whole);
        let mut counts: Vec<usize> = flaws.map(|r| r.violated.len()).collect();
        counts.sort_unstable();
        let median = *counts.get(counts.len() / 2)?;
        let mean = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
        let above_three = counts.iter().filter(|n| **n > 3).count();
        Some(ViolationStatistics { median, mean, above_three, flaws: counts.len() })
    }

    /// What was caught of flaws with modifiers; none where there are none.
    pub fn modified(&self) -> Option<Modified> {
        let mut modified = Modified::default();
        for result in &self.results {
            let CaseKind::Flaw { breaks, when: Some(when), .. } = result.case.kind else { continue };
            let caught = !result.caught_by.is_empty();
            let (of_caught, of_all) = modified.flaws.entry(when).or_default();
            *of_all += 1;
            *of_caught += usize::from(caught);
            let modifiers = modified.requirements.entry(breaks).or_default();
            if caught {
                modifiers.insert(when);
            }
        }
        (!modified.flaws.is_empty()).then_some(modified)
    }

    /// Whether every case holds, of pairs of flaws [`PAIRS_DISTINGUISHED`], and no `must` is without a flaw.
    pub fn holds(&self) -> bool {
        let (pairs, others): (Vec<&CaseResult>, Vec<&CaseResult>) = self.results.iter().partition(|r| r.is_pair());
        let holding = pairs.iter().filter(|r| r.holds()).count();
        let pairs_hold = holding as f64 >= PAIRS_DISTINGUISHED * pairs.len() as f64;
        self.unproved.is_empty() && !self.results.is_empty() && pairs_hold && others.iter().all(|r| r.holds())
    }
}

/// The cases of a role: our sound mock, every freedom, every flaw, each in every edition that has it.
pub fn cases(protocol: &'static Protocol, role: &'static Role) -> Vec<Case> {
    let catalogue = (protocol.requirements)();
    let id = |edition: &str, short: &str| {
        catalogue.iter().find(|r| r.edition() == edition && r.short() == short).map(|r| r.id)
    };
    let mut cases = vec![];
    for edition in protocol.editions.iter().copied() {
        let case = |kind| Case { role: role.name, edition, kind };
        cases.push(case(CaseKind::Sound));
        let freedoms = peer::freedoms(role.name).iter().filter(|f| f.editions.contains(&edition.id()));
        cases.extend(freedoms.map(|f| {
            let forgoes = f.forgoes.iter().filter_map(|short| id(edition.id(), short)).collect();
            case(CaseKind::Freedom { name: f.name, forgoes })
        }));
        for flaw in peer::flaws(role.name).iter().filter(|f| f.editions.contains(&edition.id())) {
            let Some(breaks) = id(edition.id(), flaw.breaks) else { continue };
            let short = |named: &'static str| {
                let own = named.strip_prefix(edition.id()).and_then(|rest| rest.strip_prefix('/'));
                own.unwrap_or(named)
            };
            let also = flaw.also.iter();
            let also = also.filter_map(|also| Some((id(edition.id(), short(also.requirement))?, also.why))).collect();
            cases.push(case(CaseKind::Flaw { name: flaw.name, breaks, also, when: None }));
        }
    }
    cases
}

/// `count` pairs of these flaws, drawn with a seed: two of the same role and edition that break different requirements.
/// Cases that are no flaws are passed over.
pub fn pairs(cases: &[Case], count: usize, seed: u64) -> Vec<Case> {
    let flaw = |case: &Case| match case.kind {
        CaseKind::Flaw { name, breaks, .. } => Some((case.role, case.edition, (name, breaks))),
        _ => None,
    };
    let flaws: Vec<_> = cases.iter().filter_map(flaw).collect();
    let mut draw = fastrand::Rng::with_seed(seed);
    let mut pairs = vec![];
    type FlawOfRole<'a> = (&'a str, &'a dyn Edition, (&'a str, &'a str));
    let may_pair = |a: &FlawOfRole<'_>, b: &FlawOfRole<'_>| (a.0, a.1) == (b.0, b.1) && a.2.1 != b.2.1;
    if !flaws.iter().any(|a| flaws.iter().any(|b| may_pair(a, b))) {
        return pairs;
    }
    while pairs.len() < count {
        let (first, second) = (flaws[draw.usize(..flaws.len())], flaws[draw.usize(..flaws.len())]);
        if may_pair(&first, &second) {
            let (role, edition, _) = first;
            pairs.push(Case { role, edition, kind: CaseKind::Pair { flaws: [first.2, second.2] } });
        }
    }
    pairs
}

/// The flaws among these cases that break a `must`, each with every modifier instead of always.
pub fn modified(protocol: &'static Protocol, cases: &[Case]) -> Vec<Case> {
    let is_must = |id: &str| (protocol.requirements)().iter().any(|r| r.id == id && r.level == Level::Must);
    let of = |case: &Case| match &case.kind {
        CaseKind::Flaw { name, breaks, .. } if is_must(breaks) => {
            let flaw = |when| CaseKind::Flaw { name, breaks, also: vec![], when: Some(when) };
            Modifier::ALL.into_iter().map(|when| Case { kind: flaw(when), ..case.clone() }).collect()
        }
        _ => vec![],
    };
    cases.iter().flat_map(of).collect()
}
