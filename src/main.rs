//! The command line: parse, run, report, exit code.

use std::process::ExitCode;

use wirecert::cli::{Cli, Terminal};
use wirecert::subject::guard;

fn main() -> ExitCode {
    let cli = match Cli::from_args(std::env::args_os()) {
        Ok(cli) => cli,
        Err(exit) => return exit.into(),
    };
    if let Ok(program) = std::env::current_exe() {
        guard::enable(program);
    }
    let mut terminal = Terminal::new(cli.output());
    let exit = match cli.run(&mut terminal) {
        Ok(exit) => exit,
        Err(error) => terminal.explain(&error),
    };
    let exit = terminal.close(exit);
    guard::dismiss();
    exit.into()
}
