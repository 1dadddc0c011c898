//! Ways in which the reference client can be wrong, each with the requirement that it breaks: what real clients get
//! wrong, or might. The tables follow the areas of the requirements.

pub mod calls;
pub mod http;
pub mod streams;
