//! `wirecert certify openctx-provider`: JavaScript modules, good ones and such as cannot be loaded, and a server that runs
//! already. Needs `node`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::wirecert_program;

/// A small provider that gives something for everything.
const SOUND: &str = "\
export default {
    meta: (_, settings) => ({ name: `Small ${settings.team ?? ''}`, mentions: {}, items: {}, annotations: {} }),
    mentions: params => [{ title: `About ${params.query ?? 'nothing'}`, uri: 'https://wirecert.example/about' }],
    items: params => [{ title: params.mention?.title ?? 'All', ai: { content: params.message ?? '' } }],
    annotations(params) {
        if (typeof params.uri !== 'string' || typeof params.content !== 'string') throw new Error('no document')
        return [{ uri: params.uri, item: { title: 'Whole' } }]
    },
}
";

struct Outcome {
    code: Option<i32>,
    report: Value,
    stderr: String,
}

impl Outcome {
    fn verdict(&self) -> &str {
        self.report["verdict"].as_str().unwrap_or_default()
    }
}

fn certify(folder: &Path, args: &[&str], path: Option<&str>) -> Outcome {
    let mut command = Command::new(wirecert_program());
    command.current_dir(folder).args(["certify", "openctx-provider", "--progress", "none", "--report", "json=r.json"]);
    command.args(args).env("NO_COLOR", "1");
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let run = command.output().expect("it runs");
    let report = std::fs::read(folder.join("r.json")).unwrap_or_default();
    let report = serde_json::from_slice(&report).unwrap_or_default();
    Outcome { code: run.status.code(), report, stderr: String::from_utf8_lossy(&run.stderr).into_owned() }
}

/// A folder with a module and empty settings.
fn module(text: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("provider.mjs"), text).expect("a module");
    std::fs::write(folder.path().join("settings.json"), "{}").expect("settings");
    folder
}

const MODULE: &[&str] = &["--module", "provider.mjs", "--settings", "settings.json"];

#[test]
fn a_sound_module_conforms() {
    let outcome = certify(module(SOUND).path(), MODULE, None);
    assert_eq!((outcome.code, outcome.verdict()), (Some(0), "conforms"), "{}", outcome.stderr);
}

#[test]
fn a_module_that_breaks_the_protocol_is_told_which_requirement() {
    let wrong = SOUND.replace("title: 'Whole'", "label: 'Whole'");
    let outcome = certify(module(&wrong).path(), &[MODULE, &["--filter", "area(annotations)"]].concat(), None);
    assert_eq!((outcome.code, outcome.verdict()), (Some(1), "nonconforming"));
    let findings = outcome.report["subjects"][0]["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|found| found["requirement"] == "openctx/0.1/annotations/item"), "{findings:?}");
}

/// The message of the first finding about a module.
fn reported(text: &str, args: &[&str]) -> String {
    let outcome = certify(module(text).path(), &[MODULE, args].concat(), None);
    outcome.report["subjects"][0]["findings"][0]["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_provider_that_offers_nothing_conforms_where_that_is_declared() {
    let folder = module("export default { meta: () => ({ name: 'Silent' }) }");
    let outcome = certify(folder.path(), MODULE, None);
    assert_eq!((outcome.code, outcome.verdict()), (Some(4), "incomplete"), "{}", outcome.stderr);
    let text = "role: openctx-provider\nmodule: provider.mjs\nsettings: settings.json\n\
                missing: [mentions, items, annotations]\n";
    std::fs::write(folder.path().join("wirecert.yaml"), text).expect("written");
    let outcome = certify(folder.path(), &[], None);
    assert_eq!((outcome.code, outcome.verdict()), (Some(0), "conforms"), "{}", outcome.stderr);
}

#[test]
fn of_several_outcomes_that_are_taken_it_is_told_that_none_came() {
    let lenient = SOUND.replace("throw new Error('no document')", "return []");
    let message = reported(&lenient, &["--filter", "id(*/envelope/bad-params[annotations-uri])"]);
    assert!(message.starts_with("the response to \"bad\" is none of the "), "{message}");
    assert!(message.contains(" outcomes that are taken; the nearest: missing key `error`"), "{message}");
}

#[test]
fn what_did_not_come_is_named_once() {
    let never = SOUND.replace("mentions: params => [", "mentions: params => params.query ? new Promise(() => {}) : [");
    let message = reported(&never, &["--timeout", "200ms", "--filter", "id(*/mentions/any-query[words])"]);
    assert_eq!(message, "no response to \"asked\" came within 200ms");
}

#[test]
fn an_answer_that_is_longer_than_what_is_taken_is_not_judged_and_accuses_nobody() {
    let long = SOUND.replace("params.message ?? ''", "'x'.repeat(17 << 20)");
    let folder = module(&long);
    let outcome = certify(folder.path(), &[MODULE, &["--filter", "id(*/items/any-message[markup])"]].concat(), None);
    assert_eq!((outcome.verdict(), outcome.code), ("incomplete", Some(3)), "{}", outcome.stderr);
    let subject = &outcome.report["subjects"][0];
    assert_eq!(subject["findings"], serde_json::json!([]), "{}", outcome.stderr);
    let scenarios = subject["scenarios"].as_array().expect("scenarios");
    let reasons: Vec<&str> = scenarios.iter().filter_map(|scenario| scenario["reason"].as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains("of more than 16777216 bytes")), "{reasons:?}");
}

#[test]
fn of_an_outcome_that_came_in_part_the_rest_did_not_come() {
    let never = "mentions: params => 'wirecertUnknown' in params ? new Promise(() => {}) : [";
    let never = SOUND.replace("mentions: params => [", never);
    let message = reported(&never, &["--timeout", "200ms", "--filter", "id(*/envelope/extra-params[mentions])"]);
    assert_eq!(message, "no response to \"other\" came within 200ms");
}

/// A server that ends when the body of a request is cut off, as one does that reads it outside of every `try`.
const FRAGILE: &str = "\
import http from 'node:http'
http.createServer(async (request, response) => {
    for await (const part of request) part.length
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ result: { name: 'Fragile' } }))
}).listen(Number(process.argv[2]), '127.0.0.1')
";

#[test]
fn a_server_that_ends_when_a_body_is_cut_off_is_found_out() {
    let folder = module(FRAGILE);
    let server = folder.path().join("provider.mjs");
    let server = server.to_str().expect("a path of UTF-8");
    let args = ["--timeout", "1s", "--filter", "id(*/robustness/reset*)", "--", "node", server, "{port}"];
    let outcome = certify(folder.path(), &args, None);
    let findings = outcome.report["subjects"][0]["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|found| found["requirement"] == "openctx/0.1/robustness/alive"), "{findings:?}");
}

/// One that ends a moment after that, in which it serves nobody.
const LATE: &str = "\
import http from 'node:http'
const parts = new Int32Array(new SharedArrayBuffer(4))
http.createServer(async (request, response) => {
    try {
        for await (const part of request) part.length
    } catch {
        Atomics.wait(parts, 0, 0, 50)
        process.exit(3)
    }
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ result: { name: 'Late' } }))
}).listen(Number(process.argv[2]), '127.0.0.1')
";

#[test]
fn a_server_that_ends_after_a_scenario_is_held_against_that_one_and_not_against_the_next() {
    let folder = module(LATE);
    let server = folder.path().join("provider.mjs");
    let server = server.to_str().expect("a path of UTF-8");
    let only = "id(*/robustness/half-request[body]) | id(*/robustness/huge-content) | id(*/robustness/lengths*)";
    // Whether the next scenario has a process of its own or not.
    for isolation in ["run", "scenario"] {
        let launch = serde_json::json!(["node", server, "{port}"]);
        let subject = format!("role: openctx-provider\nisolation: {isolation}\nlaunch: {launch}\n");
        std::fs::write(folder.path().join("subject.yaml"), subject).expect("a description");
        let args = ["--subject", "subject.yaml", "--timeout", "1s", "--jobs", "1", "--filter", only];
        let outcome = certify(folder.path(), &args, None);
        let findings = outcome.report["subjects"][0]["findings"].as_array().expect("findings");
        let reported: Vec<_> = findings.iter().map(|f| (f["scenario"].as_str(), f["message"].as_str())).collect();
        let died = "the subject's process ended although nobody asked it to (exit code 3)";
        assert_eq!(reported, [(Some("openctx-provider/0.1/robustness/half-request[body]"), Some(died))], "{isolation}");
        // It shows again when it is repeated.
        assert_eq!(findings[0]["depends"], serde_json::Value::Null, "{isolation}");
    }
}

#[test]
fn what_cannot_be_loaded_is_not_judged_and_the_exit_code_says_so() {
    for (text, expected) in [
        ("throw new Error('no key')", "it threw while it was loaded: no key"),
        ("export default {", "it is no JavaScript that Node understands"),
        ("import 'wirecert-not-there'", "Cannot find package 'wirecert-not-there'"),
        ("export const provider = 1", "it has no default export"),
    ] {
        let outcome = certify(module(text).path(), MODULE, None);
        assert_eq!(outcome.code, Some(3), "{text}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("could not load the module"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{expected}: {}", outcome.stderr);
    }
}

#[test]
fn without_node_no_module_is_judged() {
    let outcome = certify(module(SOUND).path(), MODULE, Some("/nowhere"));
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("Node"), "{}", outcome.stderr);
}

/// Our own provider, running by itself.
struct Running(Child, String);

impl Running {
    fn start() -> Self {
        let mut command = Command::new(wirecert_program());
        command.args(["mock", "openctx-provider", "--port", "0"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its stdout is ours");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it is");
        let ready: Value = serde_json::from_str(&line).expect("JSON");
        Self(child, ready["url"].as_str().expect("a URL").to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_that_runs_already_conforms() {
    let server = Running::start();
    let folder = module("");
    let outcome = certify(folder.path(), &["--url", &server.1, "--settings", "settings.json"], None);
    assert_eq!((outcome.code, outcome.verdict()), (Some(0), "conforms"), "{}", outcome.stderr);
}
