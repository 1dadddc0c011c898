//! `wirecert mock`: plays a role for somebody else's client, server or tests.

mod steering;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{broadcast, mpsc};

use crate::diagnostic::{Diagnostic, yaml};
use crate::inspect::{Feed, Inspector, MockControls, Session};
use crate::peer::deviation::{MockHistory, Modifier};
use crate::peer::script::{self, Script};
use crate::peer::{
    self, Begin, BoxFuture, Ended, Latency, Lines, LivesEnd, Mock, MockError, MockEvent, MockKind, MockOptions,
    Starting, drive_lives,
};
use crate::protocol::{self, Protocol};
use crate::signals::EndSignal;
use crate::trace::{Clock, End, FileSink, Header, Party, PartyKind, Recorder, Sink, TraceFileStatus};

use super::inspect::{PageOptions, feed_error, next_end};
use super::terminal::{end_signals, runtime};
use super::{CliError, Exit, Terminal};
use steering::{ControlSocket, PATIENCE, PendingResponses, obey_socket, obey_stdin, steer};

/// Play a role for somebody else's client, server or tests.
///
/// The first line on stdout of a server is a JSON object that says where it is; then it serves until it is told to
/// quit, by a command, SIGTERM or Ctrl-C. A client is driven over stdin and stdout, one JSON object a line, until it is
/// told {"close":true}, stdin ends, or one of these signals comes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The role to play, such as `amp-server`.
    #[arg(value_name = "ROLE")]
    role: String,

    /// A command for a mock that runs, and its parameters: key=text, or key:=JSON. Needs --steer.
    #[arg(value_name = "STIMULUS", requires = "steer")]
    command: Vec<String>,

    /// The edition to speak; the first one of the protocol, if not given.
    #[arg(long, value_name = "E")]
    edition: Option<String>,

    /// The folder to serve; of a client, the one it works in.
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,

    /// The port to listen on; a free one, if not given.
    #[arg(long, value_name = "N")]
    port: Option<u16>,

    /// Where lockfiles are, instead of where the environment says.
    #[arg(long, value_name = "DIR")]
    data_home: Option<PathBuf>,

    /// Where the server is that a client talks to, instead of where the environment says.
    #[arg(long, value_name = "URL")]
    url: Option<String>,

    /// The secret to ask of clients; made up, if not given.
    #[arg(long, value_name = "TEXT")]
    token: Option<String>,

    /// What the mock calls itself.
    #[arg(long, value_name = "NAME", alias = "name")]
    ide_name: Option<String>,

    /// Take commands from this Unix socket, one JSON object a line.
    #[arg(long, value_name = "SOCKET")]
    control: Option<PathBuf>,

    /// Take commands from stdin, one JSON object a line; its end ends the mock.
    #[arg(long)]
    stdin: bool,

    /// Do what this file says, step by step; of a server with an agent, what the agent does, too.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,

    /// What a provider has to give (YAML); examples of everything, if not given.
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,

    /// Be wrong in this way; repeatable.
    #[arg(long, value_name = "NAME")]
    flaw: Vec<String>,

    /// Be different in this way, which is right all the same; repeatable.
    #[arg(long, value_name = "NAME")]
    freedom: Vec<String>,

    /// Hold messages back by this time, or by one between two (20ms..200ms), in their order.
    #[arg(long, value_name = "TIME[..TIME]", value_parser = super::options::span)]
    latency: Option<(Duration, Duration)>,

    /// What the times of --latency are drawn with.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// List flaws and freedoms.
    #[arg(long)]
    list_flaws: bool,

    /// Write what crosses the wire to this trace file.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Serve a page that shows what passes, and steers the mock; its address goes to stderr. With --tui: the same in this terminal.
    #[arg(long, help_heading = "Inspector")]
    inspect: bool,

    #[command(flatten)]
    page: PageOptions,

    /// Send one command to the mock that listens on this socket, print its response, and exit.
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["control", "stdin", "data", "flaw", "freedom", "latency", "script", "trace", "inspect", "list_flaws"])]
    steer: Option<PathBuf>,
}

/// How a mock of a server is started.
type Serve = fn(MockOptions) -> Starting;

/// The exit code of a mock that died by a flaw.
const DIED: Exit = Exit(70);

/// Runs `wirecert mock`.
///
/// # Errors
/// A role without a mock, an option that does not fit, a port or socket that is taken, a mock that cannot be steered.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let kind = peer::mock(&args.role).ok_or_else(|| {
        let roles = protocol::protocols().iter().flat_map(|p| p.roles);
        let mocked: Vec<&str> = roles.map(|r| r.name).filter(|name| peer::mock(name).is_some()).collect();
        CliError::usage(format!("there is no mock of `{}`", args.role)).help(format!("there is {}", mocked.join(", ")))
    })?;
    if args.list_flaws {
        list(kind, terminal);
        return Ok(Exit::OK);
    }
    args.page.check(args.inspect)?;
    if args.stdin && args.page.is_tui() {
        return Err(CliError::usage("--stdin and --tui both read stdin: leave one out")
            .help("--control SOCKET takes commands from elsewhere"));
    }
    if let Some(socket) = &args.steer {
        return steer(socket, &args.command, terminal);
    }
    let start = match kind.begin {
        Begin::Serve(start) => start,
        Begin::Drive(drive) => return run_driven(&args, kind, drive, terminal),
    };
    let runtime = runtime(Some(2))?;
    let outcome = runtime.block_on(serve(args, kind, start, terminal));
    // A read of stdin that waits must not keep the process.
    runtime.shutdown_background();
    outcome
}

async fn serve(args: Args, kind: &'static MockKind, start: Serve, terminal: &mut Terminal) -> Result<Exit, CliError> {
    // Before anything of ours can be seen, so that a caller that sees it can end us in an orderly way.
    let mut signals = end_signals()?;
    let control = args.control.as_deref().map(ControlSocket::bind).transpose()?;
    // Read before anything is started, as far as that can be.
    let source = args.script.as_deref().map(yaml::read).transpose()?;
    let (mut options, recorder, feed, trace) = options(&args, kind)?;
    let edition = options.edition;
    if kind.scripted {
        if options.data.is_some() && source.is_some() {
            return Err(CliError::usage("--data and --script say the same for this mock: leave one out"));
        }
        options.data = options.data.or_else(|| source.clone());
    }
    let source = source.or_else(|| options.data.clone().filter(|_| kind.scripted));
    let mock: Arc<dyn Mock> = Arc::from(start(options).await.map_err(|e| start_error(&args, e))?);
    let check = |command: &Map<String, Value>| mock.check(command);
    let script = source.map(|source| match kind.scripted {
        true => script::read_steps(&source, &check),
        false => script::read(&source, &check).map(Some),
    });
    let script = match script.transpose() {
        Ok(script) => script.flatten(),
        Err(faults) => {
            mock.stop().await;
            return Err(faults.into());
        }
    };
    // Before anybody can find the mock by what it says.
    let happenings = mock.happenings();
    let ready = mock.ready();
    let inspector = feed.map(|feed| Inspector {
        session: Session {
            title: format!("mock of {}", kind.role),
            command: "mock",
            role: protocol::role(kind.role).map(|(_, role)| role),
            place: ready.clone(),
            keep: args.page.keep(),
        },
        feed,
        controls: Arc::new(MockControls::new(mock.clone(), kind, edition.id())),
        suite: None,
    });
    let mut showing = match inspector {
        Some(inspector) => match args.page.show(inspector, terminal).await {
            Ok(showing) => Some(showing),
            Err(error) => {
                mock.stop().await;
                return Err(error);
            }
        },
        None => None,
    };
    // The screen of the inspector tells where the mock is.
    if !args.page.is_tui() {
        terminal.result(&format!("{ready}\n"));
    }

    let (responses, mut response_lines) = mpsc::channel(1);
    let pending = PendingResponses::default();
    let (fail, mut failed) = mpsc::channel(1);
    if let Some(script) = script {
        tokio::spawn(play_script(script, mock.clone(), happenings, fail));
    }
    if args.stdin {
        tokio::spawn(obey_stdin(mock.clone(), tokio::io::stdin(), responses.clone(), pending.clone()));
    }
    if let Some(control) = &control {
        tokio::spawn(obey_socket(mock.clone(), control.listener.clone(), pending.clone()));
    }
    let exit = loop {
        tokio::select! {
            biased;
            // The exit code reports what a script cannot do, so that no test goes on that rests on it.
            Some(fault) = failed.recv() => {
                terminal.diagnostics(&[fault]);
                break Exit::USAGE;
            }
            line = response_lines.recv() => match line {
                Some(Some(line)) => terminal.result(&line),
                _ => break Exit::OK,
            },
            ended = mock.ended() => match ended {
                Ended::Quit => break Exit::OK,
                Ended::Died => return Ok(DIED),
            },
            signal = next_end(&mut signals, showing.as_mut()) => break match signal {
                EndSignal::Terminate => Exit::OK,
                EndSignal::Interrupt => Exit::INTERRUPTED,
            },
        }
    };
    drop(showing);
    mock.stop().await;
    recorder.end();
    // Responses that are on their way, such as that to `quit`.
    let responded = tokio::time::timeout(PATIENCE, pending.write());
    tokio::pin!(responded);
    loop {
        tokio::select! {
            biased;
            Some(Some(line)) = response_lines.recv() => terminal.result(&line),
            _ = &mut responded => break,
        }
    }
    Ok(trace.map_or(exit, |trace| terminal.trace_written(&trace, exit)))
}

/// How a mock of a client is driven.
type Drive = fn(MockOptions, Lines) -> BoxFuture<'static, Result<Ended, MockError>>;

/// Runs a mock of a client, which is driven over stdin and stdout.
fn run_driven(args: &Args, kind: &MockKind, drive: Drive, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let unfit = [
        ("--port", args.port.is_some()),
        ("--token", args.token.is_some()),
        ("--ide-name", args.ide_name.is_some()),
        ("--control", args.control.is_some()),
        ("--stdin", args.stdin),
        ("--latency", args.latency.is_some()),
        ("--script", args.script.is_some()),
        ("--inspect", args.inspect),
    ];
    if let Some((option, _)) = unfit.into_iter().find(|(_, given)| *given) {
        let error = CliError::usage(format!("the mock of `{}` is a client and takes no {option}", kind.role));
        return Err(error.help("it reads what to do from stdin: {\"id\":1,\"call\":\"…\",\"params\":{…}}"));
    }
    let (options, recorder, _, trace) = options(args, kind)?;
    let end = drive_lives(options, drive).map_err(|e| start_error(args, e))?;
    recorder.end();
    let exit = match end {
        LivesEnd::Quit => Exit::OK,
        LivesEnd::Interrupted => Exit::INTERRUPTED,
        LivesEnd::Died => DIED,
    };
    Ok(trace.map_or(exit, |trace| terminal.trace_written(&trace, exit)))
}

/// The options of the mock, the recorder of its connections, the feed of the inspector, and what becomes of the trace file
/// that was asked for.
type Prepared = (MockOptions, Recorder, Option<Feed>, Option<TraceFileStatus>);

fn options(args: &Args, kind: &MockKind) -> Result<Prepared, CliError> {
    let (protocol, role) =
        protocol::role(kind.role).ok_or_else(|| CliError::usage(format!("no protocol has the role {}", kind.role)))?;
    let edition = match &args.edition {
        None => protocol.default_edition(),
        Some(id) => protocol.edition(id).ok_or_else(|| no_edition(protocol, id))?,
    };
    let mut header = Header::new(protocol.name, edition.id());
    let ours = Party { is: PartyKind::Peer, name: Some("wirecert".to_owned()) };
    match role.subject {
        End::Client => header.client = ours,
        End::Server => header.server = ours,
    }
    let mut sinks: Vec<Box<dyn Sink>> = vec![];
    let (mut feed, mut trace) = (None, None);
    if args.inspect {
        let inspected = Feed::create(args.trace.as_deref(), &header, protocol, edition).map_err(feed_error)?;
        sinks.push(Box::new(inspected.clone()));
        trace = args.trace.is_some().then(|| inspected.status());
        feed = Some(inspected);
    } else if let Some(path) = &args.trace {
        let (sink, status) = FileSink::create(path, &header).map_err(|e| CliError::usage(e.to_string()))?;
        sinks.push(Box::new(sink));
        trace = Some(status);
    }
    let recorder = Recorder::with_secret_keys(Clock::start(), protocol.secret_keys, sinks);
    let options = MockOptions {
        edition,
        workspace: args.workspace.clone(),
        port: args.port,
        data_home: args.data_home.clone(),
        data: args.data.as_deref().map(yaml::read).transpose()?,
        url: args.url.clone(),
        token: args.token.clone(),
        name: args.ide_name.clone(),
        flaws: args.flaw.clone(),
        freedoms: args.freedom.clone(),
        history: MockHistory::default(),
        latency: args.latency.map(|(min, max)| Latency { min, max, seed: args.seed }),
        recorder: recorder.clone(),
    };
    Ok((options, recorder, feed, trace))
}

fn no_edition(protocol: &Protocol, id: &str) -> CliError {
    let ids: Vec<&str> = protocol.edition_ids().collect();
    let verb = if ids.len() == 1 { "is" } else { "are" };
    CliError::usage(format!("there is no edition `{id}`; there {verb} {}", ids.join(" and ")))
}

fn start_error(args: &Args, error: MockError) -> CliError {
    match error {
        MockError::Option(_) => CliError::usage(error.to_string()),
        MockError::Data(faults) => faults.into(),
        MockError::System { .. } => match args.port {
            Some(_) if error.is_taken() => {
                CliError::unjudged(error.to_string()).help("choose another --port, or leave it out to get a free one")
            }
            _ => CliError::unjudged(error.to_string()),
        },
    }
}

/// Plays a script. What could not be done goes to `fail`.
async fn play_script(
    script: Script,
    mock: Arc<dyn Mock>,
    happenings: broadcast::Receiver<MockEvent>,
    fail: mpsc::Sender<Diagnostic>,
) {
    if let Err(fault) = script::play(&script, &*mock, happenings).await {
        // The mock is ending if nobody hears it.
        let _ = fail.send(fault).await;
    }
}

fn list(kind: &MockKind, terminal: &mut Terminal) {
    let mut text = String::from("Flaws: ways to be wrong, and the requirement that each breaks\n");
    for flaw in (kind.flaws)() {
        text +=
            &format!("  {} ({})\n      {} Breaks {}.\n", flaw.name, flaw.editions.join(", "), flaw.about, flaw.breaks);
    }
    text += "\nModifiers of flaws, as in `--flaw NAME@late`: when a flaw shows, instead of always\n";
    for modifier in Modifier::ALL {
        text += &format!("  @{}\n      {}\n", modifier.name(), modifier.about());
    }
    text += "\nFreedoms: ways to be different and right\n";
    for freedom in (kind.freedoms)() {
        text += &format!("  {} ({})\n      {}\n", freedom.name, freedom.editions.join(", "), freedom.about);
    }
    terminal.result(&text);
}
