//! Formats of what people write: the Rust type that a value is read as says what the value may be.
//!
//! A type derives `Deserialize` and `JsonSchema`. [`Shape`] is what follows from its schema: a [`Checker`] holds files against
//! it and gives the values to read, and [`mod@schema`] makes the JSON Schemas for editors of it. [`types`] has the types that say
//! more than a plain string does.

mod checker;
mod derive;
mod literal;
mod parameters;
mod schema;
mod shape;
mod special;
pub mod types;

pub use checker::{Checker, in_a_line};
pub use derive::{fields_of, shape_of};
pub use literal::{parse_bound, parse_duration, parse_hex};
pub use parameters::variant;
pub use schema::{SchemaWriter, schema};
pub use shape::{Field, Group, Kind, Shape};
pub use special::Special;
