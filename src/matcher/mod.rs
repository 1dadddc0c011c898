//! Matchers: what JSON must look like, written as JSON.
//!
//! A [`Pattern`] is compiled from a JSON value. Plain values stand for themselves: an object must
//! have the keys named (others are free unless [`Pattern::exact`]), a list must have the same items in
//! the same order. A map of one key that begins with `$` is a matcher; [`words()`] lists them, and each
//! sits in the file of its family. `${name}` in a string stands for a variable, see [`template`].
//!
//! ```
//! use serde_json::{Map, json};
//! use wirecert::matcher::{NoSchemas, Pattern};
//!
//! let pattern = Pattern::compile(&json!({"content": {"$regex": "^a+$"}, "size": {"$capture": "n"}}), &NoSchemas)?;
//! let mut captures = Map::new();
//! assert!(pattern.check(Some(&json!({"content": "aaa", "size": 3, "more": true})), &mut captures).is_ok());
//! assert_eq!(captures["n"], 3);
//! let mismatches = pattern.check(Some(&json!({"content": "b", "size": 1})), &mut captures).unwrap_err();
//! assert_eq!(mismatches[0].pointer, "/content");
//! # Ok::<(), Vec<wirecert::matcher::PatternError>>(())
//! ```

mod collections;
mod compile;
mod json;
mod logic;
mod pattern;
mod strings;
pub mod template;
#[cfg(test)]
mod tests;
mod types;

pub use compile::{MatcherDefinition, PatternError, words};
pub use json::{as_integer, compare, equal, pointer_push, show};
pub use pattern::Pattern;
pub use pattern::{Captures, Mismatch};
pub use types::{NoSchemas, Schemas};
