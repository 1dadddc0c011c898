//! The mock server as [`crate::peer::Mock`], and the commands that it takes while it serves.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, broadcast};
use tokio::time::timeout;

use crate::config::Described;
use crate::diagnostic::yaml;
use crate::peer::{Begin, BoxFuture, Ended, Mock, MockError, MockEvent, MockKind, MockOptions};
use crate::protocol::amplifier::{CODES, ENDPOINTS, Endpoint};
use crate::trace::End;
use crate::wire::http::{Exchanges, Limits, Server};
use crate::wire::tcp;

use super::EDITION;
use super::context::{Folder, ServerContext};
use super::deviations::{Deviations, TABLE};
use super::model::Model;
use super::script::{EFFECT_FILE, KEYS, PROMPTS, Script, ScriptedError, example};
use super::service::Service;

/// The mock server.
pub static MOCK: MockKind = MockKind {
    role: "amplifier-server",
    flaws: || TABLE.flaws(),
    freedoms: || TABLE.freedoms(),
    described,
    begin: Begin::Serve(|options| Box::pin(start(options))),
    scripted: true,
};

/// How long subscribers may take to get the last events at the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// How many connections it holds at once: streams, and requests beside them.
const CONNECTIONS: usize = 16_384;

struct MockServer {
    service: Arc<Service>,
    address: SocketAddr,
    server: Mutex<Option<Server>>,
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
    if options.edition != EDITION {
        let message = format!("there is no edition `{}`; there is {EDITION}", options.edition);
        return Err(MockError::Option(message));
    }
    let deviations = Deviations::chosen(&options, &TABLE)?;
    let script = match &options.data {
        Some(source) => Script::parse(source).map_err(MockError::Data)?,
        None => example().clone(),
    };
    let folder = Folder::new(&options.workspace)
        .map_err(|e| MockError::Option(format!("the workspace {} cannot be used: {e}", options.workspace.display())))?;
    let listen = (Ipv4Addr::LOCALHOST, options.port.unwrap_or(0));
    let listener = tcp::listen(listen).map_err(|source| {
        let port = options.port.map_or("any port".to_owned(), |port| format!("port {port}"));
        MockError::System { doing: format!("listen on {port} of the loopback address"), source }
    })?;
    let learn = |source| MockError::System { doing: "learn where it listens".to_owned(), source };
    let address = listener.local_addr().map_err(learn)?;
    let model = Model::new(Arc::new(script), deviations, Box::new(folder), Timestamp::now(), address.port());
    let service = Arc::new(Service::new(ServerContext::new(model), options.latency));
    let exchanges = Exchanges::new(options.recorder, End::Server);
    allow_many_files();
    let limits = Limits { connections: CONNECTIONS, ..Limits::default() };
    let server = Server::start(listener, service.clone(), exchanges, limits).map_err(learn)?;
    Ok(Box::new(MockServer { service, address, server: Mutex::new(Some(server)) }))
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

impl MockServer {
    fn execute(&self, command: SteerCommand) -> Result<Value, String> {
        let context = &self.service.context;
        let now = context.now();
        let mut model = context.model();
        let known = |model: &Model, session: Option<&String>| match session {
            Some(id) if model.session(id).is_none() => Err(format!("there is no session `{id}`")),
            _ => Ok(()),
        };
        match command {
            SteerCommand::Script(from) => {
                drop(model);
                let script = script(&from)?;
                context.model().replace(script);
            }
            SteerCommand::Event { session, event, data } => {
                known(&model, session.as_ref())?;
                let count = model.emit(session.as_deref(), &event, &data, now);
                return Ok(json!({"sessions": count}));
            }
            SteerCommand::Cut { session, reset } => {
                known(&model, session.as_ref())?;
                return Ok(json!({"streams": model.cut(session.as_deref(), reset)}));
            }
            SteerCommand::Refuse { endpoint, failure, times } => {
                (0..times).for_each(|_| model.refuse_next(endpoint, failure.clone()));
            }
            SteerCommand::Switch(name, on) => {
                let deviation = TABLE.either(EDITION, &name)?;
                model.deviations.set(deviation, on);
            }
            SteerCommand::State => return Ok(model.describe()),
            SteerCommand::Quit => {
                drop(model);
                self.service.end(Ended::Quit);
            }
        }
        Ok(json!({}))
    }
}

impl Mock for MockServer {
    fn ready(&self) -> Value {
        json!({
            "role": MOCK.role,
            "edition": EDITION,
            "port": self.address.port(),
            "url": format!("http://{}/", self.address),
            "pid": std::process::id(),
        })
    }

    fn steer<'a>(&'a self, command: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move { self.execute(read_command(command)?) })
    }

    fn check(&self, command: &Map<String, Value>) -> Result<(), String> {
        match read_command(command)? {
            SteerCommand::Switch(name, _) => TABLE.either(EDITION, &name).map(drop),
            SteerCommand::Script(from @ ScriptSource::Here(_)) => script(&from).map(drop),
            _ => Ok(()),
        }
    }

    fn happenings(&self) -> broadcast::Receiver<MockEvent> {
        self.service.happenings()
    }

    fn ended(&self) -> BoxFuture<'_, Ended> {
        Box::pin(self.service.ended())
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let Some(server) = self.server.lock().await.take() else { return };
            server.close();
            let now = self.service.context.now();
            self.service.context.model().end(now);
            // One that does not read has had its time.
            let _ = timeout(DRAIN_TIMEOUT, self.service.no_subscribers()).await;
            server.stop().await;
        })
    }
}

/// The script that a command speaks of.
fn script(from: &ScriptSource) -> Result<Script, String> {
    match from {
        ScriptSource::Example => Ok(example().clone()),
        ScriptSource::File(path) => {
            let source = yaml::read(Path::new(path)).map_err(|fault| fault.message)?;
            Script::parse(&source).map_err(|faults| crate::peer::format::in_a_line(&faults))
        }
        ScriptSource::Here(script) => Script::from_json(script),
    }
}

/// A command to a mock that serves.
#[derive(Clone, Debug, PartialEq)]
pub enum SteerCommand {
    /// From now on the agent does this.
    Script(ScriptSource),
    /// Emits an event to the subscribers of a session, or of all.
    Event { session: Option<String>, event: String, data: Value },
    /// Ends the streams of a session, or of all.
    Cut { session: Option<String>, reset: bool },
    /// Refuses the next requests for an endpoint, or any.
    Refuse { endpoint: Option<Endpoint>, failure: ScriptedError, times: u64 },
    /// Switches a flaw or freedom on or off.
    Switch(String, bool),
    /// Reports the state of the server.
    State,
    /// Ends the mock.
    Quit,
}

/// Where a script is.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptSource {
    /// The example.
    Example,
    /// A file.
    File(String),
    /// Here.
    Here(Value),
}

/// The commands, each with its parameters.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("script", &["file", "script"]),
    ("event", &["session", "event", "data"]),
    ("cut", &["session", "how"]),
    ("refuse", &["endpoint", "code", "message", "times"]),
    ("switch", &["name", "on"]),
    ("state", &[]),
    ("quit", &[]),
];

/// The most requests that one command has refused.
const MAX_REFUSALS: u64 = 10_000;

/// Understands a command.
///
/// # Errors
/// What is wrong with it.
pub fn read_command(command: &Map<String, Value>) -> Result<SteerCommand, String> {
    let (name, params) = match command.iter().next() {
        Some((name, params)) if command.len() == 1 => (name.as_str(), params),
        _ => return Err("a command is an object of one key, such as {\"state\":{}}".to_owned()),
    };
    let Some((_, known)) = COMMANDS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no command `{name}`; there are {}", names.join(", ")));
    };
    let Value::Object(params) = params else { return Err(format!("the parameters of `{name}` must be an object")) };
    if let Some(unknown) = params.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("`{name}` has no parameter `{unknown}`"));
    }
    let wrong = |param: &str, what: &str| format!("the parameter `{param}` of `{name}` must be {what}");
    let text = |param: &str, what: &str| match params.get(param) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(param, what)),
    };
    let session = || text("session", "the id of a session");
    Ok(match name {
        "script" => SteerCommand::Script(match (text("file", "a path")?, params.get("script")) {
            (Some(_), Some(_)) => return Err("`script` takes either `file` or `script`".to_owned()),
            (Some(file), None) => ScriptSource::File(file),
            (None, Some(script @ Value::Object(_))) => ScriptSource::Here(script.clone()),
            (None, Some(_)) => return Err(wrong("script", "an object, as in a script's file")),
            (None, None) => ScriptSource::Example,
        }),
        "event" => {
            let event = text("event", "the name of an event")?.ok_or_else(|| wrong("event", "the name of an event"))?;
            let data = match params.get("data") {
                None => Value::Object(Map::new()),
                Some(data @ Value::Object(_)) => data.clone(),
                Some(_) => return Err(wrong("data", "an object")),
            };
            SteerCommand::Event { session: session()?, event, data }
        }
        "cut" => {
            let reset = match text("how", "end or reset")?.as_deref() {
                None | Some("end") => false,
                Some("reset") => true,
                Some(_) => return Err(wrong("how", "end or reset")),
            };
            SteerCommand::Cut { session: session()?, reset }
        }
        "refuse" => {
            let what = "one of the fourteen codes";
            let code = text("code", what)?.filter(|code| CODES.iter().any(|(known, ..)| known == code));
            let code = code.ok_or_else(|| wrong("code", what))?;
            let endpoint = match text("endpoint", "the name of an endpoint")? {
                None => None,
                Some(name) => Some(
                    Endpoint::named(&name)
                        .ok_or_else(|| wrong("endpoint", &format!("one of {}", ENDPOINTS.join(", "))))?,
                ),
            };
            let times =
                params.get("times").map_or(Some(1), Value::as_u64).filter(|times| (1..=MAX_REFUSALS).contains(times));
            let times = times.ok_or_else(|| wrong("times", "a whole number from 1 to 10000"))?;
            SteerCommand::Refuse {
                endpoint,
                failure: ScriptedError { code, message: text("message", "a text")? },
                times,
            }
        }
        "switch" => match (text("name", "the name of a flaw or freedom")?, params.get("on").and_then(Value::as_bool)) {
            (Some(name), Some(on)) => SteerCommand::Switch(name, on),
            (None, _) => return Err(wrong("name", "the name of a flaw or freedom")),
            (_, None) => return Err(wrong("on", "true or false")),
        },
        "quit" => SteerCommand::Quit,
        _ => SteerCommand::State,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(command: Value) -> Result<SteerCommand, String> {
        let Value::Object(command) = command else { panic!("no object") };
        read_command(&command)
    }

    #[test]
    fn a_command_says_what_to_do_with_what() {
        assert_eq!(parse(json!({"script": {}})), Ok(SteerCommand::Script(ScriptSource::Example)));
        let event = SteerCommand::Event { session: None, event: "a:b".to_owned(), data: json!({"x": 1}) };
        assert_eq!(parse(json!({"event": {"event": "a:b", "data": {"x": 1}}})), Ok(event));
        let cut = SteerCommand::Cut { session: Some("s".to_owned()), reset: true };
        assert_eq!(parse(json!({"cut": {"session": "s", "how": "reset"}})), Ok(cut));
        let failure = ScriptedError { code: "RATE_LIMITED".to_owned(), message: None };
        let refuse = SteerCommand::Refuse { endpoint: Some(Endpoint::Health), failure, times: 2 };
        assert_eq!(parse(json!({"refuse": {"endpoint": "health", "code": "RATE_LIMITED", "times": 2}})), Ok(refuse));
        assert_eq!(
            (parse(json!({"state": {}})), parse(json!({"quit": {}}))),
            (Ok(SteerCommand::State), Ok(SteerCommand::Quit))
        );
    }

    #[test]
    fn a_command_that_is_wrong_is_told_what_is_wrong() {
        for (command, expected) in [
            (json!({}), "a command is an object of one key"),
            (json!({"fly": {}}), "there is no command `fly`; there are script, event"),
            (json!({"quit": 1}), "the parameters of `quit` must be an object"),
            (json!({"quit": {"x": 1}}), "`quit` has no parameter `x`"),
            (json!({"event": {}}), "the parameter `event` of `event` must be"),
            (json!({"event": {"event": "a", "data": 1}}), "the parameter `data` of `event` must be an object"),
            (json!({"cut": {"how": "softly"}}), "the parameter `how` of `cut` must be end or reset"),
            (json!({"refuse": {"code": "NO"}}), "the parameter `code` of `refuse` must be one of the fourteen"),
            (
                json!({"refuse": {"code": "SERVER_ERROR", "endpoint": "x"}}),
                "the parameter `endpoint` of `refuse` must be",
            ),
            (json!({"switch": {"name": "x"}}), "the parameter `on` of `switch` must be true or false"),
        ] {
            let error = parse(command.clone()).unwrap_err();
            assert!(error.starts_with(expected), "{command}: {error}");
        }
    }
}
