//! One answer, held against its request.

use serde_json::{Value, json};

use super::requests::{Params, Pending};
use super::requirement_index::RequirementIndex;
use super::results::{Part, Shapes, area};
use crate::protocol::amp::envelope::{METHOD_NOT_FOUND, Response};
use crate::protocol::{Judgements, Use, ViolationDetail};
use crate::trace::End;

/// The capabilities that are a method of their own.
const CAPABILITY_OF: &[(&str, &str)] =
    &[("openURI", "open_uri"), ("authenticate", "authenticate"), ("getDiagnostics", "diagnostics")];

/// An answer before its judge.
pub struct Answer<'a> {
    pub book: &'static RequirementIndex,
    pub edition: &'static str,
    /// The number of its event.
    pub index: u64,
    /// What it answers.
    pub request: &'a Pending,
}

impl Answer<'_> {
    /// Judges the id. `same` says whether it is the request's, type and all.
    pub fn id(&self, id: &Value, same: bool, out: &mut Judgements) {
        let asked = &self.request.id;
        if asked.is_string() {
            let fault = ViolationDetail::new("the id of a response is no string, though that of the request is one");
            let fault = fault.at("/serverResponse/id").expected(asked.clone()).actual(id.clone());
            self.check(out, "envelope/id-string", (!id.is_string()).then_some(fault));
        }
        let fault = ViolationDetail::new("the id of a response is not that of the request");
        let fault = fault.at("/serverResponse/id").expected(asked.clone()).actual(id.clone());
        // Only a string has to come back as it was.
        self.check(out, "envelope/id", (!same && asked.is_string()).then_some(fault));
    }

    /// Judges the rest.
    pub fn judge(&self, response: &Response<'_>, shapes: &mut Shapes, out: &mut Judgements) {
        let error = response.error.filter(|error| self.edition == "cli" || !error.is_null());
        if let Some(error) = error {
            let fault = shapes
                .faults("error", error)
                .into_iter()
                .next()
                .map(|(pointer, fault)| fault.at(format!("/serverResponse/error{pointer}")).actual(error.clone()));
            self.check(out, "envelope/error-shape", fault);
        }
        if self.request.deliberate {
            return;
        }
        let both = error.is_some() && response.result.is_some();
        let fault = ViolationDetail::new("a response holds both a result and an error").at("/serverResponse");
        self.check(out, "envelope/result-or-error", both.then_some(fault));
        let Some(method) = self.request.method.as_deref() else {
            let fault = ViolationDetail::new("a request that names no method is answered as if it had succeeded");
            return self.check(out, "envelope/no-method", error.is_none().then_some(fault));
        };
        if !shapes.knows(&format!("{method}.params")) {
            let fault = ViolationDetail::new(format!(
                "a request for `{method}`, which does not exist, is not answered with an error"
            ));
            let error = error.is_some() || self.edition == "guide" && failed(response);
            return self.check(out, "envelope/unknown-method", (!error).then_some(fault));
        }
        self.uses(method, error, out);
        if error.is_none() {
            self.outcome(method, response, shapes, out);
        }
        self.params(method, error.is_some() || failed(response), out);
    }

    /// Tells whether there is a method which an editor may lack.
    fn uses(&self, method: &str, error: Option<&Value>, out: &mut Judgements) {
        let Some(capability) = CAPABILITY_OF.iter().find_map(|(of, capability)| (*of == method).then_some(*capability))
        else {
            return;
        };
        if matches!(self.request.params, Params::Sound) {
            let code = error.and_then(|error| error.get("code")).and_then(Value::as_i64);
            let refusal = code.filter(|code| *code == METHOD_NOT_FOUND);
            out.uses.push(Use { capability, request: method.to_owned(), refusal });
        }
    }

    /// Judges an answer without an error.
    fn outcome(&self, method: &str, response: &Response<'_>, shapes: &mut Shapes, out: &mut Judgements) {
        if self.edition == "guide" {
            let fault = ViolationDetail::new("a response has no `result`").at("/serverResponse");
            self.check(out, "envelope/result-key", response.result.is_none().then_some(fault));
            if let Some(value) = response.result {
                let part = Part { index: self.index, pointer: "/serverResponse/result".to_owned(), value };
                shapes.result(method, &part, out);
            }
            return;
        }
        let value = response.result.filter(|_| response.method == Some(method));
        let fault = match value {
            None => Some(
                ViolationDetail::new(format!("the response to a request for `{method}` has no key of that name"))
                    .at("/serverResponse")
                    .expected(method)
                    .actual(json!(response.method)),
            ),
            Some(value) if !value.is_object() => Some(
                ViolationDetail::new(format!("the value of `{method}` in a response is no object"))
                    .at(format!("/serverResponse/{method}"))
                    .actual(value.clone()),
            ),
            Some(_) => None,
        };
        let found = value.filter(|_| fault.is_none());
        self.check(out, "envelope/method-key", fault);
        if let Some(value) = found {
            let pointer = format!("/serverResponse/{method}");
            shapes.result(method, &Part { index: self.index, pointer: pointer.clone(), value }, out);
            self.failure_message(method, value, &pointer, out);
            self.echo(value, &pointer, out);
        }
    }

    fn failure_message(&self, method: &str, value: &Value, pointer: &str, out: &mut Judgements) {
        let Some(area) = area(method).filter(|area| matches!(*area, "read-file" | "edit-file")) else { return };
        if value.get("success") == Some(&Value::Bool(false)) {
            let silent = value.get("message").and_then(Value::as_str).is_none_or(str::is_empty);
            let fault = ViolationDetail::new(format!("a `{method}` that did not succeed does not say why")).at(pointer);
            self.check(out, &format!("{area}/failure-message"), silent.then_some(fault));
        }
    }

    fn echo(&self, value: &Value, pointer: &str, out: &mut Judgements) {
        let Some(asked) = &self.request.ping else { return };
        let actual = value.get("message");
        // What is no text is no result of a ping.
        let Some(text) = actual.and_then(Value::as_str) else { return };
        let other = text != asked;
        let fault = ViolationDetail::new("`ping` does not give back the message that was sent")
            .at(format!("{pointer}/message"))
            .expected(asked.clone())
            .actual(actual.cloned().unwrap_or(Value::Null));
        let plain = !asked.is_empty() && asked.len() < 100 && asked.chars().all(|c| c.is_ascii() && !c.is_control());
        self.check(out, if plain { "ping/echo" } else { "ping/any-text" }, other.then_some(fault));
    }

    /// A request with bad parameters has to fail.
    fn params(&self, method: &str, failed: bool, out: &mut Judgements) {
        let (short, what) = match self.request.params {
            Params::Sound => return,
            Params::Missing => ("envelope/missing-param", "lacks a parameter"),
            Params::Wrong => ("envelope/wrong-param", "has a parameter of the wrong type"),
        };
        let fault =
            ViolationDetail::new(format!("a request for `{method}` that {what} is answered as if it had succeeded"));
        self.check(out, short, (!failed).then_some(fault));
    }

    fn check(&self, out: &mut Judgements, short: &str, fault: Option<ViolationDetail>) {
        self.book.check(out, End::Server, short, self.index, fault);
    }
}

/// Whether an answer without an error tells of a failure all the same. Edition `guide` leaves the shape open: a result
/// that is no object or list, or that has an `error` or a `message` and no outcome.
fn failed(response: &Response<'_>) -> bool {
    match response.result {
        None => response.error.is_some_and(|error| !error.is_null()),
        Some(Value::Object(result)) => {
            let success = result.get("success").and_then(Value::as_bool);
            let told = result.contains_key("error") || result.contains_key("message");
            success == Some(false) || success.is_none() && told && !result.contains_key("content")
        }
        Some(Value::Array(_)) => false,
        Some(_) => true,
    }
}
