//! Prompts that are given to sessions.

use std::time::Duration;

use serde_json::json;

use super::super::quirks::Switch;
use super::feed::FeedReceiver;
use super::session::Status;
use super::tell::EventEmitter;
use super::work::Work;
use super::{Model, Refusal, Reply};

impl Model {
    /// Gives a session a prompt.
    pub(super) fn submit(&mut self, number: u64, prompt: &str, now: Duration) -> Result<Reply, Refusal> {
        self.expire(number, now);
        let elsewhere = self.elsewhere(number);
        let everybody = self.everybody();
        let theirs = self.theirs(number);
        let request_id = match self.quirks.on(Switch::SameRequestId) {
            true => "req-1".to_owned(),
            false => format!("req-{}", self.prompts + 1),
        };
        let teller = EventEmitter { quirks: &self.quirks, now };
        let Some(session) = self.sessions.get_mut(&number) else { return Err(Refusal::no_session("")) };
        if session.status == Status::Stopped && !self.quirks.on(Switch::StoppedTakesPrompts) {
            return Err(Refusal::no_session(&session.id));
        }
        if let Some(refusal) = &session.refusal {
            return Err(refusal.clone());
        }
        let data = json!({"request_id": request_id, "prompt": prompt});
        if session.is_busy() || elsewhere.is_some() {
            if self.quirks.on(Switch::AcceptsBusy) {
                return Ok(accepted(&request_id));
            }
            if self.quirks.on(Switch::BusyReplaces) {
                session.give_up();
            }
            if self.quirks.on(Switch::WorksOnRefused) {
                session.tell(&teller, "prompt:submit", data);
            }
            let refusal = Refusal::new("SESSION_BUSY", "Session is processing another request");
            return Err(refusal.about("session_id", session.id.as_str()));
        }
        let case = self.script.case(prompt);
        if let Some(failure) = case.and_then(|case| self.script.cases[case].refuse.as_ref()) {
            return Err(failure.refusal());
        }
        self.prompts += 1;
        session.begin(Work::new(self.script.clone(), case, request_id.clone(), prompt, now), now);
        session.join(everybody);
        if let Some(theirs) = theirs {
            session.outlets = theirs;
        }
        session.tell(&teller, "prompt:submit", data);
        self.begun.push(session.id.clone());
        Ok(accepted(&request_id))
    }

    /// What a session other than this one works on, where a flaw wants to know.
    fn elsewhere(&self, number: u64) -> Option<String> {
        if !self.quirks.on(Switch::OneAtATime) {
            return None;
        }
        let others = self.sessions.iter().filter(|(other, session)| **other != number && session.is_busy());
        others.filter_map(|(_, session)| session.prompt.clone()).next()
    }

    /// The subscribers of another session that works, where a flaw has them told of this one.
    fn theirs(&self, number: u64) -> Option<Vec<FeedReceiver>> {
        if !self.quirks.on(Switch::MixesSessions) {
            return None;
        }
        let mut others = self.sessions.iter().filter(|(other, session)| **other != number && session.is_busy());
        others.next().map(|(_, session)| session.outlets.clone())
    }

    /// All subscribers, where a flaw has them told of everything.
    fn everybody(&self) -> Vec<FeedReceiver> {
        match self.quirks.on(Switch::LeaksEvents) {
            true => self.sessions.values().flat_map(|session| session.outlets.clone()).collect(),
            false => vec![],
        }
    }
}

/// The answer to a prompt that is accepted.
fn accepted(request_id: &str) -> Reply {
    let message = "Prompt submitted, subscribe to events for response";
    Reply::new(202, json!({"request_id": request_id, "status": "processing", "message": message}))
}
