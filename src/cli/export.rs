//! `wirecert export`: the embedded scenarios as files, and a protocol as a document that other programs and people read.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::description::{self, Described};
use crate::diagnostic::{Diagnostic, nearest};
use crate::protocol::{Edition, Protocol, protocols};
use crate::report;

use super::{CliError, Exit, Terminal, embedded};

/// Write the embedded scenarios to a folder, or a protocol as OpenAPI, AsyncAPI, JSON Schema or Markdown.
///
/// The documents are made from the data by which wirecert judges.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    document: Option<Document>,

    /// Where to put the scenarios; made if it is not there.
    #[arg(required = true)]
    dir: Option<PathBuf>,

    /// Replace files that are there and differ.
    #[arg(long)]
    force: bool,
}

/// A document about a protocol.
#[derive(Debug, clap::Subcommand)]
enum Document {
    /// The requests over HTTP, as OpenAPI 3.1; of `inspector`, the interface of `--inspect`.
    Openapi(Subject),
    /// WebSockets and event streams, as AsyncAPI 3.0.
    Asyncapi(Subject),
    /// The schemas of all messages and parts of them in one JSON Schema (draft-07).
    JsonSchema(Subject),
    /// A reference for people: messages, and requirements with their ids.
    Markdown(Subject),
}

/// What a document is about, and where it goes.
#[derive(Debug, clap::Args)]
struct Subject {
    /// The protocol.
    protocol: String,

    /// The edition; the first one of the protocol, if not given.
    #[arg(long)]
    edition: Option<String>,

    /// The file to write; stdout, if not given.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs `wirecert export`.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    match (args.document, args.dir) {
        (Some(document), _) => describe(&document, terminal),
        (None, Some(dir)) => scenarios(&dir, args.force, terminal),
        (None, None) => Err(CliError::usage("it is not said what to export").help("name a folder, or a document")),
    }
}

fn describe(document: &Document, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let (Document::Openapi(subject)
    | Document::Asyncapi(subject)
    | Document::JsonSchema(subject)
    | Document::Markdown(subject)) = document;
    if let (Document::Openapi(_), INSPECTOR) = (document, subject.protocol.as_str()) {
        return deliver(&format!("{:#}\n", crate::inspect::openapi()), subject, terminal);
    }
    let (protocol, edition) = subject.find()?;
    let described = Described::new(protocol, edition);
    let name = protocol.name;
    let text = match document {
        Document::Openapi(_) if !described.has_requests() => {
            return Err(CliError::usage(format!(
                "{name} has no requests over HTTP, which is all that OpenAPI describes"
            ))
            .help(format!("its messages pass over a WebSocket: `wirecert export asyncapi {name}`")));
        }
        Document::Asyncapi(_) if !described.has_channels() => {
            return Err(CliError::usage(format!("{name} has no WebSockets or event streams, which AsyncAPI is for"))
                .help(format!("it has requests over HTTP: `wirecert export openapi {name}`")));
        }
        Document::Openapi(_) => format!("{:#}\n", description::openapi(&described)),
        Document::Asyncapi(_) => format!("{:#}\n", description::asyncapi(&described)),
        Document::JsonSchema(_) => format!("{:#}\n", description::json_schema(&described)),
        Document::Markdown(_) => description::markdown(&described),
    };
    deliver(&text, subject, terminal)
}

/// The name under which the interface of our own inspector is described.
const INSPECTOR: &str = "inspector";

fn deliver(text: &str, subject: &Subject, terminal: &mut Terminal) -> Result<Exit, CliError> {
    match &subject.out {
        None => terminal.result(text),
        Some(file) => {
            write(file, text.as_bytes())?;
            terminal.progress(&format!("wrote {}", file.display()));
        }
    }
    Ok(Exit::OK)
}

impl Subject {
    fn find(&self) -> Result<(&'static Protocol, &'static dyn Edition), CliError> {
        let names = || protocols().iter().map(|protocol| protocol.name);
        let Some(protocol) = protocols().iter().find(|protocol| protocol.name == self.protocol) else {
            let of_role = protocols().iter().find(|p| p.roles.iter().any(|role| role.name == self.protocol));
            let meant = of_role.map(|protocol| protocol.name).or_else(|| nearest(&self.protocol, names()));
            return Err(unknown("protocol", &self.protocol, names(), meant));
        };
        let edition = match &self.edition {
            None => protocol.default_edition(),
            Some(id) => protocol
                .edition(id)
                .ok_or_else(|| unknown("edition", id, protocol.edition_ids(), nearest(id, protocol.edition_ids())))?,
        };
        Ok((protocol, edition))
    }
}

fn unknown(what: &str, word: &str, known: impl Iterator<Item = &'static str>, meant: Option<&str>) -> CliError {
    let known = known.collect::<Vec<_>>().join(", ");
    let error = CliError::usage(format!("there is no {what} `{word}`, only {known}"));
    match meant {
        Some(name) => error.help(format!("did you mean `{name}`?")),
        None => error,
    }
}

/// Writes every embedded file below the folder. Nothing is written where a file that differs is in the way.
fn scenarios(dir: &Path, force: bool, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let mut to_write = vec![];
    let mut in_the_way = vec![];
    for (path, bytes) in embedded::files() {
        let target = dir.join(path);
        match differs(&target, bytes) {
            Ok(None) => to_write.push((target, bytes)),
            Ok(Some(false)) => {}
            Ok(Some(true)) if force => to_write.push((target, bytes)),
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
        write(target, bytes)?;
    }
    terminal.progress(&format!("{} files written below {}", to_write.len(), dir.display()));
    Ok(Exit::OK)
}

fn write(target: &Path, bytes: &[u8]) -> Result<(), CliError> {
    report::write(target, bytes)
        .map_err(|e| CliError::usage(format!("cannot write {}: {}", e.path.display(), e.source)))
}

/// Whether there is such a file, and whether it says something else.
fn differs(path: &Path, bytes: &[u8]) -> io::Result<Option<bool>> {
    match fs::read(path) {
        Ok(found) => Ok(Some(found != bytes)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(e),
    }
}
