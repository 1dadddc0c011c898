//! Rules: checks over any trace ([`Rule`]), and the one on crashed processes that all protocols have ([`CrashRule`]).

use serde_json::Value;

use crate::protocol::RequirementId;
use crate::trace::{End, Event, EventKind, Exited};

/// A check over any trace, fed event by event. It never needs to know how the trace came about, and
/// keeps no more than what is open (requests without a response, open connections).
///
/// An event with [`Event::deliberate`] set is ours, wrong on purpose: a rule takes it into account
/// (what it provokes may be an unusual response) and blames nobody for it.
pub trait Rule: Send {
    /// Says before the first event which end the processes in the trace are, where that is known.
    fn processes(&mut self, end: End) {
        let _ = end;
    }
    /// Looks at the next event.
    fn event(&mut self, event: &Event, out: &mut Judgements);
    /// Looks at what is left open when the trace is complete.
    fn end(&mut self, out: &mut Judgements) {
        let _ = out;
    }
}

/// What rules have to say.
#[derive(Clone, Debug, Default)]
pub struct Judgements {
    /// Requirements that had an occasion to be broken, each once or more.
    pub assessed: Vec<RequirementId>,
    /// Requirements that were broken.
    pub violations: Vec<Violation>,
    /// The reading of an ambiguity that the subject took, and other things worth telling.
    pub notes: Vec<(Option<RequirementId>, String)>,
    /// Sound requests that need a capability which a subject may declare missing, and how they were answered.
    pub uses: Vec<Use>,
    /// Responses that count against nobody, and keep what was asked for from being judged.
    pub refusals: Vec<Refusal>,
    /// What a rule cited that is no requirement: a fault of ours, for which nothing can be judged.
    pub unlisted: Vec<String>,
}

/// A sound request that needs a capability which a subject may declare missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Use {
    /// The capability, as it is declared.
    pub capability: &'static str,
    /// What was asked for: a method, or a method and path of HTTP.
    pub request: String,
    /// The error that says that there is no such method or path; none for every other response.
    pub refusal: Option<i64>,
}

/// A response that somebody else may have sent in place of the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The exchange of the response.
    pub conn: Option<String>,
    /// What was refused, in one sentence.
    pub message: String,
}

/// One breach of a requirement.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which one.
    pub requirement: RequirementId,
    /// Whose fault it is.
    pub blame: End,
    /// The event that shows it.
    pub index: u64,
    /// A description of the breach, in one sentence.
    pub message: String,
    /// Where in the message's JSON, as a JSON pointer.
    pub path: Option<String>,
    /// The value that should have been there.
    pub expected: Option<Value>,
    /// The value that was there.
    pub actual: Option<Value>,
    /// By how many microseconds a bound was exceeded, where that is all that is wrong.
    pub late: Option<u64>,
    /// Which part of the message is wrong.
    pub part: Part,
    /// The connection or exchange of the event that showed it, where it has one.
    pub conn: Option<String>,
}

/// A part of a message, as far as faults in it are distinguished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// The body, at the path that is given; without a path, the message as a whole.
    #[default]
    Body,
    /// The status of an HTTP response.
    Status,
}

impl Judgements {
    /// Says that a requirement had an occasion to be broken.
    pub fn assess(&mut self, requirement: RequirementId) {
        self.assessed.push(requirement);
    }

    /// Says that a requirement was broken; counts as assessed too.
    pub fn violate(&mut self, violation: Violation) {
        self.assessed.push(violation.requirement);
        self.violations.push(violation);
    }

    /// Why nothing can be judged by these rules, where that is so: a rule cites what is no requirement.
    pub fn ours(&self) -> Option<String> {
        let first = self.unlisted.first()?;
        Some(format!("a rule of wirecert's cites `{first}`, which is no requirement: please report this"))
    }

    /// Says that a rule cited what is no requirement, so that this does not go unnoticed.
    pub fn unlisted(&mut self, short: &str) {
        self.unlisted.push(short.to_owned());
    }
}

/// The description of the fault.
#[derive(Clone, Debug)]
pub struct ViolationDetail {
    message: String,
    path: Option<String>,
    expected: Option<Value>,
    actual: Option<Value>,
    late: Option<u64>,
    part: Part,
}

impl ViolationDetail {
    /// A sentence that says what happened.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), path: None, expected: None, actual: None, late: None, part: Part::Body }
    }

    /// It is the status of a response that is wrong.
    pub fn in_status(mut self) -> Self {
        self.part = Part::Status;
        self
    }

    /// Where in the body, as a JSON pointer.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The value that should have been there.
    pub fn expected(mut self, value: impl Into<Value>) -> Self {
        self.expected = Some(value.into());
        self
    }

    /// The value that was there.
    pub fn actual(mut self, value: impl Into<Value>) -> Self {
        self.actual = Some(value.into());
        self
    }

    /// By how many microseconds a bound was missed, where that is all that is wrong: where we saw things that much too late
    /// ourselves, nobody is blamed.
    pub fn late(mut self, micros: u64) -> Self {
        self.late = Some(micros);
        self
    }

    /// The breach of a requirement by an end, which this event shows.
    pub fn by(self, blame: End, requirement: RequirementId, index: u64) -> Violation {
        let Self { message, path, expected, actual, late, part } = self;
        Violation { requirement, blame, index, message, path, expected, actual, late, part, conn: None }
    }
}

/// Signals by which a program ends through its own fault: illegal instruction, abort, bus error, arithmetic, segment.
const CRASHES: &[i32] = &[4, 6, 7, 8, 10, 11];

/// Reports a fault against the requirement that binds an end to survive, as the event of this number shows.
type ReportCrash = Box<dyn Fn(&mut Judgements, End, u64, ViolationDetail) + Send>;

/// Blames a process for its crash, once the other end was there. It is the server, where nobody says otherwise.
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
