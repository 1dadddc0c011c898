//! What is known of the sessions of a play: which ones it created, how far their prompts are, and which approvals they
//! require.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::config::Described;
use crate::peer::http::{HttpUrl, Watch, one};
use crate::peer::{PeerError, Setting};
use crate::protocol::amplifier::verbs::{AwaitSession, Decision, SessionStage};
use crate::trace::{Clock, End, Recorder};
use crate::wire::http::{Client, Exchanges, Incoming, Limits, Request};

use super::super::{PROVES, below, segment};

/// How long stopping them may take together. A session that is not gone by then may be listed in the next play.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// How many are stopped at the same time, and at all.
const STOP_CONCURRENCY: usize = 32;
const MAX_SESSIONS: usize = 10_000;

/// Ids of sessions. Clones share them.
#[derive(Clone, Default)]
pub struct CreatedSessions(Arc<Mutex<Vec<CreatedSession>>>);

/// A session, and the label of the request that created it.
struct CreatedSession {
    id: String,
    label: Option<String>,
}

impl CreatedSessions {
    /// The session that the latest request of a label created, if it did.
    pub fn by_label(&self, label: &str) -> Option<String> {
        let all = self.0.lock();
        let found = all.iter().rev().find(|session| session.label.as_deref() == Some(label));
        found.map(|session| session.id.clone())
    }

    /// A text in which the ids of sessions are written as segments of a path.
    pub fn with_encoded_ids(&self, text: String) -> String {
        let all = self.0.lock();
        let differing =
            all.iter().map(|session| (&session.id, segment(&session.id))).filter(|(id, encoded)| *id != encoded);
        differing.fold(text, |text, (id, encoded)| text.replace(id.as_str(), &encoded))
    }

    /// Notes the session that the response to the request of a label creates.
    pub fn watch(&self, label: Option<String>) -> Watch {
        let created = self.clone();
        let mut is_new = false;
        Box::new(move |incoming| match incoming {
            Incoming::Head(head) => is_new = head.status() == Some(201),
            Incoming::Message(message) if is_new => {
                let json = message.value();
                let id = json.as_ref().and_then(|json| json.get("session_id")).and_then(Value::as_str);
                let mut all = created.0.lock();
                if all.len() < MAX_SESSIONS {
                    all.extend(id.map(|id| CreatedSession { id: id.to_owned(), label: label.clone() }));
                }
            }
            _ => {}
        })
    }

    /// Stops all of them, whatever has become of them. It is no part of the play, and in no trace.
    pub async fn stop_all(&self, url: &HttpUrl) {
        let all = std::mem::take(&mut *self.0.lock());
        if all.is_empty() {
            return;
        }
        let untraced = Exchanges::new(Recorder::new(Clock::start(), vec![]), End::Client);
        let client = Client::new(url.address.clone(), untraced, Limits { connect: STOP_TIMEOUT, ..Limits::default() });
        let stop = |id: String| {
            let request = Request::new("DELETE", below(url, &format!("/sessions/{}", segment(&id))));
            let client = client.clone();
            async move {
                if let Ok(exchange) = client.send(None, &request).await {
                    let _ = exchange.whole().await;
                }
            }
        };
        let stopping = async {
            let mut running = JoinSet::new();
            for CreatedSession { id, .. } in all {
                if running.len() == STOP_CONCURRENCY {
                    running.join_next().await;
                }
                running.spawn(stop(id));
            }
            while running.join_next().await.is_some() {}
        };
        let _ = timeout(STOP_TIMEOUT, stopping).await;
        client.close_idle();
    }
}

/// How long an agent may take for what is awaited.
const MAX_WAIT: Duration = Duration::from_secs(60);
/// How often the status is requested.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The progress of the prompts of sessions, by their events. Clones share it.
#[derive(Clone, Default)]
pub struct PromptProgress(Arc<SharedProgress>);

#[derive(Default)]
struct SharedProgress {
    sessions: Mutex<HashMap<String, SessionProgress>>,
    changed: Notify,
}

/// How far a session is, by its events.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct SessionProgress {
    started: bool,
    reporting: bool,
    complete: bool,
    /// When the time is up that the newest approval announced.
    deadline: Option<Instant>,
}

impl PromptProgress {
    /// Notes an event of a session.
    pub fn note_event(&self, session: &str, message: &Value) {
        let Some(name) = message.get("event").and_then(Value::as_str) else { return };
        let mut sessions = self.0.sessions.lock();
        let progress = sessions.entry(session.to_owned()).or_default();
        let work = ["content_block:", "thinking:", "tool:", "status:"].iter().any(|kind| name.starts_with(kind));
        progress.reporting |= work;
        progress.started |= work || name == "prompt:submit" || name.starts_with("approval:");
        progress.complete |= name == "prompt:complete" || name == "session:end";
        let announced =
            message.pointer("/data/timeout").and_then(Value::as_f64).filter(|_| name == "approval:required");
        let announced = announced.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        progress.deadline = announced.and_then(|time| Instant::now().checked_add(time)).or(progress.deadline);
        drop(sessions);
        self.0.changed.notify_waiters();
    }

    /// Notes that a session is given a prompt: where an earlier one is complete, nothing is known of this one yet.
    pub fn note_prompt(&self, session: &str) {
        let mut sessions = self.0.sessions.lock();
        if let Some(progress) = sessions.get_mut(session).filter(|progress| progress.complete) {
            *progress = SessionProgress { deadline: progress.deadline, ..SessionProgress::default() };
        }
    }

    fn session(&self, session: &str) -> SessionProgress {
        let sessions = self.0.sessions.lock();
        sessions.get(session).copied().unwrap_or_default()
    }

    /// Waits until a session is as far as a step wants.
    ///
    /// # Errors
    /// [`PeerError::Lacking`] where it never is: the prompt is over too soon, or there are no events of it.
    pub async fn wait_for(&self, step: &AwaitSession, setting: &Setting) -> Result<(), PeerError> {
        let deadline = Instant::now() + setting.longest.map_or(MAX_WAIT, |longest| longest.min(MAX_WAIT));
        if step.until == SessionStage::TimedOut {
            return self.wait_for_timeout(&step.session_id, deadline).await;
        }
        let mut idle_since = None;
        loop {
            let changed = self.0.changed.notified();
            let progress = self.session(&step.session_id);
            match step.until {
                SessionStage::Telling if progress.reporting => return Ok(()),
                SessionStage::Telling if progress.complete => {
                    return Err(lacking("nothing is told of the prompt while it is worked on"));
                }
                SessionStage::Working if progress.complete => return Err(lacking("the prompt is complete too soon")),
                SessionStage::Working if progress.started => return Ok(()),
                SessionStage::Over if progress.complete => return Ok(()),
                _ => {}
            }
            let status = status(setting, &step.session_id).await;
            let is_idle = status.as_deref() == Some("idle");
            idle_since = is_idle.then(|| idle_since.unwrap_or_else(Instant::now));
            match (step.until, status.as_deref()) {
                (SessionStage::Working, Some("processing" | "awaiting_approval")) => return Ok(()),
                (SessionStage::Over, Some("error" | "stopped" | ENDED)) => return Ok(()),
                // One that is idle may not have begun, or never begins.
                (SessionStage::Over, Some("idle"))
                    if progress.started || idle_since.is_some_and(|since| since.elapsed() >= BEGIN_TIME) =>
                {
                    return Ok(());
                }
                // Whether it comes to its end is for the steps that follow.
                (SessionStage::Over, _) if Instant::now() >= deadline => return Ok(()),
                (_, Some("error" | "stopped" | ENDED)) => return Err(lacking("the prompt comes to no end")),
                _ if Instant::now() >= deadline => {
                    return Err(lacking("nothing shows that the prompt is worked on"));
                }
                _ => _ = timeout(POLL_INTERVAL, changed).await,
            }
        }
    }

    /// Waits until the time is up that the newest approval of a session announced.
    async fn wait_for_timeout(&self, session: &str, latest: Instant) -> Result<(), PeerError> {
        let noted = async {
            loop {
                let changed = self.0.changed.notified();
                if let Some(announced) = self.session(session).deadline {
                    return announced;
                }
                changed.await;
            }
        };
        // An event that was expected just now may not be noted yet.
        match timeout(NOTE_TIME, noted).await {
            Err(_) => Err(PeerError::Lacking("no approval announced its time".to_owned())),
            Ok(announced) if announced > latest => Err(PeerError::Lacking(
                "the time that the approval announced is too long to wait for; describe a prompt `approval_timeout`"
                    .to_owned(),
            )),
            Ok(announced) => {
                tokio::time::sleep_until(announced).await;
                Ok(())
            }
        }
    }
}

/// How long a session may be idle before it begins to work on a prompt; one that is idle for longer never begins.
const BEGIN_TIME: Duration = Duration::from_secs(5);

/// How long an event may take to be noted once it is recorded.
const NOTE_TIME: Duration = Duration::from_secs(1);

fn lacking(what: &str) -> PeerError {
    PeerError::Lacking(format!(
        "{what}; describe a prompt that is worked on for some seconds, and told of all the time"
    ))
}

/// Stands for the status of a session that is not there any more. No document has it.
const ENDED: &str = "(ended)";

/// The status that a session says it has, or [`ENDED`]. The look is no part of the play, and in no trace.
async fn status(setting: &Setting, session: &str) -> Option<String> {
    let untraced =
        Setting { recorder: Recorder::new(Clock::start(), vec![]), patience: POLL_INTERVAL * 5, ..setting.clone() };
    let target = format!("/sessions/{}", segment(session));
    let response = one(&untraced, PROVES, "getSession", |url| Request::new("GET", below(url, &target))).await;
    let response = response.ok()?;
    if matches!(response.head.status(), Some(404 | 410)) {
        return Some(ENDED.to_owned());
    }
    let message = response.message?;
    message.value()?.get("status")?.as_str().map(str::to_owned)
}

/// Words by which an option allows, and by which it denies.
const ALLOW: &[&str] = &["allow", "approve", "accept", "grant", "permit", "yes", "ok", "continue", "proceed", "run"];
const DENY: &[&str] = &["deny", "reject", "refuse", "decline", "disallow", "forbid", "block", "cancel", "skip", "no"];
/// Words of options that reach further than the approval at hand.
const BROADER: &[&str] = &["all", "always", "never", "session", "every"];

/// The options that were last offered, by session. Clones share them.
#[derive(Clone, Default)]
pub struct Approvals(Arc<SharedOptions>);

#[derive(Default)]
struct SharedOptions {
    options: Mutex<HashMap<String, Vec<String>>>,
    changed: Notify,
}

impl Approvals {
    /// Notes an event of a session.
    pub fn note_event(&self, session: &str, message: &Value) {
        if message.get("event").and_then(Value::as_str) != Some("approval:required") {
            return;
        }
        let options = message.pointer("/data/options").and_then(Value::as_array).into_iter().flatten();
        let options = options.filter_map(Value::as_str).map(str::to_owned).collect();
        self.0.options.lock().insert(session.to_owned(), options);
        self.0.changed.notify_waiters();
    }

    /// The options of a session; those of another one where it never required a decision.
    fn options(&self, session: &str) -> Option<Vec<String>> {
        let all = self.0.options.lock();
        all.get(session).or_else(|| all.values().next()).cloned()
    }

    /// A decision for the approval that was last required in a session, in the way that `how` says. One that was never
    /// required is taken out of another session's options.
    ///
    /// # Errors
    /// [`PeerError::Scenario`] where none was required within the time; [`PeerError::Lacking`] where it has no such
    /// option.
    pub async fn decision(
        &self,
        session: &str,
        how: Decision,
        described: &Described,
        within: Duration,
    ) -> Result<String, PeerError> {
        // It is in the trace already: only its way through our own hands is waited for.
        let offered = async {
            loop {
                let changed = self.0.changed.notified();
                if let Some(options) = self.options(session) {
                    return options;
                }
                changed.await;
            }
        };
        let none = |_| PeerError::Scenario(format!("no approval was required in the session {session}"));
        let options = timeout(within, offered).await.map_err(none)?;
        choose(&options, how, described).ok_or_else(|| {
            let options = options.join("`, `");
            let described = if matches!(how, Decision::Allow | Decision::Deny) {
                format!("; say which does: `approval: {{ {how}: […] }}`")
            } else {
                String::new()
            };
            PeerError::Lacking(format!("of the options `{options}` none is the one to choose ({how}){described}"))
        })
    }
}

fn choose(options: &[String], how: Decision, described: &Described) -> Option<String> {
    let nth = |n: usize| options.get(n).cloned();
    match how {
        Decision::Allow => matching_option(options, described, "approval.allow", ALLOW),
        Decision::Deny => matching_option(options, described, "approval.deny", DENY),
        Decision::Miscased => {
            let allow = matching_option(options, described, "approval.allow", ALLOW)?;
            let cases = [allow.to_lowercase(), allow.to_uppercase(), swapped(&allow)];
            cases.into_iter().find(|other| !options.contains(other))
        }
        Decision::Padded => {
            let padded = format!(" {} ", matching_option(options, described, "approval.allow", ALLOW)?);
            (!options.contains(&padded)).then_some(padded)
        }
        Decision::Beginning => {
            let mut beginning = matching_option(options, described, "approval.allow", ALLOW)?;
            beginning.pop();
            (!beginning.trim().is_empty() && !options.contains(&beginning)).then_some(beginning)
        }
        Decision::First => nth(0),
        Decision::Second => nth(1),
        Decision::Third => nth(2),
        Decision::Fourth => nth(3),
    }
}

/// The option that decides so: by what the subject is described with, else by its words.
fn matching_option(options: &[String], described: &Described, path: &str, words: &[&str]) -> Option<String> {
    if described.at(path).is_some() {
        return described.texts(path).find(|wanted| options.iter().any(|o| o == wanted)).map(str::to_owned);
    }
    let of = |option: &&String| -> Vec<String> {
        let words = option.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let decides = |option: &&String| of(option).first().is_some_and(|first| words.contains(&first.as_str()));
    let broader = |option: &&String| of(option).iter().any(|word| BROADER.contains(&word.as_str()));
    let mut deciding = options.iter().filter(decides);
    let plain = deciding.clone().find(|option| !broader(option));
    plain.or_else(|| deciding.next()).cloned()
}

fn swapped(text: &str) -> String {
    let swap = |c: char| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    text.chars().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chosen(options: &[&str], how: &str, described: &Value) -> Option<String> {
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        let Value::Object(values) = described.clone() else { panic!("an object") };
        let how = serde_json::from_value(how.into()).unwrap();
        choose(&options, how, &Described::new(values, std::collections::BTreeMap::default()))
    }

    #[test]
    fn options_are_told_apart_by_their_words() {
        let choose = |options: &[&str], how: &str| chosen(options, how, &json!({}));
        assert_eq!(choose(&["Allow All", "Allow", "Deny"], "allow").as_deref(), Some("Allow"));
        assert_eq!(choose(&["Always allow", "Deny"], "allow"), None);
        assert_eq!(choose(&["Allow always", "No, never"], "deny").as_deref(), Some("No, never"));
        assert_eq!(choose(&["allow", "deny"], "miscased").as_deref(), Some("ALLOW"));
        assert_eq!(choose(&["Allow", "allow", "ALLOW", "aLLOW"], "miscased"), None);
        assert_eq!(choose(&["Allow", "Deny"], "padded").as_deref(), Some(" Allow "));
        assert_eq!(choose(&["Allow", "Deny"], "beginning").as_deref(), Some("Allo"));
        assert_eq!(choose(&["Allow", "Allo"], "beginning"), None);
        assert_eq!(choose(&["a", "b"], "second").as_deref(), Some("b"));
        assert_eq!(choose(&["a", "b"], "third"), None);
    }

    #[test]
    fn what_the_subject_is_described_with_has_the_last_word() {
        let described = json!({"approval": {"allow": ["Gut", "Sure"], "deny": ["No"]}});
        assert_eq!(chosen(&["Allow", "Sure"], "allow", &described).as_deref(), Some("Sure"));
        assert_eq!(chosen(&["Allow", "Deny"], "deny", &described), None);
    }

    #[test]
    fn a_prompt_after_a_complete_one_begins_anew() {
        let progress = PromptProgress::default();
        let note = |event: &str| progress.note_event("s", &json!({"event": event}));
        note("prompt:submit");
        progress.note_prompt("s");
        assert!(progress.session("s").started, "the first is still worked on");
        note("prompt:complete");
        progress.note_prompt("s");
        let second = progress.session("s");
        assert!(!second.started && !second.complete);
    }

    #[tokio::test]
    async fn a_decision_waits_for_an_approval_and_looks_at_that_of_its_own_session_first() {
        let approvals = Approvals::default();
        let required = |option: &str| json!({"event": "approval:required", "data": {"options": [option]}});
        let described = Described::default();
        let none = approvals.decision("s", Decision::Allow, &described, Duration::from_millis(10)).await;
        assert!(matches!(none, Err(PeerError::Scenario(_))));
        let decision = approvals.decision("s", Decision::Allow, &described, Duration::from_secs(5));
        let noted = async { approvals.note_event("s", &required("Allow")) };
        assert_eq!(tokio::join!(decision, noted).0.unwrap(), "Allow");
        assert_eq!(approvals.decision("other", Decision::First, &described, Duration::ZERO).await.unwrap(), "Allow");
        approvals.note_event("other", &required("No"));
        assert_eq!(approvals.decision("other", Decision::First, &described, Duration::ZERO).await.unwrap(), "No");
        assert_eq!(approvals.decision("s", Decision::First, &described, Duration::ZERO).await.unwrap(), "Allow");
    }
}
