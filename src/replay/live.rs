//! A replay from its start to its end ([`replay`]): the live side is found or started, and our side is re-enacted.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::config::{Access, Environment, Flags, SubjectFile, SubjectSpec, Target, resolve, users_data_home};
use crate::judge::{FaultOwner, Recorded};
use crate::peer::{self, Announced, Announcement};
use crate::protocol::{Edition, Lock, Protocol, Reach, Role};
use crate::subject::{RunDir, RunError, Running, Start, SubjectError};
use crate::trace::{Clock, End, FileSink, Header, ReadError, Recorder, Sink, TraceFileStatus, TraceReader};
use crate::wire::tcp::Address;

use super::{
    LiveClient, LiveServer, ReplayListener, ReplayOptions, ReplayOutcome, ReplayValues, Script, ScriptError, Secrets,
    as_client, as_server,
};

/// How a client that is not driven is watched: for longer than any replay takes.
const OBSERVE_TIME: Duration = Duration::from_secs(24 * 3600);

/// What is known of the live side.
#[derive(Clone, Debug, Default)]
pub struct LiveSide {
    /// The file that describes it: how to start it, what it can be made to do.
    pub subject: Option<PathBuf>,
    /// Where a server listens, with the secret where there is one.
    pub url: Option<String>,
    /// The lockfile that a server wrote.
    pub lockfile: Option<PathBuf>,
    /// The data home below which lockfiles are; that of the user where there is none.
    pub data_home: Option<PathBuf>,
    /// The folder that stands for the recorded workspace.
    pub workspace: Option<PathBuf>,
    /// The port where a client is awaited; a free one where there is none.
    pub port: Option<u16>,
    /// The command that starts it; empty where it runs already.
    pub command: Vec<String>,
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
pub async fn replay(
    script: Script,
    side: &LiveSide,
    context: ReplayEnvironment,
    stop: watch::Receiver<bool>,
    on_listening: impl FnMut(&Value),
) -> Result<(ReplayOutcome, String), RunError> {
    let live = if context.ours == End::Client { End::Server } else { End::Client };
    let role = context.protocol.roles.iter().find(|role| role.subject == live);
    let role = role.ok_or_else(|| RunError::usage(format!("{} has no such side", context.protocol.name)))?;
    let name = if side.command.is_empty() { role.about.to_owned() } else { side.command.join(" ") };
    let header = Header::new(&script.header.protocol, &script.header.edition).with_subject(live, &name);
    let mut sinks: Vec<Box<dyn Sink>> = vec![];
    let mut written: Option<TraceFileStatus> = None;
    if let Some(path) = &context.out {
        let (sink, tells) = FileSink::create(path, &header).map_err(|e| RunError::usage(e.to_string()))?;
        sinks.push(Box::new(sink));
        written = Some(tells);
    }
    let played = match live {
        End::Server => client(&script, side, role, &context, stop, sinks).await,
        End::Client => server(script, side, role, &context, stop, sinks, on_listening).await,
    };
    if let Some(Err(error)) = written.map(|written| written.outcome()) {
        return Err(RunError::usage(error.to_string()));
    }
    played
}

/// What the side that is re-enacted did wrong, by the number of the event that shows it: done again, it is on purpose.
pub fn deliberate_faults(
    trace: &Path,
    edition: &'static dyn Edition,
    header: &Header,
    ours: End,
) -> Result<HashMap<u64, String>, ReadError> {
    let reader = TraceReader::open(trace)?;
    let mut recorded = Recorded::new(edition);
    for event in reader {
        recorded.event(&event?);
    }
    let found = recorded.play(header, ours, "").findings.into_iter();
    let ours = found.filter(|found| found.fault == FaultOwner::End(ours));
    let why = |id: Option<String>| format!("as it was recorded: {}", id.unwrap_or_default());
    Ok(ours.filter_map(|found| Some((found.index?, why(found.requirement.map(|id| id.to_string()))))).collect())
}

/// Re-enacts the client against a live server.
async fn client(
    script: &Script,
    side: &LiveSide,
    role: &'static Role,
    context: &ReplayEnvironment,
    stop: watch::Receiver<bool>,
    sinks: Vec<Box<dyn Sink>>,
) -> Result<(ReplayOutcome, String), RunError> {
    let spec = spec(script, side, role, false)?.ok_or_else(|| {
        RunError::usage("it is not said where the live server is")
            .help("give the command that starts it after `--`, or say where it is with `--url URL`")
    })?;
    let recorder = Recorder::with_secret_keys(Clock::start(), context.protocol.secret_keys, sinks);
    context.secrets.values().for_each(|secret| recorder.add_secret(secret));
    let (run_dir, running) = match &spec.access {
        Access::Launch(launch) => {
            let run_dir = RunDir::create(launch)?;
            let running = interruptible(&stop, start(&spec, &run_dir, None, &recorder)).await??;
            (Some(run_dir), running)
        }
        Access::Attach { .. } => (None, Running::attach(&spec, recorder.clone()).await?),
    };
    let lock = running.lock().cloned().ok_or_else(|| RunError::usage("a client cannot be connected to"))?;
    let folder = folder(side, Some(&running), Some(&lock));
    let (mut values, notes) = values(script, context, folder, lock.port, &lock.token)?;
    let opposite = LiveServer { address: address(&lock), path: path(role, &lock), running: Some(&running) };
    let description = match &lock.url {
        Some(url) => url.split('?').next().unwrap_or(url).to_owned(),
        None => format!("the server at port {}", lock.port),
    };
    let steps = script.steps().map_err(|e| RunError::usage(e.to_string()))?;
    let outcome = as_client(script, steps, &opposite, &mut values, &context.options, recorder.clone(), stop).await;
    running.stop().await;
    recorder.end();
    drop(run_dir);
    let mut outcome = outcome.map_err(|e| RunError::unjudged(e.to_string()).help("is the server still running?"))?;
    script.notes.iter().chain(&notes).for_each(|note| outcome.note(note));
    Ok((outcome, description))
}

/// Re-enacts the server opposite a live client.
async fn server(
    script: Script,
    side: &LiveSide,
    role: &'static Role,
    context: &ReplayEnvironment,
    stop: watch::Receiver<bool>,
    mut sinks: Vec<Box<dyn Sink>>,
    mut on_listening: impl FnMut(&Value),
) -> Result<(ReplayOutcome, String), RunError> {
    if let Some(option) = [("--url", side.url.is_some()), ("--lockfile", side.lockfile.is_some())].iter().find(|o| o.1)
    {
        return Err(RunError::usage(format!(
            "{} says where a server is, and it is the server that is re-enacted",
            option.0
        )));
    }
    let spec = spec(&script, side, role, !script.driven)?;
    let (sink, returned) = LiveClient::watch();
    sinks.push(sink);
    let recorder = Recorder::with_secret_keys(Clock::start(), context.protocol.secret_keys, sinks);
    context.secrets.values().for_each(|secret| recorder.add_secret(secret));
    let host = ReplayListener::listen(side.port).await.map_err(|e| {
        RunError::unjudged(format!("cannot listen: {e}"))
            .help("choose another --port, or leave it out to get a free one")
    })?;
    let port = host.address().port();
    let launch = spec.as_ref().and_then(SubjectSpec::launch);
    let run_dir = launch.map(RunDir::create).transpose()?;
    let folder = match (&run_dir, &side.workspace) {
        (Some(run_dir), None) => run_dir.workspace(),
        (_, given) => absolute(given.as_deref().unwrap_or(Path::new(".")))?,
    };
    let announced = announce(&script, side, role, run_dir.as_ref(), &folder, port, &recorder)?;
    let url = format!("http://127.0.0.1:{port}{}", script.only_target().unwrap_or(usual_path(context.protocol)));
    let token = announced.as_ref().map(|announced| announced.token.clone()).unwrap_or_default();
    let (values, more) = values(&script, context, Some(folder.display().to_string()), port, &token)?;
    let running = match (&spec, &run_dir) {
        (Some(spec), Some(run_dir)) => {
            let server = announced.is_none().then(|| url.clone());
            Some(interruptible(&stop, start(spec, run_dir, server, &recorder)).await??)
        }
        _ => None,
    };
    if running.is_none() {
        let place = match &announced {
            Some(announced) => json!({ "port": port, "lockfile": announced.path }),
            None => json!({ "port": port, "url": url }),
        };
        on_listening(&place);
    }
    let notes: Vec<String> = script.notes.iter().cloned().chain(more).collect();
    let description = match &spec {
        Some(_) => side.command.join(" "),
        None => format!("the client that came to port {port}"),
    };
    let client = LiveClient { running: running.as_ref(), returned };
    let script = Arc::new(script.hold().map_err(|e| RunError::usage(e.to_string()))?);
    let stopped = stop.clone();
    let played = as_server(script, host, client, values, context.options.clone(), recorder.clone(), stop).await;
    let output = running.as_ref().map(Running::last_output).unwrap_or_default();
    if let Some(running) = running {
        running.stop().await;
    }
    recorder.end();
    drop((announced, run_dir));
    let played = played.map_err(|e| RunError::unjudged(format!("cannot serve: {e}")))?;
    let mut outcome = match played {
        Some(outcome) => outcome,
        None if *stopped.borrow() => return Err(RunError::Interrupted),
        None => {
            let error = RunError::unjudged(format!("no client came within {:?}", context.options.arrival));
            return Err(output.iter().fold(error, |error, line| error.help(format!("it said: {line}"))));
        }
    };
    notes.iter().for_each(|note| outcome.note(note));
    Ok((outcome, description))
}

/// The description of the live side on the command line and in the file that it names; none where there is none.
fn spec(script: &Script, side: &LiveSide, role: &Role, observed: bool) -> Result<Option<SubjectSpec>, RunError> {
    let environment =
        Environment::here().map_err(|e| RunError::usage(format!("the working directory is gone: {e}")))?;
    let file = side.subject.clone().map_or(SubjectFile::None, SubjectFile::Given);
    let nothing = side.url.is_none() && side.lockfile.is_none() && side.command.is_empty() && side.subject.is_none();
    let found = nothing && matches!(role.reach, Reach::Lockfile { .. });
    let attached = side.url.is_some() || side.lockfile.is_some() || found;
    let flags = Flags {
        role: Some(role.name.to_owned()),
        edition: Some(script.header.edition.clone()),
        command: side.command.clone(),
        url: side.url.clone().or(found.then(|| "running".to_owned())),
        lockfile: side.lockfile.clone(),
        workspace: side.workspace.clone().filter(|_| attached),
        observe: observed.then_some(OBSERVE_TIME),
        ..Flags::default()
    };
    let mut spec = resolve(&file, &flags, &environment)?.pop();
    if let (Some(spec), Some(home), true) = (&mut spec, &side.data_home, found) {
        let target = Target::DataHome(environment.folder.join(home));
        spec.access = Access::Attach { target, workspace: side.workspace.clone() };
    }
    Ok(spec)
}

async fn start(
    spec: &SubjectSpec,
    run_dir: &RunDir,
    server: Option<String>,
    recorder: &Recorder,
) -> Result<Running, SubjectError> {
    Running::launch(Start { server, ..Start::new(spec, run_dir, recorder.clone()) }).await
}

/// The result of a future, unless we are interrupted before.
async fn interruptible<T>(stop: &watch::Receiver<bool>, done: impl Future<Output = T>) -> Result<T, RunError> {
    let mut stop = stop.clone();
    tokio::select! {
        biased;
        _ = stop.wait_for(|stop| *stop) => Err(RunError::Interrupted),
        done = done => Ok(done),
    }
}

/// Lets clients find us, where they look for a server by themselves.
fn announce(
    script: &Script,
    side: &LiveSide,
    role: &Role,
    run_dir: Option<&RunDir>,
    folder: &Path,
    port: u16,
    recorder: &Recorder,
) -> Result<Option<Announced>, RunError> {
    let Some(announce) = peer::kind(role.name).and_then(|kind| kind.announce) else { return Ok(None) };
    let environment =
        Environment::here().map_err(|e| RunError::usage(format!("the working directory is gone: {e}")))?;
    let data_home = match (run_dir, &side.data_home) {
        (Some(run_dir), _) => run_dir.data_home(),
        (None, Some(home)) => environment.folder.join(home),
        (None, None) => users_data_home(&environment, role.reach.data_home()),
    };
    let like = script.lock.as_ref().map(|lock| &lock.content);
    let edition = script.edition;
    let announcement = Announcement { edition, data_home: &data_home, port, folder, like, recorder };
    announce(&announcement).map(Some).map_err(|e| RunError::unjudged(e.to_string()))
}

/// From recorded values to live ones, as far as they are known before anything is said; with notes of what is not as it
/// was.
fn values(
    script: &Script,
    context: &ReplayEnvironment,
    folder: Option<String>,
    port: u16,
    token: &str,
) -> Result<(ReplayValues, Vec<String>), RunError> {
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
    let broken = |e: ScriptError| RunError::usage(e.to_string());
    let complete = values.keep_own_names(script.steps().map_err(broken)?, context.ours).map_err(broken)?;
    if !token.is_empty() {
        script.token().into_iter().for_each(|number| values.secret(number, token));
    }
    let names =
        "the record has more than 100000 names that the live side gives: of those after that it is not reported";
    let names = (!complete).then(|| names.to_owned());
    Ok((values, names.into_iter().chain(script.compression(context.ours)).collect()))
}

/// The folder that stands for the recorded workspace.
fn folder(side: &LiveSide, running: Option<&Running>, lock: Option<&Lock>) -> Option<String> {
    let given = side.workspace.as_deref().and_then(|folder| std::path::absolute(folder).ok());
    given
        .or_else(|| running?.workspace().map(Path::to_owned))
        .map(|folder| folder.display().to_string())
        .or_else(|| lock?.folders.first().cloned())
}

fn absolute(folder: &Path) -> Result<PathBuf, RunError> {
    folder
        .canonicalize()
        .map_err(|e| RunError::usage(format!("the folder {} cannot be looked at: {e}", folder.display())))
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

/// The path where servers of a protocol usually respond.
fn usual_path(protocol: &Protocol) -> &'static str {
    let path = protocol.roles.iter().find_map(|role| match role.reach {
        Reach::Url { path, .. } => Some(path),
        _ => None,
    });
    path.unwrap_or_default()
}
