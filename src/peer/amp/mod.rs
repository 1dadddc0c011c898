//! AMP: editors and clients, those that perform scenarios and those that stand by themselves.

pub mod agent;
mod assembler;
pub mod client;
mod edition;
pub mod editor;
pub mod host;
mod segments;
