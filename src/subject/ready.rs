//! Finding a subject: one that we start, which is ready when its lockfile is there, means something to a client, and its
//! port accepts; and one that runs already.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::config::{EditionChoice, SubjectSpec, Target};
use crate::protocol::{Edition, Lock, Reach, data_homes};
use crate::{uri, wire};

use super::lockfile::{Candidate, LockfileStatus, LockfileWatcher, accepts};
use super::process::{SubjectProcess, how};
use super::surroundings::Surroundings;
use super::{SubjectError, tree};

/// How often to look.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// How often to look at first, and how long that is: many subjects take only a few milliseconds.
const FIRST_POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// Where a client would look for the lockfile, given the environment of the subject. What is there by now is none
/// of this launch.
pub(super) fn lockfile_watcher(spec: &SubjectSpec, surroundings: &Surroundings) -> LockfileWatcher {
    let variable = |name: &str| surroundings.variable(name);
    let mut homes = data_homes(spec.role.reach.data_home(), &variable);
    if matches!(spec.edition, EditionChoice::Given(edition) if edition.may_know_home_only()) {
        homes.extend(data_homes(&[], &|name| if name == "HOME" { variable(name) } else { None }));
    }
    let mut watcher = LockfileWatcher::new(spec, &homes);
    watcher.ignore_present();
    watcher
}

/// Waits until the subject is ready.
pub(super) async fn wait_for_lockfile(
    watcher: &mut LockfileWatcher,
    process: &SubjectProcess,
    within: Duration,
    misplaced: &[String],
) -> Result<Candidate, SubjectError> {
    wire::process::set_process_name();
    let started = Instant::now();
    loop {
        watcher.look();
        hide_tokens(watcher, process);
        if watcher.usable().next().is_some() {
            // Once for all lockfiles: there may be thousands, and each look at the processes reads all of the system.
            let members = process.tree().ids();
            for candidate in watcher.candidates(|pid| members.contains(&pid), tree::is_alive) {
                if started.elapsed() > within {
                    break;
                }
                if candidate.lock.pid.is_some_and(|pid| process.tree().is_of_another(pid)) {
                    continue;
                }
                if is_accepting(candidate.lock.port, process).await {
                    return Ok(candidate);
                }
            }
        }
        if let Some(exited) = process.exited() {
            // The process may have written something between the last look and its end.
            watcher.look();
            hide_tokens(watcher, process);
            return Err(ended(watcher, process, &how(&exited), misplaced));
        }
        if !poll_again(started, within).await {
            return Err(too_late(watcher, process, within));
        }
    }
}

/// Tokens are secret from the moment that a lockfile has them; of those of other editors no more than a few are learnt.
fn hide_tokens(watcher: &LockfileWatcher, process: &SubjectProcess) {
    watcher.usable().take(16).for_each(|candidate| process.tap().hide(&candidate.lock.token));
}

/// Whether the subject accepts connections at a port, as far as the system shows: the ports of an edition may be few
/// (AMP's guide has a hundred), and other runs may go on beside this one. Whoever accepts may be another subject, or a
/// wirecert, and may be gone before it can be looked at.
async fn is_accepting(port: u16, process: &SubjectProcess) -> bool {
    accepts(port).await
        && (wire::process::is_listening(process.pid(), port)
            || !is_of_another(port, process).await && accepts(port).await)
}

/// Whether another subject or a wirecert listens at a port.
async fn is_of_another(port: u16, process: &SubjectProcess) -> bool {
    let listener = wire::process::listener_pid(port).await;
    listener.is_some_and(|pid| process.tree().is_of_another(pid) || wire::process::plays_scenarios(pid))
}

/// Waits until a port accepts connections. Another run may have been given the same port at the same moment.
pub(super) async fn wait_for_port(
    port: u16,
    process: &SubjectProcess,
    within: Duration,
    misplaced: &[String],
) -> Result<(), SubjectError> {
    wire::process::set_process_name();
    let started = Instant::now();
    loop {
        if is_accepting(port, process).await {
            return Ok(());
        }
        if let Some(exited) = process.exited() {
            let (how, seen) = (how(&exited), misplaced.to_vec());
            return Err(SubjectError::Ended { how, seen, output: process.tap().recent() });
        }
        if !poll_again(started, within).await {
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
async fn poll_again(started: Instant, within: Duration) -> bool {
    let now = Instant::now();
    let deadline = started + within;
    let (often, at_first) = FIRST_POLL_INTERVALS;
    let pause = if now - started < at_first { often } else { POLL_INTERVAL };
    sleep_until((now + pause).min(deadline)).await;
    now < deadline
}

/// Arguments that name a file where the subject is described, but none where the subject runs.
pub(super) fn misplaced_arguments(arguments: &[String], config_dir: &Path, working_dir: &Path) -> Vec<String> {
    let is_misplaced = |word: &&String| {
        let path = Path::new(word.as_str());
        !word.starts_with('-')
            && path.is_relative()
            && config_dir.join(path).is_file()
            && !working_dir.join(path).exists()
    };
    let fact = |word: &String| {
        let config_dir = config_dir.display();
        format!("`{word}` is in {config_dir}, but it runs in its workspace: write `{{config_dir}}/{word}`")
    };
    arguments.iter().filter(is_misplaced).map(fact).collect()
}

fn ended(watcher: &LockfileWatcher, process: &SubjectProcess, how: &str, misplaced: &[String]) -> SubjectError {
    let mut seen = watcher.facts();
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

fn too_late(watcher: &LockfileWatcher, process: &SubjectProcess, within: Duration) -> SubjectError {
    let found = watcher.usable().next().is_some();
    let problem = if found {
        "its lockfile is there, but its port accepts no connection".to_owned()
    } else if watcher.facts().iter().any(|fact| fact.starts_with("lockfile")) {
        "no lockfile of it can be used".to_owned()
    } else {
        format!("no lockfile came in {}", watcher.place())
    };
    let mut help = vec!["if it only needs longer, give it `ready: { within: 60s }` in its subject file".to_owned()];
    if !found && watcher.editions().len() > 1 {
        let each: Vec<String> = watcher.editions().iter().map(|edition| format!("`--edition {edition}`")).collect();
        let each = each.join(" or ");
        help.push(format!("nothing told which edition it speaks: name one, and what can be is judged by it: {each}"));
    }
    SubjectError::NotReady { within, problem, found, seen: watcher.facts(), output: process.tap().recent(), help }
}

/// Where it is, and how that is known.
pub(super) struct RunningSubject {
    pub(super) lock: Lock,
    pub(super) editions: Vec<&'static dyn Edition>,
    /// The lockfile it was found through.
    pub(super) file: Option<(PathBuf, Vec<u8>)>,
}

impl From<Candidate> for RunningSubject {
    fn from(candidate: Candidate) -> Self {
        Self { lock: candidate.lock, editions: candidate.editions, file: Some((candidate.path, candidate.content)) }
    }
}

/// Finds it, and makes sure that it accepts connections.
pub(super) async fn find_running(spec: &SubjectSpec, target: &Target) -> Result<RunningSubject, SubjectError> {
    let attached = match target {
        Target::Url(url) => RunningSubject { lock: parse_url(spec, url)?, editions: editions(spec), file: None },
        Target::Lockfile(path) => match LockfileWatcher::new(spec, &[]).examine(path) {
            LockfileStatus::Usable(candidate) => (*candidate).into(),
            LockfileStatus::Useless { why, .. } => {
                return Err(not_found(format!("the lockfile {} is of no use: {why}", path.display())));
            }
        },
        Target::DataHome(home) => in_data_home(spec, home.clone()).await?,
    };
    if accepts(attached.lock.port).await {
        Ok(attached)
    } else {
        Err(not_found(format!("nothing accepts connections at port {} of this machine", attached.lock.port)))
    }
}

/// The one live server below this data home.
async fn in_data_home(spec: &SubjectSpec, home: PathBuf) -> Result<RunningSubject, SubjectError> {
    let mut watcher = LockfileWatcher::new(spec, &[home]);
    watcher.look();
    let mut live = vec![];
    for candidate in watcher.usable() {
        if candidate.lock.pid.is_none_or(tree::is_alive) && accepts(candidate.lock.port).await {
            live.push(candidate.clone());
        }
    }
    if live.len() > 1 {
        let seen = live.iter().map(|c| format!("{}: {}", c.path.display(), folders(&c.lock))).collect();
        return Err(SubjectError::NotFound {
            problem: format!("{} of them run in {}", live.len(), watcher.place()),
            seen,
            help: vec!["choose one with `--lockfile FILE`".to_owned()],
        });
    }
    live.pop().map(RunningSubject::from).ok_or_else(|| SubjectError::NotFound {
        problem: format!("no live lockfile in {}", watcher.place()),
        seen: watcher.facts(),
        help: vec!["start it, or say where it is with `--url URL` or `--lockfile FILE`".to_owned()],
    })
}

fn folders(lock: &Lock) -> String {
    if lock.folders.is_empty() { "no folder".to_owned() } else { lock.folders.join(", ") }
}

/// The editions that it may speak.
pub(super) fn editions(spec: &SubjectSpec) -> Vec<&'static dyn Edition> {
    match spec.edition {
        EditionChoice::Given(edition) => vec![edition],
        EditionChoice::Auto => spec.protocol.editions.to_vec(),
    }
}

/// `ws://127.0.0.1:1234?auth=…` or `http://127.0.0.1:1234/…`: host, port, and the secret under one of the protocol's
/// secret names.
pub(super) fn parse_url(spec: &SubjectSpec, url: &str) -> Result<Lock, SubjectError> {
    let by_url = matches!(spec.role.reach, Reach::Url { .. });
    let (scheme, example) =
        if by_url { ("http://", "http://127.0.0.1:3000/") } else { ("ws://", "ws://127.0.0.1:1234?auth=TOKEN") };
    // The URL may hold a secret, so it is not repeated in errors.
    let wrong = |why: &str| not_found(format!("the URL {why}; expected one like {example}"));
    let rest = url.strip_prefix(scheme).ok_or_else(|| wrong(&format!("does not begin with {scheme}")))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let (host, port) = authority.rsplit_once(':').ok_or_else(|| wrong("names no port"))?;
    if !matches!(host, "localhost" | "[::1]") && !host.starts_with("127.") {
        return Err(wrong("leads to another machine"));
    }
    let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(|| wrong("names a port that is none"))?;
    let query = tail.split_once('?').map_or("", |(_, query)| query).split('#').next().unwrap_or_default();
    let token = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(name, _)| spec.protocol.secret_keys.contains(name))
        .map(|(_, value)| uri::decode(value))
        .unwrap_or_default();
    let url = by_url.then(|| url.to_owned());
    Ok(Lock { port, token, pid: None, folders: vec![], content: Value::Null, url })
}

fn not_found(problem: String) -> SubjectError {
    SubjectError::NotFound { problem, seen: vec![], help: vec![] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Access, Target};
    use crate::subject::testing::spec;

    fn parsed(url: &str) -> Result<(u16, String), String> {
        let spec = SubjectSpec {
            access: Access::Attach { target: Target::Url(url.to_owned()), workspace: None },
            ..spec(&["true"])
        };
        parse_url(&spec, url).map(|lock| (lock.port, lock.token)).map_err(|e| e.to_string())
    }

    #[test]
    fn a_url_gives_port_and_token() {
        for (url, port, token) in [
            ("ws://127.0.0.1:1234?secret=abc", 1234, "abc"),
            ("ws://localhost:1/?x=1&secret=a%20%2Bb%zz", 1, "a +b%zz"),
            ("ws://[::1]:80/path?secret=a#b", 80, "a"),
            ("ws://127.0.0.1:1234", 1234, ""),
        ] {
            assert_eq!(parsed(url), Ok((port, token.to_owned())), "{url}");
        }
    }

    #[test]
    fn a_bad_url_is_reported_without_repeating_its_secret() {
        for (url, why) in [
            ("http://127.0.0.1:1?secret=hush", "does not begin with ws://"),
            ("ws://127.0.0.1?secret=hush", "names no port"),
            ("ws://127.0.0.1:0?secret=hush", "names a port that is none"),
            ("ws://127.0.0.1:99999?secret=hush", "names a port that is none"),
            ("ws://example.org:80?secret=hush", "leads to another machine"),
        ] {
            let error = parsed(url).unwrap_err();
            assert!(error.contains(why) && !error.contains("hush"), "{url}: {error}");
        }
    }
}
