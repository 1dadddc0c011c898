//! What can go wrong before anything can be judged: with a subject ([`SubjectError`]), and with a run ([`RunError`]).

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::diagnostic::Diagnostic;

/// Why a subject could not be started, reached, provoked or looked at. The environment is to blame, or the
/// description of the subject; nothing follows about what it does on the wire.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// A folder or file of the run directory could not be made, written or read.
    #[error("could not {action} {}: {source}", path.display())]
    File {
        /// What was tried, as in "could not *write*".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The message of the system.
        source: io::Error,
    },
    /// A path of a scenario or subject file leads out of where it belongs.
    #[error("`{path}` is no file of {}: {problem}", root.display())]
    Path {
        /// The path as given.
        path: String,
        /// Where it should be.
        root: PathBuf,
        /// Why it is not.
        problem: String,
    },
    /// The command could not be run at all.
    #[error("could not start the subject with `{command}`: {source}")]
    NotStarted {
        /// The command, as one line.
        command: String,
        /// The message of the system.
        source: io::Error,
        /// What to try.
        help: Vec<String>,
    },
    /// The process ended before it was ready.
    #[error("the subject ended before it was ready: {how}")]
    Ended {
        /// Exit code or signal, in words.
        how: String,
        /// What had been seen of it, one fact each.
        seen: Vec<String>,
        /// The last lines that it wrote.
        output: Vec<String>,
    },
    /// It did not become ready in time.
    #[error("the subject was not ready within {}: {problem}", show(*within))]
    NotReady {
        /// How long it had.
        within: Duration,
        /// What was missing.
        problem: String,
        /// Whether its lockfile was found and can be used, so that it is its port that accepts no connection.
        found: bool,
        /// What was seen instead, one fact each.
        seen: Vec<String>,
        /// The last lines that it wrote.
        output: Vec<String>,
        /// What to try.
        help: Vec<String>,
    },
    /// A JavaScript module could not be loaded.
    #[error("could not load the module {}: {problem}", path.display())]
    Module {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, or with Node.
        problem: String,
        /// The last lines that were written meanwhile.
        output: Vec<String>,
        /// What to try.
        help: Vec<String>,
    },
    /// What should run already was not found.
    #[error("could not attach: {problem}")]
    NotFound {
        /// What was looked for and missing.
        problem: String,
        /// What was seen instead, one fact each.
        seen: Vec<String>,
        /// What to try.
        help: Vec<String>,
    },
    /// A stimulus's command failed, or took too long.
    #[error("the stimulus `{name}` failed: `{command}` {problem}")]
    Stimulus {
        /// Its name.
        name: String,
        /// The command, as one line.
        command: String,
        /// How it ended.
        problem: String,
        /// The last lines that it wrote.
        output: Vec<String>,
    },
    /// The subject says that it cannot do what a stimulus is for.
    #[error("the subject cannot do the stimulus `{name}` here: {why}")]
    Incapable {
        /// The name of the stimulus.
        name: String,
        /// Its words.
        why: String,
    },
    /// This subject has no such thing: no such stimulus, no process of ours, no workspace.
    #[error("{0}")]
    Unable(String),
}

/// How the note begins that has what a process wrote last.
const WROTE_LAST: &str = "it wrote last:\n";

impl SubjectError {
    /// A failed file operation.
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { action, path: path.into(), source }
    }

    /// The error in one line, with the most useful line of what the process or command wrote last.
    pub fn brief(&self) -> String {
        let output = match self {
            Self::Ended { output, .. } | Self::NotReady { output, .. } | Self::Stimulus { output, .. } => {
                output.as_slice()
            }
            _ => &[],
        };
        match most_useful_line(output) {
            Some(line) => format!("{self}; it wrote last: {}", line.trim()),
            None => self.to_string(),
        }
    }

    /// The error with all that is known about it and what to do, for people.
    pub fn diagnostic(&self) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(self.code(), self.to_string());
        let (seen, output, help): (&[String], &[String], &[String]) = match self {
            Self::NotStarted { help, .. } => (&[], &[], help),
            Self::Ended { seen, output, .. } => (seen, output, &[]),
            Self::NotReady { seen, output, help, .. } => (seen, output, help),
            Self::NotFound { seen, help, .. } => (seen, &[], help),
            Self::Module { output, help, .. } => (&[], output, help),
            Self::Stimulus { output, .. } => (&[], output, &[]),
            Self::File { .. } | Self::Path { .. } | Self::Incapable { .. } | Self::Unable(_) => (&[], &[], &[]),
        };
        for fact in seen {
            diagnostic = diagnostic.note(fact.as_str());
        }
        if !output.is_empty() {
            diagnostic = diagnostic.note(format!("{WROTE_LAST}{}", output.join("\n")));
        }
        for advice in help {
            diagnostic = diagnostic.help(advice.as_str());
        }
        match self {
            Self::File { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    diagnostic.help("free some space, or choose another place with `--run-dir DIR`")
                }
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                    diagnostic.help("choose a folder that can be written with `--run-dir DIR`")
                }
                _ if matches!(self, Self::File { action, .. } if action.starts_with("make")) => {
                    diagnostic.help("choose another place with `--run-dir DIR`")
                }
                _ => diagnostic,
            },
            Self::Ended { .. } => diagnostic.help("run the command by hand, or see its output in the trace"),
            _ => diagnostic,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "subject/file",
            Self::Path { .. } => "subject/path",
            Self::NotStarted { .. } => "subject/not-started",
            Self::Ended { .. } => "subject/ended",
            Self::NotReady { .. } => "subject/not-ready",
            Self::Module { .. } => "subject/module",
            Self::NotFound { .. } => "subject/not-found",
            Self::Stimulus { .. } => "subject/stimulus",
            Self::Incapable { .. } => "subject/incapable",
            Self::Unable(_) => "subject/unable",
        }
    }
}

/// The last line that speaks of an error, such as an exception's; else the last that says anything. What comes after the
/// message is often a trace of calls, or the runtime's version.
fn most_useful_line(output: &[String]) -> Option<&String> {
    let speaks = |line: &&String| {
        let line = line.to_ascii_lowercase();
        ["error", "exception", "panicked"].iter().any(|word| line.contains(word))
            && !line.trim_start().starts_with("at ")
    };
    output.iter().rev().find(speaks).or_else(|| output.iter().rev().find(|line| !line.trim().is_empty()))
}

/// A duration as people write it: `10s`, `200ms`.
pub(crate) fn show(duration: Duration) -> String {
    let ms = duration.as_millis();
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}

/// Why a run, or one of its subjects, gives no result.
#[derive(Clone, Debug)]
pub enum RunError {
    /// What was asked for cannot be done: everything that is wrong with it.
    Usage(Vec<Diagnostic>),
    /// A subject could not be started, reached or judged.
    Unjudged(Diagnostic),
    /// The user ended the run.
    Interrupted,
}

impl RunError {
    /// Wrong usage. `message`: a fragment without a full stop.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(vec![Diagnostic::error("usage", message)])
    }

    /// A subject that could not be started, reached or judged. `message`: a fragment without a full stop.
    pub fn unjudged(message: impl Into<String>) -> Self {
        Self::Unjudged(Diagnostic::error("subject", message))
    }

    /// The first fault in one line, with the most useful line of what the subject wrote last.
    pub fn brief(&self) -> Option<String> {
        let first = self.diagnostics().into_iter().next()?;
        let output = first.notes.iter().find_map(|note| note.strip_prefix(WROTE_LAST));
        let lines: Vec<String> = output.into_iter().flat_map(str::lines).map(str::to_owned).collect();
        Some(match most_useful_line(&lines) {
            Some(line) => format!("{}; it wrote last: {}", first.message, line.trim()),
            None => first.message,
        })
    }

    /// Says what to do next.
    pub fn help(self, text: impl Into<String>) -> Self {
        match self {
            Self::Usage(mut diagnostics) => {
                let last = diagnostics.pop().map(|diagnostic| diagnostic.help(text));
                Self::Usage(diagnostics.into_iter().chain(last).collect())
            }
            Self::Unjudged(diagnostic) => Self::Unjudged(diagnostic.help(text)),
            Self::Interrupted => Self::Interrupted,
        }
    }

    /// What is wrong, for people.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Usage(diagnostics) => diagnostics.clone(),
            Self::Unjudged(diagnostic) => vec![diagnostic.clone()],
            Self::Interrupted => vec![Diagnostic::error("interrupted", "interrupted")],
        }
    }
}

/// A diagnostic of a file or of an option is wrong usage.
impl From<Diagnostic> for RunError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Usage(vec![diagnostic])
    }
}

impl From<Vec<Diagnostic>> for RunError {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self::Usage(diagnostics)
    }
}

impl From<SubjectError> for RunError {
    fn from(error: SubjectError) -> Self {
        Self::Unjudged(error.diagnostic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_reported_with_what_to_do_about_it() {
        let full = SubjectError::file("write", "/run/x", io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(full.to_string(), "could not write /run/x: no storage space");
        assert_eq!(full.diagnostic().help, ["free some space, or choose another place with `--run-dir DIR`"]);
    }
}
