//! `wirecert record`: a proxy between two real ends that writes the trace.

mod way;

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::diagnostic::{Diagnostic, nearest};
use crate::protocol::{Protocol, Role, protocols};
use crate::record::{Client, LiveJudge, RecordError, Recording, Rendezvous};
use crate::report;
use crate::trace::{Clock, End, Exited, FileSink, Header, Recorder, Sink};

use super::check::{Terms, report_of};
use super::{CliError, Exit, Terminal, baseline, deliver};

use way::{edition, homes, way};

/// Pass traffic between two real ends, and write what crosses the wire to a trace.
///
/// Neither end notices: every byte is passed on as it came, at once. A server that is found through its lockfile
/// (amp) gets a second lockfile in a data home made for the client; of others say where they are (--upstream), and where
/// clients are to come in (--listen). The recording ends with the client's command, by Ctrl-C or SIGTERM.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The protocol: amp, openctx, amplifier.
    #[arg(value_name = "PROTOCOL")]
    protocol: String,

    /// The client to record, run here with its environment pointing to us. `{url}`, `{port}` and `{data_home}` in it
    /// are replaced.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,

    /// The trace to write.
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,

    /// The edition that the ends speak; where not said, what the lockfiles tell, or the first one of the protocol.
    #[arg(long, value_name = "EDITION")]
    edition: Option<String>,

    /// Judge what passes as it passes: findings on stderr at once, a verdict at the end.
    #[arg(long)]
    check: bool,

    /// Known violations, each with a reason.
    #[arg(long, value_name = "FILE", requires = "check")]
    baseline: Option<PathBuf>,

    /// Treat a violated `should` like a `must`.
    #[arg(long, requires = "check")]
    strict: bool,

    /// Hide what stands under this JSON key, query parameter or header, too; repeatable.
    #[arg(long, value_name = "KEY")]
    redact: Vec<String>,

    /// Where clients come in, of a protocol with URLs; a port of 0 is any free one.
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,

    /// Where the server is, of a protocol with URLs: http://127.0.0.1:3000.
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,

    /// The folder that the client works in; only servers that have it open are offered.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,

    /// Where the server's lockfile is, instead of where the environment says.
    #[arg(long, value_name = "DIR")]
    data_home: Option<PathBuf>,

    /// Give the client a home folder of its own, too, for clients that look below ~/.local/share whatever their
    /// environment says.
    #[arg(long)]
    own_home: bool,
}

/// How the recording came to its end.
enum Ended {
    /// The client did.
    Client(Exited),
    /// By SIGTERM or SIGHUP.
    Told,
    /// By Ctrl-C.
    Interrupted,
}

/// Runs it.
///
/// # Errors
/// Options that do not fit, an address that is taken, a trace that cannot be written, a client that cannot be started.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let (protocol, role) = find(&args.protocol)?;
    let homes = homes(&args, role)?;
    let edition = edition(&args, protocol, role, &homes)?;
    let way = way(&args, role, homes)?;
    let known = baseline::load(args.baseline.as_deref())?;
    let header = Header::new(protocol.name, edition);
    let (sink, written) = FileSink::create(&args.out, &header).map_err(|e| CliError::usage(e.to_string()))?;
    let color = terminal.output().color;
    let live = args.check.then(|| {
        let mut stderr = anstream::AutoStream::new(std::io::stderr(), color);
        LiveJudge::new(protocol, edition, &header, move |line| {
            use std::io::Write as _;
            // There is nobody left to tell if this fails.
            let _ = writeln!(stderr, "{line}");
        })
    });
    let mut sinks: Vec<Box<dyn Sink>> = vec![Box::new(sink)];
    sinks.extend(live.iter().map(|live| -> Box<dyn Sink> { Box::new(live.clone()) }));
    let mut secret_keys = protocol.secret_keys.to_vec();
    secret_keys.extend(args.redact.iter().map(String::as_str));
    let recorder = Recorder::with_secret_keys(Clock::start(), &secret_keys, sinks);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|e| CliError::unjudged(format!("cannot start: {e}")))?;
    let ended = runtime.block_on(record(&args, role, edition, way, &recorder, terminal));
    // Connections that stand would keep it.
    runtime.shutdown_background();
    let ended = ended?;
    let mut exit = Exit::OK;
    match written.outcome() {
        Ok(events) => terminal.progress(&format!("recorded {events} events in {}", args.out.display())),
        Err(error) => {
            terminal.diagnostics(&[Diagnostic::error("trace/write", error.to_string())]);
            exit = Exit::USAGE;
        }
    }
    if let Some(live) = live {
        let terms = Terms { edition: None, baseline: &known, strict: args.strict };
        let report = live.with(|recorded| report_of(protocol, edition, &header, recorded, &args.out, &terms));
        // What a client of ours writes to stdout is not to be mixed with this.
        if args.command.is_empty() {
            deliver::deliver(&report, &[], terminal);
        } else {
            let verbose = terminal.output().verbosity > 0;
            terminal.aside(&report::terminal(&report, &deliver::catalogue(), verbose));
        }
        exit = Exit::of(report.standing(), false, exit == Exit::USAGE);
    }
    Ok(if matches!(ended, Ended::Interrupted) { Exit::INTERRUPTED } else { exit })
}

/// Records until it is to end.
async fn record(
    args: &Args,
    role: &'static Role,
    edition: &'static str,
    way: Rendezvous,
    recorder: &Recorder,
    terminal: &mut Terminal,
) -> Result<Ended, CliError> {
    // Before anything of ours can be seen, so that whoever sees it can end us in an orderly way.
    let mut signals = Signals::new().map_err(|e| CliError::unjudged(format!("cannot listen for signals: {e}")))?;
    let recording = Recording::start(role, edition, way, recorder).await.map_err(start_error)?;
    let ended = match args.command.is_empty() {
        true => {
            tell(&recording, edition, terminal);
            Ok(signals.next().await)
        }
        false => with_client(args, role, &recording, &mut signals, terminal).await,
    };
    if let Some((folder, left)) = recording.end().await {
        let left: Vec<String> = left.iter().map(|path| path.display().to_string()).collect();
        let message = format!("the client wrote what cannot be put where it belongs; it stays in {}", folder.display());
        let warning = Diagnostic::warning("record/left", message).note(left.join(", "));
        terminal.diagnostics(&[warning.help("move what you want to keep to where it belongs, and remove the rest")]);
    }
    ended
}

/// Records the client that is ours to start.
async fn with_client(
    args: &Args,
    role: &Role,
    recording: &Recording,
    signals: &mut Signals,
    terminal: &mut Terminal,
) -> Result<Ended, CliError> {
    if recording.address().is_none() {
        let message = format!("there is no lockfile of {} that a client would use", role.about);
        let help =
            "start it first, or say where its lockfile is with --data-home DIR; one that comes now is offered, too";
        terminal.diagnostics(&[Diagnostic::warning("record/no-server", message).help(help)]);
    }
    let mut client = Client::start(recording, &args.command, args.workspace.as_deref()).map_err(|error| {
        let help = "it is run as it stands, without a shell: check its name and that it is in PATH";
        CliError::unjudged(error.to_string()).help(help)
    })?;
    let ended = tokio::select! {
        exited = client.ended(recording) => Ended::Client(exited),
        ended = signals.next() => {
            client.end(recording, matches!(ended, Ended::Interrupted)).await;
            ended
        }
    };
    if let Ended::Client(Exited { code, signal, .. }) = &ended {
        match (code, signal) {
            (Some(0), _) => {}
            (Some(code), _) => terminal.progress(&format!("the client ended with exit code {code}")),
            (None, Some(signal)) => terminal.progress(&format!("the client was ended by signal {signal}")),
            (None, None) => {}
        }
    }
    Ok(ended)
}

/// Says where clients come in: to programs on stdout, to people on stderr.
fn tell(recording: &Recording, edition: &str, terminal: &mut Terminal) {
    let variables = recording.data_home_variables();
    let env: Map<String, Value> = variables.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut ready = json!({ "recording": true, "edition": edition });
    if let Some(url) = recording.url() {
        ready["url"] = json!(url);
        ready["port"] = json!(recording.address().map(|address| address.port()));
    }
    if !env.is_empty() {
        ready["env"] = Value::Object(env);
    }
    terminal.result(&format!("{ready}\n"));
    if variables.is_empty() {
        let url = recording.url().unwrap_or_default();
        return terminal.progress(&format!("recording: have clients talk to {url}; Ctrl-C ends it"));
    }
    if recording.address().is_none() {
        terminal.progress("no server yet; those that come are offered");
    }
    let words: Vec<String> = variables.iter().map(|(name, value)| format!("{name}='{value}'")).collect();
    terminal.progress(&format!("recording: start the client with\n  env {} CLIENT…\nCtrl-C ends it", words.join(" ")));
}

/// The signals that end a recording.
struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> Ended {
        tokio::select! {
            _ = self.interrupt.recv() => Ended::Interrupted,
            _ = self.terminate.recv() => Ended::Told,
            _ = self.hang_up.recv() => Ended::Told,
        }
    }
}

/// The protocol of this name, and its servers.
fn find(name: &str) -> Result<(&'static Protocol, &'static Role), CliError> {
    let found = protocols().iter().copied().find(|p| p.name == name);
    let server = |p: &'static Protocol| p.roles.iter().find(|role| role.subject == End::Server);
    found.and_then(|p| Some((p, server(p)?))).ok_or_else(|| {
        let names: Vec<&str> = protocols().iter().map(|p| p.name).collect();
        let help = match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there is {}", names.join(", ")),
        };
        CliError::usage(format!("there is no protocol `{name}`")).help(help)
    })
}

fn start_error(error: RecordError) -> CliError {
    match error {
        RecordError::Listen { .. } => {
            CliError::unjudged(error.to_string()).help("choose another --listen, or leave it out to get a free port")
        }
        RecordError::DataHome { .. } | RecordError::System(_) => CliError::unjudged(error.to_string()),
    }
}
