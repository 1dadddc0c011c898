//! Ways in which the reference client can be wrong, each with the requirement that it breaks: what real clients get
//! wrong, or might. The tables follow the areas of the requirements; [`find`] gives a flaw by its name.

mod calls;
mod http;
mod streams;
mod table;

pub use table::{all, find};
