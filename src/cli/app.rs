//! The definition of the command line ([`Cli`]), and which command runs what.

use std::ffi::OsString;

use clap::{ArgAction, ColorChoice, Parser, Subcommand, ValueEnum};

use crate::subject::guard;

use super::{
    CliError, Exit, Output, Terminal, call, certify, check, doctor, export, fixtures, fuzz, init, inspect, mock, prove,
    record, reference, replay, report, scenario, shell, shrink, snapshot, verify, view,
};

/// Conformance suite and mock harness for the protocols between editors and AI agents.
#[derive(Debug, Parser)]
#[command(name = "wirecert", version, max_term_width = 110)]
#[command(after_help = "Exit codes, the first that applies:\n  \
    130  interrupted; what is known is still reported\n  \
    2    wrong usage, or a file that cannot be read or written\n  \
    1    a `must` is violated outside the baseline, a scenario failed, or a baseline line is stale\n  \
    3    a subject could not be started, reached or judged\n  \
    5    a snapshot is not as it was\n  \
    4    a `must` was neither assessed nor excused\n  \
    0    otherwise")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,

    /// When to colour what is printed.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = "Output")]
    color: Color,

    /// Say less on stderr; twice: only errors.
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "verbose", help_heading = "Output")]
    quiet: u8,

    /// Say more on stderr.
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Output")]
    verbose: u8,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    /// Where it goes to a terminal that can.
    Auto,
    /// Also into files and pipes.
    Always,
    /// Nowhere.
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    Certify(certify::CertifyArgs),
    Run(certify::RunArgs),
    /// Make one request to a live implementation, and print its response.
    Call(call::Args),
    Mock(mock::Args),
    Inspect(inspect::Args),
    Prove(prove::Args),
    Record(record::Args),
    /// Re-enact one side of a trace against a live other.
    Replay(replay::Args),
    Shrink(shrink::Args),
    Fuzz(fuzz::Args),
    /// Judge recorded traces by the rules alone.
    Check(check::Args),
    /// Look at a trace: as a sequence chart, as a page, as HAR, or beside another one.
    View(view::Args),
    /// Write example messages and conversations for other tests, made from the schemas or cut from a trace.
    Fixtures(fixtures::Args),
    /// Turn a trace into a scenario that plays it again.
    Scenario(scenario::Args),
    /// Look at snapshots that would change, and accept or reject them.
    Snapshot(snapshot::Args),
    /// Put the reports of shards together.
    Report(report::Args),
    Verify(verify::Args),
    /// List the catalogue of requirements, or explain one.
    Requirements(reference::RequirementsArgs),
    /// Print a JSON Schema (draft-07) of a file format.
    Schema(reference::SchemaArgs),
    Export(export::Args),
    /// Write a commented wirecert.yaml to begin with.
    Init(init::InitArgs),
    Doctor(doctor::DoctorArgs),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
    /// Kill the subjects of a wirecert that was killed. It is started by that one itself.
    #[command(hide = true)]
    Guard,
}

impl Cli {
    /// Parses the arguments, the program's name first. Where there is nothing to run (help, version, wrong
    /// usage), that has been said already, and the exit code comes back.
    pub fn from_args(args: impl IntoIterator<Item = OsString>) -> Result<Self, Exit> {
        let args: Vec<OsString> = args.into_iter().collect();
        let choice = early_color(&args);
        let parsed = <Self as clap::CommandFactory>::command().color(choice).try_get_matches_from(args);
        parsed.and_then(|matches| <Self as clap::FromArgMatches>::from_arg_matches(&matches)).map_err(|error| {
            // A closed pipe is no error: its reader has read enough.
            let _ = error.print();
            if error.use_stderr() { Exit::USAGE } else { Exit::OK }
        })
    }

    /// How to print.
    pub fn output(&self) -> Output {
        let color = match self.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        let verbosity = i8::try_from(self.verbose).unwrap_or(i8::MAX) - i8::try_from(self.quiet).unwrap_or(i8::MAX);
        Output { color, verbosity }
    }

    /// Runs the command that was parsed.
    pub fn run(self, terminal: &mut Terminal) -> Result<Exit, CliError> {
        match self.command {
            Command::Certify(args) => certify::certify(args, terminal),
            Command::Run(args) => certify::run(args, terminal),
            Command::Call(args) => call::run(args, terminal),
            Command::Mock(args) => mock::run(args, terminal),
            Command::Inspect(args) => inspect::run(args, terminal),
            Command::Prove(args) => prove::run(args, terminal),
            Command::Record(args) => record::run(args, terminal),
            Command::Replay(args) => replay::run(args, terminal),
            Command::Shrink(args) => shrink::run(args, terminal),
            Command::Fuzz(args) => fuzz::run(args, terminal),
            Command::Check(args) => check::run(args, terminal),
            Command::View(args) => view::run(args, terminal),
            Command::Fixtures(args) => fixtures::run(args, terminal),
            Command::Scenario(args) => scenario::run(args, terminal),
            Command::Snapshot(args) => snapshot::run(args, terminal),
            Command::Report(args) => report::run(args, terminal),
            Command::Verify(args) => verify::run(args, terminal),
            Command::Requirements(args) => reference::requirements(args, terminal),
            Command::Schema(args) => reference::schema(args, terminal),
            Command::Export(args) => export::run(args, terminal),
            Command::Init(args) => init::init(args, terminal),
            Command::Doctor(args) => doctor::doctor(args, terminal),
            Command::Completions(args) => shell::completions(args, terminal),
            Command::Man(args) => shell::man(args, terminal),
            Command::Guard => {
                guard::serve(std::io::stdin());
                Ok(Exit::OK)
            }
        }
    }
}

/// `--color` has to be known before the arguments are parsed, since parsing them may print errors.
fn early_color(args: &[OsString]) -> ColorChoice {
    let words = args.iter().map_while(|a| a.to_str()).take_while(|a| *a != "--").collect::<Vec<_>>();
    let value = words.iter().enumerate().find_map(|(i, word)| match word.strip_prefix("--color") {
        Some("") => words.get(i + 1).copied(),
        Some(rest) => rest.strip_prefix('='),
        None => None,
    });
    match value {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_holds_together() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
