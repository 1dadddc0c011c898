//! The scenario that is made of a trace ([`ScenarioSpec`], [`ScenarioStep`]), and its YAML: short maps in one line, long ones over several.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::protocol::{Edition, Level, Requirement, Role};
use crate::trace::Finding;

/// What was found, as a scenario is to show it.
#[derive(Clone, Debug)]
pub struct ScenarioGoal {
    /// The requirement that was broken; none where an expectation failed that proves none.
    pub requirement: Option<&'static Requirement>,
    /// What was found.
    pub finding: Finding,
}

impl ScenarioGoal {
    /// The level of the requirement; an expectation that proves nothing counts as a `must`.
    pub fn level(&self) -> Level {
        self.requirement.map_or(Level::Must, |requirement| requirement.level)
    }

    /// The number of the last event that it takes: that which shows it, or the last before an expectation failed.
    pub fn last_event(&self) -> u64 {
        self.finding.awaited.as_ref().map_or(self.finding.at, |awaited| awaited.until.max(self.finding.at))
    }

    /// The name of the requirement, without protocol and edition.
    pub fn short(&self) -> &str {
        self.requirement.map_or("an expectation that proves no requirement", Requirement::short)
    }
}

/// What scenario is to be made of a trace.
#[derive(Clone)]
pub struct ScenarioSpec {
    /// The role of the subject that it will be played at.
    pub role: &'static Role,
    /// The edition of the role.
    pub edition: &'static dyn Edition,
    /// What the trace is called, for the comment at the top.
    pub trace: String,
    /// The finding that it is to show; without one, it says what was observed.
    pub finding: Option<ScenarioGoal>,
}

/// Why there is no scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoScenario {
    /// Our side does nothing in it that could be done again.
    #[error("nothing in it can be played again")]
    Empty,
    /// The trace has more steps than a scenario should.
    #[error("it has more than {most} steps before that")]
    TooLong {
        /// The most steps of a scenario.
        most: usize,
    },
}

/// A step of the scenario that is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScenarioStep {
    /// The verb: the only key of the step.
    pub(super) verb: &'static str,
    /// The parameters of the verb.
    pub(super) body: Map<String, Value>,
    /// The event that the step was made from.
    pub(super) comment: Option<String>,
}

/// The longest line.
const WIDTH: usize = 118;

/// The whole file. `unsaid`: whether the expectation that failed is none of the steps.
pub fn write(spec: &ScenarioSpec, unsaid: bool, files: &BTreeMap<String, Vec<u8>>, steps: &[ScenarioStep]) -> String {
    let mut out = format!("# From the trace {}.\n", line(&spec.trace));
    let title = match &spec.finding {
        Some(goal) => {
            let (by, finding) = (spec.role.about, &goal.finding);
            let whose = if finding.awaited.is_some() { "an expectation" } else { "the rules" };
            out += &format!(
                "# It shows what {whose} found at event {}, of {by}: {}\n",
                finding.at,
                line(&finding.message)
            );
            if let Some(requirement) = goal.requirement {
                out += &format!("# against {}: {}\n", requirement.id, line(requirement.statement));
            }
            if let (Some(step), Some(file)) = (&finding.step, &finding.file) {
                let number = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
                out += &format!("# The step was `{}` at {}{number}.\n", line(step), line(file));
            }
            if unsaid {
                out += "# No expectation could be made of it that holds in another run: add the one that is to fail.\n";
            }
            sentence(&finding.message)
        }
        None => {
            out += "# Nothing was found in it: this is what was observed.\n";
            format!("What was recorded in {}", spec.trace)
        }
    };
    out += &format!("wirecert: 1\ntitle: {}\n", scalar(&line(&title).replace("${", "$${")));
    out += &format!("role: {}\nedition: {}\n", spec.role.name, scalar(spec.edition.id()));
    if !spec.role.is_client() && steps.iter().any(|step| step.verb == "launch") {
        out += "isolation: own\n";
    }
    if !files.is_empty() {
        out += "workspace:\n";
        for (path, bytes) in files {
            let content = match std::str::from_utf8(bytes) {
                Ok(text) => scalar(&text.replace("${", "$${")),
                Err(_) => format!("{{ hex: \"{}\" }}", crate::protocol::scenario_element::hex(bytes)),
            };
            out += &format!("  {}: {content}\n", scalar(path));
        }
    }
    out += "steps:\n";
    for step in steps {
        out += &render_step(step);
    }
    out
}

fn render_step(step: &ScenarioStep) -> String {
    let comment = step.comment.as_ref().map(|comment| format!("  # {}\n", line(comment))).unwrap_or_default();
    let flow = flow(&Value::Object(step.body.clone()));
    if flow.chars().count() + step.verb.len() + 6 <= WIDTH {
        return format!("{comment}  - {}: {flow}\n", step.verb);
    }
    let mut out = format!("{comment}  - {}:\n", step.verb);
    block(&step.body, 6, &mut out);
    out
}

fn block(map: &Map<String, Value>, indent: usize, out: &mut String) {
    for (key, value) in map {
        *out += &" ".repeat(indent);
        *out += &scalar(key);
        *out += ":";
        entry(value, indent, out);
    }
}

fn entry(value: &Value, indent: usize, out: &mut String) {
    let flow = flow(value);
    let fits = indent + flow.chars().count() + 20 <= WIDTH;
    match value {
        Value::Object(map) if !fits && !map.is_empty() => {
            *out += "\n";
            block(map, indent + 2, out);
        }
        Value::Array(items) if !fits && !items.is_empty() => {
            *out += "\n";
            for item in items {
                *out += &" ".repeat(indent + 2);
                *out += "- ";
                match item {
                    Value::Object(map) if !map.is_empty() => {
                        let mut inner = String::new();
                        block(map, indent + 4, &mut inner);
                        *out += inner.trim_start();
                    }
                    item => *out += &format!("{}\n", self::flow(item)),
                }
            }
        }
        _ => *out += &format!(" {flow}\n"),
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", scalar(key), flow(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) => scalar(text),
        value => value.to_string(),
    }
}

/// A text as a scalar: plain where no reader could take it for anything else.
fn scalar(text: &str) -> String {
    let first = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$');
    let inner = text.chars().all(|c| c.is_ascii_alphanumeric() || " _-./$".contains(c));
    let word = ["true", "false", "null"];
    let plain = first && inner && !text.ends_with(' ') && !word.contains(&text.to_ascii_lowercase().as_str());
    if plain { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            // What YAML does not count as printable, and what would break a line.
            '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{a0}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'..='\u{ffff}' => {
                out += &format!("\\u{:04x}", u32::from(c));
            }
            '\u{10000}'.. => out += &format!("\\U{:08x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A text on one line.
fn line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') { ' ' } else { c })
        .collect()
}

/// A text that begins with a capital letter.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn any_value_is_read_back_as_it_was() {
        for text in
            ["a", "yes", "5", "", " a", "a ", "a: b", "# a", "é\u{85}\u{feff}😀\u{7}\"\\\n\t", "${x}", "-", "{a}", "~"]
        {
            let written = format!("k: {}\n", flow(&json!({ "a": [text, 1.5, null, true], "b": {} })));
            let source = crate::diagnostic::Source::new("t", &written);
            assert!(crate::diagnostic::yaml::parse(&source).is_ok(), "{written}");
        }
    }

    #[test]
    fn short_maps_stand_in_one_line_and_long_ones_over_several() {
        let step = |n: usize| {
            let body = json!({"method": "m", "params": {"items": ["x".repeat(n), {"a": 1, "b": "y".repeat(n)}]}});
            let Value::Object(body) = body else { unreachable!() };
            render_step(&ScenarioStep { verb: "request", body, comment: Some("event 1".to_owned()) })
        };
        let short = "  # event 1\n  - request: { method: m, params: { items: [x, { a: 1, b: y }] } }\n";
        assert_eq!(step(1), short);
        assert_eq!(step(60).lines().count(), 8);
    }
}
