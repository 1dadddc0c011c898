//! The time within which a play has to be over.

use std::time::Duration;

use serde_json::Value;

use crate::protocol::parse_duration;
use crate::scenario::{Plan, Step, StepKind, Until};

/// Every play has so much time, where its scenario does not say.
const LEAST: Duration = Duration::from_secs(30);
/// No play has more, unless its scenario says so.
const MOST: Duration = Duration::from_mins(10);

/// The bound for a play of this plan in a run of this patience: what the scenario says. Where it says nothing, enough for
/// each step to wait as long as it may, so that a subject which is slow all the time is not cut off.
pub fn of(plan: &Plan, patience: Duration) -> Duration {
    plan.timeout.unwrap_or_else(|| waiting(&plan.steps, patience).clamp(LEAST, MOST))
}

/// How long these steps may wait, all told, where those of which nothing is said wait for `patience`.
pub fn waiting(steps: &[Step], patience: Duration) -> Duration {
    steps.iter().map(|step| of_step(&step.kind, patience)).fold(Duration::ZERO, Duration::saturating_add)
}

fn of_step(kind: &StepKind, patience: Duration) -> Duration {
    match kind {
        StepKind::Expect(expectation) => expectation.within.unwrap_or(patience),
        StepKind::Collect(collect) => collect.within.unwrap_or(patience),
        StepKind::Never { until: Until::Quiet(time), .. } => (*time).max(patience),
        StepKind::Act { verb, params: Value::String(time) } if verb.name == "pause" => {
            parse_duration(time).unwrap_or(patience)
        }
        // Most acts do not wait. Those that do, wait for the answer to what was sent before.
        StepKind::Never { until: Until::Barrier, .. }
        | StepKind::Barrier { .. }
        | StepKind::Act { .. }
        | StepKind::Stimulate { .. } => patience,
        StepKind::Set(_) => Duration::ZERO,
        StepKind::Repeat { times, steps } => {
            waiting(steps, patience).saturating_mul(u32::try_from(*times).unwrap_or(u32::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::load_str;

    use super::*;

    const BEGINNING: &str = "wirecert: 1\ntitle: t\nrole: openctx-provider\nedition: \"0.1\"\n";
    const ASKED: &str = "  - request: { as: a, method: meta }\n  - expect: { response: { to: a } }\n";

    fn bound(text: &str, patience: u64) -> Duration {
        let loaded = load_str("it.yaml", &format!("{BEGINNING}{text}"));
        of(loaded.plans.first().expect("a sound scenario"), Duration::from_secs(patience))
    }

    #[test]
    fn a_play_may_take_as_long_as_each_of_its_steps_may_wait() {
        assert_eq!(bound(&format!("steps:\n{}", ASKED.repeat(4)), 12), Duration::from_secs(96));
        let repeated =
            format!("steps:\n  - repeat:\n      times: 3\n      steps:\n{}", ASKED.replace("  -", "        -"));
        assert_eq!(bound(&repeated, 12), Duration::from_secs(72));
        let within = ASKED.replace("} }", "}, within: 60s }");
        assert_eq!(bound(&format!("steps:\n{within}"), 12), Duration::from_secs(72));
    }

    #[test]
    fn a_play_has_neither_too_little_time_nor_too_much() {
        assert_eq!(bound(&format!("steps:\n{ASKED}"), 1), LEAST);
        assert_eq!(bound(&format!("steps:\n{}", ASKED.repeat(100)), 12), MOST);
    }

    #[test]
    fn what_a_scenario_says_is_the_last_word() {
        let steps = format!("steps:\n{}", ASKED.repeat(4));
        assert_eq!(bound(&format!("timeout: 2s\n{steps}"), 12), Duration::from_secs(2));
        assert_eq!(bound(&format!("timeout: 1h\n{steps}"), 12), Duration::from_hours(1));
    }
}
