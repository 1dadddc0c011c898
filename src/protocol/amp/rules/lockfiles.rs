//! Lockfiles: does what the server wrote hold what clients need?

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::protocol::{Judgements, Rule};
use crate::trace::{End, Event, EventKind, FileChange};

use super::requirement_index::RequirementIndex;
use crate::protocol::ViolationDetail;
use crate::protocol::amp::lockfile::{is_absolute, is_lockfile};

/// Judges the content of every lockfile that was looked at (docs/amp.md, Discovery; quick reference, section 1).
///
/// One that does not parse may be in the middle of being written: it tells only if nothing better is seen later.
pub struct Lockfiles {
    edition: &'static str,
    book: &'static RequirementIndex,
    torn: BTreeMap<String, (u64, String)>,
}

impl Lockfiles {
    pub fn new(edition: &'static str, book: &'static RequirementIndex) -> Self {
        Self { edition, book, torn: BTreeMap::new() }
    }

    fn judge(&mut self, index: u64, change: &FileChange, out: &mut Judgements) {
        let Some(content) = &change.content else {
            if matches!(change.change.as_str(), "removed" | "absent") {
                self.torn.remove(&change.path);
            }
            return;
        };
        match serde_json::from_slice(content.as_bytes()) {
            Ok(Value::Object(keys)) => {
                self.torn.remove(&change.path);
                self.book.check(out, End::Server, "discovery/lockfile-json", index, None);
                self.keys(index, change, &keys, out);
            }
            Ok(_) => drop(self.torn.insert(change.path.clone(), (index, "it is no JSON object".to_owned()))),
            Err(e) => drop(self.torn.insert(change.path.clone(), (index, e.to_string()))),
        }
    }

    fn keys(&self, index: u64, change: &FileChange, keys: &Map<String, Value>, out: &mut Judgements) {
        let port = keys.get("port").filter(|port| port.as_u64().is_some_and(|n| (1..=65_535).contains(&n)));
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
            self.book.check(out, End::Server, short, index, fault);
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
            key("discovery/token-length", "authToken", "of 10 to 500 characters", (10..=500).contains(&length));
        }
        if self.edition == "cli" {
            let folders = keys.get("workspaceFolders").and_then(Value::as_array);
            let folders = folders.and_then(|list| list.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
            key("discovery/lockfile-folders", "workspaceFolders", "a list of strings", folders.is_some());
            if let Some(folders) = folders {
                let absolute = folders.iter().all(|folder| is_absolute(folder));
                key("discovery/folders-absolute", "workspaceFolders", "a list of absolute paths", absolute);
            }
            key(
                "discovery/lockfile-ide-name",
                "ideName",
                "a string",
                keys.get("ideName").is_some_and(Value::is_string),
            );
            key("discovery/lockfile-pid", "pid", "a number", keys.get("pid").is_some_and(Value::is_number));
        }
        if let (Some(port), Some(name)) = (port, Path::new(&change.path).file_name()) {
            let wanted = format!("{port}.json");
            let fault = ViolationDetail::new("the lockfile is not called by its port");
            let fault = fault.expected(wanted.clone()).actual(json!(name.to_string_lossy()));
            let other = (name.to_string_lossy() != wanted).then_some(fault);
            self.book.check(out, End::Server, "discovery/lockfile-name", index, other);
        }
    }
}

impl Rule for Lockfiles {
    fn event(&mut self, event: &Event, out: &mut Judgements) {
        let EventKind::File(change) = &event.kind else { return };
        if event.deliberate.is_none() && is_lockfile(&change.path) {
            self.judge(event.i, change, out);
        }
    }

    fn end(&mut self, out: &mut Judgements) {
        for (path, (index, why)) in std::mem::take(&mut self.torn) {
            let name = Path::new(&path).file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            let fault = ViolationDetail::new(format!("the lockfile {name} cannot be read: {why}"));
            self.book.check(out, End::Server, "discovery/lockfile-json", index, Some(fault));
        }
    }
}
