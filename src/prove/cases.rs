//! What a proof plays against: sound mocks, freedoms and flaws, pairs of flaws, and flaws that do not always show.

use crate::peer;
use crate::peer::modifier::Modifier;
use crate::protocol::{Level, Protocol, Role};

use super::proof::{Case, CaseKind};

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
        cases.extend(freedoms.map(|f| {
            let forgoes = f.forgoes.iter().filter_map(|short| id(edition.id, short)).collect();
            case(CaseKind::Freedom { name: f.name, forgoes })
        }));
        for flaw in peer::flaws(role.name).iter().filter(|f| f.editions.contains(&edition.id)) {
            let Some(breaks) = id(edition.id, flaw.breaks) else { continue };
            let short = |named: &'static str| {
                let own = named.strip_prefix(edition.id).and_then(|rest| rest.strip_prefix('/'));
                own.unwrap_or(named)
            };
            let also = flaw.also.iter();
            let also = also.filter_map(|also| Some((id(edition.id, short(also.requirement))?, also.why))).collect();
            cases.push(case(CaseKind::Flaw { name: flaw.name, breaks, also, when: None }));
        }
    }
    cases
}

/// So many pairs of these flaws, drawn with a seed: two of the same role and edition that break different requirements.
/// Cases that are no flaws are passed over.
pub fn pairs(cases: &[Case], count: usize, seed: u64) -> Vec<Case> {
    let flaw = |case: &Case| match case.kind {
        CaseKind::Flaw { name, breaks, .. } => Some((case.role, case.edition, (name, breaks))),
        _ => None,
    };
    let flaws: Vec<_> = cases.iter().filter_map(flaw).collect();
    let mut draw = fastrand::Rng::with_seed(seed);
    let mut pairs = vec![];
    let may_pair =
        |a: &(&str, &str, (&str, &str)), b: &(&str, &str, (&str, &str))| (a.0, a.1) == (b.0, b.1) && a.2.1 != b.2.1;
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
