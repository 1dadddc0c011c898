//! Running again whenever a file changes: `--watch`.

mod files;

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::play::Cancel;

use super::session::{runtime, watch_for_interrupts};
use super::{CliError, Exit, SharedOptions, Terminal};

use files::{FileStamps, Watched};

/// How often the files are looked at: people do not notice the delay, and machines not the work.
const EVERY: Duration = Duration::from_millis(300);

/// What a command line says of the files that its run depends on.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// Scenario files, and folders of them.
    pub scenarios: &'a [PathBuf],
    /// The role of the subject, where it is said.
    pub role: Option<&'a str>,
    /// The command that starts the subject; empty where none was given.
    pub command: &'a [String],
    /// The rest.
    pub options: &'a SharedOptions,
}

/// Runs once, and then again whenever a file changes that the run depends on, until it is interrupted. Where `--watch` was not
/// given, runs once.
///
/// What is wrong with a file is told, and its next change is waited for.
///
/// # Errors
/// Those of the run, where it is the only one; and where there is no file to watch.
pub fn watch(
    terminal: &mut Terminal,
    given: Given<'_>,
    mut once: impl FnMut(&mut Terminal) -> Result<Exit, CliError>,
) -> Result<Exit, CliError> {
    if !given.options.watch {
        return once(terminal);
    }
    let runtime = runtime()?;
    let cancel = Cancel::default();
    // Heard from the beginning, so that an interrupt between two runs is not lost.
    runtime.block_on(async { watch_for_interrupts(cancel.clone()) });
    while !cancel.is_cancelled() {
        let watched = Watched::of(&given);
        // Looked at before the run, so that a change in the middle of it is seen after it.
        let mut known = watched.inputs();
        if known.is_empty() && watched.arguments().is_empty() {
            return Err(CliError::usage("there is no file to watch")
                .help("give a scenario file, a `wirecert.yaml`, a baseline, or a subject that is a file"));
        }
        let exit = match once(terminal) {
            Ok(exit) => exit,
            Err(error) => terminal.explain(&error),
        };
        if exit == Exit::INTERRUPTED {
            break;
        }
        known.add(watched.arguments());
        terminal.progress(&format!("watching {known} for changes; Ctrl-C ends"));
        match runtime.block_on(changed(&known, &watched, &cancel)) {
            Some(path) => terminal.progress(&format!("{} changed: running again", path.display())),
            None => break,
        }
    }
    Ok(Exit::INTERRUPTED)
}

/// Waits until a file is not as it was, and is not written to any more; gives the first such file, none where the
/// wait was interrupted.
async fn changed(known: &FileStamps, watched: &Watched, cancel: &Cancel) -> Option<PathBuf> {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last: Option<FileStamps> = None;
    loop {
        tokio::select! {
            () = cancel.cancelled() => return None,
            _ = ticks.tick() => {}
        }
        let mut now = watched.inputs();
        now.add(watched.arguments());
        if let Some(path) = known.first_difference(&now)
            && last.as_ref() == Some(&now)
        {
            return Some(path);
        }
        last = Some(now);
    }
}
