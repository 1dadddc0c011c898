//! The table of the flaws of the mock editor: an entry, all of them in order, and a flaw by its name.

use std::sync::LazyLock;

use serde_json::Value;

use crate::peer::Flaw;
use crate::peer::amp::editor::quirks::{EditorEffect, Quirk};
use crate::protocol::amp::editions::AmpEdition;

use super::{connection, methods, notifications};

/// A flaw and what it does.
pub(super) struct EditorFlaw {
    pub(super) flaw: Flaw,
    pub(super) effect: EditorEffect,
}

/// An entry: a name, editions, the requirement that it breaks, others whose statements it breaks as well, each with
/// the reason; what it does, in words and in effect.
macro_rules! flaw {
    ($name:literal $editions:ident $breaks:literal $([$($also:literal: $why:literal),+ $(,)?])? $about:literal $effect:expr) => {
        EditorFlaw {
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
pub(super) use flaw;

pub(super) const BOTH: &[&str] = &["cli", "guide"];
pub(super) const CLI: &[&str] = &["cli"];
pub(super) const GUIDE: &[&str] = &["guide"];

const TABLES: [&[EditorFlaw]; 9] = [
    connection::DISCOVERY_FLAWS,
    connection::CONNECTION_FLAWS,
    connection::FRAMING_FLAWS,
    methods::ENVELOPE_FLAWS,
    methods::METHODS_FLAWS,
    methods::READ_FILE_FLAWS,
    methods::EDIT_FILE_FLAWS,
    notifications::NOTIFICATIONS_FLAWS,
    notifications::ROBUSTNESS_FLAWS,
];

fn entries() -> impl Iterator<Item = &'static EditorFlaw> {
    TABLES.into_iter().flatten()
}

/// Every flaw, in the order of the areas.
pub fn all() -> &'static [Flaw] {
    static ALL: LazyLock<Vec<Flaw>> = LazyLock::new(|| entries().map(|e| e.flaw).collect());
    &ALL
}

/// The flaw of this name, if the edition has it.
pub fn find(edition: &AmpEdition, name: &str) -> Option<Quirk> {
    let entry = entries().find(|e| e.flaw.name == name && e.flaw.editions.contains(&edition.id))?;
    Some(Quirk::flaw(entry.flaw.name, entry.effect))
}

/// Sets a member of an object.
pub(super) fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(map) = object {
        map.insert(key.to_owned(), value.into());
    }
}

/// Takes a member out of an object, and gives it.
pub(super) fn remove(object: &mut Value, key: &str) -> Value {
    object.as_object_mut().and_then(|map| map.remove(key)).unwrap_or(Value::Null)
}

/// Changes every value with this key, at any depth.
pub(super) fn each(value: &mut Value, key: &str, change: fn(&mut Value)) {
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                if name == key { change(value) } else { each(value, key, change) }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each(item, key, change)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        crate::peer::fitting::fits_the_catalogue("amp-server", &[]);
    }
}
