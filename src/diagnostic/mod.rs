//! Errors in files, failed expectations and snapshot differences, in one type and with one renderer.
//!
//! A [`Diagnostic`] says what is wrong, points at [`SourceSpan`]s in [`Source`] texts, and says what to
//! do about it. [`render()`] is the only code that draws one.

mod model;
mod render;
pub mod yaml;

pub use model::{Diagnostic, Label, Severity, Source, SourceSpan, Span};
pub use render::{Style, clean, difference, nearest, render, render_all};
