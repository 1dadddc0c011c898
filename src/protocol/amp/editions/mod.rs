//! The editions of AMP. Each is a file with what it has that others do not, as an [`AmpEdition`], and a folder with its
//! JSON Schemas; [`ALL`] lists them.
//!
//! A schema of a method or notification is called by its area (`read-file.params.json`), whatever the edition calls it.

mod amp_edition;
mod cli;
#[cfg(test)]
mod documents;
mod guide;
#[cfg(test)]
mod tests;

pub use amp_edition::{ALL, AmpEdition, DiagnosticsForm, EditForm, PlaceForm, ResultForm};
pub use cli::CLI;
#[cfg(test)]
pub use documents::DOCUMENTS;
pub use guide::GUIDE;
