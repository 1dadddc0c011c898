//! `wirecert completions` and `wirecert man`: what a shell completes, and manual pages, both made from the definition of the
//! command line.

use std::fs;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory as _};
use clap_complete::Shell;

use crate::protocol::protocols;

use super::{Cli, CliError, Exit, Terminal};

/// Print a script for a shell, which then completes commands and options.
///
/// In bash and zsh, names of roles, protocols and editions are completed as well; in fish, those of editions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Where the script goes:\n  \
    bash        ~/.local/share/bash-completion/completions/wirecert\n  \
    zsh         a file _wirecert in a folder of $fpath\n  \
    fish        ~/.config/fish/completions/wirecert.fish\n  \
    elvish      a file that ~/.config/elvish/rc.elv reads\n  \
    powershell  a file that $PROFILE runs")]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

/// Prints a script that has the shell complete commands and options; bash and zsh complete the names of roles, protocols and
/// editions as well, fish those of editions.
pub fn completions(args: CompletionsArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let mut command = with_known_words(Cli::command());
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut command, "wirecert", &mut script);
    terminal.result(&String::from_utf8_lossy(&script));
    Ok(Exit::OK)
}

/// Has the arguments that are checked by name only when a command runs tell which names there are.
fn with_known_words(command: Command) -> Command {
    let roles = || protocols().iter().flat_map(|protocol| protocol.roles.iter().map(|role| role.name));
    let names = || protocols().iter().map(|protocol| protocol.name);
    let editions = || protocols().iter().flat_map(|protocol| protocol.edition_ids());
    let command = command.mut_args(|arg| {
        let words: Vec<&'static str> = match arg.get_id().as_str() {
            "role" => roles().collect(),
            "protocol" => names().collect(),
            "edition" => editions().chain(["auto"]).collect(),
            _ => return arg,
        };
        arg.value_parser(PossibleValuesParser::new(words))
    });
    command.mut_subcommands(with_known_words)
}

/// Write manual pages, one for each command.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The folder to write them to; made if it is not there. Files of their names are replaced.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Writes a manual page for the program and one for each command.
pub fn man(args: ManArgs, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let folder = args.out.display();
    let written = fs::create_dir_all(&args.out).and_then(|()| clap_mangen::generate_to(Cli::command(), &args.out));
    written.map_err(|e| {
        CliError::usage(format!("cannot write manual pages to {folder}: {e}")).help("give a folder that can be written")
    })?;
    terminal.progress(&format!("wrote manual pages to {folder}; `man {folder}/wirecert.1` shows the first"));
    Ok(Exit::OK)
}
