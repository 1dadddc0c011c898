//! Ways in which the reference client can be wrong, each with the requirement that it breaks.
//!
//! They are what real clients get wrong, or might: the tables follow the areas of the requirements.

mod methods;
mod transport;

use std::sync::LazyLock;

use serde_json::Value;

use crate::peer::Flaw;

use super::quirks::{OpenctxClientEffect, Quirk};

/// A flaw and what it does.
pub(super) struct OpenctxClientFlaw {
    flaw: Flaw,
    effect: OpenctxClientEffect,
}

/// An entry: a name, the requirement that it breaks, others whose statements it breaks as well, each with the reason;
/// what it does, in words and in effect.
macro_rules! flaw {
    ($name:literal $breaks:literal $([$($also:literal: $why:literal),+ $(,)?])? $about:literal $effect:expr) => {
        OpenctxClientFlaw {
            flaw: $crate::peer::Flaw {
                name: $name,
                about: $about,
                editions: &["0.1"],
                breaks: $breaks,
                also: &[$($($crate::peer::Also { requirement: $also, why: $why }),+)?],
            },
            effect: $effect,
        }
    };
}
use flaw;

const TABLES: [&[OpenctxClientFlaw]; 6] = [
    transport::HTTP,
    transport::ENVELOPE,
    methods::METHODS,
    methods::ANNOTATIONS,
    methods::SELECTORS,
    transport::ROBUSTNESS,
];

/// Does something to each entry of a list.
fn each(list: &mut Value, change: fn(&mut Value)) {
    list.as_array_mut().into_iter().flatten().filter(|entry| entry.is_object()).for_each(change);
}

/// Leaves members out of every entry of a list.
fn without(list: &mut Value, keys: &[&str]) {
    for members in list.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        members.retain(|key, _| !keys.contains(&key.as_str()));
    }
}

/// Changes a member that is a text.
fn text(value: &mut Value, key: &str, change: fn(&str) -> Value) {
    if let Some(text) = value.get(key).and_then(Value::as_str) {
        value[key] = change(text);
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
        crate::peer::fitting::fits_the_catalogue("openctx-client", &[]);
    }
}
