//! The command line. One file for each command, or for a few that belong together; each has the arguments and a function that runs
//! it, and knows no protocol.
//!
//! Results go to stdout, everything else to stderr, both through [`Terminal`]; what a command ends with is an
//! [`Exit`] or a [`CliError`] that carries one.

mod app;
mod call;
mod certify;
mod check;
mod doctor;
pub mod embedded;
mod export;
mod fixtures;
mod fuzz;
mod init;
mod inspect;
mod mock;
mod options;
mod prove;
mod record;
mod reference;
mod replay;
mod report;
mod scenario;
mod shell;
mod shrink;
mod snapshot;
mod terminal;
mod verify;
mod view;
mod watch;

pub use app::Cli;
pub use options::{ProgressKind, ReportTarget, SharedOptions};
pub use report::{deliver, progress};
pub use terminal::{CliError, Exit, Output, Terminal};
