//! What becomes of one message of a client.

use std::time::Duration;

use serde_json::Value;

use super::edition::Method;
use super::model::{Editor, Notice};
use super::outgoing::{self, Outcome, Outgoing};
use super::quirks::{Switch, Trigger};
use super::request::{self, Request};

/// What a message brought about.
#[derive(Debug, Default)]
pub struct Handled {
    /// What to send back to the client that asked, in order.
    pub answers: Vec<Outgoing>,
    /// What to notify clients of.
    pub notices: Vec<Notice>,
    /// What was wrong with the message.
    pub fault: Option<Trigger>,
    /// How long the answer is held back.
    pub delay: Option<Duration>,
    /// The id of the request; null where it had none.
    pub id: Value,
    /// The method's name as it was sent; empty where there was none.
    pub name: String,
}

/// How late a slow editor answers: later than the CLI's two seconds.
const LATE: Duration = Duration::from_millis(2600);
/// How late an unhurried but sound one does.
const UNHURRIED: Duration = Duration::from_millis(60);

impl Editor {
    /// Serves one message.
    pub fn handle(&mut self, bytes: &[u8]) -> Handled {
        self.quirks.forget();
        match request::read(self.edition, &self.quirks, bytes) {
            Request::Call { id, method, params } => {
                let (outcome, notices) = self.call(method, &params);
                let kind = if id.is_string() { Trigger::BadParams } else { Trigger::BadEnvelope };
                let fault = matches!(outcome, Outcome::Refused(..)).then_some(kind);
                // First, so that the answers tell which flaw holds them back.
                let delay = self.delay(method);
                let answers = self.answers(&id, Some(method), method.name(), outcome);
                Handled { answers, notices, fault, delay, id, name: method.name().to_owned() }
            }
            Request::Bad { id, name, code, message, kind } => {
                let unknown = code == request::METHOD_NOT_FOUND;
                let no_method = code == request::INVALID_REQUEST && !id.is_null();
                let quiet = [Switch::QuietOnBadInput, Switch::OnlyCompactRequests, Switch::EscapesKept];
                let outcome = if unknown && self.quirks.has(Switch::UnknownSucceeds)
                    || no_method && self.quirks.has(Switch::NoMethodSucceeds)
                {
                    Outcome::Done(serde_json::json!({}))
                } else if unknown && self.quirks.has(Switch::UnknownUnanswered)
                    || no_method && self.quirks.has(Switch::NoMethodUnanswered)
                    || id.is_null() && quiet.into_iter().any(|switch| self.quirks.has(switch))
                {
                    Outcome::Silence
                } else {
                    Outcome::Refused(code, message)
                };
                let answers = self.answers(&id, None, &name, outcome);
                // A method that does not exist is asked for by every newer client.
                let fault = (!unknown).then_some(kind);
                Handled { answers, fault, id, name, ..Handled::default() }
            }
        }
    }

    fn answers(&self, id: &Value, method: Option<Method>, name: &str, outcome: Outcome) -> Vec<Outgoing> {
        let failed = matches!(outcome, Outcome::Failed(_) | Outcome::Refused(..));
        if outcome == Outcome::Silence || failed && self.quirks.has(Switch::FailuresUnanswered) {
            return vec![];
        }
        let twice = self.quirks.has(Switch::AnswersTwice);
        let answer = outgoing::response(self.edition, &self.quirks, id, method, name, outcome);
        if failed {
            self.quirks.course().error();
        }
        vec![answer; if twice { 2 } else { 1 }]
    }

    fn delay(&self, method: Method) -> Option<Duration> {
        let slow = self.quirks.has(Switch::SlowAnswers) || method == Method::Ping && self.quirks.has(Switch::SlowPings);
        match slow {
            true => Some(LATE),
            false => self.quirks.has(Switch::Unhurried).then_some(UNHURRIED),
        }
    }
}
