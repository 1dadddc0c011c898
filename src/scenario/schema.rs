//! The JSON Schema (draft-07) of scenario files, from which editors complete and check them while one types.
//!
//! It is generated from the same words and shapes that files are checked by. It says less than the checker does:
//! names, variables and what goes with what are beyond a schema.

use serde_json::{Map, Value, json};

use crate::format::{Field, SchemaWriter, Shape};
use crate::matcher::words;
use crate::protocol::{self, ObservationKind, Protocol, Role, Verb};

use super::language::{self, COLLECT, EXPECT, Keyword, MAX_TIMES, NEVER, PART, STEPS, TOP, VERSION};
use super::values;

/// The schema of scenario files of one role, or of all roles.
pub fn schema(role: Option<&Role>) -> Value {
    let roles: Vec<(&Protocol, &Role)> = protocol::protocols()
        .iter()
        .flat_map(|p| p.roles.iter().map(move |r| (*p, r)))
        .filter(|(_, r)| role.is_none_or(|wanted| wanted.name == r.name))
        .collect();
    let mut definitions = Map::new();
    definitions.insert("pattern".into(), pattern());
    definitions.insert("duration".into(), duration());
    definitions.insert("variables".into(), variables());
    definitions.insert("name".into(), json!({"type": "string", "minLength": 1}));
    definitions.insert("proves".into(), proves());
    for (_, role) in &roles {
        let step = format!("{}.step", role.name);
        definitions.insert(step, one_key("A step", steps(role)));
        definitions.insert(format!("{}.observation", role.name), one_key("An observation", observations(role)));
    }
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A wirecert scenario",
        "description": "Plays one situation at a subject and says what must come of it.",
        "type": "object",
        "properties": top(&roles),
        "required": ["wirecert", "title", "role", "edition", "steps"],
        "additionalProperties": false,
    });
    let by_role: Vec<Value> = roles.iter().map(|(protocol, role)| of_role(protocol, role)).collect();
    schema["allOf"] = Value::Array(by_role);
    schema["definitions"] = Value::Object(definitions);
    schema
}

/// A reference to a definition.
fn defined(name: &str) -> Value {
    json!({"$ref": format!("#/definitions/{name}")})
}

/// A schema with a title and a description.
fn described(mut schema: Value, title: &str, doc: &str) -> Value {
    // Beside `$ref`, draft-07 ignores every other key.
    if schema.get("$ref").is_some() {
        schema = json!({"allOf": [schema]});
    }
    schema["title"] = title.into();
    schema["description"] = doc.into();
    schema
}

/// A map with exactly one key: each alternative with its title, so that editors show it.
fn one_key(title: &str, alternatives: Vec<(&str, &str, Value)>) -> Value {
    let names: Vec<&str> = alternatives.iter().map(|(name, _, _)| *name).collect();
    let properties: Map<String, Value> =
        alternatives.into_iter().map(|(name, doc, value)| (name.to_owned(), described(value, name, doc))).collect();
    json!({
        "title": title,
        "description": format!("A map of one key: {}.", names.join(", ")),
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1,
    })
}

fn doc(words: &[Keyword], name: &str) -> &'static str {
    words.iter().find(|w| w.name == name).map_or("", |w| w.doc)
}

/// Properties for keywords: each with its documentation.
fn properties(words: &[Keyword], schemas: &[(&str, Value)]) -> Map<String, Value> {
    schemas.iter().map(|(name, s)| ((*name).to_owned(), described(s.clone(), name, doc(words, name)))).collect()
}

fn top(roles: &[(&Protocol, &Role)]) -> Map<String, Value> {
    let names: Vec<&str> = roles.iter().map(|(_, r)| r.name).collect();
    let text = json!({"type": "string", "minLength": 1});
    properties(
        TOP,
        &[
            ("wirecert", json!({"const": VERSION})),
            ("title", text.clone()),
            ("description", text.clone()),
            ("role", json!({"enum": names})),
            ("edition", json!({"anyOf": [text.clone(), {"type": "array", "items": text, "minItems": 1}]})),
            ("requires", json!({"type": "array", "items": {"type": "string"}})),
            ("isolation", json!({"enum": ["own"]})),
            ("timeout", defined("duration")),
            ("vars", defined("variables")),
            ("by_edition", json!({"type": "object", "additionalProperties": defined("variables")})),
            ("cases", json!({"type": "object", "additionalProperties": defined("variables"), "minProperties": 1})),
            ("workspace", json!({"type": "object", "additionalProperties": file()})),
            ("steps", json!({"type": "array", "minItems": 1})),
            ("finally", json!({"type": "array"})),
        ],
    )
}

/// What only files of this role may and must say.
fn of_role(protocol: &Protocol, role: &Role) -> Value {
    let editions: Vec<&str> = protocol.edition_ids().collect();
    let mut needs = ["workspace", "case_sensitive", "process"].map(str::to_owned).to_vec();
    if role.is_client() {
        needs.push("observed".to_owned());
    }
    if !role.is_client() {
        needs.push("settings".to_owned());
    }
    needs.extend((role.stimuli)().iter().map(|s| format!("stimulus:{}", s.name)));
    needs.extend(role.capabilities.iter().map(|(name, _)| format!("capability:{name}")));
    needs.extend(language::described(role).map(|path| format!("described:{path}")));
    let edition = json!({"enum": editions});
    let step = defined(&format!("{}.step", role.name));
    json!({
        "if": {"properties": {"role": {"const": role.name}}, "required": ["role"]},
        "then": {"properties": {
            "edition": {"anyOf": [edition.clone(), {"type": "array", "items": edition, "uniqueItems": true}]},
            "by_edition": {"propertyNames": {"enum": editions}},
            "requires": {"items": {"anyOf": [{"enum": needs}, {"pattern": "\\$\\{"}]}},
            "steps": {"items": step.clone()},
            "finally": {"items": step},
        }},
    })
}

fn steps(role: &Role) -> Vec<(&'static str, &'static str, Value)> {
    let observation = format!("{}.observation", role.name);
    let mut all: Vec<(&str, &str, Value)> = STEPS
        .iter()
        .map(|word| {
            let value = match word.name {
                "expect" => expect(role, &observation),
                "never" => never(role),
                "collect" => collect(role, &observation),
                "barrier" => closed(properties(PART, &[("on", defined("name"))]), &[]),
                "stimulate" => one_key("A stimulus", verbs((role.stimuli)())),
                "set" => defined("variables"),
                _ => repeat(role),
            };
            (word.name, word.doc, value)
        })
        .collect();
    all.extend(verbs(role.every_verb()));
    all
}

fn verbs(verbs: impl IntoIterator<Item = &'static Verb>) -> Vec<(&'static str, &'static str, Value)> {
    verbs.into_iter().map(|v| (v.name, v.doc, writer().shape(&v.shape))).collect()
}

/// A map with these keys and no others.
fn closed(properties: Map<String, Value>, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn kinds(role: &Role) -> impl Iterator<Item = &'static ObservationKind> + use<> {
    role.every_observation()
}

fn observations(role: &Role) -> Vec<(&'static str, &'static str, Value)> {
    kinds(role).map(|k| (k.name, k.doc, observation(k))).collect()
}

fn observation(kind: &ObservationKind) -> Value {
    let mut known = fields(kind.selectors);
    known.extend(fields(kind.fields));
    known.extend(properties(PART, &[("exact", json!({"type": "boolean"})), ("again", json!({"type": "boolean"}))]));
    if kind.on_connection {
        known.extend(properties(PART, &[("on", defined("name"))]));
    }
    let required: Vec<&str> = kind.selectors.iter().filter(|f| f.required).map(|f| f.name).collect();
    closed(known, &required)
}

/// A map with one observation, or one of `groups`, and other keys.
fn with_observation(
    role: &Role,
    groups: Vec<(&'static str, Value)>,
    others: Map<String, Value>,
    required: &[&str],
) -> Value {
    let mut known: Map<String, Value> =
        kinds(role).map(|k| (k.name.to_owned(), described(observation(k), k.name, k.doc))).collect();
    for (name, value) in groups {
        known.insert(name.to_owned(), described(value, name, doc(EXPECT, name)));
    }
    let one: Vec<Value> = known.keys().map(|name| json!({"required": [name]})).collect();
    known.extend(others);
    let mut schema = closed(known, required);
    schema["oneOf"] = Value::Array(one);
    schema
}

fn expect(role: &Role, observation: &str) -> Value {
    let all_of = json!({"type": "array", "minItems": 1, "items": defined(observation)});
    let note = json!({"note": {
        "title": "note",
        "description": "The reading of the document that this outcome stands for; told when it is taken.",
        "type": "string",
    }});
    let note = note.as_object().cloned().unwrap_or_default();
    let outcome = with_observation(role, vec![("all_of", all_of.clone())], note, &[]);
    let any_of = json!({"type": "array", "minItems": 1, "items": described(outcome, "outcome", "One whole outcome.")});
    let needed = json!({"type": "boolean"});
    let others =
        properties(EXPECT, &[("proves", defined("proves")), ("within", defined("duration")), ("needed", needed)]);
    with_observation(role, vec![("all_of", all_of), ("any_of", any_of)], others, &[])
}

/// `barrier`, or a quiet time.
fn quiet() -> Vec<Value> {
    vec![
        json!({"title": "barrier", "description": "Once the subject has handled all that was sent.", "const": "barrier"}),
        described(defined("duration"), "quiet time", "After so long without one."),
    ]
}

fn never(role: &Role) -> Value {
    let others = properties(NEVER, &[("until", json!({"anyOf": quiet()})), ("proves", defined("proves"))]);
    with_observation(role, vec![], others, &["until"])
}

fn collect(role: &Role, observation: &str) -> Value {
    let mut until = quiet();
    until.push(defined(observation));
    let join = closed(
        properties(COLLECT, &[("path", json!({"type": "string", "pattern": "^/"})), ("is", defined("pattern"))]),
        &["path", "is"],
    );
    let pattern = defined("pattern");
    let others = properties(
        COLLECT,
        &[
            ("until", json!({"anyOf": until})),
            ("each", pattern.clone()),
            ("first", pattern.clone()),
            ("last", pattern.clone()),
            ("count", pattern),
            ("join", join),
            ("as", defined("name")),
            ("proves", defined("proves")),
            ("within", defined("duration")),
        ],
    );
    with_observation(role, vec![], others, &["until"])
}

fn repeat(role: &Role) -> Value {
    let step = defined(&format!("{}.step", role.name));
    json!({
        "type": "object",
        "properties": {
            "times": {
                "title": "times",
                "description": "How many times.",
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_TIMES,
            },
            "each": {
                "title": "each",
                "description": "What `${each}` is each time.",
                "anyOf": [
                    {"type": "array", "minItems": 1},
                    {"oneOf": values::CLASSES.iter().map(|class| json!({"const": class.name, "description": class.doc})).collect::<Vec<_>>()},
                ],
            },
            "steps": {"title": "steps", "description": "What to do each time.", "type": "array", "minItems": 1, "items": step},
        },
        "required": ["steps"],
        "oneOf": [{"required": ["times"]}, {"required": ["each"]}],
        "additionalProperties": false,
    })
}

fn file() -> Value {
    json!({"anyOf": [
        {"title": "text", "description": "Its text.", "type": "string"},
        {
            "title": "repeated text",
            "description": "A text, so many times over.",
            "type": "object",
            "properties": {
                "text": {"title": "text", "description": "The text.", "type": "string"},
                "times": {"title": "times", "description": "How many times.", "type": "integer", "minimum": 1},
            },
            "required": ["text"],
            "additionalProperties": false,
        },
        {
            "title": "bytes",
            "description": "Bytes, as hexadecimal digits.",
            "type": "object",
            "properties": {"hex": hex("hex", "The digits.")},
            "required": ["hex"],
            "additionalProperties": false,
        },
    ]})
}

fn duration() -> Value {
    json!({
        "title": "time",
        "description": "A number and a unit: us, ms, s, m or h.",
        "type": "string",
        "pattern": "^[0-9.]+(us|ms|s|m|h)$|\\$\\{",
    })
}

fn variables() -> Value {
    let names: Vec<&str> = language::names(language::VARIABLES);
    json!({
        "title": "variables",
        "description": "Name → value.",
        "type": "object",
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_-]*$", "not": {"enum": names}},
    })
}

fn proves() -> Value {
    let name = json!({"type": "string", "pattern": "/"});
    let names = json!({"anyOf": [name.clone(), {"type": "array", "items": name}]});
    let mut any = names["anyOf"].as_array().cloned().unwrap_or_default();
    any.push(json!({"type": "object", "additionalProperties": names}));
    json!({"anyOf": any})
}

fn pattern() -> Value {
    let mut alternatives: Vec<Value> = words()
        .iter()
        .map(|word| {
            json!({
                "title": word.name,
                "description": word.doc,
                "type": "object",
                "properties": {word.name: (word.argument)()},
                "required": [word.name],
                "additionalProperties": false,
            })
        })
        .collect();
    alternatives.push(json!({
        "title": "object",
        "description": "An object with these keys; others are free.",
        "type": "object",
        "propertyNames": {"not": {"pattern": "^\\$"}},
        "additionalProperties": defined("pattern"),
    }));
    alternatives.push(json!({
        "title": "list",
        "description": "A list of these items in this order.",
        "type": "array",
        "items": defined("pattern"),
    }));
    alternatives.push(json!({
        "title": "value",
        "description": "This value; `${name}` stands for a variable.",
        "type": ["string", "number", "boolean", "null"],
    }));
    json!({"title": "pattern", "description": "What a value must look like.", "anyOf": alternatives})
}

/// Makes the schemas of shapes. A string with a variable may stand for any scalar.
fn writer() -> SchemaWriter {
    let special = |shape: &Shape| match shape {
        Shape::Pattern => Some(defined("pattern")),
        Shape::Duration => Some(defined("duration")),
        Shape::Binds(_) | Shape::Bound(_) => Some(defined("name")),
        Shape::Hex => Some(hex("hex", "Hexadecimal digits, two a byte.")),
        Shape::Bool | Shape::Integer { .. } | Shape::Choice(_) | Shape::Name(..) | Shape::Described(..) => {
            Some(or_variable(SchemaWriter::default().shape(shape)))
        }
        _ => None,
    };
    SchemaWriter { special: Some(special), ..SchemaWriter::default() }
}

/// The properties of fields, each with its documentation.
fn fields(of: &[Field]) -> Map<String, Value> {
    writer().properties(of)
}

/// Bytes as hexadecimal digits.
fn hex(title: &str, doc: &str) -> Value {
    let pattern = "^\\s*([0-9a-fA-F]{2}\\s*)*$|\\$\\{";
    json!({"title": title, "description": doc, "type": "string", "pattern": pattern})
}

fn or_variable(schema: Value) -> Value {
    json!({"anyOf": [schema, {"title": "variable", "description": "`${name}`", "type": "string", "pattern": "\\$\\{"}]})
}
