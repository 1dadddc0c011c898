//! Processes: does the editor survive its clients?

use crate::protocol::{Judgements, Rule};
use crate::trace::{End, Event, Exited, What};

use super::book::{Book, Fault};

/// Signals by which a program ends through its own fault: illegal instruction, abort, bus error, arithmetic, segment.
const CRASHES: &[i32] = &[4, 6, 7, 8, 10, 11];

/// Holds a crash of the server's process against it, once a client was there.
///
/// An exit with success, or by a signal from outside, is no crash: somebody may have quit the editor.
pub struct Exits {
    book: &'static Book,
    visited: bool,
    quit: bool,
}

impl Exits {
    pub fn new(book: &'static Book) -> Self {
        Self { book, visited: false, quit: false }
    }
}

impl Rule for Exits {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        match &event.what {
            What::Connected { .. } => self.visited = true,
            What::Launched(_) => (self.visited, self.quit) = (false, false),
            What::Stimulus(stimulus) => self.quit |= stimulus.name == "quit",
            What::Exited(exited) if self.visited && !self.quit && !exited.asked => {
                let fault = crash(exited).map(|how| Fault::new(format!("the editor's process ended {how}, unasked")));
                if fault.is_some() {
                    self.book.hold(out, End::Server, "robustness/alive", event.i, fault);
                }
            }
            _ => {}
        }
    }
}

/// How a process crashed, if it did. Codes from 128 stand for a signal by the convention of shells.
fn crash(exited: &Exited) -> Option<String> {
    if let Some(signal) = exited.signal {
        return CRASHES.contains(&signal).then(|| format!("by signal {signal}"));
    }
    let code = exited.code?;
    let crashed = if code > 128 { CRASHES.contains(&(code - 128)) } else { code != 0 };
    crashed.then(|| format!("with code {code}"))
}
