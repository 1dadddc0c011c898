//! `wirecert record`: a proxy between two real ends that writes the trace.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::certification::{catalogue, load_baseline};
use crate::diagnostic::{Diagnostic, nearest};
use crate::inspect::{Feed, Inspector, NoControls, Session};
use crate::protocol::{Edition, Protocol, Reach, Role, data_homes, protocols};
use crate::record::{Client, LiveJudge, Lockfiles, RecordError, Recording, Rendezvous, edition_of};
use crate::report;
use crate::signals::{EndSignal, EndSignals};
use crate::trace::{Clock, End, Exited, FileSink, Header, Recorder, Sink};
use crate::wire::tcp::Address;

use super::check::{JudgeOptions, report_of};
use super::inspect::{PageOptions, Showing, feed_error, next_end};
use super::terminal::{end_signals, runtime};
use super::{CliError, Exit, Terminal, deliver};

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

    /// The edition that the ends speak. Default: what the lockfiles tell, or the first one of the protocol.
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

    /// Serve a page that shows what passes; its address goes to stderr. With --tui: the same in this terminal.
    #[arg(long, help_heading = "Inspector")]
    inspect: bool,

    #[command(flatten)]
    page: PageOptions,
}

/// How the recording came to its end.
enum RecordingEnd {
    /// The client exited.
    Client(Exited),
    /// A signal came.
    Signal(EndSignal),
}

/// Runs `wirecert record`.
///
/// # Errors
/// Options that do not fit, an address that is taken, a trace that cannot be written, a client that cannot be started.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    args.page.check(args.inspect)?;
    if args.page.is_tui() && !args.command.is_empty() {
        return Err(CliError::usage("a client that is started here has the same terminal as `--tui`")
            .help("leave out COMMAND, and start the client in another terminal"));
    }
    let (protocol, role) = find(&args.protocol)?;
    let homes = data_home_folders(&args, role)?;
    let edition = edition(&args, protocol, role, &homes)?;
    let rendezvous = rendezvous(&args, role, homes)?;
    let known = load_baseline(args.baseline.as_deref())?;
    let header = Header::new(protocol.name, edition.id());
    let feed = args.inspect.then(|| Feed::create(Some(&args.out), &header, protocol, edition));
    let feed = feed.transpose().map_err(feed_error)?;
    let (sink, written): (Box<dyn Sink>, _) = match &feed {
        Some(feed) => (Box::new(feed.clone()), feed.status()),
        None => {
            let created = FileSink::create(&args.out, &header);
            let (sink, written) = created.map_err(|e| CliError::usage(e.to_string()))?;
            (Box::new(sink), written)
        }
    };
    let color = terminal.output().color;
    // The screen of the inspector shows findings.
    let is_quiet = args.page.is_tui();
    let live = args.check.then(|| {
        let mut stderr = anstream::AutoStream::new(std::io::stderr(), color);
        LiveJudge::new(protocol, edition, &header, move |line| {
            use std::io::Write as _;
            if !is_quiet {
                // There is nobody left to tell if this fails.
                let _ = writeln!(stderr, "{line}");
            }
        })
    });
    let mut sinks: Vec<Box<dyn Sink>> = vec![sink];
    sinks.extend(live.iter().map(|live| -> Box<dyn Sink> { Box::new(live.clone()) }));
    let mut secret_keys = protocol.secret_keys.to_vec();
    secret_keys.extend(args.redact.iter().map(String::as_str));
    let recorder = Recorder::with_secret_keys(Clock::start(), &secret_keys, sinks);
    let runtime = runtime(Some(2))?;
    let ended = runtime.block_on(record(&args, role, edition, rendezvous, (&recorder, feed), terminal));
    // Connections that stand would keep it.
    runtime.shutdown_background();
    let ended = ended?;
    let mut exit = terminal.trace_written(&written, Exit::OK);
    if let Ok(events) = written.outcome() {
        terminal.progress(&format!("recorded {events} events in {}", args.out.display()));
    }
    if let Some(live) = live {
        let options = JudgeOptions { edition: None, baseline: &known, strict: args.strict };
        let report = live.with(|recorded| report_of(protocol, edition, &header, recorded, &args.out, &options));
        // What a client of ours writes to stdout is not to be mixed with this.
        if args.command.is_empty() {
            deliver(&report, &[], terminal);
        } else {
            let verbose = terminal.output().verbosity > 0;
            terminal.aside(&report::terminal(&report, &catalogue(), verbose));
        }
        exit = Exit::of(report.standing(), false, exit == Exit::USAGE);
    }
    let interrupted = matches!(ended, RecordingEnd::Signal(EndSignal::Interrupt)) && written.outcome().is_ok();
    Ok(if interrupted { Exit::INTERRUPTED } else { exit })
}

/// Records until it is to end.
async fn record(
    args: &Args,
    role: &'static Role,
    edition: &'static dyn Edition,
    rendezvous: Rendezvous,
    (recorder, feed): (&Recorder, Option<Feed>),
    terminal: &mut Terminal,
) -> Result<RecordingEnd, CliError> {
    // Before anything of ours can be seen, so that a caller that sees it can end us in an orderly way.
    let mut signals = end_signals()?;
    let recording = Recording::start(role, edition, rendezvous, recorder).await.map_err(start_error)?;
    let inspector = feed.map(|feed| Inspector {
        session: Session {
            title: format!("recording of {}", args.protocol),
            command: "record",
            role: None,
            place: place(&recording),
            keep: args.page.keep(),
        },
        feed,
        controls: Arc::new(NoControls),
        suite: None,
    });
    let mut showing = match inspector {
        Some(inspector) => Some(args.page.show(inspector, terminal).await?),
        None => None,
    };
    let ended = match args.command.is_empty() {
        true => {
            // The screen of the inspector tells where the proxy is.
            if !args.page.is_tui() {
                announce(&recording, edition, terminal);
            }
            Ok(RecordingEnd::Signal(next_end(&mut signals, showing.as_mut()).await))
        }
        false => with_client(args, role, &recording, &mut signals, terminal).await,
    };
    // The page stays as long as it can be looked at; the terminal is given back first.
    let showing = showing.filter(|showing| matches!(showing, Showing::Page { .. }));
    if let Some((folder, left)) = recording.end().await {
        let left: Vec<String> = left.iter().map(|path| path.display().to_string()).collect();
        let message = format!("the client wrote what cannot be put where it belongs; it stays in {}", folder.display());
        let warning = Diagnostic::warning("record/left", message).note(left.join(", "));
        terminal.diagnostics(&[warning.help("move what you want to keep to where it belongs, and remove the rest")]);
    }
    // What was recorded can still be looked at.
    if let (Some(_), Ok(RecordingEnd::Client(_))) = (&showing, &ended) {
        terminal.progress("the recording is complete; Ctrl-C ends the inspector");
        signals.next().await;
    }
    ended
}

/// Where clients find the proxy.
fn place(recording: &Recording) -> Value {
    let variables = recording.data_home_variables();
    let mut place = json!({ "url": recording.url() });
    for (name, value) in variables {
        place[name] = value.into();
    }
    place
}

/// Records the client that is ours to start.
async fn with_client(
    args: &Args,
    role: &Role,
    recording: &Recording,
    signals: &mut EndSignals,
    terminal: &mut Terminal,
) -> Result<RecordingEnd, CliError> {
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
        exited = client.ended(recording) => RecordingEnd::Client(exited),
        signal = signals.next() => {
            client.end(recording, signal == EndSignal::Interrupt).await;
            RecordingEnd::Signal(signal)
        }
    };
    if let RecordingEnd::Client(Exited { code, signal, .. }) = &ended {
        match (code, signal) {
            (Some(0), _) => {}
            (Some(code), _) => terminal.progress(&format!("the client ended with exit code {code}")),
            (None, Some(signal)) => terminal.progress(&format!("the client was ended by signal {signal}")),
            (None, None) => {}
        }
    }
    Ok(ended)
}

/// Announces where clients connect: to programs on stdout, to people on stderr.
fn announce(recording: &Recording, edition: &dyn Edition, terminal: &mut Terminal) {
    let variables = recording.data_home_variables();
    let env: Map<String, Value> = variables.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let mut ready = json!({ "recording": true, "edition": edition.id() });
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

/// The data homes in which servers leave their lockfiles.
pub(super) fn data_home_folders(args: &Args, role: &Role) -> Result<Vec<PathBuf>, CliError> {
    if !matches!(role.reach, Reach::Lockfile { .. }) {
        return Ok(vec![]);
    }
    let homes = match &args.data_home {
        Some(home) => vec![home.clone()],
        None => data_homes(role.reach.data_home(), &|name| std::env::var_os(name)),
    };
    if homes.is_empty() {
        return Err(CliError::usage("there is no data home: neither HOME nor XDG_DATA_HOME is set")
            .help("say where the server's lockfile is with --data-home DIR"));
    }
    homes
        .into_iter()
        .map(|home| std::path::absolute(&home).map_err(|e| CliError::usage(format!("{}: {e}", home.display()))))
        .collect()
}

/// The requested edition, or else the one that the lockfiles name.
pub(super) fn edition(
    args: &Args,
    protocol: &'static Protocol,
    role: &Role,
    homes: &[PathBuf],
) -> Result<&'static dyn Edition, CliError> {
    let Some(requested) = &args.edition else {
        return Ok(edition_of(protocol, &role.reach, homes).unwrap_or(protocol.default_edition()));
    };
    protocol.edition(requested).ok_or_else(|| {
        CliError::usage(format!("{} has no edition `{requested}`", protocol.name))
            .help(format!("there is {}", protocol.edition_ids().collect::<Vec<_>>().join(", ")))
    })
}

/// How the two ends are brought together.
pub(super) fn rendezvous(args: &Args, role: &Role, homes: Vec<PathBuf>) -> Result<Rendezvous, CliError> {
    let by_lockfile = matches!(role.reach, Reach::Lockfile { .. });
    let misplaced = [
        ("--listen", args.listen.is_some() && by_lockfile),
        ("--upstream", args.upstream.is_some() && by_lockfile),
        ("--data-home", args.data_home.is_some() && !by_lockfile),
        ("--own-home", args.own_home && !by_lockfile),
    ];
    if let Some((name, _)) = misplaced.iter().find(|(_, wrong)| *wrong) {
        let how = if by_lockfile { "found through its lockfile" } else { "reached at a URL" };
        return Err(CliError::usage(format!("`{name}` means nothing here: {} is {how}", role.about)));
    }
    if let Some(workspace) = &args.workspace
        && !workspace.is_dir()
    {
        return Err(CliError::usage(format!("the workspace {} is no folder", workspace.display())));
    }
    if by_lockfile {
        // There the data home is always below the home folder, whatever the environment says.
        let home = (args.own_home || cfg!(target_os = "macos")).then(|| std::env::var_os("HOME")).flatten();
        let home = home.map(PathBuf::from);
        return Ok(Rendezvous::Lockfiles(Lockfiles { homes, home, workspace: args.workspace.clone() }));
    }
    let Some(upstream) = &args.upstream else {
        return Err(CliError::usage(format!("say where {} is: --upstream http://127.0.0.1:PORT", role.about)));
    };
    let (upstream, path) = parse_upstream(upstream)?;
    let listen = args.listen.as_deref().map_or(Ok((Ipv4Addr::LOCALHOST, 0).into()), parse_listen)?;
    Ok(Rendezvous::Url { listen, upstream, path })
}

/// `http://127.0.0.1:3000/path`: where the server is, and the path for clients.
fn parse_upstream(url: &str) -> Result<(Address, String), CliError> {
    let wrong = |why: &str| CliError::usage(format!("--upstream {why}; expected one like http://127.0.0.1:3000"));
    if url.starts_with("https://") {
        return Err(wrong("is encrypted, so that nobody in between can read it")
            .help("start the server without TLS for the recording, or a proxy that ends TLS before it"));
    }
    let rest = url.strip_prefix("http://").ok_or_else(|| wrong("does not begin with http://"))?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse().ok().filter(|port| *port != 0).ok_or_else(|| wrong("names a port that is none"))?)
        }
        _ => (authority, 80),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let loopback = host.parse::<IpAddr>().map_or(host == "localhost", |ip| ip.is_loopback());
    if !loopback {
        return Err(wrong("leads to another machine"));
    }
    Ok((Address::new(host, port), path.to_owned()))
}

/// `127.0.0.1:8765`, `localhost:8765`, or a port alone.
fn parse_listen(text: &str) -> Result<SocketAddr, CliError> {
    let text = text.strip_prefix("localhost").map_or_else(|| text.to_owned(), |rest| format!("127.0.0.1{rest}"));
    let port = text.parse::<u16>().ok().map(|port| (Ipv4Addr::LOCALHOST, port).into());
    text.parse().ok().or(port).ok_or_else(|| {
        CliError::usage(format!("--listen {text} is no address; expected one like 127.0.0.1:8765 or [::1]:8765"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upstream_is_a_plain_url_of_this_machine() {
        let parsed = |url: &str| parse_upstream(url).map(|(a, path)| (a.to_string(), path)).map_err(|e| e.diagnostics);
        assert_eq!(parsed("http://127.0.0.1:3000").unwrap(), ("127.0.0.1:3000".into(), String::new()));
        assert_eq!(parsed("http://localhost/a?b").unwrap(), ("localhost:80".into(), "/a?b".into()));
        assert_eq!(parsed("http://[::1]:8/").unwrap(), ("[::1]:8".into(), "/".into()));
        for wrong in ["127.0.0.1:3000", "https://localhost", "http://example.org", "http://127.0.0.1:0", "http://1:x"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn clients_come_in_at_an_address_or_a_port() {
        let parsed = |text: &str| parse_listen(text).map(|a| a.to_string()).ok();
        assert_eq!(parsed("localhost:1").as_deref(), Some("127.0.0.1:1"));
        assert_eq!(parsed("8765").as_deref(), Some("127.0.0.1:8765"));
        assert_eq!(parsed("[::1]:2").as_deref(), Some("[::1]:2"));
        assert_eq!(parsed("nowhere"), None);
    }
}
