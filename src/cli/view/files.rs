//! A trace written to a file for other programs: a page for a browser, an archive for what reads HTTP.

use std::path::Path;

use crate::cli::{CliError, Exit, Terminal};
use crate::diagnostic::Diagnostic;
use crate::export::har::Har;
use crate::export::html::{Entry, Meta, Page};
use crate::export::{NewFile, Source, WriteError};

use super::{Args, Looked, compared, unreadable};

/// Writes the files that were asked for.
pub fn run(args: &Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let [path] = args.traces.as_slice() else {
        let error = CliError::usage("one trace can be written or compared, and several were named");
        return Err(error.help("name one trace; the other one of a comparison follows --diff"));
    };
    let source = Source::open(path).map_err(unreadable)?;
    let looked = Looked::at(&source, args)?;
    if let Some(other) = &args.diff {
        return compared::run(&looked, &source, other, args, terminal);
    }
    if let Some(file) = &args.html {
        page(&looked, &source, file, args)?;
        terminal.progress(&format!("{}: {} events", file.display(), looked.survey.events));
    }
    if let Some(file) = &args.har {
        let entries = archive(&looked, &source, file)?;
        terminal.progress(&format!("{}: {entries} entries", file.display()));
    }
    Ok(Exit::OK)
}

fn page(looked: &Looked, source: &Source, path: &Path, args: &Args) -> Result<(), CliError> {
    let name = source.name();
    let meta = Meta { name: &name, judged: looked.protocol.is_some() && !args.no_findings, comparison: None };
    let file = NewFile::create(path).map_err(unwritable)?;
    let failed = failed(path);
    let page = Page::begin(file, looked.protocol, &looked.header, &looked.survey, &looked.findings, &meta);
    let mut page = page.map_err(&failed)?;
    for event in source.reader().map_err(unreadable)? {
        page.entry(Entry::alone(&event.map_err(unreadable)?)).map_err(&failed)?;
    }
    page.end().map_err(&failed)?.keep().map_err(unwritable)
}

fn archive(looked: &Looked, source: &Source, path: &Path) -> Result<u64, CliError> {
    let file = NewFile::create(path).map_err(unwritable)?;
    let failed = failed(path);
    let mut har = Har::begin(file, &looked.header, &source.name()).map_err(&failed)?;
    for event in source.reader().map_err(unreadable)? {
        har.event(&event.map_err(unreadable)?).map_err(&failed)?;
    }
    let (file, entries) = har.end().map_err(&failed)?;
    file.keep().map_err(unwritable)?;
    Ok(entries)
}

/// What becomes of a failure to write to a file.
pub fn failed(path: &Path) -> impl Fn(std::io::Error) -> CliError {
    let path = path.to_owned();
    move |source| unwritable(WriteError { path: path.clone(), source })
}

/// A file that cannot be written.
pub fn unwritable(error: WriteError) -> CliError {
    Diagnostic::error("output", error.to_string()).help("name another file").into()
}
