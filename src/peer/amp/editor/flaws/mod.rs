//! Ways in which the mock editor can be wrong, each with the requirement that it breaks.
//!
//! They are what real editors get wrong, or might: the tables follow the areas of the requirements.

mod connection;
mod methods;
mod notifications;
mod table;

pub use table::{all, find};
