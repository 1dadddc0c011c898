//! `wirecert fixtures`: what it writes, and that it is what it says.

mod coverage;
mod folder;
mod recorded;
mod truth;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::wirecert_program;

/// Every protocol with every edition.
const EDITIONS: [(&str, &str); 4] = [("amp", "cli"), ("amp", "guide"), ("openctx", "0.1"), ("amplifier", "2025-12-09")];

struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn wirecert(args: &[&str]) -> Run {
    let run = Command::new(wirecert_program()).args(args).env("NO_COLOR", "1").output();
    let run = run.expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Run { code: run.status.code(), stdout: text(run.stdout), stderr: text(run.stderr) }
}

/// Writes the fixtures of an edition, and gives the run.
fn write(protocol: &str, edition: &str, out: &Path, more: &[&str]) -> Run {
    let mut args = vec!["fixtures", protocol, "--edition", edition, "--out", out.to_str().expect("UTF-8")];
    args.extend(more);
    wirecert(&args)
}

/// A folder of fixtures, as it was written.
struct Written {
    folder: TempDir,
    manifest: Value,
}

impl Written {
    fn of(protocol: &str, edition: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let run = write(protocol, edition, folder.path(), &[]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
        let manifest = read(&folder.path().join("manifest.json"));
        Self { folder, manifest }
    }

    fn entries<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        let all = self.manifest["fixtures"].as_array().expect("a list").iter();
        all.filter(move |entry| entry["kind"] == kind)
    }

    fn path(&self, entry: &Value) -> PathBuf {
        self.folder.path().join(entry["file"].as_str().expect("a file"))
    }

    /// The messages of a kind, by their type.
    fn messages(&self, kind: &str) -> BTreeMap<String, Vec<Value>> {
        let mut by_type: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for entry in self.entries(kind).filter(|entry| entry.get("encoding").is_none()) {
            let message = entry["message"].as_str().expect("a type").to_owned();
            by_type.entry(message).or_default().push(read(&self.path(entry)));
        }
        by_type
    }
}

/// What is written for an edition, by its number in [`EDITIONS`]; written once.
fn written(n: usize) -> &'static Written {
    static ALL: [OnceLock<Written>; 4] = [const { OnceLock::new() }; 4];
    ALL[n].get_or_init(|| Written::of(EDITIONS[n].0, EDITIONS[n].1))
}

/// What is written for every edition.
fn all_written() -> impl Iterator<Item = ((&'static str, &'static str), &'static Written)> {
    EDITIONS.into_iter().enumerate().map(|(n, edition)| (edition, written(n)))
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The bytes of a message that is no JSON.
fn decoded(path: &Path, entry: &Value) -> Vec<u8> {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let bytes = match entry["line"].as_u64() {
        Some(line) => bytes.split(|byte| *byte == b'\n').nth(line as usize - 1).expect("the line is there").to_vec(),
        None => bytes,
    };
    match entry["encoding"].as_str() {
        Some("base64") => BASE64.decode(bytes).expect("base64"),
        _ => bytes,
    }
}

fn schema(name: &str) -> jsonschema::Validator {
    let run = wirecert(&["schema", name]);
    assert_eq!(run.code, Some(0), "{name}");
    jsonschema::draft7::new(&serde_json::from_str(&run.stdout).expect("JSON")).expect("a schema")
}
