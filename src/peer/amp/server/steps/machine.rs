//! What an editor occupies on this machine: lockfiles (its own, others laid beside it, and those that announce a server
//! which is no editor of a play), the port it listens on, and the process whose id its lockfile has.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};
use tokio::net::{TcpListener, TcpSocket};

use crate::atomic_file::{self, Readable, create_private_folder};
use crate::peer::params::wrong;
use crate::peer::{Announced, Announcement, PeerError};
use crate::protocol::amp::editions::AmpEdition;
use crate::protocol::amp::lockfile::{FOLDER, LockfileValues, SCANNED_PORTS, ports_from};
use crate::protocol::amp::verbs::Port;
use crate::trace::{EventKind, FileChange, Payload, Recorder};
use crate::wire::tcp::{self, BACKLOG};

use super::super::random_bytes;

/// The keys of an editor's lockfile.
pub fn editor_keys(edition: &AmpEdition, folder: &Path, port: u16, token: &str, pid: u32) -> Map<String, Value> {
    edition.lockfile.content(&LockfileValues { folder, port, name: "wirecert", token, pid })
}

/// The content of a lockfile, or of something in its place.
pub enum LockfileContent {
    /// A new file.
    File(Vec<u8>),
    /// A file that is written over where it lies.
    InPlace(Vec<u8>),
    /// A folder.
    Folder,
}

/// A file or folder of ours among the lockfiles.
pub struct ForeignLockfile {
    path: PathBuf,
    folder: bool,
}

impl ForeignLockfile {
    /// Lays it below a data home, at once and readable by its owner only, in place of what lies there by that name.
    /// `deliberate` says why it is wrong on purpose, if it is.
    ///
    /// # Errors
    /// [`PeerError::Scenario`] where the name is no plain file name, [`PeerError::Environment`] where the system refuses.
    pub fn lay(
        data_home: &Path,
        name: &str,
        content: LockfileContent,
        deliberate: Option<&str>,
        recorder: &Recorder,
    ) -> Result<Self, PeerError> {
        let plain = Path::new(name).file_name().is_some_and(|file| file == name);
        if !plain {
            return Err(wrong("lockfile", format!("`{name}` is no file name")));
        }
        let path = data_home.join(FOLDER).join(name);
        let system = |e: std::io::Error| PeerError::Environment(format!("cannot lay {}: {e}", path.display()));
        if let LockfileContent::File(bytes) | LockfileContent::InPlace(bytes) = &content {
            let payload = Some(Payload::from(bytes.as_slice()));
            let change = FileChange { path: path.display().to_string(), change: "written".into(), content: payload };
            recorder.record_deliberate(None, None, deliberate, EventKind::File(change));
        }
        let folder = matches!(content, LockfileContent::Folder);
        match content {
            LockfileContent::Folder => create_private_folder(&path).map_err(system)?,
            LockfileContent::InPlace(bytes) if path.is_file() => std::fs::write(&path, bytes).map_err(system)?,
            LockfileContent::File(bytes) | LockfileContent::InPlace(bytes) => {
                atomic_file::write(&path, &bytes, Readable::ByOwner).map_err(system)?
            }
        }
        Ok(Self { path, folder })
    }

    /// The path of the file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Has it last modified so many days ago.
    ///
    /// # Errors
    /// The error of the system.
    pub fn make_older(&self, days: u32) -> std::io::Result<()> {
        let time = SystemTime::now() - Duration::from_secs(24 * 60 * 60) * days;
        std::fs::File::options().write(true).open(&self.path)?.set_modified(time)
    }

    /// Takes it away. That it has gone already, as to a client that tidies up, is as good.
    pub fn remove(&self) {
        let _ = if self.folder { std::fs::remove_dir_all(&self.path) } else { std::fs::remove_file(&self.path) };
    }
}

/// Lays a lockfile with a secret of its own.
///
/// # Errors
/// [`PeerError::Environment`] where the system refuses.
pub fn announce(announcement: &Announcement<'_>) -> Result<Announced, PeerError> {
    let Announcement { edition, data_home, port, folder, like, recorder } = announcement;
    let edition = AmpEdition::of(*edition);
    let token = make_token().map_err(|e| PeerError::Environment(format!("cannot make a secret: {e}")))?;
    recorder.add_secret(&token);
    let mut editor_keys = editor_keys(edition, folder, *port, &token, std::process::id());
    if let Some(Value::Object(like)) = like {
        for (key, value) in like {
            editor_keys.entry(key.clone()).or_insert_with(|| value.clone());
        }
        if let (Some(own), Some(name)) = (editor_keys.get_mut("ideName"), like.get("ideName")) {
            *own = name.clone();
        }
    }
    let content = LockfileContent::File(Value::Object(editor_keys).to_string().into_bytes());
    let laid = ForeignLockfile::lay(data_home, &format!("{port}.json"), content, None, recorder)?;
    Ok(Announced { path: laid.path().to_owned(), token })
}

/// A secret that nobody can guess, of characters that stand for themselves in a URL. Scenarios about what has to be
/// encoded say their own ones, so that a client that does not encode fails there and nowhere else.
///
/// # Errors
/// The error of the system's source of random bytes.
pub fn make_token() -> std::io::Result<String> {
    let bytes: [u8; 24] = random_bytes()?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

/// The port of an editor. While this is held nobody else listens there, also when the editor has ended: its clients may
/// still look for it, and must not find an editor of another play.
pub struct ReservedPort {
    port: u16,
    socket: TcpSocket,
}

impl ReservedPort {
    /// Which one it is.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Listens on a port that other editors of the play hand over; on any port, where they hand none over.
///
/// # Errors
/// The errors of [`listen`].
pub fn take_over(
    host: IpAddr,
    port: Port,
    handed_over: Vec<ReservedPort>,
) -> Result<(TcpListener, Option<ReservedPort>), PeerError> {
    for reserved in &handed_over {
        // Of the socket itself: a process that is being started may have a copy of it.
        let refused = |e: io::Error| PeerError::Environment(format!("cannot give port {} up: {e}", reserved.port));
        reserved.socket.set_reuseaddr(true).map_err(refused)?;
    }
    listen(host, port)
}

/// Listens on such a port, and holds it where the system lets us.
///
/// # Errors
/// [`PeerError::Environment`] where none is to be had.
pub fn listen(host: IpAddr, port: Port) -> Result<(TcpListener, Option<ReservedPort>), PeerError> {
    let at = |port: u16| {
        let address = (host, port).into();
        reserved(address)
            .map(|(listener, reserved)| (listener, Some(reserved)))
            .or_else(|_| Ok((tcp::listen(address)?, None)))
    };
    let listening: io::Result<_> = match port {
        Port::Fixed(port) => at(port.get()),
        Port::Any => at(0),
        Port::Guide => {
            // Each play begins behind the one before: what others of ours have just given back is tried last.
            static TURN: AtomicU32 = AtomicU32::new(0);
            let turn = TURN.fetch_add(1, Ordering::Relaxed);
            let mut refused = io::Error::other("no port is left");
            let found =
                ports_from(SCANNED_PORTS, std::process::id().wrapping_add(turn)).find_map(|port| match at(port) {
                    Ok(listening) => Some(listening),
                    Err(e) => {
                        refused = e;
                        None
                    }
                });
            found.ok_or(refused)
        }
    };
    listening.map_err(|e| {
        let port = match port {
            Port::Any => "any port".to_owned(),
            Port::Guide => "a port from 8000 to 8100".to_owned(),
            Port::Fixed(port) => format!("port {port}"),
        };
        PeerError::Environment(format!("cannot listen on {port} of {host}: {e}"))
    })
}

/// Two sockets have the port: one listens, and while the other one is there, whoever asks for the port is refused.
fn reserved(address: SocketAddr) -> io::Result<(TcpListener, ReservedPort)> {
    let bound = |address: SocketAddr| {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Without it neither would be let in beside the other, nor beside connections that have not all gone.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let port = socket.local_addr()?.port();
        Ok::<_, io::Error>((socket, port))
    };
    let (holder, port) = bound(address)?;
    let listener = bound((address.ip(), port).into())?.0.listen(BACKLOG)?;
    // Two are enough.
    holder.set_reuseaddr(false)?;
    Ok((listener, ReservedPort { port, socket: holder }))
}

/// Those that nobody needs at the moment. Most plays end without the end of their editor, and starting a process takes
/// longer than many of them.
static IDLE: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// A process that stands for an editor: it lives until it is ended, and no longer than we do, since it reads from us.
pub struct PlaceholderProcess {
    /// The process; none once it was ended.
    child: Option<Child>,
    pid: u32,
}

impl PlaceholderProcess {
    /// Takes one that no other editor has, or starts one.
    ///
    /// # Errors
    /// The error of the system.
    pub fn start() -> io::Result<Self> {
        let child = match take_idle() {
            Some(child) => child,
            None => spawn()?,
        };
        Ok(Self { pid: child.id(), child: Some(child) })
    }

    /// The id of the process, also when it has ended.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Ends it. When this returns, no process has its id.
    pub async fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        // Killing fails only where it has ended already, and waiting only where it was waited for.
        let gone = tokio::task::spawn_blocking(move || child.kill().and_then(|()| child.wait()));
        let _ = gone.await;
    }
}

impl Drop for PlaceholderProcess {
    fn drop(&mut self) {
        idle_processes().extend(self.child.take());
    }
}

fn take_idle() -> Option<Child> {
    let mut idle_processes = idle_processes();
    // A subject may have killed it, which it has no business to.
    std::iter::from_fn(|| idle_processes.pop())
        .find_map(|mut child| matches!(child.try_wait(), Ok(None)).then_some(child))
}

fn idle_processes() -> MutexGuard<'static, Vec<Child>> {
    IDLE.lock()
}

fn spawn() -> io::Result<Child> {
    use std::os::unix::process::CommandExt as _;

    let start = |mut command: Command| {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // Not among those whom an interrupt at the terminal reaches, and in nobody's working directory.
        command.process_group(0).current_dir("/").spawn()
    };
    match start(Command::new("cat")) {
        // An image may have no other program than this one. A guard without subjects does the same, and starts more slowly.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut guard = Command::new(std::env::current_exe()?);
            guard.arg("guard");
            start(guard)
        }
        started => started,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use crate::protocol::amp::editions::CLI;
    use crate::trace::{Clock, Recorder};

    use super::*;

    #[test]
    fn a_server_is_found_as_long_as_it_is_announced() {
        let home = tempfile::tempdir().unwrap();
        let recorder = Recorder::new(Clock::start(), vec![]);
        let like = json!({"port": 1, "authToken": "<secret:1>", "ideName": "vim", "extra": true, "pid": 1});
        let announcement = Announcement {
            edition: &CLI,
            data_home: home.path(),
            port: 4711,
            folder: Path::new("/w"),
            like: Some(&like),
            recorder: &recorder,
        };
        let announced = announce(&announcement).unwrap();
        let read: Value =
            serde_json::from_slice(&std::fs::read(home.path().join("amp/ide/4711.json")).unwrap()).unwrap();
        let expected = json!({"workspaceFolders": ["/w"], "port": 4711, "ideName": "vim", "authToken": announced.token,
            "pid": std::process::id(), "extra": true});
        assert_eq!(read, expected);
        drop(announced);
        assert!(!home.path().join("amp/ide/4711.json").exists());
    }

    fn lives(pid: u32) -> bool {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).expect("it is the id of a process");
        rustix::process::test_kill_process(pid).is_ok()
    }

    #[tokio::test]
    async fn it_lives_until_it_is_ended_and_is_gone_then() {
        let mut it = PlaceholderProcess::start().unwrap();
        assert!(lives(it.pid()));
        it.end().await;
        assert!(!lives(it.pid()));
        it.end().await;
    }

    #[tokio::test]
    async fn one_that_was_let_go_is_used_again_unless_it_has_ended() {
        let pids: Vec<u32> = [PlaceholderProcess::start().unwrap(), PlaceholderProcess::start().unwrap()]
            .iter()
            .map(PlaceholderProcess::pid)
            .collect();
        assert_ne!(pids[0], pids[1]);
        let [mut one, other] = [PlaceholderProcess::start().unwrap(), PlaceholderProcess::start().unwrap()];
        assert!(lives(one.pid()) && lives(other.pid()) && one.pid() != other.pid());
        // As a subject would that kills who is none of its business.
        if let Some(child) = &mut one.child {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let (ended, _) = (one.pid(), drop(one));
        let again = PlaceholderProcess::start().unwrap();
        assert!(lives(again.pid()) && again.pid() != ended);
    }
}
