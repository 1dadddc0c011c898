//! Ways in which the mock editor can be wrong, each with the requirement that it breaks.
//!
//! They are what real editors get wrong, or might: the tables follow the areas of the requirements.

pub mod connection;
pub mod methods;
pub mod notifications;
