//! The trace file: JSON Lines with a header, one event a line, and an end line.
//!
//! [`FileSink`] writes a file while the trace is recorded, [`TraceReader`] reads a file event by event. A file without
//! an end line was cut: its writer was stopped, or the disk was full. The events in it are still valid.

mod format;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use format::{Header, Party, PartyKind, Timebase, VERSION, schema, write_event};
pub use reader::{ReadError, TraceReader};
pub use writer::{FileSink, TraceFileStatus, WriteError};
