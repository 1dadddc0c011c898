//! Ways in which the mock server can be wrong, each with the requirement that it breaks: what real servers get wrong,
//! or might. The tables follow the areas of the requirements; [`find`] gives a flaw by its name.

mod events;
mod http;
mod prompts;
mod sessions;
mod table;

pub use table::{all, find};
