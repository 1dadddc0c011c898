//! Reading a script: the file is held against the type [`Script`], and against what the type does not say.

use serde_json::{Map, Value, json};

use crate::diagnostic::yaml::{self, Node};
use crate::diagnostic::{Diagnostic, Source, Span};
use crate::format::{Checker, in_a_line};
use crate::peer::fill::MAX_FILL;

use super::definition::{AgentStep, SayStep, Script, ScriptedAct, ScriptedTool, example};

impl Script {
    /// Reads a file.
    ///
    /// # Errors
    /// All that is wrong, each with its place.
    pub fn parse(source: &Source) -> Result<Self, Vec<Diagnostic>> {
        let root = yaml::parse(source)?;
        let mut checker = Checker::new(source, "data");
        let Some(mut script) = checker.read::<Self>("the script", &root) else { return Err(checker.faults) };
        for (key, list, of_example) in [
            ("profiles", &mut script.profiles, (|example| &example.profiles) as fn(&Self) -> &Vec<_>),
            ("collections", &mut script.collections, |example| &example.collections),
            ("agents", &mut script.agents, |example| &example.agents),
        ] {
            if root.get(key).is_none() {
                list.clone_from(of_example(example()));
            }
        }
        for (case, node) in script.cases.iter_mut().zip(items(&root, "prompts")) {
            for (step, node) in case.steps_mut().iter_mut().zip(items(node, "do")) {
                check_step(&mut checker, step, node);
                if let ScriptedAct::Tool(tool) = &mut step.act {
                    tool.complete();
                }
            }
        }
        if checker.faults.is_empty() { Ok(script) } else { Err(checker.faults) }
    }

    /// Reads a script from JSON, which need not say its version.
    ///
    /// # Errors
    /// All that is wrong, in one line.
    pub fn from_json(script: &Value) -> Result<Self, String> {
        let Value::Object(members) = script else { return Err("a script is an object".to_owned()) };
        let mut members_with_version = Map::new();
        members_with_version.insert("wirecert".to_owned(), json!(1));
        members_with_version.extend(members.clone());
        // JSON is YAML.
        let source = Source::new("script", Value::Object(members_with_version).to_string());
        Self::parse(&source).map_err(|faults| in_a_line(&faults))
    }

    /// The case that fits a prompt; none where none does.
    pub fn case(&self, prompt: &str) -> Option<usize> {
        self.cases.iter().position(|case| case.prompt.as_ref().is_none_or(|regex| regex.is_match(prompt)))
    }
}

/// Notes what is wrong with a step that its type does not tell.
fn check_step(checker: &mut Checker<'_>, step: &AgentStep, node: &Node) {
    match &step.act {
        ScriptedAct::Say(SayStep { text, times, .. }) | ScriptedAct::Think(SayStep { text, times, .. })
            if text.len().saturating_mul(*times) > MAX_FILL =>
        {
            let there = format!("expected no more than {} MiB", MAX_FILL >> 20);
            let span = place(node, &["say"]).or(place(node, &["think"])).unwrap_or(node.span);
            checker.fault("size", span, "the text is too long", there);
        }
        ScriptedAct::Tool(tool) => check_tool(checker, tool, node),
        _ => {}
    }
}

fn check_tool(checker: &mut Checker<'_>, tool: &ScriptedTool, node: &Node) {
    let span = |path: &[&str]| place(node, path).unwrap_or(node.span);
    if tool.effect.as_ref().is_some_and(|effect| !is_below(&effect.file)) {
        let there = "expected parts between `/`, none of them `..`";
        checker.fault("path", span(&["tool", "effect", "file"]), "the file is not below the workspace", there);
    }
    let Some(approval) = &tool.approval else { return };
    let names = &approval.options;
    if names.is_empty() || names.iter().enumerate().any(|(n, name)| name.is_empty() || names[..n].contains(name)) {
        let message = "these cannot be the options of an approval";
        let there = "expected some, none of them empty or there twice";
        checker.fault("options", span(&["tool", "approval", "options"]), message, there);
    }
    let allows = node.get("tool").and_then(|tool| tool.value.get("approval"));
    for allows in allows.into_iter().flat_map(|approval| items(&approval.value, "allows")) {
        if !names.iter().any(|name| allows.as_str() == Some(name)) {
            let there = format!("expected one of {}", names.join(", "));
            checker.fault("options", allows.span, "this is none of the options", there);
        }
    }
    if approval.timeout.0.is_zero() {
        let timeout = span(&["tool", "approval", "timeout"]);
        checker.fault("type", timeout, "an approval needs some time", "expected more than no time");
    }
}

/// Whether a path is below the folder that it is relative to.
fn is_below(path: &str) -> bool {
    let parts = std::path::Path::new(path).components();
    !path.is_empty() && parts.into_iter().all(|part| matches!(part, std::path::Component::Normal(_)))
}

fn items<'n>(node: &'n Node, key: &str) -> impl Iterator<Item = &'n Node> + use<'n> {
    node.get(key).and_then(|entry| entry.value.as_list()).into_iter().flatten()
}

/// Where the value below these keys stands.
fn place(node: &Node, path: &[&str]) -> Option<Span> {
    path.iter().try_fold(node, |node, key| node.get(key).map(|entry| &entry.value)).map(|node| node.span)
}
