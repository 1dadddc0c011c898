//! The trace file: JSON Lines with a header, one event a line, and an end line.
//!
//! [`FileSink`] writes one as it comes about, [`TraceReader`] reads one event by event. A file without an end line
//! was cut: whoever wrote it was stopped, or its disk was full. What is in it still counts.

mod header;
mod line;
mod reader;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

pub use header::{Header, Party, PartyKind, Timebase, VERSION};
pub use line::write_event;
pub use reader::{ReadError, TraceReader};
pub use schema::schema;
pub use writer::{FileSink, WriteError, Written};
