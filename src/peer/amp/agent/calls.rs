//! Calls on their way: those that wait for a connection, and those that wait for an answer.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::client::envelope;
use super::super::editor::edition::{Edition, Method};
use super::quirks::{Effect, Quirks, Switch};

/// How long an answer is waited for (docs/amp.md, Messages).
pub const ANSWER: Duration = Duration::from_secs(2);

/// A call that is a method of the edition.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The number under which its outcome is told.
    pub number: Value,
    /// What to do.
    pub method: Method,
    /// With what.
    pub params: Value,
}

/// A request on its way out.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its text.
    pub bytes: Vec<u8>,
    /// The flaw that had a hand in it.
    pub deliberate: Option<&'static str>,
}

/// The calls that have no outcome yet.
#[derive(Debug, Default)]
pub struct Calls {
    /// Waiting for a connection, each since when.
    waiting: VecDeque<(Instant, Call)>,
    /// Waiting for an answer, by the ids of their requests, each until when.
    open: HashMap<String, (Instant, Call)>,
    /// The number of the last request on this connection.
    last: u64,
}

impl Calls {
    /// Whether none is without an outcome.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.open.is_empty()
    }

    /// Whether one waits for a connection.
    pub fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Lets a call wait for a connection.
    pub fn wait(&mut self, call: Call, now: Instant) {
        self.waiting.push_back((now, call));
    }

    /// Takes the calls that wait for a connection, the oldest first.
    pub fn take_waiting(&mut self) -> Vec<Call> {
        self.waiting.drain(..).map(|(_, call)| call).collect()
    }

    /// Takes the calls that have waited for a connection for too long.
    pub fn take_hopeless(&mut self, patience: Duration, now: Instant) -> Vec<Call> {
        let mut hopeless = vec![];
        while let Some((_, call)) = self.waiting.pop_front_if(|(since, _)| *since + patience <= now) {
            hopeless.push(call);
        }
        hopeless
    }

    /// Since when the oldest call has waited for a connection.
    pub fn oldest(&self) -> Option<Instant> {
        self.waiting.front().map(|(since, _)| *since)
    }

    /// Makes the request of a call, which then waits for its answer.
    pub fn open(&mut self, edition: Edition, quirks: &Quirks, call: Call, now: Instant) -> Request {
        self.last += 1;
        let id = if quirks.has(Switch::UuidIds) { uuid() } else { self.last.to_string() };
        let mut params = call.params.clone();
        let mut why = quirks.rewrite(&mut params, |effect| match effect {
            Effect::Params(of, change) if of.is_none_or(|of| of == call.method) => Some(change),
            _ => None,
        });
        let mut request = envelope::request(edition.id(), &json!(id), call.method.name(), &params);
        let change = |effect| if let Effect::Request(change) = effect { Some(change) } else { None };
        why = quirks.rewrite(&mut request, change).or(why);
        let mut bytes = request.to_string().into_bytes();
        let change = |effect| if let Effect::Text(change) = effect { Some(change) } else { None };
        why = quirks.rewrite(&mut bytes, change).or(why);
        self.open.insert(id, (now + ANSWER, call));
        Request { bytes, deliberate: why }
    }

    /// What the request of an id asked for, if it waits for an answer.
    pub fn method(&self, id: &str) -> Option<Method> {
        self.open.get(id).map(|(_, call)| call.method)
    }

    /// Takes the call whose request has this id.
    pub fn answered(&mut self, id: &str) -> Option<Call> {
        self.open.remove(id).map(|(_, call)| call)
    }

    /// Takes the calls whose time to be answered is over.
    pub fn take_late(&mut self, now: Instant) -> Vec<Call> {
        self.open.extract_if(|_, (until, _)| *until <= now).map(|(_, (_, call))| call).collect()
    }

    /// Takes the calls that wait for an answer: none will come. Ids are counted anew from now on.
    pub fn take_open(&mut self) -> Vec<Call> {
        self.last = 0;
        self.open.drain().map(|(_, (_, call))| call).collect()
    }

    /// When the next call's time to be answered is over.
    pub fn next_late(&self) -> Option<Instant> {
        self.open.values().map(|(until, _)| *until).min()
    }
}

/// A random id of version 4 (RFC 9562 section 5.4).
fn uuid() -> String {
    use std::hash::{BuildHasher as _, Hasher as _};
    let random = || std::hash::RandomState::new().build_hasher().finish();
    let (a, b) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 48 & 0x3fff | 0x8000,
        b & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u64) -> Call {
        Call { number: json!(number), method: Method::Ping, params: json!({"message": "m"}) }
    }

    fn open(calls: &mut Calls, number: u64) -> String {
        let request = calls.open(Edition::Cli, &Quirks::default(), call(number), Instant::now());
        String::from_utf8(request.bytes).unwrap()
    }

    #[tokio::test]
    async fn ids_are_counted_as_texts_and_anew_on_the_next_connection() {
        let mut calls = Calls::default();
        assert_eq!(open(&mut calls, 7), r#"{"clientRequest":{"id":"1","ping":{"message":"m"}}}"#);
        assert!(open(&mut calls, 8).contains(r#""id":"2""#));
        assert_eq!(calls.answered("2"), Some(call(8)));
        assert_eq!(calls.answered("2"), None);
        assert_eq!(calls.take_open(), [call(7)]);
        assert!(open(&mut calls, 9).contains(r#""id":"1""#));
    }

    #[tokio::test]
    async fn what_waits_too_long_is_given_up() {
        let mut calls = Calls::default();
        let start = Instant::now();
        calls.wait(call(1), start);
        calls.wait(call(2), start + ANSWER);
        assert_eq!(calls.take_hopeless(ANSWER, start + ANSWER), [call(1)]);
        open(&mut calls, 3);
        assert_eq!(calls.take_late(start), []);
        assert_eq!(calls.take_late(start + 2 * ANSWER), [call(3)]);
        assert!(calls.are_waiting() && !calls.is_empty());
    }

    #[test]
    fn a_uuid_has_its_form() {
        let id = uuid();
        assert_eq!(id.len(), 36);
        assert_eq!(&id[14..15], "4");
        assert!("89ab".contains(&id[19..20]), "{id}");
    }
}
