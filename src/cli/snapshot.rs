//! `wirecert snapshot`: looks at snapshots that would change, and accepts or rejects them.

use std::io::{self, BufRead, IsTerminal as _};
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Style, difference};
use crate::snapshot::{PendingSnapshot, SnapshotError, pending};

use super::{CliError, Exit, Terminal};

/// Arguments of `snapshot`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show each pending snapshot, and ask what is to become of it.
    Review(Which),
    /// Make pending snapshots the ones that are compared with.
    Accept(Which),
    /// Remove pending snapshots.
    Reject(Which),
    /// List pending snapshots; with `-v`, what would change.
    List(Which),
}

/// Which snapshots.
#[derive(Debug, clap::Args)]
struct Which {
    /// The folder of snapshots.
    #[arg(long, value_name = "DIR", default_value = "snapshots")]
    snapshots: PathBuf,

    /// Only those with this text in their path below the folder.
    filter: Option<String>,
}

/// What is to become of a pending snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Accept,
    Reject,
    Skip,
    Quit,
}

/// Runs `wirecert snapshot`.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    match args.action {
        Action::List(which) => list(&which, terminal),
        Action::Accept(which) => decide(&which, Decision::Accept, terminal),
        Action::Reject(which) => decide(&which, Decision::Reject, terminal),
        Action::Review(which) => {
            if !io::stdin().is_terminal() {
                return Err(CliError::usage("there is nobody to ask: stdin is no terminal")
                    .help("decide by `wirecert snapshot accept [FILTER]` or `reject [FILTER]`"));
            }
            review(&which, &mut io::stdin().lock(), terminal)
        }
    }
}

/// What is pending. A filter that matches nothing is a mistake; nothing pending at all is not.
fn find(which: &Which, terminal: &mut Terminal) -> Result<Vec<PendingSnapshot>, CliError> {
    let dir = &which.snapshots;
    if !dir.is_dir() {
        return Err(CliError::usage(format!("there is no folder {}", dir.display()))
            .help("name the folder of snapshots with --snapshots DIR"));
    }
    let found = pending(dir, which.filter.as_deref()).map_err(to_cli_error)?;
    if found.is_empty() {
        if let Some(filter) = &which.filter {
            return Err(CliError::usage(format!("no pending snapshot in {} matches `{filter}`", dir.display()))
                .help("`wirecert snapshot list` shows what is pending"));
        }
        terminal.progress(&format!("nothing is pending in {}", dir.display()));
    }
    Ok(found)
}

fn to_cli_error(error: SnapshotError) -> CliError {
    Diagnostic::error("snapshot", error.to_string()).into()
}

fn list(which: &Which, terminal: &mut Terminal) -> Result<Exit, CliError> {
    for snapshot in find(which, terminal)? {
        terminal.result(&format!("{}\n", snapshot.target.display()));
        if terminal.output().verbosity > 0 {
            let text = render_change(&snapshot).map_err(to_cli_error)?;
            terminal.result(&text);
        }
    }
    Ok(Exit::OK)
}

/// Decides about all of them alike. One that cannot be moved does not keep the others from it.
fn decide(which: &Which, decision: Decision, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let mut faults = vec![];
    for snapshot in find(which, terminal)? {
        match carry_out(&snapshot, decision) {
            Ok(done) => terminal.result(&format!("{done} {}\n", snapshot.target.display())),
            Err(error) => faults.push(Diagnostic::error("snapshot", error.to_string())),
        }
    }
    if faults.is_empty() { Ok(Exit::OK) } else { Err(faults.into()) }
}

fn carry_out(snapshot: &PendingSnapshot, decision: Decision) -> Result<&'static str, SnapshotError> {
    match decision {
        Decision::Accept => snapshot.accept().map(|()| "accepted"),
        Decision::Reject => snapshot.reject().map(|()| "rejected"),
        Decision::Skip | Decision::Quit => Ok("skipped"),
    }
}

/// Reviews the pending snapshots one after the other.
fn review(which: &Which, input: &mut impl BufRead, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let found = find(which, terminal)?;
    let all = found.len();
    for (n, snapshot) in found.iter().enumerate() {
        terminal.result(&format!("{}/{all} {}\n", n + 1, snapshot.target.display()));
        let text = render_change(snapshot).map_err(to_cli_error)?;
        terminal.result(&text);
        let decision = prompt(input, terminal)?;
        if decision == Decision::Quit {
            break;
        }
        let done = carry_out(snapshot, decision).map_err(to_cli_error)?;
        terminal.result(&format!("{done}\n\n"));
    }
    Ok(Exit::OK)
}

/// Prompts until the input is a decision; the end of the input means to stop.
fn prompt(input: &mut impl BufRead, terminal: &mut Terminal) -> Result<Decision, CliError> {
    loop {
        terminal.result("[a]ccept, [r]eject, [s]kip, [q]uit? ");
        let mut line = String::new();
        let read = input.read_line(&mut line);
        if read.map_err(|e| CliError::usage(format!("cannot read the response: {e}")))? == 0 {
            return Ok(Decision::Quit);
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "a" | "accept" => return Ok(Decision::Accept),
            "r" | "reject" => return Ok(Decision::Reject),
            "s" | "skip" | "" => return Ok(Decision::Skip),
            "q" | "quit" => return Ok(Decision::Quit),
            _ => {}
        }
    }
}

/// Renders the change of a snapshot.
fn render_change(snapshot: &PendingSnapshot) -> Result<String, SnapshotError> {
    let (old, new) = snapshot.texts()?;
    let name = |path: &Path| path.display().to_string();
    let was = if old.is_some() { name(&snapshot.target) } else { "nothing".to_owned() };
    let old = old.map(|text| text + "\n").unwrap_or_default();
    Ok(difference(&old, &(new + "\n"), (&was, &name(&snapshot.path)), Style::Coloured))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use anstream::ColorChoice;

    use crate::cli::Output;

    use super::*;

    /// A terminal that keeps to itself what is printed.
    fn terminal() -> Terminal {
        let mut terminal = Terminal::new(Output { color: ColorChoice::Never, verbosity: -2 });
        terminal.hold();
        terminal
    }

    #[test]
    fn each_answer_decides_about_the_next_snapshot_and_the_end_of_the_answers_stops() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c", "d"] {
            fs::write(dir.path().join(format!("{name}.snap.new")), "---\nsource: wirecert\n---\nx\n").unwrap();
        }
        let which = Which { snapshots: dir.path().to_owned(), filter: None };
        let exit = review(&which, &mut &b"what?\na\nR\n\n"[..], &mut terminal()).unwrap();
        assert_eq!(exit, Exit::OK);
        let mut left: Vec<String> =
            fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        assert_eq!(left, ["a.snap", "c.snap.new", "d.snap.new"]);
    }

    #[test]
    fn a_filter_that_matches_nothing_and_a_folder_that_is_not_there_are_mistakes() {
        let dir = tempfile::tempdir().unwrap();
        let which = |filter: Option<&str>| Which { snapshots: dir.path().to_owned(), filter: filter.map(Into::into) };
        assert_eq!(list(&which(None), &mut terminal()).unwrap(), Exit::OK);
        assert_eq!(list(&which(Some("x")), &mut terminal()).unwrap_err().exit, Exit::USAGE);
        let nowhere = Which { snapshots: dir.path().join("nowhere"), filter: None };
        assert_eq!(list(&nowhere, &mut terminal()).unwrap_err().exit, Exit::USAGE);
    }
}
