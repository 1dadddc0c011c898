//! Ways in which a client can differ from the next and be right all the same.

use serde_json::{Value, json};

use crate::peer::amp::{CLI, GUIDE};
use crate::peer::deviation::value::{escape, pretty, reverse_keys};
use crate::peer::deviation::websocket::SocketEffect;
use crate::peer::deviation::{FreedomRow, freedom};

use super::deviations::{AgentEffect, Switch};

pub const FREEDOMS: &[FreedomRow<AgentEffect>] = &[
    freedom!("connects-at-first-call" "It connects when the first call comes."
        AgentEffect::Switch(Switch::AtFirstCall)),
    freedom!("connects-again-at-next-call" "After its connection has ended it connects again when the next call comes."
        AgentEffect::Switch(Switch::AtNextCall)),
    freedom!("does-not-come-back" CLI ["lifecycle/client-connects-again", "lifecycle/client-reconnects"]
        "After its connection has ended it looks for no other." AgentEffect::Switch(Switch::ConnectsOnce)),
    freedom!("probes-by-handshake" "Before it connects, it looks whether the editor lets it in, and leaves."
        AgentEffect::Switch(Switch::ProbesHandshake)),
    freedom!("token-as-it-is" GUIDE ["connection/client-token-encoded"] "The token is shown as the lockfile has it."
        AgentEffect::Switch(Switch::TokenNotEncoded)),
    freedom!("quoted-ids" "The ids of requests hold quotation marks and backslashes."
        AgentEffect::Switch(Switch::QuotedIds)),
    freedom!("ids-as-numbers" GUIDE ["envelope/client-id-string"] "The ids of requests are numbers."
        AgentEffect::Switch(Switch::NumericIds)),
    freedom!("wrapped-results" "Results stand beside what its own API says of them." AgentEffect::Line(|line| {
        if let Some(result) = line.get_mut("result") {
            *result = json!({"value": result.take(), "fromCache": false});
        }
    })),
    freedom!("ipv4-only" CLI ["connection/client-ipv6"] "It connects to 127.0.0.1 only."
        AgentEffect::Switch(Switch::Ipv4Only)),
    freedom!("uuid-ids" "The ids of requests are UUIDs." AgentEffect::Switch(Switch::UuidIds)),
    freedom!("essence" "Of a result only what matters is told: the content, whether it succeeded."
        AgentEffect::Switch(Switch::Essence)),
    freedom!("no-states" "It does not say how it stands with its editor." AgentEffect::Switch(Switch::NoStates)),
    freedom!("probes-port" "Before it connects, it looks whether the port accepts." AgentEffect::Switch(Switch::Probes)),
    freedom!("junk" "It says more than calls need, on stdout and stderr." AgentEffect::Switch(Switch::Junk)),
    freedom!("pongs-late" "Pings are answered after a while." AgentEffect::Switch(Switch::PongsLate)),
    freedom!("sends-pings" "It sends pings of its own." AgentEffect::Switch(Switch::SendsPings)),
    freedom!("removes-dead" "It removes lockfiles of processes that have ended."
        AgentEffect::Switch(Switch::RemovesDead)),
    freedom!("late-reconnect" "After a connection has ended it waits for a second before it connects again."
        AgentEffect::Switch(Switch::LateReconnect)),
    freedom!("headers-by-chance" "The headers of its handshake have another order and case." AgentEffect::Socket(SocketEffect::Asks(|r| {
        for (name, value) in [("Upgrade", "WebSocket"), ("Connection", "keep-alive, upgrade"), ("Sec-WebSocket-Version", "13")] {
            r.headers.push((name.to_owned(), None));
            r.headers.push((name.to_ascii_lowercase(), Some(value.to_owned())));
        }
    }))),
    freedom!("more-headers" "Its handshake has headers that nobody needs." AgentEffect::Socket(SocketEffect::Asks(|r| {
        for (name, value) in [("Origin", "http://localhost"), ("User-Agent", "agent/1.0"), ("Cache-Control", "no-cache")] {
            r.headers.push((name.to_owned(), Some(value.to_owned())));
        }
    }))),
    freedom!("offers-deflate" "Its handshake offers to compress." AgentEffect::Socket(SocketEffect::Asks(|r| {
        let offer = "permessage-deflate; client_max_window_bits";
        r.headers.push(("Sec-WebSocket-Extensions".to_owned(), Some(offer.to_owned())));
    }))),
    freedom!("offers-subprotocol" "Its handshake offers a subprotocol."
        AgentEffect::Socket(SocketEffect::Asks(|r| r.subprotocols.push("amp".to_owned())))),
    freedom!("pretty-json" "Its messages have white space between their tokens." AgentEffect::Socket(SocketEffect::Text(pretty))),
    freedom!("keys-reversed" "The keys of objects come in another order." AgentEffect::Request(reverse_keys)),
    freedom!("escaped-json" "Characters beyond ASCII, and slashes, are escaped." AgentEffect::Socket(SocketEffect::Text(escape))),
    freedom!("extra-keys" "Requests have keys that nobody knows." AgentEffect::Request(|r| r["trace"] = 1.into())),
    freedom!("leaves-with-1001" "It closes its connection with the code 1001." AgentEffect::Switch(Switch::LeavesWith(1001))),
    freedom!("leaves-without-code" "It closes its connection without a code."
        AgentEffect::Switch(Switch::LeavesWithoutCode)),
    freedom!("failures-as-errors" "What the editor could not do is told as an error without a code."
        AgentEffect::Switch(Switch::FailuresAsErrors)),
    freedom!("errors-in-words" "Errors are told by a message only."
    AgentEffect::Line(|line| if let Some(Value::Object(error)) = line.get_mut("error") {
        error.remove("code");
    })),
];
