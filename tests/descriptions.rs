//! `wirecert export` of a protocol as a document: read by the official tools, and by a generator of clients whose client then
//! works against our mock. `tests/interop/setup` installs them.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::wirecert_program;

fn wirecert(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(wirecert_program());
    let output = command.current_dir(dir).args(args).output().expect("it can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Writes a document, and gives what came of it on stdout, which is the same.
fn export(dir: &Path, args: &[&str], file: &str) -> String {
    let (code, stdout, stderr) = wirecert(dir, &[&["export"], args].concat());
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{args:?}");
    let (code, nothing, _) = wirecert(dir, &[&["export"], args, &["--out", file]].concat());
    assert_eq!((code, nothing.as_str()), (Some(0), ""), "{args:?}");
    assert_eq!(fs::read_to_string(dir.join(file)).expect("it was written"), stdout);
    stdout
}

fn installed() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/interop/descriptions");
    assert!(folder.join("venv").exists(), "what reads the documents is not installed: run tests/interop/setup");
    folder
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/descriptions").join(name)
}

fn succeeds(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("it can be run");
    let text = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {text}");
    text
}

#[test]
fn the_validator_of_openapi_accepts_the_documents() {
    let dir = TempDir::new().unwrap();
    for protocol in ["amplifier", "openctx", "inspector"] {
        let file = format!("{protocol}.json");
        export(dir.path(), &["openapi", protocol], &file);
        succeeds(Command::new(installed().join("venv/bin/openapi-spec-validator")).current_dir(&dir).arg(file));
    }
}

#[test]
fn the_parser_of_asyncapi_accepts_the_documents() {
    let dir = TempDir::new().unwrap();
    let documents = [("amp", "cli"), ("amp", "guide"), ("amplifier", "2025-12-09")];
    let files = documents.map(|(protocol, edition)| {
        let file = format!("{protocol}-{edition}.json");
        export(dir.path(), &["asyncapi", protocol, "--edition", edition], &file);
        file
    });
    let mut parser = Command::new("node");
    succeeds(parser.arg(program("asyncapi.mjs")).arg(installed().join("node_modules")).args(files).current_dir(&dir));
}

/// Ended when dropped.
struct Mock(Child);

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_client_that_was_generated_from_the_openapi_document_works_against_the_mock() {
    let dir = TempDir::new().unwrap();
    export(dir.path(), &["openapi", "amplifier"], "amplifier.json");
    // What would format the code is a program of its own.
    fs::write(dir.path().join("config.yaml"), "post_hooks: []\n").unwrap();
    let mut generator = Command::new(installed().join("venv/bin/openapi-python-client"));
    generator.current_dir(&dir).args(["generate", "--path", "amplifier.json", "--output-path", "generated"]);
    let said = succeeds(generator.args(["--meta", "none", "--config", "config.yaml", "--fail-on-warning"]));
    assert!(!said.contains("Warning"), "{said}");

    let mut mock = Command::new(wirecert_program());
    let mock = mock.args(["mock", "amplifier-server"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut mock = Mock(mock.expect("it can be started"));
    let mut line = String::new();
    BufReader::new(mock.0.stdout.take().expect("it is piped")).read_line(&mut line).expect("it says where it is");
    let ready: Value = serde_json::from_str(&line).expect("JSON");
    let mut client = Command::new(installed().join("venv/bin/python"));
    client.arg("-B").arg(program("client.py")).arg(dir.path()).arg(ready["url"].as_str().expect("an address"));
    assert_eq!(succeeds(&mut client), "every call got what it should\n");
}

#[test]
fn the_schemas_of_a_protocol_are_one_schema_and_the_reference_has_its_requirements() {
    let dir = TempDir::new().unwrap();
    let schema: Value = serde_json::from_str(&export(dir.path(), &["json-schema", "openctx"], "s.json")).unwrap();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    let one = serde_json::json!({ "definitions": schema["definitions"], "$ref": "#/definitions/mentions.result" });
    let validator = jsonschema::draft7::new(&one).unwrap();
    assert!(validator.is_valid(&serde_json::json!([{ "title": "t", "uri": "https://example.org/" }])));
    assert!(!validator.is_valid(&serde_json::json!([{ "title": 1 }])));

    let reference = export(dir.path(), &["markdown", "amp", "--edition", "guide"], "r.md");
    assert!(reference.starts_with("# amp, edition guide\n"), "{reference}");
    assert!(reference.contains("### `readFile.request`") && reference.contains("| `amp/guide/"), "{reference}");
    assert!(!reference.contains("amp/cli/"), "only this edition");
}

#[test]
fn what_cannot_be_described_is_told_with_what_can() {
    let dir = TempDir::new().unwrap();
    let wrong = |args: &[&str], message: &str, help: &str| {
        let (code, stdout, stderr) = wirecert(dir.path(), &[&["export"], args].concat());
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        assert!(stderr.contains(message) && stderr.contains(help), "{stderr}");
    };
    wrong(&["openapi", "amp"], "amp has no requests over HTTP", "`wirecert export asyncapi amp`");
    wrong(&["asyncapi", "openctx"], "openctx has no WebSockets or event streams", "`wirecert export openapi openctx`");
    wrong(&["markdown", "amplifier-server"], "there is no protocol `amplifier-server`", "did you mean `amplifier`?");
    wrong(
        &["asyncapi", "amp", "--edition", "clo"],
        "there is no edition `clo`, only cli, guide",
        "did you mean `cli`?",
    );
    fs::write(dir.path().join("file"), "").unwrap();
    wrong(&["markdown", "amp", "--out", "file/x.md"], "cannot write file/x.md: ", "");
}
