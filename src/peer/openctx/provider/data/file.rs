//! The file of data: one table says what it may hold; it is checked against that and read.

use std::time::Duration;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::diagnostic::yaml::{self, Node};
use crate::diagnostic::{Diagnostic, Source};
use crate::peer::format::{Checker, Key, Shape, key, needed, span};

use super::super::request::{METHODS, Method};
use super::{Annotation, AnnotationScope, Condition, Data, DataCondition, DataEntry, DataFailure, Needs};

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

/// The values of a key that holds one value or a list.
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

fn failure(node: &Node) -> DataFailure {
    DataFailure {
        methods: several(node, "method").into_iter().filter_map(method).collect(),
        when: when(node),
        error: node.get("error").map(|entry| entry.value.to_json()),
        status: node.get("status").and_then(|entry| u16::try_from(entry.value.to_json().as_u64()?).ok()),
        after: text(node, "after").and_then(span).map_or(Duration::ZERO, |(least, _)| least),
    }
}

fn entry(node: &Node) -> DataEntry {
    DataEntry { when: when(node), gives: Value::Object(members(node, &["when"])) }
}

fn annotation(node: &Node) -> Annotation {
    let at = match (text(node, "each").and_then(|each| Regex::new(each).ok()), node.get("range")) {
        (Some(each), _) => AnnotationScope::Each(each),
        (None, Some(range)) => AnnotationScope::Range(range.value.to_json()),
        (None, None) => AnnotationScope::Whole,
    };
    Annotation {
        when: when(node),
        uri: text(node, "uri").map(str::to_owned),
        at,
        item: node.get("item").map(|entry| Value::Object(members(&entry.value, &[]))).unwrap_or_default(),
        extra: free(node, "extra"),
    }
}

fn when(node: &Node) -> DataCondition {
    let condition = |node: &Node| Condition {
        texts: TEXTS
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), Regex::new(text(node, name)?).ok()?)))
            .collect(),
        auto_include: node.get("autoInclude").and_then(|entry| entry.value.to_json().as_bool()),
        settings: free(node, "settings").into_iter().collect(),
    };
    DataCondition(several(node, "when").into_iter().map(condition).collect())
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

/// The members of a map that may hold repeated texts.
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

/// The names of the methods, in the order of the document.
const METHOD_NAMES: &[&str] = &["meta", "mentions", "items", "annotations"];
const METHOD: Shape = Shape::Choice("method", METHOD_NAMES);

const EXTRA: Key = key("extra", Shape::Free, "Further members, which the protocol does not have.");

/// The whole file.
pub const FILE: Shape = Shape::Map(&[
    needed("wirecert", Shape::Version, "The version of this format."),
    needed("meta", Shape::Map(META), "What the provider says of itself: the result of `meta`."),
    key(
        "missing",
        Shape::List(&Shape::Choice("method", METHOD_NAMES.split_at(1).1)),
        "Methods that it does not offer, and answers with an error. Those without data give an empty list.",
    ),
    key("settings", Shape::Map(SETTINGS), "Settings without which it answers with an error."),
    key(
        "latency",
        Shape::Each("method", METHOD_NAMES, &Shape::Time),
        "How long methods take: a time, or two between which one is drawn.",
    ),
    key("failures", Shape::List(&Shape::Map(FAILURE)), "When it fails, or is slow. The first that applies counts."),
    key("mentions", Shape::List(&Shape::Map(MENTION)), "What can be mentioned."),
    key("items", Shape::List(&Shape::Map(ITEM)), "Documents and other content."),
    key("annotations", Shape::List(&Shape::Map(ANNOTATION)), "Items attached to documents."),
]);

const META: &[Key] = &[
    needed("name", Shape::Text, "The name of the provider."),
    key(
        "items",
        Shape::Map(&[key(
            "messageSelectors",
            Shape::List(&Shape::Map(&[needed("pattern", Shape::Text, "A regular expression, as in JavaScript.")])),
            "Which messages it has items for.",
        )]),
        "The items feature.",
    ),
    key(
        "mentions",
        Shape::Map(&[
            key("label", Shape::Text, "What a user is shown who is about to mention something."),
            key("autoInclude", Shape::FlagOrText, "Whether it has default context: true, false, or a text."),
        ]),
        "The mentions feature.",
    ),
    key(
        "annotations",
        Shape::Map(&[key(
            "selectors",
            Shape::List(&Shape::Map(&[
                key("path", Shape::Text, "A glob that the path has to match."),
                key("contentContains", Shape::Text, "A text that the content has to contain."),
            ])),
            "Which documents it has annotations for.",
        )]),
        "The annotations feature.",
    ),
    EXTRA,
];

const SETTINGS: &[Key] = &[
    needed("needs", Shape::List(&Shape::Text), "The settings that have to be there, and not be empty."),
    key("for", Shape::List(&METHOD), "The methods that need them; all but `meta` where not said."),
    key("error", Shape::Map(ERROR), "The error otherwise; code -32001 where not said."),
];

const ERROR: &[Key] = &[
    needed("code", Shape::Code, "Its code."),
    needed("message", Shape::Text, "Its message."),
    key("data", Shape::Any, "What else there is to say."),
];

const FAILURE: &[Key] = &[
    key("method", Shape::Several(&METHOD), "The methods that it concerns; all where not said."),
    key("when", Shape::Several(&Shape::Map(ANY_CONDITION)), "The requests that it concerns; all where not said."),
    key("error", Shape::Map(ERROR), "The error with which the request is answered."),
    key("status", Shape::Number(300, 599), "The HTTP status of the answer: of the error, or without any."),
    key("after", Shape::Time, "How long it takes until then; alone, the request is answered as usual after that time."),
];

const QUERY: Key = key("query", Shape::Regex, "Matches the query somewhere; an absent one is empty.");
const URI: Key = key("uri", Shape::Regex, "Matches the URI of the document somewhere; an absent one is empty.");
const CODEBASE: Key = key("codebase", Shape::Regex, "Matches the name of the codebase; an absent one is empty.");
const AUTO_INCLUDE: Key = key("autoInclude", Shape::Flag, "Whether default context is asked for.");
const MESSAGE: Key = key("message", Shape::Regex, "Matches the message somewhere; an absent one is empty.");
const OF_MENTION: Key = key("mention", Shape::Regex, "Matches the URI of the mention somewhere.");
const CONTENT: Key = key("content", Shape::Regex, "Matches the document somewhere.");
const WITH: Key = key("settings", Shape::Free, "Settings that have exactly these values.");

const ANY_CONDITION: &[Key] = &[QUERY, URI, CODEBASE, AUTO_INCLUDE, MESSAGE, OF_MENTION, CONTENT, WITH];

/// What a condition can be about.
pub const TEXTS: [&str; 6] = ["query", "uri", "codebase", "message", "mention", "content"];

const WHEN: &str = "When it is given: all conditions of one of these; always where not said.";

const MENTION: &[Key] = &[
    key(
        "when",
        Shape::Several(&Shape::Map(&[QUERY, URI, CODEBASE, AUTO_INCLUDE, WITH])),
        "When it is given: all conditions of one of these. Where none is about the query, its words have to occur in \
         title or description.",
    ),
    needed("title", Shape::Text, "Its title."),
    key("description", Shape::Text, "Its description."),
    needed("uri", Shape::Uri, "Its URI."),
    key("data", Shape::Free, "What the provider wants back with it."),
    EXTRA,
];

const BARE_ITEM: [Key; 5] = [
    needed("title", Shape::Text, "Its title."),
    key("url", Shape::Uri, "Where there is more about it."),
    key(
        "ui",
        Shape::Map(&[key(
            "hover",
            Shape::Map(&[
                key("markdown", Shape::Content, "The text as Markdown."),
                key("text", Shape::Content, "The plain text."),
            ]),
            "What is shown in a tooltip.",
        )]),
        "What is for humans.",
    ),
    key("ai", Shape::Map(&[key("content", Shape::Content, "The text.")]), "What is for AI."),
    EXTRA,
];

const ITEM: &[Key] = &[
    key("when", Shape::Several(&Shape::Map(&[MESSAGE, OF_MENTION, WITH])), WHEN),
    BARE_ITEM[0],
    BARE_ITEM[1],
    BARE_ITEM[2],
    BARE_ITEM[3],
    BARE_ITEM[4],
];

const PLACE: Shape = Shape::Map(&[
    needed("line", Shape::Count, "The line, from 0."),
    needed("character", Shape::Count, "The character on it, from 0."),
]);

const ANNOTATION: &[Key] = &[
    key("when", Shape::Several(&Shape::Map(&[URI, CONTENT, WITH])), WHEN),
    key("uri", Shape::Uri, "The URI of the document; that of the request where not said."),
    key("each", Shape::Regex, "One annotation for each match in the document, with its range."),
    key(
        "range",
        Shape::Map(&[needed("start", PLACE, "Where it begins."), needed("end", PLACE, "Where it ends.")]),
        "Where it is, instead of `each`. Without both it is about the whole document.",
    ),
    needed("item", Shape::Map(&BARE_ITEM), "The item. `${0}` and `${name}` in its texts are what groups matched."),
    EXTRA,
];
