//! In which respects the suite varies what a requirement is tried with: [`Dimension`].

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::protocol::RequirementId;

use super::plan::{Content, Expectation, Plan, Step, StepKind, Until};

/// A respect in which circumstances differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dimension {
    /// Several values: cases of a scenario.
    Values,
    /// More than a thousand bytes of one value.
    Size,
    /// A second time in the same play.
    Again,
    /// After a message that was wrong on purpose.
    AfterMistake,
    /// After a connection or process ended.
    AfterEnd,
    /// With several connections, sessions or subscriptions.
    Several,
    /// With several messages before the first answer.
    AtOnce,
    /// After a time in which nothing came.
    Time,
    /// In walks of a model.
    Walks,
}

/// How many bytes of one value are large.
const LARGE: usize = 1000;
/// Verbs that begin one more connection, session or subscription.
const BEGINS: [&str; 2] = ["connect", "subscribe"];
/// Verbs that send a message.
const SENDS: [&str; 10] =
    ["answer", "call", "control", "event", "http", "notify", "request", "respond", "send", "subscribe"];
/// What a request or a call does that begins one.
const BEGUN_BY: [&str; 2] = ["createSession", "subscribe"];
/// Verbs that end a connection or process.
const ENDS: [&str; 9] = ["close", "cut", "dismiss", "drop", "quit", "restart", "signal", "stop", "unsubscribe"];

impl Dimension {
    /// A few words for people.
    pub fn about(self) -> &'static str {
        match self {
            Self::Values => "several values",
            Self::Size => "a large value",
            Self::Again => "a second time",
            Self::AfterMistake => "after a wrong message",
            Self::AfterEnd => "after the end of a connection or process",
            Self::Several => "several connections, sessions or subscriptions",
            Self::AtOnce => "several messages at once",
            Self::Time => "after silence",
            Self::Walks => "walks of a model",
        }
    }
}

/// The respects in which plans vary each requirement that their expectations prove. What rules judge beside is judged in
/// every play, whatever it varies.
pub fn varied<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> BTreeMap<RequirementId, BTreeSet<Dimension>> {
    let mut found: BTreeMap<RequirementId, BTreeSet<Dimension>> = BTreeMap::new();
    let mut files: BTreeMap<(RequirementId, &str), usize> = BTreeMap::new();
    for plan in plans {
        let mut visit = Visit::new(plan);
        visit.steps(&plan.steps, 1);
        for (requirement, dimensions) in visit.found {
            let cases = files.entry((requirement, plan.file.as_str())).or_default();
            *cases += 1;
            let all = found.entry(requirement).or_default();
            all.extend(dimensions);
            all.extend((*cases > 1).then_some(Dimension::Values));
        }
    }
    found
}

/// What has been seen of a plan so far.
#[derive(Default)]
struct Visit {
    found: BTreeMap<RequirementId, BTreeSet<Dimension>>,
    /// What holds of everything from here on.
    now: BTreeSet<Dimension>,
    begun: usize,
    /// The messages since something was awaited.
    unanswered: usize,
}

impl Visit {
    fn new(plan: &Plan) -> Self {
        let mut visit = Self::default();
        let large_file = |content: &Content| match content {
            Content::Text { text, times } => text.len() as u64 * times > LARGE as u64,
            Content::Bytes(bytes) => bytes.len() > LARGE,
        };
        let large = plan.workspace.iter().any(|file| large_file(&file.content)) || plan.vars.values().any(is_large);
        visit.now.extend(large.then_some(Dimension::Size));
        visit.now.extend(plan.id.contains("/walk/").then_some(Dimension::Walks));
        visit
    }

    fn steps(&mut self, steps: &[Step], times: u64) {
        for step in steps {
            match &step.kind {
                StepKind::Act { verb, params } => self.act(verb.name, params),
                StepKind::Stimulate { stimulus, .. } => self.act(stimulus, &Value::Null),
                StepKind::Expect(Expectation { proves, .. }) => self.proved(proves, times),
                StepKind::Never { proves, until, .. } => {
                    self.proved(proves, times);
                    self.now.extend(matches!(until, Until::Quiet(_)).then_some(Dimension::Time));
                }
                StepKind::Collect(collect) => self.proved(&collect.proves, times),
                StepKind::Repeat { times: more, steps, .. } => self.steps(steps, times * more),
                StepKind::Barrier { .. } | StepKind::Set(_) => {}
            }
        }
    }

    fn act(&mut self, verb: &str, params: &Value) {
        // What begins is answered by itself.
        self.unanswered += usize::from(SENDS.contains(&verb));
        self.begun += usize::from(BEGINS.contains(&verb) || begins(params));
        let holds = [
            (self.begun > 1, Dimension::Several),
            (ENDS.contains(&verb), Dimension::AfterEnd),
            (verb == "pause", Dimension::Time),
            (params.get("deliberate").is_some(), Dimension::AfterMistake),
            (is_large(params), Dimension::Size),
        ];
        self.now.extend(holds.into_iter().filter_map(|(holds, dimension)| holds.then_some(dimension)));
    }

    fn proved(&mut self, proves: &[RequirementId], times: u64) {
        for requirement in proves {
            let again = times > 1 || self.found.contains_key(requirement);
            let dimensions = self.found.entry(requirement).or_default();
            dimensions.extend(&self.now);
            dimensions.extend(again.then_some(Dimension::Again));
            dimensions.extend((self.unanswered > 1).then_some(Dimension::AtOnce));
        }
        self.unanswered = 0;
    }
}

/// Whether a request or call begins a session or subscription.
fn begins(params: &Value) -> bool {
    let done = ["endpoint", "method"].iter().find_map(|key| params.get(key)?.as_str());
    done.is_some_and(|done| BEGUN_BY.contains(&done))
}

fn is_large(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > LARGE,
        Value::Array(items) => items.iter().any(is_large),
        Value::Object(members) => members.values().any(is_large),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::load_str;
    use super::*;

    #[test]
    fn what_a_scenario_varies_is_read_from_its_steps() {
        let text = r#"
wirecert: 1
title: t
role: amp-server
edition: cli
cases: { one: { path: a.txt }, two: { path: b.txt } }
steps:
  - connect: { as: c1 }
  - request: { on: c1, as: r1, method: readFile, params: { path: "${workspace}/${path}" } }
  - expect: { response: { on: c1, to: r1 }, proves: read-file/content }
  - send: { on: c1, text: "{", deliberate: it is no JSON }
  - connect: { as: c2 }
  - request: { on: c2, as: r2, method: ping, params: { message: m } }
  - expect: { response: { on: c2, to: r2 }, proves: ping/echo }
  - drop: { on: c1 }
  - repeat:
      times: 2
      steps:
        - request: { on: c2, as: r3, method: ping, params: { message: m } }
        - expect: { response: { on: c2, to: r3 }, proves: ping/result }
"#;
        let loaded = load_str("t.yaml", text);
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        let varied = varied(&loaded.plans);
        let of = |short: &str| {
            let (_, dimensions) = varied.iter().find(|(id, _)| id.ends_with(short)).expect("it is proved");
            dimensions.iter().copied().collect::<Vec<_>>()
        };
        use Dimension::{AfterEnd, AfterMistake, Again, AtOnce, Several, Values};
        assert_eq!(of("read-file/content"), [Values]);
        assert_eq!(of("ping/echo"), [Values, AfterMistake, Several, AtOnce]);
        assert_eq!(of("ping/result"), [Values, Again, AfterMistake, AfterEnd, Several]);
    }
}
