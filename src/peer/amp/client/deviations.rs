//! What can be different about a client: the effects of flaws and freedoms ([`AgentEffect`]), their [`TABLE`], and the freedoms.
//!
//! Most effects are data: functions that rewrite parameters, a request, its text, the handshake or a frame on their way
//! out, or what is reported to the user. The rest are switches, listed in the file where the behaviour is decided. Flaws are
//! what real clients get wrong, or might; their tables follow the areas of the requirements.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::peer::amp::{CLI, GUIDE};
use crate::peer::deviation::value::{escape, pretty, reverse_keys};
use crate::peer::deviation::websocket::{self, SocketEffect, SocketSwitch};
use crate::peer::deviation::{DeviationTable, FreedomRow, freedom, includes, switches};
use crate::protocol::amp::editions::Method;

use super::discovery::{DiscoverySwitch, WorkspaceSwitch};
use super::handshake::HandshakeSwitch;
use super::incoming::MessageSwitch;
use super::pending_calls::CallSwitch;
use super::report::{OutcomeSwitch, ReportSwitch};
use super::run::{AgentSwitch, TriggerSwitch};
use super::search::SearchSwitch;
use super::session::SessionSwitch;

mod connection;
mod messages;

/// The effect of a flaw or freedom.
#[derive(Clone, Copy, Debug)]
pub enum AgentEffect {
    /// Rewrites what goes over a WebSocket.
    Socket(SocketEffect),
    /// Queried where an end of a WebSocket decides.
    SocketSwitch(SocketSwitch),
    /// Rewrites the parameters of requests, of every method or of one.
    Params(Option<Method>, fn(&mut Value)),
    /// Rewrites a whole request.
    Request(fn(&mut Value)),
    /// Rewrites what is reported of a result, of every method or of one.
    Result(Option<Method>, fn(&mut Value)),
    /// Rewrites what is reported of a notification, by its name; none is not reported.
    Reported(fn(&str, Value) -> Option<Value>),
    /// Rewrites the bytes of a message that came.
    Incoming(fn(&mut Vec<u8>)),
    /// Rewrites a line on its way out.
    Line(fn(&mut Value)),
    /// What [`DiscoverySwitch`] lists.
    DiscoverySwitch(DiscoverySwitch),
    /// What [`WorkspaceSwitch`] lists.
    WorkspaceSwitch(WorkspaceSwitch),
    /// What [`SearchSwitch`] lists.
    SearchSwitch(SearchSwitch),
    /// What [`HandshakeSwitch`] lists.
    HandshakeSwitch(HandshakeSwitch),
    /// What [`SessionSwitch`] lists.
    SessionSwitch(SessionSwitch),
    /// What [`CallSwitch`] lists.
    CallSwitch(CallSwitch),
    /// What [`OutcomeSwitch`] lists.
    OutcomeSwitch(OutcomeSwitch),
    /// What [`MessageSwitch`] lists.
    MessageSwitch(MessageSwitch),
    /// What [`TriggerSwitch`] lists.
    TriggerSwitch(TriggerSwitch),
    /// What [`ReportSwitch`] lists.
    ReportSwitch(ReportSwitch),
    /// What [`AgentSwitch`] lists.
    AgentSwitch(AgentSwitch),
}

includes!(AgentEffect: Socket(SocketEffect), SocketSwitch(SocketSwitch));
switches!(
    AgentEffect:
    DiscoverySwitch, WorkspaceSwitch, SearchSwitch, HandshakeSwitch, SessionSwitch, CallSwitch, OutcomeSwitch,
    MessageSwitch, TriggerSwitch, ReportSwitch, AgentSwitch,
);

/// The deviations that are switched on.
pub type Deviations = crate::peer::deviation::Deviations<AgentEffect>;

/// Every flaw and freedom of the reference client, in the order of the areas.
pub static TABLE: LazyLock<DeviationTable<AgentEffect>> = LazyLock::new(|| {
    DeviationTable::new("amp-client")
        .with_flaws(connection::DISCOVERY_FLAWS)
        .with_flaws(connection::CONNECTION_FLAWS)
        .with_shared_flaws(websocket::SENDING)
        .with_shared_flaws(websocket::TAKING)
        .with_flaws(connection::FRAMING_FLAWS)
        .with_flaws(connection::FRAME_FLAWS)
        .with_flaws(messages::ENVELOPE_FLAWS)
        .with_flaws(messages::METHODS_FLAWS)
        .with_flaws(messages::NOTIFICATIONS_FLAWS)
        .with_flaws(messages::ROBUSTNESS_FLAWS)
        .with_freedoms(FREEDOMS)
});

pub const FREEDOMS: &[FreedomRow<AgentEffect>] = &[
    freedom!("connects-at-first-call" "It connects when the first call comes."
        SearchSwitch::AtFirstCall.on()),
    freedom!("connects-again-at-next-call" "After its connection has ended it connects again when the next call comes."
        SearchSwitch::AtNextCall.on()),
    freedom!("does-not-come-back" CLI ["lifecycle/client-connects-again", "lifecycle/client-reconnects"]
        "After its connection has ended it looks for no other." SearchSwitch::ConnectsOnce.on()),
    freedom!("probes-by-handshake" "Before it connects, it looks whether the editor lets it in, and leaves."
        HandshakeSwitch::ProbesHandshake.on()),
    freedom!("authenticates-first" CLI "Each of its connections begins with `authenticate`."
        CallSwitch::Authenticates.on()),
    freedom!("leaves-late" "It ends its connection with a call that it gives up, and makes another."
        CallSwitch::LeavesLate.on()),
    freedom!("token-as-it-is" GUIDE ["connection/client-token-encoded"] "The token is shown as the lockfile has it."
        HandshakeSwitch::TokenNotEncoded.on()),
    freedom!("token-of-form" GUIDE "A space in the token is shown as a plus sign, as in the fields of a form."
        AgentEffect::Socket(SocketEffect::Asks(|r| r.target = r.target.replace("%20", "+")))),
    freedom!("quoted-ids" "The ids of requests hold quotation marks and backslashes."
        CallSwitch::QuotedIds.on()),
    freedom!("ids-as-numbers" GUIDE ["envelope/client-id-string"] "The ids of requests are numbers."
        CallSwitch::NumericIds.on()),
    freedom!("wrapped-results" "Results stand beside what its own API says of them." AgentEffect::Line(|line| {
        if let Some(result) = line.get_mut("result") {
            *result = json!({"value": result.take(), "fromCache": false});
        }
    })),
    freedom!("ipv4-only" CLI ["connection/client-ipv6"] "It connects to 127.0.0.1 only."
        HandshakeSwitch::Ipv4Only.on()),
    freedom!("uuid-ids" "The ids of requests are UUIDs." CallSwitch::UuidIds.on()),
    freedom!("essence" "Of a result only what matters is reported: the content, whether it succeeded."
        OutcomeSwitch::Essence.on()),
    freedom!("no-states" "It does not say how it stands with its editor." ReportSwitch::NoStates.on()),
    freedom!("probes-port" "Before it connects, it looks whether the port accepts." HandshakeSwitch::ProbesPort.on()),
    freedom!("junk" "It says more than calls need, on stdout and stderr." AgentSwitch::Junk.on()),
    freedom!("pongs-late" "Pings are answered after a while." SessionSwitch::PongsLate.on()),
    freedom!("sends-pings" "It sends pings of its own." SessionSwitch::SendsPings.on()),
    freedom!("removes-dead" "It removes lockfiles of processes that have ended."
        DiscoverySwitch::RemovesDead.on()),
    freedom!("late-reconnect" "After a connection has ended it waits for a second before it connects again."
        SearchSwitch::LateReconnect.on()),
    freedom!("absolute-target" "The target of its handshake is an absolute URI." AgentEffect::Socket(SocketEffect::Asks(|r| {
        let host = r.headers.iter().find(|(name, _)| name == "Host").and_then(|(_, host)| host.as_deref()).unwrap_or("127.0.0.1");
        r.target = format!("http://{host}{}", r.target);
    }))),
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
    freedom!("keys-beside" CLI "Requests have keys that nobody knows beside the id and the method."
    AgentEffect::Request(|r| if let Some(request) = r.get_mut("clientRequest") {
        request["jsonrpc"] = "2.0".into();
        request["meta"] = json!({"sequence": 7});
    })),
    freedom!("leaves-with-1001" "It closes its connection with the code 1001." SessionSwitch::LeavesWith(1001).on()),
    freedom!("leaves-without-code" "It closes its connection without a code."
        SessionSwitch::LeavesWithoutCode.on()),
    freedom!("failures-as-errors" "What the editor could not do is reported as an error without a code."
        OutcomeSwitch::FailuresAsErrors.on()),
    freedom!("errors-in-words" "Errors are reported by a message only."
    AgentEffect::Line(|line| if let Some(Value::Object(error)) = line.get_mut("error") {
        error.remove("code");
    })),
];

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        crate::peer::deviation::fits_the_catalogue("amp-client", &[]);
    }
}
