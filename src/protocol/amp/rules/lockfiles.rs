//! Lockfiles: does what the server wrote hold what clients need, and do clients show the token that is in it?

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::protocol::amp::lockfile::{integer, is_absolute, is_lockfile};
use crate::protocol::{Judgements, Rule, ViolationDetail};
use crate::trace::{Direction, End, Event, EventKind, FileChange};
use crate::uri;

use super::RequirementIndex;

/// Judges the content of every lockfile that was looked at (docs/amp.md, Discovery; quick reference, section 1).
///
/// One that does not parse may be in the middle of being written: it counts only if no better content is seen later.
pub struct Lockfiles {
    requirements: &'static RequirementIndex,
    incomplete: BTreeMap<String, (u64, String)>,
}

impl Lockfiles {
    pub fn new(requirements: &'static RequirementIndex) -> Self {
        Self { requirements, incomplete: BTreeMap::new() }
    }

    fn judge(&mut self, index: u64, change: &FileChange, out: &mut Judgements) {
        let Some(content) = &change.content else {
            if matches!(change.change.as_str(), "removed" | "absent") {
                self.incomplete.remove(&change.path);
            }
            return;
        };
        match serde_json::from_slice(content.as_bytes()) {
            Ok(Value::Object(keys)) => {
                self.incomplete.remove(&change.path);
                self.requirements.check(out, End::Server, "discovery/lockfile-json", index, None);
                self.keys(index, change, &keys, out);
            }
            Ok(_) => drop(self.incomplete.insert(change.path.clone(), (index, "it is no JSON object".to_owned()))),
            Err(e) => drop(self.incomplete.insert(change.path.clone(), (index, e.to_string()))),
        }
    }

    fn keys(&self, index: u64, change: &FileChange, keys: &Map<String, Value>, out: &mut Judgements) {
        let port = keys.get("port").and_then(integer).filter(|port| (1..=65_535).contains(port));
        let mut key = |short: &str, name: &str, wanted: &str, kept: bool| {
            let fault = (!kept).then(|| match keys.get(name) {
                Some(value) => ViolationDetail::new(format!("the lockfile's `{name}` is not {wanted}"))
                    .at(format!("/{name}"))
                    .expected(wanted)
                    .actual(value.clone()),
                None => ViolationDetail::new(format!("the lockfile has no `{name}`"))
                    .at(format!("/{name}"))
                    .expected(wanted),
            });
            self.requirements.check(out, End::Server, short, index, fault);
        };
        let token = keys.get("authToken").and_then(Value::as_str);
        key("discovery/lockfile-port", "port", "the number of a TCP port", port.is_some());
        key(
            "discovery/lockfile-token",
            "authToken",
            "a string that is not empty",
            token.is_some_and(|t| !t.is_empty()),
        );
        if let Some(token) = token.filter(|token| !token.is_empty()) {
            let length = token.chars().count();
            // The placeholder of a secret is as long as the secret is with its escapes.
            let hidden = token.starts_with("<secret:");
            let kept = (10..=500).contains(&length) || hidden && length > 500;
            key("discovery/token-length", "authToken", "of 10 to 500 characters", kept);
        }
        let folders = keys.get("workspaceFolders").and_then(Value::as_array);
        let folders = folders.and_then(|list| list.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        key("discovery/lockfile-folders", "workspaceFolders", "a list of strings", folders.is_some());
        if let Some(folders) = folders {
            let absolute = folders.iter().all(|folder| is_absolute(folder));
            key("discovery/folders-absolute", "workspaceFolders", "a list of absolute paths", absolute);
        }
        key("discovery/lockfile-ide-name", "ideName", "a string", keys.get("ideName").is_some_and(Value::is_string));
        key("discovery/lockfile-pid", "pid", "a number", keys.get("pid").is_some_and(Value::is_number));
        if let (Some(port), Some(name)) = (port, Path::new(&change.path).file_name()) {
            let wanted = format!("{port}.json");
            let fault = ViolationDetail::new("the lockfile is not called by its port");
            let fault = fault.expected(wanted.clone()).actual(json!(name.to_string_lossy()));
            let other = (name.to_string_lossy() != wanted).then_some(fault);
            self.requirements.check(out, End::Server, "discovery/lockfile-name", index, other);
        }
    }
}

impl Rule for Lockfiles {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let EventKind::File(change) = &event.kind else { return };
        if event.deliberate.is_none() && !change.is_by_play() && is_lockfile(&change.path) {
            self.judge(event.i, change, out);
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        for (path, (index, why)) in std::mem::take(&mut self.incomplete) {
            let name = Path::new(&path).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            let fault = ViolationDetail::new(format!("the lockfile {name} cannot be read: {why}"));
            self.requirements.check(out, End::Server, "discovery/lockfile-json", index, Some(fault));
        }
    }
}

/// So many handshakes wait for a lockfile that explains them; of more, none is judged.
const MAX_UNEXPLAINED: usize = 1000;

/// Checks the token in each handshake against the lockfiles that name its port (docs/amp.md, Connection; quick
/// reference, section 2).
///
/// A file may be seen after it was used, and be replaced by another: so every token that a lockfile gave for the port
/// will do, and one that fits none is judged only at the end. Secrets are replaced in traces: then which of them it is
/// counts. A token that was replaced beyond recognition is ignored.
pub struct Tokens {
    requirements: &'static RequirementIndex,
    /// By port, the tokens that lockfiles gave for it.
    tokens: HashMap<u16, Vec<ShownToken>>,
    /// The port of each connection.
    ports: HashMap<String, u16>,
    /// Handshakes whose token has not been found yet, by their event.
    unexplained: BTreeMap<u64, (u16, Option<ShownToken>)>,
}

/// A token, as far as the trace shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ShownToken {
    /// The token as it is.
    Plain(String),
    /// The secret of this number.
    Secret(String),
    /// A token that was replaced by something unknown.
    Hidden,
}

impl Tokens {
    pub fn new(requirements: &'static RequirementIndex) -> Self {
        Self { requirements, tokens: HashMap::new(), ports: HashMap::new(), unexplained: BTreeMap::new() }
    }

    fn lockfile(&mut self, content: &[u8]) {
        let Ok(Value::Object(keys)) = serde_json::from_slice::<Value>(content) else { return };
        let port = keys.get("port").and_then(integer).and_then(|port| u16::try_from(port).ok());
        let (Some(port), Some(token)) = (port, keys.get("authToken").and_then(Value::as_str)) else { return };
        let known = self.tokens.entry(port).or_default();
        let token = ShownToken::shown(token);
        if !known.contains(&token) {
            known.push(token);
        }
    }

    /// Whether what was shown is a token for the port; none where the trace does not show it.
    fn fits(&self, port: u16, shown: Option<&ShownToken>) -> Option<bool> {
        let known = self.tokens.get(&port)?;
        if known.contains(&ShownToken::Hidden) {
            return None;
        }
        let secrets = known.iter().any(|token| matches!(token, ShownToken::Secret(_)));
        match shown {
            Some(shown) if known.contains(shown) => Some(true),
            // A secret that is whole has a number.
            Some(ShownToken::Hidden) if !secrets => None,
            _ => Some(false),
        }
    }
}

impl Rule for Tokens {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        match (&event.kind, event.conn.as_deref()) {
            (EventKind::File(change), _) if is_lockfile(&change.path) => {
                if let Some(content) = &change.content {
                    self.lockfile(content.as_bytes());
                }
            }
            (EventKind::Connected { address }, Some(conn)) => {
                let port = address.rsplit(':').next().and_then(|port| port.parse().ok());
                match port {
                    Some(port) => self.ports.insert(conn.to_owned(), port),
                    None => self.ports.remove(conn),
                };
            }
            (EventKind::Handshake(head), Some(conn)) if event.dir == Some(Direction::ToServer) => {
                if event.deliberate.is_some() {
                    return;
                }
                let Some(port) = self.ports.get(conn).copied() else { return };
                let target = head.start.split(' ').nth(1).unwrap_or_default();
                let shown = auth(target).map(ShownToken::encoded);
                if self.fits(port, shown.as_ref()) == Some(true) {
                    self.requirements.check(out, End::Client, "connection/token", event.i, None);
                } else if self.unexplained.len() < MAX_UNEXPLAINED {
                    self.unexplained.insert(event.i, (port, shown));
                }
            }
            (EventKind::Closed(_), Some(conn)) => drop(self.ports.remove(conn)),
            _ => {}
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        for (index, (port, shown)) in std::mem::take(&mut self.unexplained) {
            let Some(fits) = self.fits(port, shown.as_ref()) else { continue };
            let fault = match shown {
                None => ViolationDetail::new("a handshake shows no token"),
                Some(_) => ViolationDetail::new(format!(
                    "a handshake shows another token than that of the lockfile for {port}"
                )),
            };
            self.requirements.check(out, End::Client, "connection/token", index, (!fits).then_some(fault));
        }
    }
}

impl ShownToken {
    fn shown(text: &str) -> Self {
        if let Some(number) = text.strip_prefix("<secret:").and_then(|rest| rest.strip_suffix('>')) {
            return Self::Secret(number.trim_end_matches('*').to_owned());
        }
        match !text.is_empty() && text.bytes().all(|b| b == b'*') {
            true => Self::Hidden,
            false => Self::Plain(text.to_owned()),
        }
    }

    /// A token as the query of a URL has it.
    fn encoded(value: &str) -> Self {
        match Self::shown(value) {
            Self::Plain(text) => Self::Plain(uri::decode(&text)),
            hidden => hidden,
        }
    }
}

/// The value of `auth` in the query of a request target, as it is there.
pub fn auth(target: &str) -> Option<&str> {
    let query = target.split_once('?')?.1;
    query.split('&').find_map(|pair| pair.strip_prefix("auth="))
}
