//! Ways in which the reference client can be wrong, each with the requirement that it breaks.
//!
//! They are what real clients get wrong, or might: the tables follow the areas of the requirements.

mod connection;
mod discovery;
mod envelope;
mod framing;
mod methods;
mod notifications;
mod robustness;

use std::sync::LazyLock;

use crate::peer::Flaw;

use super::super::editor::edition::Edition;
use super::quirks::{Effect, Quirk};

/// A flaw and what it does.
pub(super) struct Entry {
    flaw: Flaw,
    effect: Effect,
}

/// An entry: a name, editions, the requirement that it breaks, others whose statements it breaks as well, each with the reason;
/// what it does, in words and in effect.
macro_rules! flaw {
    ($name:literal $editions:ident $breaks:literal $([$($also:literal: $why:literal),+ $(,)?])? $about:literal $effect:expr) => {
        Entry {
            flaw: $crate::peer::Flaw {
                name: $name,
                about: $about,
                editions: $editions,
                breaks: $breaks,
                also: &[$($($crate::peer::Also { requirement: $also, why: $why }),+)?],
            },
            effect: $effect,
        }
    };
}
use flaw;

const BOTH: &[&str] = &["cli", "guide"];
const CLI: &[&str] = &["cli"];
const GUIDE: &[&str] = &["guide"];

const TABLES: [&[Entry]; 7] = [
    discovery::FLAWS,
    connection::FLAWS,
    framing::FLAWS,
    envelope::FLAWS,
    methods::FLAWS,
    notifications::FLAWS,
    robustness::FLAWS,
];

fn entries() -> impl Iterator<Item = &'static Entry> {
    TABLES.into_iter().flatten()
}

/// Every flaw, in the order of the areas.
pub fn all() -> &'static [Flaw] {
    static ALL: LazyLock<Vec<Flaw>> = LazyLock::new(|| entries().map(|e| e.flaw).collect());
    &ALL
}

/// The flaw of this name, if the edition has it.
pub fn find(edition: Edition, name: &str) -> Option<Quirk> {
    let entry = entries().find(|e| e.flaw.name == name && e.flaw.editions.contains(&edition.id()))?;
    Some(Quirk::flaw(entry.flaw.name, entry.effect))
}

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        crate::peer::fitting::fits_the_catalogue("amp-client", &[]);
    }
}
