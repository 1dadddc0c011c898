//! The command line. One file for each command; each has `Args` and `run`, and knows no protocol.
//!
//! Results go to stdout, everything else to stderr, both through [`Terminal`]; what a command ends with is an
//! [`Exit`] or a [`CliError`] that carries one.

mod app;
mod call;
mod certify;
mod check;
mod deliver;
mod doctor;
pub mod embedded;
mod exit;
mod export;
mod fixtures;
mod fuzz;
mod init;
mod mock;
mod options;
mod prove;
mod record;
mod replay;
mod report;
mod requirements;
mod run;
mod scenario;
mod schema;
mod selection;
mod session;
mod shrink;
mod signals;
mod snapshot;
mod terminal;
mod trace;
mod view;
mod watch;

pub use app::Cli;
pub use deliver::{deliver, progress};
pub use exit::{CliError, Exit};
pub use options::{ProgressKind, ReportTarget, SharedOptions};
pub use terminal::{Output, Terminal};
