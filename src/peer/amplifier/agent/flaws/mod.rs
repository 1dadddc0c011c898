//! Ways in which the reference client can be wrong, each with the requirement that it breaks.
//!
//! They are what real clients get wrong, or might: the tables follow the areas of the requirements.

mod errors;
mod http;
mod reading;
mod reconnecting;
mod requests;
mod results;
mod robustness;
mod telling;
mod websocket;

use std::sync::LazyLock;

use serde_json::Value;

use crate::peer::Flaw;

use super::quirks::{Effect, Quirk};

/// A flaw and what it does.
pub(super) struct Entry {
    flaw: Flaw,
    effect: Effect,
}

/// An entry: a name, the requirement that it breaks, others that it cannot help breaking; what it does, in words and in
/// effect.
macro_rules! flaw {
    ($name:literal $breaks:literal $([$($also:literal),+ $(,)?])? $about:literal $effect:expr) => {
        Entry {
            flaw: $crate::peer::Flaw {
                name: $name,
                about: $about,
                editions: &["2025-12-09"],
                breaks: $breaks,
                also: &[$($($also),+)?],
            },
            effect: $effect,
        }
    };
}
use flaw;

const TABLES: [&[Entry]; 9] = [
    http::FLAWS,
    requests::FLAWS,
    results::FLAWS,
    errors::FLAWS,
    reading::FLAWS,
    telling::FLAWS,
    reconnecting::FLAWS,
    websocket::FLAWS,
    robustness::FLAWS,
];

/// Changes a member that is a text.
fn text(value: &mut Value, key: &str, change: fn(&str) -> Value) {
    if let Some(text) = value.get(key).and_then(Value::as_str) {
        value[key] = change(text);
    }
}

/// Changes what a pointer leads to, where it is there.
fn at(value: &mut Value, pointer: &str, change: fn(&mut Value)) {
    if let Some(found) = value.pointer_mut(pointer) {
        change(found);
    }
}

/// Leaves a member out of what a pointer leads to.
fn without(value: &mut Value, pointer: &str, key: &str) {
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
    Some(Quirk { name: entry.flaw.name, flaw: true, effect: entry.effect })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::protocol::{Level, amplifier};
    use crate::trace::End;

    fn requirements() -> &'static [crate::protocol::Requirement] {
        (amplifier::PROTOCOL.requirements)()
    }

    #[test]
    fn every_requirement_on_the_client_that_can_be_violated_has_a_flaw() {
        let missing: Vec<&str> = requirements()
            .iter()
            .filter(|r| r.binds == End::Client && r.level != Level::May)
            .filter(|r| !all().iter().any(|f| f.breaks == r.short()))
            .map(|r| r.id)
            .collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn every_flaw_and_freedom_names_what_exists() {
        let of = |short: &&str| requirements().iter().find(|r| r.short() == *short && r.binds == End::Client);
        for flaw in all() {
            for short in std::iter::once(&flaw.breaks).chain(flaw.also) {
                assert!(of(short).is_some(), "{}: {short}", flaw.name);
            }
        }
        for freedom in super::super::freedoms::all() {
            for short in freedom.forgoes {
                assert!(of(short).is_some_and(|r| r.level != Level::Must), "{}: {short}", freedom.name);
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
