//! The mock provider as [`crate::peer::Mock`].

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, broadcast};

use crate::diagnostic::{Source, yaml};
use crate::peer::format;
use crate::peer::quirks::QuirkRegistry;
use crate::peer::{Begin, BoxFuture, Ended, Mock, MockError, MockEvent, MockKind, MockOptions};
use crate::trace::End;
use crate::wire::http::{Exchanges, Limits, Server};
use crate::wire::tcp;

use super::data::Data;
use super::quirks::{Effect, Quirks, Switch};
use super::service::Service;
use super::steer::{self, Command};
use super::{flaws, freedoms};

/// The mock provider.
pub static MOCK: MockKind = MockKind {
    role: "openctx-provider",
    flaws: flaws::all,
    freedoms: freedoms::all,
    described: crate::config::Described::default,
    begin: Begin::Serve(|options| Box::pin(start(options))),
    scripted: false,
};

/// The one edition that there is.
pub const EDITION: &str = "0.1";

struct MockProvider {
    service: Arc<Service>,
    address: SocketAddr,
    server: Mutex<Option<Server>>,
}

async fn start(options: MockOptions) -> Result<Box<dyn Mock>, MockError> {
    if options.edition != EDITION {
        let message = format!("there is no edition `{}`; there is {EDITION}", options.edition);
        return Err(MockError::Option(message));
    }
    let quirks = Quirks::chosen(&options, &KNOWN)?;
    let data = match &options.data {
        Some(source) => Data::parse(source).map_err(MockError::Data)?,
        None => Arc::unwrap_or_clone(Data::example()),
    };
    let limits = limits(&quirks);
    let service = Arc::new(Service::new(data, quirks, options.latency));
    let listen = (Ipv4Addr::LOCALHOST, options.port.unwrap_or(0));
    let listener = tcp::listen(listen).map_err(|source| {
        let port = options.port.map_or("any port".to_owned(), |port| format!("port {port}"));
        MockError::System { doing: format!("listen on {port} of the loopback address"), source }
    })?;
    let learn = |source| MockError::System { doing: "learn where it listens".to_owned(), source };
    let address = listener.local_addr().map_err(learn)?;
    let exchanges = Exchanges::new(options.recorder, End::Server);
    let server = Server::start(listener, service.clone(), exchanges, limits).map_err(learn)?;
    Ok(Box::new(MockProvider { service, address, server: Mutex::new(Some(server)) }))
}

/// The bounds of its server.
fn limits(quirks: &Quirks) -> Limits {
    let connections = if quirks.switch(Switch::OneAtATime).is_some() { 1 } else { Limits::default().connections };
    Limits { connections, ..Limits::default() }
}

impl Mock for MockProvider {
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
        Box::pin(async move {
            match steer::read(command)? {
                Command::Data(from) => self.service.replace(data(&from)?),
                Command::Switch(name, on) => {
                    let quirk = KNOWN.either(&name)?;
                    self.service.switch(|quirks| quirks.set(quirk, on));
                }
                Command::State => return Ok(self.service.describe()),
                Command::Quit => self.service.end(Ended::Quit),
            }
            Ok(json!({}))
        })
    }

    fn check(&self, command: &Map<String, Value>) -> Result<(), String> {
        match steer::read(command)? {
            Command::Switch(name, _) => KNOWN.either(&name).map(drop),
            Command::Data(from @ steer::Source::Here(_)) => data(&from).map(drop),
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
            if let Some(server) = self.server.lock().await.take() {
                server.stop().await;
            }
        })
    }
}

/// The data that a command speaks of.
fn data(from: &steer::Source) -> Result<Data, String> {
    let source = match from {
        steer::Source::Example => return Ok(Arc::unwrap_or_clone(Data::example())),
        steer::Source::File(path) => yaml::read(Path::new(path)).map_err(|fault| fault.message)?,
        // JSON is YAML.
        steer::Source::Here(value) => Source::new("data", value.to_string()),
    };
    Data::parse(&source).map_err(|faults| format::in_a_line(&faults))
}

/// What can be different about it.
pub const KNOWN: QuirkRegistry<'static, Effect> = QuirkRegistry { flaw: &flaws::find, freedom: &freedoms::find, names };

fn names() -> Vec<&'static str> {
    flaws::all().iter().map(|f| f.name).chain(freedoms::all().iter().map(|f| f.name)).collect()
}
