//! Ways in which the reference client can be wrong, each with the requirement that it breaks.
//!
//! They are what real clients get wrong, or might: the tables follow the areas of the requirements.

use std::sync::LazyLock;

use crate::peer::Flaw;

use super::quirks::{Effect, Quirk};

/// A flaw and what it does.
pub(super) struct Entry {
    flaw: Flaw,
    effect: Effect,
}

const TABLES: [&[Entry]; 0] = [];

/// Every flaw.
pub fn all() -> &'static [Flaw] {
    static ALL: LazyLock<Vec<Flaw>> = LazyLock::new(|| TABLES.into_iter().flatten().map(|e| e.flaw).collect());
    &ALL
}

/// The flaw of this name.
pub fn find(name: &str) -> Option<Quirk> {
    let entry = TABLES.into_iter().flatten().find(|e| e.flaw.name == name)?;
    Some(Quirk { name: entry.flaw.name, flaw: true, effect: entry.effect })
}
