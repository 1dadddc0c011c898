//! What expectations of a scenario say about things that come late, or not at all.

use std::process::Command;

use serde_json::Value;

use crate::program::wirecert_program;

const HEAD: &str = "wirecert: 1\ntitle: It shows\nrole: openctx-provider\nedition: \"0.1\"\nsteps:\n";

/// The report of a scenario with these steps, played at a provider that gives this data.
fn report(data: &str, steps: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("data.yaml"), format!("wirecert: 1\n{data}")).expect("data");
    std::fs::write(folder.path().join("it.yaml"), format!("{HEAD}{steps}")).expect("a scenario");
    let wirecert = wirecert_program();
    let run = Command::new(wirecert)
        .current_dir(folder.path())
        .args(["run", "it.yaml", "--no-confirm", "--progress", "none", "--report", "json=r.json", "--"])
        .arg(wirecert)
        .args(["mock", "openctx-provider", "--port", "{port}", "--data"])
        .arg(folder.path().join("data.yaml"))
        .output()
        .expect("it runs");
    let report = std::fs::read(folder.path().join("r.json"));
    let report = report.unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&run.stderr)));
    serde_json::from_slice(&report).expect("a report")
}

fn findings(report: &Value) -> &Vec<Value> {
    report["subjects"][0]["findings"].as_array().expect("findings")
}

#[test]
fn nothing_is_waited_for_twice_as_long_as_the_subject_takes() {
    let data = "meta: { name: Slow }\nlatency: { mentions: 300ms, items: 450ms }\n";
    let steps = "  - request: { as: late, method: items }\n  - request: { as: first, method: mentions }\n  \
        - expect: { response: { to: first } }\n  - never: { response: { to: late }, until: 10ms }\n";
    let report = report(data, steps);
    let [finding] = &findings(&report)[..] else { panic!("{report:#}") };
    assert_eq!(finding["way"], "unwanted", "{finding:#}");
}

#[test]
fn what_may_still_come_is_not_told_to_be_missing_where_something_else_differs() {
    let data = "meta: { name: Slow }\nlatency: { items: 300ms }\n";
    let steps = "  - request: { as: late, method: items }\n  - request: { as: first, method: meta }\n  - expect:\n      any_of:\n        \
        - all_of:\n            - response: { to: late, result: { $any: true } }\n            - response: { to: first, result: { name: Fast } }\n        \
        - all_of:\n            - response: { to: late, error: { $any: true } }\n            - response: { to: first, error: { $any: true } }\n";
    let report = report(data, steps);
    let [finding] = &findings(&report)[..] else { panic!("{report:#}") };
    assert_eq!(finding["way"], "different", "{finding:#}");
}

#[test]
fn what_came_is_compared_with_what_is_asked_for_and_not_with_half_of_what_is_taken_with_a_note() {
    let data = "meta: { name: Slow }\nlatency: { items: 400ms }\n";
    let steps = "  - request: { as: late, method: items }\n  - request: { as: it, method: meta }\n  - expect:\n      any_of:\n        \
        - response: { to: it, result: { name: Fast } }\n        \
        - all_of: [{ response: { to: it, result: { name: Slow } } }, { response: { to: late } }]\n          \
          note: It is slow, and says so.\n      within: 100ms\n";
    let report = report(data, steps);
    let [finding] = &findings(&report)[..] else { panic!("{report:#}") };
    assert_eq!((&finding["way"], &finding["actual"]), (&"different".into(), &"Slow".into()), "{finding:#}");
}

#[test]
fn a_description_has_the_values_of_variables_as_they_are() {
    let data = "meta: { name: Quick }\nmentions: [{ title: It, uri: \"file:///it\", data: { n: 5 } }]\n";
    let steps = "  - request: { as: it, method: mentions }\n  - expect: { response: { to: it, json: { $capture: answer } } }\n  \
        - expect: { response: { to: it, again: true, result: { $somewhere: { n: \"${answer.result.0.data.n}\", of: \"${answer.result.0.title}\" } } }, within: 100ms }\n";
    let report = report(data, steps);
    let [finding] = &findings(&report)[..] else { panic!("{report:#}") };
    let message = finding["message"].as_str().expect("a message");
    assert!(message.contains(r#"{"n":5,"of":"It"}"#), "{message}");
}

#[test]
fn a_repetition_within_another_leaves_its_value_and_number_as_they_were() {
    let steps = "  - repeat:\n      each: [one]\n      steps:\n        - repeat: { each: [two, three], steps: [pause: 1ms] }\n        \
        - write_file: { path: \"${each}-${n}.txt\", content: here }\n  \
        - expect: { file: { path: one-1.txt, exists: true } }\n";
    let report = report("meta: { name: Quick }\n", steps);
    assert_eq!(findings(&report).len(), 0, "{report:#}");
}

#[test]
fn an_observation_that_was_taken_counts_again_where_that_is_asked_for() {
    let steps = |again: &str, name: &str| {
        format!(
            "  - request: {{ as: it, method: meta }}\n  - expect: {{ response: {{ to: it }} }}\n  \
            - expect: {{ response: {{ to: it{again}, result: {{ name: {name} }} }}, within: 100ms }}\n"
        )
    };
    let data = "meta: { name: Quick }\n";
    let found = |again: &str, name: &str| {
        let report = report(data, &steps(again, name));
        let ways: Vec<_> = findings(&report).iter().map(|finding| finding["way"].clone()).collect();
        ways
    };
    assert_eq!(found(", again: true", "Quick"), [] as [&str; 0]);
    assert_eq!(found(", again: true", "Slow"), ["different"]);
    assert_eq!(found("", "Quick"), ["absent"]);
}

#[test]
fn a_secret_is_compared_as_the_trace_shows_it() {
    let steps = |name: &str| {
        format!(
            "  - request: {{ as: it, method: meta, headers: {{ Authorization: Bearer very-secret }} }}\n  \
            - expect: {{ response: {{ to: it, result: {{ name: \"${{{name}}}\" }} }} }}\nvars: {{ same: very-secret, other: less-secret }}\n"
        )
    };
    let data = "meta: { name: very-secret }\n";
    let report = report(data, &steps("same"));
    assert!(findings(&report).is_empty(), "{report:#}");
    let report = self::report(data, &steps("other"));
    assert_eq!(findings(&report).len(), 1, "{report:#}");
    assert!(!report.to_string().contains("very-secret"), "{report:#}");
}

#[test]
fn a_lockfile_is_compared_with_its_secrets_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let step =
        |token: &str| format!("  - expect: {{ lockfile: {{ content: {{ authToken: {token} }} }}, within: 50ms }}\n");
    let scenario = |token: &str| {
        let steps = step("{ $capture: first }") + &step(token);
        format!("wirecert: 1\ntitle: It shows\nrole: amp-server\nedition: cli\nsteps:\n{steps}")
    };
    std::fs::write(folder.path().join("same.yaml"), scenario("\"${first}\"")).expect("a scenario");
    std::fs::write(folder.path().join("other.yaml"), scenario("{ $not: { $equals: \"${first}\" } }"))
        .expect("a scenario");
    let wirecert = wirecert_program();
    let run = |file: &str| {
        let mut command = Command::new(wirecert);
        command.current_dir(folder.path()).args(["run", file, "--no-confirm", "--progress", "none", "--"]);
        command.arg(wirecert).args(["mock", "amp-server"]).output().expect("it runs").status.code()
    };
    assert_eq!([run("same.yaml"), run("other.yaml")], [Some(4), Some(1)]);
}

#[test]
fn what_an_expectation_that_failed_would_have_captured_is_not_missed_again() {
    let steps = "  - request: { as: one, method: meta }\n  \
        - expect: { response: { to: one, result: { name: Fast, version: { $capture: version } } } }\n  \
        - request: { as: two, method: meta }\n  \
        - expect: { response: { to: two, result: { version: \"${version}\" } } }\n";
    let report = report("meta: { name: Slow }\n", steps);
    let [finding] = &findings(&report)[..] else { panic!("{report:#}") };
    assert_eq!(finding["way"], "different", "{finding:#}");
}

#[test]
fn only_one_request_follows_another_on_its_connection() {
    let steps = "  - request: { as: one, method: meta }\n  - request: { as: two, method: meta, over: one }\n  \
        - request: { as: three, method: meta, over: one }\n  - expect: { response: { to: three } }\n";
    let report = report("meta: { name: Slow }\n", steps).to_string();
    assert!(
        report.contains("`two` has followed on the connection of `one`; go on with `over` of that one"),
        "{report}"
    );
}

#[test]
fn a_play_ends_at_an_expectation_that_is_needed_although_only_a_should_is_broken() {
    let steps = |needed: &str| {
        format!(
            "  - request: {{ as: one, method: meta }}\n  \
            - expect: {{ response: {{ to: one, result: {{ name: Fast }} }}, proves: meta/name-text{needed} }}\n  \
            - request: {{ as: two, method: meta }}\n  - expect: {{ response: {{ to: two, result: {{ name: Faster }} }} }}\n"
        )
    };
    let data = "meta: { name: Slow }\n";

    let (goes_on, ends) = (report(data, &steps("")), report(data, &steps(", needed: true")));
    assert_eq!((findings(&goes_on).len(), findings(&ends).len()), (2, 1), "{goes_on:#} {ends:#}");
}

#[test]
fn a_scenario_whose_preparation_fails_is_skipped_and_says_why() {
    let steps = |proves: &str| {
        format!(
            "  - request: {{ as: it, method: meta }}\n  \
            - expect: {{ response: {{ to: it, result: {{ name: Fast }} }}{proves} }}\n  \
            - expect: {{ response: {{ to: it, again: true, result: {{ name: Fast }} }}, proves: meta/result }}\n"
        )
    };
    let scenario = |proves| report("meta: { name: Slow }\n", &steps(proves))["subjects"][0]["scenarios"][0].clone();
    let skipped = scenario(", proves: []");
    assert_eq!(skipped["status"], "skipped", "{skipped:#}");
    let reason = skipped["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("it.yaml:7:") && reason.contains("\"Slow\""), "{reason}");
    assert_eq!(scenario("")["status"], "failed");
}
