//! Ways in which a mock server can differ from the next and be right all the same.

use std::sync::LazyLock;

use crate::peer::Freedom;

use super::quirks::{Effect, Quirk};

struct Entry {
    freedom: Freedom,
    effects: &'static [Effect],
}

const FREEDOMS: &[Entry] = &[];

/// Every freedom.
pub fn all() -> &'static [Freedom] {
    static ALL: LazyLock<Vec<Freedom>> = LazyLock::new(|| FREEDOMS.iter().map(|e| e.freedom).collect());
    &ALL
}

/// The freedom of this name.
pub fn find(name: &str) -> Option<Quirk> {
    let entry = FREEDOMS.iter().find(|e| e.freedom.name == name)?;
    Some(Quirk { name: entry.freedom.name, flaw: false, effects: entry.effects })
}
