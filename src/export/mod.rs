//! A trace in other shapes, to be looked at: a chart for the terminal, a page for the browser, an archive for the
//! tools that read HTTP, and the differences between two traces.
//!
//! Each export reads a trace twice, event by event: the first pass collects a [`TraceSurvey`], which the second pass needs.
//! So memory is bounded, however long the trace is. The findings of the rules are passed in as [`Findings`]; nothing here
//! judges.

pub mod chart;
pub mod diff;
mod event_row;
mod file;
pub mod har;
pub mod html;
mod label;
pub mod scenario;
mod survey;
mod text;

pub use event_row::{EventRow, EventRows, TONES};
pub use file::{EventFilter, NewFile, TraceMoment, TraceSource, WriteError};
pub use label::Labels;
pub use survey::{Bits, Connection, Findings, Remark, TraceSurvey};
