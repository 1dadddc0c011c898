//! A mock that serves, as something that can be acted on: [`MockControls`].

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::peer::{BoxFuture, Mock, MockKind};

use super::api::{Act, Deviation};
use super::controls::Controls;
use super::examples::{of_schema, schema_of};

/// Commands that the page and scripts need no act for: the interface has a way of its own.
const OTHERWISE: [&str; 1] = ["switch"];

/// The commands of a mock as acts, and its flaws and freedoms.
pub struct MockControls {
    mock: Arc<dyn Mock>,
    kind: &'static MockKind,
    edition: &'static str,
}

impl MockControls {
    /// Of a mock that serves in an edition.
    pub fn new(mock: Arc<dyn Mock>, kind: &'static MockKind, edition: &'static str) -> Self {
        Self { mock, kind, edition }
    }

    async fn steer(&self, name: &str, params: Value) -> Result<Value, String> {
        let command = Map::from_iter([(name.to_owned(), params)]);
        self.mock.steer(&command).await
    }
}

impl Controls for MockControls {
    fn acts(&self) -> Vec<Act> {
        let commands = (self.kind.commands)().iter().filter(|command| !OTHERWISE.contains(&command.name));
        commands
            .map(|command| {
                let schema = schema_of(&command.shape);
                let examples = of_schema(&schema);
                Act { name: command.name.to_owned(), about: command.doc.to_owned(), schema, examples, forms: vec![] }
            })
            .collect()
    }

    fn act<'a>(&'a self, name: &'a str, params: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(self.steer(name, Value::Object(params.clone())))
    }

    fn deviations(&self) -> BoxFuture<'_, Vec<Deviation>> {
        Box::pin(async {
            let state = self.steer("state", json!({})).await.unwrap_or_default();
            let on: Vec<&str> =
                state["switched_on"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let flaws = (self.kind.flaws)().iter().filter(|flaw| flaw.editions.contains(&self.edition));
            let freedoms = (self.kind.freedoms)().iter().filter(|freedom| freedom.editions.contains(&self.edition));
            let flaws = flaws.map(|flaw| Deviation {
                name: flaw.name.to_owned(),
                flaw: true,
                about: flaw.about.to_owned(),
                breaks: Some(flaw.breaks.to_owned()),
                on: on.contains(&flaw.name),
            });
            let freedoms = freedoms.map(|freedom| Deviation {
                name: freedom.name.to_owned(),
                flaw: false,
                about: freedom.about.to_owned(),
                breaks: None,
                on: on.contains(&freedom.name),
            });
            flaws.chain(freedoms).collect()
        })
    }

    fn switch<'a>(&'a self, name: &'a str, on: bool) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.steer("switch", json!({ "name": name, "on": on })).await.map(drop) })
    }

    fn state(&self) -> BoxFuture<'_, Value> {
        Box::pin(async { self.steer("state", json!({})).await.unwrap_or_default() })
    }
}
