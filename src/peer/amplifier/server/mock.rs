//! The mock server as [`crate::peer::Mock`].

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
use crate::peer::quirks::QuirkRegistry;
use crate::peer::{Begin, BoxFuture, Ended, Mock, MockError, MockEvent, MockKind, MockOptions};
use crate::trace::End;
use crate::wire::http::{Exchanges, Limits, Server};
use crate::wire::tcp;

use super::model::Model;
use super::place::Folder;
use super::quirks::{Effect, Quirks};
use super::script::{EFFECT_FILE, KEYS, PROMPTS, Script, example};
use super::service::Service;
use super::stage::ServerContext;
use super::steer::{self, Command, Source};
use super::{EDITION, flaws, freedoms};

/// The mock server.
pub static MOCK: MockKind = MockKind {
    role: "amplifier-server",
    flaws: flaws::all,
    freedoms: freedoms::all,
    described,
    begin: Begin::Serve(|options| Box::pin(start(options))),
    scripted: true,
};

/// How long subscribers may take to get what is still told to them at the end.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How many connections it holds at once: streams, and requests beside them.
const CONNECTIONS: usize = 16_384;

struct MockServer {
    service: Arc<Service>,
    address: SocketAddr,
    server: Mutex<Option<Server>>,
}

/// What a certification of this mock is told: the prompts and keys of the example.
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
    let quirks = Quirks::chosen(&options, &KNOWN)?;
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
    let model = Model::new(Arc::new(script), quirks, Box::new(folder), Timestamp::now(), address.port());
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
    fn obey(&self, command: Command) -> Result<Value, String> {
        let stage = &self.service.stage;
        let now = stage.now();
        let mut model = stage.model();
        let known = |model: &Model, session: Option<&String>| match session {
            Some(id) if model.session(id).is_none() => Err(format!("there is no session `{id}`")),
            _ => Ok(()),
        };
        match command {
            Command::Script(from) => {
                drop(model);
                let script = script(&from)?;
                stage.model().replace(script);
            }
            Command::Event { session, event, data } => {
                known(&model, session.as_ref())?;
                let told = model.tell(session.as_deref(), &event, &data, now);
                return Ok(json!({"sessions": told}));
            }
            Command::Cut { session, reset } => {
                known(&model, session.as_ref())?;
                return Ok(json!({"streams": model.cut(session.as_deref(), reset)}));
            }
            Command::Refuse { endpoint, failure, times } => {
                (0..times).for_each(|_| model.refuse_next(endpoint, failure.clone()));
            }
            Command::Switch(name, on) => {
                let quirk = KNOWN.either(&name)?;
                model.quirks.set(quirk, on);
            }
            Command::State => return Ok(model.describe()),
            Command::Quit => {
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
        Box::pin(async move { self.obey(steer::read(command)?) })
    }

    fn check(&self, command: &Map<String, Value>) -> Result<(), String> {
        match steer::read(command)? {
            Command::Switch(name, _) => KNOWN.either(&name).map(drop),
            Command::Script(from @ Source::Here(_)) => script(&from).map(drop),
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
            let now = self.service.stage.now();
            self.service.stage.model().end(now);
            // One that does not read has had its time.
            let _ = timeout(LAST_WORDS, self.service.deserted()).await;
            server.stop().await;
        })
    }
}

/// The script that a command speaks of.
fn script(from: &Source) -> Result<Script, String> {
    match from {
        Source::Example => Ok(example().clone()),
        Source::File(path) => {
            let source = yaml::read(Path::new(path)).map_err(|fault| fault.message)?;
            Script::parse(&source).map_err(|faults| crate::peer::format::in_a_line(&faults))
        }
        Source::Here(script) => Script::from_json(script),
    }
}

/// What can be different about it.
pub const KNOWN: QuirkRegistry<'static, &'static [Effect]> =
    QuirkRegistry { flaw: &flaws::find, freedom: &freedoms::find, names };

fn names() -> Vec<&'static str> {
    flaws::all().iter().map(|f| f.name).chain(freedoms::all().iter().map(|f| f.name)).collect()
}
