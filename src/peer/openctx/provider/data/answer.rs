//! What a provider answers to a request, of its data.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::peer::fill::{Groups, fill, note};

use super::super::request::{Method, Request};
use super::text::{Characters, Places};
use super::{Annotation, Data, Entry, MAX_EACH, Scope};

/// What came of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// What the method gave.
    Result(Value),
    /// An error; with this status where it is to come with another one than 200.
    Error(Value, Option<u16>),
    /// No answer of the protocol's, but this status.
    Status(u16),
}

impl Data {
    /// The answer to a request, and how long the data says that it takes: at least, and at most.
    pub fn answer(&self, request: &Request, characters: Characters) -> (Outcome, (Duration, Duration)) {
        let takes = self.latency.iter().find(|(method, _)| *method == request.method);
        let (least, most) = takes.map_or((Duration::ZERO, Duration::ZERO), |(_, times)| *times);
        if let Some((failure, groups)) = self.failure(request) {
            let error = failure.error.as_ref().map(|error| fill(error, &groups));
            let outcome = match (error, failure.status) {
                (Some(error), status) => Outcome::Error(error, status),
                (None, Some(status)) => Outcome::Status(status),
                // Nothing but slow.
                (None, None) => self.outcome(request, characters),
            };
            return (outcome, (least + failure.after, most + failure.after));
        }
        (self.outcome(request, characters), (least, most))
    }

    fn failure(&self, request: &Request) -> Option<(&super::Failure, Groups)> {
        let concerned =
            |failure: &&super::Failure| failure.methods.is_empty() || failure.methods.contains(&request.method);
        self.failures.iter().filter(concerned).find_map(|failure| Some((failure, failure.when.holds(request)?)))
    }

    fn outcome(&self, request: &Request, characters: Characters) -> Outcome {
        if !self.offers(request.method) {
            let message = format!("this provider does not offer `{}`", request.method.name());
            return Outcome::Error(json!({"code": -32601, "message": message}), None);
        }
        if let Some(needs) = self.needs.as_ref().filter(|needs| needs.methods.contains(&request.method)) {
            let absent = |name: &&String| request.settings.get(*name).is_none_or(is_nothing);
            if needs.settings.iter().any(|name| absent(&name)) {
                return Outcome::Error(needs.error.clone(), None);
            }
        }
        Outcome::Result(match request.method {
            Method::Meta => Value::Object(self.meta.clone()),
            Method::Mentions => self.mentions(request),
            Method::Items => entries(&self.items, request),
            Method::Annotations => self.annotations.iter().flat_map(|entry| entry.of(request, characters)).collect(),
        })
    }

    /// Mentions that no condition binds to a query are found by the words of their titles and descriptions.
    fn mentions(&self, request: &Request) -> Value {
        let query = request.text("query").to_lowercase();
        let found = |mention: &Value| {
            let text = |key: &str| mention[key].as_str().unwrap_or_default().to_lowercase();
            let text = format!("{}\n{}", text("title"), text("description"));
            query.split_whitespace().all(|word| text.contains(word))
        };
        let given = self.mentions.iter().filter_map(|entry| {
            let groups = entry.when.holds(request)?;
            let bound = entry.when.is_about("query");
            (bound || found(&entry.gives)).then(|| fill(&entry.gives, &groups))
        });
        given.collect()
    }
}

/// Whether a setting that is needed is as good as absent.
fn is_nothing(value: &Value) -> bool {
    value.is_null() || value == ""
}

fn entries(entries: &[Entry], request: &Request) -> Value {
    entries.iter().filter_map(|entry| Some(fill(&entry.gives, &entry.when.holds(request)?))).collect()
}

impl Annotation {
    fn of(&self, request: &Request, characters: Characters) -> Vec<Value> {
        let Some(groups) = self.when.holds(request) else { return vec![] };
        match &self.at {
            Scope::Whole => vec![self.make(request, &groups, None)],
            Scope::Range(range) => vec![self.make(request, &groups, Some(range.clone()))],
            Scope::Each(regex) => {
                let content = request.text("content");
                let mut places = Places::new(content, characters);
                let matches = regex.captures_iter(content).take(MAX_EACH);
                let made = matches.filter_map(|captures| {
                    let whole = captures.get(0)?;
                    let range = json!({"start": places.of(whole.start()), "end": places.of(whole.end())});
                    let mut here = Groups::new();
                    note(&mut here, regex, &captures);
                    here.extend(
                        groups.iter().filter(|(key, _)| !captured(regex, key)).map(|(k, v)| (k.clone(), v.clone())),
                    );
                    Some(self.make(request, &here, Some(range)))
                });
                made.collect()
            }
        }
    }

    fn make(&self, request: &Request, groups: &Groups, range: Option<Value>) -> Value {
        let mut annotation = Map::new();
        let uri = self.uri.as_deref().unwrap_or_else(|| request.text("uri"));
        annotation.insert("uri".to_owned(), uri.into());
        annotation.extend(range.map(|range| ("range".to_owned(), range)));
        annotation.insert("item".to_owned(), fill(&self.item, groups));
        annotation.extend(self.extra.clone());
        Value::Object(annotation)
    }
}

/// Whether an expression has a group of this name or number.
fn captured(regex: &regex::Regex, key: &str) -> bool {
    regex.capture_names().enumerate().any(|(number, name)| name == Some(key) || number.to_string() == key)
}
