//! Keeps secrets out of a trace: [`Redactor`].
//!
//! A secret is known because somebody said so ([`Redactor::add_secret`]), or by its name: the value of a secret
//! key, query parameter or header. From then on it is hidden wherever it turns up, in every string of every event,
//! in its escaped forms and across the borders of frames and chunks. What stands in its place has its length and
//! tells which secret it was (`<secret:1***>`), so that a reader still sees whether two of them were equal.

mod keys;
mod pattern;
mod redactor;
#[cfg(test)]
mod tests;

pub use redactor::Redactor;
