//! Ways in which a client can differ from the next and be right all the same.

use std::sync::LazyLock;

use crate::peer::Freedom;

use super::super::editor::edition::Edition;
use super::quirks::{Effect, Quirk, Switch};

struct Entry {
    freedom: Freedom,
    effect: Effect,
}

macro_rules! freedom {
    ($name:literal $editions:ident $(forgoes $forgoes:tt)? $about:literal $effect:expr) => {
        Entry {
            freedom: Freedom {
                name: $name,
                about: $about,
                editions: $editions,
                forgoes: freedom!(@list $($forgoes)?),
            },
            effect: $effect,
        }
    };
    (@list) => {
        &[]
    };
    (@list $list:tt) => {
        &$list
    };
}

const BOTH: &[&str] = &["cli", "guide"];

const FREEDOMS: &[Entry] = &[
    freedom!("connects-at-first-call" BOTH "It connects when the first call comes."
        Effect::Switch(Switch::AtFirstCall)),
    freedom!("uuid-ids" BOTH "The ids of requests are UUIDs." Effect::Switch(Switch::UuidIds)),
    freedom!("essence" BOTH "Of a result only what matters is told: the content, whether it succeeded."
        Effect::Switch(Switch::Essence)),
    freedom!("no-states" BOTH "It does not say how it stands with its editor." Effect::Switch(Switch::NoStates)),
    freedom!("probes-port" BOTH "Before it connects, it looks whether the port accepts." Effect::Switch(Switch::Probes)),
    freedom!("junk" BOTH "It says more than calls need, on stdout and stderr." Effect::Switch(Switch::Junk)),
    freedom!("pongs-late" BOTH "Pings are answered after a while." Effect::Switch(Switch::PongsLate)),
    freedom!("sends-pings" BOTH "It sends pings of its own." Effect::Switch(Switch::SendsPings)),
    freedom!("removes-dead" BOTH "It removes lockfiles of processes that have ended."
        Effect::Switch(Switch::RemovesDead)),
    freedom!("late-reconnect" BOTH "After a connection has ended it waits for a second before it connects again."
        Effect::Switch(Switch::LateReconnect)),
];

/// Every freedom.
pub fn all() -> &'static [Freedom] {
    static ALL: LazyLock<Vec<Freedom>> = LazyLock::new(|| FREEDOMS.iter().map(|e| e.freedom).collect());
    &ALL
}

/// The freedom of this name, if the edition has it.
pub fn find(edition: Edition, name: &str) -> Option<Quirk> {
    let entry = FREEDOMS.iter().find(|e| e.freedom.name == name && e.freedom.editions.contains(&edition.id()))?;
    Some(Quirk { name: entry.freedom.name, flaw: false, effect: entry.effect })
}
