//! The table of flaws, and what its entries are made with.

use std::sync::LazyLock;

use serde_json::Value;

use crate::peer::Flaw;

use super::super::quirks::{AmplifierClientEffect, Quirk};
use super::{calls, http, streams};

/// A flaw and what it does.
pub(super) struct AmplifierClientFlaw {
    pub(super) flaw: Flaw,
    pub(super) effect: AmplifierClientEffect,
}

/// An entry: a name, the requirement that it breaks, others whose statements it breaks as well, each with the reason;
/// what it does, in words and in effect.
macro_rules! flaw {
    ($name:literal $breaks:literal $([$($also:literal: $why:literal),+ $(,)?])? $about:literal $effect:expr) => {
        AmplifierClientFlaw {
            flaw: $crate::peer::Flaw {
                name: $name,
                about: $about,
                editions: &["2025-12-09"],
                breaks: $breaks,
                also: &[$($($crate::peer::Also { requirement: $also, why: $why }),+)?],
            },
            effect: $effect,
        }
    };
}
pub(super) use flaw;

const TABLES: [&[AmplifierClientFlaw]; 9] = [
    http::HTTP,
    calls::REQUESTS,
    calls::RESULTS,
    calls::ERRORS,
    streams::READING,
    streams::EVENTS,
    streams::RECONNECTING,
    streams::WEBSOCKET,
    http::ROBUSTNESS,
];

/// Changes a member that is a text.
pub(super) fn text(value: &mut Value, key: &str, change: fn(&str) -> Value) {
    if let Some(text) = value.get(key).and_then(Value::as_str) {
        value[key] = change(text);
    }
}

/// Changes what a pointer leads to, where it is there.
pub(super) fn at(value: &mut Value, pointer: &str, change: fn(&mut Value)) {
    if let Some(found) = value.pointer_mut(pointer) {
        change(found);
    }
}

/// Leaves a member out of what a pointer leads to.
pub(super) fn without(value: &mut Value, pointer: &str, key: &str) {
    if let Some(Value::Object(members)) = value.pointer_mut(pointer) {
        members.remove(key);
    }
}

/// Every flaw.
pub fn all() -> &'static [Flaw] {
    static ALL: LazyLock<Vec<Flaw>> = LazyLock::new(|| TABLES.into_iter().flatten().map(|e| e.flaw).collect());
    &ALL
}

/// The flaw of this name.
pub fn find(name: &str) -> Option<Quirk> {
    let entry = TABLES.into_iter().flatten().find(|e| e.flaw.name == name)?;
    Some(Quirk::flaw(entry.flaw.name, entry.effect))
}

#[cfg(test)]
mod tests {

    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        crate::peer::fitting::fits_the_catalogue("amplifier-client", &[]);
    }
}
