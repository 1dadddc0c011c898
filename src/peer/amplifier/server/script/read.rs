//! Reading a script: checks a file, and makes a [`Script`] of it.

use std::time::Duration;

use regex::Regex;
use serde_json::{Map, Value};

use crate::diagnostic::yaml::{self, Node};
use crate::diagnostic::{Diagnostic, Source};
use crate::peer::format::{Checker, MAX_FILL, span};

use super::definition::{
    AgentStep, ApiKeys, ApprovalSpec, FileEffect, PromptCase, SayStep, Script, ScriptedAct, ScriptedError,
    ScriptedTool, example,
};
use super::shape::FILE;

/// How long there is to decide, where nobody says how long.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
/// What can be answered, where nobody says what.
const OPTIONS: [&str; 3] = ["Allow", "Deny", "Allow All"];

/// Reads a file.
///
/// # Errors
/// All that is wrong, each with its place.
pub fn read(source: &Source) -> Result<Script, Vec<Diagnostic>> {
    let root = yaml::parse(source)?;
    let mut checker = Checker::new(source);
    checker.check("the script", &root, FILE);
    if checker.faults.is_empty() {
        items(&root, "prompts").flat_map(|case| items(case, "do")).for_each(|step| check_step(&mut checker, step));
    }
    if checker.faults.is_empty() { Ok(script(&root)) } else { Err(checker.faults) }
}

/// Notes what is wrong with a step that its table does not tell.
fn check_step(checker: &mut Checker<'_>, step: &Node) {
    for key in ["say", "think"] {
        let Some(saying) = at(step, key) else { continue };
        let length = text(saying, "text").map_or(0, str::len);
        if length.saturating_mul(count(saying, "times").unwrap_or(1)) > MAX_FILL {
            let there = format!("expected no more than {} MiB", MAX_FILL >> 20);
            checker.fault("data/size", saying.span, "the text is too long".to_owned(), &there);
        }
    }
    let Some(tool) = at(step, "tool") else { return };
    if let Some(file) = at(tool, "effect").and_then(|effect| at(effect, "file"))
        && !file.as_str().is_some_and(is_below)
    {
        let there = "expected parts between `/`, none of them `..`";
        checker.fault("data/path", file.span, "the file is not below the workspace".to_owned(), there);
    }
    let Some(approval) = at(tool, "approval") else { return };
    let options = at(approval, "options");
    if let Some(options) = options {
        let names: Vec<&str> = texts(options);
        let twice = names.iter().enumerate().any(|(n, name)| name.is_empty() || names[..n].contains(name));
        if names.is_empty() || twice {
            let message = "these cannot be the options of an approval".to_owned();
            checker.fault("data/options", options.span, message, "expected some, none of them empty or there twice");
        }
    }
    let names = options.map_or(OPTIONS.to_vec(), texts);
    for allows in at(approval, "allows").and_then(Node::as_list).into_iter().flatten() {
        if !allows.as_str().is_some_and(|name| names.contains(&name)) {
            let there = format!("expected one of {}", names.join(", "));
            checker.fault("data/options", allows.span, "this is none of the options".to_owned(), &there);
        }
    }
    if let Some(timeout) = at(approval, "timeout")
        && time(approval, "timeout").is_none_or(|time| time.is_zero())
    {
        let message = "an approval needs some time".to_owned();
        checker.fault("data/type", timeout.span, message, "expected more than no time");
    }
}

/// Whether a path is below the folder that it is relative to.
fn is_below(path: &str) -> bool {
    let parts = std::path::Path::new(path).components();
    !path.is_empty() && parts.into_iter().all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn at<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    node.get(key).map(|entry| &entry.value)
}

fn items<'n>(node: &'n Node, key: &str) -> impl Iterator<Item = &'n Node> + use<'n> {
    at(node, key).and_then(Node::as_list).into_iter().flatten()
}

fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    at(node, key)?.as_str()
}

fn texts(node: &Node) -> Vec<&str> {
    node.as_list().into_iter().flatten().filter_map(Node::as_str).collect()
}

fn owned(node: &Node, key: &str) -> String {
    text(node, key).unwrap_or_default().to_owned()
}

fn time(node: &Node, key: &str) -> Option<Duration> {
    text(node, key).and_then(span).map(|(time, _)| time)
}

fn count(node: &Node, key: &str) -> Option<usize> {
    at(node, key)?.to_json().as_u64().and_then(|count| usize::try_from(count).ok())
}

fn free(node: &Node, key: &str) -> Option<Map<String, Value>> {
    match at(node, key)?.to_json() {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

fn names(node: &Node, key: &str) -> Option<Vec<String>> {
    at(node, key).map(|list| texts(list).into_iter().map(str::to_owned).collect())
}

/// What there is of a kind, with the members that it must have.
fn entries(root: &Node, key: &str, defaults: &[(&str, Value)]) -> Option<Vec<Map<String, Value>>> {
    let entry = |node: &Node| {
        let mut entry = match node.to_json() {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        for (member, value) in defaults {
            entry.entry(*member).or_insert_with(|| value.clone());
        }
        entry
    };
    at(root, key).and_then(Node::as_list).map(|list| list.iter().map(entry).collect())
}

fn script(root: &Node) -> Script {
    let keys = at(root, "keys");
    let list = |key: &str| keys.and_then(|keys| names(keys, key));
    let none = Value::Null;
    let empty = Value::Array(vec![]);
    let described = ("description", Value::String(String::new()));
    let profile = [
        ("collection", none.clone()),
        described.clone(),
        ("extends", none.clone()),
        ("providers", empty.clone()),
        ("tools", empty.clone()),
        ("hooks", empty.clone()),
        ("agents", empty.clone()),
    ];
    let collection = [described.clone(), ("version", "1.0.0".into()), ("profiles", empty.clone()), ("agents", empty)];
    let agent = [("collection", none), described];
    let of_example = |list: Option<Vec<Map<String, Value>>>, of: fn(&Script) -> &Vec<Map<String, Value>>| {
        list.unwrap_or_else(|| of(example()).clone())
    };
    Script {
        cases: items(root, "prompts").map(case).collect(),
        keys: ApiKeys {
            valid: list("valid"),
            invalid: list("invalid").unwrap_or_default(),
            unauthorized: list("unauthorized").unwrap_or_default(),
        },
        models: names(root, "models"),
        profiles: of_example(entries(root, "profiles", &profile), |example| &example.profiles),
        collections: of_example(entries(root, "collections", &collection), |example| &example.collections),
        agents: of_example(entries(root, "agents", &agent), |example| &example.agents),
        info: free(root, "info").unwrap_or_default(),
    }
}

fn case(node: &Node) -> PromptCase {
    let tokens = at(node, "tokens");
    let tokens = |key: &str| tokens.and_then(|tokens| count(tokens, key)).map(|count| count as u64);
    PromptCase {
        prompt: text(node, "prompt").and_then(|text| Regex::new(text).ok()),
        refuse: at(node, "refuse").map(failure),
        steps: items(node, "do").filter_map(step).collect(),
        tokens: (tokens("input"), tokens("output")),
    }
}

fn failure(node: &Node) -> ScriptedError {
    ScriptedError { code: owned(node, "code"), message: text(node, "message").map(str::to_owned) }
}

fn step(node: &Node) -> Option<AgentStep> {
    Some(AgentStep {
        after: time(node, "after").unwrap_or_default(),
        only: text(node, "if").map(|outcome| outcome == "granted"),
        act: act(node)?,
    })
}

fn act(node: &Node) -> Option<ScriptedAct> {
    let entry = node.as_map()?.iter().find(|entry| !["after", "if"].contains(&entry.key.as_str()))?;
    let value = &entry.value;
    Some(match entry.key.as_str() {
        "say" => ScriptedAct::Say(saying(value)),
        "think" => ScriptedAct::Think(saying(value)),
        "tool" => ScriptedAct::Tool(Box::new(tool(value))),
        "diagnose" => ScriptedAct::Diagnose {
            path: owned(value, "path"),
            diagnostics: at(value, "diagnostics").map(Node::to_json).unwrap_or_default(),
        },
        "clear" => ScriptedAct::Clear { path: owned(value, "path") },
        "status" => ScriptedAct::Status(free(node, "status").unwrap_or_default()),
        "event" => ScriptedAct::Event { event: owned(value, "event"), data: free(value, "data").unwrap_or_default() },
        "fail" => ScriptedAct::Fail(failure(value)),
        _ => ScriptedAct::Wait(time(node, "wait")?),
    })
}

fn saying(node: &Node) -> SayStep {
    SayStep {
        text: node.as_str().or_else(|| text(node, "text")).unwrap_or_default().to_owned(),
        times: count(node, "times").unwrap_or(1),
        size: count(node, "size"),
        every: time(node, "every").unwrap_or_default(),
        block: text(node, "block").unwrap_or("text").to_owned(),
    }
}

fn tool(node: &Node) -> ScriptedTool {
    let (name, operation) = (owned(node, "name"), owned(node, "operation"));
    let input = free(node, "input").unwrap_or_default();
    let approval = at(node, "approval").map(|gate| {
        let mut about = Map::new();
        about.insert("tool".to_owned(), name.clone().into());
        about.insert("operation".to_owned(), operation.clone().into());
        about.extend(input.clone());
        approval(gate, about)
    });
    ScriptedTool {
        name,
        operation,
        input,
        takes: time(node, "takes").unwrap_or_default(),
        output: at(node, "output").map(Node::to_json).unwrap_or_else(|| "".into()),
        error: text(node, "error").map(str::to_owned),
        effect: at(node, "effect")
            .map(|effect| FileEffect { file: owned(effect, "file"), text: owned(effect, "text") }),
        approval,
    }
}

fn approval(node: &Node, about: Map<String, Value>) -> ApprovalSpec {
    let options = names(node, "options").unwrap_or_else(|| OPTIONS.map(str::to_owned).to_vec());
    let allows = names(node, "allows").unwrap_or_else(|| {
        options.iter().filter(|option| option.to_lowercase().starts_with("allow")).cloned().collect()
    });
    ApprovalSpec {
        prompt: owned(node, "prompt"),
        options,
        allows,
        timeout: time(node, "timeout").unwrap_or(DEFAULT_TIMEOUT),
        default_allows: text(node, "default") == Some("allow"),
        context: free(node, "context").unwrap_or(about),
    }
}
