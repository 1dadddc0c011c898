//! An edition as a reference for people, in Markdown.

use serde_json::Value;

use crate::protocol::sample::{Carrier, MessageType};
use crate::protocol::{ChannelKind, Requirement};
use crate::trace::End;

use super::{Described, call};

/// So deep the members of members are listed.
const DEPTH: usize = 5;

/// The reference: roles, requests and connections, the members of every message, and the requirements by area.
pub fn markdown(described: &Described) -> String {
    let mut page = Page { text: String::new(), described };
    page.line(&format!("# {}", described.title()));
    page.line("");
    page.line(&described.about());
    page.roles();
    page.transport();
    page.messages();
    page.requirements();
    page.text
}

struct Page<'a> {
    text: String,
    described: &'a Described,
}

impl Page<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn heading(&mut self, text: &str) {
        self.line("");
        self.line(text);
        self.line("");
    }

    fn roles(&mut self) {
        self.heading("## Roles");
        for role in self.described.protocol.roles {
            self.line(&format!("- `{}`, the {}: {}", role.name, end(role.subject), role.about));
        }
    }

    fn transport(&mut self) {
        let described = self.described;
        let requests = described.messages.iter().filter_map(|message| match &message.carrier {
            Carrier::RequestBody { method, target } => Some((message, method, target)),
            _ => None,
        });
        let requests: Vec<_> = requests.collect();
        if !requests.is_empty() {
            self.heading("## Requests");
            self.line("| request | method and path | query | response |");
            self.line("|---|---|---|---|");
            for (message, method, target) in requests {
                let query: Vec<String> = described
                    .edition
                    .query(&message.name)
                    .iter()
                    .map(|p| format!("`{}`: {}", p.name, p.about))
                    .collect();
                let own = |m: &&MessageType| m.answers.len() == 1 && m.answers[0] == message.name;
                let response = described.messages.iter().find(own).map(|m| match m.carrier {
                    Carrier::ResponseBody { status } => format!("{status}, `{}`", m.name),
                    _ => format!("`{}`", m.name),
                });
                let (name, response) = (call(&message.name), response.unwrap_or_default());
                self.line(&format!("| `{name}` | `{method} {target}` | {} | {response} |", query.join("<br>")));
            }
        }
        let channels = described.edition.channels();
        if !channels.is_empty() {
            self.heading("## Connections");
            for channel in channels {
                let kind = match channel.kind {
                    ChannelKind::WebSocket => "WebSocket",
                    ChannelKind::EventStream => "event stream",
                };
                self.line(&format!("- {kind} at `{}`. {}", channel.path, channel.about));
                for parameter in channel.query {
                    let due = if parameter.required { "always there" } else { "may be missing" };
                    self.line(&format!("  - `{}` in the query, {due}: {}", parameter.name, parameter.about));
                }
            }
        }
    }

    fn messages(&mut self) {
        self.heading("## Messages");
        self.line("A member that is marked with * is always there; where a message has several forms, in the form that has it.");
        for message in &self.described.messages {
            self.heading(&format!("### `{}`", message.name));
            self.line(&format!("{}. From the {}, {}.", message.about, end(message.sender), carrier(&message.carrier)));
            let mut members = vec![];
            if let Some(schema) = self.described.schema(message) {
                add_members("", &schema, &schema, DEPTH, &mut members);
            }
            if !members.is_empty() {
                self.line("");
                self.line("| member | value |");
                self.line("|---|---|");
                members.iter().for_each(|(path, value)| self.line(&format!("| {path} | {} |", cell(value))));
            }
        }
    }

    fn requirements(&mut self) {
        self.heading("## Requirements");
        let all: Vec<&Requirement> = self.described.requirements().collect();
        let mut areas: Vec<&str> = vec![];
        for requirement in &all {
            if !areas.contains(&requirement.area()) {
                areas.push(requirement.area());
            }
        }
        for area in areas {
            self.heading(&format!("### {area}"));
            self.line("| id | level | binds the | statement | source |");
            self.line("|---|---|---|---|---|");
            for requirement in all.iter().filter(|requirement| requirement.area() == area) {
                let why = match requirement.why {
                    "" => String::new(),
                    why => format!(" {}", cell(why)),
                };
                let source = format!("{}, {}", requirement.source.document, requirement.source.section);
                self.line(&format!(
                    "| `{}` | {} | {} | {}{why} | {} |",
                    requirement.id,
                    requirement.level.as_str(),
                    end(requirement.binds),
                    cell(requirement.statement),
                    cell(&source),
                ));
            }
        }
    }
}

fn end(end: End) -> &'static str {
    match end {
        End::Client => "client",
        End::Server => "server",
    }
}

fn carrier(carrier: &Carrier) -> String {
    match carrier {
        Carrier::WebSocketText {} => "as a text message of a WebSocket".to_owned(),
        Carrier::RequestBody { method, target } => format!("by `{method} {target}`"),
        Carrier::ResponseBody { status } if *status >= 400 => {
            "as the body of a response with a status from 400 to 599".to_owned()
        }
        Carrier::ResponseBody { status } => format!("as the body of a response with the status {status}"),
        Carrier::EventData {} => {
            "as the data of an event in an event stream, or a text message of a WebSocket".to_owned()
        }
        Carrier::File { path } => format!("as the content of the file `{path}` below the data home"),
    }
}

/// The members of an object with what they may be, those of members behind them. `root`: what has the definitions.
fn add_members(path: &str, schema: &Value, root: &Value, depth: usize, found: &mut Vec<(String, String)>) {
    let schema = resolved(schema, root);
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (key, member) in schema["properties"].as_object().into_iter().flatten() {
        let member = resolved(member, root);
        let star = if required.contains(&key.as_str()) { " *" } else { "" };
        let list = if member.get("items").is_some() { "[]" } else { "" };
        let place = format!("{path}{key}{list}");
        found.push((format!("`{place}`{star}"), words(member, root)));
        if depth > 1 {
            let inside = member.get("items").unwrap_or(member);
            add_members(&format!("{place}."), inside, root, depth - 1, found);
        }
    }
    for part in ["oneOf", "anyOf", "allOf"].iter().filter_map(|key| schema[*key].as_array()).flatten() {
        add_members(path, part, root, depth, found);
    }
    if let Some(items) = schema.get("items").filter(|_| path.is_empty()) {
        add_members("[].", items, root, depth, found);
    }
}

/// What a reference inside of a schema leads to; the schema itself where it is none.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
    reference.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// What a schema allows, in a few words.
fn words(schema: &Value, root: &Value) -> String {
    let schema = resolved(schema, root);
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    }
    let mut text = match &schema["type"] {
        Value::String(kind) if kind == "array" => match schema.get("items") {
            Some(items) => format!("list of: {}", words(items, root)),
            None => "list".to_owned(),
        },
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => {
            if let Some(first) = schema["allOf"].get(0) {
                return words(first, root);
            }
            let parts = ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array());
            let parts = parts.map(|parts| parts.iter().map(|part| words(part, root)).collect::<Vec<_>>());
            match parts {
                Some(mut parts) => {
                    parts.dedup();
                    parts.join(" or ")
                }
                None if schema.get("properties").is_some() => "object".to_owned(),
                None => "any value".to_owned(),
            }
        }
    };
    let bounds = [("minimum", "at least"), ("maximum", "at most"), ("exclusiveMinimum", "greater than")];
    for (key, word) in bounds {
        if let Some(bound) = schema.get(key) {
            text += &format!(", {word} {bound}");
        }
    }
    if schema["minLength"] == 1 || schema["minItems"] == 1 {
        text += ", not empty";
    }
    if let Some(about) = schema["description"].as_str() {
        text += &format!(". {about}");
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('<', "&lt;")
}
