//! The file of a script: read and checked, and its JSON Schema (draft-07) for completion and checking in editors.

use serde_json::{Map, Value, json};

use crate::diagnostic::yaml::{self, Entry, Kind, Node};
use crate::diagnostic::{Diagnostic, Source, Span, nearest};
use crate::format::parse_bound;

use super::player::{
    MAPS, MOST, RepeatCount, SCRIPT, STEP, Script, ScriptAction, ScriptCommand, ScriptStep, StepTrigger, VERSION, WORDS,
};

/// Says what is wrong with a command, if anything is.
type CheckCommand<'a> = &'a dyn Fn(&Map<String, Value>) -> Result<(), String>;

/// Reads a script. `command` says what is wrong with a command, if anything is.
///
/// # Errors
/// All that is wrong, each with its place.
pub fn read(source: &Source, command: CheckCommand<'_>) -> Result<Script, Vec<Diagnostic>> {
    let root = yaml::parse(source)?;
    let mut reader = ScriptReader { source, command, faults: vec![] };
    let steps = reader.script(&root);
    if reader.faults.is_empty() { Ok(Script { steps }) } else { Err(reader.faults) }
}

/// Reads the steps of a file that has a script among other things; none where it has no `steps`.
///
/// # Errors
/// All that is wrong with them, each with its place.
pub fn read_steps(source: &Source, command: CheckCommand<'_>) -> Result<Option<Script>, Vec<Diagnostic>> {
    let root = yaml::parse(source)?;
    let Some(entry) = root.get("steps") else { return Ok(None) };
    let mut reader = ScriptReader { source, command, faults: vec![] };
    let steps = reader.steps(&entry.value);
    if reader.faults.is_empty() { Ok(Some(Script { steps })) } else { Err(reader.faults) }
}

struct ScriptReader<'a> {
    source: &'a Source,
    command: CheckCommand<'a>,
    faults: Vec<Diagnostic>,
}

impl ScriptReader<'_> {
    fn fault(&mut self, code: &'static str, span: Span, message: String, there: &str) -> &mut Diagnostic {
        self.faults.push(Diagnostic::error(code, message).at(self.source.place(span), there));
        let last = self.faults.len() - 1;
        &mut self.faults[last]
    }

    fn wrong(&mut self, what: &str, node: &Node, expected: &str) {
        self.fault(
            "script/type",
            node.span,
            format!("{what} is {}", node.kind_name()),
            &format!("expected {expected}"),
        );
    }

    fn unknown(&mut self, what: &str, word: &str, span: Span, words: &[&str]) {
        let there = format!("expected one of {}", words.join(", "));
        let meant = nearest(word, words.iter().copied()).map(|word| format!("did you mean `{word}`?"));
        self.fault("script/unknown", span, format!("there is no {what} `{word}`"), &there).help.extend(meant);
    }

    /// The entries of a map that may have these keys.
    fn map<'n>(&mut self, what: &str, node: &'n Node, keys: &[&str]) -> Option<&'n [Entry]> {
        let Some(entries) = node.as_map() else {
            self.wrong(what, node, &format!("a map with keys of {}", keys.join(", ")));
            return None;
        };
        for entry in entries.iter().filter(|e| !keys.contains(&e.key.as_str())) {
            self.unknown("key", &entry.key, entry.key_span, keys);
        }
        Some(entries)
    }

    fn script(&mut self, root: &Node) -> Vec<ScriptStep> {
        if self.map("the script", root, &SCRIPT).is_none() {
            return vec![];
        }
        match root.get("wirecert").map(|e| (&e.value.kind, e.value.span)) {
            None => {
                let message = "the script does not say its version".to_owned();
                self.fault("script/version", root.span, message, "expected the key `wirecert: 1`");
            }
            Some((Kind::Number(n), _)) if n.as_u64() == Some(VERSION) => {}
            Some((_, span)) => {
                let message = "this version of the language is not known".to_owned();
                self.fault("script/version", span, message, "expected 1");
            }
        }
        match root.get("steps") {
            Some(steps) => self.steps(&steps.value),
            None => {
                self.fault(
                    "script/missing",
                    root.span,
                    "the script has no `steps`".to_owned(),
                    "expected a list of them",
                );
                vec![]
            }
        }
    }

    fn steps(&mut self, node: &Node) -> Vec<ScriptStep> {
        let Some(items) = node.as_list().filter(|items| !items.is_empty()) else {
            self.wrong("`steps`", node, "a list of steps, such as [{do: {open: {path: a.txt}}}]");
            return vec![];
        };
        let mut steps: Vec<ScriptStep> = vec![];
        for item in items {
            if steps.last().is_some_and(|step| step.times == RepeatCount::Forever) {
                let message = "this step is never reached".to_owned();
                self.fault("script/unreachable", item.span, message, "the step before is repeated forever");
            }
            steps.extend(self.step(item));
        }
        steps
    }

    fn step(&mut self, node: &Node) -> Option<ScriptStep> {
        self.map("a step", node, &STEP)?;
        let when = node.get("when").map_or(Some(StepTrigger::Start), |entry| self.when(&entry.value));
        let times = node.get("repeat").map_or(Some(RepeatCount::Count(1)), |entry| self.times(&entry.value));
        let what = match (node.get("do"), node.get("steps")) {
            (Some(commands), None) => ScriptAction::Do(self.commands(&commands.value)),
            (None, Some(steps)) => ScriptAction::Steps(self.steps(&steps.value)),
            (None, None) => {
                let message = "the step does nothing".to_owned();
                self.fault("script/missing", node.span, message, "expected the key `do` or `steps`");
                return None;
            }
            (Some(_), Some(steps)) => {
                let message = "a step cannot have both `do` and `steps`".to_owned();
                self.fault("script/both", steps.key_span, message, "make two steps of it");
                return None;
            }
        };
        let step = ScriptStep { when: when?, times: times?, what };
        if step.times == RepeatCount::Forever && !step.waits() {
            let message = "a step that is repeated forever has to wait for something".to_owned();
            self.fault("script/endless", node.span, message, "expected a `when` such as `connected` or {after: 1s}");
        }
        Some(step)
    }

    fn when(&mut self, node: &Node) -> Option<StepTrigger> {
        let all = [&WORDS[..], &MAPS[..]].concat();
        let only = match &node.kind {
            Kind::String(word) => {
                match word.as_str() {
                    "start" => return Some(StepTrigger::Start),
                    "connected" => return Some(StepTrigger::Connected),
                    "disconnected" => return Some(StepTrigger::Disconnected),
                    word => self.unknown("happening", word, node.span, &all),
                }
                return None;
            }
            Kind::Map(entries) if entries.len() == 1 => &entries[0],
            _ => {
                self.wrong("`when`", node, "start, connected, disconnected, {request: METHOD} or {after: TIME}");
                return None;
            }
        };
        match (only.key.as_str(), only.value.as_str()) {
            ("request", Some(method)) if !method.is_empty() => Some(StepTrigger::Request(method.to_owned())),
            ("request", _) => {
                self.wrong("`request`", &only.value, "the name of a method");
                None
            }
            ("after", Some(text)) => match parse_bound(text) {
                Ok(time) => Some(StepTrigger::After(time)),
                Err(what) => {
                    self.fault("script/type", only.value.span, what, "expected a time such as 500ms");
                    None
                }
            },
            ("after", None) => {
                self.wrong("`after`", &only.value, "a time such as 500ms");
                None
            }
            (word, _) => {
                self.unknown("happening", word, only.key_span, &all);
                None
            }
        }
    }

    fn times(&mut self, node: &Node) -> Option<RepeatCount> {
        match &node.kind {
            Kind::String(word) if word == "forever" => Some(RepeatCount::Forever),
            Kind::Number(n) if n.as_u64().is_some_and(|n| (1..=MOST).contains(&n)) => {
                n.as_u64().map(RepeatCount::Count)
            }
            _ => {
                let message = "this is no number of times".to_owned();
                self.fault(
                    "script/type",
                    node.span,
                    message,
                    "expected a whole number from 1 to a million, or `forever`",
                );
                None
            }
        }
    }

    fn commands(&mut self, node: &Node) -> Vec<ScriptCommand> {
        match node.as_list() {
            Some([]) => {
                self.fault("script/missing", node.span, "the step does nothing".to_owned(), "expected commands");
                vec![]
            }
            Some(items) => items.iter().filter_map(|item| self.one_command(item)).collect(),
            None => self.one_command(node).into_iter().collect(),
        }
    }

    fn one_command(&mut self, node: &Node) -> Option<ScriptCommand> {
        let Value::Object(command) = node.to_json() else {
            self.wrong("a command", node, "an object of one key, such as {open: {path: a.txt}}");
            return None;
        };
        if let Err(what) = (self.command)(&command) {
            self.fault("script/command", node.span, what, "");
            return None;
        }
        Some(ScriptCommand { command, place: self.source.place(node.span) })
    }
}

impl ScriptStep {
    /// Whether anything is waited for each time the step is done.
    fn waits(&self) -> bool {
        self.when != StepTrigger::Start
            || match &self.what {
                ScriptAction::Do(_) => false,
                ScriptAction::Steps(steps) => steps.iter().any(Self::waits),
            }
    }
}

/// The schema. What a command may be is for the mock of the role to say; here it is an object of one key.
pub fn schema() -> Value {
    let command = json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": {"type": "object"},
        "description": "A command, as it steers a mock: {open: {path: a.txt}}"
    });
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a script of a mock",
        "description": "What a mock does by itself: steps, one after the other.",
        "type": "object",
        "required": ["wirecert", "steps"],
        "additionalProperties": false,
        "properties": {
            "wirecert": {"const": VERSION, "description": "The version of the language"},
            "steps": {"$ref": "#/definitions/steps"}
        },
        "definitions": {
            "command": command,
            "steps": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/step"}},
            "step": {
                "type": "object",
                "additionalProperties": false,
                "oneOf": [{"required": ["do"]}, {"required": ["steps"]}],
                "properties": {
                    "when": {
                        "description": "What is waited for; nothing, if not said",
                        "oneOf": [{"enum": WORDS}, valued("request", "^.+$"), valued("after", "^[0-9.]+(us|ms|s|m|h)$")]
                    },
                    "repeat": {
                        "description": "How often; once, if not said",
                        "oneOf": [{"const": "forever"}, {"type": "integer", "minimum": 1, "maximum": MOST}]
                    },
                    "do": {
                        "description": "A command, or several",
                        "oneOf": [
                            {"$ref": "#/definitions/command"},
                            {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/command"}}
                        ]
                    },
                    "steps": {"$ref": "#/definitions/steps"}
                }
            }
        }
    })
}

fn valued(key: &str, pattern: &str) -> Value {
    json!({
        "type": "object",
        "required": [key],
        "additionalProperties": false,
        "properties": {key: {"type": "string", "pattern": pattern}}
    })
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::{Style, render_all};

    use super::*;

    fn known(command: &Map<String, Value>) -> Result<(), String> {
        match command.keys().next().map(String::as_str) {
            Some("open") => Ok(()),
            other => Err(format!("there is no command `{}`", other.unwrap_or_default())),
        }
    }

    fn faults(text: &str) -> String {
        match read(&Source::new("s.yaml", text), &known) {
            Ok(script) => panic!("{text} was taken for {script:?}"),
            Err(faults) => render_all(&faults, Style::Plain),
        }
    }

    #[test]
    fn a_script_is_steps_that_wait_and_do_in_their_order() {
        let text = "wirecert: 1\nsteps:\n  - do: {open: {path: a}}\n  - {when: {request: readFile}, repeat: 3, \
                    do: [{open: {}}, {open: {}}]}\n  - repeat: forever\n    steps:\n      - {when: {after: 1.5s}, do: {open: {}}}\n";
        let script = read(&Source::new("s.yaml", text), &known).unwrap();
        let told: Vec<_> = script.steps.iter().map(|s| (s.when.clone(), s.times)).collect();
        let expected = [
            (StepTrigger::Start, RepeatCount::Count(1)),
            (StepTrigger::Request("readFile".to_owned()), RepeatCount::Count(3)),
            (StepTrigger::Start, RepeatCount::Forever),
        ];
        assert_eq!(told, expected);
        let ScriptAction::Do(commands) = &script.steps[0].what else { panic!("{script:?}") };
        assert_eq!(commands[0].place.to_string(), "s.yaml:3:9");
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once_with_its_place() {
        let drawn = faults(
            "steps:\n  - {when: conected, do: {open: {}}}\n  - {when: {after: 5}, do: {open: {}}}\n  \
             - {do: {fly: {}}}\n  - {repeat: 0, do: []}\n  - {when: start}\n  - {color: red, do: {open: {}}}\n",
        );
        for told in [
            "s.yaml:1:1",
            "does not say its version",
            "s.yaml:2:12",
            "did you mean `connected`?",
            "s.yaml:3:20",
            "s.yaml:4:10",
            "there is no command `fly`",
            "s.yaml:5:14",
            "no number of times",
            "s.yaml:6:5",
            "the step does nothing",
            "s.yaml:7:6",
            "there is no key `color`",
        ] {
            assert!(drawn.contains(told), "{told} in\n{drawn}");
        }
    }

    #[test]
    fn what_would_never_end_or_never_come_is_refused() {
        let head = "wirecert: 1\nsteps:\n";
        assert!(faults(&format!("{head}  - {{repeat: forever, do: {{open: {{}}}}}}\n")).contains("has to wait"));
        let after = "  - {when: connected, repeat: forever, do: {open: {}}}\n  - do: {open: {}}\n";
        assert!(faults(&format!("{head}{after}")).contains("never reached"));
    }
}
