//! Responses: what is in each one, judged against its request and against the schemas of results and notification data.

use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::matcher::{Pattern, Schemas as _};
use crate::protocol::amp::editions::{AmpEdition, Method, NotificationKind};
use crate::protocol::amp::envelope::{METHOD_NOT_FOUND, Response};
use crate::protocol::{Judgements, Use, ViolationDetail};
use crate::trace::End;

use super::RequirementIndex;
use super::requests::{ParamsVerdict, PendingRequest};

/// The context in which a response is judged.
pub struct ResponseCheck<'a> {
    pub requirements: &'static RequirementIndex,
    pub edition: &'static AmpEdition,
    /// The number of its event.
    pub index: u64,
    /// The request that it answers.
    pub request: &'a PendingRequest,
}

impl ResponseCheck<'_> {
    /// Judges the id. `same` says whether it is the request's, type and all.
    pub fn id(&self, id: &Value, same: bool, out: &mut Judgements) {
        let requested = &self.request.id;
        if requested.is_string() {
            let fault = ViolationDetail::new("the id of a response is no string, though that of the request is one");
            let fault = fault.at("/serverResponse/id").expected(requested.clone()).actual(id.clone());
            self.check(out, "envelope/id-string", (!id.is_string()).then_some(fault));
        }
        let fault = ViolationDetail::new("the id of a response is not that of the request");
        let fault = fault.at("/serverResponse/id").expected(requested.clone()).actual(id.clone());
        // Only a string has to come back as it was.
        self.check(out, "envelope/id", (!same && requested.is_string()).then_some(fault));
    }

    /// Judges the rest.
    pub fn judge(&self, response: &Response<'_>, schema_checks: &mut SchemaChecks, out: &mut Judgements) {
        let error = response.error.filter(|error| !(self.edition.open_failures && error.is_null()));
        if let Some(error) = error {
            let fault = schema_checks
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
        let fault = ViolationDetail::new("a response has both a result and an error").at("/serverResponse");
        self.check(out, "envelope/result-or-error", both.then_some(fault));
        let Some(method) = self.request.method.as_deref() else {
            let fault = ViolationDetail::new("a request that names no method is answered as if it had succeeded");
            return self.check(out, "envelope/no-method", error.is_none().then_some(fault));
        };
        if self.request.known.is_none() {
            let fault = ViolationDetail::new(format!(
                "a request for `{method}`, which does not exist, is not answered with an error"
            ));
            let error = error.is_some() || self.edition.open_failures && failed(response);
            return self.check(out, "envelope/unknown-method", (!error).then_some(fault));
        }
        self.uses(method, error, out);
        if error.is_none() {
            self.outcome(method, response, schema_checks, out);
        }
        self.params(method, error.is_some() || failed(response), out);
    }

    /// Notes whether the editor has a method that it may lack.
    fn uses(&self, method: &str, error: Option<&Value>, out: &mut Judgements) {
        let Some(capability) = self.request.known.and_then(Method::capability) else { return };
        if matches!(self.request.params, ParamsVerdict::Sound) {
            let code = error.and_then(|error| error.get("code")).and_then(Value::as_i64);
            let refusal = code.filter(|code| *code == METHOD_NOT_FOUND);
            out.uses.push(Use { capability, request: method.to_owned(), refusal });
        }
    }

    /// Judges a response without an error.
    fn outcome(&self, method: &str, response: &Response<'_>, schema_checks: &mut SchemaChecks, out: &mut Judgements) {
        let pointer = self.edition.envelope.result_place(method);
        let found = match self.edition.envelope.result_key {
            Some(key) => {
                let fault = ViolationDetail::new(format!("a response has no `{key}`")).at("/serverResponse");
                self.check(out, "envelope/result-key", response.result.is_none().then_some(fault));
                response.result
            }
            None => self.result_of_method(method, &pointer, response, out),
        };
        let Some(value) = found else { return };
        schema_checks.result(method, &MessagePart { index: self.index, pointer: pointer.clone(), value }, out);
        self.failure_message(method, value, &pointer, out);
        self.echo(value, &pointer, out);
    }

    /// The result in a response where results are called by their methods.
    fn result_of_method<'r>(
        &self,
        method: &str,
        pointer: &str,
        response: &Response<'r>,
        out: &mut Judgements,
    ) -> Option<&'r Value> {
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
                    .at(pointer)
                    .actual(value.clone()),
            ),
            Some(_) => None,
        };
        let found = value.filter(|_| fault.is_none());
        self.check(out, "envelope/method-key", fault);
        found
    }

    fn failure_message(&self, method: &str, value: &Value, pointer: &str, out: &mut Judgements) {
        let Some(known @ (Method::ReadFile | Method::EditFile)) = self.request.known else { return };
        if value.get("success") == Some(&Value::Bool(false)) {
            let silent = value.get("message").and_then(Value::as_str).is_none_or(str::is_empty);
            let fault = ViolationDetail::new(format!("a `{method}` that did not succeed does not say why")).at(pointer);
            self.check(out, &format!("{}/failure-message", known.area()), silent.then_some(fault));
        }
    }

    fn echo(&self, value: &Value, pointer: &str, out: &mut Judgements) {
        let Some(requested) = &self.request.ping else { return };
        let actual = value.get("message");
        // What is no text is no result of a ping.
        let Some(text) = actual.and_then(Value::as_str) else { return };
        let other = text != requested;
        let fault = ViolationDetail::new("`ping` does not give back the message that was sent")
            .at(format!("{pointer}/message"))
            .expected(requested.clone())
            .actual(actual.cloned().unwrap_or(Value::Null));
        let plain = !requested.is_empty()
            && requested.len() < 100
            && requested.chars().all(|c| c.is_ascii() && !c.is_control());
        self.check(out, if plain { "ping/echo" } else { "ping/any-text" }, other.then_some(fault));
    }

    /// A request with bad parameters has to fail.
    fn params(&self, method: &str, failed: bool, out: &mut Judgements) {
        let (short, what) = match self.request.params {
            ParamsVerdict::Sound => return,
            ParamsVerdict::Missing => ("envelope/missing-param", "lacks a parameter"),
            ParamsVerdict::Wrong => ("envelope/wrong-param", "has a parameter of the wrong type"),
        };
        let fault =
            ViolationDetail::new(format!("a request for `{method}` that {what} is answered as if it had succeeded"));
        self.check(out, short, (!failed).then_some(fault));
    }

    fn check(&self, out: &mut Judgements, short: &str, fault: Option<ViolationDetail>) {
        self.requirements.check(out, End::Server, short, self.index, fault);
    }
}

/// Whether a response without an error reports a failure all the same. Its form may be open: a result
/// that is no object or list, or that has an `error` or a `message` and no outcome.
fn failed(response: &Response<'_>) -> bool {
    match response.result {
        None => response.error.is_some_and(|error| !error.is_null()),
        Some(Value::Object(result)) => {
            let success = result.get("success").and_then(Value::as_bool);
            let explains = result.contains_key("error") || result.contains_key("message");
            success == Some(false) || success.is_none() && explains && !result.contains_key("content")
        }
        Some(Value::Array(_)) => false,
        Some(_) => true,
    }
}

/// The schemas of an edition, compiled when they are first needed.
pub struct SchemaChecks {
    edition: &'static AmpEdition,
    requirements: &'static RequirementIndex,
    compiled: HashMap<String, Option<Pattern>>,
}

/// By edition and name; none where a schema is no pattern.
type CompiledSchemas = HashMap<(&'static str, String), Option<Pattern>>;

/// The schema of this name, compiled once for all traces that are judged.
fn compiled(edition: &'static AmpEdition, name: &str) -> Option<Pattern> {
    static ALL: LazyLock<Mutex<CompiledSchemas>> = LazyLock::new(Mutex::default);
    edition.schema(name)?;
    let mut all = ALL.lock();
    let compile = || Pattern::compile(&json!({ "$schema": name }), edition).ok();
    all.entry((edition.id, name.to_owned())).or_insert_with(compile).clone()
}

/// A part of a message, and where it is in it.
pub struct MessagePart<'a> {
    /// The number of the message's event.
    pub index: u64,
    /// The place of the part in the message, as a JSON pointer.
    pub pointer: String,
    /// The part.
    pub value: &'a Value,
}

impl SchemaChecks {
    pub fn new(edition: &'static AmpEdition, requirements: &'static RequirementIndex) -> Self {
        Self { edition, requirements, compiled: HashMap::new() }
    }

    /// The faults of a value by a schema: places in the value, and what is wrong there. Nothing where there is no
    /// such schema.
    pub fn faults(&mut self, name: &str, value: &Value) -> Vec<(String, ViolationDetail)> {
        let edition = self.edition;
        let pattern = self.compiled.entry(name.to_owned()).or_insert_with(|| compiled(edition, name));
        let Some(pattern) = pattern else { return vec![] };
        let Err(mismatches) = pattern.check(Some(value), &mut Map::new()) else { return vec![] };
        let fault = |m: crate::matcher::Mismatch| {
            let fault = ViolationDetail::new(m.message).at(&m.pointer).expected(m.expected);
            (m.pointer, fault.actual(m.actual.unwrap_or(Value::Null)))
        };
        mismatches.into_iter().map(fault).collect()
    }

    /// Checks the result of a method by the requirements of its area.
    pub fn result(&mut self, method: &str, part: &MessagePart<'_>, out: &mut Judgements) {
        if let Some(area) = self.edition.method(method).map(Method::area) {
            self.shaped(&format!("{method}.result"), area, &format!("{area}/result"), part, out);
        }
    }

    /// Checks the data of a notification by the requirements of its area.
    pub fn data(&mut self, name: &str, part: &MessagePart<'_>, out: &mut Judgements) {
        if let Some(area) = self.edition.notification(name).map(NotificationKind::area) {
            self.shaped(&format!("{name}.data"), area, &format!("{area}/data"), part, out);
        }
    }

    fn shaped(&mut self, schema: &str, area: &str, general: &str, part: &MessagePart<'_>, out: &mut Judgements) {
        if self.edition.schema(schema).is_none() {
            return;
        }
        let mut broken = vec![];
        for (pointer, fault) in self.faults(schema, part.value) {
            let text = part.value.pointer(&pointer).is_some_and(Value::is_string);
            let short = specific_requirement(area, &pointer, text).unwrap_or_else(|| general.to_owned());
            if !broken.contains(&short) {
                let place = format!("{}{pointer}", part.pointer);
                self.requirements.check(out, End::Server, &short, part.index, Some(fault.at(place)));
                broken.push(short);
            }
        }
        let mut kept = |short: &str| {
            if !broken.iter().any(|other| other == short) {
                self.requirements.check(out, End::Server, short, part.index, None);
            }
        };
        kept(general);
        if part.value.pointer("/entries/0/diagnostics/0/severity").is_some() {
            kept("diagnostics/severity");
        }
        check_positions(self.requirements, area, part, out);
        check_duplicates(self.requirements, area, part, out);
    }
}

/// The requirement of its own that a wrong severity, or a text that is no URL, breaks.
fn specific_requirement(area: &str, pointer: &str, text: bool) -> Option<String> {
    let mut keys = pointer.rsplit('/');
    let (last, before) = (keys.next()?, keys.next());
    let key = if last == "uri" || before == Some("uris") { "uri" } else { last };
    (key == "severity" || key == "uri" && text).then(|| format!("{area}/{key}"))
}

/// Judges the positions in a part: counted from 0, in whole numbers, the end not before the start.
fn check_positions(requirements: &RequirementIndex, area: &str, part: &MessagePart<'_>, out: &mut Judgements) {
    for (pointer, numbers) in ranges(area, part.value) {
        let place = format!("{}{pointer}", part.pointer);
        let counted = numbers.iter().all(|n| *n >= 0.0 && n.fract() == 0.0);
        let actual = || part.value.pointer(&pointer).cloned().unwrap_or(Value::Null);
        // Only a play can show whether they are the right ones.
        if !counted {
            let fault =
                ViolationDetail::new("a position is no count from 0").at(&place).expected("whole numbers from 0");
            requirements.check(out, End::Server, &format!("{area}/range"), part.index, Some(fault.actual(actual())));
        }
        if area == "selection" {
            let [start_line, start, end_line, end] = numbers;
            let reversed = (end_line, end) < (start_line, start);
            let fault = ViolationDetail::new("a selection ends before it begins").at(&place).actual(actual());
            requirements.check(out, End::Server, "selection/ordered", part.index, reversed.then_some(fault));
        }
    }
}

/// Judges a list of visible files: no file is in it twice.
fn check_duplicates(requirements: &RequirementIndex, area: &str, part: &MessagePart<'_>, out: &mut Judgements) {
    if area != "visible-files" {
        return;
    }
    let lists = ["uris", "files"].into_iter().filter_map(|key| Some((key, part.value.get(key)?.as_array()?)));
    for (key, list) in lists {
        let again = (1..list.len()).find(|n| list[..*n].contains(&list[*n]));
        let fault = again.map(|n| {
            let place = format!("{}/{key}/{n}", part.pointer);
            ViolationDetail::new("a file is listed twice").at(&place).actual(list[n].clone())
        });
        requirements.check(out, End::Server, "visible-files/no-duplicates", part.index, fault);
    }
}

/// The ranges in a part, each with its place: start line, start column, end line, end column.
fn ranges(area: &str, value: &Value) -> Vec<(String, [f64; 4])> {
    let mut out = vec![];
    let mut take = |pointer: String| {
        let range = value.pointer(&pointer).unwrap_or(&Value::Null);
        let number = |path: &str| range.pointer(path).and_then(Value::as_f64);
        let cli = ["/startLine", "/startCharacter", "/endLine", "/endCharacter"].map(number);
        let guide = ["/start/line", "/start/col", "/end/line", "/end/col"].map(number);
        for numbers in [cli, guide] {
            if let [Some(a), Some(b), Some(c), Some(d)] = numbers {
                out.push((pointer.clone(), [a, b, c, d]));
            }
        }
    };
    let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    match area {
        "selection" => {
            take(String::new());
            (0..list(value, "selections")).for_each(|n| take(format!("/selections/{n}/range")));
        }
        "diagnostics" => {
            for n in 0..list(value, "entries") {
                let entry = &value["entries"][n];
                (0..list(entry, "diagnostics")).for_each(|m| take(format!("/entries/{n}/diagnostics/{m}/range")));
            }
        }
        _ => {}
    }
    out
}
