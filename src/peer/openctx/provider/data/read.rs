//! From a file that has been checked to what a provider gives.

use std::time::Duration;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::diagnostic::yaml::{self, Node};
use crate::diagnostic::{Diagnostic, Source};
use crate::peer::format::{Checker, span};

use super::super::request::{METHODS, Method};
use super::shape::{FILE, TEXTS};
use super::when::{Condition, When};
use super::{Annotation, Data, Entry, Failure, Needs, Scope};

/// Reads a file.
///
/// # Errors
/// All that is wrong, each with its place.
pub fn read(source: &Source) -> Result<Data, Vec<Diagnostic>> {
    let root = yaml::parse(source)?;
    let mut checker = Checker::new(source);
    checker.check("the file", &root, FILE);
    entries(&root, "annotations").for_each(|entry| one_scope(&mut checker, entry));
    entries(&root, "failures").for_each(|entry| some_effect(&mut checker, entry));
    if checker.faults.is_empty() { Ok(data(&root)) } else { Err(checker.faults) }
}

fn one_scope(checker: &mut Checker<'_>, node: &Node) {
    if let (Some(_), Some(range)) = (node.get("each"), node.get("range")) {
        let message = "an annotation cannot have both `each` and `range`".to_owned();
        checker.fault("data/both", range.key_span, message, "make two annotations of it");
    }
}

fn some_effect(checker: &mut Checker<'_>, node: &Node) {
    if node.as_map().is_some() && ["error", "status", "after"].iter().all(|key| node.get(key).is_none()) {
        let message = "a failure does nothing".to_owned();
        checker.fault("data/missing", node.span, message, "expected `error`, `status` or `after`");
    }
}

/// The items of a list.
fn entries<'n>(node: &'n Node, key: &str) -> impl Iterator<Item = &'n Node> + use<'n> {
    node.get(key).and_then(|entry| entry.value.as_list()).into_iter().flatten()
}

/// What stands there, whether it is one or several.
fn several<'n>(node: &'n Node, key: &str) -> Vec<&'n Node> {
    match node.get(key).map(|entry| &entry.value) {
        None => vec![],
        Some(value) => value.as_list().map_or_else(|| vec![value], |items| items.iter().collect()),
    }
}

fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.get(key)?.value.as_str()
}

fn method(node: &Node) -> Option<Method> {
    Method::parse(node.as_str()?)
}

fn free(node: &Node, key: &str) -> Map<String, Value> {
    match node.get(key).map(|entry| entry.value.to_json()) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn data(root: &Node) -> Data {
    let time = |node: &Node, key: &str| text(node, key).and_then(span);
    let nothing = Node { span: root.span, kind: yaml::Kind::Map(vec![]) };
    let latencies = root.get("latency").map_or(&nothing, |entry| &entry.value);
    Data {
        meta: root.get("meta").map(|entry| members(&entry.value, &[])).unwrap_or_default(),
        missing: entries(root, "missing").filter_map(method).collect(),
        needs: root.get("settings").map(|entry| needs(&entry.value)),
        latency: METHODS.into_iter().filter_map(|m| Some((m, time(latencies, m.name())?))).collect(),
        failures: entries(root, "failures").map(failure).collect(),
        mentions: entries(root, "mentions").map(entry).collect(),
        items: entries(root, "items").map(entry).collect(),
        annotations: entries(root, "annotations").map(annotation).collect(),
    }
}

fn needs(node: &Node) -> Needs {
    let methods: Vec<_> = entries(node, "for").filter_map(method).collect();
    let missing = || json!({"code": -32001, "message": "a setting is missing: see the provider's documentation"});
    Needs {
        settings: entries(node, "needs").filter_map(Node::as_str).map(str::to_owned).collect(),
        methods: if node.get("for").is_some() { methods } else { METHODS[1..].to_vec() },
        error: node.get("error").map_or_else(missing, |entry| entry.value.to_json()),
    }
}

fn failure(node: &Node) -> Failure {
    Failure {
        methods: several(node, "method").into_iter().filter_map(method).collect(),
        when: when(node),
        error: node.get("error").map(|entry| entry.value.to_json()),
        status: node.get("status").and_then(|entry| u16::try_from(entry.value.to_json().as_u64()?).ok()),
        after: text(node, "after").and_then(span).map_or(Duration::ZERO, |(least, _)| least),
    }
}

fn entry(node: &Node) -> Entry {
    Entry { when: when(node), gives: Value::Object(members(node, &["when"])) }
}

fn annotation(node: &Node) -> Annotation {
    let at = match (text(node, "each").and_then(|each| Regex::new(each).ok()), node.get("range")) {
        (Some(each), _) => Scope::Each(each),
        (None, Some(range)) => Scope::Range(range.value.to_json()),
        (None, None) => Scope::Whole,
    };
    Annotation {
        when: when(node),
        uri: text(node, "uri").map(str::to_owned),
        at,
        item: node.get("item").map(|entry| Value::Object(members(&entry.value, &[]))).unwrap_or_default(),
        extra: free(node, "extra"),
    }
}

fn when(node: &Node) -> When {
    let condition = |node: &Node| Condition {
        texts: TEXTS
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), Regex::new(text(node, name)?).ok()?)))
            .collect(),
        auto_include: node.get("autoInclude").and_then(|entry| entry.value.to_json().as_bool()),
        settings: free(node, "settings").into_iter().collect(),
    };
    When(several(node, "when").into_iter().map(condition).collect())
}

/// The members of a map as they are sent, without these; `extra` is put among them.
fn members(node: &Node, without: &[&str]) -> Map<String, Value> {
    let mut members = Map::new();
    for entry in node.as_map().unwrap_or_default() {
        match entry.key.as_str() {
            "extra" => members.extend(free(node, "extra")),
            "ui" | "hover" | "ai" => {
                members.insert(entry.key.clone(), Value::Object(members_of(&entry.value)));
            }
            key if without.contains(&key) => {}
            _ => {
                members.insert(entry.key.clone(), entry.value.to_json());
            }
        }
    }
    members
}

/// The same of what may have repeated texts in it.
fn members_of(node: &Node) -> Map<String, Value> {
    let mut map = Map::new();
    for entry in node.as_map().unwrap_or_default() {
        let value = match (entry.value.get("text"), entry.value.get("times")) {
            (Some(repeated), Some(times)) => {
                let times = times.value.to_json().as_u64().and_then(|times| usize::try_from(times).ok());
                repeated.value.as_str().unwrap_or_default().repeat(times.unwrap_or_default()).into()
            }
            _ if entry.value.as_map().is_some() => Value::Object(members_of(&entry.value)),
            _ => entry.value.to_json(),
        };
        map.insert(entry.key.clone(), value);
    }
    map
}
