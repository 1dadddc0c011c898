//! Ways in which a client can differ from the next and be right all the same.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::peer::Freedom;
use crate::peer::amp::editor::outgoing::{escape, pretty, reverse_keys};
use crate::protocol::amp::editions::AmpEdition;

use super::quirks::{AgentEffect, Quirk, Switch};

struct AgentFreedom {
    freedom: Freedom,
    effect: AgentEffect,
}

macro_rules! freedom {
    ($name:literal $editions:ident $(forgoes $forgoes:tt)? $about:literal $effect:expr) => {
        AgentFreedom {
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
const CLI: &[&str] = &["cli"];
const GUIDE: &[&str] = &["guide"];

const FREEDOMS: &[AgentFreedom] = &[
    freedom!("connects-at-first-call" BOTH "It connects when the first call comes."
        AgentEffect::Switch(Switch::AtFirstCall)),
    freedom!("connects-again-at-next-call" BOTH "After its connection has ended it connects again when the next call comes."
        AgentEffect::Switch(Switch::AtNextCall)),
    freedom!("does-not-come-back" CLI forgoes ["lifecycle/client-connects-again", "lifecycle/client-reconnects"]
        "After its connection has ended it looks for no other." AgentEffect::Switch(Switch::ConnectsOnce)),
    freedom!("probes-by-handshake" BOTH "Before it connects, it looks whether the editor lets it in, and leaves."
        AgentEffect::Switch(Switch::ProbesHandshake)),
    freedom!("token-as-it-is" GUIDE forgoes ["connection/client-token-encoded"] "The token is shown as the lockfile has it."
        AgentEffect::Switch(Switch::TokenNotEncoded)),
    freedom!("quoted-ids" BOTH "The ids of requests hold quotation marks and backslashes."
        AgentEffect::Switch(Switch::QuotedIds)),
    freedom!("ids-as-numbers" GUIDE forgoes ["envelope/client-id-string"] "The ids of requests are numbers."
        AgentEffect::Switch(Switch::NumericIds)),
    freedom!("wrapped-results" BOTH "Results stand beside what its own API says of them." AgentEffect::Line(|line| {
        if let Some(result) = line.get_mut("result") {
            *result = json!({"value": result.take(), "fromCache": false});
        }
    })),
    freedom!("ipv4-only" CLI forgoes ["connection/client-ipv6"] "It connects to 127.0.0.1 only."
        AgentEffect::Switch(Switch::Ipv4Only)),
    freedom!("uuid-ids" BOTH "The ids of requests are UUIDs." AgentEffect::Switch(Switch::UuidIds)),
    freedom!("essence" BOTH "Of a result only what matters is told: the content, whether it succeeded."
        AgentEffect::Switch(Switch::Essence)),
    freedom!("no-states" BOTH "It does not say how it stands with its editor." AgentEffect::Switch(Switch::NoStates)),
    freedom!("probes-port" BOTH "Before it connects, it looks whether the port accepts." AgentEffect::Switch(Switch::Probes)),
    freedom!("junk" BOTH "It says more than calls need, on stdout and stderr." AgentEffect::Switch(Switch::Junk)),
    freedom!("pongs-late" BOTH "Pings are answered after a while." AgentEffect::Switch(Switch::PongsLate)),
    freedom!("sends-pings" BOTH "It sends pings of its own." AgentEffect::Switch(Switch::SendsPings)),
    freedom!("removes-dead" BOTH "It removes lockfiles of processes that have ended."
        AgentEffect::Switch(Switch::RemovesDead)),
    freedom!("late-reconnect" BOTH "After a connection has ended it waits for a second before it connects again."
        AgentEffect::Switch(Switch::LateReconnect)),
    freedom!("headers-by-chance" BOTH "The headers of its handshake have another order and case." AgentEffect::Handshake(|r| {
        for (name, value) in [("Upgrade", "WebSocket"), ("Connection", "keep-alive, upgrade"), ("Sec-WebSocket-Version", "13")] {
            r.headers.push((name.to_owned(), None));
            r.headers.push((name.to_ascii_lowercase(), Some(value.to_owned())));
        }
    })),
    freedom!("more-headers" BOTH "Its handshake has headers that nobody needs." AgentEffect::Handshake(|r| {
        for (name, value) in [("Origin", "http://localhost"), ("User-Agent", "agent/1.0"), ("Cache-Control", "no-cache")] {
            r.headers.push((name.to_owned(), Some(value.to_owned())));
        }
    })),
    freedom!("offers-deflate" BOTH "Its handshake offers to compress." AgentEffect::Handshake(|r| {
        let offer = "permessage-deflate; client_max_window_bits";
        r.headers.push(("Sec-WebSocket-Extensions".to_owned(), Some(offer.to_owned())));
    })),
    freedom!("offers-subprotocol" BOTH "Its handshake offers a subprotocol."
        AgentEffect::Handshake(|r| r.subprotocols.push("amp".to_owned()))),
    freedom!("pretty-json" BOTH "Its messages have white space between their tokens." AgentEffect::Text(pretty)),
    freedom!("keys-reversed" BOTH "The keys of objects come in another order." AgentEffect::Request(reverse_keys)),
    freedom!("escaped-json" BOTH "Characters beyond ASCII, and slashes, are escaped." AgentEffect::Text(escape)),
    freedom!("extra-keys" BOTH "Requests have keys that nobody knows." AgentEffect::Request(|r| r["trace"] = 1.into())),
    freedom!("leaves-with-1001" BOTH "It closes its connection with the code 1001." AgentEffect::Switch(Switch::LeavesWith(1001))),
    freedom!("leaves-without-code" BOTH "It closes its connection without a code."
        AgentEffect::Switch(Switch::LeavesWithoutCode)),
    freedom!("failures-as-errors" BOTH "What the editor could not do is told as an error without a code."
        AgentEffect::Switch(Switch::FailuresAsErrors)),
    freedom!("errors-in-words" BOTH "Errors are told by a message only."
    AgentEffect::Line(|line| if let Some(Value::Object(error)) = line.get_mut("error") {
        error.remove("code");
    })),
];

/// Every freedom.
pub fn all() -> &'static [Freedom] {
    static ALL: LazyLock<Vec<Freedom>> = LazyLock::new(|| FREEDOMS.iter().map(|e| e.freedom).collect());
    &ALL
}

/// The freedom of this name, if the edition has it.
pub fn find(edition: &AmpEdition, name: &str) -> Option<Quirk> {
    let entry = FREEDOMS.iter().find(|e| e.freedom.name == name && e.freedom.editions.contains(&edition.id))?;
    Some(Quirk::freedom(entry.freedom.name, entry.effect))
}
