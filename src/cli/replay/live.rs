//! The live side of a replay: found, or started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::config::{Access, Environment, Flags, SubjectFile, SubjectSpec, Target, resolve, users_data_home};
use crate::peer::{self, Announced, Announcement};
use crate::protocol::{Lock, Protocol, Reach, Role};
use crate::replay::{
    LiveClient, LiveServer, ReplayListener, ReplayOptions, ReplayOutcome, ReplayValues, Script, Secrets, as_client,
    as_server,
};
use crate::subject::{RunDir, Running, Start};
use crate::trace::{Clock, End, FileSink, Header, Recorder, Sink, TraceFileStatus};
use crate::wire::tcp::Address;

use crate::cli::{CliError, Exit, Terminal};

/// How a client that is not driven is watched: for longer than any replay takes.
const OBSERVE_TIME: Duration = Duration::from_secs(24 * 3600);

/// What the command line says of the live side.
#[derive(Debug, clap::Args)]
pub struct LiveArgs {
    /// Describes the live side: how to start it, what it can be made to do.
    #[arg(long, value_name = "FILE", help_heading = "Live side")]
    subject: Option<PathBuf>,

    /// As a client: where the server listens, with the secret where there is one: `ws://127.0.0.1:1234?auth=…`.
    #[arg(long, value_name = "URL", help_heading = "Live side", conflicts_with = "lockfile")]
    url: Option<String>,

    /// As a client: the lockfile that the server wrote.
    #[arg(long, value_name = "FILE", help_heading = "Live side")]
    lockfile: Option<PathBuf>,

    /// The data home below which lockfiles are; yours, if not given.
    #[arg(long, value_name = "DIR", help_heading = "Live side")]
    data_home: Option<PathBuf>,

    /// The folder that stands for the recorded workspace; the one that the server has open, or this one, if not given.
    #[arg(long, value_name = "DIR", help_heading = "Live side")]
    workspace: Option<PathBuf>,

    /// As a server: the port to listen on; a free one, if not given.
    #[arg(long, value_name = "N", help_heading = "Live side")]
    port: Option<u16>,

    /// The command that starts the live side, after `--`. {workspace}, {port}, {url}, {data_home} and {run_dir} in it are
    /// replaced.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The context of a replay.
pub struct ReplayEnvironment {
    /// The protocol of the trace.
    pub protocol: &'static Protocol,
    /// The side that is re-enacted.
    pub ours: End,
    /// What is known of secrets.
    pub secrets: Secrets,
    /// What folders of the record are called live.
    pub maps: Vec<(String, String)>,
    /// Where the replay is recorded, if it is.
    pub out: Option<PathBuf>,
    /// How it is done.
    pub options: ReplayOptions,
}

/// Plays the script against the live side that is found or started. Gives what came of it, and what the live side was.
///
/// # Errors
/// Where the live side is not to be had, or the replay cannot be recorded.
pub async fn play(
    script: Script,
    args: &LiveArgs,
    context: ReplayEnvironment,
    stop: watch::Receiver<bool>,
    terminal: &mut Terminal,
) -> Result<(ReplayOutcome, String), CliError> {
    let live = if context.ours == End::Client { End::Server } else { End::Client };
    let role = context.protocol.roles.iter().find(|role| role.subject == live);
    let role = role.ok_or_else(|| CliError::usage(format!("{} has no such side", context.protocol.name)))?;
    let name = if args.command.is_empty() { role.about.to_owned() } else { args.command.join(" ") };
    let header = Header::new(&script.header.protocol, &script.header.edition).with_subject(live, &name);
    let mut sinks: Vec<Box<dyn Sink>> = vec![];
    let mut written: Option<TraceFileStatus> = None;
    if let Some(path) = &context.out {
        let (sink, tells) = FileSink::create(path, &header).map_err(|e| CliError::usage(e.to_string()))?;
        sinks.push(Box::new(sink));
        written = Some(tells);
    }
    let played = match live {
        End::Server => client(&script, args, role, &context, stop, sinks).await,
        End::Client => server(script, args, role, &context, stop, sinks, terminal).await,
    };
    if let Some(Err(error)) = written.map(|written| written.outcome()) {
        return Err(CliError::usage(error.to_string()));
    }
    played
}

/// Re-enacts the client against a live server.
async fn client(
    script: &Script,
    args: &LiveArgs,
    role: &'static Role,
    context: &ReplayEnvironment,
    stop: watch::Receiver<bool>,
    sinks: Vec<Box<dyn Sink>>,
) -> Result<(ReplayOutcome, String), CliError> {
    let spec = spec(script, args, role, false)?.ok_or_else(|| {
        CliError::usage("it is not said where the live server is")
            .help("give the command that starts it after `--`, or say where it is with `--url URL`")
    })?;
    let recorder = Recorder::with_secret_keys(Clock::start(), context.protocol.secret_keys, sinks);
    context.secrets.values().for_each(|secret| recorder.add_secret(secret));
    let failed = |e: crate::subject::SubjectError| CliError { diagnostics: vec![e.diagnostic()], exit: Exit::UNJUDGED };
    let (run_dir, running) = match &spec.access {
        Access::Launch(launch) => {
            let run_dir = RunDir::create(launch).map_err(failed)?;
            let running = interruptible(&stop, start(&spec, &run_dir, None, &recorder)).await?.map_err(failed)?;
            (Some(run_dir), running)
        }
        Access::Attach { .. } => (None, Running::attach(&spec, recorder.clone()).await.map_err(failed)?),
    };
    let lock = running.lock().cloned().ok_or_else(|| CliError::usage("a client cannot be connected to"))?;
    let folder = folder(args, Some(&running), Some(&lock));
    let (mut values, notes) = values(script, context, folder, lock.port, &lock.token)?;
    let opposite = LiveServer { address: address(&lock), path: path(role, &lock), running: Some(&running) };
    let description = match &lock.url {
        Some(url) => url.split('?').next().unwrap_or(url).to_owned(),
        None => format!("the server at port {}", lock.port),
    };
    let steps = script.steps().map_err(|e| CliError::usage(e.to_string()))?;
    let outcome = as_client(script, steps, &opposite, &mut values, &context.options, recorder.clone(), stop).await;
    running.stop().await;
    recorder.end();
    drop(run_dir);
    let mut outcome = outcome.map_err(|e| CliError::unjudged(e.to_string()).help("is the server still running?"))?;
    script.notes.iter().chain(&notes).for_each(|note| outcome.note(note));
    Ok((outcome, description))
}

/// Re-enacts the server opposite a live client.
async fn server(
    script: Script,
    args: &LiveArgs,
    role: &'static Role,
    context: &ReplayEnvironment,
    stop: watch::Receiver<bool>,
    mut sinks: Vec<Box<dyn Sink>>,
    terminal: &mut Terminal,
) -> Result<(ReplayOutcome, String), CliError> {
    if let Some(option) = [("--url", args.url.is_some()), ("--lockfile", args.lockfile.is_some())].iter().find(|o| o.1)
    {
        return Err(CliError::usage(format!(
            "{} says where a server is, and it is the server that is re-enacted",
            option.0
        )));
    }
    let spec = spec(&script, args, role, !script.driven)?;
    let (sink, returned) = LiveClient::watch();
    sinks.push(sink);
    let recorder = Recorder::with_secret_keys(Clock::start(), context.protocol.secret_keys, sinks);
    context.secrets.values().for_each(|secret| recorder.add_secret(secret));
    let failed = |e: crate::subject::SubjectError| CliError { diagnostics: vec![e.diagnostic()], exit: Exit::UNJUDGED };
    let host = ReplayListener::listen(args.port).await.map_err(|e| {
        CliError::unjudged(format!("cannot listen: {e}"))
            .help("choose another --port, or leave it out to get a free one")
    })?;
    let port = host.address().port();
    let launch = spec.as_ref().and_then(SubjectSpec::launch);
    let run_dir = launch.map(RunDir::create).transpose().map_err(failed)?;
    let folder = match (&run_dir, &args.workspace) {
        (Some(run_dir), None) => run_dir.workspace(),
        (_, given) => absolute(given.as_deref().unwrap_or(Path::new(".")))?,
    };
    let announced = announce(&script, args, role, run_dir.as_ref(), &folder, port, &recorder)?;
    let url = format!("http://127.0.0.1:{port}{}", script.only_target().unwrap_or(usual_path(context.protocol)));
    let token = announced.as_ref().map(|announced| announced.token.clone()).unwrap_or_default();
    let (values, more) = values(&script, context, Some(folder.display().to_string()), port, &token)?;
    let running = match (&spec, &run_dir) {
        (Some(spec), Some(run_dir)) => {
            let server = announced.is_none().then(|| url.clone());
            Some(interruptible(&stop, start(spec, run_dir, server, &recorder)).await?.map_err(failed)?)
        }
        _ => None,
    };
    if running.is_none() {
        let place = match &announced {
            Some(announced) => serde_json::json!({ "port": port, "lockfile": announced.path }),
            None => serde_json::json!({ "port": port, "url": url }),
        };
        terminal.aside(&format!("{place}\n"));
    }
    let notes: Vec<String> = script.notes.iter().cloned().chain(more).collect();
    let description = match &spec {
        Some(_) => args.command.join(" "),
        None => format!("the client that came to port {port}"),
    };
    let client = LiveClient { running: running.as_ref(), returned };
    let script = Arc::new(script.hold().map_err(|e| CliError::usage(e.to_string()))?);
    let stopped = stop.clone();
    let played = as_server(script, host, client, values, context.options.clone(), recorder.clone(), stop).await;
    let output = running.as_ref().map(Running::last_output).unwrap_or_default();
    if let Some(running) = running {
        running.stop().await;
    }
    recorder.end();
    drop((announced, run_dir));
    let played = played.map_err(|e| CliError::unjudged(format!("cannot serve: {e}")))?;
    let mut outcome = match played {
        Some(outcome) => outcome,
        None if *stopped.borrow() => return Err(CliError::interrupted()),
        None => {
            let error = CliError::unjudged(format!("no client came within {:?}", context.options.arrival));
            return Err(output.iter().fold(error, |error, line| error.help(format!("it said: {line}"))));
        }
    };
    notes.iter().for_each(|note| outcome.note(note));
    Ok((outcome, description))
}

/// The description of the live side on the command line and in the file that it names; none where there is none.
fn spec(script: &Script, args: &LiveArgs, role: &Role, observed: bool) -> Result<Option<SubjectSpec>, CliError> {
    let environment =
        Environment::here().map_err(|e| CliError::usage(format!("the working directory is gone: {e}")))?;
    let file = args.subject.clone().map_or(SubjectFile::None, SubjectFile::Given);
    let nothing = args.url.is_none() && args.lockfile.is_none() && args.command.is_empty() && args.subject.is_none();
    let found = nothing && matches!(role.reach, Reach::Lockfile { .. });
    let attached = args.url.is_some() || args.lockfile.is_some() || found;
    let flags = Flags {
        role: Some(role.name.to_owned()),
        edition: Some(script.header.edition.clone()),
        command: args.command.clone(),
        url: args.url.clone().or(found.then(|| "running".to_owned())),
        lockfile: args.lockfile.clone(),
        workspace: args.workspace.clone().filter(|_| attached),
        observe: observed.then_some(OBSERVE_TIME),
        ..Flags::default()
    };
    let mut spec = resolve(&file, &flags, &environment)?.pop();
    if let (Some(spec), Some(home), true) = (&mut spec, &args.data_home, found) {
        let target = Target::DataHome(environment.folder.join(home));
        spec.access = Access::Attach { target, workspace: args.workspace.clone() };
    }
    Ok(spec)
}

async fn start(
    spec: &SubjectSpec,
    run_dir: &RunDir,
    server: Option<String>,
    recorder: &Recorder,
) -> Result<Running, crate::subject::SubjectError> {
    let env = BTreeMap::new();
    Running::launch(Start { spec, run_dir, scenario: None, env: &env, server, recorder: recorder.clone() }).await
}

/// The result of a future, unless we are interrupted before.
async fn interruptible<T>(stop: &watch::Receiver<bool>, done: impl Future<Output = T>) -> Result<T, CliError> {
    let mut stop = stop.clone();
    tokio::select! {
        biased;
        _ = stop.wait_for(|stop| *stop) => Err(CliError::interrupted()),
        done = done => Ok(done),
    }
}

/// Lets clients find us, where they look for a server by themselves.
fn announce(
    script: &Script,
    args: &LiveArgs,
    role: &Role,
    run_dir: Option<&RunDir>,
    folder: &Path,
    port: u16,
    recorder: &Recorder,
) -> Result<Option<Announced>, CliError> {
    let Some(announce) = peer::kind(role.name).and_then(|kind| kind.announce) else { return Ok(None) };
    let environment =
        Environment::here().map_err(|e| CliError::usage(format!("the working directory is gone: {e}")))?;
    let data_home = match (run_dir, &args.data_home) {
        (Some(run_dir), _) => run_dir.data_home(),
        (None, Some(home)) => environment.folder.join(home),
        (None, None) => users_data_home(&environment, role.reach.data_home()),
    };
    let like = script.lock.as_ref().map(|lock| &lock.content);
    let edition = script.edition;
    let announcement = Announcement { edition, data_home: &data_home, port, folder, like, recorder };
    announce(&announcement).map(Some).map_err(|e| CliError::unjudged(e.to_string()))
}

/// From recorded values to live ones, as far as they are known before anything is said; with notes of what is not as it
/// was.
fn values(
    script: &Script,
    context: &ReplayEnvironment,
    folder: Option<String>,
    port: u16,
    token: &str,
) -> Result<(ReplayValues, Vec<String>), CliError> {
    let mut recorded: Vec<(String, String)> = vec![];
    let mut live: Vec<(String, String)> = vec![];
    for (n, (from, to)) in context.maps.iter().enumerate() {
        recorded.push((format!("map{n}"), from.clone()));
        live.push((format!("map{n}"), to.clone()));
    }
    live.extend(folder.map(|folder| ("workspace".to_owned(), folder)));
    let known = script.known(&recorded);
    let mut values = ReplayValues::new(&known, &live, context.secrets.clone());
    known.ports.iter().for_each(|recorded| values.port(*recorded, port));
    let broken = |e: crate::replay::ScriptError| CliError::usage(e.to_string());
    let complete = values.keep_own_names(script.steps().map_err(broken)?, context.ours).map_err(broken)?;
    if !token.is_empty() {
        script.token().into_iter().for_each(|number| values.secret(number, token));
    }
    let names = "the record has more than 100000 names that the live side gives: of those after that it is not told";
    let names = (!complete).then(|| names.to_owned());
    Ok((values, names.into_iter().chain(script.compression(context.ours)).collect()))
}

/// The folder that stands for the recorded workspace.
fn folder(args: &LiveArgs, running: Option<&Running>, lock: Option<&Lock>) -> Option<String> {
    let given = args.workspace.as_deref().and_then(|folder| std::path::absolute(folder).ok());
    given
        .or_else(|| running?.workspace().map(Path::to_owned))
        .map(|folder| folder.display().to_string())
        .or_else(|| lock?.folders.first().cloned())
}

fn absolute(folder: &Path) -> Result<PathBuf, CliError> {
    folder
        .canonicalize()
        .map_err(|e| CliError::usage(format!("the folder {} cannot be looked at: {e}", folder.display())))
}

/// Where a server listens: the host of its URL, or whatever `localhost` stands for.
fn address(lock: &Lock) -> Address {
    let authority = lock.url.as_ref().and_then(|url| url.split_once("://")?.1.split(['/', '?', '#']).next());
    let host = authority.and_then(|authority| authority.rsplit_once(':')).map_or("localhost", |(host, _)| host);
    Address::new(host.trim_start_matches('[').trim_end_matches(']'), lock.port)
}

/// The usual path of a server of the role and the path of this one, where those differ.
fn path(role: &Role, lock: &Lock) -> Option<(String, String)> {
    let Reach::Url { path: usual, .. } = role.reach else { return None };
    let rest = lock.url.as_ref()?.split_once("://")?.1;
    let own = rest.find('/').map_or("/", |at| &rest[at..]).split(['?', '#']).next().unwrap_or("/");
    let usual = if usual.is_empty() { "/" } else { usual };
    (own != usual).then(|| (usual.to_owned(), own.to_owned()))
}

/// The path where servers of a protocol usually answer.
fn usual_path(protocol: &Protocol) -> &'static str {
    let path = protocol.roles.iter().find_map(|role| match role.reach {
        Reach::Url { path, .. } => Some(path),
        _ => None,
    });
    path.unwrap_or_default()
}
