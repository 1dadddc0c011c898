//! The mock editor as [`crate::peer::Mock`].

use std::sync::Mutex;

use base64::Engine as _;
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;

use crate::peer::{Begin, BoxFuture, Ended, Mock, MockError, MockKind, MockOptions};

use super::edition::Edition;
use super::lockfile::{self, Lockfile};
use super::model::Editor;
use super::quirks::{Quirk, Quirks, Switch};
use super::shared::{Phase, Shared, reached};
use super::steer::{self, Command};
use super::{flaws, freedoms, server};

/// The mock editor.
pub static MOCK: MockKind = MockKind {
    role: "amp-server",
    flaws: flaws::all,
    freedoms: freedoms::all,
    begin: Begin::Serve(|options| Box::pin(start(options))),
};

struct MockEditor {
    shared: Shared,
    lockfile: Option<Lockfile>,
    ready: Value,
    server: Mutex<Option<JoinHandle<()>>>,
}

async fn start(options: MockOptions) -> Result<Box<dyn Mock>, MockError> {
    let edition = Edition::parse(&options.edition).ok_or_else(|| {
        MockError::Option(format!("there is no edition `{}`; there are cli and guide", options.edition))
    })?;
    let quirks = quirks(edition, &options)?;
    let token = match options.token {
        Some(token) if token.is_empty() => return Err(MockError::Option("the token must not be empty".to_owned())),
        Some(token) => token,
        None => new_token(&quirks)?,
    };
    let workspace = &options.workspace;
    let editor = Editor::new(edition, workspace, token.clone(), quirks.clone())
        .map_err(|source| system(format!("open the workspace {}", workspace.display()), source))?;
    let root = editor.root.clone();
    let data_home = match options.data_home {
        Some(home) => home,
        None => lockfile::data_home(&quirks, |name| std::env::var_os(name))
            .ok_or_else(|| MockError::Option("there is no data home: say --data-home, or set HOME".to_owned()))?,
    };
    let data_home = std::path::absolute(&data_home)
        .map_err(|source| system(format!("find the data home {}", data_home.display()), source))?;
    let listener = server::listen(edition, options.port, &quirks).await.map_err(|source| {
        let port = options.port.map_or("any port".to_owned(), |p| format!("port {p}"));
        system(format!("listen on {port} of the loopback address"), source)
    })?;
    let address = listener.local_addr().map_err(|source| system("learn where it listens".to_owned(), source))?;
    options.recorder.add_secret(&token);
    let name = options.name.unwrap_or_else(|| "wirecert".to_owned());
    let content = lockfile::Content { port: address.port(), token: &token, name: &name, folder: &root };
    // Written when connections are accepted already: whoever finds it may connect at once.
    let lockfile = Lockfile::write(&data_home, edition, &quirks, &content)
        .map_err(|source| system(format!("write a lockfile below {}", data_home.display()), source))?;
    let ready = json!({
        "role": "amp-server",
        "edition": edition.id(),
        "port": address.port(),
        "url": format!("ws://{address}"),
        // Not the token: what a process prints is kept in many places. It is in the lockfile.
        "lockfile": lockfile.as_ref().map(|l| l.path().to_string_lossy()),
        "workspace": root.to_string_lossy(),
        "pid": std::process::id(),
    });
    let shared = Shared::new(editor, options.recorder);
    let server = tokio::spawn(server::run(listener, shared.clone()));
    Ok(Box::new(MockEditor { shared, lockfile, ready, server: Mutex::new(Some(server)) }))
}

impl Mock for MockEditor {
    fn ready(&self) -> Value {
        self.ready.clone()
    }

    fn steer<'a>(&'a self, command: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            let command = steer::read(command)?;
            match &command {
                Command::State => self.shared.steer(|editor| Ok((editor.state(), vec![]))).await,
                Command::Clients => Ok(json!({"count": self.shared.clients()})),
                Command::Quit => {
                    self.shared.enter(Phase::Quit);
                    Ok(json!({}))
                }
                Command::Switch(name, on) => {
                    self.shared
                        .steer(|editor| {
                            let quirk = find(editor.edition, name).ok_or_else(|| unknown("flaw or freedom", name))?;
                            editor.quirks.set(quirk, *on);
                            Ok((json!({}), vec![]))
                        })
                        .await
                }
                command => self.shared.steer(|editor| Ok((json!({}), editor.obey(command)?))).await,
            }
        })
    }

    fn ended(&self) -> BoxFuture<'_, Ended> {
        Box::pin(async {
            let mut phase = self.shared.phase();
            reached(&mut phase, Phase::Quit).await;
            if *phase.borrow() == Phase::Died { Ended::Died } else { Ended::Quit }
        })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // First, so that nobody finds the file and then no server.
            if let Some(lockfile) = &self.lockfile {
                lockfile.remove();
            }
            self.shared.enter(Phase::Closing);
            let server = self.server.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            if let Some(server) = server {
                // It ends within a bound of its own; that it panicked would have been told.
                let _ = server.await;
            }
        })
    }
}

fn quirks(edition: Edition, options: &MockOptions) -> Result<Quirks, MockError> {
    let of = |kind, known: fn(Edition, &str) -> Option<Quirk>, names: &[String]| {
        let find = |name: &String| known(edition, name).ok_or_else(|| MockError::Option(unknown(kind, name)));
        names.iter().map(find).collect::<Result<Vec<_>, _>>()
    };
    let mut all = of("flaw", flaws::find, &options.flaws)?;
    all.extend(of("freedom", freedoms::find, &options.freedoms)?);
    Ok(Quirks::new(all))
}

fn find(edition: Edition, name: &str) -> Option<Quirk> {
    flaws::find(edition, name).or_else(|| freedoms::find(edition, name))
}

fn unknown(kind: &str, name: &str) -> String {
    let names = flaws::all().iter().map(|f| f.name).chain(freedoms::all().iter().map(|f| f.name));
    match crate::diagnostic::nearest(name, names) {
        Some(near) => format!("there is no {kind} `{name}` in this edition; did you mean `{near}`?"),
        None => format!("there is no {kind} `{name}` in this edition; --list-flaws lists them all"),
    }
}

/// A secret that nobody can guess. Its end is no letter, so that clients have to encode it and we to decode it.
fn new_token(quirks: &Quirks) -> Result<String, MockError> {
    if quirks.has(Switch::ShortToken) {
        return Ok("tok/+=".to_owned());
    }
    if quirks.has(Switch::SameToken) {
        return Ok("always-the-same-token/+=".to_owned());
    }
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| std::io::Read::read_exact(&mut random, &mut bytes))
        .map_err(|source| system("make up a token from /dev/urandom".to_owned(), source))?;
    let plain = quirks.has(Switch::PlainToken);
    let engine = if plain {
        base64::engine::general_purpose::URL_SAFE_NO_PAD
    } else {
        base64::engine::general_purpose::STANDARD
    };
    Ok(engine.encode(bytes))
}

fn system(doing: String, source: std::io::Error) -> MockError {
    MockError::System { doing, source }
}
