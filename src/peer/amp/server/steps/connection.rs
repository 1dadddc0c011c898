//! One connection of a client, and the registry of all of them by name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::peer::PeerError;
use crate::peer::params::wrong;
use crate::protocol::amp::PROBE;
use crate::wire::websocket::{FrameSpec, Piece, SendError, SendOptions, Sender};

/// A connection, and what the editor knows of it.
pub struct StepConnection {
    sender: Sender,
    editor: String,
    /// The status with which the client was refused, if it was.
    refused: Option<u16>,
    /// The way in which we ended the connection, if we did.
    ended: Mutex<Option<String>>,
    /// Whether anything was wrong with it on purpose: then a client may end it.
    tainted: AtomicBool,
    /// Whether the client has sent a message, or a step has used it.
    used: AtomicBool,
    /// The number of the last barrier.
    barriers: AtomicU64,
    /// The payload of the last pong that answers a barrier.
    pong: watch::Receiver<String>,
}

impl StepConnection {
    /// A connection of this editor's. `refused` is the status with which the client was refused, if it was; `soiled`
    /// says whether the connection was made in a wrong way on purpose.
    pub fn new(
        sender: Sender,
        editor: String,
        refused: Option<u16>,
        tainted: bool,
        pong: watch::Receiver<String>,
    ) -> Self {
        Self {
            sender,
            editor,
            refused,
            ended: Mutex::new(None),
            tainted: AtomicBool::new(tainted),
            used: AtomicBool::new(false),
            barriers: AtomicU64::new(0),
            pong,
        }
    }

    /// The name of the connection.
    pub fn name(&self) -> &str {
        self.sender.conn()
    }

    /// The name of its editor.
    pub fn editor(&self) -> &str {
        &self.editor
    }

    /// The client has sent a message, or a step uses it: it is no probe.
    pub fn note_use(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// Whether the client has ended it, or does so within this time, unused and without a reason of ours: it only
    /// tried whether it would be let in.
    pub async fn was_probe(&self, within: Duration) -> bool {
        let ours = || {
            self.refused.is_some()
                || self.used.load(Ordering::Relaxed)
                || self.tainted.load(Ordering::Relaxed)
                || self.ended.lock().is_some()
        };
        !ours() && timeout(within, self.sender.ended()).await.is_ok() && !ours()
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.sender.has_ended()
    }

    /// Whether a step can do anything on it.
    ///
    /// # Errors
    /// [`PeerError::Scenario`] where an earlier step ended it, [`PeerError::Subject`] where the client did, or was refused.
    pub fn usable(&self, verb: &str) -> Result<(), PeerError> {
        let name = self.name();
        if let Some(how) = self.ended.lock().as_deref() {
            return Err(wrong(verb, format!("connection `{name}` has been ended by {how}")));
        }
        if let Some(status) = self.refused {
            return Err(PeerError::Subject {
                message: format!("`{verb}`: the client was not let in on connection `{name}`"),
                proves: None,
                expected: Some(json!("a handshake that is answered with 101")),
                actual: Some(json!(status)),
            });
        }
        if self.sender.has_ended() && !self.tainted.load(Ordering::Relaxed) {
            let message = format!("`{verb}`: the client has ended connection `{name}`");
            return Err(PeerError::Subject { message, proves: None, expected: None, actual: None });
        }
        Ok(())
    }

    /// Sends all of it at once, so many times. A client that goes meanwhile swallows the rest: what that means is for the
    /// expectations to say.
    pub async fn transmit(&self, pieces: &[Piece], options: &SendOptions, times: u64) -> Result<(), PeerError> {
        if options.deliberate.is_some() {
            self.tainted.store(true, Ordering::Relaxed);
        }
        for _ in 0..times {
            match self.sender.send_all(pieces, options).await {
                Ok(()) => {}
                Err(SendError::Ended { .. } | SendError::Gone { .. }) => return Ok(()),
                // While we read nothing, a client that waits for us to read is in its right.
                Err(SendError::Stuck { .. }) if !self.sender.options().read => return Ok(()),
                Err(e @ SendError::Stuck { .. }) => {
                    let message = e.to_string();
                    return Err(PeerError::Subject { message, proves: None, expected: None, actual: None });
                }
            }
        }
        Ok(())
    }

    /// Sends a close frame, and waits so long for the client to answer it and end the connection. Then it is ended.
    pub async fn close(&self, frame: FrameSpec, deliberate: Option<&str>, within: Duration) -> Result<(), PeerError> {
        self.note("`close`");
        let piece = Piece::Frame { spec: frame, cut: None };
        self.transmit(&[piece], &SendOptions::deliberate(deliberate), 1).await?;
        if self.sender.options().read {
            let _ = timeout(within, self.sender.ended()).await;
        }
        Ok(())
    }

    /// Ends our side of the TCP connection without a close frame.
    pub async fn hang_up(&self, why: &str) {
        self.note("`drop`");
        self.sender.shutdown_deliberately(why).await;
    }

    /// Cuts the TCP connection.
    pub async fn cut(&self, why: &str) {
        self.note("`drop`");
        self.sender.reset(Some(why)).await;
    }

    /// Ends it since its editor ends: with a close frame where that is still possible, for the response to which the
    /// client has so long.
    pub async fn leave(&self, within: Duration) {
        let ended_before = self.note("the end of its editor");
        let open = !ended_before && self.refused.is_none() && !self.sender.has_ended();
        if open && self.sender.options().read {
            // Where it cannot be sent any more, the connection is as good as ended.
            let _ = self.sender.send(&FrameSpec::close(Some(1001), "the editor quits"), None).await;
        }
        let _ = timeout(within, self.sender.ended()).await;
        self.sender.shutdown().await;
    }

    /// Cuts it since its editor was killed.
    pub async fn cut_for_kill(&self, why: &str) {
        self.note("the end of its editor");
        self.sender.reset(Some(why)).await;
    }

    /// Returns once the client has answered a ping that was sent after everything else, or nothing more can come.
    pub async fn barrier(&self, within: Duration) -> Result<(), PeerError> {
        if self.sender.has_ended() {
            return Ok(());
        }
        if !self.sender.options().read {
            return Err(PeerError::Unable(format!("nothing is read on connection `{}`", self.name())));
        }
        let payload = format!("{PROBE}barrier-{}", self.barriers.fetch_add(1, Ordering::Relaxed) + 1);
        let ping = Piece::Frame { spec: FrameSpec::ping(payload.clone()), cut: None };
        self.transmit(&[ping], &SendOptions::default(), 1).await?;
        let mut pong = self.pong.clone();
        let answered = pong.wait_for(|pong| *pong == payload);
        let passed = tokio::select! {
            answered = timeout(within, answered) => answered.is_ok(),
            () = self.sender.ended() => true,
        };
        if passed {
            return Ok(());
        }
        Err(PeerError::Subject {
            message: format!(
                "a ping that was sent on connection `{}` to see whether the client has received everything before it \
                was not answered within {within:?}",
                self.name()
            ),
            proves: Some("framing/client-pong".to_owned()),
            expected: None,
            actual: None,
        })
    }

    /// Returns once nothing more can come.
    #[cfg(test)]
    pub async fn ended_by_client(&self) {
        self.sender.ended().await;
    }

    /// Remembers how it was ended. Gives whether it had been before.
    fn note(&self, how: &str) -> bool {
        let mut ended = self.ended.lock();
        let before = ended.is_some();
        ended.get_or_insert_with(|| how.to_owned());
        before
    }
}

/// The connections of all editors of a play.
pub struct ConnectionRegistry {
    connections: watch::Sender<BTreeMap<String, Arc<StepConnection>>>,
    /// Connections on which nothing was sent.
    probes: AtomicU64,
}

impl Default for ConnectionRegistry {
    fn default() -> Self {
        Self { connections: watch::Sender::new(BTreeMap::new()), probes: AtomicU64::new(0) }
    }
}

impl ConnectionRegistry {
    /// Enters a connection, in place of an earlier one of its name.
    pub fn enter(&self, connection: Arc<StepConnection>) {
        self.connections.send_modify(|all| {
            all.insert(connection.name().to_owned(), connection);
        });
    }

    /// The connection of this name, for which the client has so long.
    pub async fn wait(&self, name: &str, within: Duration) -> Option<Arc<StepConnection>> {
        let mut connections = self.connections.subscribe();
        let there = connections.wait_for(|all| all.contains_key(name));
        let all = timeout(within, there).await.ok()?.ok()?;
        all.get(name).cloned()
    }

    /// The connection that takes the name of this one, for which the client has so long.
    pub async fn wait_after(&self, before: &Arc<StepConnection>, within: Duration) -> Option<Arc<StepConnection>> {
        let mut connections = self.connections.subscribe();
        let name = before.name();
        let there = connections.wait_for(|all| all.get(name).is_some_and(|now| !Arc::ptr_eq(now, before)));
        let all = timeout(within, there).await.ok()?.ok()?;
        all.get(name).cloned()
    }

    /// The connection of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<Arc<StepConnection>> {
        self.connections.borrow().get(name).cloned()
    }

    /// The connections for which this holds.
    pub fn all(&self, wanted: impl Fn(&StepConnection) -> bool) -> Vec<Arc<StepConnection>> {
        self.connections.borrow().values().filter(|connection| wanted(connection)).cloned().collect()
    }

    /// Forgets the connections for which this holds.
    pub fn forget(&self, unwanted: impl Fn(&StepConnection) -> bool) {
        self.connections.send_modify(|all| all.retain(|_, connection| !unwanted(connection)));
    }

    /// The name of a connection on which nothing was sent.
    pub fn probe(&self) -> String {
        format!("probe-{}", self.probes.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// The names of an editor's connections, over all its restarts.
pub struct ConnectionNames {
    given: Vec<String>,
    taken: Mutex<usize>,
}

impl ConnectionNames {
    /// `given` is the editor's own name, and those of its further connections.
    pub fn new(given: Vec<String>) -> Self {
        Self { given, taken: Mutex::new(0) }
    }

    /// The editor's name.
    pub fn first(&self) -> &str {
        self.given.first().map(String::as_str).unwrap_or_default()
    }

    /// The name of the connection that comes next. Once no more are given, the n-th is called after the editor and n.
    pub fn next(&self) -> String {
        let mut taken = self.taken.lock();
        *taken += 1;
        self.name(*taken - 1)
    }

    /// The name of the connection before which so many came.
    fn name(&self, at: usize) -> String {
        self.given.get(at).cloned().unwrap_or_else(|| format!("{}-{}", self.first(), at + 1))
    }

    /// The name that was given last, if one was.
    pub fn last(&self) -> Option<String> {
        let taken = *self.taken.lock();
        taken.checked_sub(1).map(|at| self.name(at))
    }

    /// Gives the name that was given last to the next connection as well.
    pub fn take_back(&self) {
        let mut taken = self.taken.lock();
        *taken = taken.saturating_sub(1);
    }

    /// Whether a connection could have this name.
    pub fn may_give(&self, name: &str) -> bool {
        let counted = name.strip_prefix(self.first()).and_then(|rest| rest.strip_prefix('-')?.parse::<usize>().ok());
        self.given.iter().any(|given| given == name) || counted.is_some_and(|n| n > self.given.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_named_as_given_and_then_counted() {
        let names = ConnectionNames::new(vec!["ed".into(), "again".into()]);
        assert_eq!([names.next(), names.next(), names.next(), names.next()], ["ed", "again", "ed-3", "ed-4"]);
        let may = |name| names.may_give(name);
        assert_eq!(names.last().as_deref(), Some("ed-4"));
        names.take_back();
        assert_eq!(names.next(), "ed-4", "a connection that came to nothing does not count");
        assert!(may("ed") && may("again") && may("ed-3") && !may("ed-2") && !may("ed-x") && !may("main"));
    }
}
