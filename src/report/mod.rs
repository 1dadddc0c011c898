//! Reports: each is a function from the judge's [`Report`](crate::judge::Report) to a text; and [`Progress`], which shows
//! a run while it goes on.

mod json;
mod junit;
mod progress;
mod sarif;
mod terminal;
mod text;
mod write;

pub use json::{json, schema};
pub use junit::junit;
pub use progress::{Lines, Progress, Silent, TerminalProgress};
pub use sarif::sarif;
pub use terminal::{plain, terminal};
pub use text::{clean, counted, value};
pub use write::{ReportKind, WriteError, write};
