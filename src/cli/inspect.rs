//! `wirecert inspect`: a page that shows what passes between us and a live implementation, and lets people act. [`PageOptions`] are
//! those of every command that has such a page.

mod running;

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::config::{EditionChoice, SubjectSpec};
use crate::inspect::{Feed, FeedError, Inspector, PeerControls, Serving, Session, Suite, SuiteSubject, Tui};
use crate::peer::{self, Peer, Setting, SubjectDirs, VerbCall};
use crate::play::{fresh_run_dir, start};
use crate::protocol::{Edition, protocols};
use crate::report::Silent;
use crate::signals::{EndSignal, EndSignals};
use crate::subject::{RunDir, Running, Start, SubjectError};
use crate::trace::{Clock, EventKind, Header, Mark, Recorder};

use super::options::TargetOptions;
use super::terminal::{end_signals, runtime};
use super::{CliError, Exit, Terminal};

/// Look at what passes between wirecert and a live implementation, on a page, and act.
///
/// wirecert starts the implementation or finds it, stands opposite it, and serves a page on the loopback address: the messages as
/// they pass, what the rules find in them, and everything that scenarios can do as a form. Without a subject it lists what runs
/// and what can be inspected.
#[derive(Debug, clap::Args)]
#[command(after_help = "Ctrl-C ends it, and stops what it started. The same page: `wirecert mock ROLE --inspect`, \
    `wirecert record PROTOCOL --inspect`.")]
pub struct Args {
    /// The role of the implementation, such as amp-server; or a protocol, such as amp, to list what runs.
    #[arg(value_name = "ROLE|PROTOCOL")]
    target: String,

    /// The command that starts it. `{port}`, `{url}`, `{workspace}` and others in it are replaced.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,

    #[command(flatten)]
    subject: TargetOptions,

    /// Write what crosses the wire to this trace file.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    #[command(flatten)]
    page: PageOptions,
}

/// Options of the inspector's page.
#[derive(Clone, Debug, clap::Args)]
pub struct PageOptions {
    /// The port of the inspector's page, at 127.0.0.1; a free one, if not given.
    #[arg(long, value_name = "N", help_heading = "Inspector")]
    inspect_port: Option<u16>,

    /// Open the page in a browser.
    #[arg(long, help_heading = "Inspector")]
    open: bool,

    /// Where the page saves stretches of the trace; `wirecert-kept`, if not given.
    #[arg(long, value_name = "DIR", help_heading = "Inspector")]
    keep: Option<PathBuf>,

    /// Show the inspector in this terminal instead of on a page.
    #[arg(long, help_heading = "Inspector", conflicts_with_all = ["inspect_port", "open", "keep"])]
    tui: bool,
}

/// An inspector that is shown.
pub enum Showing {
    /// On a page. Nobody ends it there.
    Page {
        /// Dropped, it stops.
        _serving: Serving,
    },
    /// On the terminal.
    Terminal(Tui),
}

impl Showing {
    /// Waits until somebody ends it where it is shown.
    pub async fn ended(&mut self) -> EndSignal {
        match self {
            Self::Page { .. } => std::future::pending().await,
            Self::Terminal(tui) => tui.ended().await,
        }
    }
}

/// Waits for a signal, or until somebody ends the inspector where it is shown.
pub async fn next_end(signals: &mut EndSignals, showing: Option<&mut Showing>) -> EndSignal {
    match showing {
        None => signals.next().await,
        Some(showing) => tokio::select! {
            signal = signals.next() => signal,
            signal = showing.ended() => signal,
        },
    }
}

impl PageOptions {
    /// Checks that they are given only where there is an inspector, and that there is a terminal where one is needed.
    ///
    /// # Errors
    /// One of them without `--inspect`; `--tui` without a terminal.
    pub fn check(&self, inspect: bool) -> Result<(), CliError> {
        let given = [
            ("--inspect-port", self.inspect_port.is_some()),
            ("--open", self.open),
            ("--keep", self.keep.is_some()),
            ("--tui", self.tui),
        ];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| *given && !inspect) {
            return Err(CliError::usage(format!("`{option}` is about the inspector, which `--inspect` starts")));
        }
        let streams = [("stdin", std::io::stdin().is_terminal()), ("stdout", std::io::stdout().is_terminal())];
        match streams.into_iter().find(|(_, is_terminal)| self.tui && !is_terminal) {
            Some((stream, _)) => Err(CliError::usage(format!("`--tui` needs a terminal, and {stream} is none"))
                .help("leave it out to have the inspector on a page")),
            None => Ok(()),
        }
    }

    /// Whether the inspector is shown on the terminal.
    pub fn is_tui(&self) -> bool {
        self.tui
    }

    /// The folder where stretches of the trace are saved.
    pub fn keep(&self) -> PathBuf {
        self.keep.clone().unwrap_or_else(|| PathBuf::from("wirecert-kept"))
    }

    /// Shows the inspector: serves the page, prints its address, and opens it if that was asked for; or takes the terminal. What is
    /// printed after that waits until the end.
    ///
    /// # Errors
    /// The port is in use; the terminal cannot be used.
    pub async fn show(&self, inspector: Inspector, terminal: &mut Terminal) -> Result<Showing, CliError> {
        if self.tui {
            let tui = Tui::start(inspector, terminal.is_colored());
            let tui = tui.map_err(|error| CliError::unjudged(format!("the terminal cannot be used: {error}")))?;
            terminal.hold();
            return Ok(Showing::Terminal(tui));
        }
        let serving = inspector.serve(self.inspect_port.unwrap_or(0)).await.map_err(|error| {
            CliError::unjudged(error.to_string())
                .help("choose another --inspect-port, or leave it out to get a free one")
        })?;
        // With its token it is a secret: not for stdout, which is kept in many places.
        terminal.aside(&format!("inspector: {}\n", serving.url()));
        if self.open && !open_browser(serving.url()) {
            terminal.progress("no browser could be opened; open the address by hand");
        }
        Ok(Showing::Page { _serving: serving })
    }
}

/// Opens an address with the program of the desktop for that. Gives whether it was started.
fn open_browser(url: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    Command::new(program).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}

/// Why a session cannot be inspected.
pub fn feed_error(error: FeedError) -> CliError {
    CliError::usage(error.to_string())
}

/// How long a driven client or a server may take for what an act waits for, where nobody says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs `wirecert inspect`.
///
/// # Errors
/// A role or protocol that does not exist, a subject that cannot be started or reached.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    if let Some(protocol) = protocols().iter().copied().find(|protocol| protocol.name == args.target) {
        if args.page.is_tui() {
            return Err(CliError::usage(format!("`--tui` shows an inspector, and `{}` is a protocol", args.target))
                .help("say the role of the implementation and how it is reached"));
        }
        return running::list(protocol, terminal);
    }
    args.page.check(true)?;
    let Some(spec) = args.subject.subject(&args.target, &args.command, false)? else {
        let (protocol, role) = crate::protocol::role(&args.target).ok_or_else(|| running::unknown(&args.target))?;
        return Err(running::no_subject(protocol, role));
    };
    let runtime = runtime(Some(2))?;
    let ended = runtime.block_on(inspect(&args, &spec, terminal));
    runtime.shutdown_background();
    ended
}

fn exit_at(signal: EndSignal) -> Exit {
    match signal {
        EndSignal::Terminate => Exit::OK,
        EndSignal::Interrupt => Exit::INTERRUPTED,
    }
}

/// What stands opposite whom.
struct Opposite {
    feed: Feed,
    recorder: Recorder,
    peer: Box<dyn Peer>,
    subject: Running,
    run_dir: Option<RunDir>,
}

async fn inspect(args: &Args, spec: &SubjectSpec, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let mut signals = end_signals()?;
    let met = async {
        match spec.role.is_client() {
            true => meet_client(args, spec).await,
            false => meet_server(args, spec, terminal).await,
        }
    };
    let Opposite { feed, recorder, peer, subject, run_dir } = tokio::select! {
        met = met => met?,
        signal = signals.next() => return Ok(exit_at(signal)),
    };
    let trace = args.trace.is_some().then(|| feed.status());
    let place = place(&subject, &recorder);
    let (peer, subject) = (Arc::new(Mutex::new(peer)), Arc::new(Mutex::new(Some(subject))));
    let stimuli: BTreeSet<String> = spec.stimuli.keys().map(|name| (*name).to_string()).collect();
    let role = (spec.protocol, spec.role);
    let controls = PeerControls::new(peer.clone(), subject.clone(), role, feed.edition(), (stimuli, spec.is_driven()));
    let session =
        Session { title: spec.name.clone(), command: "inspect", role: Some(spec.role), place, keep: args.page.keep() };
    let suite = Arc::new(suite(args, spec, feed.edition()));
    let inspector = Inspector { session, feed, controls: Arc::new(controls), suite: Some(suite.clone()) };
    let signal = match args.page.show(inspector, terminal).await {
        Ok(mut showing) => Ok(next_end(&mut signals, Some(&mut showing)).await),
        Err(error) => Err(error),
    };
    suite.end().await;
    // An act that still waits for something does not keep the end.
    if let Ok(mut peer) = tokio::time::timeout(Duration::from_secs(2), peer.lock()).await {
        peer.finish().await;
    }
    if let Some(subject) = subject.lock().await.take() {
        subject.expect_exit();
        subject.stop().await;
    }
    recorder.end();
    drop(run_dir);
    let exit = exit_at(signal?);
    Ok(trace.map_or(exit, |trace| terminal.trace_written(&trace, exit)))
}

/// What plays scenarios at the subject.
fn suite(args: &Args, spec: &SubjectSpec, edition: &'static dyn Edition) -> Suite {
    let role = spec.role.name;
    let subject = SuiteSubject {
        spec: spec.clone(),
        edition,
        run: args.subject.play(spec),
        repro: args.subject.repro(&args.command, false),
        keep: args.page.keep(),
    };
    // A test holds that the scenarios of the program are sound.
    Suite::new(subject, Box::new(move || super::embedded::plans_of(&[role]).unwrap_or_default()))
}

/// How the subject was reached; secrets are hidden.
fn place(subject: &Running, recorder: &Recorder) -> Value {
    let mut place = Map::new();
    if let Some(lock) = subject.lock() {
        place.insert("port".to_owned(), lock.port.into());
        place.extend(lock.url.as_deref().map(|url| ("url".to_owned(), url.into())));
    }
    place.extend(subject.lockfile_path().map(|path| ("lockfile".to_owned(), path.display().to_string().into())));
    place.extend(subject.workspace().map(|path| ("workspace".to_owned(), path.display().to_string().into())));
    place.extend(subject.pid().map(|pid| ("pid".to_owned(), pid.into())));
    let mut place = Value::Object(place);
    recorder.hide_json(&mut place);
    place
}

/// The trace of a session, and the feed that shows it.
fn record(args: &Args, spec: &SubjectSpec, edition: &'static dyn Edition) -> Result<(Feed, Recorder), CliError> {
    let header = Header::new(spec.protocol.name, edition.id()).with_subject(spec.role.subject, &spec.name);
    let feed = Feed::create(args.trace.as_deref(), &header, spec.protocol, edition).map_err(feed_error)?;
    let recorder = Recorder::with_secret_keys(Clock::start(), spec.protocol.secret_keys, vec![Box::new(feed.clone())]);
    Ok((feed, recorder))
}

fn setting(spec: &SubjectSpec, edition: &'static dyn Edition, recorder: &Recorder) -> Setting {
    Setting {
        edition,
        recorder: recorder.clone(),
        server: None,
        patience: PATIENCE,
        longest: None,
        place: None,
        settings: spec.settings.clone(),
        described: spec.described.clone(),
        folder: None,
    }
}

fn new_peer(spec: &SubjectSpec, setting: Setting) -> Result<Box<dyn Peer>, CliError> {
    let kind = peer::kind(spec.role.name);
    let kind = kind.ok_or_else(|| CliError::usage(format!("no peer stands opposite {}", spec.role.name)))?;
    Ok((kind.new)(setting))
}

fn not_started(error: &SubjectError) -> CliError {
    CliError { diagnostics: vec![error.diagnostic()], exit: Exit::UNJUDGED }
}

/// Starts or finds a server, and connects to it.
async fn meet_server(args: &Args, spec: &SubjectSpec, terminal: &mut Terminal) -> Result<Opposite, CliError> {
    // Its edition decides how it is recorded, and is known once it runs.
    let unrecorded = Recorder::with_secret_keys(Clock::start(), spec.protocol.secret_keys, vec![]);
    let started = start(spec, None, unrecorded.clone(), &Silent).await;
    let (run_dir, subject) = started.map_err(|error| not_started(&error))?;
    let lock = subject.lock().cloned();
    let edition = match (spec.edition, &lock, peer::kind(spec.role.name).and_then(|kind| kind.probe.as_ref())) {
        (EditionChoice::Given(edition), _, _) => edition,
        (EditionChoice::Auto, Some(lock), Some(probe)) => {
            let detected = (probe.detect)(lock.clone(), PATIENCE, unrecorded).await;
            terminal.progress(&format!("edition `{}`: {}", detected.edition, detected.how));
            detected.edition
        }
        (EditionChoice::Auto, _, _) => spec.protocol.default_edition(),
    };
    let (feed, recorder) = record(args, spec, edition)?;
    subject.record_to(recorder.clone());
    let place = run_dir.as_ref().map(dirs);
    let mut peer = new_peer(spec, Setting { server: lock, place, ..setting(spec, edition, &recorder) })?;
    if (spec.role.verbs)().iter().any(|verb| verb.name == "connect") {
        let connect = VerbCall { verb: "connect", params: &Map::new(), step: "inspector" };
        if let Err(error) = peer.perform(connect).await {
            let text = format!("the first connection failed: {error}");
            terminal.progress(&text);
            recorder.record(None, None, EventKind::Mark(Mark { mark: "inspector".to_owned(), text }));
        }
    }
    Ok(Opposite { feed, recorder, peer, subject, run_dir })
}

/// Serves, and starts a client that finds us.
async fn meet_client(args: &Args, spec: &SubjectSpec) -> Result<Opposite, CliError> {
    let edition = match spec.edition {
        EditionChoice::Given(edition) => edition,
        EditionChoice::Auto => spec.protocol.default_edition(),
    };
    let launch = spec.launch().ok_or_else(|| {
        CliError::usage("a client is started, and cannot be attached to")
            .help(format!("give its command: wirecert inspect {} -- COMMAND", spec.role.name))
    })?;
    let run_dir = fresh_run_dir(launch, &Silent).map_err(|error| not_started(&error))?;
    let (feed, recorder) = record(args, spec, edition)?;
    let place = Some(dirs(&run_dir));
    let mut peer = new_peer(spec, Setting { place, ..setting(spec, edition, &recorder) })?;
    let serve = VerbCall { verb: "serve", params: &Map::new(), step: "inspector" };
    peer.perform(serve).await.map_err(|error| CliError::unjudged(error.to_string()))?;
    let server = peer.url();
    let recorded = recorder.clone();
    let start = Start { server, ..Start::new(spec, &run_dir, recorded) };
    let subject = Running::launch(start).await.map_err(|error| not_started(&error))?;
    Ok(Opposite { feed, recorder, peer, subject, run_dir: Some(run_dir) })
}

fn dirs(run_dir: &RunDir) -> SubjectDirs {
    SubjectDirs { root: run_dir.workspace(), home: run_dir.home(), data_home: run_dir.data_home() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_page_need_one() {
        let options = PageOptions { inspect_port: None, open: true, keep: None, tui: false };
        assert!(options.check(true).is_ok());
        assert_eq!(options.check(false).unwrap_err().exit, Exit::USAGE);
        assert_eq!(options.keep(), PathBuf::from("wirecert-kept"));
    }
}
