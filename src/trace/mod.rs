//! The trace: the [`Event`]s of a run in order, those that crossed the wire and those beside it.
//!
//! Producers write events through a [`Recorder`], which numbers and times them with one clock, hides secrets, and gives
//! each to its [`Sink`]s: a file, the rules, a player that waits for something, a snapshot. No sink knows who produced
//! an event, and no producer knows who reads it.

mod correlate;
mod describe;
mod event;
mod file;
mod finding;
mod lenient;
mod normal;
pub mod opcode;
mod recorder;
mod redact;
mod size;
#[cfg(test)]
pub(crate) mod strategy;
mod tail;
mod traffic;

pub use correlate::{
    Correlator, Find, Finder, Translation, ValueKind, ValueLink, ValueLocation, ValueOrigin, document,
};
pub use describe::{describe, summary};
pub use event::{
    Call, ClientEvent, Direction, End, Event, EventKind, Exited, FileChange, KINDS, Launched, Mark, Output, Returned,
    Stimulus,
};
pub use file::{
    FileSink, Header, Party, PartyKind, ReadError, Timebase, TraceFileStatus, TraceReader, VERSION, WriteError, schema,
    write_event,
};
pub use finding::{Awaited, AwaitedPart, Culprit, Finding, JudgementEnd, MissKind};
pub use lenient::{
    LenientJson, TOO_MANY_VALUES, has_too_many_values, read as read_json, string_length as json_string_length,
};
pub use normal::{
    BARRIER, NormalisationFacts, Normaliser, Strength, TraceFacts, ValueNormaliser, exchange_number, normalise,
};
pub use recorder::{Clock, Flush, Recorder, Sink};
pub use redact::Redactor;
pub use tail::Tail;
pub use traffic::{
    Body, Closed, Frame, Head, HttpRequest, HttpResponse, Message, Payload, StreamEvent, is_event_stream, trim_field,
};
