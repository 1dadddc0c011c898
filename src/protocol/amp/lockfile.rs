//! Lockfiles: what they have in an edition, and reading one as a client does.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::matcher::as_integer;
use crate::protocol::Lock;

/// The folder of the lockfiles, below the data home.
pub const FOLDER: &str = "amp/ide";

/// The ports that clients may try one after the other, the first and the last (quick reference, section 1).
pub const SCANNED_PORTS: (u16, u16) = (8000, 8100);

/// The ports from one to another, each once, beginning at any of them.
pub fn ports_from((first, last): (u16, u16), begin: u32) -> impl Iterator<Item = u16> {
    let count = u32::from(last - first) + 1;
    (0..count).map(move |n| first + (begin.wrapping_add(n) % count) as u16)
}

/// What the lockfile of an edition has, and how a server is found through it or without it.
#[derive(Clone, Copy)]
pub struct LockfileFormat {
    /// The members that it has to have, in the order in which our editors write them.
    pub members: &'static [&'static str],
    /// The first and the last port at which clients may look for a server without a lockfile.
    pub ports: Option<(u16, u16)>,
    /// Whether a server may know neither `AMP_DATA_HOME` nor `XDG_DATA_HOME`.
    pub may_know_home_only: bool,
}

impl LockfileFormat {
    /// Whether it has to have a member.
    pub fn has(&self, member: &str) -> bool {
        self.members.contains(&member)
    }

    /// The content of a lockfile: of these values those that it has to have.
    pub fn content(&self, values: &LockfileValues<'_>) -> Map<String, Value> {
        let value = |member: &str| match member {
            "workspaceFolders" => json!([values.folder.to_string_lossy()]),
            "port" => json!(values.port),
            "ideName" => json!(values.name),
            "authToken" => json!(values.token),
            _ => json!(values.pid),
        };
        self.members.iter().map(|member| ((*member).to_owned(), value(member))).collect()
    }
}

/// What an editor of ours says of itself.
pub struct LockfileValues<'a> {
    /// The folder that it has open.
    pub folder: &'a Path,
    /// The port.
    pub port: u16,
    /// The name of the editor.
    pub name: &'a str,
    /// The token.
    pub token: &'a str,
    /// The process.
    pub pid: u32,
}

/// What a client takes from the content of a lockfile that has to have these members beside `port` and `authToken`, or
/// why it would ignore the file (docs/amp.md, Discovery; quick reference, section 1).
pub fn read(members: &[&str], content: &[u8]) -> Result<Lock, String> {
    let content: Value = serde_json::from_slice(content).map_err(|e| format!("it is no JSON: {e}"))?;
    let Value::Object(keys) = &content else { return Err("it is no JSON object".to_owned()) };
    let port = port(keys)?;
    let token = string(keys, "authToken")?;
    if token.is_empty() {
        return Err("`authToken` is empty".to_owned());
    }
    if members.contains(&"ideName") {
        string(keys, "ideName")?;
    }
    let (pid, folders) = (pid(keys), folders(keys));
    let pid = if members.contains(&"pid") { Some(pid?) } else { pid.ok() };
    let folders = if members.contains(&"workspaceFolders") { folders? } else { folders.unwrap_or_default() };
    Ok(Lock { port, token, pid, folders, content, url: None })
}

fn port(keys: &Map<String, Value>) -> Result<u16, String> {
    let port = whole_number(keys, "port")?;
    u16::try_from(port).ok().filter(|port| *port != 0).ok_or_else(|| format!("`port` is {port}, which is no TCP port"))
}

fn pid(keys: &Map<String, Value>) -> Result<u32, String> {
    let pid = whole_number(keys, "pid")?;
    u32::try_from(pid).ok().filter(|pid| *pid != 0).ok_or_else(|| format!("`pid` is {pid}, which is no process id"))
}

/// A JSON number without a fraction; `8080.0` is one, since JSON knows no integers.
pub fn integer(value: &Value) -> Option<i64> {
    value.as_number().and_then(as_integer).and_then(|n| i64::try_from(n).ok())
}

fn whole_number(keys: &Map<String, Value>, key: &str) -> Result<i64, String> {
    let value = member(keys, key)?;
    integer(value).ok_or_else(|| format!("`{key}` is {}, not a whole number", kind(value)))
}

fn folders(keys: &Map<String, Value>) -> Result<Vec<String>, String> {
    let value = member(keys, "workspaceFolders")?;
    let Value::Array(items) = value else {
        return Err(format!("`workspaceFolders` is {}, not a list", kind(value)));
    };
    let folder = |item: &Value| match item {
        Value::String(folder) => Ok(folder.clone()),
        other => Err(format!("`workspaceFolders` has {} in it, not only strings", kind(other))),
    };
    items.iter().map(folder).collect()
}

fn string(keys: &Map<String, Value>, key: &str) -> Result<String, String> {
    match member(keys, key)? {
        Value::String(text) => Ok(text.clone()),
        other => Err(format!("`{key}` is {}, not a string", kind(other))),
    }
}

fn member<'a>(keys: &'a Map<String, Value>, key: &str) -> Result<&'a Value, String> {
    keys.get(key).ok_or_else(|| format!("`{key}` is missing"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Whether a file lies where lockfiles do, whatever system the trace is from.
pub fn is_lockfile(path: &str) -> bool {
    let path = path.replace('\\', "/");
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    path.ends_with(".json") && (folder == FOLDER || folder.ends_with(&format!("/{FOLDER}")))
}

/// Whether a path is absolute on any system.
pub fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || path.as_bytes().get(1) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::Edition as _;
    use crate::protocol::amp::editions::{AmpEdition, CLI, GUIDE};

    fn read_json(edition: &AmpEdition, content: &Value) -> Result<Lock, String> {
        edition.read_lockfile(content.to_string().as_bytes())
    }

    fn integer() -> Value {
        json!({"port": 8080, "authToken": "secret-token", "pid": 7, "ideName": "ed", "workspaceFolders": ["/w"]})
    }

    #[test]
    fn the_cli_needs_all_five_keys() {
        let lock = read_json(&CLI, &integer()).unwrap();
        assert_eq!((lock.port, lock.token.as_str(), lock.pid), (8080, "secret-token", Some(7)));
        assert_eq!(lock.folders, ["/w"]);
        for key in ["port", "authToken", "pid", "ideName", "workspaceFolders"] {
            let mut content = integer();
            content.as_object_mut().unwrap().remove(key);
            assert_eq!(read_json(&CLI, &content).unwrap_err(), format!("`{key}` is missing"));
        }
    }

    #[test]
    fn the_guide_needs_port_and_token() {
        let lock = read_json(&GUIDE, &json!({"port": 8000, "authToken": "t"})).unwrap();
        assert_eq!((lock.port, lock.pid, lock.folders.len()), (8000, None, 0));
        assert!(read_json(&GUIDE, &json!({"port": 8000})).is_err());
    }

    #[test]
    fn members_of_another_type_are_told_by_name() {
        let cases = [
            ("port", json!("8080"), "`port` is a string, not a whole number"),
            ("port", json!(70000), "`port` is 70000, which is no TCP port"),
            ("port", json!(0), "`port` is 0, which is no TCP port"),
            ("pid", json!(null), "`pid` is null, not a whole number"),
            ("authToken", json!(1), "`authToken` is a number, not a string"),
            ("authToken", json!(""), "`authToken` is empty"),
            ("ideName", json!([]), "`ideName` is a list, not a string"),
            ("workspaceFolders", json!("/w"), "`workspaceFolders` is a string, not a list"),
            ("workspaceFolders", json!([1]), "`workspaceFolders` has a number in it, not only strings"),
        ];
        for (key, value, expected) in cases {
            let mut content = integer();
            content[key] = value;
            assert_eq!(read_json(&CLI, &content).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_torn_file_is_ignored() {
        assert!(CLI.read_lockfile(b"{\"port\": 80").unwrap_err().starts_with("it is no JSON"));
        assert_eq!(CLI.read_lockfile(b"[]").unwrap_err(), "it is no JSON object");
    }
}
