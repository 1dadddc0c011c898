//! What can be different about an editor: the effects of flaws and freedoms ([`EditorEffect`]), and their [`TABLE`].
//!
//! Most effects are data: functions that rewrite a body, a message, a lockfile, the head of a handshake or a frame on its way
//! out. The rest are switches, listed in the file where the behaviour is decided. Flaws are what real editors get wrong, or
//! might; their tables follow the areas of the requirements.

use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

use parking_lot::Mutex;
use serde_json::Value;

use crate::peer::amp::server::handshake::{HandshakeSwitch, TokenSwitch};
use crate::peer::amp::server::mock::listener::ListenSwitch;
use crate::peer::amp::server::mock::lockfile::LockfileSwitch;
use crate::peer::amp::server::mock::session::SessionSwitch;
use crate::peer::amp::server::shared::SharedSwitch;
use crate::peer::deviation::websocket::{self, SocketEffect, SocketSwitch};
use crate::peer::deviation::{DeviationTable, Deviations, Includes, includes, switches};
use crate::protocol::amp::editions::{Method, NotificationKind};

use self::freedoms::FREEDOMS;
use super::files::{EditSwitch, PathSwitch, ReadSwitch};
use super::methods::{DiagnosticsSwitch, MethodSwitch, OpenUriSwitch};
use super::model::StateSwitch;
use super::outgoing::{FormSwitch, NotificationSwitch};
use super::request::RequestSwitch;
use super::text::ColumnUnit;

mod connection;
mod freedoms;
mod methods;
mod notifications;

/// The effect of a flaw or freedom.
#[derive(Clone, Copy, Debug)]
pub enum EditorEffect {
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
    /// What [`LockfileSwitch`] lists.
    LockfileSwitch(LockfileSwitch),
    /// What [`ListenSwitch`] lists.
    ListenSwitch(ListenSwitch),
    /// What [`TokenSwitch`] lists.
    TokenSwitch(TokenSwitch),
    /// What [`HandshakeSwitch`] lists.
    HandshakeSwitch(HandshakeSwitch),
    /// What [`SessionSwitch`] lists.
    SessionSwitch(SessionSwitch),
    /// What [`SharedSwitch`] lists.
    SharedSwitch(SharedSwitch),
    /// What [`RequestSwitch`] lists.
    RequestSwitch(RequestSwitch),
    /// What [`MethodSwitch`] lists.
    MethodSwitch(MethodSwitch),
    /// What [`DiagnosticsSwitch`] lists.
    DiagnosticsSwitch(DiagnosticsSwitch),
    /// What [`OpenUriSwitch`] lists.
    OpenUriSwitch(OpenUriSwitch),
    /// What [`PathSwitch`] lists.
    PathSwitch(PathSwitch),
    /// What [`ReadSwitch`] lists.
    ReadSwitch(ReadSwitch),
    /// What [`EditSwitch`] lists.
    EditSwitch(EditSwitch),
    /// What [`StateSwitch`] lists.
    StateSwitch(StateSwitch),
    /// What [`NotificationSwitch`] lists.
    NotificationSwitch(NotificationSwitch),
    /// What [`FormSwitch`] lists.
    FormSwitch(FormSwitch),
}

includes!(EditorEffect: Socket(SocketEffect), SocketSwitch(SocketSwitch));
switches!(
    EditorEffect:
    LockfileSwitch, ListenSwitch, TokenSwitch, HandshakeSwitch, SessionSwitch, SharedSwitch, RequestSwitch,
    MethodSwitch, DiagnosticsSwitch, OpenUriSwitch, PathSwitch, ReadSwitch, EditSwitch, StateSwitch, NotificationSwitch,
    FormSwitch,
);

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
        *self.last_flaw.lock()
    }

    /// Resets [`EditorDeviations::last_flaw`].
    pub fn reset_last_flaw(&self) {
        self.note_flaw(None);
    }

    fn note_flaw(&self, flaw: Option<&'static str>) {
        *self.last_flaw.lock() = flaw;
    }

    /// The unit in which columns are counted.
    pub fn columns(&self) -> ColumnUnit {
        let unit = |switch| if let FormSwitch::ColumnsIn(unit) = switch { Some(unit) } else { None };
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
