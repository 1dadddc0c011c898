//! Whether what was found shows again when it is repeated, and after what.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::config::{Isolation, SubjectSpec};
use crate::judge::{Blame, Cause, Depends, Played, Repro, ScenarioResult, ScenarioStatus, SubjectReport};
use crate::play::{Cancel, PlayOptions, Run, StopCondition, Traces, suite};
use crate::report::{Progress, Silent, counted};
use crate::scenario::Plan;
use crate::shrink::Chunks;

/// How long repeating may take where the run itself took less, and nothing else is given.
pub const MIN_TIME: Duration = Duration::from_secs(5);
/// How many scenarios of each requirement are played again.
const PER_REQUIREMENT: usize = 2;
/// How often it is tried to do with less of what was played before.
const MAX_REDUCTIONS: usize = 60;

/// Plays again what was found.
pub struct Repetition<'a> {
    /// The subject; a process of its own is started for each play.
    pub spec: &'a SubjectSpec,
    /// What was played.
    pub plans: &'a [Plan],
    /// How.
    pub run: &'a Run,
    /// How long it may take.
    pub time: Duration,
    /// The command that was run.
    pub repro: &'a Repro,
    /// Ends everything.
    pub cancel: &'a Cancel,
}

/// A finding: its requirement, and its scenario.
type FindingKey = (String, String);

impl Repetition<'_> {
    /// Plays the scenarios again that are the evidence, each at a process of its own. What does not show then is looked for
    /// after what was played before it at its process, and after ever less of that. Findings say what came of it, and
    /// their commands repeat as much as is needed.
    pub async fn repeat_findings(&self, report: &mut SubjectReport, progress: &dyn Progress) {
        if self.spec.launch().is_none() || self.spec.observe.is_some() || self.cancel.is_cancelled() {
            return;
        }
        let open = evidence(report);
        // The gravest first: there may not be the time for all.
        let mut scenarios: Vec<&str> = vec![];
        for (_, scenario) in &open {
            if !scenarios.contains(&scenario.as_str()) {
                scenarios.push(scenario);
            }
        }
        if scenarios.is_empty() {
            return;
        }
        let count = counted(scenarios.len() as u64, "scenario");
        progress.remark(&format!("playing {count} again, to see whether what was found shows again"));
        let deadline = Instant::now() + self.time;
        let alone = self.play(&scenarios, Isolation::Scenario, self.run.jobs, deadline).await;
        let mut settled = vec![];
        for (requirement, scenario) in open {
            let Some(played) = alone.iter().find(|played| played.id == scenario && was_judged(played)) else {
                continue;
            };
            if shows(played, &requirement) {
                continue;
            }
            let before = before(&report.scenarios, &scenario);
            let (depends, needed) = self.after(before, &scenario, &requirement, deadline).await;
            settled.push(((requirement, scenario), depends, needed));
        }
        for ((requirement, scenario), depends, needed) in settled {
            let meant = |f: &&mut crate::judge::Finding| {
                f.requirement == requirement && f.scenario.as_deref() == Some(scenario.as_str())
            };
            for finding in report.findings.iter_mut().filter(meant) {
                finding.depends = Some(depends);
                finding.repro = self.repro.in_order(&needed);
            }
        }
    }

    /// What a finding depends on, of what was played before it, and the scenarios that show it, in order.
    async fn after(
        &self,
        before: Vec<&str>,
        scenario: &str,
        requirement: &str,
        deadline: Instant,
    ) -> (Depends, Vec<String>) {
        let words = |before: &[&str]| before.iter().chain([&scenario]).map(|id| (*id).to_owned()).collect::<Vec<_>>();
        if before.is_empty() {
            return (Depends::Chance, words(&[]));
        }
        match self.shows_after(&before, scenario, requirement, deadline).await {
            None => return (Depends::Unclear, words(&before)),
            Some(false) => return (Depends::Chance, words(&before)),
            Some(true) => {}
        }
        let mut chunks = Chunks::new(before.len());
        let mut needed = before.clone();
        for _ in 0..MAX_REDUCTIONS {
            let Some(keep) = chunks.propose() else { break };
            let less: Vec<&str> = before.iter().zip(keep).filter(|(_, kept)| *kept).map(|(id, _)| *id).collect();
            // By itself the scenario was played already.
            let tried = if less.is_empty() {
                Some(false)
            } else {
                self.shows_after(&less, scenario, requirement, deadline).await
            };
            let Some(still_shows) = tried else { break };
            if still_shows {
                needed = less;
            }
            chunks.report(still_shows);
        }
        (Depends::State, words(&needed))
    }

    /// Whether a violation shows in a scenario after these; none where there is no time to see.
    async fn shows_after(&self, before: &[&str], scenario: &str, requirement: &str, deadline: Instant) -> Option<bool> {
        let ids: Vec<&str> = before.iter().copied().chain([scenario]).collect();
        let played = self.play(&ids, self.spec.isolation, 1, deadline).await;
        let last = played.iter().find(|played| played.id == scenario && was_judged(played))?;
        Some(shows(last, requirement))
    }

    /// Plays some of the plans, as far as there is time. Nothing is kept of it.
    async fn play(&self, ids: &[&str], isolation: Isolation, jobs: usize, deadline: Instant) -> Vec<Played> {
        let plans: Arc<[Plan]> = ids.iter().filter_map(|id| self.plans.iter().find(|p| p.id == *id)).cloned().collect();
        let spec = SubjectSpec { isolation, ..self.spec.clone() };
        let options = PlayOptions { traces: Traces::None, snapshotter: None, ..self.run.options.clone() };
        let run = Run {
            options,
            jobs,
            spare_jobs: 0,
            longest_first: true,
            until_silent: false,
            repeat: 1,
            retries: 1,
            until: StopCondition::AllPlayed,
            ..self.run.clone()
        };
        let cut = Cancel::default();
        let playing = suite(&spec, plans, &run, None, Arc::new(Silent), &cut);
        tokio::pin!(playing);
        let played = tokio::select! {
            played = &mut playing => played,
            () = sleep_until(deadline) => { cut.cancel(); playing.await }
            () = self.cancel.cancelled() => { cut.cancel(); playing.await }
        };
        // A subject that does not start any more shows nothing.
        played.unwrap_or_default()
    }
}

/// The first findings of each cause that the baseline does not list, the gravest cause first.
fn evidence(report: &SubjectReport) -> Vec<FindingKey> {
    let open = report.findings.iter().filter(|f| f.blame == Blame::Subject && f.baseline.is_none());
    let mut found: Vec<FindingKey> = vec![];
    for cause in Cause::of(open.filter(|f| !f.requirement.is_empty())) {
        let mut of_it: Vec<FindingKey> = vec![];
        for scenario in cause.findings.iter().filter_map(|f| f.scenario.as_ref()) {
            let key = (cause.requirement.to_owned(), scenario.clone());
            if of_it.len() < PER_REQUIREMENT && !of_it.contains(&key) {
                of_it.push(key);
            }
        }
        found.extend(of_it);
    }
    found
}

/// The scenarios that were played before this one at its process, in order.
fn before<'r>(scenarios: &'r [ScenarioResult], scenario: &str) -> Vec<&'r str> {
    let Some((process, position)) = scenarios.iter().find(|s| s.id == scenario).and_then(|s| s.process.zip(s.position))
    else {
        return vec![];
    };
    let earlier = |s: &'r ScenarioResult| {
        let at = s.attempts.iter().filter(|a| a.process == Some(process)).filter_map(|a| a.position).min();
        at.filter(|at| *at < position).map(|at| (at, s.id.as_str()))
    };
    let mut earlier: Vec<(u64, &str)> = scenarios.iter().filter_map(earlier).collect();
    earlier.sort_unstable();
    earlier.into_iter().map(|(_, id)| id).collect()
}

fn was_judged(played: &Played) -> bool {
    use ScenarioStatus::{Blocked, Failed, Passed};
    played.plays.last().is_some_and(|play| matches!(play.status, Passed | Failed | Blocked))
}

fn shows(played: &Played, requirement: &str) -> bool {
    played.plays.iter().flat_map(|play| &play.findings).any(|found| found.requirement == Some(requirement))
}
