//! [`Edition`]: one dated description of a protocol, and all that depends on which one is spoken.
//!
//! [`SchemaFolder`] has its JSON Schemas. [`HttpEdition`] is an edition of a protocol over HTTP, as a table.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use include_dir::Dir;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::matcher::Schemas;
use crate::protocol::sample::{Example, Flow, MessageType, SampleStep};
use crate::protocol::scenario_element::TraceToScenario;
use crate::protocol::{Channel, Lock, MessageSummary, Observer, QueryParameter, Rule};
use crate::trace::{End, Event};

/// One dated description of a protocol. Its [`Schemas`] are those of messages and parts of them, under the names that
/// `$schema` matchers use.
///
/// Two editions of a protocol are equal if their ids are.
pub trait Edition: Schemas + Sync {
    /// The id, the second part of requirement ids.
    fn id(&self) -> &'static str;
    /// What sets the edition apart, in a sentence.
    fn about(&self) -> &'static str;
    /// Fresh rules.
    fn rules(&'static self) -> Vec<Box<dyn Rule>>;
    /// A fresh observer of what the subject does: this end.
    fn observer(&'static self, subject: End) -> Box<dyn Observer>;
    /// What turns the traffic of a trace into elements of a scenario: steps and observations of the role whose subject
    /// is this end.
    fn to_scenario(&'static self, subject: End) -> Box<dyn TraceToScenario>;
    /// What an event is in a few words, where the protocol has words for it.
    fn summarize<'a>(&self, event: &'a Event) -> Option<MessageSummary<'a>>;
    /// Every type of message.
    fn message_types(&self) -> Vec<MessageType>;
    /// The shortest conversation that has such a message; in it the message is the last turn that has its type.
    fn conversation(&self, message: &MessageType, body: &Value, example: Example<'_>) -> Vec<SampleStep>;
    /// Typical conversations.
    fn flows(&self, example: Example<'_>) -> Vec<Flow>;

    /// The connections that stay open.
    fn channels(&self) -> Vec<Channel> {
        vec![]
    }

    /// The parameters that the query of a request of this type may have, by the name of the message type.
    fn query(&self, _message: &str) -> &'static [QueryParameter] {
        &[]
    }

    /// What a server answers to a client's message that it cannot make sense of, so that the client does not wait for
    /// nothing; none where the protocol has no such thing.
    fn refusal(&self, _message: &Value) -> Option<Value> {
        None
    }

    /// Reads a lockfile's content: what a client needs of it, or why a client would ignore it.
    fn read_lockfile(&self, _content: &[u8]) -> Result<Lock, String> {
        Err("it is no lockfile".to_owned())
    }

    /// Whether a server may look at no variable that names a data home, and use the default one.
    fn may_know_home_only(&self) -> bool {
        false
    }

    /// The ports at which clients may look for a server without knowing more, where there are such.
    fn ports(&self) -> Option<RangeInclusive<u16>> {
        None
    }
}

impl PartialEq for dyn Edition + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for dyn Edition + '_ {}

impl fmt::Debug for dyn Edition + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.id(), f)
    }
}

impl fmt::Display for dyn Edition + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

impl Serialize for dyn Edition + '_ {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// The schemas of a folder, by the names of the files without `.json`.
pub struct SchemaFolder {
    files: Dir<'static>,
    made: fn() -> Vec<(String, Value)>,
    all: OnceLock<BTreeMap<String, Value>>,
}

impl SchemaFolder {
    /// The schemas in these files. A file that is no JSON is null, which a test forbids.
    pub const fn new(files: Dir<'static>) -> Self {
        Self::with(files, Vec::new)
    }

    /// The schemas in these files, and those that are made.
    pub const fn with(files: Dir<'static>, made: fn() -> Vec<(String, Value)>) -> Self {
        Self { files, made, all: OnceLock::new() }
    }

    /// The schema of this name.
    pub fn get(&'static self, name: &str) -> Option<&'static Value> {
        self.all().get(name)
    }

    /// The names, in alphabetical order.
    pub fn names(&'static self) -> impl Iterator<Item = &'static str> {
        self.all().keys().map(String::as_str)
    }

    fn all(&'static self) -> &'static BTreeMap<String, Value> {
        let named = |file: &include_dir::File<'_>| {
            let name = file.path().to_str()?.strip_suffix(".json")?;
            Some((name.to_owned(), serde_json::from_slice(file.contents()).unwrap_or_default()))
        };
        self.all.get_or_init(|| self.files.files().filter_map(named).chain((self.made)()).collect())
    }
}

/// An edition of a protocol over HTTP. Each member is what [`Edition`] says of the function of its name.
pub struct HttpEdition {
    pub id: &'static str,
    pub about: &'static str,
    pub schemas: &'static SchemaFolder,
    pub rules: fn() -> Vec<Box<dyn Rule>>,
    pub observer: fn(subject: End) -> Box<dyn Observer>,
    pub to_scenario: fn(subject: End) -> Box<dyn TraceToScenario>,
    pub summarize: for<'a> fn(&'a Event) -> Option<MessageSummary<'a>>,
    pub message_types: fn(&dyn Schemas) -> Vec<MessageType>,
    pub conversation: fn(&MessageType, &Value, Example<'_>) -> Vec<SampleStep>,
    pub flows: fn(Example<'_>) -> Vec<Flow>,
    pub channels: &'static [Channel],
    pub query: fn(message: &str) -> &'static [QueryParameter],
}

impl Schemas for HttpEdition {
    fn schema(&self, name: &str) -> Option<&'static Value> {
        self.schemas.get(name)
    }

    fn names(&self) -> Vec<String> {
        self.schemas.names().map(str::to_owned).collect()
    }
}

impl Edition for HttpEdition {
    fn id(&self) -> &'static str {
        self.id
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn rules(&'static self) -> Vec<Box<dyn Rule>> {
        (self.rules)()
    }

    fn observer(&'static self, subject: End) -> Box<dyn Observer> {
        (self.observer)(subject)
    }

    fn to_scenario(&'static self, subject: End) -> Box<dyn TraceToScenario> {
        (self.to_scenario)(subject)
    }

    fn summarize<'a>(&self, event: &'a Event) -> Option<MessageSummary<'a>> {
        (self.summarize)(event)
    }

    fn message_types(&self) -> Vec<MessageType> {
        (self.message_types)(self)
    }

    fn conversation(&self, message: &MessageType, body: &Value, example: Example<'_>) -> Vec<SampleStep> {
        (self.conversation)(message, body, example)
    }

    fn flows(&self, example: Example<'_>) -> Vec<Flow> {
        (self.flows)(example)
    }

    fn channels(&self) -> Vec<Channel> {
        self.channels.to_vec()
    }

    fn query(&self, message: &str) -> &'static [QueryParameter] {
        (self.query)(message)
    }
}

#[cfg(test)]
mod tests {
    use crate::protocol::protocols;

    #[test]
    fn every_file_is_a_draft_07_schema_with_a_title() {
        for edition in protocols().iter().flat_map(|protocol| protocol.editions) {
            for name in edition.names() {
                let schema = edition.schema(&name).unwrap_or_else(|| panic!("{edition}: {name} is listed"));
                assert!(jsonschema::draft7::meta::validate(schema).is_ok(), "{edition}: {name}");
                assert!(schema["title"].is_string(), "{edition}: {name}");
            }
        }
    }
}
