//! Processes: does the end that runs as one survive the other?

use crate::trace::{End, Event, EventKind, Exited};

use super::{Judgements, Rule, ViolationDetail};

/// Signals by which a program ends through its own fault: illegal instruction, abort, bus error, arithmetic, segment.
const CRASHES: &[i32] = &[4, 6, 7, 8, 10, 11];

/// Puts a fault to the requirement that binds an end to survive, as the event of this number shows.
type ReportCrash = Box<dyn Fn(&mut Judgements, End, u64, ViolationDetail) + Send>;

/// Holds a crash of a process against it, once the other end was there. It is the server, where nobody says otherwise.
///
/// An exit with success, or by a signal from outside, is no crash: somebody may have quit it. A client that is not driven
/// ends as it likes, too, if only by an error: it may have had other work.
pub struct CrashRule {
    server: &'static str,
    report: ReportCrash,
    end: End,
    contacted: bool,
    quit: bool,
    driven: bool,
}

impl CrashRule {
    /// A rule for a protocol that calls its server by this name.
    pub fn new(
        server: &'static str,
        report: impl Fn(&mut Judgements, End, u64, ViolationDetail) + Send + 'static,
    ) -> Self {
        Self { server, report: Box::new(report), end: End::Server, contacted: false, quit: false, driven: false }
    }
}

impl Rule for CrashRule {
    fn processes(&mut self, end: End) {
        self.end = end;
    }

    fn event(&mut self, event: &Event, out: &mut Judgements) {
        match &event.kind {
            EventKind::Connected { .. } | EventKind::HttpRequest(_) | EventKind::Handshake(_) => self.contacted = true,
            EventKind::Call(_) => self.driven = true,
            EventKind::Launched(_) => (self.contacted, self.quit) = (false, false),
            EventKind::Stimulus(stimulus) => self.quit |= stimulus.name == "quit",
            EventKind::Exited(exited) if self.contacted && !self.quit && !exited.asked => {
                let errors_count = self.end == End::Server || self.driven;
                let who = if self.end == End::Server { self.server } else { "client" };
                if let Some(how) = crash(exited, errors_count) {
                    let fault = ViolationDetail::new(format!("the {who}'s process ended {how}, unasked"));
                    (self.report)(out, self.end, event.i, fault);
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
