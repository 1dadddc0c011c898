//! Reading the parameters of a verb.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::peer::{Act, Trouble};

/// The parameters as a type of ours. What the descriptor's shapes let through and this does not is told as the
/// scenario's fault: a variable of the wrong type, for instance.
pub fn read<T: DeserializeOwned>(act: &Act<'_>) -> Result<T, Trouble> {
    serde_json::from_value(Value::Object(act.params.clone())).map_err(|e| wrong(act.verb, e))
}

/// A fault of the scenario in a verb's parameters.
pub fn wrong(verb: &str, what: impl std::fmt::Display) -> Trouble {
    Trouble::Scenario(format!("`{verb}`: {what}"))
}

/// The step's mark for what is wrong on purpose.
pub fn deliberate(act: &Act<'_>, why: Option<&String>) -> Option<String> {
    why.map(|why| format!("{}: {why}", act.step))
}

/// A header's value as text; none for null, which leaves the header out.
pub fn header(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Header lines in the order given.
pub fn headers(map: &Map<String, Value>) -> Vec<(String, Option<String>)> {
    map.iter().map(|(name, value)| (name.clone(), header(value))).collect()
}

/// Bytes from hexadecimal digits; white space between them is free.
pub fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()),
        Some(_) => Err(format!("`{text}` has an odd number of hexadecimal digits; two make a byte")),
        None => Err(format!("`{text}` is not made of hexadecimal digits; write text as `text`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits_make_bytes_and_anything_else_is_explained() {
        assert_eq!(unhex("00 fF\n7e"), Ok(vec![0, 255, 126]));
        assert_eq!(unhex(""), Ok(vec![]));
        assert!(unhex("abc").is_err_and(|e| e.contains("odd")));
        assert!(unhex("xy").is_err_and(|e| e.contains("not made")));
    }
}
