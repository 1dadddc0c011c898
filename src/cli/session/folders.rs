//! The folders in which a session keeps what its subjects did.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{EditionChoice, SubjectSpec};
use crate::play::FailedTraces;

/// What is kept of a subject's plays.
pub struct Kept<'a> {
    /// The folder of all its traces, if they are all kept.
    pub traces: Option<PathBuf>,
    /// The folder of the snapshots that its traces are compared with.
    pub snapshots: Option<PathBuf>,
    /// The traces of failed plays, which are kept in a temporary folder otherwise.
    pub failed: &'a Arc<FailedTraces>,
}

/// The folder of each subject, where `dir` gives it one. Where two that may play the same scenarios would have the same one,
/// each has one of its name in it.
pub fn folders(subjects: &[SubjectSpec], dir: impl Fn(&SubjectSpec) -> Option<PathBuf>) -> Vec<Option<PathBuf>> {
    let harmless = |c: char| if c.is_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let folder = |spec: &SubjectSpec| spec.name.chars().map(harmless).collect::<String>();
    let own = |spec: &SubjectSpec| {
        let clashes =
            |other: &&SubjectSpec| other.name != spec.name && dir(other) == dir(spec) && play_alike(other, spec);
        let mut others = subjects.iter().filter(clashes).peekable();
        others.peek()?;
        let alike = others.any(|other| folder(other) == folder(spec));
        let number = subjects.iter().position(|other| std::ptr::eq(other, spec)).filter(|_| alike);
        Some(folder(spec) + &number.map(|number| format!("-{}", number + 1)).unwrap_or_default())
    };
    subjects.iter().map(|spec| Some(own(spec).into_iter().fold(dir(spec)?, |dir, own| dir.join(own)))).collect()
}

/// Whether the same scenarios may be played with both.
fn play_alike(a: &SubjectSpec, b: &SubjectSpec) -> bool {
    let same_edition = match (a.edition, b.edition) {
        (EditionChoice::Given(a), EditionChoice::Given(b)) => a == b,
        (EditionChoice::Auto, _) | (_, EditionChoice::Auto) => true,
    };
    a.role.name == b.role.name && same_edition
}
