//! Finding a subject that runs already.

use std::path::PathBuf;

use serde_json::Value;

use crate::config::{EditionChoice, SubjectSpec, Target};
use crate::protocol::{Lock, Reach};
use crate::uri;

use super::SubjectError;
use super::lockfile::{Candidate, LockfileStatus, LockfileWatcher, accepts};
use super::tree;

/// Where it is, and how that is known.
pub(super) struct Attached {
    pub(super) lock: Lock,
    pub(super) editions: Vec<&'static str>,
    /// The lockfile it was found through.
    pub(super) file: Option<(PathBuf, Vec<u8>)>,
}

impl From<Candidate> for Attached {
    fn from(candidate: Candidate) -> Self {
        Self { lock: candidate.lock, editions: candidate.editions, file: Some((candidate.path, candidate.content)) }
    }
}

/// Finds it, and makes sure that it accepts connections.
pub(super) async fn find(spec: &SubjectSpec, target: &Target) -> Result<Attached, SubjectError> {
    let attached = match target {
        Target::Url(url) => Attached { lock: parse_url(spec, url)?, editions: editions(spec), file: None },
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
async fn in_data_home(spec: &SubjectSpec, home: PathBuf) -> Result<Attached, SubjectError> {
    let mut lookout = LockfileWatcher::new(spec, &[home]);
    lookout.look();
    let mut live = vec![];
    for candidate in lookout.usable() {
        if candidate.lock.pid.is_none_or(tree::is_alive) && accepts(candidate.lock.port).await {
            live.push(candidate.clone());
        }
    }
    if live.len() > 1 {
        let seen = live.iter().map(|c| format!("{}: {}", c.path.display(), folders(&c.lock))).collect();
        return Err(SubjectError::NotFound {
            problem: format!("{} of them run in {}", live.len(), lookout.place()),
            seen,
            help: vec!["choose one with `--lockfile FILE`".to_owned()],
        });
    }
    live.pop().map(Attached::from).ok_or_else(|| SubjectError::NotFound {
        problem: format!("no live lockfile in {}", lookout.place()),
        seen: lookout.facts(),
        help: vec!["start it, or say where it is with `--url URL` or `--lockfile FILE`".to_owned()],
    })
}

fn folders(lock: &Lock) -> String {
    if lock.folders.is_empty() { "no folder".to_owned() } else { lock.folders.join(", ") }
}

pub(super) fn editions(spec: &SubjectSpec) -> Vec<&'static str> {
    match spec.edition {
        EditionChoice::Given(id) => vec![id],
        EditionChoice::Auto => spec.protocol.editions.iter().map(|e| e.id).collect(),
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
    fn a_bad_url_is_told_without_repeating_its_secret() {
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
