//! AMP: editors and clients, those that perform scenarios and those that stand by themselves.

pub mod agent;
mod assembler;
pub mod client;
mod data_home;
pub mod editor;
pub mod host;
mod rewrite;
mod segments;
