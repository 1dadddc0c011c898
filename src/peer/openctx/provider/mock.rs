//! The mock provider as [`crate::peer::Mock`], and the commands that steer it while it runs.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, broadcast};

use crate::diagnostic::{Source, yaml};
use crate::peer::{Begin, BoxFuture, Ended, Mock, MockError, MockEvent, MockKind, MockOptions, format};
use crate::trace::End;
use crate::wire::http::{Exchanges, Limits, Server};
use crate::wire::tcp;

use super::data::Data;
use super::deviations::{Deviations, Switch, TABLE};
use super::service::Service;

/// The mock provider.
pub static MOCK: MockKind = MockKind {
    role: "openctx-provider",
    flaws: || TABLE.flaws(),
    freedoms: || TABLE.freedoms(),
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
    let deviations = Deviations::chosen(&options, &TABLE)?;
    let data = match &options.data {
        Some(source) => Data::parse(source).map_err(MockError::Data)?,
        None => Arc::unwrap_or_clone(Data::example()),
    };
    let limits = limits(&deviations);
    let service = Arc::new(Service::new(data, deviations, options.latency));
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
fn limits(deviations: &Deviations) -> Limits {
    let connections = if deviations.has(Switch::OneAtATime) { 1 } else { Limits::default().connections };
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
            match read_command(command)? {
                Command::Data(from) => self.service.replace(data(&from)?),
                Command::Switch(name, on) => {
                    let deviation = TABLE.either(EDITION, &name)?;
                    self.service.switch(|deviations| deviations.set(deviation, on));
                }
                Command::State => return Ok(self.service.describe()),
                Command::Quit => self.service.end(Ended::Quit),
            }
            Ok(json!({}))
        })
    }

    fn check(&self, command: &Map<String, Value>) -> Result<(), String> {
        match read_command(command)? {
            Command::Switch(name, _) => TABLE.either(EDITION, &name).map(drop),
            Command::Data(from @ DataSource::Here(_)) => data(&from).map(drop),
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
fn data(from: &DataSource) -> Result<Data, String> {
    let source = match from {
        DataSource::Example => return Ok(Arc::unwrap_or_clone(Data::example())),
        DataSource::File(path) => yaml::read(Path::new(path)).map_err(|fault| fault.message)?,
        // JSON is YAML.
        DataSource::Here(value) => Source::new("data", value.to_string()),
    };
    Data::parse(&source).map_err(|faults| format::in_a_line(&faults))
}

/// A command, read and checked.
#[derive(Clone, Debug, PartialEq)]
enum Command {
    /// From now on it gives what is in this file, or in this map, or what it gives where nothing is said.
    Data(DataSource),
    /// Switches a flaw or freedom on or off.
    Switch(String, bool),
    /// Tells what state it is in.
    State,
    /// Ends it.
    Quit,
}

/// Where data comes from.
#[derive(Clone, Debug, PartialEq)]
enum DataSource {
    /// A file.
    File(String),
    /// Said in the command.
    Here(Value),
    /// The example.
    Example,
}

/// The names of the commands.
const COMMANDS: [&str; 4] = ["data", "switch", "state", "quit"];

/// Reads a command: an object of one key, the command's name, whose value is an object with its parameters.
///
/// # Errors
/// What is wrong with it.
fn read_command(command: &Map<String, Value>) -> Result<Command, String> {
    let (name, params) = match command.iter().next() {
        Some(only) if command.len() == 1 => only,
        _ => return Err("a command is an object of one key, such as {\"data\":{\"file\":\"data.yaml\"}}".to_owned()),
    };
    let Value::Object(params) = params else {
        return Err(format!("the parameters of `{name:.80}` must be an object; it may be empty"));
    };
    let known: &[&str] = match name.as_str() {
        "data" => &["file", "data"],
        "switch" => &["name", "on"],
        "state" | "quit" => &[],
        _ => return Err(format!("there is no command `{name:.80}`; there are {}", COMMANDS.join(", "))),
    };
    if let Some(key) = params.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("`{name}` has no parameter `{key:.80}`"));
    }
    let wrong = |key: &str, wanted: &str| format!("the parameter `{key}` of `{name}` must be {wanted}");
    match name.as_str() {
        "data" => match (params.get("file"), params.get("data")) {
            (Some(Value::String(file)), None) => Ok(Command::Data(DataSource::File(file.clone()))),
            (None, Some(data @ Value::Object(_))) => Ok(Command::Data(DataSource::Here(data.clone()))),
            (None, None) => Ok(Command::Data(DataSource::Example)),
            (Some(_), Some(_)) => Err("`data` takes either `file` or `data`".to_owned()),
            (Some(_), None) => Err(wrong("file", "a path")),
            (None, Some(_)) => Err(wrong("data", "an object, as in a data file")),
        },
        "switch" => match (params.get("name").and_then(Value::as_str), params.get("on").and_then(Value::as_bool)) {
            (Some(name), Some(on)) => Ok(Command::Switch(name.to_owned(), on)),
            (None, _) => Err(wrong("name", "the name of a flaw or freedom")),
            (_, None) => Err(wrong("on", "true or false")),
        },
        "quit" => Ok(Command::Quit),
        _ => Ok(Command::State),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(command: Value) -> Result<Command, String> {
        let Value::Object(command) = command else { panic!("no object") };
        read_command(&command)
    }

    #[test]
    fn a_command_says_what_to_do_with_what() {
        assert_eq!(parse(json!({"data": {}})), Ok(Command::Data(DataSource::Example)));
        assert_eq!(parse(json!({"data": {"file": "a"}})), Ok(Command::Data(DataSource::File("a".to_owned()))));
        assert_eq!(parse(json!({"switch": {"name": "x", "on": true}})), Ok(Command::Switch("x".to_owned(), true)));
        assert_eq!((parse(json!({"state": {}})), parse(json!({"quit": {}}))), (Ok(Command::State), Ok(Command::Quit)));
    }

    #[test]
    fn a_command_that_is_wrong_is_told_what_is_wrong() {
        for (command, expected) in [
            (json!({}), "a command is an object of one key"),
            (json!({"fly": {}}), "there is no command `fly`; there are data, switch, state, quit"),
            (json!({"quit": 1}), "the parameters of `quit` must be an object"),
            (json!({"quit": {"x": 1}}), "`quit` has no parameter `x`"),
            (json!({"data": {"file": 1}}), "the parameter `file` of `data` must be a path"),
            (json!({"data": {"data": []}}), "the parameter `data` of `data` must be an object"),
            (json!({"switch": {"name": "x"}}), "the parameter `on` of `switch` must be true or false"),
        ] {
            let error = parse(command.clone()).unwrap_err();
            assert!(error.starts_with(expected), "{command}: {error}");
        }
    }
}
