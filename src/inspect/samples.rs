//! The messages of a protocol as steps of the side that stands opposite a subject: examples of what can be done, right and wrong.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::fixture::{Choices, Preset, SoundnessChecker};
use crate::protocol::sample::{Carrier, SampleStep, events};
use crate::protocol::scenario_element::ScenarioElement;
use crate::protocol::{Edition, Protocol};
use crate::trace::{End, Event};

use super::api::{ActExample, ActForm};
use super::examples::add;

/// What the values of examples are drawn from.
const SEED: u64 = 1;

/// How many wrong messages there are of each type.
const WRONG: usize = 3;

/// What is said of a message that is wrong on purpose.
const ON_PURPOSE: &str = "tried in the inspector";

/// Parameters that name what is there in a conversation, and not where the example is used.
const NAMES: [&str; 4] = ["as", "on", "over", "created_by"];

/// What is known of a verb of scenarios from the messages that it sends.
#[derive(Default)]
pub struct VerbSamples {
    /// Of each type of message an example that is right, and some in which one thing is wrong.
    pub examples: Vec<ActExample>,
    /// The types of messages that it names, with the schema of what they hold.
    pub forms: Vec<ActForm>,
}

/// Examples of the steps of the side opposite `subject`, and their forms, by the verb.
pub fn samples(
    protocol: &'static Protocol,
    edition: &'static dyn Edition,
    subject: End,
) -> BTreeMap<&'static str, VerbSamples> {
    let mut samples: BTreeMap<&str, VerbSamples> = BTreeMap::new();
    let Ok(checker) = SoundnessChecker::new(protocol, edition, SEED) else { return samples };
    for message in checker.types() {
        if message.sender == subject || matches!(message.carrier, Carrier::File { .. }) {
            continue;
        }
        let example = checker.example(&message.name);
        let name = message.name.trim_end_matches(".request").to_owned();
        let mut keep = |name: String, wrong: bool, turns: &[SampleStep]| {
            let Some((verb, mut params)) = last_step(edition, subject, turns) else { return };
            if wrong {
                params.insert("deliberate".to_owned(), ON_PURPOSE.into());
            }
            add(&mut samples.entry(verb).or_default().examples, ActExample { name, wrong, params });
        };
        keep(name.clone(), false, &checker.conversation(message, &example));
        let mutants = checker.generator(&message.name).map(|generator| generator.mutants(&example)).unwrap_or_default();
        for mutant in spread(&mutants) {
            let wrong = format!("{name}: {} at {}", mutant.detail, place(&mutant.pointer));
            keep(wrong, true, &checker.conversation(message, &mutant.value));
        }
        // With everything in it, so that nothing is left out which is empty.
        let full = checker.generator(&message.name).and_then(|all| all.valid(&mut Choices::preset(Preset::Full, SEED)));
        if let (Some(full), Some(schema)) = (full, &message.schema)
            && let Some((verb, params)) = last_step(edition, subject, &checker.conversation(message, &full))
            && let Some(form) = form(&name, &params, &full, schema)
        {
            samples.entry(verb).or_default().forms.push(form);
        }
    }
    samples
}

/// The form of a type of message, from the parameters of a step that sends `body`; none where they do not name the type, or hold
/// nothing of the body as it is.
fn form(name: &str, params: &Map<String, Value>, body: &Value, schema: &Value) -> Option<ActForm> {
    let (by, _) = params.iter().find(|(by, value)| *value == name && !NAMES.contains(&by.as_str()))?;
    params.iter().filter(|(_, value)| value.is_object()).find_map(|(of, value)| {
        let schema = schema_of_part(schema, schema, body, value)?;
        Some(ActForm { by: by.clone(), name: name.to_owned(), of: of.clone(), schema })
    })
}

/// The schema of this part of a body, with the definitions that it needs.
fn schema_of_part(root: &Value, schema: &Value, body: &Value, part: &Value) -> Option<Value> {
    let reference = schema["$ref"].as_str().and_then(|place| root.pointer(place.strip_prefix('#')?));
    let schema = reference.unwrap_or(schema);
    if body == part {
        let mut schema = schema.clone();
        if let Some(definitions) = root.get("definitions") {
            schema["definitions"] = definitions.clone();
        }
        return Some(schema);
    }
    let members = body.as_object()?;
    members.iter().find_map(|(key, inner)| schema_of_part(root, schema["properties"].get(key)?, inner, part))
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the top" } else { pointer }
}

/// A few of many, from all of them.
fn spread<T>(all: &[T]) -> impl Iterator<Item = &T> {
    all.iter().step_by(all.len().div_ceil(WRONG).max(1))
}

/// The last step of our side in a conversation.
fn last_step(
    edition: &'static dyn Edition,
    subject: End,
    turns: &[SampleStep],
) -> Option<(&'static str, Map<String, Value>)> {
    let events: Vec<Event> = events(turns).into_iter().map(|(event, _)| event).collect();
    step_at(edition, subject, &events, None)
}

/// The step of our side that these events of one connection show last; `from`: only one that an event from this number on shows.
pub fn step_at(
    edition: &'static dyn Edition,
    subject: End,
    events: &[Event],
    from: Option<u64>,
) -> Option<(&'static str, Map<String, Value>)> {
    let mut to_scenario = edition.to_scenario(subject);
    let mut elements: Vec<ScenarioElement> = events.iter().flat_map(|event| to_scenario.event(event)).collect();
    if from.is_none() {
        elements.extend(to_scenario.end());
    }
    elements.into_iter().rev().find_map(|element| match element {
        ScenarioElement::Step { index, verb, args, .. } if from.is_none_or(|from| index >= from) => Some((verb, args)),
        _ => None,
    })
}

/// Parameters without the names of what was there, as far as the schema can do without. The id of a request is given by the
/// connection, unless `keep_id` says that it is the point.
pub fn without_names(mut params: Map<String, Value>, schema: &Value, keep_id: bool) -> Map<String, Value> {
    let needed =
        |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|needed| needed == name));
    if !keep_id && !needed("id") {
        params.shift_remove("id");
    }
    // An id that is given needs a label.
    let labelled = params.contains_key("id") && !needed("id");
    params.retain(|name, _| needed(name) || !NAMES.contains(&name.as_str()) || name == "as" && labelled);
    params
}

#[cfg(test)]
mod tests {
    use crate::protocol::protocols;

    use super::*;

    #[test]
    fn every_edition_has_examples_right_and_wrong_of_what_clients_send() {
        for protocol in protocols() {
            for edition in protocol.editions {
                let samples = samples(protocol, *edition, End::Server);
                let all: Vec<&ActExample> = samples.values().flat_map(|verb| &verb.examples).collect();
                let wrong = all.iter().filter(|example| example.wrong).count();
                assert!(wrong > 0 && wrong < all.len(), "{} {edition}: {all:#?}", protocol.name);
                assert!(samples.contains_key("request"), "{} {edition}: {:?}", protocol.name, samples.keys());
            }
        }
    }

    #[test]
    fn what_a_message_holds_has_a_form_of_its_own() {
        for (name, named, holds) in [
            ("amp", ["readFile", "openURI"], ["path", "uri"]),
            ("openctx", ["mentions", "annotations"], ["query", "content"]),
            ("amplifier", ["createSession", "submitPrompt"], ["profile", "prompt"]),
        ] {
            let protocol = protocols().iter().find(|protocol| protocol.name == name).unwrap();
            for edition in protocol.editions {
                let samples = samples(protocol, *edition, End::Server);
                for (message, member) in named.into_iter().zip(holds) {
                    let form = samples["request"].forms.iter().find(|form| form.name == message);
                    let form = form.unwrap_or_else(|| panic!("{name} {edition}: no form of {message}"));
                    assert!(form.schema["properties"][member].is_object(), "{name} {edition}: {form:#?}");
                    let example = samples["request"].examples.iter().find(|e| e.name == message).unwrap();
                    let validator = jsonschema::draft7::new(&form.schema).unwrap();
                    let empty = Value::Object(Map::new());
                    assert!(validator.is_valid(example.params.get(&form.of).unwrap_or(&empty)), "{example:?}");
                }
            }
        }
    }
}
