//! The mock server: plays `amplifier-server` for somebody else's client or tests ([`MOCK`]). A [`SteerCommand`] changes it while it
//! serves.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;
use tokio::time::timeout;

use crate::config::Described;
use crate::diagnostic::yaml;
use crate::format::fields_of;
use crate::peer::control::read_command;
use crate::peer::http::server::{MockServer, listen};
use crate::peer::{Begin, BoxFuture, Ended, Mock, MockError, MockEvent, MockKind, MockOptions};
use crate::protocol::amplifier::{ENDPOINTS, Endpoint};
use crate::wire::http::Limits;

use super::AmplifierServer;
use super::context::{Folder, ServerContext};
use super::deviations::{Deviations, TABLE};
use super::mock_steering::MockSteering;
use super::model::Model;
use super::script::{EFFECT_FILE, KEYS, PROMPTS, Script, ScriptedError, example};

#[cfg(test)]
mod tests;

/// The one edition that there is.
pub const EDITION: &str = "2025-12-09";

/// The mock server.
pub static MOCK: MockKind = MockKind {
    role: "amplifier-server",
    flaws: || TABLE.flaws(),
    freedoms: || TABLE.freedoms(),
    described,
    commands: fields_of::<SteerCommand>,
    begin: Begin::Serve(|options| Box::pin(start(options))),
    scripted: true,
};

/// How long subscribers may take to get the last events at the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How many connections it holds at once: streams, and requests beside them.
const CONNECTIONS: usize = 16_384;

/// The mock server that runs.
struct AmplifierMock {
    server: MockServer<AmplifierServer<MockSteering>>,
}

/// The description of this mock for its certification: the prompts and keys of the example.
fn described() -> Described {
    let prompts: Map<String, Value> =
        PROMPTS.iter().map(|(key, prompt)| ((*key).to_owned(), (*prompt).into())).collect();
    let variables =
        [("good", "WIRECERT_KEY_GOOD"), ("bad", "WIRECERT_KEY_BAD"), ("unauthorized", "WIRECERT_KEY_UNAUTHORIZED")];
    let credentials: Map<String, Value> =
        variables.iter().map(|(key, variable)| ((*key).to_owned(), (*variable).into())).collect();
    let secret = |wanted: &str| KEYS.iter().find(|(key, _)| *key == wanted).map(|(_, value)| (*value).to_owned());
    let secrets: BTreeMap<String, String> =
        variables.iter().filter_map(|(key, variable)| Some(((*variable).to_owned(), secret(key)?))).collect();
    let values = json!({
        "prompts": prompts,
        "approval": {"allow": ["Allow", "Allow All"], "deny": ["Deny"], "effect": EFFECT_FILE},
        "profiles": {"good": "dev", "collection": "design-intelligence", "model": "claude-sonnet-4-5"},
        "credentials": credentials,
    });
    match values {
        Value::Object(values) => Described::new(values, secrets),
        _ => Described::default(),
    }
}

async fn start(options: MockOptions) -> Result<Box<dyn Mock>, MockError> {
    let deviations = Deviations::chosen(&options, &TABLE)?;
    let script = match &options.data {
        Some(source) => Script::parse(source).map_err(MockError::Data)?,
        None => example().clone(),
    };
    let folder = Folder::new(&options.workspace)
        .map_err(|e| MockError::Option(format!("the workspace {} cannot be used: {e}", options.workspace.display())))?;
    let listening = listen(options.port)?;
    let port = listening.1.port();
    let model = Model::new(Arc::new(script), deviations, Box::new(folder), Timestamp::now(), port);
    let server = AmplifierServer::new(MockSteering::new(ServerContext::new(model), options.latency));
    allow_many_files();
    let limits = Limits { connections: CONNECTIONS, ..Limits::default() };
    Ok(Box::new(AmplifierMock { server: MockServer::start(listening, server, options.recorder, limits)? }))
}

/// Has the system let this process hold as many connections as it may: by itself it often allows a thousand files.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = Some(2 * CONNECTIONS as u64);
    let most = limit.maximum.map_or(wanted, |maximum| wanted.map(|wanted| wanted.min(maximum)));
    if limit.current.is_some_and(|current| most.is_some_and(|most| current < most)) {
        // Where it is not allowed, fewer have to do.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: limit.maximum });
    }
}

impl AmplifierMock {
    fn steering(&self) -> &MockSteering {
        &self.server.handler.steering
    }

    fn execute(&self, command: SteerCommand) -> Result<Value, String> {
        let context = &self.steering().context;
        let now = context.now();
        let mut model = context.model();
        let known = |model: &Model, session: Option<&String>| match session {
            Some(id) if model.session(id).is_none() => Err(format!("there is no session `{id}`")),
            _ => Ok(()),
        };
        match command {
            SteerCommand::Script { from } => {
                drop(model);
                let script = script(from.as_ref())?;
                context.model().replace(script);
            }
            SteerCommand::Event { session, event, data } => {
                known(&model, session.as_ref())?;
                let count = model.emit(session.as_deref(), &event, &data.into(), now);
                return Ok(json!({"sessions": count}));
            }
            SteerCommand::Cut { session, how } => {
                known(&model, session.as_ref())?;
                return Ok(json!({"streams": model.cut(session.as_deref(), how == StreamCut::Reset)}));
            }
            SteerCommand::Refuse { endpoint, failure, times } => {
                (0..times).for_each(|_| model.refuse_next(endpoint, failure.clone()));
            }
            SteerCommand::Switch { name, on } => {
                let deviation = TABLE.either(EDITION, &name)?;
                model.deviations.set(deviation, on);
            }
            SteerCommand::State {} => return Ok(model.describe()),
            SteerCommand::Quit {} => {
                drop(model);
                self.steering().lifecycle.end(Ended::Quit);
            }
        }
        Ok(json!({}))
    }
}

impl Mock for AmplifierMock {
    fn ready(&self) -> Value {
        self.server.ready(MOCK.role, EDITION)
    }

    fn steer<'a>(&'a self, command: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move { self.execute(read_command(command)?) })
    }

    fn check(&self, command: &Map<String, Value>) -> Result<(), String> {
        match read_command(command)? {
            SteerCommand::Switch { name, .. } => TABLE.either(EDITION, &name).map(drop),
            SteerCommand::Script { from: from @ Some(ScriptSource::Script(_)) } => script(from.as_ref()).map(drop),
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
        Box::pin(async {
            let finish = async {
                let now = self.steering().context.now();
                self.steering().context.model().end(now);
                // One that does not read has had its time.
                let _ = timeout(DRAIN_TIMEOUT, self.steering().no_subscribers()).await;
            };
            self.server.stop(finish).await;
        })
    }
}

/// The script that a command speaks of.
fn script(from: Option<&ScriptSource>) -> Result<Script, String> {
    match from {
        None => Ok(example().clone()),
        Some(ScriptSource::File(path)) => {
            let source = yaml::read(Path::new(path)).map_err(|fault| fault.message)?;
            Script::parse(&source).map_err(|faults| crate::format::in_a_line(&faults))
        }
        Some(ScriptSource::Script(script)) => Script::from_json(&Value::Object(script.clone())),
    }
}

/// A command to a mock that serves.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteerCommand {
    /// From now on the agent does this; what it does in the example where nothing is said.
    Script {
        #[serde(flatten)]
        from: Option<ScriptSource>,
    },
    /// Emits an event to the subscribers of a session, or of all.
    Event {
        session: Option<String>,
        event: String,
        #[serde(default)]
        data: Map<String, Value>,
    },
    /// Ends the streams of a session, or of all.
    Cut {
        session: Option<String>,
        #[serde(default)]
        how: StreamCut,
    },
    /// Refuses the next requests for an endpoint, or any.
    Refuse {
        #[schemars(with = "Option<String>", extend("enum" = ENDPOINTS))]
        endpoint: Option<Endpoint>,
        #[serde(flatten)]
        failure: ScriptedError,
        #[serde(default = "once")]
        #[schemars(range(min = 1, max = 10_000))]
        times: u64,
    },
    /// Switches a flaw or freedom on or off.
    Switch { name: String, on: bool },
    /// Reports the state of the server.
    State {},
    /// Ends the mock.
    Quit {},
}

/// Where a script is.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScriptSource {
    /// The path of a file.
    File(String),
    /// As in a file.
    Script(Map<String, Value>),
}

/// How streams are ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamCut {
    #[default]
    End,
    Reset,
}

fn once() -> u64 {
    1
}
