//! The commands by which a running mock provider is steered.

use serde_json::{Map, Value};

/// A command, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// From now on it gives what is in this file, or in this map, or what it gives where nothing is said.
    Data(Source),
    /// Switches a flaw or freedom on or off.
    Switch(String, bool),
    /// Tells what state it is in.
    State,
    /// Ends it.
    Quit,
}

/// Where data comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A file.
    File(String),
    /// Said in the command.
    Here(Value),
    /// The example.
    Example,
}

/// The names of the commands.
pub const NAMES: [&str; 4] = ["data", "switch", "state", "quit"];

/// Reads a command: an object of one key, the command's name, whose value is an object with its parameters.
///
/// # Errors
/// What is wrong with it.
pub fn read(command: &Map<String, Value>) -> Result<Command, String> {
    let (name, params) = match command.iter().next() {
        Some(only) if command.len() == 1 => only,
        _ => return Err("a command is an object of one key, such as {\"data\":{\"file\":\"data.yaml\"}}".to_owned()),
    };
    let Value::Object(params) = params else {
        return Err(format!("the parameters of `{name:.80}` must be an object; it may be empty"));
    };
    let known: &[&str] = match name.as_str() {
        "data" => &["file", "data"],
        "switch" => &["name", "on"],
        "state" | "quit" => &[],
        _ => return Err(format!("there is no command `{name:.80}`; there are {}", NAMES.join(", "))),
    };
    if let Some(key) = params.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("`{name}` has no parameter `{key:.80}`"));
    }
    let wrong = |key: &str, wanted: &str| format!("the parameter `{key}` of `{name}` must be {wanted}");
    match name.as_str() {
        "data" => match (params.get("file"), params.get("data")) {
            (Some(Value::String(file)), None) => Ok(Command::Data(Source::File(file.clone()))),
            (None, Some(data @ Value::Object(_))) => Ok(Command::Data(Source::Here(data.clone()))),
            (None, None) => Ok(Command::Data(Source::Example)),
            (Some(_), Some(_)) => Err("`data` takes either `file` or `data`".to_owned()),
            (Some(_), None) => Err(wrong("file", "a path")),
            (None, Some(_)) => Err(wrong("data", "an object, as in a data file")),
        },
        "switch" => match (params.get("name").and_then(Value::as_str), params.get("on").and_then(Value::as_bool)) {
            (Some(name), Some(on)) => Ok(Command::Switch(name.to_owned(), on)),
            (None, _) => Err(wrong("name", "the name of a flaw or freedom")),
            (_, None) => Err(wrong("on", "true or false")),
        },
        "quit" => Ok(Command::Quit),
        _ => Ok(Command::State),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(command: Value) -> Result<Command, String> {
        let Value::Object(command) = command else { panic!("no object") };
        read(&command)
    }

    #[test]
    fn a_command_says_what_to_do_with_what() {
        assert_eq!(parse(json!({"data": {}})), Ok(Command::Data(Source::Example)));
        assert_eq!(parse(json!({"data": {"file": "a"}})), Ok(Command::Data(Source::File("a".to_owned()))));
        assert_eq!(parse(json!({"switch": {"name": "x", "on": true}})), Ok(Command::Switch("x".to_owned(), true)));
        assert_eq!((parse(json!({"state": {}})), parse(json!({"quit": {}}))), (Ok(Command::State), Ok(Command::Quit)));
    }

    #[test]
    fn a_command_that_is_wrong_is_told_what_is_wrong() {
        for (command, expected) in [
            (json!({}), "a command is an object of one key"),
            (json!({"fly": {}}), "there is no command `fly`; there are data, switch, state, quit"),
            (json!({"quit": 1}), "the parameters of `quit` must be an object"),
            (json!({"quit": {"x": 1}}), "`quit` has no parameter `x`"),
            (json!({"data": {"file": 1}}), "the parameter `file` of `data` must be a path"),
            (json!({"data": {"data": []}}), "the parameter `data` of `data` must be an object"),
            (json!({"switch": {"name": "x"}}), "the parameter `on` of `switch` must be true or false"),
        ] {
            let error = parse(command.clone()).unwrap_err();
            assert!(error.starts_with(expected), "{command}: {error}");
        }
    }
}
