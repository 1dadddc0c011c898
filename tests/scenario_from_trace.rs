//! `wirecert scenario`, from outside: what it makes of traces, and that it shows again what a trace shows.
//!
//! A flawed mock is certified, and the traces of that become scenarios. Each has to fail against the flawed mock, naming
//! the requirement, and to pass against a sound one.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

const HEADER: &str = r#"{"version":1,"suite":"wirecert 0.1.0","protocol":"amp","edition":"cli","client":{"is":"unknown"},"server":{"is":"unknown"},"clock":{"unit":"us","start":"2026-01-02T03:04:05Z"}}"#;

/// Exit code, stdout, stderr of `wirecert` with these arguments in a folder.
fn wirecert(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("wirecert").unwrap().args(args).current_dir(dir).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Our mock as a subject, as `wirecert.yaml` describes it.
fn described(role: &str, edition: &str, flaw: Option<&str>) -> String {
    let program = assert_cmd::cargo::cargo_bin("wirecert").display().to_string();
    let mut launch: Vec<Value> =
        [&program, "mock", role, "--edition", edition, "--workspace", "{workspace}"].map(|word| json!(word)).into();
    let mut subject = json!({"name": "mock", "role": role, "edition": edition, "timeouts": {"silence": "200ms"}});
    if ["openctx-provider", "amplifier-server"].contains(&role) {
        launch.extend([json!("--port"), json!("{port}")]);
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
    fs::write(dir.join("subject.yaml"), described(role, edition, flaw)).unwrap();
    let args = ["certify", "--subject", "subject.yaml", "--filter", filter, "--trace-dir", "traces", "-q"];
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
        assert!(code == 0 || stderr.contains("the rules found no"), "{flaw}: {stderr}");
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
    reproduces(
        "amp-server",
        "guide",
        "version-not-told",
        "connection/version-told",
        "requirement(connection/version-told)",
    );
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
    let filter = "requirement(profiles/collection)";
    reproduces("amplifier-server", "2025-12-09", "profiles-without-collection", "profiles/collection", filter);
    reproduces(
        "amplifier-server",
        "2025-12-09",
        "collections-206",
        "collections/status",
        "requirement(collections/status)",
    );
    reproduces("amplifier-server", "2025-12-09", "health-203", "health/status", "requirement(health/status)");
}
