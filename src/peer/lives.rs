//! Mocks of clients as programs: driven over stdin and stdout, for one life after another ([`drive_lives`]).
//!
//! Each life has a runtime of its own. Its end takes along whatever the life has left, as the end of a process would.

use std::io::{BufRead as _, Read as _, Write as _};

use serde_json::{Map, Value};
use tokio::io::{AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::signals::{EndSignal, EndSignals};

use super::control::MAX_LINE;
use super::{BoxFuture, Ended, Lines, MockError, MockOptions};

/// How a mock of a client is driven.
type Drive = fn(MockOptions, Lines) -> BoxFuture<'static, Result<Ended, MockError>>;
/// The lines of stdin, each with its line end.
type Stdin = mpsc::Receiver<Vec<u8>>;

/// The capacity of the pipe between stdin and the mock, in bytes.
const PIPE_CAPACITY: usize = 64 << 10;
/// How many lines of stdin wait.
const LINE_CAPACITY: usize = 64;
/// A line that begins or ends a life is no longer than this, in bytes.
const MAX_CONTROL_LINE: usize = 64 << 10;
/// The command that a signal or the end of a life sends to the mock.
const CLOSE: &[u8] = b"\n{\"close\":true}\n";
/// What says that a life has ended, and the next one can begin.
const RESET: &[u8] = b"{\"reset\":true}\n";

/// Drives a mock until it is closed, stdin ends, or a signal comes. Stdout is the mock's.
///
/// # Errors
/// A mock that does not start; a machine that is in the way.
pub fn drive_lives(mut options: MockOptions, drive: Drive) -> Result<LivesEnd, MockError> {
    let mut stdin = read_stdin();
    let mut first = true;
    loop {
        // It talks with a single server, and is started for every play or life.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| MockError::System { doing: "start".to_owned(), source })?;
        let ended = runtime.block_on(async {
            if !first {
                match next_begin(&mut stdin).await? {
                    Ok(members) => apply_begin(&mut options, &members),
                    Err(end) => return Ok(LifeEnd::Over(end)),
                }
            }
            live(options.clone(), drive, stdin).await
        });
        runtime.shutdown_background();
        match ended? {
            LifeEnd::Over(end) => return Ok(end),
            LifeEnd::Reset(rest) => stdin = rest,
        }
        let mut stdout = std::io::stdout().lock();
        if stdout.write_all(RESET).and_then(|()| stdout.flush()).is_err() {
            // Nobody is there any more to begin another.
            return Ok(LivesEnd::Quit);
        }
        first = false;
    }
}

/// How the last life of a driven mock ended, and so its process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LivesEnd {
    /// It was closed, its input ended, or SIGTERM came.
    Quit,
    /// SIGINT came.
    Interrupted,
    /// A flaw made it die.
    Died,
}

fn register_signals() -> Result<EndSignals, MockError> {
    EndSignals::register().map_err(|source| MockError::System { doing: "listen for signals".to_owned(), source })
}

/// How a life ended.
enum LifeEnd {
    /// The process ends, too.
    Over(LivesEnd),
    /// So that another can begin, with what is still to come.
    Reset(Stdin),
}

/// What the line says that begins another life.
fn apply_begin(options: &mut MockOptions, members: &Map<String, Value>) {
    if let Some(Value::String(url)) = members.get("url") {
        options.url = Some(url.clone());
    }
}

/// Runs one life of the mock, from its first line to its end.
async fn live(options: MockOptions, drive: Drive, stdin: Stdin) -> Result<LifeEnd, MockError> {
    let (write, read) = tokio::io::duplex(PIPE_CAPACITY);
    let (reset, mut rest) = oneshot::channel();
    let mut pump = pump(stdin, write, reset)?;
    let lines = Lines { input: Box::new(BufReader::new(read)), output: Box::new(tokio::io::stdout()) };
    let mut driving = drive(options, lines);
    let (done, signal) = tokio::select! {
        biased;
        done = &mut driving => (done, None),
        pumped = &mut pump => match pumped {
            Ok(PumpEnd { delivered: true, signal }) => (driving.await, Some(signal)),
            Ok(PumpEnd { delivered: false, signal }) => (Ok(Ended::Quit), Some(signal)),
            // It panicked, and has said so.
            Err(_) => (Ok(Ended::Quit), None),
        },
    };
    let ended = done?;
    Ok(match (ended, signal, rest.try_recv()) {
        (Ended::Died, ..) => LifeEnd::Over(LivesEnd::Died),
        (Ended::Quit, Some(EndSignal::Interrupt), _) => LifeEnd::Over(LivesEnd::Interrupted),
        (Ended::Quit, None, Ok(stdin)) => LifeEnd::Reset(stdin),
        (Ended::Quit, ..) => LifeEnd::Over(LivesEnd::Quit),
    })
}

/// How the pump ended: a signal came.
struct PumpEnd {
    /// Whether the mock still received the close command.
    delivered: bool,
    /// The signal.
    signal: EndSignal,
}

/// Gives the mock what comes on stdin, and the word to close at the end of its life or once a signal asks for the end.
/// What is to come after its life goes to `reset`, before the mock can hear of it.
fn pump(
    mut stdin: Stdin,
    mut write: DuplexStream,
    reset: oneshot::Sender<Stdin>,
) -> Result<JoinHandle<PumpEnd>, MockError> {
    let mut signals = register_signals()?;
    Ok(tokio::spawn(async move {
        loop {
            let line = tokio::select! {
                biased;
                signal = signals.next() => {
                    return PumpEnd { delivered: write.write_all(CLOSE).await.is_ok(), signal };
                }
                line = stdin.recv() => line,
            };
            let Some(line) = line else { break };
            if control_members(&line).is_some_and(|line| line.get("reset") == Some(&Value::Bool(true))) {
                let _ = reset.send(stdin);
                let _ = write.write_all(CLOSE).await;
                break;
            }
            // A mock that reads no more is about to end.
            if write.write_all(&line).await.is_err() {
                break;
            }
        }
        drop(write);
        PumpEnd { delivered: false, signal: signals.next().await }
    }))
}

/// Waits for the line that begins another life, and gives what it says; or how the process ends instead.
async fn next_begin(stdin: &mut Stdin) -> Result<Result<Map<String, Value>, LivesEnd>, MockError> {
    let mut signals = register_signals()?;
    Ok(loop {
        let line = tokio::select! {
            biased;
            signal = signals.next() => break Err(match signal {
                EndSignal::Interrupt => LivesEnd::Interrupted,
                EndSignal::Terminate => LivesEnd::Quit,
            }),
            line = stdin.recv() => line,
        };
        let Some(line) = line else { break Err(LivesEnd::Quit) };
        let Some(mut line) = control_members(&line) else { continue };
        match line.remove("begin") {
            Some(Value::Object(begin)) => break Ok(begin),
            _ if line.get("close").is_some_and(|close| *close != Value::Bool(false)) => break Err(LivesEnd::Quit),
            // There is nobody to make a call.
            _ => {}
        }
    })
}

/// The members of a line that may begin or end a life.
fn control_members(line: &[u8]) -> Option<Map<String, Value>> {
    let names = [&b"\"reset\""[..], b"\"begin\"", b"\"close\""];
    let may =
        line.len() <= MAX_CONTROL_LINE && names.iter().any(|name| line.windows(name.len()).any(|part| part == *name));
    may.then(|| serde_json::from_slice(line).ok()).flatten()
}

/// Reads stdin line by line. By a thread that outlives each life: no line may be lost between two.
fn read_stdin() -> Stdin {
    let (send, lines) = mpsc::channel(LINE_CAPACITY);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        loop {
            let mut line = vec![];
            match (&mut stdin).take(MAX_LINE).read_until(b'\n', &mut line) {
                Ok(n) if n > 0 => {}
                _ => return,
            }
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}
