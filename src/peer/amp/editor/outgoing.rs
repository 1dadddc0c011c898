//! Messages on their way out: the envelope of the edition, and what quirks make of it.

use serde_json::{Map, Value, json};

use super::edition::{Edition, Method, NotificationKind};
use super::quirks::{Effect, Of, Quirks};

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its text; UTF-8 unless a flaw has it otherwise.
    pub bytes: Vec<u8>,
    /// The flaw that had a hand in it.
    pub deliberate: Option<&'static str>,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was done; this is the method's result.
    Done(Value),
    /// It could not be done: a file that is not there, or must not be written.
    Failed(String),
    /// Nothing is answered; only a flaw or the freedom to ignore what is no request does that.
    Silence,
    /// It was no proper request: a code of JSON-RPC and a text.
    Refused(i64, String),
}

/// The response to the request with this id. `name` is the method's key as it was sent, if there was one.
pub fn response(
    edition: Edition,
    quirks: &Quirks,
    id: &Value,
    method: Option<Method>,
    name: &str,
    outcome: Outcome,
) -> Outgoing {
    use super::quirks::Switch::{ErrorsForFailures, FailuresForErrors};
    // The guide has no failed `readFile`; an error is the plainest way to say it.
    let no_failure = edition == Edition::Guide && method == Some(Method::ReadFile);
    let outcome = match outcome {
        Outcome::Failed(text) if quirks.has(ErrorsForFailures) || (no_failure && !quirks.has(FailuresForErrors)) => {
            Outcome::Refused(SERVER_ERROR, text)
        }
        Outcome::Refused(_, text) if !name.is_empty() && quirks.has(FailuresForErrors) => Outcome::Failed(text),
        outcome => outcome,
    };
    let (key, mut body, of) = match outcome {
        Outcome::Done(result) => ("", result, Of::Success(method)),
        Outcome::Silence => ("", Value::Null, Of::Response),
        Outcome::Failed(text) => {
            let of = method.map_or(Of::Response, Of::Failure);
            ("", json!({"success": false, "message": text}), of)
        }
        Outcome::Refused(code, text) => ("error", json!({"code": code, "message": text}), Of::Error),
    };
    let mut maker = Maker { quirks, why: quirks.touched() };
    maker.body(of, &mut body);
    let key = match (key, edition) {
        ("", Edition::Cli) => name,
        ("", Edition::Guide) => "result",
        (key, _) => key,
    };
    let mut inner = Map::from_iter([("id".to_owned(), id.clone())]);
    inner.insert(key.to_owned(), body);
    maker.finish(of, json!({"serverResponse": inner}))
}

/// JSON-RPC's first code for errors that a server defines itself.
const SERVER_ERROR: i64 = -32000;

/// A notification; none where the edition has no such thing.
pub fn notification(edition: Edition, quirks: &Quirks, topic: NotificationKind, mut data: Value) -> Option<Outgoing> {
    let name = topic.name(edition)?;
    let mut maker = Maker { quirks, why: quirks.touched() };
    let of = Of::Notification(Some(topic));
    maker.body(of, &mut data);
    let named = Value::Object(Map::from_iter([(name.to_owned(), data)]));
    let message = match edition {
        Edition::Cli => json!({"serverNotification": named}),
        Edition::Guide => json!({"serverNotification": {"method": named}}),
    };
    Some(maker.finish(of, message))
}

/// Whether an effect on `wanted` concerns a message that is `actual`.
fn concerns(wanted: Of, actual: Of) -> bool {
    match (wanted, actual) {
        (Of::Any, _) | (Of::Response, Of::Response | Of::Success(_) | Of::Failure(_) | Of::Error) => true,
        (Of::Success(None), Of::Success(_)) | (Of::Notification(None), Of::Notification(_)) => true,
        (wanted, actual) => wanted == actual,
    }
}

struct Maker<'a> {
    quirks: &'a Quirks,
    why: Option<&'static str>,
}

impl Maker<'_> {
    fn body(&mut self, of: Of, body: &mut Value) {
        self.rewrite(body, |effect| match effect {
            Effect::Body(wanted, change) if concerns(wanted, of) => Some(change),
            _ => None,
        });
    }

    fn finish(mut self, of: Of, mut message: Value) -> Outgoing {
        self.rewrite(&mut message, |effect| match effect {
            Effect::Whole(wanted, change) if concerns(wanted, of) => Some(change),
            _ => None,
        });
        let mut bytes = message.to_string().into_bytes();
        self.rewrite(&mut bytes, |effect| match effect {
            Effect::Text(wanted, change) if concerns(wanted, of) => Some(change),
            _ => None,
        });
        Outgoing { bytes, deliberate: self.why }
    }

    fn rewrite<T: Clone + PartialEq>(&mut self, thing: &mut T, choose: impl Fn(Effect) -> Option<fn(&mut T)>) {
        for quirk in self.quirks.iter() {
            let Some(change) = choose(quirk.effect) else { continue };
            let before = thing.clone();
            change(thing);
            if quirk.flaw && *thing != before {
                self.why = Some(quirk.name);
            }
        }
    }
}
