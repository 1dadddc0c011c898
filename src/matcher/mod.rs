//! Matchers: what JSON must look like, written as JSON.
//!
//! A [`Pattern`] is compiled from a JSON value. Plain values stand for themselves: an object must
//! have the keys named (others are free unless [`Pattern::exact`]), a list must have the same items in
//! the same order. A map of one key that begins with `$` is a matcher; [`words()`] lists them, and each
//! sits in the file of its name. `${name}` in a string stands for a variable, see [`template`].
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

mod affix;
mod any_order;
mod capture;
mod check;
mod compile;
mod contains;
mod each;
pub mod equality;
mod kind;
mod length;
mod literal;
mod logic;
mod pattern;
mod presence;
mod range;
mod regex;
mod schema;
mod show;
mod somewhere;
pub mod template;
#[cfg(test)]
mod tests;
mod timestamp;
mod uri;
mod uuid;
mod words;

pub use check::{Captures, Mismatch};
pub use compile::PatternError;
pub use pattern::Pattern;
pub use schema::{NoSchemas, Schemas};
pub use show::show;
pub use words::{Word, words};

/// Appends a key or index to a JSON pointer (RFC 6901 section 3: `~` is `~0`, `/` is `~1`).
pub fn pointer_push(pointer: &mut String, part: &str) {
    pointer.push('/');
    for c in part.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}
