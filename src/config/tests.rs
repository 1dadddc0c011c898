//! Tests of subject files: what is understood, and how errors are reported.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::file::{Subject, role_keys};
use super::{
    Access, CommandLine, EditionChoice, Environment, Flags, Isolation, Limits, SeedFile, StimulusWay, StopHow,
    SubjectFile, SubjectSpec, Target, TerminalSize, Timeouts, resolve, schema,
};
use crate::diagnostic::{Diagnostic, Source, Style, render_all, yaml};
use crate::format::fields_of;

/// A project folder, with the text as its `wirecert.yaml`.
struct Project(tempfile::TempDir);

impl Project {
    fn new(text: &str) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        std::fs::write(project.folder().join("wirecert.yaml"), text).unwrap();
        project
    }

    fn folder(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn resolve(&self, file: &SubjectFile, flags: &Flags) -> Result<Vec<SubjectSpec>, Vec<Diagnostic>> {
        let variable = |name: &str| match name {
            "HOME" => Some(OsString::from("/home/me")),
            "ANTHROPIC_API_KEY" => Some(OsString::from("hush")),
            _ => None,
        };
        resolve(file, flags, &Environment { folder: self.folder(), variable })
    }
}

fn one(text: &str, flags: &Flags) -> SubjectSpec {
    let mut found = Project::new(text).resolve(&SubjectFile::Found, flags).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn faults(text: &str, flags: &Flags) -> String {
    let project = Project::new(text);
    let faults = project.resolve(&SubjectFile::Found, flags).unwrap_err();
    render_all(&faults, Style::Plain).replace(&project.folder().display().to_string(), "<folder>")
}

fn line(words: &[&str]) -> CommandLine {
    CommandLine(words.iter().map(|w| (*w).to_owned()).collect())
}

const WHOLE: &str = r#"
name: my-editor
role: amp-server
edition: cli
launch: [./bin/my-editor, --headless, "{workspace}/hello.txt", "{{literal}}"]
ready: { lockfile: true, within: 20s }
isolation: scenario
stop: { command: [my-editor-ctl, quit], within: 500ms }
pty: { rows: 40 }
env: { NVIM_LOG: "{run_dir}/log", DISPLAY: null }
home:
  .config/my/init.lua: "print('hi')\n"
  .bin: { hex: "00 ff" }
  copied: { file: seeds/a.txt }
files: { src/a.txt: text }
stimuli:
  select: [ctl, select, "{path}", "{start_line}", "{start_col}", "{end_line}", "{end_col}"]
  quit: [ctl, quit, "{port}"]
control: { socket: "{run_dir}/control.sock", stimuli: [open] }
missing: [diagnostics, diagnostics, prompts]
baseline: known.yaml
timeouts: { expect: 2s, silence: 3s, stimulus: 1m, longest: 4s }
limits: { output: 1MiB, file: 1000 }
snapshots: snapshots
trace_dir: /var/traces
"#;

#[test]
fn every_key_is_understood() {
    let project = Project::new(WHOLE);
    std::fs::create_dir(project.folder().join("seeds")).unwrap();
    std::fs::write(project.folder().join("seeds/a.txt"), "copied").unwrap();
    let spec = project.resolve(&SubjectFile::Found, &Flags::default()).unwrap().remove(0);
    let folder = project.folder();
    assert_eq!((spec.name.as_str(), spec.role.name, spec.protocol.name), ("my-editor", "amp-server", "amp"));
    assert_eq!((spec.edition.as_str(), spec.isolation), ("cli", Isolation::Scenario));
    let launch = spec.launch().unwrap();
    let program = folder.join("./bin/my-editor").display().to_string();
    assert_eq!(launch.command, line(&[&program, "--headless", "{workspace}/hello.txt", "{{literal}}"]));
    assert_eq!(launch.ready.within, Duration::from_secs(20));
    assert_eq!(launch.stop.how, StopHow::Command(line(&["my-editor-ctl", "quit"])));
    assert_eq!(launch.stop.within, Duration::from_millis(500));
    assert_eq!(launch.pty, Some(TerminalSize { rows: 40, columns: 80 }));
    let env: Vec<_> = launch.env.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
    assert_eq!(env, [("DISPLAY", None), ("NVIM_LOG", Some("{run_dir}/log"))]);
    let seed = |path: &str, content: &[u8]| SeedFile { path: path.to_owned(), content: content.to_vec() };
    let home = [seed(".config/my/init.lua", b"print('hi')\n"), seed(".bin", b"\x00\xff"), seed("copied", b"copied")];
    assert_eq!(launch.home, home);
    assert_eq!(launch.files, [seed("src/a.txt", b"text")]);
    assert_eq!(spec.stimuli.keys().copied().collect::<Vec<_>>(), ["open", "quit", "select"]);
    assert_eq!(spec.stimuli["quit"], StimulusWay::Command(line(&["ctl", "quit", "{port}"])));
    assert_eq!(spec.stimuli["open"], StimulusWay::Socket("{run_dir}/control.sock".to_owned()));
    assert_eq!(spec.missing, ["diagnostics", "prompts"]);
    let [expect, silence, stimulus] = [2, 3, 60].map(Duration::from_secs);
    assert_eq!(spec.timeouts, Timeouts { expect, stimulus, silence, longest: Some(Duration::from_secs(4)) });
    assert_eq!(spec.limits, Limits { output: 1 << 20, file: 1000 });
    assert_eq!(spec.baseline, Some(folder.join("known.yaml")));
    assert_eq!(spec.snapshots, Some(folder.join("snapshots")));
    assert_eq!(spec.trace_dir, Some(PathBuf::from("/var/traces")));
    assert_eq!(spec.config_dir, folder);
    assert!(spec.lacks("prompts") && spec.has_stimulus("quit") && spec.has_workspace());
}

#[test]
fn what_is_not_said_has_a_default() {
    let spec = one("role: amp-server\nlaunch: [/usr/bin/vi]\n", &Flags::default());
    assert_eq!((spec.name.as_str(), spec.edition, spec.isolation), ("vi", EditionChoice::Auto, Isolation::Run));
    assert_eq!((spec.timeouts, spec.limits), (Timeouts::of(spec.role), Limits::default()));
    assert_eq!(spec.launch().unwrap().stop.how, StopHow::Signal("TERM"));
}

#[test]
fn a_server_that_is_reached_by_http_is_waited_for_until_it_is_known_to_be_slow() {
    let expects = |role: &str| one(&format!("role: {role}\nlaunch: [it]\n"), &Flags::default()).timeouts.expect;
    for role in ["openctx-provider", "amplifier-server"] {
        assert_eq!(expects(role), Duration::from_secs(12), "{role}");
    }
    for role in ["amp-server", "amp-client", "openctx-client", "amplifier-client"] {
        assert_eq!(expects(role), Duration::from_secs(5), "{role}");
    }
}

#[test]
fn flags_beat_the_file() {
    let flags = Flags {
        edition: Some("guide".to_owned()),
        command: vec!["./mine".to_owned(), "{port}".to_owned(), "{mine}".to_owned()],
        baseline: Some("flag.yaml".into()),
        timeout: Some(Duration::from_secs(9)),
        run_dir: Some("runs".into()),
        keep_run_dir: true,
        ..Flags::default()
    };
    let project = Project::new("role: amp-server\nedition: cli\nlaunch: [its]\nstop: {signal: HUP}\nbaseline: b\n");
    let spec = project.resolve(&SubjectFile::Found, &flags).unwrap().remove(0);
    let launch = spec.launch().unwrap();
    let program = project.folder().join("./mine").display().to_string();
    assert_eq!(launch.command, line(&[&program, "{port}", "{mine}"]));
    assert_eq!(launch.stop.how, StopHow::Signal("HUP"));
    assert_eq!((launch.run_dir.clone(), launch.keep_run_dir), (Some(project.folder().join("runs")), true));
    assert_eq!((spec.edition.as_str(), spec.timeouts.expect), ("guide", Duration::from_secs(9)));
    assert_eq!(spec.baseline, Some(project.folder().join("flag.yaml")));
}

#[test]
fn a_running_one_is_attached_to() {
    let target = |text: &str, flags: &Flags| match one(text, flags).access {
        Access::Attach { target, workspace } => (target, workspace),
        Access::Launch(_) => panic!("it should be attached to"),
    };
    let url = "ws://127.0.0.1:1?auth=x".to_owned();
    let text = format!("role: amp-server\nurl: {url}\nworkspace: /w\n");
    assert_eq!(target(&text, &Flags::default()), (Target::Url(url.clone()), Some("/w".into())));
    let home = PathBuf::from("/home/me/.local/share");
    let running = target("role: amp-server\nurl: running\n", &Flags::default());
    assert_eq!(running, (Target::DataHome(home), None));
    let lockfile = target("role: amp-server\nlockfile: /l/1.json\n", &Flags::default());
    assert_eq!(lockfile, (Target::Lockfile("/l/1.json".into()), None));
    let flags = Flags { url: Some(url.clone()), workspace: Some("/f".into()), ..Flags::default() };
    assert_eq!(target("role: amp-server\nlaunch: [x]\n", &flags), (Target::Url(url), Some("/f".into())));
}

#[test]
fn without_a_file_the_flags_describe_it() {
    let project = Project::new("role: amp-server\nlaunch: [its]\n");
    let command = Flags { role: Some("amp-server".to_owned()), command: vec!["vi".to_owned()], ..Flags::default() };
    let spec = project.resolve(&SubjectFile::None, &command).unwrap().remove(0);
    assert_eq!((spec.name.as_str(), &spec.launch().unwrap().command), ("vi", &line(&["vi"])));
    assert!(project.resolve(&SubjectFile::None, &Flags::default()).unwrap().is_empty());
    let roleless = Flags { role: None, ..command };
    let fault = &project.resolve(&SubjectFile::None, &roleless).unwrap_err()[0];
    assert_eq!(fault.message, "it is not said which role the subject plays");
    let misspelt = Flags { role: Some("amp-sever".to_owned()), ..roleless };
    let fault = &project.resolve(&SubjectFile::None, &misspelt).unwrap_err()[0];
    assert_eq!(
        (fault.message.as_str(), fault.help[0].as_str()),
        ("there is no role `amp-sever`", "did you mean `amp-server`?")
    );
}

#[test]
fn several_subjects_have_names_of_their_own() {
    let text = "subjects:\n  - {name: a, role: amp-server, launch: [x]}\n  - {role: amp-server, launch: [y]}\n";
    let project = Project::new(text);
    let found = project.resolve(&SubjectFile::Found, &Flags::default()).unwrap();
    assert_eq!(found.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["a", "y"]);
    let flags = Flags { command: vec!["z".to_owned()], ..Flags::default() };
    assert!(project.resolve(&SubjectFile::Found, &flags).unwrap_err()[0].message.contains("several subjects"));
    let same = faults(&text.replace("[y]", "[a]"), &Flags::default());
    assert!(same.contains("two subjects are called `a`"), "{same}");
}

#[test]
fn a_file_that_is_not_there_is_told_only_where_it_was_named() {
    let project = Project(tempfile::tempdir().unwrap());
    assert!(project.resolve(&SubjectFile::Found, &Flags::default()).unwrap().is_empty());
    let named = SubjectFile::Given("nowhere.yaml".into());
    let fault = &project.resolve(&named, &Flags::default()).unwrap_err()[0];
    assert!(fault.message.contains("nowhere.yaml: No such file"), "{}", fault.message);
}

#[test]
fn a_file_with_the_wrong_extension_is_not_passed_over() {
    let project = Project(tempfile::tempdir().unwrap());
    let (wrong, right) = (project.folder().join("wirecert.yml"), project.folder().join("wirecert.yaml"));
    std::fs::write(&wrong, "role: amp-server\nlaunch: [its]\n").unwrap();
    let command = Flags { role: Some("amp-server".to_owned()), command: vec!["vi".to_owned()], ..Flags::default() };
    for flags in [&Flags::default(), &command] {
        let faults = project.resolve(&SubjectFile::Found, flags).unwrap_err();
        assert_eq!(
            render_all(&faults, Style::Plain),
            "error[subject/file]: there is a `wirecert.yml` here, which is not read\n |\n \
             = help: rename it to `wirecert.yaml`, or name it with `--subject wirecert.yml`\n"
        );
    }
    let named = project.resolve(&SubjectFile::Given("wirecert.yml".into()), &Flags::default()).unwrap();
    assert_eq!(named[0].name, "its");
    // What is called as it should be is what counts.
    std::fs::copy(&wrong, &right).unwrap();
    assert_eq!(project.resolve(&SubjectFile::Found, &Flags::default()).unwrap().len(), 1);
}

#[test]
fn every_fault_of_a_file_is_told_at_once_with_its_place_and_a_suggestion() {
    let text = r#"
role: amp-server
editon: cli
edition: clii
launch: [my-editor, "{prot}", 5]
url: ws://127.0.0.1:1
ready: { lockfile: false, within: 10 }
isolation: own
stop: { signal: TREM, command: [] }
env: { A: 1, B: "{workspce}" }
home: { ../x: text, y: {hex: 0g}, z: {file: nowhere}, w: {} }
stimuli:
  slect: [ctl]
  select: [ctl, "{pth}"]
  open: ctl open
missing: [diagnostic]
timeouts: { expcet: 1s }
limits: { output: -1 }
baseline: [x]
"#;
    insta::assert_snapshot!(faults(text, &Flags::default()));
}

#[test]
fn a_subject_that_cannot_be_reached_has_its_other_faults_told_too() {
    let text = "role: amp-server\nobserve: 5s\nstimuli: { slect: [x] }\nenv: { 'A=': x }\nmissing: [x]\nstop: {signal: HUP, command: [x]}\n";
    let reported = faults(text, &Flags::default());
    for expected in [
        "it is not said how to get at the subject",
        "only a client can be observed",
        "there is no stimulus `slect`",
        "there is no capability `x`",
    ] {
        assert!(reported.contains(expected), "{expected}: {reported}");
    }
    let launched = faults(&format!("{text}launch: [x]\n"), &Flags::default());
    for expected in ["this is no name of a variable", "both `signal` and `command`", "only a client can be observed"] {
        assert!(launched.contains(expected), "{expected}: {launched}");
    }
}

#[test]
fn faults_of_a_control_socket_are_told() {
    let text = "role: amp-server\nlaunch: [x]\nstimuli: { open: [x] }\ncontrol: { socket: '{rundir}/c', stimuli: [opne, open] }\n";
    let reported = faults(text, &Flags::default());
    for expected in ["did you mean `{run_dir}`?", "did you mean `open`?", "the stimulus `open` is described twice"] {
        assert!(reported.contains(expected), "{expected}: {reported}");
    }
    let reported = faults("role: amp-server\nlaunch: [x]\ncontrol: { stimuli: [open] }\n", &Flags::default());
    assert!(reported.contains("`socket`"), "{reported}");
}

#[test]
fn what_belongs_to_a_role_is_read_with_it_and_its_faults_are_told() {
    let text = "role: amplifier-server\nurl: http://127.0.0.1:1\n";
    let spec =
        one(&format!("{text}prompts: {{ tool: list }}\napproval: {{ allow: [Yes, Sure] }}\n"), &Flags::default());
    assert_eq!((spec.described.text("prompts.tool"), spec.described.text("prompts.text")), (Some("list"), None));
    assert_eq!(spec.described.texts("approval.allow").collect::<Vec<_>>(), ["Yes", "Sure"]);
    let wrong = "prompts: { tol: list, text: 5 }\napproval: { effect: ../x, allow: Yes }\ncredentials: { good: NONE_SUCH, \
                 bad: sk-ant-hush }\nprofiles: dev\n";
    let reported = faults(&format!("{text}{wrong}"), &Flags::default());
    for expected in [
        "did you mean `tool`?",
        "`text` is a number",
        "`effect` is no path below a folder",
        "`allow` is a string",
        "the environment variable NONE_SUCH is not set",
        "is no name of an environment variable",
        "`profiles` is a string",
    ] {
        assert!(reported.contains(expected), "{expected}: {reported}");
    }
    let key = faults(&format!("{text}credentials: {{ bad: sk-ant-hush }}\n"), &Flags::default());
    assert!(!key.contains("hush"), "{key}");
    let editor = faults("role: amp-server\nurl: ws://127.0.0.1:1\nprompts: { tool: list }\n", &Flags::default());
    assert!(editor.contains("has no `prompts`") && editor.contains("amplifier-server"), "{editor}");
}

#[test]
fn a_file_of_the_wrong_kind_is_told() {
    for (text, expected) in [
        ("", "there is nothing in this file"),
        ("- role: amp-server\n", "a subject is a list"),
        ("subjects: {}\n", "`subjects` is a map"),
        ("subjects: []\n", "`subjects` is a list"),
        ("launch: [x]\n", "a subject needs a `role`"),
        ("role: [x]\n", "`role` is a list"),
        ("role: editor\n", "there is no role `editor`"),
        ("role: amp-server\n", "it is not said how to get at the subject"),
        ("role: amp-server\nlaunch: [x]\nworkspace: w\n", "`workspace` goes with `url` or `lockfile`"),
        ("role: amp-server\nlockfile: l.json\npty: true\n", "`pty` goes with `launch`"),
        ("role: amp-server\nrole: amp-server\n", "the key `role` is given twice"),
        ("role: amp-server\nlaunch: [x\n", "not valid YAML"),
    ] {
        let reported = faults(text, &Flags::default());
        assert!(reported.contains(expected), "{text:?} gave\n{reported}");
        assert!(reported.contains("wirecert.yaml:"), "{text:?} gave\n{reported}");
    }
}

/// Whether the schema allows a text.
fn allowed(text: &str) -> bool {
    let tree = yaml::parse(&Source::new("t", text)).unwrap();
    jsonschema::draft7::new(&schema()).unwrap().is_valid(&tree.to_json())
}

#[test]
fn the_schema_allows_what_is_understood() {
    jsonschema::draft7::meta::validate(&schema()).unwrap();
    assert!(allowed(WHOLE));
    assert!(allowed("role: amp-server\nurl: running\nworkspace: /w\n"));
    assert!(allowed("subjects: [{role: amp-server, launch: [x]}]"));
    for wrong in [
        "{}",
        "role: amp-server",
        "role: amp-sever\nlaunch: [x]",
        "role: amp-server\nlaunch: [x]\nurl: y",
        "role: amp-server\nlaunch: []",
        "role: amp-server\nlaunch: [x]\nunknown: 1",
        "role: amp-server\nlaunch: [x]\nready: {within: 10}",
        "role: amp-server\nlaunch: [x]\nstimuli: {slect: [y]}",
        "role: amp-server\nlaunch: [x]\nmissing: [nothing]",
        "role: amp-server\nlaunch: [x]\nedition: '9'",
        "role: amp-server\nlaunch: [x]\nprompts: {text: a}",
        "role: amplifier-server\nlaunch: [x]\nprompts: {tol: a}",
        "role: amplifier-server\nlaunch: [x]\ncredentials: {good: sk-ant-1}",
        "subjects: []",
        "subjects: [{role: amp-server}]",
        "subjects: [{role: amp-server, launch: [x]}]\nrole: amp-server",
    ] {
        assert!(!allowed(wrong), "{wrong}");
    }
}

#[test]
fn the_schema_explains_every_key() {
    let schema = schema();
    let properties = schema["definitions"]["subject"]["properties"].as_object().unwrap();
    assert!(properties.values().all(|key| key["description"].as_str().is_some_and(|text| text.ends_with('.'))));
    let rule = schema["definitions"]["subject"]["allOf"].as_array().unwrap();
    let role = |rule: &Value| rule["if"]["properties"]["role"]["const"] == "amp-server";
    let select = &rule.iter().find(|r| role(r)).unwrap()["then"]["properties"]["stimuli"]["properties"]["select"];
    assert!(select["description"].as_str().unwrap().contains("`{start_line}`: "));
}

#[test]
fn the_documentation_shows_every_key_and_its_example_is_understood() {
    let text = include_str!("../../docs/subjects.md");
    let example = text.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let spec = one(example, &Flags::default());
    assert!(spec.has_stimulus("select") && spec.lacks("diagnostics"));
    assert!(allowed(example));
    let keys = text.split("## Keys").nth(1).unwrap().split("##").next().unwrap();
    for key in fields_of::<Subject>().iter().chain(role_keys()).map(|field| field.name) {
        let row = |line: &&str| line.split(" | ").next().is_some_and(|row| row.contains(&format!("`{key}`")));
        assert!(keys.lines().any(|line| row(&line)), "{key}");
    }
    let amplifier = text.split("```yaml\n").find(|text| text.contains("role: amplifier-server")).unwrap();
    let amplifier = amplifier.split("```").next().unwrap();
    let described = one(amplifier, &Flags::default()).described;
    assert_eq!(described.secret("credentials.good"), Some("hush"));
    assert!(allowed(amplifier));
    let table = text.split("## Amplifier servers").nth(1).unwrap().split("\n## ").next().unwrap();
    for field in (crate::protocol::role("amplifier-server").unwrap().1.described)() {
        for field in field.shape.fields() {
            assert!(table.contains(&format!("`{}`", field.name)) || table.contains(&format!(": {}`", field.name)));
        }
    }
    for (name, _) in super::PLACEHOLDERS {
        assert!(text.contains(&format!("`{{{name}}}`")), "{name}");
    }
}
