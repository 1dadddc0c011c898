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

/// An entry: a name, editions, the requirement that it breaks, others that it cannot help breaking; what it does, in
/// words and in effect.
macro_rules! flaw {
    ($name:literal $editions:ident $breaks:literal $([$($also:literal),+ $(,)?])? $about:literal $effect:expr) => {
        Entry {
            flaw: $crate::peer::Flaw {
                name: $name,
                about: $about,
                editions: $editions,
                breaks: $breaks,
                also: &[$($($also),+)?],
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
    Some(Quirk { name: entry.flaw.name, flaw: true, effect: entry.effect })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::protocol::Level;
    use crate::trace::End;

    fn requirements() -> &'static [crate::protocol::Requirement] {
        (crate::protocol::role("amp-client").unwrap().0.requirements)()
    }

    #[test]
    fn every_requirement_on_the_client_that_can_be_violated_has_a_flaw_in_each_edition() {
        let missing: Vec<&str> = requirements()
            .iter()
            .filter(|r| r.binds == End::Client && r.level != Level::May)
            .filter(|r| !all().iter().any(|f| f.breaks == r.short() && f.editions.contains(&r.edition())))
            .map(|r| r.id)
            .collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn every_flaw_breaks_what_exists_in_each_of_its_editions() {
        for flaw in all() {
            for edition in flaw.editions {
                let exists = |short: &str| requirements().iter().any(|r| r.edition() == *edition && r.short() == short);
                assert!(exists(flaw.breaks), "{} of {edition}: {}", flaw.name, flaw.breaks);
            }
            for also in flaw.also {
                assert!(requirements().iter().any(|r| r.short() == *also), "{}: {also}", flaw.name);
            }
        }
    }

    #[test]
    fn no_two_flaws_or_freedoms_have_the_same_name() {
        let names = all().iter().map(|f| f.name).chain(super::super::freedoms::all().iter().map(|f| f.name));
        let names: Vec<&str> = names.collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')));
    }
}
