//! Formats of what people write: the Rust type that a value is read as says what the value may be.
//!
//! A type derives `Deserialize` and `JsonSchema`. [`Shape`] is what follows from its schema: files are checked by it, and
//! the JSON Schemas for editors are made from it. [`types`] has the types that say more than a plain string does.

mod check;
mod literal;
mod shape;
pub mod types;

pub use check::variant;
pub use literal::{parse_bound, parse_duration, parse_hex};
pub use shape::{Field, Group, Kind, Shape, fields_of, shape_of};
