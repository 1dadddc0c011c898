//! The trace file: JSON Lines with a header, one event a line, and an end line.
//!
//! [`FileSink`] writes one as it comes about, [`TraceReader`] reads one event by event. A file without an end line
//! was cut: whoever wrote it was stopped, or its disk was full. What is in it still counts.

mod format;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use format::{Header, Party, PartyKind, Timebase, VERSION, schema, write_event};
pub use reader::{ReadError, TraceReader};
pub use writer::{FileSink, WriteError, Written};
