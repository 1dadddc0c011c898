//! What a provider has to give, a file in YAML or an example that has everything, and what it answers from that.

mod condition;
mod file;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::diagnostic::{Diagnostic, Source};
use crate::format;
use crate::peer::fill::{Groups, fill, note};

use super::request::{Method, Request};

use condition::DataCondition;
use file::{DataFile, read};

/// The most annotations that one entry gives for one document.
const MAX_EACH: usize = 10_000;

/// The JSON Schema (draft-07) of data files, for completion and checking in editors.
pub fn schema() -> Value {
    format::schema::<DataFile>("data of a mock provider", "What `wirecert mock openctx-provider --data` serves.")
}

/// What a provider has to give.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// The result of `meta`.
    pub meta: Map<String, Value>,
    /// Methods that it does not offer: it answers them with an error.
    missing: Vec<Method>,
    /// Settings without which it answers with an error.
    needs: Option<Needs>,
    /// How long its methods take; the shorter and the longer time.
    latency: Vec<(Method, (Duration, Duration))>,
    /// When it fails.
    failures: Vec<DataFailure>,
    mentions: Vec<DataEntry>,
    items: Vec<DataEntry>,
    annotations: Vec<Annotation>,
}

#[derive(Clone, Debug)]
struct Needs {
    settings: Vec<String>,
    methods: Vec<Method>,
    error: Value,
}

#[derive(Clone, Debug)]
struct DataFailure {
    /// All, if none is named.
    methods: Vec<Method>,
    when: DataCondition,
    error: Option<Value>,
    status: Option<u16>,
    after: Duration,
}

/// A mention or item.
#[derive(Clone, Debug)]
struct DataEntry {
    when: DataCondition,
    gives: Value,
}

#[derive(Clone, Debug)]
struct Annotation {
    when: DataCondition,
    uri: Option<String>,
    at: AnnotationScope,
    item: Value,
    /// Further members.
    extra: Map<String, Value>,
}

/// Where in a document an annotation is.
#[derive(Clone, Debug)]
enum AnnotationScope {
    /// The whole document.
    Whole,
    /// This range.
    Range(Value),
    /// Wherever this matches.
    Each(regex::Regex),
}

impl Data {
    /// An example that has everything: several selectors, characters of every size, a huge item.
    pub fn example() -> Arc<Self> {
        // Read once: a provider is made for every play. That it can be read is held by a test.
        static EXAMPLE: LazyLock<Arc<Data>> = LazyLock::new(|| {
            let source = Source::new("example", include_str!("data/example.yaml").to_owned());
            Arc::new(Data::parse(&source).unwrap_or_default())
        });
        EXAMPLE.clone()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// All that is wrong, each with its place.
    pub fn parse(source: &Source) -> Result<Self, Vec<Diagnostic>> {
        read(source)
    }

    /// Whether the provider offers this method. It always offers `meta`.
    pub fn offers(&self, method: Method) -> bool {
        !self.missing.contains(&method)
    }

    /// The number of mentions, items and annotations, for the state of the mock.
    pub fn counts(&self) -> Value {
        serde_json::json!({
            "mentions": self.mentions.len(),
            "items": self.items.len(),
            "annotations": self.annotations.len(),
        })
    }
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum ProviderOutcome {
    /// The result of the method.
    Result(Value),
    /// An error; with this status where it is to come with another one than 200.
    Error(Value, Option<u16>),
    /// No response of the protocol's, but this status.
    Status(u16),
}

impl Data {
    /// The response to a request, and how long the data says that it takes: at least, and at most.
    pub fn answer(&self, request: &Request, characters: CharacterUnit) -> (ProviderOutcome, (Duration, Duration)) {
        let takes = self.latency.iter().find(|(method, _)| *method == request.method);
        let (least, most) = takes.map_or((Duration::ZERO, Duration::ZERO), |(_, times)| *times);
        if let Some((failure, groups)) = self.failure(request) {
            let error = failure.error.as_ref().map(|error| fill(error, &groups));
            let outcome = match (error, failure.status) {
                (Some(error), status) => ProviderOutcome::Error(error, status),
                (None, Some(status)) => ProviderOutcome::Status(status),
                // Nothing but slow.
                (None, None) => self.outcome(request, characters),
            };
            return (outcome, (least + failure.after, most + failure.after));
        }
        (self.outcome(request, characters), (least, most))
    }

    fn failure(&self, request: &Request) -> Option<(&DataFailure, Groups)> {
        let concerned =
            |failure: &&DataFailure| failure.methods.is_empty() || failure.methods.contains(&request.method);
        self.failures.iter().filter(concerned).find_map(|failure| Some((failure, failure.when.holds(request)?)))
    }

    fn outcome(&self, request: &Request, characters: CharacterUnit) -> ProviderOutcome {
        if !self.offers(request.method) {
            let message = format!("this provider does not offer `{}`", request.method.name());
            return ProviderOutcome::Error(json!({"code": -32601, "message": message}), None);
        }
        if let Some(needs) = self.needs.as_ref().filter(|needs| needs.methods.contains(&request.method)) {
            let absent = |name: &&String| request.settings.get(*name).is_none_or(is_nothing);
            if needs.settings.iter().any(|name| absent(&name)) {
                return ProviderOutcome::Error(needs.error.clone(), None);
            }
        }
        ProviderOutcome::Result(match request.method {
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

fn entries(entries: &[DataEntry], request: &Request) -> Value {
    entries.iter().filter_map(|entry| Some(fill(&entry.gives, &entry.when.holds(request)?))).collect()
}

impl Annotation {
    fn of(&self, request: &Request, characters: CharacterUnit) -> Vec<Value> {
        let Some(groups) = self.when.holds(request) else { return vec![] };
        match &self.at {
            AnnotationScope::Whole => vec![self.make(request, &groups, None)],
            AnnotationScope::Range(range) => vec![self.make(request, &groups, Some(range.clone()))],
            AnnotationScope::Each(regex) => {
                let content = request.text("content");
                let mut places = PositionCounter::new(content, characters);
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

/// What a character offset counts. The document does not say; editors and the reference client count code units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CharacterUnit {
    /// Code units of UTF-16.
    #[default]
    Utf16,
    /// Code points.
    CodePoints,
}

/// Counts lines and characters of a document, from front to back.
pub struct PositionCounter<'a> {
    content: &'a str,
    characters: CharacterUnit,
    at: usize,
    line: u64,
    begin: usize,
}

impl<'a> PositionCounter<'a> {
    /// A counter for this document.
    pub fn new(content: &'a str, characters: CharacterUnit) -> Self {
        Self { content, characters, at: 0, line: 0, begin: 0 }
    }

    /// The place of a byte offset, which is not before those asked for earlier.
    pub fn of(&mut self, offset: usize) -> Value {
        let passed = &self.content[self.at..offset];
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count() as u64;
        if let Some(last) = passed.rfind('\n') {
            self.begin = self.at + last + 1;
        }
        self.at = offset;
        let before = &self.content[self.begin..offset];
        let character = match self.characters {
            CharacterUnit::Utf16 => before.encode_utf16().count(),
            CharacterUnit::CodePoints => before.chars().count(),
        };
        json!({"line": self.line, "character": character})
    }
}
