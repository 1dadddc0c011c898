//! Processes: does the end that runs as one survive the other?

use crate::protocol::{Judgements, Rule};
use crate::trace::{End, Event, Exited, What};

use super::book::{Bench, Fault};

/// Signals by which a program ends through its own fault: illegal instruction, abort, bus error, arithmetic, segment.
const CRASHES: &[i32] = &[4, 6, 7, 8, 10, 11];

/// Holds a crash of a process against it, once the other end was there. It is the server, where nobody says otherwise.
///
/// An exit with success, or by a signal from outside, is no crash. A client that is not driven ends as it likes, if only
/// by an error: it may have had other work.
pub struct Exits {
    end: End,
    met: bool,
    driven: bool,
}

impl Exits {
    pub fn new() -> Self {
        Self { end: End::Server, met: false, driven: false }
    }
}

impl Rule for Exits {
    fn processes(&mut self, end: End) {
        self.end = end;
    }

    fn event(&mut self, event: &Event, out: &mut Judgements) {
        match &event.what {
            What::HttpRequest(_) | What::Handshake(_) => self.met = true,
            What::Call(_) => self.driven = true,
            What::Launched(_) => self.met = false,
            What::Exited(exited) if self.met && !exited.asked => {
                let errors_count = self.end == End::Server || self.driven;
                let (who, short) = match self.end {
                    End::Server => ("server", "robustness/alive"),
                    End::Client => ("client", "robustness/client-alive"),
                };
                if let Some(how) = crash(exited, errors_count) {
                    let fault = Fault::new(format!("the {who}'s process ended {how}, unasked"));
                    Bench { out, index: event.i }.hold(short, Some(fault));
                }
            }
            _ => {}
        }
    }
}

/// How a process crashed, if it did. Codes from 128 stand for a signal by the convention of shells.
fn crash(exited: &Exited, errors_count: bool) -> Option<String> {
    if let Some(signal) = exited.signal {
        return CRASHES.contains(&signal).then(|| format!("by signal {signal}"));
    }
    let code = exited.code?;
    let crashed = if code > 128 { CRASHES.contains(&(code - 128)) } else { errors_count && code != 0 };
    crashed.then(|| format!("with code {code}"))
}
