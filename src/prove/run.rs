//! Playing the suite against every flaw and freedom.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::config::own;
use crate::judge::{Fault, Played, ScenarioStatus};
use crate::peer;
use crate::play::{Cancel, Run, SuiteError, suite};
use crate::protocol::{Level, Protocol, Requirement, Role};
use crate::report::Silent;
use crate::scenario::Plan;

use super::proof::{Case, CaseKind, Proof, Result as CaseResult};

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

/// Plays every case and gathers what came of it. `done` is told of each case as it ends; at most `jobs` cases are
/// played side by side.
///
/// # Errors
/// Where one of our own mocks could not be started at all.
pub async fn prove(
    protocol: &'static Protocol,
    role: &'static Role,
    cases: &[Case],
    plans: &[Plan],
    run: &Run,
    extent: Extent,
    jobs: usize,
    cancel: &Cancel,
    done: &dyn Fn(&CaseResult),
) -> Result<Proof, ProveError> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<CaseResult, ProveError>>>> = Mutex::new(cases.iter().map(|_| None).collect());
    let worker = async || {
        while !cancel.is_cancelled() {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(n) else { break };
            let result = one(protocol, role, case, plans, run, extent, cancel).await;
            if let Ok(result) = &result {
                done(result);
            }
            results.lock().unwrap_or_else(PoisonError::into_inner)[n] = Some(result);
        }
    };
    let workers: Vec<_> = (0..jobs.max(1)).map(|_| Box::pin(worker())).collect();
    crate::play::join_all(workers.into_iter()).await;
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let results = results.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    Ok(Proof { results, unproved: unproved(protocol, role) })
}

async fn one(
    protocol: &'static Protocol,
    role: &'static Role,
    case: &Case,
    plans: &[Plan],
    run: &Run,
    extent: Extent,
    cancel: &Cancel,
) -> Result<CaseResult, ProveError> {
    let flags = match &case.kind {
        CaseKind::Sound => vec![],
        CaseKind::Freedom(name) => vec!["--freedom".to_owned(), (*name).to_owned()],
        CaseKind::Flaw { name, .. } => vec!["--flaw".to_owned(), (*name).to_owned()],
    };
    let plans: Vec<Plan> = plans
        .iter()
        .filter(|p| p.role == role.name && p.edition == case.edition && wanted(p, case, extent))
        .cloned()
        .collect();
    let spec = own(protocol, role, case.edition, &flags);
    let run = Run { jobs: 1, ..run.clone() };
    let played = match suite(&spec, &plans, &run, None, &Silent, cancel).await {
        Ok(played) => played,
        // A flaw may keep the mock from ever becoming ready; that is for the requirement to catch.
        Err(source) => return Err(ProveError::Suite { case: format!("{case:?}"), source }),
    };
    Ok(result(case, &played, (protocol.requirements)(), role))
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
