//! The hooks of an editor for flaws and freedoms: what each of them can change.
//!
//! Most effects of a deviation are data: a function that rewrites a body, a
//! message, a lockfile, a handshake's head or a frame on its way out. The rest are [`Switch`]es, queried at the one
//! place where the behaviour is decided.

use std::ops::{Deref, DerefMut};
use std::sync::{LazyLock, Mutex, PoisonError};

use serde_json::Value;

use crate::peer::deviation::websocket::{self, SocketEffect, SocketSwitch};
use crate::peer::deviation::{DeviationTable, Deviations, Includes, includes};
use crate::protocol::amp::editions::{Method, NotificationKind};

use super::flaws::{connection, methods, notifications};
use super::freedoms::FREEDOMS;

/// The unit in which columns are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnUnit {
    /// Unicode characters.
    #[default]
    Characters,
    /// Bytes of UTF-8.
    Bytes,
    /// Code units of UTF-16.
    Utf16,
}

/// The effect of a flaw or freedom.
#[derive(Clone, Copy, Debug)]
pub enum EditorEffect {
    /// Queried where the behaviour is decided.
    Switch(Switch),
    /// Rewrites what goes over a WebSocket.
    Socket(SocketEffect),
    /// Queried where an end of a WebSocket decides.
    SocketSwitch(SocketSwitch),
    /// Rewrites a result, an error or a notification's data.
    Body(MessageFilter, fn(&mut Value)),
    /// Rewrites a whole message.
    Message(MessageFilter, fn(&mut Value)),
    /// Rewrites the content of the lockfile.
    Lockfile(fn(&mut Value)),
}

includes!(EditorEffect: Switch(Switch), Socket(SocketEffect), SocketSwitch(SocketSwitch));

/// Which messages an effect concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageFilter {
    /// All messages.
    Any,
    /// Responses of every kind.
    Response,
    /// Results that say nothing of a failure, of every method or of one.
    Success(Option<Method>),
    /// Results with `success: false`, of one method.
    Failure(Method),
    /// Errors.
    Error,
    /// Notifications of every topic or of one.
    Notification(Option<NotificationKind>),
}

/// A trigger that makes a fragile server stop serving everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    BadJson,
    BadEnvelope,
    BadParams,
    Binary,
    DeepJson,
    HugeMessage,
    BadFrame,
    HugeLength,
    HalfFrame,
    Reset,
    BadHandshake,
    HugeHead,
    Flood,
}

/// Faults of a handshake request that a lax server overlooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlookedFault {
    Method,
    HttpVersion,
    Key,
    Version,
}

/// How a handshake request with the right token is answered where it is not accepted as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpgradeFlaw {
    ServerError,
    Redirect,
    Page,
    Nothing,
    HangUp,
    HalfHead,
    Nonsense,
}

impl UpgradeFlaw {
    /// Every way.
    pub const ALL: [Self; 7] =
        [Self::ServerError, Self::Redirect, Self::Page, Self::Nothing, Self::HangUp, Self::HalfHead, Self::Nonsense];
}

/// How a connection ends instead of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakdown {
    /// In the middle of the frame with a response.
    InFrame,
    /// The TCP connection ends by FIN, without a close frame.
    Fin,
    /// The TCP connection is reset.
    Reset,
    /// A close frame with this code is sent.
    Close(u16),
}

/// Behaviour that is decided by a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    // Lockfile and life.
    LockfileElsewhere,
    LockfileName,
    LockfileTorn,
    LockfileLeft,
    LockfileEmpty,
    IgnoresHome,
    IgnoresXdg,
    IgnoresAmpDataHome,
    ShortToken,
    SameToken,
    PlainToken,
    BlockedByOwnTrace,
    BlockedByLockfiles,
    RemovesOtherLockfiles,
    NoGoingAway,
    ListensElsewhere,
    // Handshake.
    RefusesRightToken,
    Upgrade(UpgradeFlaw),
    TokenNotDecoded,
    TokenOwnEncodingOnly,
    AcceptsWrongToken,
    AcceptsTokenPrefix,
    AcceptsMissingToken,
    AcceptsEmptyToken,
    RefusesSilently,
    WholeQueryIsToken,
    OneConnection,
    OneClient,
    EightClients,
    RefusesSubprotocols,
    RefusesExtensions,
    HeadersByCase,
    ConnectionExact,
    OneSegmentHead,
    Overlooks(OverlookedFault),
    AnswersHttpWithPage,
    HangsUpOnBadHandshake,
    VersionNotTold,
    HandshakeBlocksOthers,
    AnswersOneAtATime,
    // Refusals that are as good as the default one.
    Refuse400,
    Refuse403,
    RefuseAfterAccept,
    // Frames.
    NeverReads,
    Breaks(Breakdown),
    KeepsTcpOpen,
    // Requests.
    AnswersTwice,
    AnswersEverybody,
    IdsAcrossConnections,
    LastOfPipelined,
    FailuresUnanswered,
    UnknownUnanswered,
    UnknownSucceeds,
    MissingParamSucceeds,
    WrongParamSucceeds,
    NoMethodUnanswered,
    NoMethodSucceeds,
    RefusesExtraKeys,
    OnlyCompactRequests,
    AsciiRequests,
    EscapesKept,
    SlowAnswers,
    SlowPings,
    HundredRequests,
    ClosesOnBadJson,
    ClosesOnBadEnvelope,
    ClosesOnBadParams,
    Dies,
    HangsAfter(Trigger),
    // Methods.
    PingOneLine,
    AuthenticateRefuses,
    AuthenticateAccepts,
    DiskOnly,
    OpenOnly,
    OpenFails,
    PartialName(Method),
    DecodesNames(Method),
    LossyBytes,
    MissingIsEmpty,
    DirectoryIsListed,
    BadBytesUnanswered,
    ReadTouches,
    CutsAt(usize),
    RefusesEmptyFile,
    BufferOnly,
    DiskButNotBuffer,
    RefusesOverUnsaved,
    FirstEditOnly,
    RefusesEdits,
    EditsNothing,
    EditsEveryMatch,
    RefusesEmptyText,
    RefusesNewFiles,
    MakesFolders,
    LeavesFolders,
    EditsFoldersGladly,
    OffsetsInCharacters,
    EndInclusive,
    EndOfBothKinds,
    KeepsRange,
    DeletesNothing,
    ClampsOffsets,
    CutsCharacters,
    MissingIsMade,
    SwapsOffsets,
    LosesUnicodeOnWrite,
    CrlfToLf,
    CutsWrites,
    NoDiagnostics,
    FirstDiagnosticOnly,
    ErrorWhenNoDiagnostics,
    DiagnosticsOfFilesOnly,
    DiagnosticsOfEverything,
    DiagnosticsOfCurrentOnly,
    OpensRawUri,
    RefusesUris,
    OpensHidden,
    OpensMissing,
    OpensAnyScheme,
    OpensAnything,
    // Notifications.
    Silent(NotificationKind),
    FirstClientOnly(NotificationKind),
    NoSelectionAtFirst,
    NoFilesAtFirst,
    FirstLineOnly,
    DiskContent,
    OnlyOpenings,
    StaysInClosed,
    NeverEmpty,
    // Freedoms.
    OutOfOrder,
    Unhurried,
    EagerEncoding,
    ColumnsIn(ColumnUnit),
    CaretWithLine,
    DropsFinalNewline,
    AddsFinalNewline,
    ErrorsForFailures,
    FailuresForErrors,
    RepeatsNotifications,
    OnlyOpenFiles,
    NoStateAtFirst,
    NoMetadata,
    TakesNumericIds,
    MetadataLate,
    CliRelativePaths,
    OffsetsInLine,
    DiagnosticsByString,
    Heartbeat,
    PingStorm,
    LockfileLate,
    LockfileInTwoWrites,
    QuietOnBadInput,
    HomeOnly,
}

/// The deviations that are switched on, and the flaw that was last asked for.
#[derive(Debug, Default)]
pub struct EditorDeviations {
    on: Deviations<EditorEffect>,
    last_flaw: Mutex<Option<&'static str>>,
}

impl Clone for EditorDeviations {
    fn clone(&self) -> Self {
        self.on.clone().into()
    }
}

impl From<Deviations<EditorEffect>> for EditorDeviations {
    fn from(on: Deviations<EditorEffect>) -> Self {
        Self { on, last_flaw: Mutex::default() }
    }
}

impl Deref for EditorDeviations {
    type Target = Deviations<EditorEffect>;

    fn deref(&self) -> &Self::Target {
        &self.on
    }
}

impl DerefMut for EditorDeviations {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.on
    }
}

impl EditorDeviations {
    /// Whether a behaviour is switched on. If a flaw does that, [`EditorDeviations::last_flaw`] gives its name until
    /// [`EditorDeviations::reset_last_flaw`].
    pub fn has<K: PartialEq>(&self, switch: K) -> bool
    where
        EditorEffect: Includes<K>,
    {
        let Some(deviation) = self.find(switch) else { return false };
        if deviation.flaw {
            self.note_flaw(Some(deviation.name));
        }
        true
    }

    /// The flaw that has been asked for and was on since the last [`EditorDeviations::reset_last_flaw`].
    pub fn last_flaw(&self) -> Option<&'static str> {
        *self.last_flaw.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Resets [`EditorDeviations::last_flaw`].
    pub fn reset_last_flaw(&self) {
        self.note_flaw(None);
    }

    fn note_flaw(&self, flaw: Option<&'static str>) {
        *self.last_flaw.lock().unwrap_or_else(PoisonError::into_inner) = flaw;
    }

    /// The unit in which columns are counted.
    pub fn columns(&self) -> ColumnUnit {
        let unit = |switch| if let Switch::ColumnsIn(unit) = switch { Some(unit) } else { None };
        self.choose(unit).unwrap_or_default()
    }
}

/// Every flaw and freedom of the mock editor, in the order of the areas.
pub static TABLE: LazyLock<DeviationTable<EditorEffect>> = LazyLock::new(|| {
    DeviationTable::new("amp-server")
        .with_flaws(connection::DISCOVERY_FLAWS)
        .with_flaws(connection::CONNECTION_FLAWS)
        .with_shared_flaws(websocket::SENDING)
        .with_shared_flaws(websocket::TAKING)
        .with_flaws(connection::FRAMING_FLAWS)
        .with_flaws(methods::ENVELOPE_FLAWS)
        .with_flaws(methods::METHODS_FLAWS)
        .with_flaws(methods::READ_FILE_FLAWS)
        .with_flaws(methods::EDIT_FILE_FLAWS)
        .with_flaws(notifications::NOTIFICATIONS_FLAWS)
        .with_flaws(notifications::ROBUSTNESS_FLAWS)
        .with_freedoms(FREEDOMS)
});

#[cfg(test)]
mod tests {
    #[test]
    fn flaws_and_freedoms_fit_the_catalogue() {
        crate::peer::deviation::fits_the_catalogue("amp-server", &[]);
    }
}
