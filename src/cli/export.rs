//! `wirecert export`: the embedded scenarios as files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::report;

use super::{CliError, Exit, Terminal, embedded};

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to put them; made if it is not there.
    dir: PathBuf,

    /// Replace files that are there and differ.
    #[arg(long)]
    force: bool,
}

/// Writes every embedded file below the folder. Nothing is written where a file that differs is in the way.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let mut to_write = vec![];
    let mut in_the_way = vec![];
    for (path, bytes) in embedded::files() {
        let target = args.dir.join(path);
        match differs(&target, bytes) {
            Ok(None) => to_write.push((target, bytes)),
            Ok(Some(false)) => {}
            Ok(Some(true)) if args.force => to_write.push((target, bytes)),
            Ok(Some(true)) => in_the_way.push(target.display().to_string()),
            Err(e) => return Err(CliError::usage(format!("cannot read {}: {e}", target.display()))),
        }
    }
    if !in_the_way.is_empty() {
        let mut diagnostic =
            Diagnostic::error("export", "some files are there already and differ; nothing was written");
        diagnostic.notes = in_the_way;
        return Err(diagnostic.help("choose another folder, or replace them with --force").into());
    }
    for (target, bytes) in &to_write {
        report::write(target, bytes)
            .map_err(|e| CliError::usage(format!("cannot write {}: {}", e.path.display(), e.source)))?;
    }
    terminal.progress(&format!("{} files written below {}", to_write.len(), args.dir.display()));
    Ok(Exit::OK)
}

/// Whether there is such a file, and whether it says something else.
fn differs(path: &Path, bytes: &[u8]) -> io::Result<Option<bool>> {
    match fs::read(path) {
        Ok(found) => Ok(Some(found != bytes)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(e),
    }
}
