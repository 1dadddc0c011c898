//! What expectations of a scenario say about things that come late, or not at all.

use std::process::Command;

use serde_json::Value;

const HEAD: &str = "wirecert: 1\ntitle: It shows\nrole: openctx-provider\nedition: \"0.1\"\nsteps:\n";

/// The report of a scenario with these steps, played at a provider that gives this data.
fn report(data: &str, steps: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("data.yaml"), format!("wirecert: 1\n{data}")).expect("data");
    std::fs::write(folder.path().join("it.yaml"), format!("{HEAD}{steps}")).expect("a scenario");
    let wirecert = assert_cmd::cargo::cargo_bin!("wirecert");
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
