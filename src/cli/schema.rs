//! `wirecert schema`: JSON Schemas of the file formats.

use clap::ValueEnum;

use super::{CliError, Exit, Terminal};

/// Arguments of `schema`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which format.
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// The JSON report.
    Report,
    /// A line of a trace.
    Trace,
}

/// Runs it.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let schema = match args.format {
        Format::Trace => crate::trace::schema(),
        Format::Report => crate::report::schema(),
    };
    terminal.result(&format!("{schema:#}\n"));
    Ok(Exit::OK)
}
