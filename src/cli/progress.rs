//! Which progress suits whoever is watching.

use std::sync::Arc;

use anstream::AutoStream;

use crate::report::{Lines, Progress, Silent, TerminalProgress};

use super::deliver::catalogue;
use super::{ProgressKind, Terminal};

/// The progress to show on stderr: what `--progress` says, and with `auto` a bar on a terminal that can draw one,
/// lines elsewhere. `-q` silences it.
pub fn progress(kind: ProgressKind, terminal: &Terminal) -> Arc<dyn Progress> {
    let output = terminal.output();
    let can_draw = terminal.is_watched() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let bar = match kind {
        ProgressKind::Auto => can_draw,
        ProgressKind::Bar => true,
        ProgressKind::Lines => false,
        ProgressKind::None => return Arc::new(Silent),
    };
    if output.verbosity < 0 {
        return Arc::new(Silent);
    }
    let stderr = AutoStream::new(std::io::stderr(), output.color);
    if bar {
        Arc::new(TerminalProgress::new(catalogue(), stderr.current_choice() != anstream::ColorChoice::Never))
    } else {
        Arc::new(Lines::new(Box::new(stderr), catalogue()))
    }
}
