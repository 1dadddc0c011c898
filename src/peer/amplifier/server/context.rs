//! What a [`Model`] runs in: the time, the tasks of its agents, and the workspace on disk.

use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use super::model::{EndpointRequest, Feed, FeedEnd, Model, NextAdvance, Refusal, Reply, Workspace};

/// How long an agent waits for a subscriber that does not keep up, before the subscriber is given up on.
const GRACE: Duration = Duration::from_secs(2);

/// A model and its time. Dropped, everything in it ends.
pub struct ServerContext {
    model: Mutex<Model>,
    began: Instant,
    me: Weak<Self>,
}

impl ServerContext {
    /// A context for a model; its time begins now.
    pub fn new(model: Model) -> Arc<Self> {
        Arc::new_cyclic(|me| Self { model: Mutex::new(model), began: Instant::now(), me: me.clone() })
    }

    /// The time of the model.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// The moment at which that began.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// The model, locked. This begins no prompts.
    pub fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock()
    }

    /// Answers a request, and has the agent work where it was a prompt.
    pub fn handle(&self, request: EndpointRequest) -> Reply {
        let mut model = self.model();
        let reply = model.handle(request, self.now());
        self.begin(model);
        reply
    }

    /// Does what a message over a WebSocket says.
    ///
    /// # Errors
    /// Why it is not done.
    pub fn control(&self, session: &str, message: &str) -> Result<(), Refusal> {
        let mut model = self.model();
        let done = model.control(session, message, self.now());
        self.begin(model);
        done
    }

    /// Subscribes to the events of a session.
    ///
    /// # Errors
    /// Where there is no such session.
    pub fn subscribe(&self, session: &str) -> Result<Feed, Refusal> {
        self.model().subscribe(session, self.now())
    }

    /// Subscribes to the events of a session by a WebSocket.
    ///
    /// # Errors
    /// Where there is no such session.
    pub fn follow(&self, session: &str) -> Result<Feed, Refusal> {
        self.model().follow(session, self.now())
    }

    /// Starts a task for each session that has begun to work.
    fn begin(&self, mut model: MutexGuard<'_, Model>) {
        for session in model.started() {
            let Some(wake) = model.wake(&session) else { continue };
            tokio::spawn(work(self.me.clone(), session, wake));
        }
    }
}

/// Works on one prompt of a session.
async fn work(context: Weak<ServerContext>, session: String, wake: Arc<Notify>) {
    loop {
        let Some(here) = context.upgrade() else { return };
        let next = here.model().advance(&session, here.now());
        let began = here.began;
        drop(here);
        match next {
            NextAdvance::Done => return,
            NextAdvance::At(when) => {
                tokio::select! {
                    () = sleep_until(began + when) => {}
                    () = wake.notified() => {}
                }
                // Others have their turn, too.
                tokio::task::yield_now().await;
            }
            NextAdvance::Full(sender) => {
                if timeout(GRACE, sender.room()).await.is_err() {
                    sender.end(FeedEnd::Slow);
                }
            }
        }
    }
}

/// A folder, and what is below it.
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder; it has to exist.
    ///
    /// # Errors
    /// What the system says where it does not.
    pub fn new(root: &Path) -> std::io::Result<Self> {
        Ok(Self { root: root.canonicalize()? })
    }

    /// The folder of a session: its own root, where that is in the workspace.
    fn base(&self, root: Option<&str>) -> PathBuf {
        let own = root.and_then(|root| Path::new(root).canonicalize().ok());
        own.filter(|own| own.starts_with(&self.root) && own.is_dir()).unwrap_or_else(|| self.root.clone())
    }
}

impl Workspace for Folder {
    fn append(&self, root: Option<&str>, file: &str, text: &str) -> Result<(), String> {
        let file = Path::new(file);
        if file.as_os_str().is_empty() || !file.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(format!("{} is not below the workspace", file.display()));
        }
        let failed = |e: std::io::Error| format!("cannot write {}: {e}", file.display());
        let path = self.base(root).join(file);
        let parent = path.parent().unwrap_or(&self.root);
        // Links that lead out of the workspace are not followed, neither here nor by making folders behind them.
        let outside = || format!("{} leads out of the workspace", file.display());
        let existing = parent.ancestors().find(|folder| folder.exists()).unwrap_or(&self.root);
        if !existing.canonicalize().map_err(failed)?.starts_with(&self.root) {
            return Err(outside());
        }
        if path.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
            return Err(format!("{} is no regular file", file.display()));
        }
        std::fs::create_dir_all(parent).map_err(failed)?;
        let mut open = std::fs::OpenOptions::new().append(true).create(true).open(&path).map_err(failed)?;
        open.write_all(text.as_bytes()).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_added_below_the_workspace_or_the_root_of_the_session_in_it() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("corner")).unwrap();
        let folder = Folder::new(dir.path()).unwrap();
        let corner = dir.path().join("corner");
        folder.append(corner.to_str(), "a/b.txt", "1\n").unwrap();
        folder.append(corner.to_str(), "a/b.txt", "2\n").unwrap();
        assert_eq!(std::fs::read_to_string(corner.join("a/b.txt")).unwrap(), "1\n2\n");
        for elsewhere in [None, Some("/"), Some("/nonexistent"), Some("/tmp"), Some("relative")] {
            folder.append(elsewhere, "c.txt", "x").unwrap();
        }
        assert_eq!(std::fs::read_to_string(dir.path().join("c.txt")).unwrap(), "xxxxx");
    }

    #[test]
    fn nothing_leads_out_of_the_workspace() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = Folder::new(dir.path()).unwrap();
        std::os::unix::fs::symlink(other.path(), dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink(other.path().join("f"), dir.path().join("file")).unwrap();
        for file in ["link/x", "link/new/x", "file", "../x", "/etc/x", "", "."] {
            assert!(folder.append(None, file, "x").is_err(), "{file}");
        }
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
    }
}
