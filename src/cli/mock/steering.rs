//! Commands for a mock that runs: from stdin and a [`ControlSocket`], and `--steer`, which sends one.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::sync::{RwLock, Semaphore, mpsc};

use crate::cli::{CliError, Exit, Terminal};
use crate::peer::{Mock, control};
use crate::wire::tcp::accept_retrying;

/// The most connections to the control socket at a time.
const MAX_STEERING: usize = 64;
/// How long a command to a running mock may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Locked for reading while a command is executed, until its response is sent.
pub(super) type PendingResponses = Arc<RwLock<()>>;

/// Executes the commands of an input. Each response, and none for the end, goes to `responses`.
pub(super) async fn obey_stdin(
    mock: Arc<dyn Mock>,
    input: impl AsyncRead + Unpin,
    responses: mpsc::Sender<Option<String>>,
    pending: PendingResponses,
) {
    let mut input = BufReader::new(input);
    loop {
        let line = control::read(&mut input).await;
        let _pending = pending.read().await;
        let response = control::obey(&*mock, &line).await;
        let over = response.is_none();
        if responses.send(response).await.is_err() || over {
            return;
        }
    }
}

/// A Unix socket that is there as long as this is.
pub(super) struct ControlSocket {
    path: PathBuf,
    pub(super) listener: Arc<tokio::net::UnixListener>,
}

impl ControlSocket {
    pub(super) fn bind(path: &Path) -> Result<Self, CliError> {
        let cannot = |e: &dyn std::fmt::Display| {
            CliError::usage(format!("cannot listen on the control socket {}: {e}", path.display()))
        };
        if path.exists() {
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(cannot(&"another mock listens there").help("choose another path for --control"));
            }
            // Left behind by a mock that was killed. Anything else is not ours to remove.
            let is_socket = std::fs::symlink_metadata(path)
                .is_ok_and(|meta| std::os::unix::fs::FileTypeExt::is_socket(&meta.file_type()));
            if !is_socket {
                return Err(cannot(&"there is a file of that name").help("choose another path for --control"));
            }
            std::fs::remove_file(path).map_err(|e| cannot(&e))?;
        }
        let listener = tokio::net::UnixListener::bind(path)
            .map_err(|e| cannot(&e).help("a socket's path is limited to about 100 bytes, and its folder must exist"))?;
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(path, private).map_err(|e| cannot(&e))?;
        Ok(Self { path: path.to_owned(), listener: Arc::new(listener) })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = std::fs::remove_file(&self.path);
    }
}

pub(super) async fn obey_socket(
    mock: Arc<dyn Mock>,
    listener: Arc<tokio::net::UnixListener>,
    pending: PendingResponses,
) {
    let slots = Arc::new(Semaphore::new(MAX_STEERING));
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else { return };
        let (stream, _) = accept_retrying(|context| listener.poll_accept(context)).await;
        let (mock, pending) = (mock.clone(), pending.clone());
        tokio::spawn(async move {
            let (input, mut output) = stream.into_split();
            let mut input = BufReader::new(input);
            loop {
                let line = control::read(&mut input).await;
                let _pending = pending.read().await;
                let Some(response) = control::obey(&*mock, &line).await else { break };
                if output.write_all(response.as_bytes()).await.is_err() {
                    break;
                }
            }
            drop(slot);
        });
    }
}

/// Sends one command to a running mock.
pub(super) fn steer(socket: &Path, words: &[String], terminal: &mut Terminal) -> Result<Exit, CliError> {
    let (name, params) = words.split_first().ok_or_else(|| CliError::usage("say what to do after --steer SOCKET"))?;
    let command = control::command(name, params).map_err(CliError::usage)?;
    let cannot = |e: std::io::Error| {
        CliError::unjudged(format!("cannot steer the mock at {}: {e}", socket.display()))
            .help("start it with `wirecert mock ROLE --control SOCKET`")
    };
    let mut stream = std::os::unix::net::UnixStream::connect(socket).map_err(cannot)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(cannot)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(cannot)?;
    stream.write_all(format!("{command}\n").as_bytes()).map_err(cannot)?;
    let mut response = String::new();
    std::io::BufReader::new(&stream).read_line(&mut response).map_err(cannot)?;
    match serde_json::from_str::<Value>(&response) {
        Ok(Value::Object(response)) => match (response.get("ok"), response.get("error").and_then(Value::as_str)) {
            (Some(value), _) => {
                terminal.result(&format!("{value}\n"));
                Ok(Exit::OK)
            }
            (None, error) => {
                let refused = CliError::usage(error.unwrap_or("the mock gave no reason").to_owned());
                Err(params.iter().find_map(|word| meant_as_json(word)).into_iter().fold(refused, CliError::help))
            }
        },
        // It may go before its response to `quit` has been read.
        _ if name == "quit" && response.is_empty() => Ok(Exit::OK),
        _ => Err(CliError::unjudged(format!("the mock at {} did not answer", socket.display()))),
    }
}

/// What to write for a parameter that was given as a text, and looks like a number, a truth value or a list.
fn meant_as_json(word: &str) -> Option<String> {
    let (key, value) = word.split_once('=').filter(|(key, _)| !key.ends_with(':'))?;
    let json = serde_json::from_str::<Value>(value).ok().filter(|json| !json.is_string())?;
    Some(format!("`{word}` gives the text \"{value}\"; `{key}:={json}` is the value itself"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_was_given_as_a_text_is_pointed_out() {
        let help = meant_as_json("start_line=1").unwrap();
        assert_eq!(help, "`start_line=1` gives the text \"1\"; `start_line:=1` is the value itself");
        for fine in ["start_line:=1", "path=a.txt", "text=\"1\"", "n="] {
            assert_eq!(meant_as_json(fine), None, "{fine}");
        }
    }
}
