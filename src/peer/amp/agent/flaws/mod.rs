//! Ways in which the reference client can be wrong, each with the requirement that it breaks.
//!
//! They are what real clients get wrong, or might: the tables follow the areas of the requirements.

pub mod connection;
pub mod messages;
