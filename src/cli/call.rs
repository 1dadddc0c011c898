//! `wirecert call`: one request to a live implementation.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::config::{Access, EditionChoice, Environment, Flags, SubjectFile, SubjectSpec, Target, resolve};
use crate::format::parse_bound;
use crate::peer::{self, Answer, Detected, PeerError, Setting};
use crate::subject::Running;
use crate::trace::{Clock, Recorder};

use super::options::Assignment;
use super::{CliError, Exit, Terminal};

/// Arguments of `call`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The response goes to stdout as JSON. Exit codes: 0 a result, 1 an error as the response, \
    2 wrong usage, 3 no response.")]
pub struct Args {
    /// The role of the implementation to call, such as amp-server.
    #[arg(value_name = "ROLE")]
    role: String,

    /// The method to call.
    #[arg(value_name = "METHOD")]
    method: String,

    /// Parameters: key=text, or key:=JSON for anything but text.
    #[arg(value_name = "KEY=VALUE")]
    params: Vec<Assignment>,

    /// Where it listens, with the secret: `ws://127.0.0.1:1234?auth=…`.
    #[arg(long, value_name = "URL", group = "place")]
    url: Option<String>,

    /// The lockfile it wrote.
    #[arg(long, value_name = "FILE", group = "place")]
    lockfile: Option<PathBuf>,

    /// The data home below which its lockfile is; yours, if not given.
    #[arg(long, value_name = "DIR", group = "place")]
    data_home: Option<PathBuf>,

    /// The edition it speaks, or `auto` to detect it.
    #[arg(long, value_name = "EDITION", default_value = "auto")]
    edition: String,

    /// How long to wait for the response, such as 5s.
    #[arg(long, value_name = "TIME", value_parser = parse_bound, default_value = "5s")]
    timeout: Duration,
}

/// Finds the implementation, calls it and prints its response.
pub fn run(args: Args, terminal: &mut Terminal) -> Result<Exit, CliError> {
    let spec = subject_spec(&args)?;
    let mut params = Map::new();
    for Assignment { key, value } in args.params {
        if params.insert(key.clone(), value).is_some() {
            return Err(CliError::usage(format!("the parameter `{key}` is given twice")));
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| CliError::unjudged(format!("the asynchronous runtime cannot be started: {e}")))?;
    let response = runtime.block_on(call(&spec, args.method, Value::Object(params), args.timeout, terminal));
    let (value, exit) = match response? {
        Answer::Result(value) => (value, Exit::OK),
        Answer::Error(error) => (error, Exit::FAILED),
    };
    terminal.result(&format!("{value:#}\n"));
    Ok(exit)
}

/// The description of the implementation to call.
fn subject_spec(args: &Args) -> Result<SubjectSpec, CliError> {
    let found = if args.url.is_none() && args.lockfile.is_none() { Some("running".to_owned()) } else { None };
    let flags = Flags {
        role: Some(args.role.clone()),
        edition: Some(args.edition.clone()),
        url: args.url.clone().or(found),
        lockfile: args.lockfile.clone(),
        ..Flags::default()
    };
    let environment =
        Environment::here().map_err(|e| CliError::usage(format!("the working directory cannot be looked at: {e}")))?;
    let mut specs = resolve(&SubjectFile::None, &flags, &environment)?;
    let mut spec = specs.pop().ok_or_else(|| CliError::usage("it is not said what to call"))?;
    if let Some(home) = &args.data_home {
        spec.access = Access::Attach { target: Target::DataHome(environment.folder.join(home)), workspace: None };
    }
    Ok(spec)
}

async fn call(
    spec: &SubjectSpec,
    method: String,
    params: Value,
    patience: Duration,
    terminal: &mut Terminal,
) -> Result<Answer, CliError> {
    let probe = peer::kind(spec.role.name)
        .and_then(|kind| kind.probe.as_ref())
        .ok_or_else(|| CliError::usage(format!("implementations of {} cannot be called", spec.role.name)))?;
    let recorder = Recorder::with_secret_keys(Clock::start(), spec.protocol.secret_keys, vec![]);
    let running = Running::attach(spec, recorder.clone()).await;
    let running = running.map_err(|e| CliError { diagnostics: vec![e.diagnostic()], exit: Exit::UNJUDGED })?;
    let lock = running.lock().cloned().ok_or_else(|| CliError::usage("a client cannot be called"))?;
    let edition = match spec.edition {
        EditionChoice::Given(edition) => edition,
        EditionChoice::Auto => {
            let Detected { edition, how } = (probe.detect)(lock.clone(), patience, recorder.clone()).await;
            terminal.detail(&format!("edition `{edition}`: {how}"));
            edition
        }
    };
    let setting = Setting {
        edition,
        recorder,
        server: Some(lock),
        patience,
        longest: None,
        place: None,
        settings: None,
        described: spec.described.clone(),
        folder: None,
    };
    (probe.call)(setting, method, params).await.map_err(|error| match error {
        PeerError::Scenario(message) => CliError::usage(message),
        other => CliError::unjudged(other.to_string()),
    })
}
