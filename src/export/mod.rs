//! A trace in other shapes, to be looked at: a chart for the terminal, a page for the browser, an archive for the
//! tools that read HTTP, and the differences between two traces.
//!
//! All of them read a trace twice, event by event: a [`TraceSurvey`] learns first what the second look has to know. So they
//! hold little, however long the trace is. What the rules found is handed in as [`Findings`]; nothing here judges.

pub mod chart;
pub mod diff;
mod file;
pub mod filter;
pub mod har;
pub mod html;
mod label;
pub mod scenario;
mod survey;
mod text;

pub use file::{NewFile, Source, WriteError};
pub use survey::{Findings, Remark, TraceSurvey};
