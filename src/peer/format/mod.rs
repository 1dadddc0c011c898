//! Formats of files with what mocks give: what may stand in one is a table, from which a file is checked, and the JSON
//! Schema made.

mod check;
mod schema;

pub use check::{Checker, span};
pub use schema::schema;

use crate::diagnostic::Diagnostic;

/// The version of the formats.
const VERSION: u64 = 1;

/// The largest text that is made by repetition, in bytes.
pub const MAX_FILL: usize = 64 << 20;

/// What may stand somewhere.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// The version of the format.
    Version,
    /// Any text.
    Text,
    /// A text, or a text repeated.
    Content,
    /// A text that begins with a scheme.
    Uri,
    /// A regular expression.
    Regex,
    /// A time, or two as the bounds of one.
    Time,
    /// A time.
    Duration,
    /// A text, or a map with these keys.
    TextOr(&'static [Key]),
    /// An integer within these bounds, both inclusive.
    Number(i64, i64),
    /// An integer.
    Code,
    /// An integer from 0 on.
    Count,
    /// True or false.
    Flag,
    /// True, false or a text.
    FlagOrText,
    /// One of these words, and what they are called.
    Choice(&'static str, &'static [&'static str]),
    /// Anything.
    Any,
    /// A map whose keys are free.
    Free,
    /// A map with keys of these words, and what they are called, all of one shape.
    Each(&'static str, &'static [&'static str], &'static Shape),
    /// A list.
    List(&'static Shape),
    /// One, or a list of them.
    Several(&'static Shape),
    /// A map with these keys.
    Map(&'static [Key]),
    /// A map with these keys, and exactly one of those that are named second.
    One(&'static [Key], &'static [&'static str]),
}

/// A key of a map.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Whether it has to be there.
    pub needed: bool,
    /// What stands there.
    pub shape: Shape,
    /// What it is for.
    pub about: &'static str,
}

/// A key that may be left out.
pub const fn key(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, needed: false, shape, about }
}

/// A key that has to be there.
pub const fn needed(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, needed: true, shape, about }
}

/// Faults in one line, for whoever has no other place for them.
pub fn in_a_line(faults: &[Diagnostic]) -> String {
    let faults = faults.iter().map(|fault| match fault.labels.first() {
        Some(label) => format!("{} ({})", fault.message, label.text),
        None => fault.message.clone(),
    });
    faults.collect::<Vec<_>>().join("; ")
}
