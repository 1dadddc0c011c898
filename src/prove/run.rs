//! Playing the suite against every flaw and freedom.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::config::{Access, own};
use crate::judge::{Fault, Played, ScenarioStatus};
use crate::peer;
use crate::play::{Cancel, Run, SuiteError, join_all, suite};
use crate::protocol::{Level, Protocol, Reach, Requirement, Role};
use crate::report::Silent;
use crate::scenario::Plan;
use crate::subject::SubjectError;

use super::proof::{Case, CaseKind, Proof, Result as CaseResult};

/// A flawed mock that may never be found is waited for no longer than this: it is on this machine.
const READY: Duration = Duration::from_secs(2);

/// How much is played for a flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The scenarios of the requirement that it breaks, and one pass of that requirement's area.
    Area,
    /// The whole suite of the role.
    Full,
}

/// Why a proof could not be attempted.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// Our own mock could not be started.
    #[error("{case}: {source}")]
    Suite {
        /// Which mock.
        case: String,
        /// Why not.
        source: SuiteError,
    },
}

/// The cases of a role: our sound mock, every freedom, every flaw, each in every edition that has it.
pub fn cases(protocol: &'static Protocol, role: &'static Role) -> Vec<Case> {
    let catalogue = (protocol.requirements)();
    let id = |edition: &str, short: &str| {
        catalogue.iter().find(|r| r.edition() == edition && r.short() == short).map(|r| r.id)
    };
    let mut cases = vec![];
    for edition in protocol.editions {
        let case = |kind| Case { role: role.name, edition: edition.id, kind };
        cases.push(case(CaseKind::Sound));
        let freedoms = peer::freedoms(role.name).iter().filter(|f| f.editions.contains(&edition.id));
        cases.extend(freedoms.map(|f| case(CaseKind::Freedom(f.name))));
        for flaw in peer::flaws(role.name).iter().filter(|f| f.editions.contains(&edition.id)) {
            let Some(breaks) = id(edition.id, flaw.breaks) else { continue };
            let also = flaw.also.iter().filter_map(|short| id(edition.id, short)).collect();
            cases.push(case(CaseKind::Flaw { name: flaw.name, breaks, also }));
        }
    }
    cases
}

/// What a proof is made with.
pub struct Prover<'a> {
    /// The protocol.
    pub protocol: &'static Protocol,
    /// The role whose mock is made wrong.
    pub role: &'static Role,
    /// The whole suite.
    pub plans: &'a [Plan],
    /// How each play goes.
    pub run: Run,
    /// How much is played for a flaw.
    pub extent: Extent,
    /// How many cases are played side by side.
    pub jobs: usize,
    /// Ends the proof early.
    pub cancel: &'a Cancel,
}

impl Prover<'_> {
    /// Plays every case and gathers what came of it. `done` is told of each case as it ends.
    ///
    /// # Errors
    /// Where a mock that should be ready could not be started.
    pub async fn prove(&self, cases: &[Case], done: &dyn Fn(&CaseResult)) -> Result<Proof, ProveError> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<Result<CaseResult, ProveError>>>> =
            Mutex::new(cases.iter().map(|_| None).collect());
        let worker = async || {
            while !self.cancel.is_cancelled() {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(case) = cases.get(n) else { break };
                let result = self.one(case).await;
                if let Ok(result) = &result {
                    done(result);
                }
                results.lock().unwrap_or_else(PoisonError::into_inner)[n] = Some(result);
            }
        };
        let workers: Vec<_> = (0..self.jobs.max(1)).map(|_| Box::pin(worker())).collect();
        join_all(workers.into_iter()).await;
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        let results = results.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
        Ok(Proof { results, unproved: unproved(self.protocol, self.role) })
    }

    async fn one(&self, case: &Case) -> Result<CaseResult, ProveError> {
        let flags = match &case.kind {
            CaseKind::Sound => vec![],
            CaseKind::Freedom(name) => vec!["--freedom".to_owned(), (*name).to_owned()],
            CaseKind::Flaw { name, .. } => vec!["--flaw".to_owned(), (*name).to_owned()],
        };
        let of_case = |p: &&Plan| p.role == self.role.name && p.edition == case.edition;
        let chosen = |p: &&Plan| of_case(p) && wanted(p, case, self.extent);
        let plans: Vec<Plan> = self.plans.iter().filter(chosen).cloned().collect();
        let mut spec = own(self.protocol, self.role, case.edition, &flags);
        if let (CaseKind::Flaw { .. }, Access::Launch(launch)) = (&case.kind, &mut spec.access) {
            launch.ready.within = launch.ready.within.min(READY);
        }
        let run = Run { jobs: 1, ..self.run.clone() };
        match suite(&spec, &plans, &run, None, &Silent, self.cancel).await {
            Ok(played) => Ok(result(case, &played, (self.protocol.requirements)(), self.role)),
            // Nothing can be played against a server that nobody finds: that is how this one is caught.
            Err(SuiteError::Subject(SubjectError::NotReady { .. })) if self.breaks_reach(case) => Ok(CaseResult {
                case: case.clone(),
                scenarios: plans.len(),
                caught_by: vec!["the subject is not found".to_owned()],
                accused: vec![],
                errors: vec![],
            }),
            Err(source) => Err(ProveError::Suite { case: format!("{:?}", case.kind), source }),
        }
    }

    /// Whether the flaw is that the server cannot be found.
    fn breaks_reach(&self, case: &Case) -> bool {
        let Reach::Lockfile { proves, .. } = &self.role.reach;
        matches!(&case.kind, CaseKind::Flaw { breaks, .. } if breaks.ends_with(&format!("/{proves}")))
    }
}

/// Whether a plan belongs to what is played for a case.
fn wanted(plan: &Plan, case: &Case, extent: Extent) -> bool {
    let CaseKind::Flaw { breaks, .. } = &case.kind else { return true };
    let area = |id: &str| id.split('/').nth(2).map(str::to_owned);
    extent == Extent::Full || plan.requirements.contains(breaks) || {
        let area = area(breaks);
        plan.requirements.iter().any(|id| self::area(id) == area.as_deref())
    }
}

fn area(id: &str) -> Option<&str> {
    id.split('/').nth(2)
}

fn result(case: &Case, played: &[Played], catalogue: &[Requirement], role: &Role) -> CaseResult {
    let (breaks, also): (Option<&str>, &[&str]) = match &case.kind {
        CaseKind::Flaw { breaks, also, .. } => (Some(breaks), also),
        _ => (None, &[]),
    };
    let level = |id: &str| catalogue.iter().find(|r| r.id == id).map_or(Level::Must, |r| r.level);
    let mut caught_by = BTreeSet::new();
    let mut accused = BTreeSet::new();
    let mut errors = vec![];
    let mut scenarios = 0;
    for played in played {
        for play in &played.plays {
            match play.status {
                ScenarioStatus::Skipped => continue,
                ScenarioStatus::Error => errors.push((played.id.clone(), play.reason.clone().unwrap_or_default())),
                ScenarioStatus::Passed | ScenarioStatus::Failed => {}
            }
            scenarios += 1;
            for found in &play.findings {
                let id = found.requirement.unwrap_or_default();
                if Some(id) == breaks {
                    caught_by.insert(played.id.clone());
                } else if !also.contains(&id) && !(breaks.is_some() && (id.is_empty() || level(id) != Level::Must)) {
                    // What proves nothing, or is no `must`, may well go wrong beside a flaw; never beside a sound mock.
                    let whose = if found.fault == Fault::End(role.subject) { "" } else { " (not the mock's fault)" };
                    accused.insert((id.to_owned(), format!("{}: {}{whose}", played.id, found.message)));
                }
            }
        }
    }
    CaseResult {
        case: case.clone(),
        scenarios,
        caught_by: caught_by.into_iter().collect(),
        accused: accused.into_iter().collect(),
        errors,
    }
}

/// Every `must` that binds the role and that no flaw breaks.
fn unproved(protocol: &'static Protocol, role: &Role) -> Vec<&'static str> {
    let catalogue = (protocol.requirements)();
    let flaws = peer::flaws(role.name);
    let broken = |r: &Requirement| flaws.iter().any(|f| f.breaks == r.short() && f.editions.contains(&r.edition()));
    let must = catalogue.iter().filter(|r| r.binds == role.subject && r.level == Level::Must);
    must.filter(|r| !broken(r)).map(|r| r.id).collect()
}
