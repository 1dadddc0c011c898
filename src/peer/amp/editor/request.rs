//! Requests of clients: how they are read, their faults, and how each is handled.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::peer::amp::server::shared::Trigger;
use crate::protocol::amp::editions::{AmpEdition, Method};
use crate::protocol::amp::envelope;

use super::deviations::EditorDeviations;
use super::model::{Editor, EditorPolicy, Notification};
use super::outgoing::{self, MethodOutcome, Outgoing};

/// What an editor can do otherwise with a request, whatever its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestSwitch {
    /// Requests are understood only without white space, the id first.
    OnlyCompact,
    /// Characters beyond ASCII in requests are lost.
    AsciiOnly,
    /// Escaped characters in requests are taken as they stand.
    EscapesKept,
    /// A number is taken for the id of a request.
    TakesNumericIds,
    /// A message without an id that can be read is not answered.
    QuietOnBadInput,
    /// A request without a method is not answered.
    NoMethodUnanswered,
    /// A request without a method succeeds.
    NoMethodSucceeds,
    /// A method that does not exist is not answered.
    UnknownUnanswered,
    /// A method that does not exist succeeds.
    UnknownSucceeds,
    /// What cannot be done is not answered.
    FailuresUnanswered,
    /// Every response is sent twice.
    AnswersTwice,
    /// An error has the id of the request before.
    ErrorHasLastId,
    /// Every response takes more than two seconds.
    SlowAnswers,
    /// A ping is answered after more than two seconds.
    SlowPings,
    /// Answers take their time, well below the client's bound.
    Unhurried,
}

/// A message of a client, read.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientRequest {
    /// A valid request.
    Call {
        /// The id of the request as sent.
        id: Value,
        /// The method.
        method: Method,
        /// The parameters of the request.
        params: Map<String, Value>,
    },
    /// A message that cannot be served.
    Invalid {
        /// The id of the request as sent; null where it has none.
        id: Value,
        /// The key that would be the method's; empty where there is none.
        name: String,
        /// A code of JSON-RPC.
        code: i64,
        /// The fault, in words.
        message: String,
        /// The kind of the fault.
        kind: Trigger,
    },
}

/// JSON that does not parse.
pub const PARSE_ERROR: i64 = -32700;
/// JSON that is no request.
pub const INVALID_REQUEST: i64 = -32600;
/// A method that does not exist.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Parameters that are missing or of the wrong type.
pub const INVALID_PARAMS: i64 = -32602;

/// Reads a message.
pub fn read(edition: &AmpEdition, deviations: &EditorDeviations, policy: EditorPolicy, bytes: &[u8]) -> ClientRequest {
    let bad = |id: &Value, name: &str, code, message: String, kind| {
        let (id, name) = (id.clone(), name.to_owned());
        ClientRequest::Invalid { id, name, code, message, kind }
    };
    let text = apply_reading_flaws(deviations, bytes);
    let message: Value = match serde_json::from_slice(&text) {
        Ok(message) => message,
        Err(e) => {
            let deep = e.to_string().contains("recursion limit");
            let kind = if deep { Trigger::DeepJson } else { Trigger::BadJson };
            return bad(&Value::Null, "", PARSE_ERROR, format!("the message is no JSON: {e}"), kind);
        }
    };
    let invalid = |id: &Value, what: &str| bad(id, "", INVALID_REQUEST, what.to_owned(), Trigger::BadEnvelope);
    let Some(request) = message.get("clientRequest") else {
        return invalid(&Value::Null, "the message is no object with the key `clientRequest`");
    };
    let Value::Object(request) = request else {
        return invalid(&Value::Null, "`clientRequest` must be an object");
    };
    let id = request.get("id").cloned().unwrap_or(Value::Null);
    let numeric_ids = edition.numeric_ids || policy.numeric_ids || deviations.has(RequestSwitch::TakesNumericIds);
    if !(id.is_string() || numeric_ids && id.is_number()) {
        return invalid(&if id.is_number() { id } else { Value::Null }, "the request needs an `id` that is a string");
    }
    if let Some(wrapper) =
        edition.envelope.wrapper.filter(|wrapper| request.get(*wrapper).is_none_or(|w| !w.is_object()))
    {
        return invalid(&id, &format!("the request needs an object `{wrapper}`"));
    }
    let named = envelope::request(edition, &message).and_then(|request| request.method.zip(request.params));
    let Some((name, params)) = named else {
        return invalid(&id, "the request must name exactly one method");
    };
    let Some(method) = edition.method(name) else {
        let message = format!("there is no method `{}`", truncated(name));
        return bad(&id, name, METHOD_NOT_FOUND, message, Trigger::BadEnvelope);
    };
    match params {
        Value::Object(params) => ClientRequest::Call { id, method, params: params.clone() },
        _ => {
            let message = format!("the parameters of `{name}` must be an object");
            bad(&id, name, INVALID_PARAMS, message, Trigger::BadParams)
        }
    }
}

/// The text as a flawed reader reads it.
fn apply_reading_flaws<'a>(deviations: &EditorDeviations, bytes: &'a [u8]) -> std::borrow::Cow<'a, [u8]> {
    let escaped = bytes.windows(2).any(|pair| pair == b"\\u");
    if deviations.has(RequestSwitch::OnlyCompact) && !escaped && !bytes.starts_with(b"{\"clientRequest\":{\"id\":") {
        return b"!".as_slice().into();
    }
    if deviations.has(RequestSwitch::EscapesKept) {
        return String::from_utf8_lossy(bytes).replace("\\u", "\\\\u").into_bytes().into();
    }
    if deviations.has(RequestSwitch::AsciiOnly) {
        let text = String::from_utf8_lossy(bytes);
        return text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect::<String>().into_bytes().into();
    }
    bytes.into()
}

/// A text from outside, cut to a bound before it is repeated.
fn truncated(text: &str) -> &str {
    text.char_indices().nth(80).map_or(text, |(end, _)| &text[..end])
}

/// The effects of a message.
#[derive(Debug, Default)]
pub struct HandledMessage {
    /// The responses to the client that sent the request, in order.
    pub responses: Vec<Outgoing>,
    /// The notifications to send to clients.
    pub notifications: Vec<Notification>,
    /// The fault of the message, if it has one.
    pub fault: Option<Trigger>,
    /// How long the response is delayed.
    pub delay: Option<Duration>,
    /// The id of the request; null where it had none.
    pub id: Value,
    /// The method's name as it was sent; empty where there was none.
    pub name: String,
}

/// How late a slow editor answers: later than the CLI's two seconds.
const SLOW_DELAY: Duration = Duration::from_millis(2600);
/// How late an unhurried but sound one does.
const UNHURRIED_DELAY: Duration = Duration::from_millis(60);

impl Editor {
    /// Serves one message.
    pub fn handle(&mut self, bytes: &[u8]) -> HandledMessage {
        self.deviations.reset_last_flaw();
        match read(self.edition, &self.deviations, self.policy, bytes) {
            ClientRequest::Call { id, method, params } => {
                let (outcome, notifications) = self.call(method, &params);
                let kind = if id.is_string() { Trigger::BadParams } else { Trigger::BadEnvelope };
                let fault = matches!(outcome, MethodOutcome::Refused(..)).then_some(kind);
                // First, so that the responses name the flaw that delays them.
                let delay = self.delay(method);
                let name = self.edition.methods.of(method).unwrap_or_default();
                let responses = self.responses(&id, Some(method), name, outcome);
                HandledMessage { responses, notifications, fault, delay, id, name: name.to_owned() }
            }
            ClientRequest::Invalid { id, name, code, message, kind } => {
                let unknown = code == METHOD_NOT_FOUND;
                let no_method = code == INVALID_REQUEST && !id.is_null();
                let quiet = [RequestSwitch::QuietOnBadInput, RequestSwitch::OnlyCompact, RequestSwitch::EscapesKept];
                let outcome = if unknown && self.deviations.has(RequestSwitch::UnknownSucceeds)
                    || no_method && self.deviations.has(RequestSwitch::NoMethodSucceeds)
                {
                    MethodOutcome::Done(serde_json::json!({}))
                } else if unknown && self.deviations.has(RequestSwitch::UnknownUnanswered)
                    || no_method && self.deviations.has(RequestSwitch::NoMethodUnanswered)
                    || id.is_null() && quiet.into_iter().any(|switch| self.deviations.has(switch))
                {
                    MethodOutcome::Silence
                } else {
                    MethodOutcome::Refused(code, message)
                };
                let responses = self.responses(&id, None, &name, outcome);
                // A method that does not exist is asked for by every newer client.
                let fault = (!unknown).then_some(kind);
                HandledMessage { responses, fault, id, name, ..HandledMessage::default() }
            }
        }
    }

    fn responses(&mut self, id: &Value, method: Option<Method>, name: &str, outcome: MethodOutcome) -> Vec<Outgoing> {
        let failed = matches!(outcome, MethodOutcome::Failed(_) | MethodOutcome::Refused(..));
        if outcome == MethodOutcome::Silence || failed && self.deviations.has(RequestSwitch::FailuresUnanswered) {
            return vec![];
        }
        let twice = self.deviations.has(RequestSwitch::AnswersTwice);
        let last = self.last_id.replace(id.clone());
        let id = match last {
            Some(last) if failed && self.deviations.has(RequestSwitch::ErrorHasLastId) => last,
            _ => id.clone(),
        };
        let response = outgoing::encode_response(self.edition, &self.deviations, &id, method, name, outcome);
        if failed {
            self.deviations.history().error();
        }
        vec![response; if twice { 2 } else { 1 }]
    }

    fn delay(&self, method: Method) -> Option<Duration> {
        let slow = self.deviations.has(RequestSwitch::SlowAnswers)
            || method == Method::Ping && self.deviations.has(RequestSwitch::SlowPings);
        match slow {
            true => Some(SLOW_DELAY),
            false => self.deviations.has(RequestSwitch::Unhurried).then_some(UNHURRIED_DELAY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::amp::editions::{CLI, GUIDE};

    fn code(edition: &AmpEdition, text: &str) -> (i64, Value) {
        match read(edition, &EditorDeviations::default(), EditorPolicy::default(), text.as_bytes()) {
            ClientRequest::Invalid { code, id, .. } => (code, id),
            ClientRequest::Call { .. } => panic!("{text} was taken for a request"),
        }
    }

    #[test]
    fn each_edition_has_its_own_envelope() {
        let cli = r#"{"clientRequest":{"id":"1","readFile":{"path":"/a"}}}"#;
        let guide = r#"{"clientRequest":{"id":"1","method":{"readFile":{"path":"/a"}}}}"#;
        for (edition, own, other) in [(&CLI, cli, guide), (&GUIDE, guide, cli)] {
            let ClientRequest::Call { id, method, params } =
                read(edition, &EditorDeviations::default(), EditorPolicy::default(), own.as_bytes())
            else {
                panic!("{own} was refused");
            };
            assert_eq!((id, method, &params["path"]), ("1".into(), Method::ReadFile, &"/a".into()));
            assert_eq!(code(edition, other).1, "1");
        }
    }

    #[test]
    fn each_fault_has_its_code_and_keeps_the_id_where_there_is_one() {
        let deep = "[".repeat(100_000);
        for (text, expected, id) in [
            ("", PARSE_ERROR, Value::Null),
            ("nonsense", PARSE_ERROR, Value::Null),
            (&deep, PARSE_ERROR, Value::Null),
            ("[]", INVALID_REQUEST, Value::Null),
            (r#"{"clientRequest":[]}"#, INVALID_REQUEST, Value::Null),
            (r#"{"clientRequest":{"ping":{"message":"x"}}}"#, INVALID_REQUEST, Value::Null),
            (r#"{"clientRequest":{"id":7,"ping":{"message":"x"}}}"#, INVALID_REQUEST, 7.into()),
            (r#"{"clientRequest":{"id":"7"}}"#, INVALID_REQUEST, "7".into()),
            (r#"{"clientRequest":{"id":"7","ping":{},"openURI":{}}}"#, INVALID_REQUEST, "7".into()),
            (r#"{"clientRequest":{"id":"7","fly":{}}}"#, METHOD_NOT_FOUND, "7".into()),
            (r#"{"clientRequest":{"id":"7","ping":[]}}"#, INVALID_PARAMS, "7".into()),
        ] {
            assert_eq!(code(&CLI, text), (expected, id), "{text:.60}");
        }
        assert_eq!(code(&GUIDE, r#"{"clientRequest":{"id":"7","method":{"ping":{}}}}"#).0, METHOD_NOT_FOUND);
        assert_eq!(code(&GUIDE, r#"{"clientRequest":{"id":"7","method":"ping"}}"#).0, INVALID_REQUEST);
    }
}
