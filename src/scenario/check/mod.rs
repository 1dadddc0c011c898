//! From a YAML tree to checked plans.
//!
//! A file is checked once for each edition and case it names, since variables differ between them; a
//! fault found in several of them is reported once. Checking goes on after a fault wherever what follows can be understood.

mod expects;
mod faults;
mod header;
mod scope;
mod setup;
mod shapes;
mod steps;

pub(super) use header::checked_plans;

use faults::{Check, MAX_FAULTS, fault, is_misspelt, spot, unknown, unknown_word, wrong_type};
