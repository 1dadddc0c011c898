//! How far a session is with its prompt: told by its events, or by its status where nothing is told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::peer::asking::one;
use crate::peer::{PeerError, Setting};
use crate::trace::{Clock, Recorder};
use crate::wire::http::Request;

use super::PROVES;
use super::request::below;
use super::segment;

/// How long an agent may take for what is awaited.
const LONGEST: Duration = Duration::from_secs(60);
/// How often the status is asked for.
const LOOK: Duration = Duration::from_millis(200);

/// The step `await_session`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AwaitStep {
    session_id: String,
    until: Until,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    Working,
    Telling,
    Over,
}

/// What was told of the prompts of sessions. Clones share it.
#[derive(Clone, Default)]
pub struct Progress(Arc<Shared>);

#[derive(Default)]
struct Shared {
    sessions: Mutex<HashMap<String, SessionProgress>>,
    changed: Notify,
}

/// How far a session is, by its events.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct SessionProgress {
    begun: bool,
    telling: bool,
    over: bool,
}

impl Progress {
    /// Takes note of an event of a session.
    pub fn told(&self, session: &str, message: &Value) {
        let Some(name) = message.get("event").and_then(Value::as_str) else { return };
        let mut sessions = self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let stage = sessions.entry(session.to_owned()).or_default();
        let work = ["content_block:", "thinking:", "tool:", "status:"].iter().any(|kind| name.starts_with(kind));
        stage.telling |= work;
        stage.begun |= work || name == "prompt:submit" || name.starts_with("approval:");
        stage.over |= name == "prompt:complete" || name == "session:end";
        drop(sessions);
        self.0.changed.notify_waiters();
    }

    fn of(&self, session: &str) -> SessionProgress {
        let sessions = self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(session).copied().unwrap_or_default()
    }

    /// Waits until a session is as far as a step wants.
    ///
    /// # Errors
    /// [`PeerError::Lacking`] where it never is: the prompt is over too soon, or nothing is told of it.
    pub async fn awaited(&self, step: &AwaitStep, setting: &Setting) -> Result<(), PeerError> {
        let deadline = Instant::now() + setting.longest.map_or(LONGEST, |longest| longest.min(LONGEST));
        loop {
            let changed = self.0.changed.notified();
            let stage = self.of(&step.session_id);
            match step.until {
                Until::Telling if stage.telling => return Ok(()),
                Until::Telling if stage.over => {
                    return Err(lacking("nothing is told of the prompt while it is worked on"));
                }
                Until::Working if stage.over => return Err(lacking("the prompt is complete too soon")),
                Until::Working if stage.begun => return Ok(()),
                Until::Over if stage.over => return Ok(()),
                _ => {}
            }
            let status = status(setting, &step.session_id).await;
            match (step.until, status.as_deref()) {
                (Until::Working, Some("processing" | "awaiting_approval")) => return Ok(()),
                (Until::Over, Some("error" | "stopped")) => return Ok(()),
                // One that is idle may not have begun.
                (Until::Over, Some("idle")) if stage.begun => return Ok(()),
                // Whether it comes to its end is for the steps that follow.
                (Until::Over, _) if Instant::now() >= deadline => return Ok(()),
                (_, Some("error" | "stopped")) => return Err(lacking("the prompt comes to no end")),
                _ if Instant::now() >= deadline => {
                    return Err(lacking("nothing shows that the prompt is worked on"));
                }
                _ => _ = timeout(LOOK, changed).await,
            }
        }
    }
}

fn lacking(what: &str) -> PeerError {
    PeerError::Lacking(format!(
        "{what}; describe a prompt that is worked on for some seconds, and told of all the time"
    ))
}

/// The status that a session says it has. The look is no part of the play, and in no trace.
async fn status(setting: &Setting, session: &str) -> Option<String> {
    let quiet = Setting { recorder: Recorder::new(Clock::start(), vec![]), patience: LOOK * 5, ..setting.clone() };
    let target = format!("/sessions/{}", segment(session));
    let asked = one(&quiet, PROVES, "getSession", |url| Request::new("GET", below(url, &target))).await;
    let message = asked.ok()?.message?;
    message.value()?.get("status")?.as_str().map(str::to_owned)
}
