//! A trace written to a file for other programs: a page for a browser.

use std::path::Path;

use crate::cli::{CliError, Exit, Terminal};
use crate::diagnostic::Diagnostic;
use crate::export::html::{Entry, Meta, Page};
use crate::export::{NewFile, Source, WriteError};

use super::{Args, Looked, unreadable};

/// Writes the files that were asked for.
pub fn run(args: &Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let [path] = args.traces.as_slice() else {
        return Err(CliError::usage("a file shows one trace, and several were named").help("name one"));
    };
    let source = Source::open(path).map_err(unreadable)?;
    let looked = Looked::at(&source, args)?;
    if let Some(file) = &args.html {
        page(&looked, &source, file, args)?;
        terminal.progress(&format!("{}: {} events", file.display(), looked.survey.events));
    }
    Ok(Exit::OK)
}

fn page(looked: &Looked, source: &Source, path: &Path, args: &Args) -> Result<(), CliError> {
    let name = source.name();
    let meta = Meta { name: &name, judged: looked.protocol.is_some() && !args.no_findings, comparison: None };
    let file = NewFile::create(path).map_err(unwritable)?;
    let failed = |source| unwritable(WriteError { path: path.to_owned(), source });
    let mut page =
        Page::begin(file, looked.protocol, &looked.header, &looked.survey, &looked.findings, &meta).map_err(failed)?;
    for event in source.reader().map_err(unreadable)? {
        page.entry(Entry::alone(&event.map_err(unreadable)?)).map_err(failed)?;
    }
    page.end().map_err(failed)?.keep().map_err(unwritable)?;
    Ok(())
}

fn unwritable(error: WriteError) -> CliError {
    Diagnostic::error("output", error.to_string()).help("name another file").into()
}
