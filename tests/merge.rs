//! `wirecert report merge`: shards that are put together say what one run would have said, or why they cannot.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{WholeSuite, wirecert_program};

/// Flaws of a provider that show in different areas, and in the same scenarios whatever else happens at the same time.
const FLAWS: [&str; 2] = ["ascii-only", "close-ignored"];
/// What they violate.
const VIOLATED: [&str; 2] = ["envelope/unicode", "http/close-asked"];

fn wirecert(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(wirecert_program());
    // In CI, so that snapshots are compared and never written.
    let output: Output =
        command.current_dir(dir).env("CI", "true").env("TMPDIR", dir).args(args).output().expect("it can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn read(dir: &Path, file: &str) -> Value {
    let text = fs::read(dir.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
    serde_json::from_slice(&text).expect("JSON")
}

fn write(dir: &Path, file: &str, report: &Value) {
    fs::write(dir.join(file), report.to_string()).expect("it can be written");
}

/// Certifies our own mock of a role, wrong in some ways, as any other subject; the report is in `file`. Gives the exit code.
fn certify(dir: &Path, role: &str, options: &[&str], flaws: &[&str], file: &str) -> Option<i32> {
    let _suite = WholeSuite::begin();
    let report = format!("json={file}");
    let mut args = [&["certify", role, "--no-confirm", "--progress", "none", "--report", &report], options].concat();
    args.extend(["--", wirecert_program(), "mock", role]);
    args.extend(match role {
        "amp-server" => ["--edition", "cli", "--workspace", "{workspace}"].as_slice(),
        _ => ["--port", "{port}"].as_slice(),
    });
    args.extend(flaws.iter().flat_map(|flaw| ["--flaw", *flaw]));
    wirecert(dir, &args).0
}

/// The same in shards; their reports are `1.json`, `2.json`…
fn certify_in_shards(dir: &Path, role: &str, options: &[&str], flaws: &[&str], of: usize) -> Vec<Option<i32>> {
    let shard = |n: usize| {
        let shard = format!("{n}/{of}");
        certify(dir, role, &[options, &["--shard", &shard]].concat(), flaws, &format!("{n}.json"))
    };
    (1..=of).map(shard).collect()
}

/// What has to be the same however a run was parted: all but times, and the evidence of what happens at the same time.
fn gist(report: &Value) -> Value {
    let picked = |list: &Value, keys: &[&str]| -> BTreeSet<String> {
        let pick = |item: &Value| keys.iter().map(|key| item[*key].to_string()).collect::<Vec<_>>().join(" ");
        list.as_array().expect("a list").iter().map(pick).collect()
    };
    let subject = |s: &Value| {
        json!({
            "about": [s["name"], s["role"], s["edition"], s["verdict"], s["counts"], s["basis"], s["snapshots"]],
            "notes": picked(&s["notes"], &["requirement", "text"]),
            "requirements": picked(&s["requirements"], &["id", "level", "capability", "status", "reason"]),
            "findings": picked(&s["findings"], &["requirement", "level", "blame", "scenario", "file", "baseline", "repro"]),
            "scenarios": picked(&s["scenarios"], &["id", "file", "status", "expected", "requirements", "excuses"]),
            "order": s["scenarios"].as_array().expect("a list").iter().map(|s| s["id"].clone()).collect::<Value>(),
        })
    };
    let subjects: Vec<Value> = report["subjects"].as_array().expect("a list").iter().map(subject).collect();
    let about = ["version", "suite", "verdict", "run", "notes", "unjudged"].map(|key| &report[key]);
    json!({ "about": about, "subjects": subjects })
}

/// The scenarios that could not be judged, and why.
fn unjudged(report: &Value) -> Vec<String> {
    let subjects = report["subjects"].as_array().into_iter().flatten();
    let scenarios = subjects.flat_map(|subject| subject["scenarios"].as_array().into_iter().flatten());
    scenarios.filter(|s| s["status"] == "error").map(|s| format!("{}: {}", s["id"], s["reason"])).collect()
}

/// Certifies in one run and in three shards; asserts that both say the same. Gives the exit code, the verdict, and what
/// is printed of the merged report.
fn both_ways(role: &str, options: &[&str], flaws: &[&str], files: &[(&str, &str)]) -> (Option<i32>, Value, String) {
    let place = TempDir::new().expect("a folder");
    let dir = place.path();
    for (name, text) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }
    let whole = certify(dir, role, options, flaws, "whole.json");
    certify_in_shards(dir, role, options, flaws, 3);
    let merge = ["report", "merge", "3.json", "1.json", "2.json", "--report", "json=merged.json"];
    let (code, stdout, stderr) = wirecert(dir, &merge);
    assert_eq!(stderr, "");
    let (one, merged) = (read(dir, "whole.json"), read(dir, "merged.json"));
    let (expected, got) = (format!("{:#}", gist(&one)), format!("{:#}", gist(&merged)));
    let differing: Vec<_> = expected.lines().zip(got.lines()).filter(|(a, b)| a != b).take(5).collect();
    let unjudged = [&one, &merged].map(unjudged);
    assert!(expected == got, "one run and its shards differ: {differing:#?}; could not be judged: {unjudged:#?}");
    assert_eq!(code, whole);
    let (_, schema, _) = wirecert(dir, &["schema", "report"]);
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let schema = jsonschema::draft7::new(&schema).expect("a schema");
    for report in [&one, &merged, &read(dir, "1.json")] {
        assert!(schema.is_valid(report), "{:?}", schema.iter_errors(report).map(|e| e.to_string()).collect::<Vec<_>>());
    }
    (code, merged["verdict"].clone(), stdout)
}

/// A baseline that lists these requirements of OpenCtx.
fn baseline(requirements: &[&str]) -> String {
    requirements.iter().map(|id| format!("- requirement: openctx/0.1/{id}\n  reason: known\n")).collect()
}

#[test]
fn a_sound_subject_conforms_in_shards_as_in_one_run() {
    let (code, verdict, stdout) = both_ways("openctx-provider", &[], &[], &[]);
    assert_eq!((code, verdict), (Some(0), "conforms".into()));
    assert!(stdout.starts_with("conforms  wirecert (openctx-provider, edition 0.1)\n"), "{stdout}");
}

#[test]
fn what_any_shard_found_stands() {
    let options = ["--filter", "area(envelope) | area(http)"];
    let (code, verdict, _) = both_ways("openctx-provider", &options, &FLAWS, &[]);
    assert_eq!((code, verdict), (Some(1), "nonconforming".into()));
    let options = ["--strict", "--filter", "area(http)"];
    let (code, verdict, _) = both_ways("openctx-provider", &options, &["any-method"], &[]);
    assert_eq!((code, verdict), (Some(1), "nonconforming".into()));
}

#[test]
fn the_baseline_covers_the_same_in_shards() {
    let known = baseline(&VIOLATED);
    let files = [("known.yaml", known.as_str())];
    let (code, verdict, _) = both_ways("openctx-provider", &["--baseline", "known.yaml"], &FLAWS, &files);
    assert_eq!((code, verdict), (Some(0), "conforms_except".into()));
}

#[test]
fn a_baseline_line_that_no_shard_used_is_stale() {
    let known = baseline(&["http/close-asked", "items/title"]);
    let files = [("known.yaml", known.as_str())];
    let (code, verdict, stdout) =
        both_ways("openctx-provider", &["--baseline", "known.yaml"], &["close-ignored"], &files);
    assert_eq!((code, verdict), (Some(1), "conforms_except".into()));
    assert!(
        stdout.contains("openctx/0.1/items/title: stale baseline line: it is not violated; remove it\n"),
        "{stdout}"
    );
}

#[test]
fn what_no_shard_could_assess_is_incomplete() {
    // Nobody moves the cursor of this editor.
    let (code, verdict, _) = both_ways("amp-server", &["--edition", "cli"], &[], &[]);
    assert_eq!((code, verdict), (Some(4), "incomplete".into()));
}

#[test]
fn a_part_of_the_suite_stays_one_and_snapshots_drift_in_shards_too() {
    let options = ["--snapshots", "snaps", "--filter", "area(meta)"];
    let (code, verdict, _) = both_ways("openctx-provider", &options, &[], &[("snaps/openctx-provider/0.1/x.snap", "")]);
    assert_eq!((code, verdict), (Some(5), "partial".into()));
}

#[test]
fn a_snapshot_that_no_shard_refers_to_is_told() {
    let files = [("snaps/openctx-provider/0.1/gone.snap", "")];
    let (code, _, stdout) = both_ways("openctx-provider", &["--snapshots", "snaps"], &[], &files);
    assert_eq!(code, Some(5));
    assert!(stdout.contains("unreferenced snaps/openctx-provider/0.1/gone.snap\n"), "{stdout}");
}

#[test]
fn a_subject_that_cannot_be_started_is_never_green() {
    let (code, verdict, stdout) = both_ways("openctx-provider", &[], &["no-such-flaw"], &[]);
    assert_eq!((code, verdict), (Some(3), "incomplete".into()));
    assert!(
        stdout.contains("wirecert (openctx-provider, edition auto): the subject ended before it was ready"),
        "{stdout}"
    );
}

#[test]
fn a_shard_that_has_nothing_to_play_leaves_nothing_open() {
    let place = TempDir::new().expect("a folder");
    let dir = place.path();
    let options = ["--filter", "id(openctx-provider/0.1/meta/meta)"];
    assert_eq!(certify_in_shards(dir, "openctx-provider", &options, &[], 2), [Some(0), Some(2)]);
    let (code, stdout, stderr) = wirecert(dir, &["report", "merge", "1.json", "2.json"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.starts_with("partial  "), "{stdout}");
}

/// Two shards of a small run, and the whole of it.
fn small() -> TempDir {
    let place = TempDir::new().expect("a folder");
    let options = ["--filter", "area(meta)"];
    assert_eq!(certify_in_shards(place.path(), "openctx-provider", &options, &[], 2), [Some(0), Some(0)]);
    assert_eq!(certify(place.path(), "openctx-provider", &options, &[], "whole.json"), Some(0));
    place
}

/// Merges, which is refused: usage, and nothing on stdout. Gives what is said.
fn refused(dir: &Path, files: &[&str]) -> String {
    let report = ["--report", "json=merged.json"];
    let (code, stdout, stderr) = wirecert(dir, &[&["report", "merge"], files, &report].concat());
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    assert!(!dir.join("merged.json").exists());
    stderr
}

#[test]
fn shards_that_are_missing_or_given_twice_and_whole_runs_are_refused() {
    let place = small();
    let dir = place.path();
    assert_eq!(
        refused(dir, &["2.json"]),
        "error[merge]: not every shard is there, 1/2 missing: 2.json is 2/2\n |\n \
         = help: play it, too, with `--shard 1/2 --report json=FILE`, and give all reports\n"
    );
    assert_eq!(
        refused(dir, &["1.json", "2.json", "./1.json"]),
        "error[merge]: shard 1/2 is given 2 times: 1.json, ./1.json\n |\n = help: give one report for each shard\n"
    );
    let whole = "error[merge]: whole.json is the report of a run without shards\n |\n \
        = help: give the reports of `certify --shard I/N --report json=FILE`, one for each shard\n \
        = help: its verdict stands alone: there is nothing to be merged with it\n";
    assert_eq!(refused(dir, &["whole.json"]), whole);
    assert_eq!(refused(dir, &["1.json", "whole.json", "2.json"]), whole);
}

#[test]
fn files_that_are_no_reports_are_named_each_with_what_is_wrong() {
    let place = TempDir::new().expect("a folder");
    let dir = place.path();
    fs::write(dir.join("text.json"), "{ \"version\"\n: oh").expect("it can be written");
    write(dir, "later.json", &json!({ "version": 2 }));
    write(dir, "other.json", &json!({ "name": "something" }));
    write(dir, "half.json", &json!({ "version": 1, "verdict": "partial" }));
    let said = refused(dir, &["gone.json", "text.json", "later.json", "other.json", "half.json"]);
    let said: Vec<&str> = said.lines().filter(|line| line.starts_with("error")).collect();
    assert_eq!(
        said,
        [
            "error[report]: cannot read the report gone.json: No such file or directory (os error 2)",
            "error[report]: cannot read the report text.json: it is no JSON: expected value at line 2 column 3",
            "error[report]: cannot read the report later.json: it is of version 2, and this wirecert reads 1",
            "error[report]: cannot read the report other.json: it does not say its version",
            "error[report]: cannot read the report half.json: it is not as `wirecert schema report` says: missing field `suite`",
        ]
    );
}

/// What is said where the second shard was altered.
fn altered(dir: &Path, alter: impl Fn(&mut Value)) -> String {
    let mut report = read(dir, "2.json");
    alter(&mut report);
    write(dir, "other.json", &report);
    let said = refused(dir, &["1.json", "other.json"]);
    said.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn shards_of_different_runs_are_refused_and_what_differs_is_said() {
    let place = small();
    let dir = place.path();
    let subject = "wirecert (openctx-provider, edition 0.1)";
    type Alter = fn(&mut Value);
    let cases: [(Alter, String); 10] = [
        (
            |r| r["suite"]["version"] = "0.0.9".into(),
            format!("other.json was written by wirecert 0.0.9, and this is wirecert {}", env!("CARGO_PKG_VERSION")),
        ),
        (
            |r| r["run"]["strict"] = true.into(),
            "1.json and other.json differ in --strict: not given in the one, given in the other".into(),
        ),
        (
            |r| r["run"]["filter"] = "id(x)".into(),
            "1.json and other.json differ in --filter: `area(meta)` in the one, `id(x)` in the other".into(),
        ),
        (
            |r| r["run"]["shard"]["of"] = 3.into(),
            "1.json and other.json differ in the number of shards: 2 in the one, 3 in the other".into(),
        ),
        (|r| r["run"]["shard"]["index"] = 9.into(), "other.json says that it is shard 9/2, which cannot be".into()),
        (
            |r| r["subjects"][0]["name"] = "x".into(),
            format!("other.json says nothing of {subject}, only of x (openctx-provider, edition 0.1)"),
        ),
        (
            |r| r["subjects"][0]["edition"] = "0.2".into(),
            format!("other.json says nothing of {subject}, only of wirecert (openctx-provider, edition 0.2)"),
        ),
        (
            |r| r["subjects"][0]["basis"]["missing"] = json!(["items"]),
            format!("1.json and other.json differ in what it declares missing, of {subject}"),
        ),
        (
            |r| _ = r["subjects"][0]["scenarios"].as_array_mut().map(Vec::pop),
            format!("other.json is not whole: of {subject}, it has"),
        ),
        (
            |r| _ = r["subjects"][0].as_object_mut().map(|s| s.remove("basis")),
            format!("other.json is not whole: of {subject}, it does not say what its verdict rests on"),
        ),
    ];
    for (alter, expected) in cases {
        let said = altered(dir, alter);
        assert!(said.starts_with(&format!("error[merge]: {expected}")), "{said}\nexpected {expected}");
    }
    let suite = altered(dir, |r| r["suite"]["digest"] = "sha256:0".into());
    assert!(suite.starts_with("error[merge]: 1.json and other.json differ in the suite: wirecert sha256:"), "{suite}");
    let line = json!([{ "requirement": "openctx/0.1/meta/name", "reason": "x", "expired": false, "used": false }]);
    let known = altered(dir, |r| r["subjects"][0]["basis"]["baseline"] = line.clone());
    assert_eq!(known, format!("error[merge]: 1.json and other.json differ in the baseline, of {subject}"));
    let first = read(dir, "1.json")["subjects"][0]["scenarios"][0].clone();
    let twice = altered(dir, |r| r["subjects"][0]["scenarios"][0] = first.clone());
    assert!(twice.starts_with("error[merge]: "), "{twice}");
}

#[test]
fn a_report_of_traces_is_no_shard() {
    let place = small();
    let dir = place.path();
    let mut report = read(dir, "1.json");
    report.as_object_mut().expect("an object").remove("run");
    write(dir, "checked.json", &report);
    assert!(
        refused(dir, &["checked.json", "2.json"])
            .starts_with("error[merge]: checked.json is not the report of a run that can be parted into shards\n")
    );
}
