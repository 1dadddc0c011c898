//! A trace in other shapes, to be looked at: a chart for the terminal, a page for the browser, an archive for the
//! tools that read HTTP, and the differences between two traces.
//!
//! All of them read a trace twice, event by event: a [`TraceSurvey`] learns first what the second look has to know. So they
//! hold little, however long the trace is. What the rules found is handed in as [`Findings`]; nothing here judges.

mod bits;
mod file;
pub mod filter;
mod findings;
mod fold;
mod label;
mod source;
mod survey;
mod text;

pub mod chart;
pub mod diff;
pub mod har;
pub mod html;
pub mod scenario;

pub use file::{NewFile, WriteError};
pub use findings::{Findings, Remark};
pub use source::Source;
pub use survey::TraceSurvey;
