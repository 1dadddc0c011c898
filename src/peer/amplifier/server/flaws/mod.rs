//! Ways in which the mock server can be wrong, each with the requirement that it breaks.

use std::sync::LazyLock;

use crate::peer::Flaw;

use super::quirks::{Effect, Quirk};

/// A flaw and what it does.
pub(super) struct Entry {
    flaw: Flaw,
    effects: &'static [Effect],
}

const TABLES: [&[Entry]; 0] = [];

fn entries() -> impl Iterator<Item = &'static Entry> {
    TABLES.into_iter().flatten()
}

/// Every flaw, in the order of the areas.
pub fn all() -> &'static [Flaw] {
    static ALL: LazyLock<Vec<Flaw>> = LazyLock::new(|| entries().map(|e| e.flaw).collect());
    &ALL
}

/// The flaw of this name.
pub fn find(name: &str) -> Option<Quirk> {
    let entry = entries().find(|e| e.flaw.name == name)?;
    Some(Quirk { name: entry.flaw.name, flaw: true, effects: entry.effects })
}
