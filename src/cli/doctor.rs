//! `wirecert doctor`: whether this machine has what certifying needs.

use std::net::{Ipv4Addr, TcpListener};

use super::{CliError, Exit, Terminal};

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs it.
pub fn run(_: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) {
        Ok(_) => {
            terminal.result("ok    127.0.0.1: a port can be listened on\n");
            Ok(Exit::OK)
        }
        Err(e) => Err(CliError::unjudged(format!("cannot listen on a port of 127.0.0.1: {e}"))),
    }
}
