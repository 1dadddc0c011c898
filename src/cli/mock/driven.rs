//! Mocks of clients: driven over stdin and stdout.

use std::pin::pin;

use tokio::io::{AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::cli::{CliError, Exit};
use crate::peer::{BoxFuture, Ended, Lines, MockError, MockKind, MockOptions};

use super::{Args, DIED, options, start_error};

/// How a mock of a client is driven.
type Drive = fn(MockOptions, Lines) -> BoxFuture<'static, Result<Ended, MockError>>;

/// What is put between stdin and the mock, in bytes.
const BETWEEN: usize = 64 << 10;
/// What a signal to end comes down to.
const CLOSE: &[u8] = b"\n{\"close\":true}\n";

/// Drives a mock to its end: it is told to, stdin ends, or a signal comes. Stdout is the mock's.
pub async fn drive(args: Args, kind: &MockKind, drive: Drive) -> Result<Exit, CliError> {
    let unfit = [
        ("--port", args.port.is_some()),
        ("--token", args.token.is_some()),
        ("--ide-name", args.ide_name.is_some()),
        ("--control", args.control.is_some()),
        ("--stdin", args.stdin),
        ("--latency", args.latency.is_some()),
        ("--script", args.script.is_some()),
    ];
    if let Some((option, _)) = unfit.into_iter().find(|(_, given)| *given) {
        let error = CliError::usage(format!("the mock of `{}` is a client and takes no {option}", kind.role));
        return Err(error.help("it reads what to do from stdin: {\"id\":1,\"call\":\"…\",\"params\":{…}}"));
    }
    let (options, recorder) = options(&args, kind)?;
    let (write, read) = tokio::io::duplex(BETWEEN);
    let mut pump = pump(write)?;
    let lines = Lines { input: Box::new(BufReader::new(read)), output: Box::new(tokio::io::stdout()) };
    let mut driving = drive(options, lines);
    let (done, interrupted) = tokio::select! {
        biased;
        done = &mut driving => (done, false),
        signal = &mut pump => match signal {
            Ok(Signal { told: true, interrupted }) => (driving.await, interrupted),
            Ok(Signal { told: false, interrupted }) => (Ok(Ended::Quit), interrupted),
            // It panicked, and has said so.
            Err(_) => (Ok(Ended::Quit), false),
        },
    };
    recorder.end();
    Ok(match done.map_err(|e| start_error(&args, e))? {
        Ended::Died => DIED,
        Ended::Quit if interrupted => Exit::INTERRUPTED,
        Ended::Quit => Exit::OK,
    })
}

/// A signal to end.
struct Signal {
    /// Whether the mock could still be told.
    told: bool,
    /// Whether it was Ctrl-C.
    interrupted: bool,
}

/// Gives the mock what comes on stdin, and the word to close once a signal asks for the end.
fn pump(mut write: DuplexStream) -> Result<JoinHandle<Signal>, CliError> {
    let no_signal = |e: std::io::Error| CliError::unjudged(format!("cannot listen for signals: {e}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(no_signal)?;
    let mut hang_up = signal(SignalKind::hangup()).map_err(no_signal)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signal)?;
    Ok(tokio::spawn(async move {
        let mut asked = pin!(async move {
            tokio::select! {
                _ = interrupt.recv() => true,
                _ = terminate.recv() => false,
                _ = hang_up.recv() => false,
            }
        });
        let mut stdin = tokio::io::stdin();
        let interrupted = tokio::select! {
            biased;
            interrupted = &mut asked => Some(interrupted),
            // However it ended: nothing more comes.
            _ = tokio::io::copy(&mut stdin, &mut write) => None,
        };
        match interrupted {
            Some(interrupted) => Signal { told: write.write_all(CLOSE).await.is_ok(), interrupted },
            None => {
                drop(write);
                Signal { told: false, interrupted: asked.await }
            }
        }
    }))
}
