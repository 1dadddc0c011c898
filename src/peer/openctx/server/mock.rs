//! The mock provider: plays `openctx-provider` for somebody else's client or tests ([`MOCK`]). [`Command`]s change it while it serves.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use crate::config::Described;
use crate::diagnostic::{Source, yaml};
use crate::format::fields_of;
use crate::format::in_a_line;
use crate::peer::control::read_command;
use crate::peer::http::server::{MockServer, listen};
use crate::peer::{Begin, BoxFuture, Ended, Mock, MockError, MockEvent, MockKind, MockOptions};
use crate::wire::http::Limits;

use super::super::data::Data;
use super::OpenctxServer;
use super::deviations::{Deviations, TABLE};
use super::mock_steering::{MockSteering, SteeringSwitch};

#[cfg(test)]
mod tests;

/// The mock provider.
pub static MOCK: MockKind = MockKind {
    role: "openctx-provider",
    flaws: || TABLE.flaws(),
    freedoms: || TABLE.freedoms(),
    described,
    commands: fields_of::<Command>,
    begin: Begin::Serve(|options| Box::pin(start(options))),
    scripted: false,
};

/// The one edition that there is.
pub const EDITION: &str = "0.1";

struct MockProvider {
    server: MockServer<OpenctxServer<MockSteering>>,
}

/// The description of this mock for its certification: something that the example of its data has an entry for.
fn described() -> Described {
    let values = json!({
        "query": "https://tickets.example/WIRE-7",
        "message": "How is the ticket WIRE-2 doing?",
        "document": {"uri": "file:///a.ts", "content": "import a // WIRE-7\n// WIRE-1\n"},
    });
    match values {
        Value::Object(values) => Described::new(values, BTreeMap::new()),
        _ => Described::default(),
    }
}

async fn start(options: MockOptions) -> Result<Box<dyn Mock>, MockError> {
    let deviations = Deviations::chosen(&options, &TABLE)?;
    let data = match &options.data {
        Some(source) => Data::parse(source).map_err(MockError::Data)?,
        None => Arc::unwrap_or_clone(Data::example()),
    };
    let limits = limits(&deviations);
    let provider = OpenctxServer::new(MockSteering::new(data, deviations, options.latency));
    let listening = listen(options.port)?;
    Ok(Box::new(MockProvider { server: MockServer::start(listening, provider, options.recorder, limits)? }))
}

impl MockProvider {
    fn steering(&self) -> &MockSteering {
        &self.server.handler.steering
    }
}

/// The bounds of its server.
fn limits(deviations: &Deviations) -> Limits {
    let connections = if deviations.has(SteeringSwitch::OneAtATime) { 1 } else { Limits::default().connections };
    Limits { connections, ..Limits::default() }
}

impl Mock for MockProvider {
    fn ready(&self) -> Value {
        self.server.ready(MOCK.role, EDITION)
    }

    fn steer<'a>(&'a self, command: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            match read_command(command)? {
                Command::Data { from } => self.steering().replace(data(from.as_ref())?),
                Command::Switch { name, on } => {
                    let deviation = TABLE.either(EDITION, &name)?;
                    self.steering().switch(|deviations| deviations.set(deviation, on));
                }
                Command::State {} => return Ok(self.steering().describe()),
                Command::Quit {} => self.steering().lifecycle.end(Ended::Quit),
            }
            Ok(json!({}))
        })
    }

    fn check(&self, command: &Map<String, Value>) -> Result<(), String> {
        match read_command(command)? {
            Command::Switch { name, .. } => TABLE.either(EDITION, &name).map(drop),
            Command::Data { from: from @ Some(DataSource::Data(_)) } => data(from.as_ref()).map(drop),
            _ => Ok(()),
        }
    }

    fn happenings(&self) -> broadcast::Receiver<MockEvent> {
        self.steering().lifecycle.events()
    }

    fn ended(&self) -> BoxFuture<'_, Ended> {
        Box::pin(self.steering().lifecycle.ended())
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.server.stop(std::future::ready(())))
    }
}

/// The data that a command speaks of.
fn data(from: Option<&DataSource>) -> Result<Data, String> {
    let source = match from {
        None => return Ok(Arc::unwrap_or_clone(Data::example())),
        Some(DataSource::File(path)) => yaml::read(Path::new(path)).map_err(|fault| fault.message)?,
        // JSON is YAML.
        Some(DataSource::Data(data)) => Source::new("data", Value::Object(data.clone()).to_string()),
    };
    Data::parse(&source).map_err(|faults| in_a_line(&faults))
}

/// A command to a mock that serves.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Command {
    /// From now on it gives what is in this file, or in this map, or what it gives where nothing is said.
    Data {
        #[serde(flatten)]
        from: Option<DataSource>,
    },
    /// Switches a flaw or freedom on or off.
    Switch { name: String, on: bool },
    /// Tells what state it is in.
    State {},
    /// Ends it.
    Quit {},
}

/// Where data comes from.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DataSource {
    /// The path of a file.
    File(String),
    /// As in a file.
    Data(Map<String, Value>),
}
