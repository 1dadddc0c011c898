//! Reading a lockfile as a client does.

use serde_json::{Map, Value};

use crate::protocol::Lock;

/// The folder of the lockfiles, below the data home.
pub const FOLDER: &str = "amp/ide";

/// The ports that clients may try one after the other (quick reference, section 1).
pub fn ports(edition: &str) -> Option<std::ops::RangeInclusive<u16>> {
    (edition == "guide").then_some(8000..=8100)
}

/// What a client of the edition takes from the content of a lockfile, or why it would ignore the file
/// (docs/amp.md, Discovery; quick reference, section 1).
pub fn read(edition: &str, content: &[u8]) -> Result<Lock, String> {
    let content: Value = serde_json::from_slice(content).map_err(|e| format!("it is no JSON: {e}"))?;
    let Value::Object(keys) = &content else { return Err("it is no JSON object".to_owned()) };
    let port = port(keys)?;
    let token = string(keys, "authToken")?;
    if token.is_empty() {
        return Err("`authToken` is empty".to_owned());
    }
    let (pid, folders) = match edition {
        "guide" => (pid(keys).ok(), folders(keys).unwrap_or_default()),
        _ => {
            string(keys, "ideName")?;
            (Some(pid(keys)?), folders(keys)?)
        }
    };
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
fn whole_number(keys: &Map<String, Value>, key: &str) -> Result<i64, String> {
    let value = member(keys, key)?;
    let integer = value.as_i64().or_else(|| value.as_f64().filter(|n| n.fract() == 0.0).map(|n| n as i64));
    integer.ok_or_else(|| format!("`{key}` is {}, not a whole number", kind(value)))
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

    fn read_json(edition: &str, content: &Value) -> Result<Lock, String> {
        read(edition, content.to_string().as_bytes())
    }

    fn integer() -> Value {
        json!({"port": 8080, "authToken": "secret-token", "pid": 7, "ideName": "ed", "workspaceFolders": ["/w"]})
    }

    #[test]
    fn the_cli_needs_all_five_keys() {
        let lock = read_json("cli", &integer()).unwrap();
        assert_eq!((lock.port, lock.token.as_str(), lock.pid), (8080, "secret-token", Some(7)));
        assert_eq!(lock.folders, ["/w"]);
        for key in ["port", "authToken", "pid", "ideName", "workspaceFolders"] {
            let mut content = integer();
            content.as_object_mut().unwrap().remove(key);
            assert_eq!(read_json("cli", &content).unwrap_err(), format!("`{key}` is missing"));
        }
    }

    #[test]
    fn the_guide_needs_port_and_token() {
        let lock = read_json("guide", &json!({"port": 8000, "authToken": "t"})).unwrap();
        assert_eq!((lock.port, lock.pid, lock.folders.len()), (8000, None, 0));
        assert!(read_json("guide", &json!({"port": 8000})).is_err());
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
            assert_eq!(read_json("cli", &content).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_torn_file_is_ignored() {
        assert!(read("cli", b"{\"port\": 80").unwrap_err().starts_with("it is no JSON"));
        assert_eq!(read("cli", b"[]").unwrap_err(), "it is no JSON object");
    }
}
