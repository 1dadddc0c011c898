//! What came of a shrinking, and the file that it is written to.

use std::path::Path;

use crate::cli::CliError;
use crate::judge::Repro;
use crate::protocol::RequirementId;
use crate::scenario::text::Tree;
use crate::shrink::{Size, Stop};

use super::Job;

/// How the head of a shrunk scenario begins.
const HEAD: &str = "Shrunk by wirecert";

/// Whether it fails.
pub enum Outcome {
    /// It does, and this is the least of it.
    Fails(Box<Shrunk>),
    /// Why there is nothing to shrink.
    Passes(String),
}

/// What came of it.
pub struct Shrunk {
    /// The smallest scenario.
    pub tree: Tree,
    pub(super) from: Size,
    pub(super) requirement: Option<RequirementId>,
    pub(super) message: String,
    /// How often the result failed, in how many plays.
    pub(super) seen: Option<(u32, usize)>,
    /// What ended it before nothing more could be taken out.
    pub(super) stop: Option<Stop>,
    /// Whether our own sound mock does not pass either.
    pub(super) beside: bool,
}

impl Shrunk {
    /// How far it is to be trusted, in a sentence.
    pub fn summary(&self) -> String {
        let minimal = match self.stop {
            None => "Nothing more can be taken out of it.",
            Some(Stop::Interrupted) => "It was interrupted: there may be more to take out.",
            Some(Stop::Time) => "The time was up: there may be more to take out.",
            Some(Stop::Plays) => "There were to be no more plays: there may be more to take out.",
        };
        let seen = self.seen.map(|(failed, plays)| format!(" It failed {failed} of {plays} times."));
        // It may expect what only some have, or what nobody owes.
        let beside = if self.beside { " wirecert's own mock does not pass it either." } else { "" };
        format!("{minimal}{}{beside}", seen.unwrap_or_default())
    }
}

impl Job {
    /// The result, with what it shows and how to play it said at its head.
    pub fn headed(&self, shrunk: &Shrunk, out: &Path) -> Tree {
        let to = Size::of(&shrunk.tree);
        let file = self.file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let mut head = vec![format!("{HEAD} from {file}: {} steps became {}.", shrunk.from.steps, to.steps)];
        match shrunk.requirement.and_then(|id| (self.spec.protocol.requirements)().iter().find(|r| r.id == id)) {
            Some(requirement) => {
                head.push(format!("It shows that {} violates {}", self.spec.name, requirement.id));
                head.push(format!("({}): {}", requirement.level.as_str(), requirement.statement));
            }
            None => head.push(format!("It shows that {} does not do what is expected here.", self.spec.name)),
        }
        head.push(format!("Seen: {}", shrunk.message));
        head.push(shrunk.summary());
        head.push(format!("Play it: {}", played_by(&self.repro, out)));
        let mut tree = shrunk.tree.clone();
        let line = |text: String| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
        tree.above.splice(0..0, head.into_iter().map(line));
        tree
    }
}

/// Writes a scenario to a file.
///
/// # Errors
/// Where that is not possible.
pub fn save(path: &Path, text: &str) -> Result<(), CliError> {
    crate::report::write(path, text)
        .map_err(|e| CliError::usage(format!("cannot write {}: {}", e.path.display(), e.source)))
}

/// The command that plays a file at the same subject.
fn played_by(repro: &Repro, file: &Path) -> String {
    let mut repro = repro.clone();
    repro.before.insert(2.min(repro.before.len()), file.display().to_string());
    repro.command(None)
}

/// The scenario without what an earlier shrinking said at its head.
pub(super) fn without_head(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    let end = tree.above.iter().position(|line| line.starts_with("Play it: "));
    if let Some(end) = end.filter(|_| tree.above.first().is_some_and(|line| line.starts_with(HEAD))) {
        tree.above.drain(..=end);
    }
    tree
}
