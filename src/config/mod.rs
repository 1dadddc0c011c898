//! What is to be certified, and how: `wirecert.yaml`, flags, environment and defaults, resolved once into [`SubjectSpec`]s.
//!
//! Flags beat the file, the file beats defaults. Everything after this module reads the resolved
//! values and never asks where they came from.

mod own;
mod spec;
mod template;

pub use own::own;
pub use spec::{
    Access, CommandLine, EditionChoice, Isolation, Launch, Limits, Ready, SeedFile, Stop, StopHow, SubjectSpec, Target,
    Timeouts,
};
pub use template::{PLACEHOLDERS, fill};
