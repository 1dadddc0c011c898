//! Examples of what can be done, made from JSON Schemas.

use serde_json::{Map, Value};

use crate::fixture::{Choices, Generator, Preset};
use crate::format::{SchemaWriter, Shape};

use super::api::ActExample;

/// What the values of examples are drawn from.
const SEED: u64 = 1;

/// The JSON Schema (draft-07) of parameters.
pub fn schema_of(shape: &Shape) -> Value {
    let mut writer = SchemaWriter::default();
    let mut schema = writer.shape(shape);
    if !writer.definitions.is_empty() {
        schema["definitions"] = writer.definitions.into();
    }
    schema
}

/// Examples of parameters with this schema: with what has to be there, and with everything that may be. None where there are no
/// parameters, or where no example can be made.
pub fn of_schema(schema: &Value) -> Vec<ActExample> {
    let Ok(generator) = Generator::new(schema) else { return vec![] };
    let mut examples: Vec<ActExample> = vec![];
    for (name, preset) in [("the least", Preset::Minimal), ("everything", Preset::Full)] {
        let Some(Value::Object(params)) = generator.valid(&mut Choices::preset(preset, SEED)) else { continue };
        add(&mut examples, ActExample { name: name.to_owned(), wrong: false, params });
    }
    examples
}

/// Adds an example that says something, and nothing that another one says.
pub fn add(examples: &mut Vec<ActExample>, example: ActExample) {
    if example.params != Map::new() && examples.iter().all(|other| other.params != example.params) {
        examples.push(example);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_every_command_of_a_mock_fit_its_schema() {
        let kinds = ["amp-server", "openctx-provider", "amplifier-server"].map(|role| crate::peer::mock(role).unwrap());
        let mut seen = 0;
        for command in kinds.iter().flat_map(|kind| (kind.commands)()) {
            let schema = schema_of(&command.shape);
            let validator = jsonschema::draft7::new(&schema).unwrap();
            for example in of_schema(&schema) {
                assert!(validator.is_valid(&Value::Object(example.params.clone())), "{}: {example:?}", command.name);
                seen += 1;
            }
        }
        assert!(seen > 10, "{seen}");
    }
}
