//! What rules say of lateness, the harness's own delay taken out.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use crate::protocol::{Judgements, RequirementId, Violation};

/// How many times our own delay somebody else may be late: what reads the wire is not what measures the delay, and may
/// have waited longer.
const FORGIVEN: u32 = 2;

/// Drops what may have been late by no more than we were in this play, all delays added up. Whether the bound was kept
/// is not known then.
pub fn discount_harness_delay(judged: &mut Judgements, our_delay: Duration) {
    let delay = FORGIVEN * our_delay;
    let forgiven = |violation: &Violation| violation.late.is_some_and(|late| Duration::from_micros(late) <= delay);
    let unknown: BTreeSet<RequirementId> =
        judged.violations.iter().filter(|v| forgiven(v)).map(|violation| violation.requirement).collect();
    judged.violations.retain(|violation| !forgiven(violation));
    let violated: BTreeSet<RequirementId> = judged.violations.iter().map(|violation| violation.requirement).collect();
    judged.assessed.retain(|id| violated.contains(id) || !unknown.contains(id));
}

/// Whether an observation of this kind that is not as it has to be may only say that the subject waited for us in vain: a call
/// that failed, or the end of a connection. Whatever else came would be wrong as well had we been in time.
pub fn is_giving_up(kind: &str, actual: &Value) -> bool {
    match kind {
        "returned" => actual.get("error").is_some(),
        "close" | "closed" | "state" => true,
        _ => false,
    }
}

/// Whether what a subject did instead of what a step needs may be due to our delay: nothing, or telling us that we are late by
/// the status 408 (RFC 9110 section 15.5.9).
pub fn is_lateness(actual: Option<&Value>) -> bool {
    actual.is_none_or(|actual| *actual == 408)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::protocol::ViolationDetail;
    use crate::trace::End;

    use super::*;

    #[test]
    fn what_is_no_later_than_our_own_delay_is_not_known_and_what_is_later_is_violated() {
        let late = |id, late| ViolationDetail::new("late").late(late).by(End::Server, id, 1);
        let other = ViolationDetail::new("wrong").by(End::Server, "wrong", 1);
        let mut judged = Judgements::default();
        judged.assess("kept");
        [late("a", 400_000), late("b", 100_000), late("b", 400_001), other].into_iter().for_each(|v| judged.violate(v));
        discount_harness_delay(&mut judged, Duration::from_millis(200));
        let left: Vec<_> = judged.violations.iter().map(|v| (v.requirement, v.late)).collect();
        assert_eq!(left, [("b", Some(400_001)), ("wrong", None)]);
        assert_eq!(judged.assessed, ["kept", "b", "b", "wrong"]);
    }

    #[test]
    fn our_delay_explains_what_did_not_come_and_nothing_that_is_wrong_in_itself() {
        let explained = [
            ("returned", json!({"error": {"message": "no answer in time"}})),
            ("closed", json!({"how": "eof"})),
            ("close", json!({"code": 1001})),
        ];
        assert!(explained.iter().all(|(kind, actual)| is_giving_up(kind, actual)));
        let wrong = [
            ("returned", json!({"result": {"content": "of another file"}})),
            ("request", json!({"method": "readFile", "params": {}})),
            ("response", json!({"error": {"code": -32601}})),
            ("frame", json!({"opcode": "binary"})),
        ];
        assert!(!wrong.iter().any(|(kind, actual)| is_giving_up(kind, actual)));
        assert!(is_lateness(None) && is_lateness(Some(&json!(408))));
        assert!(!is_lateness(Some(&json!(101))) && !is_lateness(Some(&json!(401))));
    }
}
