//! Stimuli over a control socket: one JSON line is sent to the subject, which answers with one.
//!
//! A line `{"open":{"path":"/w/a.txt"}}` is answered by `{"ok":…}` or `{"error":"…"}`, as the mocks of wirecert do. A subject
//! that cannot do it at all, as it could in another case, answers `{"unable":"why"}`.

use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::process::{CommandOutcome, Problem};

/// No longer answer is read, in bytes.
const MAX_ANSWER: u64 = 1 << 20;
/// How much of an answer that is not understood is told, in characters.
const MAX_SHOWN: usize = 200;
/// The stimulus after which a subject may be gone before it has answered.
const QUIT: &str = "quit";

/// Sends a stimulus to the socket at a path, and waits for the answer, `within` at most.
pub(super) async fn send(socket: &Path, name: &str, params: &Map<String, Value>, within: Duration) -> CommandOutcome {
    let outcome = match timeout(within, exchange(socket, name, params)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Problem::Failed(format!("did not answer within {}", super::error::show(within)))),
    };
    let short = match &outcome {
        Ok(()) => "ok".to_owned(),
        Err(Problem::Failed(problem)) => problem.clone(),
        Err(Problem::Unable(why)) => format!("unable: {why}"),
    };
    CommandOutcome { problem: outcome.err(), short, output: vec![] }
}

async fn exchange(socket: &Path, name: &str, params: &Map<String, Value>) -> Result<(), Problem> {
    let failed = |problem: String| Err(Problem::Failed(problem));
    let stream = match connect(socket).await {
        Ok(stream) => stream,
        Err(e) => return failed(format!("accepts no connection: {e}")),
    };
    let (input, mut output) = stream.into_split();
    let line = format!("{}\n", json!({name: params}));
    let mut answer = vec![];
    let answered = async {
        output.write_all(line.as_bytes()).await?;
        BufReader::new(input).take(MAX_ANSWER).read_until(b'\n', &mut answer).await
    };
    match answered.await {
        Ok(_) if !answer.is_empty() => understand(&answer),
        _ if name == QUIT => Ok(()),
        Ok(_) => failed("closed the connection without an answer".to_owned()),
        Err(e) => failed(format!("broke the connection: {e}")),
    }
}

/// Whether the answer says that it is done, or else what it says.
fn understand(answer: &[u8]) -> Result<(), Problem> {
    let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let parsed = serde_json::from_slice::<Map<String, Value>>(answer).unwrap_or_default();
    if parsed.contains_key("ok") {
        return Ok(());
    }
    if let Some(error) = parsed.get("error") {
        return Err(Problem::Failed(format!("answered with an error: {}", words(error))));
    }
    if let Some(why) = parsed.get("unable") {
        return Err(Problem::Unable(words(why)));
    }
    let shown: String = String::from_utf8_lossy(answer).trim_end().chars().take(MAX_SHOWN).collect();
    let wanted = r#"{"ok":…}, {"error":"…"} or {"unable":"…"} is wanted"#;
    Err(Problem::Failed(format!("answered with `{shown}`; {wanted}")))
}

/// Connects to a socket, whose whole path may be longer than the system takes for one.
async fn connect(socket: &Path) -> io::Result<UnixStream> {
    let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
        return UnixStream::connect(socket).await;
    };
    if !cfg!(target_os = "linux") {
        return UnixStream::connect(socket).await;
    }
    let folder = std::fs::File::open(folder)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    UnixStream::connect(short).await
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    /// What becomes of a stimulus that is answered like this, and what the subject got.
    async fn answered(name: &str, answer: &'static str) -> (Option<Problem>, String) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("control.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let subject = async {
            let (input, mut output) = listener.accept().await.unwrap().0.into_split();
            let mut line = String::new();
            BufReader::new(input).read_line(&mut line).await.unwrap();
            output.write_all(answer.as_bytes()).await.unwrap();
            line
        };
        let params = Map::from_iter([("path".to_owned(), json!("/w/a.txt"))]);
        let (outcome, line) = tokio::join!(send(&socket, name, &params, Duration::from_secs(10)), subject);
        (outcome.problem, line)
    }

    #[tokio::test]
    async fn a_stimulus_is_a_line_and_so_is_its_answer() {
        let (problem, line) = answered("open", "{\"ok\":null}\n").await;
        assert_eq!(problem, None);
        assert_eq!(line, "{\"open\":{\"path\":\"/w/a.txt\"}}\n");
    }

    #[tokio::test]
    async fn what_is_no_success_is_told() {
        for (answer, problem) in [
            ("{\"error\":\"no such file\"}\n", "answered with an error: no such file"),
            ("{\"error\":7}\n", "answered with an error: 7"),
            ("done\n", r#"answered with `done`; {"ok":…}, {"error":"…"} or {"unable":"…"} is wanted"#),
            ("", "closed the connection without an answer"),
        ] {
            assert_eq!(answered("open", answer).await.0, Some(Problem::Failed(problem.to_owned())), "{answer}");
        }
        let unable = answered("open", "{\"unable\":\"has no tabs\"}\n").await.0;
        assert_eq!(unable, Some(Problem::Unable("has no tabs".to_owned())));
        assert_eq!(answered("quit", "").await.0, None);
    }

    #[tokio::test]
    async fn a_long_path_is_no_obstacle_and_a_missing_socket_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        let outcome = send(&deep.join("control.sock"), "open", &Map::new(), Duration::from_secs(10)).await;
        let missing = "accepts no connection: No such file or directory (os error 2)";
        assert_eq!(outcome.problem, Some(Problem::Failed(missing.to_owned())));
    }
}
