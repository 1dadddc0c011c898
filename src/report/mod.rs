//! Reports: each a function from what the judge concluded to a text; and the progress of a run while it goes on.

mod bar;
mod json;
mod junit;
mod progress;
mod sarif;
mod terminal;
mod text;
mod write;

pub use bar::TerminalProgress;
pub use json::{json, schema};
pub use junit::junit;
pub use progress::{Lines, Progress, Silent};
pub use sarif::sarif;
pub use terminal::{plain, terminal};
pub use text::{clean, counted, value};
pub use write::{WriteError, write};

/// A kind of report that can be written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The JSON contract.
    Json,
    /// JUnit XML.
    Junit,
    /// SARIF 2.1.0.
    Sarif,
    /// What is printed at the end, in full and without colours.
    Text,
}

impl Kind {
    /// Every kind with its name.
    pub const ALL: [(&'static str, Self); 4] =
        [("json", Self::Json), ("junit", Self::Junit), ("sarif", Self::Sarif), ("text", Self::Text)];
}
