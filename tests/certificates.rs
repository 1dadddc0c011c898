//! `--report certificate=FILE` and `wirecert verify`: what was certified, whether it belongs to a report, and what either says
//! that is not so.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::program::wirecert_program;

fn wirecert(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(wirecert_program());
    let output = command.current_dir(dir).env("TMPDIR", dir).args(args).output().expect("it can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Certifies a mock of ours with a certificate `c.json` and a report `r.json`. Gives the exit code.
fn certify(dir: &Path, options: &[&str], flaws: &[&str]) -> Option<i32> {
    let mut args = vec!["certify", "openctx-provider", "--no-confirm", "--progress", "none"];
    args.extend(["--report", "json=r.json", "--report", "certificate=c.json"]);
    args.extend(options);
    args.extend(["--", wirecert_program(), "mock", "openctx-provider", "--port", "{port}"]);
    args.extend(flaws.iter().flat_map(|flaw| ["--flaw", *flaw]));
    wirecert(dir, &args).0
}

fn verify(dir: &Path) -> (Option<i32>, String, String) {
    wirecert(dir, &["verify", "c.json", "--report", "r.json"])
}

fn read(dir: &Path, file: &str) -> Value {
    serde_json::from_slice(&fs::read(dir.join(file)).expect("it is there")).expect("JSON")
}

fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// Changes the value at a place of a JSON file.
fn change(dir: &Path, file: &str, pointer: &str, value: Value) {
    let mut json = read(dir, file);
    *json.pointer_mut(pointer).unwrap_or_else(|| panic!("{file} has {pointer}")) = value;
    fs::write(dir.join(file), serde_json::to_string_pretty(&json).expect("JSON") + "\n").expect("it can be written");
}

/// Gives the certificate the digest of the report that is there.
fn adjust_digest(dir: &Path) {
    let digest = sha256(&fs::read(dir.join("r.json")).expect("it is there"));
    change(dir, "c.json", "/report/digest", digest.into());
}

const BASELINE: &str = "- requirement: openctx/0.1/envelope/unicode\n  reason: fixed in 2.1\n";

#[test]
fn a_certificate_says_what_was_certified_and_belongs_to_the_report_of_its_run() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("known.yaml"), BASELINE).unwrap();
    let options = ["--filter", "area(envelope)", "--strict", "--baseline", "known.yaml"];
    let code = certify(dir.path(), &options, &["ascii-only"]);
    let certificate = read(dir.path(), "c.json");
    assert_eq!(certificate["report"]["digest"], sha256(&fs::read(dir.path().join("r.json")).unwrap()));
    assert_eq!(certificate["suite"], read(dir.path(), "r.json")["suite"]);
    assert_eq!(certificate["levels"], json!(["must", "should"]));
    assert_eq!(certificate["selection"], json!({ "filter": "area(envelope)" }));
    let subject = &certificate["subjects"][0];
    let about =
        ["role", "protocol", "edition", "verdict", "scope"].map(|key| subject[key].as_str().unwrap_or_default());
    assert_eq!(about, ["openctx-provider", "openctx", "0.1", "partial", "partial"], "{certificate:#}");
    assert_eq!(subject["baseline"]["digest"], sha256(BASELINE.as_bytes()));
    assert_eq!(subject["baseline"]["lines"][0]["used"], true, "{certificate:#}");
    assert!(!certificate.to_string().contains(dir.path().to_str().unwrap()), "no path of the machine: {certificate:#}");

    let (verified, stdout, stderr) = verify(dir.path());
    assert_eq!((code, verified, stderr.as_str()), (Some(0), Some(0), ""), "{stdout}");
    assert!(
        stdout.starts_with("c.json and r.json belong together, and the verdict follows from what the report lists.\n")
    );
    for said in
        ["filter   area(envelope)", "binding  must, should", "1 line of the baseline used", "This does not prove:"]
    {
        assert!(stdout.contains(said), "{said}: {stdout}");
    }
}

#[test]
fn two_runs_with_the_same_outcome_have_certificates_that_differ_in_the_digest_of_the_report_alone() {
    let dir = TempDir::new().unwrap();
    let run = || {
        certify(dir.path(), &["--filter", "area(meta)"], &[]);
        let mut certificate = read(dir.path(), "c.json");
        certificate["report"]["digest"] = Value::Null;
        certificate.to_string()
    };
    assert_eq!(run(), run());
}

#[test]
fn what_was_changed_is_found_with_its_place() {
    let dir = TempDir::new().unwrap();
    assert_eq!(certify(dir.path(), &["--filter", "area(envelope)"], &["ascii-only"]), Some(1));
    let files = ["c.json", "r.json"].map(|file| (file, fs::read(dir.path().join(file)).unwrap()));
    let restore = || files.iter().for_each(|(file, text)| fs::write(dir.path().join(file), text).unwrap());
    let (code, stdout, stderr) = verify(dir.path());
    assert_eq!((code, stderr.as_str()), (Some(1), ""), "the exit code is that of the run: {stdout}");
    let refused = |with: &str| {
        let (code, stdout, stderr) = verify(dir.path());
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
        assert!(stderr.contains(with) && stderr.contains("help: "), "{with}: {stderr}");
        restore();
    };

    change(dir.path(), "r.json", "/verdict", "partial".into());
    refused("error[verify]: c.json: /report/digest is sha256:");

    change(dir.path(), "c.json", "/verdict", "conforms".into());
    refused("error[verify]: c.json: /verdict is \"conforms\", and the report gives \"nonconforming\"\n");

    // Both are changed so that they fit together: what the report lists tells.
    for pointer in ["/verdict", "/subjects/0/verdict"] {
        change(dir.path(), "r.json", pointer, "conforms".into());
        change(dir.path(), "c.json", pointer, "conforms".into());
    }
    adjust_digest(dir.path());
    refused("`verdict` is conforms, but what the report lists gives nonconforming");

    let scenarios = read(dir.path(), "r.json")["subjects"][0]["scenarios"].as_array().unwrap().clone();
    let failed = scenarios.iter().position(|scenario| scenario["status"] == "failed").expect("one failed");
    change(dir.path(), "r.json", &format!("/subjects/0/scenarios/{failed}/status"), "passed".into());
    adjust_digest(dir.path());
    refused("`counts` is {");

    change(dir.path(), "c.json", "/suite/version", "9.9.9".into());
    refused("error[verify]: c.json: /suite/version is 9.9.9, and this is wirecert ");

    change(dir.path(), "c.json", "/subjects/0/scope", "full".into());
    change(dir.path(), "c.json", "/suite/digest", "sha256:0".into());
    refused("error[verify]: c.json: /suite/digest is sha256:0, and that of the suite of this wirecert is sha256:");

    fs::copy(dir.path().join("r.json"), dir.path().join("c.json")).unwrap();
    refused("error[verify]: cannot read the certificate c.json: it is not as `wirecert schema certificate` says: ");
    fs::remove_file(dir.path().join("r.json")).unwrap();
    refused("error[verify]: cannot read the report r.json: ");
}

#[test]
fn a_certificate_is_written_only_together_with_its_report_and_only_of_a_run() {
    let dir = TempDir::new().unwrap();
    let args = ["certify", "openctx-provider", "--self", "--report", "certificate=c.json"];
    let (code, stdout, stderr) = wirecert(dir.path(), &args);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("help: add `--report json=FILE`"), "{stderr}");
    let (code, _, stderr) = wirecert(dir.path(), &["check", "t.trace", "--report", "certificate=c.json"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("`check` writes no certificate"), "{stderr}");
    assert!(!dir.path().join("c.json").exists());
}

#[test]
fn the_certificate_of_merged_shards_belongs_to_the_merged_report() {
    let dir = TempDir::new().unwrap();
    for shard in ["1/2", "2/2"] {
        certify(dir.path(), &["--filter", "area(meta) | area(items)", "--shard", shard], &[]);
        assert_eq!(verify(dir.path()).0, Some(0), "a shard has a certificate, too");
        fs::rename(dir.path().join("r.json"), dir.path().join(format!("{}.json", &shard[..1]))).unwrap();
    }
    let args = ["report", "merge", "1.json", "2.json", "--report", "json=r.json", "--report", "certificate=c.json"];
    assert_eq!(wirecert(dir.path(), &args).0, Some(0));
    assert_eq!(read(dir.path(), "c.json")["selection"], json!({ "filter": "area(meta) | area(items)" }));
    let (code, stdout, stderr) = verify(dir.path());
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
}

#[test]
fn the_whole_suite_of_a_role_gives_a_certificate_that_can_be_verified() {
    let dir = TempDir::new().unwrap();
    assert_eq!(certify(dir.path(), &["--jobs", "4"], &[]), Some(0));
    let (code, stdout, stderr) = verify(dir.path());
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
    assert_eq!(read(dir.path(), "c.json")["subjects"][0]["scope"], "full");
    assert!(stdout.contains(": the one of this program\n"), "{stdout}");
}
