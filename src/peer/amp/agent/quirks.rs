//! The hooks of a client for flaws and freedoms: what each of them can change.
//!
//! Most effects are data: functions that rewrite parameters, a request, its text, the handshake or a frame on their way
//! out, or what is reported to the user. The rest are [`Switch`]es, queried at the one place where the behaviour is
//! decided.

use serde_json::Value;

use crate::peer::amp::assembler::FrameFault;
use crate::protocol::amp::names::Method;
use crate::wire::websocket::{ClientRequest, FrameSpec};

/// A flaw or freedom that is switched on.
pub type Quirk = crate::peer::quirks::Quirk<AgentEffect>;

/// The effect of a quirk.
#[derive(Clone, Copy, Debug)]
pub enum AgentEffect {
    /// Queried where the behaviour is decided.
    Switch(Switch),
    /// Rewrites the handshake's request.
    Handshake(fn(&mut ClientRequest)),
    /// Rewrites the parameters of requests, of every method or of one.
    Params(Option<Method>, fn(&mut Value)),
    /// Rewrites a whole request.
    Request(fn(&mut Value)),
    /// Rewrites the text of a request.
    Text(fn(&mut Vec<u8>)),
    /// Rewrites a frame to what is sent instead.
    Frame(AgentFrameKind, fn(FrameSpec) -> Vec<FrameSpec>),
    /// Rewrites what is reported of a result, of every method or of one.
    Result(Option<Method>, fn(&mut Value)),
    /// Rewrites what is reported of a notification, by its name; none is not reported.
    Reported(fn(&str, Value) -> Option<Value>),
    /// Rewrites the bytes of a message that came.
    Incoming(fn(&mut Vec<u8>)),
    /// Rewrites a line on its way out.
    Line(fn(&mut Value)),
}

/// Which frames an effect concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentFrameKind {
    /// Frames that carry a request.
    Request,
    /// Pongs.
    Pong,
    /// Close frames.
    Close,
}

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
    Tolerates(FrameFault),
    DeafBeyond(u64),
    RefusesFragments,
    ChecksFragmentsAlone,
    ForgetsAtControl,
    LosesSplitFrames,
    LosesJoinedFrames,
    NoPong,
    NoPongWhileOpen,
    ClosesOnPong,
    CloseNotAnswered,
    AnswersCloseWith1000,
    LeavesSilently,
    WrongFailureCode,
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

/// The quirks that are switched on.
pub type Quirks = crate::peer::quirks::Quirks<AgentEffect>;

impl Quirks {
    /// Whether a behaviour is switched on.
    pub fn has(&self, switch: Switch) -> bool {
        self.any(|effect| matches!(effect, AgentEffect::Switch(s) if s == switch))
    }

    /// The name of the flaw that switches a behaviour on, if one does: the reason to give in our own trace.
    pub fn why(&self, switch: Switch) -> Option<&'static str> {
        self.iter().find(|q| q.flaw && matches!(q.effect, AgentEffect::Switch(s) if s == switch)).map(|q| q.name)
    }

    /// The first switch for which `choose` gives something.
    pub fn choose<T>(&self, choose: impl Fn(Switch) -> Option<T>) -> Option<T> {
        self.choose_effect(|effect| if let AgentEffect::Switch(switch) = effect { choose(switch) } else { None })
    }
}
