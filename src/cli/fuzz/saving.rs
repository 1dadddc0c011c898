//! Failures of a fuzz, as scenarios in a folder: the least that shows each.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::cli::shrink::{Job, Outcome, save};
use crate::cli::{CliError, Terminal};
use crate::protocol::RequirementId;
use crate::scenario::text::Tree;
use crate::shrink::Limits;

use super::{Fuzz, FuzzCounts, Violation};

/// How far the shrinking of one failure goes.
const SHRINK: Limits = Limits { repeat: 2, plays: 1500, time: Duration::from_secs(90), isolated: true };

impl Fuzz<'_> {
    /// Saves a scenario for each violated requirement. Gives the files, and what is to be said of them.
    pub(super) async fn save(
        &self,
        edition: &'static str,
        tally: &FuzzCounts,
        terminal: &mut Terminal,
    ) -> Result<BTreeMap<Option<RequirementId>, String>, CliError> {
        let mut saved = BTreeMap::new();
        let Some(dir) = &self.args.out else { return Ok(saved) };
        for (requirement, violation) in &tally.found {
            let slug = requirement
                .map_or("no-requirement".to_owned(), |id| id.split('/').skip(2).collect::<Vec<_>>().join("-"));
            let path = dir.join(format!("{slug}-seed{}-case{}.yaml", self.seed, violation.case.number));
            let note = if self.args.no_shrink || self.cancel.is_cancelled() {
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
        edition: &'static str,
        requirement: Option<RequirementId>,
        violation: &Violation,
        path: &Path,
        terminal: &mut Terminal,
    ) -> Result<String, CliError> {
        let job = Job {
            spec: self.spec.clone(),
            run: self.run.clone(),
            cancel: self.cancel.clone(),
            file: path.to_owned(),
            asked: requirement.map(str::to_owned),
            reference: true,
            limits: SHRINK,
            repro: self.args.target.repro(&self.args.command, self.args.own),
        };
        let case = &violation.case;
        let source = crate::diagnostic::Source::new(path.display().to_string(), case.text.clone());
        let tree = Tree::parse(&source)?;
        match job.least(&tree, vec![case.plan.clone()], edition, terminal).await {
            Ok(Outcome::Fails(shrunk)) => {
                save(path, &crate::scenario::text::write(&job.headed(&shrunk, path)))?;
                Ok(shrunk.summary())
            }
            // A violation seen once stands, also where it takes what was played before it.
            Ok(Outcome::Passes(_)) => {
                save(path, &case.text)?;
                Ok("alone, in a fresh process, it was not seen again: as it was generated".to_owned())
            }
            Err(error) => {
                save(path, &case.text)?;
                let why = error.diagnostics.first().map_or("it could not be shrunk", |d| d.message.as_str());
                Ok(format!("as it was generated: {why}"))
            }
        }
    }
}
