//! The keys of a subject file, one list for checking, errors and the schema; and the JSON Schema (draft-07) of subject
//! files, for completion and checking in editors.

use serde_json::{Map, Value, json};

use crate::format::Shape;
use crate::protocol::{Role, protocols};

use super::command::{ALL_PARAMS, PLACEHOLDERS};
use super::described;

/// The schema. It knows the roles, editions, stimuli and capabilities that there are.
pub fn schema() -> Value {
    let subject = subject();
    let mut properties = properties(SUBJECT, &subject);
    properties.extend(described::keys().map(|(key, doc)| (key.to_owned(), json!({"description": doc}))));
    let mut one = object(properties.clone());
    one["title"] = "a subject".into();
    one["required"] = json!(["role"]);
    one["oneOf"] = json!([
        {"title": "started by wirecert", "required": ["launch"]},
        {"title": "running already, at a URL", "required": ["url"]},
        {"title": "running already, with this lockfile", "required": ["lockfile"]},
        {"title": "a JavaScript module", "required": ["module"]}
    ]);
    one["allOf"] = by_role();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "wirecert.yaml",
        "description": "The subject that wirecert is to certify, or several of them.",
        "definitions": {"subject": one},
        "if": {"required": ["subjects"]},
        "then": {
            "type": "object",
            "properties": {"subjects": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/subject"}}},
            "additionalProperties": false
        },
        "else": {"$ref": "#/definitions/subject"}
    })
}

/// What each key of a subject may be.
fn subject() -> impl Fn(&str) -> Value {
    let roles: Vec<&str> = super::resolve::roles().collect();
    let mut editions: Vec<&str> = protocols().iter().flat_map(|p| p.edition_ids()).collect();
    editions.push("auto");
    move |key| match key {
        "role" => json!({"enum": roles}),
        "edition" => json!({"enum": editions}),
        "launch" => command(&[]),
        "ready" => object(properties(READY, &|key| if key == "lockfile" { json!({"const": true}) } else { time() })),
        "observe" => time(),
        "isolation" => json!({"enum": ["run", "scenario"]}),
        "snapshot_strength" => json!({"enum": ["exact", "shape"]}),
        "stop" => object(properties(STOP, &|key| match key {
            "signal" => json!({"enum": SIGNALS}),
            "command" => command(&[]),
            _ => time(),
        })),
        "env" => json!({"type": "object", "additionalProperties": {"type": ["string", "null"]}}),
        "home" | "files" => {
            let mut means = object(properties(CONTENT, &|_| text()));
            means["minProperties"] = 1.into();
            means["maxProperties"] = 1.into();
            json!({"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, means]}})
        }
        "stimuli" => json!({"type": "object", "additionalProperties": command(&[])}),
        "missing" => json!({"type": "array", "items": {"type": "string"}}),
        "timeouts" => object(properties(TIMEOUTS, &|_| time())),
        "limits" => object(properties(LIMITS, &|_| json!({"type": ["integer", "string"], "minimum": 0}))),
        _ => text(),
    }
}

/// What follows from a subject's role: its editions, stimuli and capabilities.
fn by_role() -> Value {
    let mut rules = vec![];
    for protocol in protocols() {
        let mut editions: Vec<&str> = protocol.edition_ids().collect();
        editions.push("auto");
        for role in protocol.roles {
            let stimuli: Map<String, Value> =
                (role.stimuli)().iter().map(|verb| (verb.name.to_owned(), stimulus(verb.doc, &verb.shape))).collect();
            let mut keys = json!({
                "edition": {"enum": editions},
                "stimuli": object(stimuli),
                "missing": {"items": {"oneOf": capabilities(role)}}
            });
            for (key, _) in described::keys() {
                let field = (role.described)().iter().find(|field| field.name == key);
                keys[key] = field.map_or(json!(false), described::described);
            }
            rules.push(json!({
                "if": {"properties": {"role": {"const": role.name}}},
                "then": {"properties": keys}
            }));
        }
    }
    rules.into()
}

fn capabilities(role: &Role) -> Vec<Value> {
    let one = |(name, about): &(&str, &str)| json!({"const": name, "description": format!("It {about}.")});
    role.capabilities.iter().map(one).collect()
}

fn stimulus(doc: &str, shape: &Shape) -> Value {
    let mut params: Vec<Key> = shape.fields().iter().map(|field| (field.name, field.doc)).collect();
    params.push(ALL_PARAMS);
    let mut schema = command(&params);
    let list: String = params.iter().map(|(name, doc)| format!("\n`{{{name}}}`: {doc}")).collect();
    schema["description"] = format!("{doc}{list}").into();
    schema
}

fn command(params: &[Key]) -> Value {
    let names = params.iter().chain(PLACEHOLDERS).map(|(name, _)| format!("{{{name}}}")).collect::<Vec<_>>();
    json!({
        "type": "array",
        "minItems": 1,
        "items": {"type": "string", "description": format!("May hold {}.", names.join(" "))}
    })
}

fn properties(keys: &[Key], of: &dyn Fn(&str) -> Value) -> Map<String, Value> {
    let described = |(name, doc): &Key| {
        let mut schema = of(name);
        schema["description"] = (*doc).into();
        ((*name).to_owned(), schema)
    };
    keys.iter().map(described).collect()
}

fn object(properties: Map<String, Value>) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn time() -> Value {
    json!({"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(us|ms|s|m|h)$"})
}

fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

/// A key and what it means.
pub(super) type Key = (&'static str, &'static str);

/// Of a subject.
pub(super) const SUBJECT: &[Key] = &[
    ("name", "Its name in reports; the program's name where not said."),
    ("role", "What it is, such as `amp-server`."),
    ("edition", "The edition to judge it by, or `auto` (where not said): the one that it is seen to speak."),
    ("launch", "The command that starts it, one string for each argument; no shell."),
    (
        "url",
        "Where it runs already, instead of `launch`; `running`: wherever one is found through the user's data home.",
    ),
    ("lockfile", "The lockfile of one that runs already, instead of `launch`."),
    ("module", "The JavaScript file that it is, instead of `launch`: Node loads it."),
    ("settings", "The JSON file of the settings that it is given where a request does not say its own."),
    (
        "workspace",
        "The folder that one that runs already has open; without it, scenarios that touch files are skipped.",
    ),
    ("ready", "When it counts as started."),
    ("isolation", "`run`: scenarios share a process; `scenario`: each has its own."),
    ("observe", "For how long a client that cannot be driven is watched."),
    ("stop", "How it is stopped."),
    ("env", "Environment variables for it, with the last word; null removes one."),
    ("home", "Files to be in its home folder before it starts: path and content."),
    ("files", "Files to be in its workspace before it starts: path and content."),
    ("stimuli", "Commands that make it do something from outside."),
    ("missing", "Capabilities that it does not claim: what they ask for is excused."),
    ("baseline", "The file of its known violations."),
    ("timeouts", "How long to wait for what."),
    ("limits", "How much of it to keep."),
    ("snapshots", "The folder of its snapshots; they are compared only where this is said."),
    ("snapshot_strength", "How much of a trace its snapshots keep: `exact` (every value) or `shape` (keys and types)."),
    ("trace_dir", "The folder to keep traces in."),
];

/// Of `ready`.
pub(super) const READY: &[Key] = &[
    ("lockfile", "Always true: it is ready once its lockfile can be used and its port accepts."),
    ("within", "How long that may take; 10s."),
];

/// Of `stop`.
pub(super) const STOP: &[Key] = &[
    ("signal", "The signal to its process group: TERM (where not said), INT, HUP or KILL."),
    ("command", "A command to run instead."),
    ("within", "How long it may take before it is killed; 5s."),
];

/// The signals that can stop a subject.
pub(super) const SIGNALS: [&str; 4] = ["TERM", "INT", "HUP", "KILL"];

/// Of `timeouts`.
pub(super) const TIMEOUTS: &[Key] = &[
    ("expect", "How long to wait for what the protocol obliges it to do; 12s for a server reached by HTTP, else 5s."),
    ("stimulus", "How long a stimulus's command may take; 10s."),
    ("silence", "How long nothing comes where a client has to bear that; 6s."),
    ("longest", "The longest wait, also where a scenario has more patience, as with an agent that works; none."),
];

/// Of `limits`.
pub(super) const LIMITS: &[Key] = &[
    ("output", "How much of each output stream is kept in a trace; 64KiB."),
    ("file", "The largest file that is looked at; 16MiB."),
];

/// Of a file that is given by other means than its text.
pub(super) const CONTENT: &[Key] =
    &[("hex", "Its bytes, as hexadecimal digits."), ("file", "A file to copy, beside the subject file.")];
