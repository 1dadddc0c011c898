//! Ways in which the mock provider can be wrong, each with the requirement that it breaks.
//!
//! They are what real providers get wrong, or might: the tables follow the areas of the requirements.

mod envelope;
mod methods;
mod requests;
mod transport;

use std::sync::LazyLock;

use serde_json::Value;

use crate::peer::Flaw;

use super::quirks::{Instead, ProviderEffect, Quirk, RequestInContext};
use super::request::{METHODS, Method};

/// A flaw and what it does.
pub(super) struct ProviderFlaw {
    flaw: Flaw,
    effect: ProviderEffect,
}

/// An entry: a name, the requirement that it breaks, others whose statements it breaks as well, each with the reason;
/// what it does, in words and in effect.
macro_rules! flaw {
    ($name:literal $breaks:literal $([$($also:literal: $why:literal),+ $(,)?])? $about:literal $effect:expr) => {
        ProviderFlaw {
            flaw: $crate::peer::Flaw {
                name: $name,
                about: $about,
                editions: &[$crate::peer::openctx::provider::EDITION],
                breaks: $breaks,
                also: &[$($($crate::peer::Also { requirement: $also, why: $why }),+)?],
            },
            effect: $effect,
        }
    };
}
use flaw;

pub(super) use transport::{content_type, gzip, take};

const TABLES: [&[ProviderFlaw]; 9] = [
    transport::CARRIED,
    transport::STATUSES,
    requests::REQUESTS,
    envelope::ENVELOPE,
    methods::META,
    methods::MENTIONS,
    methods::ITEMS,
    methods::ANNOTATIONS,
    requests::ROBUSTNESS,
];

fn entries() -> impl Iterator<Item = &'static ProviderFlaw> {
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
    Some(Quirk::flaw(entry.flaw.name, entry.effect))
}

/// Sets a member of an object.
fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(map) = object {
        map.insert(key.to_owned(), value.into());
    }
}

/// Takes a member out of an object, and gives it.
fn remove(object: &mut Value, key: &str) -> Value {
    object.as_object_mut().and_then(|map| map.shift_remove(key)).unwrap_or_default()
}

/// Changes each item of a list.
fn each(list: &mut Value, change: impl Fn(&mut Value)) {
    list.as_array_mut().into_iter().flatten().for_each(change);
}

/// Sets a member of each item of a list.
fn set_each(list: &mut Value, key: &str, value: impl Into<Value>) {
    let value = value.into();
    each(list, |item| set(item, key, value.clone()));
}

/// Sets a member of a feature in the result of `meta`, which has it from then on.
fn feature(meta: &mut Value, feature: &str, key: &str, value: impl Into<Value>) {
    if !meta[feature].is_object() {
        set(meta, feature, Value::Object(serde_json::Map::new()));
    }
    set(&mut meta[feature], key, value);
}

/// Behaves as a provider without the feature of this method, which answers the method in this way.
fn without(seen: &RequestInContext<'_>, method: Method, instead: Instead) -> Option<Instead> {
    if seen.is(method) {
        return Some(instead);
    }
    let features = METHODS.iter().skip(1).filter(|feature| **feature != method);
    let mut meta = serde_json::json!({"name": format!("No {}", method.name())});
    features.for_each(|feature| set(&mut meta, feature.name(), serde_json::json!({})));
    seen.is(Method::Meta).then_some(Instead::Result(meta))
}

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        // Whoever takes longer than that is caught by what they withhold.
        crate::peer::fitting::fits_the_catalogue("openctx-provider", &["http/timely"]);
    }
}
