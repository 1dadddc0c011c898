//! The format of `wirecert.yaml`: the type of a subject ([`Subject`]), what its keys may be for each role ([`fields`]), and the
//! JSON Schema.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::diagnostic::yaml::Node;
use crate::format::types::{Command, Hex, Size, Text, Wait};
use crate::format::{Field, SchemaWriter, Shape, fields_of};
use crate::protocol::{Protocol, Role, protocols};

use super::Isolation;
use super::command::{ALL_PARAMS, PLACEHOLDERS};

/// A subject, beside what only those of its role have. Which keys go together depends on the flags.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Subject {
    /// Its name in reports. Default: the program's name.
    pub(super) name: Option<Text>,
    /// What it is, such as `amp-server`.
    // Read before all others, since what they may be depends on it.
    #[serde(rename = "role")]
    #[schemars(extend("enum" = roles().collect::<Vec<_>>(), "x-wirecert-noun" = "role"))]
    _role: Option<String>,
    /// The edition to judge it by, or `auto` (the default): the one that it is seen to speak.
    #[schemars(extend("enum" = editions()))]
    pub(super) edition: Option<String>,
    /// The command that starts it, one string for each argument; no shell.
    pub(super) launch: Option<Command>,
    /// Where it runs already, instead of `launch`; `running`: wherever one is found through the user's data home.
    pub(super) url: Option<Text>,
    /// The lockfile of one that runs already, instead of `launch`.
    pub(super) lockfile: Option<Text>,
    /// The JavaScript file that it is, instead of `launch`: Node loads it.
    pub(super) module: Option<Text>,
    /// The JSON file of the settings that it is given where a request does not say its own.
    pub(super) settings: Option<Text>,
    /// The folder that one that runs already has open; without it, scenarios that touch files are skipped.
    pub(super) workspace: Option<Text>,
    /// When it counts as started.
    pub(super) ready: Option<Ready>,
    /// `run`: scenarios share a process; `scenario`: each has its own.
    pub(super) isolation: Option<Isolation>,
    /// For how long a client that cannot be driven is watched.
    pub(super) observe: Option<Wait>,
    /// How it is stopped.
    pub(super) stop: Option<Stop>,
    /// Whether it runs in a terminal, or the size of that; 24 rows of 80 columns.
    pub(super) pty: Option<Pty>,
    /// Environment variables for it, with the last word; null removes one.
    pub(super) env: Option<BTreeMap<String, Option<String>>>,
    /// Files to be in its home folder before it starts: path and content.
    pub(super) home: Option<Seeds>,
    /// Files to be in its workspace before it starts: path and content.
    pub(super) files: Option<Seeds>,
    /// Commands that make it do something from outside.
    pub(super) stimuli: Option<BTreeMap<String, Command>>,
    /// A socket on which it takes stimuli that have no command.
    pub(super) control: Option<Control>,
    /// Capabilities that it does not claim: what they ask for is excused.
    pub(super) missing: Option<Vec<String>>,
    /// The file of its known violations.
    pub(super) baseline: Option<Text>,
    /// How long to wait for what.
    pub(super) timeouts: Option<Timeouts>,
    /// How much of it to keep.
    pub(super) limits: Option<Limits>,
    /// The folder of its snapshots; they are compared only where this is said.
    pub(super) snapshots: Option<Text>,
    /// How much of a trace its snapshots keep: `exact` (every value) or `shape` (keys and types).
    pub(super) snapshot_strength: Option<SnapshotStrength>,
    /// The folder to keep traces in.
    pub(super) trace_dir: Option<Text>,
}

/// When a subject counts as started.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Ready {
    /// Always true: it is ready once its lockfile can be used and its port accepts.
    pub(super) lockfile: Option<bool>,
    /// How long that may take; 10s.
    pub(super) within: Option<Wait>,
}

/// The terminal that a subject runs in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Pty {
    /// Whether there is one, of the usual size.
    Has(bool),
    /// Its size.
    Size(PtySize),
}

/// The size of a terminal, in characters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct PtySize {
    /// How many lines it has; 24.
    #[schemars(range(min = 1))]
    pub(super) rows: Option<u16>,
    /// How many characters a line has; 80.
    #[schemars(range(min = 1))]
    pub(super) columns: Option<u16>,
}

/// A Unix socket on which a subject takes stimuli: a JSON line for each, answered by one.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Control {
    /// The path of the socket; a relative one begins in the workspace.
    pub(super) socket: Text,
    /// The stimuli that it takes there.
    pub(super) stimuli: Vec<String>,
}

/// How a subject is stopped.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Stop {
    /// The signal to its process group: TERM (the default), INT, HUP or KILL.
    pub(super) signal: Option<Signal>,
    /// A command to run instead.
    pub(super) command: Option<Command>,
    /// How long it may take before it is killed; 5s.
    pub(super) within: Option<Wait>,
}

/// The signals that can stop a subject.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Signal {
    Term,
    Int,
    Hup,
    Kill,
}

/// Files by their paths.
pub(super) type Seeds = BTreeMap<String, SeedContent>;

/// The content of a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum SeedContent {
    /// A text.
    Text(String),
    /// What is given by other means.
    Given(GivenContent),
}

/// The content of a file that is given by other means than its text.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum GivenContent {
    /// Its bytes, as hexadecimal digits.
    Hex(Hex),
    /// A file to copy, beside the subject file.
    File(Text),
}

/// How long to wait for what.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Timeouts {
    /// How long to wait for what the protocol obliges it to do; 12s for a server reached by HTTP, else 5s.
    pub(super) expect: Option<Wait>,
    /// How long a stimulus's command may take; 10s.
    pub(super) stimulus: Option<Wait>,
    /// How long nothing comes where a client has to bear that; 6s.
    pub(super) silence: Option<Wait>,
    /// The longest wait, also where a scenario has more patience, as with an agent that works; none.
    pub(super) longest: Option<Wait>,
}

/// How much of a subject to keep.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Limits {
    /// How much of each output stream is kept in a trace; 64KiB.
    pub(super) output: Option<Size>,
    /// The largest file that is looked at; 16MiB.
    pub(super) file: Option<Size>,
}

/// How much of a trace snapshots keep.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum SnapshotStrength {
    Exact,
    Shape,
}

/// The names of all roles.
pub(super) fn roles() -> impl Iterator<Item = &'static str> + Clone {
    protocols().iter().flat_map(|protocol| protocol.roles.iter().map(|role| role.name))
}

/// The ids of all editions, and `auto`.
fn editions() -> Vec<&'static str> {
    protocols().iter().flat_map(|protocol| protocol.edition_ids()).chain(["auto"]).collect()
}

/// The keys that only subjects of certain roles have.
pub(super) fn role_keys() -> impl Iterator<Item = &'static Field> {
    protocols().iter().flat_map(|protocol| protocol.roles).flat_map(|role| (role.described)())
}

/// The keys that the subject of a node may have. Of those of other roles, the ones that it has are among them: it is said
/// that its role has no such key.
pub(super) fn fields(role: Option<&Role>, node: &Node) -> Vec<Field> {
    let own = role.and_then(|role| BY_ROLE.iter().find(|(name, _)| *name == role.name));
    let mut fields = own.map_or_else(|| fields_of::<Subject>().to_vec(), |(_, fields)| fields.clone());
    for field in role_keys().filter(|field| node.get(field.name).is_some()) {
        if fields.iter().all(|known| known.name != field.name) {
            fields.push(Field { shape: Shape::Any, ..*field });
        }
    }
    fields
}

/// The keys of subjects, by their roles.
static BY_ROLE: LazyLock<Vec<(&str, Vec<Field>)>> = LazyLock::new(|| {
    let roles = protocols().iter().flat_map(|protocol| protocol.roles.iter().map(move |role| (*protocol, role)));
    roles.map(|(protocol, role)| (role.name, fields_of_role(protocol, role))).collect()
});

fn fields_of_role(protocol: &Protocol, role: &Role) -> Vec<Field> {
    let common = fields_of::<Subject>().iter().map(|field| match field.name {
        "edition" => {
            let editions: Vec<&str> = protocol.edition_ids().chain(["auto"]).collect();
            Field { shape: Shape::Choice(editions.leak()), ..*field }
        }
        "missing" => {
            let names: Vec<&str> = role.capabilities.iter().map(|(name, _)| *name).collect();
            let capability: &Shape = Box::leak(Box::new(Shape::Name("capability", names.leak())));
            Field { shape: Shape::List(capability), ..*field }
        }
        _ => *field,
    });
    common.chain((role.described)().iter().copied()).collect()
}

/// The schema. It knows the roles, editions, stimuli and capabilities that there are.
pub fn schema() -> Value {
    let mut subject = SchemaWriter::default().object(fields_of::<Subject>());
    for field in role_keys() {
        subject["properties"][field.name] = json!({"description": field.doc});
    }
    subject["title"] = "a subject".into();
    subject["required"] = json!(["role"]);
    subject["properties"]["ready"]["properties"]["lockfile"]["const"] = true.into();
    for command in ["launch", "stop/properties/command", "stimuli/additionalProperties"] {
        if let Some(words) = subject.pointer_mut(&format!("/properties/{command}/items")) {
            words["description"] = placeholders([]).into();
        }
    }
    subject["oneOf"] = json!([
        {"title": "started by wirecert", "required": ["launch"]},
        {"title": "running already, at a URL", "required": ["url"]},
        {"title": "running already, with this lockfile", "required": ["lockfile"]},
        {"title": "a JavaScript module", "required": ["module"]}
    ]);
    subject["allOf"] = protocols()
        .iter()
        .flat_map(|protocol| protocol.roles.iter().map(move |role| of_role(protocol, role)))
        .collect();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "wirecert.yaml",
        "description": "The subject that wirecert is to certify, or several of them.",
        "definitions": {"subject": subject},
        "if": {"required": ["subjects"]},
        "then": {
            "type": "object",
            "properties": {"subjects": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/subject"}}},
            "additionalProperties": false
        },
        "else": {"$ref": "#/definitions/subject"}
    })
}

/// What follows from a subject's role: its editions, stimuli and capabilities.
fn of_role(protocol: &Protocol, role: &Role) -> Value {
    let stimuli: Map<String, Value> =
        (role.stimuli)().iter().map(|verb| (verb.name.to_owned(), stimulus(verb))).collect();
    let names: Vec<&str> = (role.stimuli)().iter().map(|verb| verb.name).collect();
    let editions: Vec<&str> = protocol.edition_ids().chain(["auto"]).collect();
    let capability = |(name, about): &(&str, &str)| json!({"const": name, "description": format!("It {about}.")});
    let capabilities: Vec<Value> = role.capabilities.iter().map(capability).collect();
    let mut keys = json!({
        "edition": {"enum": editions},
        "stimuli": {"type": "object", "properties": stimuli, "additionalProperties": false},
        "control": {"properties": {"stimuli": {"items": {"enum": names}}}},
        "missing": {"items": {"oneOf": capabilities}}
    });
    for key in role_keys().map(|field| field.name) {
        let field = (role.described)().iter().find(|field| field.name == key);
        keys[key] = field.map_or(json!(false), |field| SchemaWriter::default().property(field));
    }
    json!({"if": {"properties": {"role": {"const": role.name}}}, "then": {"properties": keys}})
}

/// The schema of the command of a stimulus.
fn stimulus(verb: &Field) -> Value {
    let params = || verb.shape.fields().iter().map(|field| (field.name, field.doc)).chain([ALL_PARAMS]);
    let list: String = params().map(|(name, doc)| format!("\n`{{{name}}}`: {doc}")).collect();
    json!({
        "type": "array",
        "minItems": 1,
        "items": {"type": "string", "description": placeholders(params().map(|(name, _)| name))},
        "description": format!("{}{list}", verb.doc)
    })
}

/// What the words of a command may hold: these names and those that every command may.
fn placeholders<'a>(more: impl IntoIterator<Item = &'a str>) -> String {
    let names = more.into_iter().chain(PLACEHOLDERS.iter().map(|(name, _)| *name));
    format!("May hold {}.", names.map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(" "))
}
