//! What came of a call, as its caller is told.

use serde_json::{Value, json};

use super::super::editor::edition::Method;
use super::calls::Call;
use super::incoming::Outcome;
use super::quirks::{Effect, Quirks, Switch};

/// The key of the line that tells it, `result` or `error`, and its value.
pub fn outcome(quirks: &Quirks, call: &Call, outcome: Outcome) -> (&'static str, Value) {
    let failed = match &outcome {
        Outcome::Result(result) => result.get(flag(call.method)) == Some(&json!(false)),
        Outcome::Error(_) | Outcome::NoResult => true,
    };
    if failed && quirks.has(Switch::SuccessAnyway(call.method)) {
        return ("result", success(call));
    }
    match outcome {
        Outcome::Result(result) => of_result(quirks, call, result),
        Outcome::Error(error) if quirks.has(Switch::ErrorsAsResults) => ("result", error["message"].clone()),
        Outcome::Error(error) if quirks.has(Switch::ErrorsWithDataAsResults) && has_more(&error) => ("result", error),
        Outcome::Error(error) => ("error", json!({"code": error["code"], "message": error["message"]})),
        Outcome::NoResult if quirks.has(Switch::NothingAsResult) => ("result", success(call)),
        Outcome::NoResult => ("error", failure("no_result", "the editor answered without a result")),
    }
}

fn of_result(quirks: &Quirks, call: &Call, mut result: Value) -> (&'static str, Value) {
    if quirks.has(Switch::EmptyIsFailure(call.method)) && is_empty(&result) {
        return ("error", failure("empty", "there is nothing"));
    }
    let differs = call.method == Method::Ping && result.get("message") != call.params.get("message");
    if differs && call.params.get("message").is_some_and(Value::is_string) && !quirks.has(Switch::WrongTypes) {
        return ("error", failure("wrong_echo", "the editor answered with another message"));
    }
    if quirks.has(Switch::FailuresAsErrors) && result.get(flag(call.method)) == Some(&json!(false)) {
        let message = result.get("message").cloned().unwrap_or_else(|| json!("the editor could not do it"));
        return ("error", json!({"message": message}));
    }
    quirks.rewrite(&mut result, |effect| match effect {
        Effect::Result(of, change) if of.is_none_or(|of| of == call.method) => Some(change),
        _ => None,
    });
    if quirks.has(Switch::Essence) {
        result = essence(call.method, result);
    }
    ("result", result)
}

fn failure(code: &str, message: &str) -> Value {
    json!({"code": code, "message": message})
}

/// Whether an error has more than it must have.
fn has_more(error: &Value) -> bool {
    error.as_object().is_some_and(|keys| keys.len() > 2)
}

/// The member that says whether it succeeded.
fn flag(method: Method) -> &'static str {
    if method == Method::Authenticate { "authenticated" } else { "success" }
}

/// What a success looks like.
fn success(call: &Call) -> Value {
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

/// What matters of a result.
fn essence(method: Method, mut result: Value) -> Value {
    let key = match method {
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

    fn told(method: Method, outcome: Outcome) -> (&'static str, Value) {
        let call = Call { number: json!(1), method, params: json!({"message": "m"}) };
        super::outcome(&Quirks::default(), &call, outcome)
    }

    #[test]
    fn results_are_told_as_they_came_and_errors_with_code_and_message() {
        let read = json!({"success": false, "message": "gone"});
        assert_eq!(told(Method::ReadFile, Outcome::Result(read.clone())), ("result", read));
        let error = json!({"code": -32000, "message": "no", "data": 1});
        let expected = json!({"code": -32000, "message": "no"});
        assert_eq!(told(Method::ReadFile, Outcome::Error(error)), ("error", expected));
        assert_eq!(told(Method::ReadFile, Outcome::NoResult).0, "error");
    }

    #[test]
    fn a_ping_with_another_echo_is_no_success() {
        assert_eq!(told(Method::Ping, Outcome::Result(json!({"message": "m"}))).0, "result");
        assert_eq!(told(Method::Ping, Outcome::Result(json!({"message": "n"}))).0, "error");
    }
}
