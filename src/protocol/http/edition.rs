//! [`HttpEdition`]: an edition of a protocol over HTTP, as a table of what its protocol has for it.

use serde_json::Value;

use crate::matcher::Schemas;
use crate::protocol::sample::{Example, Flow, MessageType, SampleStep};
use crate::protocol::scenario_element::TraceToScenario;
use crate::protocol::schema_folder::SchemaFolder;
use crate::protocol::{Edition, MessageSummary, Observer, Rule};
use crate::trace::{End, Event};

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
}
