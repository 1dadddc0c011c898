//! What the protocols over HTTP have in common: bodies, heads, exchanges, and the words for them.

pub mod words;
