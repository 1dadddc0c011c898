//! The file of a script: its types, from which it is checked and read, and what goes beyond them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::diagnostic::yaml::{self, Node};
use crate::diagnostic::{Diagnostic, Source};
use crate::format::types::{MockCommand, OneOrMany, Version};
use crate::format::{self, Checker};

use super::{RepeatCount, Script, ScriptAction, ScriptCommand, ScriptStep, StepTrigger};

/// Says what is wrong with a command, if anything is.
type CheckCommand<'a> = &'a dyn Fn(&Map<String, Value>) -> Result<(), String>;

/// What a mock does by itself.
#[derive(Deserialize, JsonSchema)]
struct ScriptFile {
    #[serde(rename = "wirecert")]
    _version: Version,
    /// Steps, one after the other.
    steps: Vec<StepEntry>,
}

/// A step of a file.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "step")]
struct StepEntry {
    /// What is waited for; nothing, if not said.
    #[serde(default)]
    when: StepTrigger,
    /// How often; once, if not said.
    #[serde(default)]
    repeat: RepeatCount,
    #[serde(flatten)]
    action: ActionEntry,
}

/// What a step does.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ActionEntry {
    /// A command, or several.
    Do(OneOrMany<MockCommand>),
    /// Steps, one after the other.
    Steps(Vec<StepEntry>),
}

/// Reads a script. `command` says what is wrong with a command, if anything is.
///
/// # Errors
/// All that is wrong, each with its place.
pub fn read(source: &Source, command: CheckCommand<'_>) -> Result<Script, Vec<Diagnostic>> {
    let root = yaml::parse(source)?;
    let mut checker = Checker::new(source, "script");
    let file: Option<ScriptFile> = checker.read("the script", &root);
    let node = root.get("steps").map_or(&root, |entry| &entry.value);
    check_steps(&mut checker, node, command);
    let steps = file.map(|file| steps(file.steps, node, source));
    steps.filter(|_| checker.faults.is_empty()).map(|steps| Script { steps }).ok_or(checker.faults)
}

/// Reads the steps of a file that has a script among other things; none where it has no `steps`.
///
/// # Errors
/// All that is wrong with them, each with its place.
pub fn read_steps(source: &Source, command: CheckCommand<'_>) -> Result<Option<Script>, Vec<Diagnostic>> {
    let root = yaml::parse(source)?;
    let Some(entry) = root.get("steps") else { return Ok(None) };
    let mut checker = Checker::new(source, "script");
    let entries: Option<Vec<StepEntry>> = checker.read("`steps`", &entry.value);
    check_steps(&mut checker, &entry.value, command);
    let steps = entries.map(|entries| steps(entries, &entry.value, source));
    steps.filter(|_| checker.faults.is_empty()).map(|steps| Some(Script { steps })).ok_or(checker.faults)
}

/// Notes what is wrong with steps that their types do not tell.
fn check_steps(checker: &mut Checker<'_>, node: &Node, command: CheckCommand<'_>) {
    let Some(items) = node.as_list() else { return };
    if items.is_empty() {
        checker.fault(
            "missing",
            node.span,
            "there are no steps",
            "expected steps, such as {do: {open: {path: a.txt}}}",
        );
    }
    let mut before: Option<&Node> = None;
    for step in items {
        if before.is_some_and(is_endless) {
            checker.fault(
                "unreachable",
                step.span,
                "this step is never reached",
                "the step before is repeated forever",
            );
        }
        before = Some(step);
        if let Some(given) = step.get("do") {
            if given.value.as_list().is_some_and(<[_]>::is_empty) {
                checker.fault("missing", given.value.span, "the step does nothing", "expected commands");
            }
            for node in commands(&given.value) {
                let Value::Object(given) = node.to_json() else { continue };
                if let Err(what) = command(&given) {
                    checker.fault("command", node.span, what, "");
                }
            }
        }
        if let Some(steps) = step.get("steps") {
            check_steps(checker, &steps.value, command);
        }
        if is_endless(step) && !waits(step) {
            let message = "a step that is repeated forever has to wait for something";
            let there = "expected a `when` such as `connected` or {after: 1s}";
            checker.fault("endless", step.span, message, there);
        }
    }
}

fn is_endless(step: &Node) -> bool {
    step.get("repeat").is_some_and(|times| times.value.as_str() == Some("forever"))
}

/// Whether anything is waited for each time a step is done.
fn waits(step: &Node) -> bool {
    let steps = step.get("steps").and_then(|steps| steps.value.as_list());
    step.get("when").is_some_and(|when| when.value.as_str() != Some("start")) || steps.into_iter().flatten().any(waits)
}

/// The commands of a step: one, or a list of them.
fn commands(node: &Node) -> &[Node] {
    node.as_list().unwrap_or(std::slice::from_ref(node))
}

/// The steps of a file, with the places of their commands.
fn steps(entries: Vec<StepEntry>, node: &Node, source: &Source) -> Vec<ScriptStep> {
    let step = |(entry, node): (StepEntry, &Node)| {
        let below = |key: &str| node.get(key).map_or(node, |entry| &entry.value);
        let what = match entry.action {
            ActionEntry::Do(given) => {
                let given = Vec::from(given).into_iter().zip(commands(below("do")));
                let placed =
                    given.map(|(MockCommand(command), node)| ScriptCommand { command, place: source.place(node.span) });
                ScriptAction::Do(placed.collect())
            }
            ActionEntry::Steps(entries) => ScriptAction::Steps(steps(entries, below("steps"), source)),
        };
        ScriptStep { when: entry.when, times: entry.repeat, what }
    };
    entries.into_iter().zip(node.as_list().unwrap_or_default()).map(step).collect()
}

/// The schema. What a command may be is for the mock of the role to say; here it is an object of one key.
pub fn schema() -> Value {
    let description = "What a mock does by itself: steps, one after the other.";
    let mut schema = format::schema::<ScriptFile>("a script of a mock", description);
    no_empty_list(&mut schema);
    schema
}

/// Every list of a script has to have something in it.
fn no_empty_list(schema: &mut Value) {
    if schema.get("type").is_some_and(|name| name == "array") {
        schema["minItems"] = 1.into();
    }
    match schema {
        Value::Object(members) => members.values_mut().for_each(no_empty_list),
        Value::Array(items) => items.iter_mut().for_each(no_empty_list),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::{Style, render_all};
    use crate::format::types::Text;

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
        let reported: Vec<_> = script.steps.iter().map(|s| (s.when.clone(), s.times)).collect();
        let expected = [
            (StepTrigger::Start, RepeatCount::Count(1)),
            (StepTrigger::Request(Text("readFile".to_owned())), RepeatCount::Count(3)),
            (StepTrigger::Start, RepeatCount::Forever),
        ];
        assert_eq!(reported, expected);
        let ScriptAction::Do(commands) = &script.steps[0].what else { panic!("{script:?}") };
        assert_eq!(commands[0].place.to_string(), "s.yaml:3:9");
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once_with_its_place() {
        let drawn = faults(
            "steps:\n  - {when: conected, do: {open: {}}}\n  - {when: {after: 5}, do: {open: {}}}\n  \
             - {do: {fly: {}}}\n  - {repeat: 0, do: []}\n  - {when: start}\n  - {color: red, do: {open: {}}}\n",
        );
        for reported in [
            "s.yaml:1:1",
            "does not say its version",
            "s.yaml:2:12",
            "did you mean `connected`?",
            "s.yaml:3:20",
            "s.yaml:4:10",
            "there is no command `fly`",
            "s.yaml:5:14",
            "`repeat` is no such number",
            "s.yaml:6:5",
            "the step does nothing",
            "s.yaml:7:6",
            "there is no key `color`",
        ] {
            assert!(drawn.contains(reported), "{reported} in\n{drawn}");
        }
    }

    #[test]
    fn what_would_never_end_or_never_come_is_refused() {
        let head = "wirecert: 1\nsteps:\n";
        assert!(faults(&format!("{head}  - {{repeat: forever, do: {{open: {{}}}}}}\n")).contains("has to wait"));
        let after = "  - {when: connected, repeat: forever, do: {open: {}}}\n  - do: {open: {}}\n";
        assert!(faults(&format!("{head}{after}")).contains("never reached"));
    }

    #[test]
    fn the_schema_allows_what_is_read() {
        let schema = schema();
        let validator = jsonschema::draft7::new(&schema).unwrap();
        for (steps, is_right) in [
            ("[{do: {open: {}}}]", true),
            ("[{when: start, repeat: 2, do: [{open: {}}, {open: {}}]}]", true),
            (
                "[{repeat: forever, steps: [{when: {after: 1s}, do: {open: {}}}, {when: {request: m}, do: {open: {}}}]}]",
                true,
            ),
            ("[]", false),
            ("[{do: []}]", false),
            ("[{when: connected}]", false),
            ("[{repeat: 0, do: {open: {}}}]", false),
            ("[{when: {request: ''}, do: {open: {}}}]", false),
            ("[{steps: [{when: soon, do: {open: {}}}]}]", false),
            ("[{do: {open: {}}, steps: [{do: {open: {}}}]}]", false),
        ] {
            let source = Source::new("s.yaml", format!("wirecert: 1\nsteps: {steps}\n"));
            assert_eq!(read(&source, &known).is_ok(), is_right, "{steps}");
            assert_eq!(validator.is_valid(&yaml::parse(&source).unwrap().to_json()), is_right, "{steps}");
        }
    }
}
