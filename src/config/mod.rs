//! What is to be certified, and how: `wirecert.yaml`, flags, environment and defaults, resolved once into [`SubjectSpec`]s.
//!
//! Flags beat the file, the file beats defaults. Everything after this module reads the resolved
//! values and never asks where they came from.

mod commands;
mod described;
mod flags;
mod keys;
mod module;
mod own;
mod reader;
mod resolve;
mod schema;
mod seeds;
mod spec;
mod subject;
mod template;
mod units;

#[cfg(test)]
mod tests;

pub use described::Described;
pub use flags::{Environment, Flags};
pub use own::own;
pub use resolve::{FILE, SubjectFile, resolve};
pub use schema::schema;
pub use spec::{
    Access, CommandLine, EditionChoice, Isolation, Launch, Limits, Module, RUN_DIR_VARIABLE, Ready, SeedFile, Stop,
    StopHow, SubjectSpec, Target, Timeouts,
};
pub use subject::users_data_home;
pub use template::{ALL_PARAMS, PLACEHOLDERS, fill};
