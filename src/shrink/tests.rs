use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::Value;

use super::*;
use crate::diagnostic::Source;
use crate::protocol::role;
use crate::scenario::load_str;
use crate::scenario::text::{Tree, write};

/// Fails as long as the scenario is valid and this holds of it.
struct Holds<F> {
    holds: F,
    plays: u32,
    most: u32,
    careful: bool,
}

impl<F: FnMut(&Value) -> bool> Trial for Holds<F> {
    async fn fails(&mut self, text: &str) -> Result<bool, Stop> {
        let loaded = load_str("bug.yaml", text);
        if !loaded.diagnostics.is_empty() {
            return Ok(false);
        }
        if self.plays == self.most {
            return Err(Stop::Plays);
        }
        self.plays += 1;
        let tree = Tree::parse(&Source::new("bug.yaml", text)).expect("it was written by us");
        Ok((self.holds)(&tree.to_json()))
    }

    fn carefully(&mut self) -> bool {
        !std::mem::replace(&mut self.careful, true)
    }

    fn plays(&self) -> u32 {
        self.plays
    }
}

/// Nothing in these tests waits for anything.
fn finished<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

fn shrunk(text: &str, most: u32, holds: impl FnMut(&Value) -> bool) -> (String, Result<(), Stop>, u32) {
    let loaded = load_str("bug.yaml", text);
    assert!(loaded.diagnostics.is_empty(), "{}", loaded.diagnostics[0].message);
    let tree = narrow(&Tree::parse(&Source::new("bug.yaml", text)).expect("YAML"), &loaded.plans[0]);
    let mut trial = Holds { holds, plays: 0, most, careful: false };
    let mut on_success = |_: Size, _: u32| {};
    let mut shrinker = Shrinker::new(role("amp-server").expect("it is there").1, tree, &mut trial, &mut on_success);
    let ended = finished(shrinker.run());
    let text = write(shrinker.tree());
    (text, ended, trial.plays)
}

const BUG: &str = r#"
wirecert: 1
title: A long story
description: More of it.
role: amp-server
edition: [cli, guide]
requires: [workspace]
vars: { name: a file.txt, unused: 5 }
by_edition: { cli: { word: hello }, guide: { word: nothing } }
cases:
  one: { times: 3 }
  two: { times: 4 }
workspace: { a file.txt: "one\n", other.txt: "two\n" }
steps:
  # Nobody needs this.
  - pause: 10ms
  - connect: {}
  - connect: { as: second }
  # Asked over and over again.
  - repeat:
      times: 3
      steps:
        - request: { as: r, method: readFile, params: { path: "${workspace}/${name}", extra: [1, 2, 300] } }
        - barrier: {}
  - request: { on: second, as: p, method: ping, params: { message: "${word} world, hello" } }
  - expect: { response: { on: second, to: p, result: { message: "${word} world, hello" } }, proves: read-file/content }
  - expect:
      response: { to: r, result: { content: { $all: [{ $type: string }, { $starts_with: one }] }, success: true } }
      proves: read-file/content
finally:
  - pause: 1ms
"#;

fn steps<'a>(scenario: &'a Value, verb: &str) -> Vec<&'a Value> {
    fn collect<'a>(list: &'a Value, verb: &str, found: &mut Vec<&'a Value>) {
        for step in list.as_array().into_iter().flatten() {
            found.extend(step.get(verb));
            if let Some(inner) = step.pointer("/repeat/steps") {
                collect(inner, verb, found);
            }
        }
    }
    let mut found = vec![];
    collect(&scenario["steps"], verb, &mut found);
    found
}

#[test]
fn of_a_class_of_values_those_are_left_that_fail() {
    let scenario = r#"
wirecert: 1
title: Many texts
role: amp-server
edition: cli
steps:
  - connect: {}
  - repeat:
      each: texts
      steps:
        - request: { as: p, method: ping, params: { message: "${each}" } }
        - expect: { response: { to: p, result: { message: "${each}" } }, proves: ping/any-text }
"#;
    let (text, ended, _) = shrunk(scenario, 10_000, |s| {
        let each =
            s.pointer("/steps").and_then(Value::as_array).into_iter().flatten().find_map(|s| s.pointer("/repeat/each"));
        let fails = |text: &Value| text == "$${x} $x {{x}} {0} #{x}";
        each.is_some_and(|each| each == "texts" || each.as_array().is_some_and(|each| each.iter().any(fails)))
    });
    assert_eq!(ended, Ok(()));
    assert!(text.contains(r#"each: ["$${x} $x {{x}} {0} #{x}"]"#), "{text}");
}

#[test]
fn what_is_left_is_what_the_failure_needs_and_the_remarks_of_that() {
    let (text, ended, _) = shrunk(BUG, 10_000, |s| {
        let read = steps(s, "request").iter().any(|r| r["method"] == "readFile");
        let seen = steps(s, "expect").iter().any(|e| e.pointer("/response/result/content").is_some());
        read && seen
    });
    assert_eq!(ended, Ok(()));
    assert_eq!(
        text,
        r#"wirecert: 1
title: A long story
role: amp-server
edition: cli
steps:
  - connect: {}
  # Asked over and over again.
  - request: { as: r, method: readFile }
  - expect: { response: { to: r, result: { content: { $all: [{ $type: string }] } } }, proves: read-file/content }
"#
    );
}

#[test]
fn what_is_sent_and_expected_alike_becomes_less_together() {
    let (text, ..) = shrunk(BUG, 10_000, |s| {
        let sent = steps(s, "request").iter().find_map(|r| r.pointer("/params/message").cloned());
        let expected = steps(s, "expect").iter().find_map(|r| r.pointer("/response/result/message").cloned());
        sent.is_some_and(|sent| Some(&sent) == expected.as_ref() && sent.as_str().is_some_and(|t| t.contains(',')))
    });
    assert!(text.contains("params: { message: \",\" }"), "{text}");
    assert!(text.contains("result: { message: \",\" }"), "{text}");
}

#[test]
fn it_stops_where_it_is_told_to_and_keeps_what_it_has() {
    let (complete, _, plays) = shrunk(BUG, 10_000, |s| !steps(s, "connect").is_empty());
    let (part, ended, _) = shrunk(BUG, plays / 2, |s| !steps(s, "connect").is_empty());
    assert_eq!(ended, Err(Stop::Plays));
    assert!(part.len() > complete.len() && part.len() < BUG.len(), "{part}");
    assert!(load_str("bug.yaml", &part).diagnostics.is_empty());
}

#[test]
fn expectations_are_loosened_and_never_made_stricter() {
    let text = r#"
wirecert: 1
title: Any of several
role: amp-server
edition: cli
steps:
  - connect: {}
  - request: { as: r, method: readFile, params: { path: x } }
  - expect:
      any_of:
        - { response: { to: r, error: { code: 5, message: { $regex: "^no" } } }, note: one reading }
        - response: { to: r, result: { content: { $one_of: [a, b] }, list: [1, 2] } }
      proves: read-file/content
      within: 3s
  - never: { notification: { name: x, data: { a: 1 } }, until: barrier }
"#;
    // Only steps may go here, so that what is left of them shows.
    let (text, ..) = shrunk(text, 10_000, |s| !steps(s, "expect").is_empty() && !steps(s, "never").is_empty());
    assert!(text.contains("any_of:") && text.contains("note: one reading"), "{text}");
    assert!(text.contains("- { response: { to: r }, note: one reading }"), "{text}");
    assert!(text.contains("- never: { notification: { name: x, data: { a: 1 } }, until: barrier }"), "{text}");
    assert!(text.contains("within: "), "{text}");
}

#[test]
fn nothing_more_can_be_taken_out_of_the_result() {
    let holds = |s: &Value| steps(s, "request").len() >= 2 && steps(s, "connect").iter().any(|c| c["as"] == "second");
    let (once, ..) = shrunk(BUG, 10_000, holds);
    let (twice, ..) = shrunk(&once, 10_000, holds);
    assert_eq!(once, twice);
}
