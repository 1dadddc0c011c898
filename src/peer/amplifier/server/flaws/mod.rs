//! Ways in which the mock server can be wrong, each with the requirement that it breaks: what real servers get wrong,
//! or might. The tables follow the areas of the requirements.

mod effects;
pub mod events;
pub mod http;
pub mod prompts;
pub mod sessions;
