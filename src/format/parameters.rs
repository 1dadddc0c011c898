//! Parameters with their variables replaced, held against a [`Shape`]: without a file, and so without places ([`variant`]).

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Field, Kind, Shape, fields_of};

/// A variant of an enum, from its name and its parameters.
///
/// # Errors
/// What is wrong with them, as a sentence without an end.
pub fn variant<T: DeserializeOwned + JsonSchema + 'static>(name: &str, params: Value) -> Result<T, String> {
    if let Some(field) = fields_of::<T>().iter().find(|field| field.name == name) {
        let owner = format!("`{name}`");
        check(&field.shape, &format!("the parameters of {owner}"), &owner, &params)?;
    }
    serde_json::from_value(Map::from_iter([(name.to_owned(), params)]).into()).map_err(|error| error.to_string())
}

/// Checks a value. `what` names it in a sentence, and `owner` is what its keys belong to, where it is a map.
fn check(shape: &Shape, what: &str, owner: &str, value: &Value) -> Result<(), String> {
    let refuse = |expected: &str| Err(format!("{what} must be {expected}, not {}", brief(value)));
    if !shape.takes(Kind::of(value)) {
        return refuse(if let Shape::Object(..) | Shape::Map(_) = shape { "an object" } else { shape.describe() });
    }
    match (shape, value) {
        (Shape::Integer { min, max }, _) if value.as_i64().is_none_or(|number| !(*min..=*max).contains(&number)) => {
            refuse(&format!("a whole number from {min} to {max}"))
        }
        (Shape::Choice(words) | Shape::Name(_, words) | Shape::Described(_, words), Value::String(word))
            if !words.contains(&word.as_str()) =>
        {
            refuse(&format!("one of {}", words.join(", ")))
        }
        (Shape::Object(fields, group), Value::Object(map)) => {
            if let Some(unknown) = map.keys().find(|key| !fields.iter().any(|field| field.name == **key)) {
                return Err(format!("{owner} has no parameter `{unknown:.80}`"));
            }
            if let Some(missing) = fields.iter().find(|field| field.required && !map.contains_key(field.name)) {
                return Err(format!("{owner} needs the parameter `{}`", missing.name));
            }
            group.map_or(Ok(()), |group| one_of(group.keys, group.required, owner, map))?;
            members(fields, owner, map)
        }
        (Shape::OneOf(fields), Value::Object(map)) => {
            one_of(&fields.iter().map(|field| field.name).collect::<Vec<_>>(), true, owner, map)?;
            members(fields, owner, map)
        }
        (Shape::List(inner), Value::Array(items)) => {
            let what = format!("an item of {owner}");
            items.iter().try_for_each(|item| check(inner, &what, &what, item))
        }
        (Shape::Either(shapes), _) => shapes
            .iter()
            .find(|shape| shape.takes(Kind::of(value)))
            .map_or(Ok(()), |shape| check(shape, what, owner, value)),
        // The values of free keys are text made of whatever a variable stands for, or anything.
        _ => Ok(()),
    }
}

fn one_of(keys: &[&str], required: bool, owner: &str, map: &Map<String, Value>) -> Result<(), String> {
    let given = keys.iter().filter(|key| map.contains_key(**key)).count();
    match (given, required) {
        (1, _) | (0, false) => Ok(()),
        (_, true) => Err(format!("{owner} takes exactly one of {}", keys.join(", "))),
        (_, false) => Err(format!("{owner} takes at most one of {}", keys.join(", "))),
    }
}

/// A key that may be left out may be null.
fn members(fields: &[Field], owner: &str, map: &Map<String, Value>) -> Result<(), String> {
    fields.iter().try_for_each(|field| match map.get(field.name) {
        None => Ok(()),
        Some(Value::Null) if !field.required => Ok(()),
        Some(value) => {
            let name = format!("`{}`", field.name);
            check(&field.shape, &format!("the parameter {name} of {owner}"), &name, value)
        }
    })
}

fn brief(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:.80}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map".to_owned(),
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::format::types::Hex;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Step {
        Send(Send),
    }

    /// Sends something.
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Send {
        /// To whom.
        to: Word,
        #[schemars(range(min = 1, max = 3))]
        times: Option<u8>,
        #[serde(flatten)]
        content: Content,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        One,
        All,
        #[serde(untagged)]
        Number(u16),
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Content {
        Text(String),
        Hex(Hex),
    }

    fn send(params: Value) -> Result<Step, String> {
        variant("send", params)
    }

    #[test]
    fn the_shape_of_a_type_has_its_keys_bounds_words_and_docs() {
        let [verb] = fields_of::<Step>() else { panic!("one verb") };
        assert_eq!((verb.name, verb.doc), ("send", "Sends something."));
        let Shape::Object(fields, Some(group)) = verb.shape else { panic!("a map with a group") };
        assert_eq!((group.keys, group.required), (&["text", "hex"][..], true));
        let named = |name: &str| fields.iter().find(|field| field.name == name).unwrap();
        assert!(matches!(named("times").shape, Shape::Integer { min: 1, max: 3 }));
        assert!(matches!(named("hex").shape, Shape::Hex));
        assert!(matches!(named("to").shape, Shape::Either([Shape::Choice(["one", "all"]), Shape::Integer { .. }])));
        assert_eq!((named("to").required, named("times").required, named("to").doc), (true, false, "To whom."));
    }

    #[test]
    fn what_does_not_fit_is_explained() {
        let Step::Send(Send { to: Word::Number(7), times: None, content: Content::Hex(bytes) }) =
            send(json!({"to": 7, "times": null, "hex": "00 ff"})).unwrap()
        else {
            panic!("it fits")
        };
        assert_eq!(bytes.0, [0, 255]);
        let Ok(Step::Send(Send { content: Content::Text(text), .. })) = send(json!({"to": "all", "text": "a"})) else {
            panic!("it fits")
        };
        assert_eq!(text, "a");
        for (params, why) in [
            (json!([]), "the parameters of `send` must be an object, not a list"),
            (json!({"text": "a"}), "`send` needs the parameter `to`"),
            (json!({"to": "one"}), "`send` takes exactly one of text, hex"),
            (json!({"to": "one", "text": "a", "hex": ""}), "`send` takes exactly one of text, hex"),
            (json!({"to": "one", "text": "a", "x": 1}), "`send` has no parameter `x`"),
            (json!({"to": "two", "text": "a"}), "the parameter `to` of `send` must be one of one, all, not two"),
            (
                json!({"to": "one", "text": "a", "times": 4}),
                "the parameter `times` of `send` must be a whole number from 1 to 3, not 4",
            ),
            (json!({"to": "one", "text": 1}), "the parameter `text` of `send` must be a string, not 1"),
            (json!({"to": "one", "hex": "0"}), "`0` is not made of pairs of hexadecimal digits"),
        ] {
            assert_eq!(send(params).unwrap_err(), why);
        }
    }
}
