//! The mock editor: plays `amp-server` for somebody else's client or tests. [`MOCK`] is its descriptor, and `MockEditor` one that runs:
//! steered by commands, and different where flaws and freedoms say so.

use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;

use crate::format::fields_of;
use crate::peer::amp::editor::deviations::{EditorDeviations, TABLE};
use crate::peer::amp::editor::model::Editor;
use crate::peer::amp::editor::steer::{self, SteerCommand};
use crate::peer::deviation::Deviations;
use crate::peer::{Begin, BoxFuture, Ended, Mock, MockError, MockEvent, MockKind, MockOptions};
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::lockfile::LockfileValues;

use super::handshake::TokenSwitch;
use super::random_bytes;
use super::shared::{Phase, SharedServer};

use self::lockfile::{Lockfile, LockfileSwitch};

pub mod listener;
pub mod lockfile;
pub mod session;

/// The mock editor.
pub static MOCK: MockKind = MockKind {
    role: "amp-server",
    flaws: || TABLE.flaws(),
    freedoms: || TABLE.freedoms(),
    described: crate::config::Described::default,
    commands: fields_of::<SteerCommand>,
    begin: Begin::Serve(|options| Box::pin(start(options))),
    scripted: false,
};

struct MockEditor {
    identity: EditorIdentity,
    /// The server that runs.
    running: watch::Sender<Arc<RunningServer>>,
    /// Held while the server is ended, or started anew.
    changing: tokio::sync::Mutex<()>,
}

/// The properties of an editor that stay the same over restarts.
struct EditorIdentity {
    edition: &'static AmpEdition,
    data_home: PathBuf,
    name: String,
    root: PathBuf,
}

/// A server from its start to its end.
struct RunningServer {
    shared: SharedServer,
    address: SocketAddr,
    lockfile: Option<Lockfile>,
    server: Mutex<Option<JoinHandle<()>>>,
}

async fn start(options: MockOptions) -> Result<Box<dyn Mock>, MockError> {
    let edition = AmpEdition::of(options.edition);
    let deviations = EditorDeviations::from(Deviations::chosen(&options, &TABLE)?);
    let token = match options.token {
        Some(token) if token.is_empty() => return Err(MockError::Option("the token must not be empty".to_owned())),
        Some(token) => token,
        None => new_token(&deviations)?,
    };
    let workspace = &options.workspace;
    let editor = Editor::new(edition, workspace, token, deviations.clone())
        .map_err(|source| system(format!("open the workspace {}", workspace.display()), source))?;
    let data_home = match options.data_home {
        Some(home) => home,
        None => lockfile::editor_data_home(&deviations, |name| std::env::var_os(name))
            .ok_or_else(|| MockError::Option("there is no data home: say --data-home, or set HOME".to_owned()))?,
    };
    let data_home = std::path::absolute(&data_home)
        .map_err(|source| system(format!("find the data home {}", data_home.display()), source))?;
    let name = options.name.unwrap_or_else(|| "wirecert".to_owned());
    let identity = EditorIdentity { edition, data_home, name, root: editor.root.clone() };
    let shared = SharedServer::new(editor, options.recorder, options.latency);
    let listener = identity.listen(options.port, &deviations)?;
    let running = identity.serve(listener, shared)?;
    let (running, changing) = (watch::Sender::new(Arc::new(running)), tokio::sync::Mutex::default());
    Ok(Box::new(MockEditor { identity, running, changing }))
}

impl EditorIdentity {
    fn listen(&self, port: Option<u16>, deviations: &EditorDeviations) -> Result<TcpListener, MockError> {
        listener::listen(self.edition, port, deviations).map_err(|source| {
            let port = port.map_or("any port".to_owned(), |p| format!("port {p}"));
            system(format!("listen on {port} of the loopback address"), source)
        })
    }

    /// Serves where it listens, and lets that be found.
    fn serve(&self, listener: TcpListener, shared: SharedServer) -> Result<RunningServer, MockError> {
        let address = listener.local_addr().map_err(|source| system("learn where it listens".to_owned(), source))?;
        let token = shared.token();
        shared.recorder().add_secret(&token);
        let content = LockfileValues {
            folder: &self.root,
            port: address.port(),
            name: &self.name,
            token: &token,
            pid: std::process::id(),
        };
        // Written when connections are accepted already: whoever finds it may connect at once.
        let lockfile = Lockfile::write(&self.data_home, self.edition, &shared.deviations(), &content)
            .map_err(|source| system(format!("write a lockfile below {}", self.data_home.display()), source))?;
        let server = tokio::spawn(listener::run(listener, shared.clone()));
        Ok(RunningServer { shared, address, lockfile, server: Mutex::new(Some(server)) })
    }
}

impl RunningServer {
    /// Ends the server in an orderly way. Bounded in time; may be called again.
    async fn end(&self) {
        // First, so that nobody finds the file and then no server.
        if let Some(lockfile) = &self.lockfile {
            lockfile.remove();
        }
        self.shared.enter(Phase::Closing);
        let server = self.server.lock().take();
        if let Some(server) = server {
            // It ends within a bound of its own; a panic would have been reported.
            let _ = server.await;
        }
    }

    /// The port, URL and lockfile of the server, for whoever looks for it.
    fn location(&self) -> Value {
        json!({
            "port": self.address.port(),
            "url": format!("ws://{}", self.address),
            // Not the token: what a process prints is kept in many places. It is in the lockfile.
            "lockfile": self.lockfile.as_ref().map(|l| l.path().to_string_lossy()),
        })
    }
}

impl MockEditor {
    fn running(&self) -> Arc<RunningServer> {
        self.running.borrow().clone()
    }

    /// Ends the server, closing its connections, and starts another one, as a user does who restarts the editor: the
    /// same files are open, but the secret is another one, and the port is, unless it was asked for.
    async fn restart(&self, port: Option<u16>, token: Option<String>) -> Result<Value, String> {
        let _changing = self.changing.lock().await;
        let old = self.running();
        if *old.shared.phase().borrow() >= Phase::Quit {
            return Err("the editor has been told to quit".to_owned());
        }
        let deviations = old.shared.deviations();
        let message = |e: MockError| e.to_string();
        let token = token.map_or_else(|| new_token(&deviations), Ok).map_err(message)?;
        // While the old one listens, so that the port is another one, and nothing has ended if there is none.
        let early = match port == Some(old.address.port()) {
            true => None,
            false => Some(self.identity.listen(port, &deviations).map_err(message)?),
        };
        old.end().await;
        let shared = old.shared.renewed(token);
        let started = match early {
            Some(listener) => Ok(listener),
            None => self.identity.listen(port, &deviations),
        };
        match started.and_then(|listener| self.identity.serve(listener, shared.clone())) {
            Ok(running) => {
                let location = running.location();
                self.running.send_replace(Arc::new(running));
                Ok(location)
            }
            Err(error) => {
                shared.enter(Phase::Died);
                let nothing = RunningServer { shared, address: old.address, lockfile: None, server: Mutex::default() };
                self.running.send_replace(Arc::new(nothing));
                Err(message(error))
            }
        }
    }
}

impl Mock for MockEditor {
    fn ready(&self) -> Value {
        let mut ready = json!({"role": "amp-server", "edition": self.identity.edition.id});
        if let (Value::Object(ready), Value::Object(location)) = (&mut ready, self.running().location()) {
            ready.extend(location);
        }
        ready["workspace"] = self.identity.root.to_string_lossy().into();
        ready["pid"] = std::process::id().into();
        ready
    }

    fn steer<'a>(&'a self, command: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            let command = steer::read(command)?;
            let shared = self.running().shared.clone();
            match command {
                SteerCommand::State {} => shared.steer(|editor| Ok((editor.state(), vec![]))).await,
                SteerCommand::Clients {} => Ok(json!({"count": shared.clients()})),
                SteerCommand::Restart { port, token } => self.restart(port.map(NonZeroU16::get), token).await,
                SteerCommand::Quit {} => {
                    let _changing = self.changing.lock().await;
                    self.running().shared.enter(Phase::Quit);
                    Ok(json!({}))
                }
                SteerCommand::Switch { name, on } => {
                    shared
                        .steer(|editor| {
                            let deviation = TABLE.either(editor.edition.id, &name)?;
                            editor.deviations.set(deviation, on);
                            Ok((json!({}), vec![]))
                        })
                        .await
                }
                SteerCommand::Action(action) => shared.steer(|editor| Ok((json!({}), editor.apply(&action)?))).await,
            }
        })
    }

    fn check(&self, command: &Map<String, Value>) -> Result<(), String> {
        let edition = self.identity.edition;
        match steer::read(command)? {
            SteerCommand::Switch { name, .. } => TABLE.either(edition.id, &name).map(drop),
            SteerCommand::Action(action) => steer::exists(edition, &action),
            _ => Ok(()),
        }
    }

    fn happenings(&self) -> broadcast::Receiver<MockEvent> {
        self.running().shared.happenings()
    }

    fn ended(&self) -> BoxFuture<'_, Ended> {
        Box::pin(async {
            let mut running = self.running.subscribe();
            loop {
                let mut phase = running.borrow_and_update().shared.phase();
                let over = |phase: &Phase| matches!(phase, Phase::Quit | Phase::Died);
                let ended = tokio::select! {
                    phase = phase.wait_for(over) => match phase {
                        Ok(phase) => *phase,
                        // Another one runs in its place.
                        Err(_) => continue,
                    },
                    _ = running.changed() => continue,
                };
                return if ended == Phase::Died { Ended::Died } else { Ended::Quit };
            }
        })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let _changing = self.changing.lock().await;
            self.running().end().await;
        })
    }
}

/// A secret that nobody can guess. Its end is no letter, so that clients have to encode it and we to decode it.
fn new_token(deviations: &EditorDeviations) -> Result<String, MockError> {
    if deviations.has(LockfileSwitch::SameToken) {
        return Ok("always-the-same-token/+=".to_owned());
    }
    let bytes: [u8; 32] =
        random_bytes().map_err(|source| system("make up a token from /dev/urandom".to_owned(), source))?;
    // What refuses every token is not to be taken for what reads none that is encoded.
    let plain = deviations.has(LockfileSwitch::PlainToken) || deviations.has(TokenSwitch::RefusesRightToken);
    let engine = if plain {
        base64::engine::general_purpose::URL_SAFE_NO_PAD
    } else {
        base64::engine::general_purpose::STANDARD
    };
    let token = engine.encode(bytes);
    if deviations.has(LockfileSwitch::ShortToken) {
        return Ok(format!("{}/+=", &token[..4]));
    }
    Ok(token)
}

fn system(doing: String, source: std::io::Error) -> MockError {
    MockError::System { doing, source }
}
