//! What a provider has to give: a file in YAML, or an example that has everything.

mod answer;
mod read;
mod shape;
#[cfg(test)]
mod tests;
mod text;
mod when;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostic, Source};
use crate::peer::format;

use super::request::Method;

pub use answer::Outcome;
pub use read::read;
pub use text::Characters;

use when::When;

/// The most annotations that one entry gives for one document.
const MAX_EACH: usize = 10_000;

/// The JSON Schema (draft-07) of data files, for completion and checking in editors.
pub fn schema() -> Value {
    format::schema(shape::FILE, "data of a mock provider", "What `wirecert mock openctx-provider --data` serves.")
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
    failures: Vec<Failure>,
    mentions: Vec<Entry>,
    items: Vec<Entry>,
    annotations: Vec<Annotation>,
}

#[derive(Clone, Debug)]
struct Needs {
    settings: Vec<String>,
    methods: Vec<Method>,
    error: Value,
}

#[derive(Clone, Debug)]
struct Failure {
    /// All, if none is named.
    methods: Vec<Method>,
    when: When,
    error: Option<Value>,
    status: Option<u16>,
    after: Duration,
}

/// A mention or item.
#[derive(Clone, Debug)]
struct Entry {
    when: When,
    gives: Value,
}

#[derive(Clone, Debug)]
struct Annotation {
    when: When,
    uri: Option<String>,
    at: Scope,
    item: Value,
    /// Further members.
    extra: Map<String, Value>,
}

/// Where in a document an annotation is.
#[derive(Clone, Debug)]
enum Scope {
    /// It is about all of it.
    Whole,
    /// Here.
    Range(Value),
    /// Wherever this matches.
    Each(regex::Regex),
}

impl Data {
    /// An example that has everything: several selectors, characters of every size, a huge item.
    pub fn example() -> Arc<Self> {
        // Read once: a provider is made for every play. That it can be read is held by a test.
        static EXAMPLE: LazyLock<Arc<Data>> = LazyLock::new(|| {
            let source = Source::new("example", include_str!("example.yaml").to_owned());
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

    /// Whether it has this method. `meta` it always has.
    pub fn offers(&self, method: Method) -> bool {
        !self.missing.contains(&method)
    }

    /// How much there is of each kind, for whoever asks what state it is in.
    pub fn counts(&self) -> Value {
        serde_json::json!({
            "mentions": self.mentions.len(),
            "items": self.items.len(),
            "annotations": self.annotations.len(),
        })
    }
}
