//! What the agent reports to its caller: outcomes of calls, notifications, and how it stands with its editor.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::protocol::amp::editions::Method;

use super::deviations::{AgentEffect, Deviations};
use super::incoming::{MessageSwitch, ResponseOutcome};
use super::pending_calls::AgentCall;
use super::run::Agent;

/// How long a flaw holds a notification back, hoping for the next one.
const NOTIFICATION_DELAY: Duration = Duration::from_millis(100);

/// What a client can do otherwise where it reports what became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeSwitch {
    /// The message of an error is reported as a result.
    ErrorsAsResults,
    /// An error with `data` is reported as a result.
    ErrorsWithDataAsResults,
    /// A response without a result is reported as a success.
    NothingAsResult,
    /// A failure of this method is reported as a success.
    SuccessAnyway(Method),
    /// An empty result of this method is reported as a failure.
    EmptyIsFailure(Method),
    /// Of a result only what matters is reported: the content, whether it succeeded.
    Essence,
    /// What the editor could not do is reported as an error without a code.
    FailuresAsErrors,
}

/// What a client can do otherwise where it reports notifications and states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportSwitch {
    /// Notifications are reported when no request waits for its response any more.
    HoldsWhileOpen,
    /// Of two notifications the second is reported first.
    SwapsNotifications,
    /// Each notification is reported twice.
    RepeatsNotifications,
    /// It does not say how it stands with its editor.
    NoStates,
}

impl Agent {
    pub(super) async fn on_notification(&mut self, name: String, data: Value) {
        let mut reported = Some(data);
        for (_, effect) in self.settings.deviations.effects() {
            if let AgentEffect::Reported(change) = effect {
                reported = reported.and_then(|data| change(&name, data));
            }
        }
        let Some(data) = reported else { return };
        if self.has(ReportSwitch::HoldsWhileOpen) && !self.calls.has_no_open() {
            self.delayed.push((name, data));
        } else if self.has(ReportSwitch::SwapsNotifications) && self.delayed.is_empty() {
            self.delayed.push((name, data));
            self.delayed_until = Some(Instant::now() + NOTIFICATION_DELAY);
        } else {
            self.report_notification(&name, &data).await;
            self.report_delayed().await;
        }
    }

    /// Reports the notifications that flaws have delayed.
    pub(super) async fn report_delayed(&mut self) {
        self.delayed_until = None;
        for (name, data) in std::mem::take(&mut self.delayed) {
            self.report_notification(&name, &data).await;
        }
    }

    async fn report_notification(&self, name: &str, data: &Value) {
        let times = if self.has(ReportSwitch::RepeatsNotifications) { 2 } else { 1 };
        for _ in 0..times {
            self.write_line(json!({"event": name, "data": data})).await;
        }
    }

    pub(super) async fn report_outcome(&self, call: &AgentCall, outcome: ResponseOutcome) {
        let (key, value) = outcome_line(&self.settings.deviations, call, outcome);
        self.write_line(json!({"id": call.number, key: value})).await;
        if key == "error" {
            self.settings.deviations.history().error();
        }
    }

    pub(super) async fn report_failure(&self, call: &AgentCall, code: &str, message: &str) {
        self.write_line(json!({"id": call.number, "error": {"code": code, "message": message}})).await;
        self.settings.deviations.history().error();
    }

    pub(super) async fn report_state(&mut self, state: &'static str) {
        if self.state != state {
            self.state = state;
            if !self.has(ReportSwitch::NoStates) {
                self.write_line(json!({"state": state})).await;
            }
        }
    }

    pub(super) async fn write_line(&self, mut line: Value) {
        let change = |effect| if let AgentEffect::Line(change) = effect { Some(change) } else { None };
        self.settings.deviations.rewrite(&mut line, change);
        // Without a reader nothing needs to be written.
        self.output.line(&line).await;
    }
}

/// The key of the line that reports an outcome, `result` or `error`, and its value.
fn outcome_line(deviations: &Deviations, call: &AgentCall, outcome: ResponseOutcome) -> (&'static str, Value) {
    let failed = match &outcome {
        ResponseOutcome::Result(result) => result.get(flag(call.method)) == Some(&json!(false)),
        ResponseOutcome::Error(_) | ResponseOutcome::NoResult => true,
    };
    if failed && deviations.has(OutcomeSwitch::SuccessAnyway(call.method)) {
        return ("result", success(call));
    }
    match outcome {
        ResponseOutcome::Result(result) => report_result(deviations, call, result),
        ResponseOutcome::Error(error) if deviations.has(OutcomeSwitch::ErrorsAsResults) => {
            ("result", error["message"].clone())
        }
        ResponseOutcome::Error(error) if deviations.has(OutcomeSwitch::ErrorsWithDataAsResults) && has_more(&error) => {
            ("result", error)
        }
        ResponseOutcome::Error(error) => ("error", json!({"code": error["code"], "message": error["message"]})),
        ResponseOutcome::NoResult if deviations.has(OutcomeSwitch::NothingAsResult) => ("result", success(call)),
        ResponseOutcome::NoResult => ("error", error_json("no_result", "the editor answered without a result")),
    }
}

fn report_result(deviations: &Deviations, call: &AgentCall, mut result: Value) -> (&'static str, Value) {
    if deviations.has(OutcomeSwitch::EmptyIsFailure(call.method)) && is_empty(&result) {
        return ("error", error_json("empty", "there is nothing"));
    }
    let differs = call.method == Method::Ping && result.get("message") != call.params.get("message");
    if differs && call.params.get("message").is_some_and(Value::is_string) && !deviations.has(MessageSwitch::WrongTypes)
    {
        return ("error", error_json("wrong_echo", "the editor answered with another message"));
    }
    if deviations.has(OutcomeSwitch::FailuresAsErrors) && result.get(flag(call.method)) == Some(&json!(false)) {
        let message = result.get("message").cloned().unwrap_or_else(|| json!("the editor could not do it"));
        return ("error", json!({"message": message}));
    }
    deviations.rewrite(&mut result, |effect| match effect {
        AgentEffect::Result(of, change) if of.is_none_or(|of| of == call.method) => Some(change),
        _ => None,
    });
    if deviations.has(OutcomeSwitch::Essence) {
        result = essential_part(call.method, result);
    }
    ("result", result)
}

fn error_json(code: &str, message: &str) -> Value {
    json!({"code": code, "message": message})
}

/// Whether an error has more than it must have.
fn has_more(error: &Value) -> bool {
    error.as_object().is_some_and(|keys| keys.len() > 2)
}

/// The member of a result that says whether the method succeeded.
fn flag(method: Method) -> &'static str {
    if method == Method::Authenticate { "authenticated" } else { "success" }
}

/// The result of a success.
fn success(call: &AgentCall) -> Value {
    match call.method {
        Method::Ping => json!({"message": call.params["message"]}),
        Method::Authenticate => json!({"authenticated": true}),
        Method::ReadFile => json!({"success": true, "content": ""}),
        Method::EditFile | Method::OpenUri => json!({"success": true}),
        Method::GetDiagnostics => json!({"entries": []}),
    }
}

/// Whether a result has nothing in it.
fn is_empty(result: &Value) -> bool {
    let members = result.as_object().into_iter().flat_map(|members| members.iter());
    let empty = |value: &Value| *value == json!("") || *value == json!([]);
    empty(result) || members.into_iter().any(|(key, value)| (key == "content" || key == "entries") && empty(value))
}

/// The part of a result that a caller needs.
fn essential_part(method: Method, mut result: Value) -> Value {
    let key = match method {
        // The content of a failure is none.
        _ if result["success"] == json!(false) => "success",
        Method::Ping => "message",
        Method::Authenticate => "authenticated",
        Method::ReadFile => "content",
        Method::EditFile | Method::OpenUri => "success",
        Method::GetDiagnostics => "entries",
    };
    match result.get_mut(key) {
        Some(value) => value.take(),
        None => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(method: Method, outcome: ResponseOutcome) -> (&'static str, Value) {
        let call = AgentCall { number: json!(1), method, params: json!({"message": "m"}) };
        outcome_line(&Deviations::default(), &call, outcome)
    }

    #[test]
    fn results_are_told_as_they_came_and_errors_with_code_and_message() {
        let read = json!({"success": false, "message": "gone"});
        assert_eq!(reported(Method::ReadFile, ResponseOutcome::Result(read.clone())), ("result", read));
        let error = json!({"code": -32000, "message": "no", "data": 1});
        let expected = json!({"code": -32000, "message": "no"});
        assert_eq!(reported(Method::ReadFile, ResponseOutcome::Error(error)), ("error", expected));
        assert_eq!(reported(Method::ReadFile, ResponseOutcome::NoResult).0, "error");
    }

    #[test]
    fn a_ping_with_another_echo_is_no_success() {
        assert_eq!(reported(Method::Ping, ResponseOutcome::Result(json!({"message": "m"}))).0, "result");
        assert_eq!(reported(Method::Ping, ResponseOutcome::Result(json!({"message": "n"}))).0, "error");
    }
}
