//! What comes by other ways than the endpoints: messages over WebSockets, the end of sessions, and what somebody who
//! steers the mock wants.

use std::time::Duration;

use serde_json::Value;

use super::super::quirks::{Quirks, Switch};
use super::feed::FeedEnd;
use super::session::Status;
use super::tell::EventEmitter;
use super::tools::run_guarded;
use super::work::{self, Work};
use super::{Model, Refusal};

/// How long after a stop a flaw has a session work again: longer than what is under way may take to end.
const AGAIN: Duration = Duration::from_millis(2200);

impl Model {
    /// Ends a session.
    pub(super) fn stop(&mut self, number: u64, reason: &str, now: Duration) {
        if self.quirks.is_empty() {
            return self.remove(number, reason, now);
        }
        if self.quirks.on(Switch::StaysAlive) {
            return;
        }
        let Some(session) = self.sessions.get_mut(&number) else { return };
        if self.quirks.on(Switch::RunsOnStop) {
            run_guarded(session, &*self.place);
        }
        let works_on = self.quirks.on(Switch::WorksOn) || self.quirks.on(Switch::ToolsAfterStop);
        if let (true, Some(prompt)) = (works_on, session.prompt.clone()) {
            let case = self.script.case(&prompt);
            let later = now + AGAIN;
            session.give_up();
            session.hidden = true;
            session.begin(Work::new(self.script.clone(), case, "req-0".to_owned(), &prompt, later), now);
            self.begun.push(session.id.clone());
            return;
        }
        if self.quirks.on(Switch::StoppedShown) || self.quirks.on(Switch::StoppedTakesPrompts) {
            if session.status != Status::Stopped {
                session.end(&EventEmitter { quirks: &self.quirks, now }, reason);
            }
            return;
        }
        self.remove(number, reason, now);
        if self.quirks.on(Switch::StopsAll) {
            let others: Vec<u64> = self.sessions.keys().copied().collect();
            others.into_iter().for_each(|other| self.remove(other, reason, now));
        }
    }

    fn remove(&mut self, number: u64, reason: &str, now: Duration) {
        let Some(mut session) = self.sessions.remove(&number) else { return };
        self.numbers.remove(&session.id);
        session.end(&EventEmitter { quirks: &self.quirks, now }, reason);
    }

    /// Does what a message of a client over a WebSocket says. A refusal is for that client alone.
    ///
    /// # Errors
    /// Why it is not done.
    pub fn control(&mut self, id: &str, message: &str, now: Duration) -> Result<(), Refusal> {
        let number = self.known(id).ok_or_else(|| Refusal::no_session(id))?;
        let Ok(message) = serde_json::from_str::<Value>(message) else {
            if self.quirks.on(Switch::BadMessageStops) {
                self.stop(number, "error", now);
            }
            return Err(Refusal::invalid("the message is not JSON"));
        };
        match message["action"].as_str() {
            Some(action @ ("submit_prompt" | "submit_approval" | "stop")) if self.ignores(action) => Ok(()),
            Some("submit_prompt") => match message["prompt"].as_str() {
                Some(prompt) => {
                    if let (true, Some(session)) =
                        (self.quirks.on(Switch::SocketBusyReplaces), self.sessions.get_mut(&number))
                    {
                        session.give_up();
                    }
                    self.submit(number, prompt, now).map(drop)
                }
                None => Err(Refusal::invalid("`prompt` must be a string")),
            },
            Some("submit_approval") => {
                let offered = |session: &super::session::Session| {
                    let options = session.pending.iter().flat_map(|pending| &pending.gate.options);
                    options.into_iter().any(|option| message["decision"] == *option)
                };
                if let (true, Some(session)) = (self.quirks.on(Switch::RunsBySocket), self.sessions.get_mut(&number))
                    && !offered(session)
                {
                    run_guarded(session, &*self.place);
                }
                let body = message.as_object().cloned().unwrap_or_default();
                let body = match body.get("decision") {
                    Some(Value::String(_)) => Ok(body),
                    _ => Err(Refusal::invalid("`decision` must be a string")),
                };
                self.decide(number, &body, now).map(drop)
            }
            Some("stop") => {
                match (self.quirks.on(Switch::StopEndsPrompt), self.sessions.get_mut(&number)) {
                    (true, Some(session)) => work::end_early(session, &EventEmitter { quirks: &self.quirks, now }),
                    _ => self.stop(number, "user_stopped", now),
                }
                Ok(())
            }
            _ if self.quirks.on(Switch::UnknownActionStops) => {
                self.stop(number, "error", now);
                Ok(())
            }
            _ => Err(Refusal::invalid("there is no such action; there are submit_prompt, submit_approval and stop")),
        }
    }

    /// Whether a message with this action is ignored.
    fn ignores(&self, action: &str) -> bool {
        ["submit_prompt", "submit_approval", "stop"]
            .into_iter()
            .any(|known| known == action && self.quirks.on(Switch::Ignores(known)))
    }

    /// Tells the subscribers of a session, or of all, what somebody who steers the mock wants. Gives how many sessions
    /// there were.
    pub fn tell(&mut self, id: Option<&str>, event: &str, data: &Value, now: Duration) -> usize {
        let mut told = 0;
        for session in self.sessions.values_mut().filter(|session| id.is_none_or(|id| id == session.id)) {
            session.tell(&EventEmitter { quirks: &Quirks::default(), now }, event, data.clone());
            told += 1;
        }
        told
    }

    /// Ends the streams of a session, or of all; the sessions go on. Gives how many streams there were.
    pub fn cut(&mut self, id: Option<&str>, reset: bool) -> usize {
        let sessions = self.sessions.values_mut().filter(|session| id.is_none_or(|id| id == session.id));
        sessions.map(|session| session.cut(FeedEnd::Cut { reset })).sum()
    }

    /// Ends all sessions: the server quits.
    pub fn end(&mut self, now: Duration) {
        let numbers: Vec<u64> = self.sessions.keys().copied().collect();
        numbers.into_iter().for_each(|number| self.stop(number, "server_stopped", now));
    }
}
