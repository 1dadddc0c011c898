//! The subjects to be certified: `wirecert.yaml`, flags, environment and defaults, resolved once into [`SubjectSpec`]s.
//!
//! Flags beat the file, the file beats defaults. Everything after this module reads the resolved
//! values and never asks where they came from.

mod command;
mod described;
mod file;
mod module;
mod resolve;
mod spec;
mod subject;
#[cfg(test)]
mod tests;

pub use command::{ALL_PARAMS, PLACEHOLDERS, fill};
pub use described::Described;
pub use file::schema;
pub use resolve::{Environment, FILE, Flags, SubjectFile, resolve};
pub use spec::{
    Access, CommandLine, EditionChoice, Isolation, Launch, Limits, Module, RUN_DIR_VARIABLE, Ready, SeedFile,
    StimulusWay, Stop, StopHow, SubjectSpec, Target, TerminalSize, Timeouts, own,
};
pub use subject::users_data_home;
