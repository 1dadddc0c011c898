//! What a mock server is told while it serves.

use serde_json::{Map, Value};

use crate::protocol::amplifier::{CODES, ENDPOINTS, Endpoint};

use super::script::Failure;

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// From now on the agent does this.
    Script(Source),
    /// Tells the subscribers of a session, or of all, of an event.
    Event { session: Option<String>, event: String, data: Value },
    /// Ends the streams of a session, or of all.
    Cut { session: Option<String>, reset: bool },
    /// Refuses the next requests for an endpoint, or any.
    Refuse { endpoint: Option<Endpoint>, failure: Failure, times: u64 },
    /// Switches a flaw or freedom on or off.
    Switch(String, bool),
    /// Tells how it stands.
    State,
    /// Ends it.
    Quit,
}

/// Where a script is.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// The example.
    Example,
    /// A file.
    File(String),
    /// Here.
    Here(Value),
}

/// The commands, each with its parameters.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("script", &["file", "script"]),
    ("event", &["session", "event", "data"]),
    ("cut", &["session", "how"]),
    ("refuse", &["endpoint", "code", "message", "times"]),
    ("switch", &["name", "on"]),
    ("state", &[]),
    ("quit", &[]),
];

/// The most requests that one command has refused.
const MOST: u64 = 10_000;

/// Understands a command.
///
/// # Errors
/// What is wrong with it.
pub fn read(command: &Map<String, Value>) -> Result<Command, String> {
    let (name, params) = match command.iter().next() {
        Some((name, params)) if command.len() == 1 => (name.as_str(), params),
        _ => return Err("a command is an object of one key, such as {\"state\":{}}".to_owned()),
    };
    let Some((_, known)) = COMMANDS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no command `{name}`; there are {}", names.join(", ")));
    };
    let Value::Object(params) = params else { return Err(format!("the parameters of `{name}` must be an object")) };
    if let Some(unknown) = params.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("`{name}` has no parameter `{unknown}`"));
    }
    let wrong = |param: &str, what: &str| format!("the parameter `{param}` of `{name}` must be {what}");
    let text = |param: &str, what: &str| match params.get(param) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(param, what)),
    };
    let session = || text("session", "the id of a session");
    Ok(match name {
        "script" => Command::Script(match (text("file", "a path")?, params.get("script")) {
            (Some(_), Some(_)) => return Err("`script` takes either `file` or `script`".to_owned()),
            (Some(file), None) => Source::File(file),
            (None, Some(script @ Value::Object(_))) => Source::Here(script.clone()),
            (None, Some(_)) => return Err(wrong("script", "an object, as in a script's file")),
            (None, None) => Source::Example,
        }),
        "event" => {
            let event = text("event", "the name of an event")?.ok_or_else(|| wrong("event", "the name of an event"))?;
            let data = match params.get("data") {
                None => Value::Object(Map::new()),
                Some(data @ Value::Object(_)) => data.clone(),
                Some(_) => return Err(wrong("data", "an object")),
            };
            Command::Event { session: session()?, event, data }
        }
        "cut" => {
            let reset = match text("how", "end or reset")?.as_deref() {
                None | Some("end") => false,
                Some("reset") => true,
                Some(_) => return Err(wrong("how", "end or reset")),
            };
            Command::Cut { session: session()?, reset }
        }
        "refuse" => {
            let what = "one of the fourteen codes";
            let code = text("code", what)?.filter(|code| CODES.iter().any(|(known, ..)| known == code));
            let code = code.ok_or_else(|| wrong("code", what))?;
            let endpoint = match text("endpoint", "the name of an endpoint")? {
                None => None,
                Some(name) => Some(
                    Endpoint::named(&name)
                        .ok_or_else(|| wrong("endpoint", &format!("one of {}", ENDPOINTS.join(", "))))?,
                ),
            };
            let times = params.get("times").map_or(Some(1), Value::as_u64).filter(|times| (1..=MOST).contains(times));
            let times = times.ok_or_else(|| wrong("times", "a whole number from 1 to 10000"))?;
            Command::Refuse { endpoint, failure: Failure { code, message: text("message", "a text")? }, times }
        }
        "switch" => match (text("name", "the name of a flaw or freedom")?, params.get("on").and_then(Value::as_bool)) {
            (Some(name), Some(on)) => Command::Switch(name, on),
            (None, _) => return Err(wrong("name", "the name of a flaw or freedom")),
            (_, None) => return Err(wrong("on", "true or false")),
        },
        "quit" => Command::Quit,
        _ => Command::State,
    })
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
        assert_eq!(parse(json!({"script": {}})), Ok(Command::Script(Source::Example)));
        let event = Command::Event { session: None, event: "a:b".to_owned(), data: json!({"x": 1}) };
        assert_eq!(parse(json!({"event": {"event": "a:b", "data": {"x": 1}}})), Ok(event));
        let cut = Command::Cut { session: Some("s".to_owned()), reset: true };
        assert_eq!(parse(json!({"cut": {"session": "s", "how": "reset"}})), Ok(cut));
        let failure = Failure { code: "RATE_LIMITED".to_owned(), message: None };
        let refuse = Command::Refuse { endpoint: Some(Endpoint::Health), failure, times: 2 };
        assert_eq!(parse(json!({"refuse": {"endpoint": "health", "code": "RATE_LIMITED", "times": 2}})), Ok(refuse));
        assert_eq!((parse(json!({"state": {}})), parse(json!({"quit": {}}))), (Ok(Command::State), Ok(Command::Quit)));
    }

    #[test]
    fn a_command_that_is_wrong_is_told_what_is_wrong() {
        for (command, expected) in [
            (json!({}), "a command is an object of one key"),
            (json!({"fly": {}}), "there is no command `fly`; there are script, event"),
            (json!({"quit": 1}), "the parameters of `quit` must be an object"),
            (json!({"quit": {"x": 1}}), "`quit` has no parameter `x`"),
            (json!({"event": {}}), "the parameter `event` of `event` must be"),
            (json!({"event": {"event": "a", "data": 1}}), "the parameter `data` of `event` must be an object"),
            (json!({"cut": {"how": "softly"}}), "the parameter `how` of `cut` must be end or reset"),
            (json!({"refuse": {"code": "NO"}}), "the parameter `code` of `refuse` must be one of the fourteen"),
            (
                json!({"refuse": {"code": "SERVER_ERROR", "endpoint": "x"}}),
                "the parameter `endpoint` of `refuse` must be",
            ),
            (json!({"switch": {"name": "x"}}), "the parameter `on` of `switch` must be true or false"),
        ] {
            let error = parse(command.clone()).unwrap_err();
            assert!(error.starts_with(expected), "{command}: {error}");
        }
    }
}
