//! What rules say of lateness, the harness's own delay taken out.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::protocol::{Judgements, RequirementId, Violation};

/// How many times our own delay somebody else may be late: what reads the wire is not what measures the delay, and may
/// have waited longer.
const FORGIVEN: u32 = 2;

/// Drops what may have been late by no more than we were in this play, all delays added up. Whether the bound was kept
/// is not known then.
pub fn forgive(judged: &mut Judgements, our_delay: Duration) {
    let delay = FORGIVEN * our_delay;
    let forgiven = |violation: &Violation| violation.late.is_some_and(|late| Duration::from_micros(late) <= delay);
    let unknown: BTreeSet<RequirementId> =
        judged.violations.iter().filter(|v| forgiven(v)).map(|violation| violation.requirement).collect();
    judged.violations.retain(|violation| !forgiven(violation));
    let violated: BTreeSet<RequirementId> = judged.violations.iter().map(|violation| violation.requirement).collect();
    judged.assessed.retain(|id| violated.contains(id) || !unknown.contains(id));
}

#[cfg(test)]
mod tests {
    use crate::protocol::Fault;
    use crate::trace::End;

    use super::*;

    #[test]
    fn what_is_no_later_than_our_own_delay_is_not_known_and_what_is_later_is_violated() {
        let late = |id, late| Fault::new("late").late(late).by(End::Server, id, 1);
        let other = Fault::new("wrong").by(End::Server, "wrong", 1);
        let mut judged = Judgements::default();
        judged.assess("kept");
        [late("a", 400_000), late("b", 100_000), late("b", 400_001), other].into_iter().for_each(|v| judged.violate(v));
        forgive(&mut judged, Duration::from_millis(200));
        let left: Vec<_> = judged.violations.iter().map(|v| (v.requirement, v.late)).collect();
        assert_eq!(left, [("b", Some(400_001)), ("wrong", None)]);
        assert_eq!(judged.assessed, ["kept", "b", "b", "wrong"]);
    }
}
