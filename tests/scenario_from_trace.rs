//! `wirecert scenario`, from outside: what it makes of traces, and that it shows again what a trace shows.
//!
//! A flawed mock is certified, and the traces of that become scenarios. Each has to fail against the flawed mock, naming
//! the requirement, and to pass against a sound one.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::wirecert_program;

const HEADER: &str = r#"{"version":1,"suite":"wirecert 0.1.0","protocol":"amp","edition":"cli","client":{"is":"unknown"},"server":{"is":"unknown"},"clock":{"unit":"us","start":"2026-01-02T03:04:05Z"}}"#;

/// Exit code, stdout, stderr of `wirecert` with these arguments in a folder.
fn wirecert(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(wirecert_program());
    let output = command.args(args).current_dir(dir).env("TMPDIR", dir).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Our mock as a subject, as `wirecert.yaml` describes it.
fn described(role: &str, edition: &str, flaw: Option<&str>) -> String {
    let program = wirecert_program();
    let mut launch: Vec<Value> =
        [program, "mock", role, "--edition", edition, "--workspace", "{workspace}"].map(|word| json!(word)).into();
    let mut subject = json!({"name": "mock", "role": role, "edition": edition, "timeouts": {"silence": "200ms"}});
    if ["openctx-provider", "amplifier-server"].contains(&role) {
        launch.extend([json!("--port"), json!("{port}")]);
    }
    if role == "openctx-provider" {
        subject["settings"] = json!("settings.json");
    }
    if role == "amplifier-server" {
        let prompts = ["text", "tool", "thinking", "approval"].map(|name| (name.to_owned(), json!(name)));
        subject["prompts"] = Value::Object(prompts.into_iter().collect());
    }
    launch.extend(flaw.into_iter().flat_map(|flaw| [json!("--flaw"), json!(flaw)]));
    subject["launch"] = launch.into();
    subject.to_string()
}

/// The traces of certifying our mock of a role, as far as a filter goes.
fn traces(dir: &Path, role: &str, edition: &str, flaw: Option<&str>, filter: &str) -> Vec<PathBuf> {
    fs::write(dir.join("settings.json"), "{}").unwrap();
    fs::write(dir.join("subject.yaml"), described(role, edition, flaw)).unwrap();
    let args =
        ["certify", "--no-confirm", "--subject", "subject.yaml", "--filter", filter, "--trace-dir", "traces", "-q"];
    let (_, stdout, stderr) = wirecert(dir, &args);
    let mut found = vec![];
    walk(&dir.join("traces"), &mut found);
    assert!(!found.is_empty(), "{stdout}{stderr}");
    found.sort();
    found
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

/// Shows that the breach of a requirement by a flawed mock is reproduced by the scenario made of a trace of it.
fn reproduces(role: &str, edition: &str, flaw: &str, requirement: &str, filter: &str) {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let side = if role.ends_with("client") { "server" } else { "client" };
    let mut refusals = String::new();
    let traces = traces(dir, role, edition, Some(flaw), filter);
    let made = traces.iter().any(|trace| {
        let trace = trace.display().to_string();
        let args = ["scenario", &trace, "--as", side, "--finding", requirement, "--out", "bug.yaml"];
        let (code, _, stderr) = wirecert(dir, &args);
        assert!(code == 0 || stderr.contains("there is no finding"), "{flaw}: {stderr}");
        refusals += &stderr;
        code == 0
    });
    assert!(made, "{role} {flaw}: no trace shows it\n{refusals}");
    let text = fs::read_to_string(dir.join("bug.yaml")).unwrap();

    let args = ["run", "bug.yaml", "--subject", "subject.yaml", "--report", "json=flawed.json", "-q"];
    let (code, stdout, stderr) = wirecert(dir, &args);
    let report: Value = serde_json::from_slice(&fs::read(dir.join("flawed.json")).unwrap()).unwrap();
    let findings = report["subjects"][0]["findings"].as_array().unwrap();
    let named = |finding: &Value| {
        finding["requirement"].as_str().is_some_and(|id| id.ends_with(&format!("/{requirement}")))
            && finding["blame"] == "subject"
    };
    assert!(code == 1 && findings.iter().any(named), "{role} {flaw}: {code}\n{text}\n{stdout}{stderr}");

    fs::write(dir.join("sound.yaml"), described(role, edition, None)).unwrap();
    let (code, stdout, stderr) = wirecert(dir, &["run", "bug.yaml", "--subject", "sound.yaml", "-q"]);
    assert_eq!(code, 0, "{role} {flaw}, sound:\n{text}\n{stdout}{stderr}");
}

#[test]
fn what_an_editor_broke_is_reproduced() {
    reproduces("amp-server", "cli", "masked-frames", "framing/unmasked", "id(*/ping/echo)");
    reproduces("amp-server", "cli", "id-as-number", "envelope/id-string", "id(*/ping/echo)");
    reproduces("amp-server", "cli", "error-code-as-text", "envelope/error-shape", "requirement(envelope/error-shape)");
    reproduces("amp-server", "guide", "masked-frames", "framing/unmasked", "id(*/read-file/content)");
}

#[test]
fn what_an_agent_broke_is_reproduced() {
    let filter = "requirement(authenticate/client-params)";
    reproduces("amp-client", "cli", "authenticate-by-token", "authenticate/client-params", filter);
    reproduces("amp-client", "cli", "short-key", "connection/client-key", "requirement(connection/client-key)");
    reproduces(
        "amp-client",
        "cli",
        "handshake-by-post",
        "connection/client-method",
        "requirement(connection/client-method)",
    );
    reproduces("amp-client", "guide", "json-rpc", "envelope/client-request", "id(*/read-file/*)");
}

#[test]
fn what_a_server_with_an_agent_broke_is_reproduced() {
    let filter = "area(profiles)";
    reproduces("amplifier-server", "2025-12-09", "profiles-without-collection", "profiles/collection", filter);
    reproduces("amplifier-server", "2025-12-09", "collections-206", "collections/status", "area(collections)");
    reproduces("amplifier-server", "2025-12-09", "health-203", "health/status", "area(health)");
}

#[test]
fn what_a_provider_broke_is_reproduced() {
    let edition = "0.1";
    reproduces("openctx-provider", edition, "name-null", "meta/name", "area(meta)");
    reproduces("openctx-provider", edition, "nothing-as-text", "envelope/result-type", "area(mentions)");
    reproduces("openctx-provider", edition, "range-minus-one", "annotations/range-zero-based", "area(annotations)");
    reproduces("openctx-provider", edition, "item-hover-text-as-number", "items/hover", "area(items)");
}

#[test]
fn an_expectation_that_failed_where_no_rule_is_broken_fails_again() {
    reproduces("openctx-provider", "0.1", "meta-fails", "meta/offered", "id(*/meta/offered)");
    reproduces("openctx-provider", "0.1", "path-unknown", "http/post", "area(http)");
    reproduces("amp-server", "cli", "accepts-empty-token", "connection/token-empty", "area(connection)");
    reproduces("amp-client", "cli", "edit-file-success-hidden", "edit-file/client-result", "area(edit-file)");
}

#[test]
fn a_failed_expectation_that_cannot_be_said_again_is_named_for_whoever_adds_it() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let traces = traces(dir, "openctx-provider", "0.1", Some("closes-though-kept"), "id(*/http/close-announced)");
    let (code, text, _) = wirecert(dir, &["scenario", &traces[0].display().to_string(), "--as", "client"]);
    assert_eq!(code, 0);
    assert!(
        text.contains("# The step was `request` at scenarios/openctx-provider/http/close-announced.yaml:"),
        "{text}"
    );
    assert!(text.contains("# No expectation could be made of it that holds in another run"), "{text}");
}

#[test]
fn what_a_client_of_a_provider_broke_is_reproduced() {
    reproduces("openctx-client", "0.1", "bad-header", "http/client-valid-head", "id(*/http/*)");
    reproduces(
        "openctx-client",
        "0.1",
        "dies-at-bad-json",
        "robustness/client-alive",
        "requirement(robustness/client-alive) & id(*bad-json*)",
    );
}

#[test]
fn what_an_extension_broke_is_reproduced() {
    let edition = "2025-12-09";
    reproduces("amplifier-client", edition, "bad-header", "http/client-valid-head", "id(*/list/*)");
    reproduces("amplifier-client", edition, "api-prefix", "http/client-endpoint", "id(*/list/*)");
    reproduces("amplifier-client", edition, "profile-list", "create/client-profile", "area(create)");
}

/// Shows that what was observed of a sound mock is observed again by the scenarios made of its traces.
fn observed_again(role: &str, edition: &str, filter: &str) {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    fs::create_dir(dir.join("made")).unwrap();
    let traces = traces(dir, role, edition, None, filter);
    for (n, trace) in traces.iter().enumerate() {
        let (trace, made) = (trace.display().to_string(), format!("made/{n}.yaml"));
        let side = if role.ends_with("client") { "server" } else { "client" };
        let args = ["scenario", &trace, "--as", side, "--observed", "--out", &made];
        let (code, _, stderr) = wirecert(dir, &args);
        assert_eq!(code, 0, "{trace}: {stderr}");
        // The same trace gives the same scenario.
        if n % 10 == 0 {
            let (_, again, _) = wirecert(dir, &args[..5]);
            assert_eq!(fs::read_to_string(dir.join(&made)).unwrap(), again);
        }
    }
    let args = ["run", "made", "--subject", "subject.yaml", "--report", "json=report.json", "-q"];
    let (_, stdout, stderr) = wirecert(dir, &args);
    let report: Value = serde_json::from_slice(&fs::read(dir.join("report.json")).unwrap()).unwrap();
    let passed = report["subjects"][0]["counts"]["passed"].as_u64().unwrap();
    // What a trace does not tell (how a body was cut into pieces, say) may keep one in fifty from it.
    assert!(passed * 50 >= traces.len() as u64 * 49, "{role}: {passed} of {}\n{stdout}{stderr}", traces.len());
}

#[test]
fn what_was_observed_of_an_editor_can_be_observed_again() {
    observed_again("amp-server", "cli", "area(ping) | area(edit-file) | id(*/read-file/special-names*)");
}

#[test]
fn what_was_observed_of_an_agent_can_be_observed_again() {
    // Not with a call that takes so long that the mock gives it up where the machine is busy.
    observed_again("amp-client", "cli", "(area(ping) | area(edit-file)) & !id(*/long-beside-others)");
}

#[test]
fn what_was_observed_of_a_provider_can_be_observed_again() {
    observed_again("openctx-provider", "0.1", "area(mentions)");
}

#[test]
fn what_was_observed_of_a_client_of_a_provider_can_be_observed_again() {
    observed_again("openctx-client", "0.1", "area(envelope) | id(*/robustness/restarted*)");
}

#[test]
fn what_was_observed_of_a_server_with_an_agent_can_be_observed_again() {
    observed_again("amplifier-server", "2025-12-09", "area(status) | area(prompt)");
}

#[test]
fn what_was_observed_of_an_extension_can_be_observed_again() {
    observed_again("amplifier-client", "2025-12-09", "area(errors) | id(*/stream/refused*)");
}

#[test]
fn requests_that_were_made_at_once_can_come_in_any_order_again() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let traces = traces(dir, "openctx-client", "0.1", None, "id(*/envelope/settings-concurrent[items])");
    let trace = traces[0].display().to_string();
    let (code, made, stderr) = wirecert(dir, &["scenario", &trace, "--as", "server", "--observed"]);
    assert_eq!(code, 0, "{stderr}");
    let sent: Vec<&str> = made.lines().filter(|line| line.contains("team:")).collect();
    assert!(sent.len() == 2 && sent.iter().all(|line| line.contains("call:")), "{made}");
    assert_eq!(made.matches("params: { message: hello }").count(), 4, "{made}");
}

#[test]
fn files_of_the_recorded_play_are_laid_again_whatever_their_names_and_whenever_they_came() {
    let dir = TempDir::new().unwrap();
    let dir = dir.path();
    let scenario = r#"
wirecert: 1
title: Files come and go
role: amp-server
edition: cli
workspace:
  "a:b\\c.txt": "odd ${$}{name}"
  gone.txt: "gone"
steps:
  - connect: {}
  - request: { as: odd, method: readFile, params: { path: "${workspace}/a:b\\c.txt" } }
  - expect: { response: { to: odd } }
  - write_file: { path: late.bin, hex: ff00 }
  - write_file: { path: late.txt, content: "late\n" }
  - remove_file: { path: gone.txt }
  - request: { as: late, method: readFile, params: { path: "${workspace}/late.txt" } }
  - expect: { response: { to: late, result: { content: "late\n" } } }
"#;
    fs::write(dir.join("play.yaml"), scenario.replace("${$}", "$$")).unwrap();
    fs::write(dir.join("subject.yaml"), described("amp-server", "cli", None)).unwrap();
    let args = ["run", "play.yaml", "--subject", "subject.yaml", "--trace-dir", "traces", "-q"];
    let (code, stdout, stderr) = wirecert(dir, &args);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let mut found = vec![];
    walk(&dir.join("traces"), &mut found);
    let trace = found[0].display().to_string();
    let reported = fs::read_to_string(&trace).unwrap();
    assert_eq!(
        (reported.matches(r#""change":"laid""#).count(), reported.matches(r#""change":"taken""#).count()),
        (4, 1)
    );
    let (code, made, stderr) = wirecert(dir, &["scenario", &trace, "--as", "client", "--observed"]);
    assert_eq!(code, 0, "{stderr}");
    for line in [
        r#"  "a:b\\c.txt": "odd $${name}""#,
        r#"  gone.txt: gone"#,
        r#"  - write_file: { path: late.bin, hex: ff00 }"#,
        r#"  - write_file: { path: late.txt, content: "late\n" }"#,
        r#"  - remove_file: { path: gone.txt }"#,
    ] {
        assert!(made.contains(line), "{line}\n{made}");
    }
    fs::write(dir.join("again.yaml"), &made).unwrap();
    let (code, stdout, stderr) = wirecert(dir, &["run", "again.yaml", "--subject", "subject.yaml", "-q"]);
    assert_eq!(code, 0, "{made}\n{stdout}{stderr}");
}

/// A trace in a folder of its own.
fn given(lines: &[&str]) -> TempDir {
    let dir = TempDir::new().unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(dir.path().join("t.trace"), text).unwrap();
    dir
}

#[test]
fn what_cannot_be_a_scenario_is_refused_with_what_to_do() {
    let end = r#"{"end":"complete","events":0}"#;
    let dir = given(&[HEADER, end]);
    let (code, stdout, stderr) = wirecert(dir.path(), &["scenario", "t.trace", "--as", "client"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("t.trace: nothing in it can be played again"), "{stderr}");
    let args = ["scenario", "t.trace", "--as", "client", "--finding", "ping/echo"];
    let (code, _, stderr) = wirecert(dir.path(), &args);
    assert_eq!(code, 2);
    assert!(stderr.contains("there is no finding `ping/echo`") && stderr.contains("found was: nothing"), "{stderr}");
    assert_eq!(wirecert(dir.path(), &["scenario", "absent.trace", "--as", "client"]).0, 2);
}
