//! Redaction: the [`Redactor`] hides secrets in the events of a trace.
//!
//! A secret is known because it was added ([`Redactor::add_secret`]), or by its name: the value of a secret key, query
//! parameter or header. From then on it is hidden wherever it occurs, in every string of every event, in its escaped
//! forms and across the borders of frames and chunks. Its placeholder has the same length and the number of the secret
//! (`<secret:1***>`), so that a reader still sees whether two secrets were equal.

mod keys;
mod pattern;
mod redactor;
#[cfg(test)]
mod tests;

pub use redactor::Redactor;
