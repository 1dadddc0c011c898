//! How messages are wrapped, and which requests are understood.

use serde_json::{Map, Value, json};

use crate::wire::websocket::FrameSpec;

use super::super::quirks::{Effect, Kind, Of, Switch};
use super::{BOTH, CLI, Entry, GUIDE, each, flaw, remove, set};

pub const FLAWS: &[Entry] = &[
    flaw!("wrapper-renamed" BOTH "envelope/top-level" "Responses are wrapped in `response`."
        Effect::Whole(Of::Response, |m| *m = json!({"response": remove(m, "serverResponse")}))),
    flaw!("wrapper-missing" BOTH "envelope/top-level" "Responses come without a wrapper."
        Effect::Whole(Of::Response, |m| *m = remove(m, "serverResponse"))),
    flaw!("messages-in-array" BOTH "envelope/top-level" "Each message is the only item of an array."
        Effect::Whole(Of::Any, |m| *m = json!([m.take()]))),
    flaw!("null-messages" BOTH "envelope/top-level" "Before each message goes the message `null`."
        Effect::Frame(Kind::Message, |f| vec![FrameSpec::text("null"), f])),
    flaw!("wrapper-null" BOTH "envelope/top-level" "Before each message goes one whose wrapper is null."
        Effect::Frame(Kind::Message, |f| vec![FrameSpec::text(r#"{"serverResponse":null}"#), f])),
    flaw!("failures-unanswered" BOTH "envelope/answered"
        "What cannot be done is not answered." Effect::Switch(Switch::FailuresUnanswered)),
    flaw!("answers-twice" BOTH "envelope/answered-once" "Every answer is sent twice." Effect::Switch(Switch::AnswersTwice)),
    flaw!("answers-everybody" BOTH "envelope/unasked"
        ["envelope/answered-once": "A client that has used the id as well is answered twice.",
         "envelope/ids-per-connection": "What it takes for its answer may be that of another."]
        "Answers go to every client." Effect::Switch(Switch::AnswersEverybody)),
    flaw!("answers-nobody" BOTH "envelope/unasked" "Before each message goes a response to a request that nobody made."
        Effect::Frame(Kind::Message, |f| vec![FrameSpec::text(UNASKED), f])),
    flaw!("id-cleaned" BOTH "envelope/unasked"
    "Of an id only letters, digits and dashes come back." Effect::Whole(Of::Response, |m| each(m, "id", |id| {
        if let Value::String(text) = id {
            text.retain(|c| c.is_ascii_alphanumeric() || c == '-');
        }
    }))),
    flaw!("id-as-number" CLI "envelope/id-string"
    "An id of digits comes back as a number." Effect::Whole(Of::Response, |m| each(m, "id", |id| {
        if let Some(number) = id.as_str().and_then(|text| text.parse::<i64>().ok()) {
            *id = number.into();
        }
    }))),
    flaw!("id-null" CLI "envelope/id-string"
        "The id of every response is null." Effect::Whole(Of::Response, |m| each(m, "id", |id| *id = Value::Null))),
    flaw!("id-nothing" GUIDE "envelope/id"
        "The id of every response is null." Effect::Whole(Of::Response, |m| each(m, "id", |id| *id = Value::Null))),
    flaw!("id-missing" BOTH "envelope/id"
        "Responses have no id." Effect::Whole(Of::Response, |m| { remove(&mut m["serverResponse"], "id"); })),
    flaw!("ids-shared" BOTH "envelope/ids-per-connection"
        ["envelope/answered-once": "The client that used it first is answered twice."]
        "An id is taken for unique: the answer goes to the client that used it first."
        Effect::Switch(Switch::IdsAcrossConnections)),
    flaw!("result-key" CLI "envelope/method-key" "The result is under `result`, as in the quick reference."
        Effect::Whole(Of::Response, |m| rename(&mut m["serverResponse"], |_| "result".to_owned()))),
    flaw!("result-of-other-method" CLI "envelope/method-key" "The result is under the name of another method."
    Effect::Whole(Of::Response, |m| rename(&mut m["serverResponse"], |name| {
        if name == "readFile" { "editFile" } else { "readFile" }.to_owned()
    }))),
    flaw!("result-false" CLI "envelope/method-key" "Every result is `false`."
        Effect::Body(Of::Success(None), |b| *b = false.into())),
    flaw!("result-as-text" CLI "envelope/method-key" "Every result is a string with JSON in it."
        Effect::Body(Of::Success(None), |b| *b = b.to_string().into())),
    flaw!("result-empty" CLI "envelope/method-key"
        "A result that says no more than `success` is null."
        Effect::Body(Of::Success(None), |b| if b.get("success").is_some() && b.get("content").is_none() { *b = Value::Null })),
    flaw!("method-as-key" GUIDE "envelope/result-key" "The result is under the name `data`."
        Effect::Whole(Of::Response, |m| rename(&mut m["serverResponse"], |_| "data".to_owned()))),
    flaw!("result-and-error" BOTH "envelope/result-or-error"
    "Every result comes with an error that is null." Effect::Whole(Of::Success(None), |m| {
        set(&mut m["serverResponse"], "error", json!({"code": 0, "message": "ok"}));
    })),
    flaw!("error-code-as-text" CLI "envelope/error-shape" "The code of an error is a string."
        Effect::Body(Of::Error, |b| set(b, "code", "ERROR"))),
    flaw!("error-as-text" CLI "envelope/error-shape" "An error is a string."
        Effect::Body(Of::Error, |b| *b = remove(b, "message"))),
    flaw!("notification-flat" BOTH "envelope/notification-shape"
        "A notification holds its data beside its name." Effect::Whole(Of::Notification(None), flatten)),
    flaw!("notification-with-id" BOTH "envelope/notification-without-id"
        "A notification has an id." Effect::Whole(Of::Notification(None), |m| set(&mut m["serverNotification"], "id", "n"))),
    flaw!("slow-answers" CLI "envelope/timely" "Every answer takes more than two seconds."
        Effect::Switch(Switch::SlowAnswers)),
    flaw!("last-of-pipelined" BOTH "envelope/pipelined"
        ["framing/joined-segments": "What comes at once comes in one segment."]
        "Of requests that come at once only the last is answered." Effect::Switch(Switch::LastOfPipelined)),
    flaw!("ascii-requests" BOTH "envelope/unicode"
        ["read-file/special-names": "Names lose them.", "cli/edit-file/special-names": "Names lose them.",
         "edit-file/unicode": "Texts lose them.", "envelope/unasked": "Ids lose them."]
        "Characters beyond ASCII in requests are lost." Effect::Switch(Switch::AsciiRequests)),
    flaw!("escapes-kept" BOTH "envelope/escapes" 
        ["ping/any-text": "A text comes back with its escapes in it.",
         "envelope/parse-error": "What cannot be read is passed over."]
        "Escaped characters in requests are taken as they stand." Effect::Switch(Switch::EscapesKept)),
    flaw!("compact-requests-only" BOTH "envelope/whitespace"
        ["envelope/parse-error": "What cannot be read is passed over."]
        "Requests are understood only without white space, the id first." Effect::Switch(Switch::OnlyCompactRequests)),
    flaw!("extra-keys-refused" BOTH "envelope/extra-keys" "A parameter that is not known makes a request fail."
        Effect::Switch(Switch::RefusesExtraKeys)),
    flaw!("unknown-method-succeeds" BOTH "envelope/unknown-method"
        "A method that does not exist succeeds." Effect::Switch(Switch::UnknownSucceeds)),
    flaw!("unknown-method-unanswered" BOTH "envelope/unknown-method"
        "A method that does not exist is not answered." Effect::Switch(Switch::UnknownUnanswered)),
    flaw!("missing-param-succeeds" BOTH "envelope/missing-param"
        "A request without a parameter succeeds." Effect::Switch(Switch::MissingParamSucceeds)),
    flaw!("wrong-param-succeeds" BOTH "envelope/wrong-param"
        "A request with a parameter of the wrong type succeeds." Effect::Switch(Switch::WrongParamSucceeds)),
    flaw!("no-method-succeeds" BOTH "envelope/no-method"
        "A request without a method succeeds." Effect::Switch(Switch::NoMethodSucceeds)),
    flaw!("no-method-unanswered" BOTH "envelope/no-method"
        "A request without a method is not answered." Effect::Switch(Switch::NoMethodUnanswered)),
    flaw!("error-code-one" CLI "envelope/error-codes" "The code of every error is 1."
        Effect::Body(Of::Error, |b| set(b, "code", 1))),
];

/// A response to nobody, in the words of both editions.
const UNASKED: &str = r#"{"serverResponse":{"id":"nobody-asked","error":{"code":-32000,"message":"who asked?"}}}"#;

/// Gives the outcome of a response another key.
fn rename(response: &mut Value, name: fn(&str) -> String) {
    let Value::Object(map) = response else { return };
    let renamed: Map<String, Value> = std::mem::take(map)
        .into_iter()
        .map(|(key, value)| if key == "id" || key == "error" { (key, value) } else { (name(&key), value) })
        .collect();
    *map = renamed;
}

/// `{name: data}` becomes `{"name": name, "data": data}`, at the place that the edition has for it.
fn flatten(message: &mut Value) {
    let inside = &mut message["serverNotification"];
    let place = if inside.get("method").is_some() { &mut inside["method"] } else { inside };
    let Value::Object(named) = place.take() else { return };
    if let Some((name, data)) = named.into_iter().next() {
        *place = json!({"name": name, "data": data});
    }
}
