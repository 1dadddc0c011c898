//! The results of a fuzz: printed for people and for programs, and failures saved as scenarios.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::shrink::{save, show};
use crate::cli::{CliError, Terminal};
use crate::config::SubjectSpec;
use crate::fuzz::{CaseViolation, FuzzResult, MemoryUse};
use crate::protocol::{Edition, RequirementId};
use crate::scenario::text::Tree;
use crate::shrink::{Limits, ShrinkJob, ShrinkOutcome};

use super::FuzzRun;

/// How many cases that could not be judged are listed.
const SHOWN: usize = 100;

/// The results to be rendered.
pub(super) struct FuzzRenderer<'a> {
    /// The subject.
    pub(super) spec: &'a SubjectSpec,
    /// In which edition.
    pub(super) edition: &'static dyn Edition,
    /// The seed of the cases.
    pub(super) seed: u64,
    /// What came of them.
    pub(super) result: &'a FuzzResult,
    /// The scenarios that were saved, each with a note.
    pub(super) saved: &'a BTreeMap<Option<RequirementId>, String>,
}

impl FuzzRenderer<'_> {
    /// For people.
    pub(super) fn text(&self) -> String {
        let result = self.result;
        let mut text = String::new();
        for (requirement, violation) in &result.found {
            let name = requirement.unwrap_or("an expectation without a requirement");
            let number = violation.case.number;
            text.push_str(&format!("violated ({}): {name}\n", violation.level.as_str()));
            text.push_str(&format!("  in {} cases, first in case {number}: {}\n", violation.count, violation.message));
            match self.saved.get(requirement) {
                Some(file) => text.push_str(&format!("  {file}\n")),
                None => text.push_str("  --out DIR saves a scenario that shows it\n"),
            }
        }
        let violated = match result.found.len() {
            0 => "no requirement violated".to_owned(),
            1 => "1 requirement violated".to_owned(),
            n => format!("{n} requirements violated"),
        };
        let mut rest = String::new();
        if result.skipped > 0 {
            rest.push_str(&format!(", {} skipped", result.skipped));
        }
        if !result.errors.is_empty() {
            rest.push_str(&format!(", {} could not be judged", result.errors.len()));
        }
        text.push_str(&format!("seed {}: {} cases judged{rest}; {violated}\n", self.seed, result.played));
        if let Some(taken) = result.memory.used() {
            text.push_str(&format!("note: {}\n", memory(&taken)));
        }
        text
    }

    /// For programs: version 1.
    pub(super) fn json(&self) -> String {
        let result = self.result;
        let violations: Vec<Value> = result
            .found
            .iter()
            .map(|(requirement, violation)| {
                json!({
                    "requirement": requirement,
                    "level": violation.level.as_str(),
                    "message": violation.message,
                    "cases": violation.count,
                    "first_case": violation.case.number,
                    "saved": self.saved.get(requirement),
                })
            })
            .collect();
        let errors = result.errors.iter().take(SHOWN).map(|(case, why)| json!({ "case": case, "reason": why }));
        let taken = result.memory.used();
        let value = json!({
            "version": 1,
            "subject": self.spec.name,
            "role": self.spec.role.name,
            "edition": self.edition.id(),
            "seed": self.seed,
            "counts": {
                "judged": result.played,
                "skipped": result.skipped,
                "error": result.errors.len(),
                "violated": result.found.len(),
            },
            "violations": violations,
            "errors": errors.collect::<Vec<Value>>(),
            "memory": taken,
            "notes": taken.iter().map(memory).collect::<Vec<String>>(),
        });
        format!("{value:#}\n")
    }
}

/// What a subject took, in a sentence.
fn memory(taken: &MemoryUse) -> String {
    let peak = format!("the subject's processes had {} of memory at most", size(taken.peak_bytes as f64));
    match taken.growth_per_case_bytes {
        Some(growth) if growth.abs() >= 1.0 => {
            let way = if growth > 0.0 { "more" } else { "less" };
            let (runs, cases) = (taken.subjects, taken.cases);
            let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
            format!(
                "{peak}, and {} {way} with each case, in the mean of {cases} cases in {runs} of it",
                size(growth.abs())
            )
        }
        Some(_) => format!("{peak}, and no more with each case"),
        None => peak,
    }
}

/// A number of bytes, as people say it.
fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1024.0 => format!("{b:.0} bytes"),
        b if b < 1024.0 * 1024.0 => format!("{:.1} KiB", b / 1024.0),
        b => format!("{:.1} MiB", b / (1024.0 * 1024.0)),
    }
}

/// How far the shrinking of one failure goes.
const SHRINK: Limits = Limits { repeat: 2, plays: 1500, time: Duration::from_secs(90), isolated: true };

impl FuzzRun<'_> {
    /// Saves a scenario for each violated requirement. Gives the files with notes on them.
    pub(super) async fn save(
        &self,
        edition: &'static dyn Edition,
        result: &FuzzResult,
        terminal: &mut Terminal,
    ) -> Result<BTreeMap<Option<RequirementId>, String>, CliError> {
        let mut saved = BTreeMap::new();
        let Some(dir) = &self.args.out else { return Ok(saved) };
        for (requirement, violation) in &result.found {
            let slug = requirement
                .map_or("no-requirement".to_owned(), |id| id.split('/').skip(2).collect::<Vec<_>>().join("-"));
            let path = dir.join(format!("{slug}-seed{}-case{}.yaml", self.seed, violation.case.number));
            let note = if self.args.no_shrink || self.campaign.cancel.is_cancelled() {
                save(&path, &violation.case.text)?;
                "as it was generated".to_owned()
            } else {
                self.shrink(edition, *requirement, violation, &path, terminal).await?
            };
            saved.insert(*requirement, format!("{}: {note}", path.display()));
        }
        Ok(saved)
    }

    async fn shrink(
        &self,
        edition: &'static dyn Edition,
        requirement: Option<RequirementId>,
        violation: &CaseViolation,
        path: &Path,
        terminal: &mut Terminal,
    ) -> Result<String, CliError> {
        let job = ShrinkJob {
            spec: self.campaign.spec.clone(),
            run: self.campaign.run.clone(),
            cancel: self.campaign.cancel.clone(),
            file: path.to_owned(),
            requested: requirement.map(str::to_owned),
            reference: true,
            limits: SHRINK,
            repro: self.args.target.repro(&self.args.command, self.args.own),
        };
        let case = &violation.case;
        let source = crate::diagnostic::Source::new(path.display().to_string(), case.text.clone());
        let tree = Tree::parse(&source)?;
        match job.least(&tree, vec![case.plan.clone()], edition, &mut |event| show(&event, terminal)).await {
            Ok(ShrinkOutcome::Fails(shrunk)) => {
                save(path, &crate::scenario::text::write(&job.headed(&shrunk, path)))?;
                Ok(shrunk.summary())
            }
            // A violation seen once stands, also where it takes what was played before it.
            Ok(ShrinkOutcome::Passes(_)) => {
                save(path, &case.text)?;
                Ok("alone, in a fresh process, it was not seen again: as it was generated".to_owned())
            }
            Err(error) => {
                save(path, &case.text)?;
                let why =
                    error.diagnostics().into_iter().next().map_or("it could not be shrunk".to_owned(), |d| d.message);
                Ok(format!("as it was generated: {why}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_units_that_people_use() {
        let taken = |growth| MemoryUse { peak_bytes: 3 << 20, growth_per_case_bytes: growth, cases: 80, subjects: 2 };
        let peak = "the subject's processes had 3.0 MiB of memory at most";
        assert_eq!(memory(&taken(None)), peak);
        assert_eq!(memory(&taken(Some(0.2))), format!("{peak}, and no more with each case"));
        let grew = format!("{peak}, and 2.5 KiB more with each case, in the mean of 80 cases in 2 runs of it");
        assert_eq!(memory(&taken(Some(2560.0))), grew);
        let fell = format!("{peak}, and 100 bytes less with each case, in the mean of 80 cases in 2 runs of it");
        assert_eq!(memory(&taken(Some(-100.0))), fell);
    }
}
