//! When a subject counts as started: its lockfile is there, means something to a client, and its port accepts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::config::SubjectSpec;
use crate::wire;

use super::SubjectError;
use super::lockfile::{Candidate, LockfileWatcher, accepts};
use super::process::{Process, how};
use super::surroundings::Surroundings;
use super::tree;

/// How often to look.
const LOOK: Duration = Duration::from_millis(10);
/// How often to look at first, and how long that is: many subjects take only a few milliseconds.
const FIRST_LOOKS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// Where a client would look for the lockfile, given the environment of the subject. What is there by now is none
/// of this launch.
pub(super) fn lookout(spec: &SubjectSpec, around: &Surroundings) -> LockfileWatcher {
    let variable = |name: &str| around.variable(name);
    let mut homes = data_homes(spec.role.reach.data_home(), &variable);
    if spec.role.reach.may_know_home_only(spec.edition.as_str()) {
        homes.extend(data_homes(&[], &|name| if name == "HOME" { variable(name) } else { None }));
    }
    let mut lookout = LockfileWatcher::new(spec, &homes);
    lookout.ignore_present();
    lookout
}

/// The data homes that an environment names, the strongest first: what the variables of the protocol name, then what the
/// XDG base directory specification does (on macOS: always the default).
pub(crate) fn data_homes(data_home: &[&str], variable: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Vec<PathBuf> {
    let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut homes: Vec<PathBuf> = data_home.iter().filter_map(|name| path(name)).collect();
    let default = path("HOME").map(|home| home.join(".local").join("share"));
    let xdg = if cfg!(target_os = "macos") { None } else { path("XDG_DATA_HOME") };
    homes.extend(xdg.or(default));
    homes
}

/// Waits until the subject is ready.
pub(super) async fn wait(
    lookout: &mut LockfileWatcher,
    process: &Process,
    within: Duration,
    misplaced: &[String],
) -> Result<Candidate, SubjectError> {
    wire::process::set_process_name();
    let started = Instant::now();
    loop {
        lookout.look();
        if lookout.usable().next().is_some() {
            for candidate in lookout.candidates(|pid| process.tree().contains(pid), tree::is_alive) {
                if candidate.lock.pid.is_some_and(|pid| process.tree().is_of_another(pid)) {
                    continue;
                }
                if accepts(candidate.lock.port).await && !is_of_another(candidate.lock.port, process).await {
                    return Ok(candidate);
                }
            }
        }
        if let Some(exited) = process.exited() {
            // It may have written something between the last look and its end.
            lookout.look();
            return Err(ended(lookout, process, &how(&exited), misplaced));
        }
        if !look_again(started, within).await {
            return Err(too_late(lookout, process, within));
        }
    }
}

/// Whether whoever accepts connections at this port is another subject or a wirecert, as far as the system tells: the ports
/// of an edition may be few (AMP's guide has a hundred), and other runs may go on beside this one.
async fn is_of_another(port: u16, process: &Process) -> bool {
    if wire::process::is_listening(process.pid(), port) {
        return false;
    }
    let listener = wire::process::listener_pid(port).await;
    listener.is_some_and(|pid| process.tree().is_of_another(pid) || wire::process::plays_scenarios(pid))
}

/// Waits until a port accepts connections. Another run may have been given the same port at the same moment.
pub(super) async fn accepting(
    port: u16,
    process: &Process,
    within: Duration,
    misplaced: &[String],
) -> Result<(), SubjectError> {
    wire::process::set_process_name();
    let started = Instant::now();
    loop {
        if accepts(port).await && !is_of_another(port, process).await {
            return Ok(());
        }
        if let Some(exited) = process.exited() {
            let (how, seen) = (how(&exited), misplaced.to_vec());
            return Err(SubjectError::Ended { how, seen, output: process.tap().recent() });
        }
        if !look_again(started, within).await {
            let listen = "have it listen on the port that it is given: `{port}` in its command, or the variable PORT";
            let longer = "if it only needs longer, give it `ready: { within: 60s }` in its subject file";
            return Err(SubjectError::NotReady {
                within,
                problem: format!("port {port} accepts no connection"),
                found: true,
                seen: vec![],
                output: process.tap().recent(),
                help: vec![listen.to_owned(), longer.to_owned()],
            });
        }
    }
}

/// Waits until it is time to look again. False where the time is up.
async fn look_again(started: Instant, within: Duration) -> bool {
    let now = Instant::now();
    let deadline = started + within;
    let (often, at_first) = FIRST_LOOKS;
    let pause = if now - started < at_first { often } else { LOOK };
    sleep_until((now + pause).min(deadline)).await;
    now < deadline
}

/// Arguments that name a file where wirecert was told about the subject, but none where the subject runs.
pub(super) fn misplaced(arguments: &[String], told: &Path, runs: &Path) -> Vec<String> {
    let is_misplaced = |word: &&String| {
        let path = Path::new(word.as_str());
        !word.starts_with('-') && path.is_relative() && told.join(path).is_file() && !runs.join(path).exists()
    };
    let fact = |word: &String| {
        let told = told.display();
        format!("`{word}` is in {told}, but it runs in its workspace: write `{{config_dir}}/{word}`")
    };
    arguments.iter().filter(is_misplaced).map(fact).collect()
}

fn ended(lookout: &LockfileWatcher, process: &Process, how: &str, misplaced: &[String]) -> SubjectError {
    let mut seen = lookout.facts();
    seen.extend_from_slice(misplaced);
    let others = process.tree().others();
    if !others.is_empty() {
        let pids = others.iter().take(5).map(u32::to_string).collect::<Vec<_>>().join(", ");
        seen.push(format!(
            "it left {} running in the background (process {pids}); start it so that it stays in the foreground",
            if others.len() == 1 { "another process".to_owned() } else { format!("{} processes", others.len()) },
        ));
    }
    SubjectError::Ended { how: how.to_owned(), seen, output: process.tap().recent() }
}

fn too_late(lookout: &LockfileWatcher, process: &Process, within: Duration) -> SubjectError {
    let found = lookout.usable().next().is_some();
    let problem = if found {
        "its lockfile is there, but its port accepts no connection".to_owned()
    } else if lookout.facts().iter().any(|fact| fact.starts_with("lockfile")) {
        "no lockfile of it can be used".to_owned()
    } else {
        format!("no lockfile came in {}", lookout.place())
    };
    let mut help = vec!["if it only needs longer, give it `ready: { within: 60s }` in its subject file".to_owned()];
    if !found && lookout.editions().len() > 1 {
        let each: Vec<String> = lookout.editions().iter().map(|edition| format!("`--edition {edition}`")).collect();
        let each = each.join(" or ");
        help.push(format!("nothing told which edition it speaks: name one, and what can be is judged by it: {each}"));
    }
    SubjectError::NotReady { within, problem, found, seen: lookout.facts(), output: process.tap().recent(), help }
}
