//! The control channel of a mock: one JSON object a line, each answered by one line.
//!
//! A line `{"open":{"path":"/w/a.txt"}}` is answered by `{"ok":…}` or `{"error":"…"}`, after everything that it
//! brought about has been sent to the mock's clients.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

use crate::format::{fields_of, variant};

use super::Mock;

/// No line longer than this is read, in bytes.
pub const MAX_LINE: u64 = 64 << 20;

/// The next input of a control channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A command.
    Command(Map<String, Value>),
    /// No command; this is what is wrong with it.
    Wrong(String),
    /// The end, or a line beyond [`MAX_LINE`], after which nothing can be made sense of.
    End,
}

/// Reads the next line that is not empty.
pub async fn read(input: &mut (impl AsyncBufRead + Unpin)) -> Line {
    loop {
        let mut line = vec![];
        match (&mut *input).take(MAX_LINE).read_until(b'\n', &mut line).await {
            Ok(n) if n > 0 && (line.ends_with(b"\n") || (n as u64) < MAX_LINE) => {}
            _ => return Line::End,
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        return match serde_json::from_slice(&line) {
            Ok(Value::Object(command)) => Line::Command(command),
            Ok(_) => Line::Wrong("a command must be a JSON object".to_owned()),
            Err(e) => Line::Wrong(format!("the line is no JSON: {e}")),
        };
    }
}

/// Has a mock do what a line says. Gives the line that answers it, its end included; none at the end.
pub async fn obey(mock: &dyn Mock, line: &Line) -> Option<String> {
    let done = match line {
        Line::Command(command) => mock.steer(command).await,
        Line::Wrong(what) => Err(what.clone()),
        Line::End => return None,
    };
    let answer = match done {
        Ok(value) => json!({"ok": value}),
        Err(what) => json!({"error": what}),
    };
    Some(format!("{answer}\n"))
}

/// Reads a command: an object of one key, a variant's name, whose value is an object with its parameters.
///
/// # Errors
/// What is wrong with it.
pub fn read_command<T: DeserializeOwned + JsonSchema + 'static>(command: &Map<String, Value>) -> Result<T, String> {
    let known = fields_of::<T>();
    let (name, params) = match command.iter().next() {
        Some(only) if command.len() == 1 => only,
        _ => return Err(format!("a command is an object of one key, such as {{\"{}\":{{}}}}", known[0].name)),
    };
    if !known.iter().any(|command| command.name == name) {
        let names: Vec<&str> = known.iter().map(|command| command.name).collect();
        return Err(format!("there is no command `{name:.80}`; there are {}", names.join(", ")));
    }
    variant(name, params.clone())
}

/// A command from words: its name, and parameters as `key=text` or `key:=JSON`.
///
/// # Errors
/// A word without `=`, a key said twice, or JSON that does not parse: a phrase that says which.
pub fn command(name: &str, words: &[String]) -> Result<Value, String> {
    let mut params = Map::new();
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| {
            format!("`{word}` is no parameter: write key=text, or key:=JSON for a number, a list or an object")
        })?;
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => {
                let json =
                    serde_json::from_str(value).map_err(|e| format!("the value of `{key}:=` is no JSON: {e}"))?;
                (key, json)
            }
            None => (key, Value::from(value)),
        };
        if params.insert(key.to_owned(), value).is_some() {
            return Err(format!("the parameter `{key}` is said twice"));
        }
    }
    Ok(json!({name: params}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_text_unless_they_are_said_to_be_json() {
        let words = ["path=/w/a=b:=c", "start_line:=3", "items:=[{\"a\":1}]", "text="].map(str::to_owned);
        let expected = json!({"edit": {"path": "/w/a=b:=c", "start_line": 3, "items": [{"a": 1}], "text": ""}});
        assert_eq!(command("edit", &words), Ok(expected));
    }

    #[test]
    fn a_word_that_is_no_parameter_is_told() {
        for (words, error) in [
            (vec!["path"], "`path` is no parameter"),
            (vec!["line:=x"], "the value of `line:=` is no JSON"),
            (vec!["a=1", "a:=1"], "the parameter `a` is said twice"),
        ] {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            assert!(command("open", &words).unwrap_err().starts_with(error));
        }
    }

    #[tokio::test]
    async fn lines_are_read_one_by_one_and_empty_ones_passed_over() {
        let mut input = &b"\n{\"quit\":{}}\r\n  \n[1]\nnonsense\n{\"a\":{}}"[..];
        assert!(matches!(read(&mut input).await, Line::Command(c) if c.contains_key("quit")));
        assert_eq!(read(&mut input).await, Line::Wrong("a command must be a JSON object".to_owned()));
        assert!(matches!(read(&mut input).await, Line::Wrong(what) if what.starts_with("the line is no JSON")));
        assert!(matches!(read(&mut input).await, Line::Command(c) if c.contains_key("a")));
        assert_eq!(read(&mut input).await, Line::End);
    }
}
