//! One connection of a client.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::peer::PeerError;
use crate::peer::amp::client::params::wrong;
use crate::protocol::amp::PROBE;
use crate::wire::websocket::{FrameSpec, Piece, SendError, SendOptions, Sender};

/// A connection, and what the editor knows of it.
pub struct Connection {
    sender: Sender,
    editor: String,
    /// The status with which the client was refused, if it was.
    refused: Option<u16>,
    /// What we did to end it, if we did.
    ended: Mutex<Option<String>>,
    /// Whether anything was wrong with it on purpose: then a client may end it.
    soiled: AtomicBool,
    /// Whether the client has sent a message, or a step has used it.
    used: AtomicBool,
    /// The number of the last barrier.
    barriers: AtomicU64,
    /// The payload of the last pong that answers a barrier.
    pong: watch::Receiver<String>,
}

impl Connection {
    /// A connection of this editor's. `refused` is the status with which the client was refused, if it was; `soiled`
    /// says whether the connection was made in a wrong way on purpose.
    pub fn new(
        sender: Sender,
        editor: String,
        refused: Option<u16>,
        soiled: bool,
        pong: watch::Receiver<String>,
    ) -> Self {
        Self {
            sender,
            editor,
            refused,
            ended: Mutex::new(None),
            soiled: AtomicBool::new(soiled),
            used: AtomicBool::new(false),
            barriers: AtomicU64::new(0),
            pong,
        }
    }

    /// Its name.
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
                || self.soiled.load(Ordering::Relaxed)
                || self.ended.lock().unwrap_or_else(PoisonError::into_inner).is_some()
        };
        !ours() && timeout(within, self.sender.ended()).await.is_ok() && !ours()
    }

    /// Whether a step can do anything on it.
    ///
    /// # Errors
    /// [`PeerError::Scenario`] where an earlier step ended it, [`PeerError::Subject`] where the client did, or was refused.
    pub fn usable(&self, verb: &str) -> Result<(), PeerError> {
        let name = self.name();
        if let Some(how) = self.ended.lock().unwrap_or_else(PoisonError::into_inner).as_deref() {
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
        if self.sender.has_ended() && !self.soiled.load(Ordering::Relaxed) {
            let message = format!("`{verb}`: the client has ended connection `{name}`");
            return Err(PeerError::Subject { message, proves: None, expected: None, actual: None });
        }
        Ok(())
    }

    /// Sends all of it at once, so many times. A client that goes meanwhile swallows the rest: what that means is for the
    /// expectations to say.
    pub async fn transmit(&self, pieces: &[Piece], manner: &SendOptions, times: u64) -> Result<(), PeerError> {
        if manner.deliberate.is_some() {
            self.soiled.store(true, Ordering::Relaxed);
        }
        for _ in 0..times {
            match self.sender.send_all(pieces, manner).await {
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

    /// Ends it since its editor ends: with a close frame where that is still possible, for the answer to which the
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
    pub async fn die(&self, why: &str) {
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
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let before = ended.is_some();
        ended.get_or_insert_with(|| how.to_owned());
        before
    }
}
