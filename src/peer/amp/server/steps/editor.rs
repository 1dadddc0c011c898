//! An editor from its start to its end, and over its restarts.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::peer::amp::client::encode;
use crate::peer::amp::editor::deviations::EditorDeviations;
use crate::peer::amp::editor::model::{self, EditorPolicy};
use crate::peer::amp::server::shared::SharedServer;
use crate::peer::{PeerError, Setting, SubjectDirs};
use crate::protocol::amp::verbs::{EditorLockfile, Encoding, Port};
use crate::trace::{EventKind, FileChange};
use crate::wire::Limits;
use crate::wire::tcp::{self, Address};

use super::connection::{ConnectionNames, ConnectionRegistry};
use super::listener::Listener;
use super::machine::{self, ForeignLockfile, LockfileContent, PlaceholderProcess, ReservedPort, listen};
use super::serve::EditorPlan;

/// How long things may take.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// The response to a close frame.
    pub goodbye: Duration,
    /// The time that the client has for what the protocol obliges it to do.
    pub patience: Duration,
}

/// How an editor ends.
pub enum Ending {
    /// In an orderly way: connections are closed, the lockfile goes.
    Quit,
    /// Likewise, but nobody is left to see its process, which may stand for another editor.
    Over,
    /// Its process is killed: connections are cut, the lockfile stays. This is the trace's mark for it.
    Kill(String),
}

/// One editor of a play.
pub struct PlayEditor {
    plan: EditorPlan,
    names: Arc<ConnectionNames>,
    registry: Arc<ConnectionRegistry>,
    shared: SharedServer,
    /// Where it listens, and its secret; what was so at last, where it has ended.
    port: u16,
    token: String,
    /// The running server; none while the editor is not up.
    running: Option<RunningEditor>,
    lockfile: Option<ForeignLockfile>,
    /// Lockfiles of its earlier lives.
    left: Vec<ForeignLockfile>,
    /// Its ports, those of its earlier lives included.
    reserved: Vec<ReservedPort>,
}

struct RunningEditor {
    accept_task: JoinHandle<()>,
    /// A copy of the socket that it listens on.
    listening: OwnedFd,
    process: PlaceholderProcess,
}

impl PlayEditor {
    /// Starts an editor. When this returns, it accepts connections, and its lockfile is there. `handed_over`: its port, where
    /// others of the play had that.
    ///
    /// # Errors
    /// [`PeerError::Environment`] where the system has no port, process or folder for it.
    pub async fn start(
        plan: EditorPlan,
        setting: &Setting,
        dirs: &SubjectDirs,
        registry: Arc<ConnectionRegistry>,
        handed_over: Vec<ReservedPort>,
    ) -> Result<Self, PeerError> {
        let token = plan.token.clone().map_or_else(machine::make_token, Ok);
        let token = token.map_err(|e| system("make up a token", e))?;
        // A folder that is not there can be named in a lockfile; its files cannot be served.
        let root = if plan.folder.is_dir() { &plan.folder } else { &dirs.root };
        let model = model::Editor::new(plan.edition, root, token.clone(), EditorDeviations::default());
        let mut model = model.map_err(|e| system(&format!("open the folder {}", root.display()), e))?;
        // What is wrong with ids that are numbers is said once, by the rules.
        model.policy = EditorPolicy { silent_at_first: !plan.answers, numeric_ids: true };
        let mut editor = Self {
            names: Arc::new(ConnectionNames::new(plan.names.clone())),
            shared: SharedServer::new(model, setting.recorder.clone(), None),
            plan,
            registry,
            port: 0,
            token,
            running: None,
            lockfile: None,
            left: vec![],
            reserved: vec![],
        };
        let process = stand_in()?;
        if let (EditorLockfile::Written(plan), Port::Fixed(port)) = (&editor.plan.lockfile, editor.plan.port)
            && plan.in_place
        {
            // Before it listens: clients that still have the old token must not find it.
            editor.port = port.get();
            editor.write_lockfile(process.pid(), setting, dirs)?;
        }
        let (listener, reserved) = machine::take_over(editor.plan.host, editor.plan.port, handed_over)?;
        editor.reserved.extend(reserved);
        editor.run(listener, process, setting, dirs)?;
        Ok(editor)
    }

    /// Starts it again after its end: on another port, with another secret and a new lockfile.
    ///
    /// # Errors
    /// The errors of [`PlayEditor::start`].
    pub async fn start_anew(&mut self, setting: &Setting, dirs: &SubjectDirs) -> Result<(), PeerError> {
        let port = if self.plan.port == Port::Guide { Port::Guide } else { Port::Any };
        let (listener, reserved) = listen(self.plan.host, port)?;
        self.reserved.extend(reserved);
        self.token = machine::make_token().map_err(|e| system("make up a token", e))?;
        self.shared = self.shared.renewed(self.token.clone());
        self.run(listener, stand_in()?, setting, dirs)
    }

    fn run(
        &mut self,
        listener: TcpListener,
        process: PlaceholderProcess,
        setting: &Setting,
        dirs: &SubjectDirs,
    ) -> Result<(), PeerError> {
        let address = listener.local_addr().map_err(|e| system("learn where it listens", e))?;
        let listening = listener.as_fd().try_clone_to_owned().map_err(|e| system("copy a socket", e))?;
        setting.recorder.add_secret(&self.token);
        self.port = address.port();
        let pid = process.pid();
        let acceptor = Listener {
            plan: self.plan.clone(),
            token: self.token.clone(),
            shared: self.shared.clone(),
            names: self.names.clone(),
            registry: self.registry.clone(),
            limits: Limits { handshake: setting.patience, write: setting.patience, ..Limits::default() },
            run_dir: dirs.root.parent().unwrap_or(&dirs.root).to_owned(),
        };
        self.running = Some(RunningEditor { accept_task: tokio::spawn(acceptor.run(listener)), listening, process });
        // Written when connections are accepted already: whoever finds it may connect at once.
        if self.lockfile.is_none() {
            self.write_lockfile(pid, setting, dirs)?;
        }
        Ok(())
    }

    fn write_lockfile(&mut self, pid: u32, setting: &Setting, dirs: &SubjectDirs) -> Result<(), PeerError> {
        setting.recorder.add_secret(&self.token);
        if let EditorLockfile::Written(plan) = &self.plan.lockfile {
            let name = plan.name.clone().unwrap_or_else(|| format!("{}.json", self.port));
            let keys = machine::editor_keys(self.plan.edition, &self.plan.folder, self.port, &self.token, pid);
            let content = plan.content(keys);
            let content = match plan.in_place {
                true => LockfileContent::InPlace(content),
                false => LockfileContent::File(content),
            };
            let why = self.plan.deliberate.as_deref().filter(|_| plan.says_anything());
            let laid = ForeignLockfile::lay(&plan.data_home(dirs), &name, content, why, &setting.recorder)?;
            if plan.days_old > 0 {
                laid.make_older(plan.days_old).map_err(|e| system("make the lockfile older", e))?;
            }
            self.lockfile = Some(laid);
        }
        Ok(())
    }

    /// Takes the place of one that has ended, and keeps its ports from others as that one did.
    pub async fn succeed(&mut self, mut earlier: Self) {
        earlier.forget().await;
        self.reserved.append(&mut earlier.reserved);
    }

    /// The editor behind the connections.
    pub fn shared(&self) -> &SharedServer {
        &self.shared
    }

    /// Whether it is up.
    pub fn is_up(&self) -> bool {
        self.running.is_some()
    }

    /// Whether a connection of it could have this name.
    pub fn may_name(&self, name: &str) -> bool {
        self.names.may_give(name)
    }

    /// The variables that a client needs to reach the editor.
    pub fn bindings(&self) -> Vec<(String, Value)> {
        let encoded = encode(&self.token, Encoding::Component);
        let address = Address::new(self.plan.host.to_string(), self.port);
        let lockfile = self.lockfile.as_ref().map(|file| file.path().to_string_lossy());
        let values = [
            ("port", json!(self.port)),
            ("token", json!(self.token)),
            ("url", json!(format!("ws://{address}"))),
            ("token_encoded", json!(encoded)),
            ("lockfile", json!(lockfile.unwrap_or_default())),
        ];
        values.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// Hands over the port that it had in an earlier life, so that another editor of the play can have it.
    pub fn hand_over(&mut self, port: u16) -> Vec<ReservedPort> {
        let is_free = self.running.is_none() || port != self.port;
        self.reserved.extract_if(.., |reserved| is_free && reserved.port() == port).collect()
    }

    /// Ends it. Bounded in time; does nothing if it has ended.
    pub async fn end(&mut self, ending: &Ending, bounds: Bounds) {
        let Some(mut running) = self.running.take() else { return };
        let connections = || self.registry.all(|connection| connection.editor() == self.names.first());
        match ending {
            Ending::Quit | Ending::Over => {
                // First, so that nobody finds the file and then no editor.
                if let Some(file) = self.lockfile.take() {
                    self.record_removal(file.path());
                    file.remove();
                }
                stop(running.accept_task, &running.listening).await;
                let leaving = connections().into_iter().map(|connection| {
                    tokio::spawn(async move { connection.leave(bounds.goodbye.min(bounds.patience)).await })
                });
                for left in leaving.collect::<Vec<_>>() {
                    // A panic in there would have been reported as such; there is nothing more to end.
                    let _ = left.await;
                }
                if matches!(ending, Ending::Quit) {
                    running.process.end().await;
                }
            }
            Ending::Kill(why) => {
                self.left.extend(self.lockfile.take());
                running.process.end().await;
                stop(running.accept_task, &running.listening).await;
                for connection in connections() {
                    connection.cut_for_kill(why).await;
                }
            }
        }
    }

    /// Forgets its connections, and takes away what lockfiles of it are left.
    pub async fn forget(&mut self) {
        for file in self.left.drain(..).chain(self.lockfile.take()) {
            file.remove();
        }
        self.registry.forget(|connection| connection.editor() == self.names.first());
    }

    fn record_removal(&self, path: &Path) {
        let change = FileChange { path: path.display().to_string(), change: "removed".into(), content: None };
        self.shared.recorder().record(None, None, EventKind::File(change));
    }
}

/// Returns once no client is accepted any more.
async fn stop(accept_task: JoinHandle<()>, listening: &OwnedFd) {
    accept_task.abort();
    // It was aborted, which is what this says.
    let _ = accept_task.await;
    tcp::stop_listening(listening);
}

fn system(doing: &str, error: std::io::Error) -> PeerError {
    PeerError::Environment(format!("cannot {doing}: {error}"))
}

fn stand_in() -> Result<PlaceholderProcess, PeerError> {
    PlaceholderProcess::start().map_err(|e| system("start a process that stands for an editor", e))
}
