//! Ways in which the mock provider can be wrong, each with the requirement that it breaks.
//!
//! They are what real providers get wrong, or might: the tables follow the areas of the requirements.

pub mod envelope;
pub mod methods;
pub mod requests;
pub mod transport;
