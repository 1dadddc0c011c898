//! The hooks of a client for flaws and freedoms: what each of them can change.
//!
//! Most effects are data: functions that rewrite parameters, a request, its text, the handshake or a frame on their way
//! out, or what is reported to the user. The rest are [`Switch`]es, queried at the one place where the behaviour is
//! decided.

use std::sync::LazyLock;

use serde_json::Value;

use crate::peer::deviation::websocket::{self, SocketEffect, SocketSwitch};
use crate::peer::deviation::{DeviationTable, includes};
use crate::protocol::amp::editions::Method;

use super::flaws::{connection, messages};
use super::freedoms::FREEDOMS;

/// The effect of a flaw or freedom.
#[derive(Clone, Copy, Debug)]
pub enum AgentEffect {
    /// Queried where the behaviour is decided.
    Switch(Switch),
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
}

includes!(AgentEffect: Switch(Switch), Socket(SocketEffect), SocketSwitch(SocketSwitch));

/// A trigger that makes a fragile client hang or die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    BadJson,
    DeepJson,
    BadEnvelope,
    WrongTypes,
    UnknownNotification,
    Binary,
    HugeMessage,
    BadFrame,
    HugeLength,
    HalfFrame,
    Cut,
    HugeHead,
    Flood,
}

/// Faults of a response to the handshake that a lax client overlooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchecked {
    Accept,
    Upgrade,
    Connection,
    Extension,
    Subprotocol,
}

/// Behaviour that is decided by a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    // Finding an editor.
    IgnoresHome,
    IgnoresXdg,
    IgnoresAmpDataHome,
    LooksElsewhere,
    PortFromName,
    IgnoresPid,
    BlockedByTorn,
    BlockedByIncomplete,
    TakesIncomplete,
    RefusesExtraKeys,
    BlockedByForeignFiles,
    RemovesLockfile,
    FirstOnly,
    RangeOnly,
    AnyWorkspace,
    NotAround,
    NotInside,
    ComparesTexts,
    FirstFolderOnly,
    ExactNotPreferred,
    LinksNotFollowed,
    // Connecting.
    TokenNotEncoded,
    Ipv4Only,
    HeadersByCase,
    ConnectionExact,
    RefusesHeaders,
    ReasonExact,
    OneSegmentHead,
    LosesFramesAtOnce,
    HangsAtRefusal,
    HandshakeUnbounded,
    Unchecked(Unchecked),
    WaitsForever,
    Hammers,
    NeverQuits,
    ConnectsOnce,
    RemembersEditor,
    // Frames.
    NoPongWhileOpen,
    LeavesSilently,
    // Requests and responses.
    OneId,
    NumericIds,
    Greets,
    Repeats,
    Serial,
    InOrder,
    TakesLate,
    TakesTwice,
    TakesUnknown,
    KeepsOpen,
    NoTimeout,
    ErrorsAsResults,
    ErrorsWithDataAsResults,
    NothingAsResult,
    OtherMethods,
    WrongTypes,
    OnlyCompact,
    Strict,
    AbsolutePathsOnly,
    SuccessAnyway(Method),
    EmptyIsFailure(Method),
    // Notifications.
    HoldsWhileOpen,
    SwapsNotifications,
    // Robustness.
    HangsAfter(Trigger),
    DiesAfter(Trigger),
    ClosesAfter(Trigger),
    // Freedoms.
    AtFirstCall,
    AtNextCall,
    ProbesHandshake,
    QuotedIds,
    UuidIds,
    Essence,
    NoStates,
    Probes,
    Junk,
    PongsLate,
    SendsPings,
    RemovesDead,
    LateReconnect,
    LeavesWith(u16),
    LeavesWithoutCode,
    FailuresAsErrors,
}

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

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        crate::peer::deviation::fits_the_catalogue("amp-client", &[]);
    }
}
