//! An editor without any connection: its files, buffers and selections, and its responses to messages.
//!
//! [`model::Editor`] is the editor. [`steer`] has what its user does; [`deviations`] are where flaws and freedoms make it, and the server
//! that it is behind, different.

pub mod deviations;
mod disk;
mod files;
mod methods;
pub mod model;
pub mod outgoing;
pub mod request;
pub mod steer;
#[cfg(test)]
mod tests;
mod text;
