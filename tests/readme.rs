//! The README says what is true: its commands work, its files are read, its links lead somewhere.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use assert_cmd::Command;
use tempfile::TempDir;

use crate::program::wirecert_program;

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("there is a README")
}

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

/// Every command of the README that calls wirecert, as its arguments.
fn commands() -> Vec<String> {
    let blocks = blocks(&readme(), "console");
    let lines = blocks.iter().flat_map(|block| block.lines()).filter_map(|line| line.strip_prefix("$ "));
    lines
        .filter_map(|line| line.strip_prefix("cargo run --release -- ").or(line.strip_prefix("wirecert ")))
        .map(str::to_owned)
        .collect()
}

/// A project of a user, with the programs that the README names; behind the scenes they are our own mocks.
///
/// `described`: with the `wirecert.yaml` of the README, for the commands that name no subject.
fn project(described: bool) -> TempDir {
    let dir = TempDir::new().expect("a temporary folder");
    let wirecert = wirecert_program();
    let script = |name: &str, text: String| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an executable script");
    };
    let control = "\"$WIRECERT_RUN_DIR/control.sock\"";
    script(
        "my-editor",
        format!("#!/bin/sh\nexec {wirecert} mock amp-server --edition cli --workspace \"$2\" --control {control}\n"),
    );
    script(
        "my-editor-ctl",
        format!(
            "#!/bin/sh\nset -e\nsteer() {{ exec {wirecert} mock amp-server --steer {control} \"$@\"; }}\ncase $1 in\n  \
             open) steer open path=\"$2\" ;;\n  select) steer select path=\"$2\" start_line:=\"$3\" start_col:=\"$4\" \
             end_line:=\"$5\" end_col:=\"$6\" ;;\nesac\n"
        ),
    );
    script("my-provider", format!("#!/bin/sh\nexec {wirecert} mock openctx-provider \"$@\"\n"));
    fs::create_dir(dir.path().join("dist")).expect("a folder");
    let module = "export default { meta: async () => ({ name: 'a provider' }) }\n";
    fs::write(dir.path().join("dist/provider.js"), module).expect("a module");
    fs::write(dir.path().join("dist/package.json"), "{ \"type\": \"module\" }\n").expect("its package");
    fs::write(dir.path().join("settings.json"), "{}\n").expect("settings");
    script("my-client-shim", format!("#!/bin/sh\nexec {wirecert} mock amp-client --edition cli\n"));
    script("my-agent", format!("#!/bin/sh\ntail -f /dev/null | exec {wirecert} mock amp-client --edition cli\n"));
    fs::write(dir.path().join("wirecert-baseline.yaml"), "[]\n").expect("a baseline");
    if described {
        let blocks = blocks(&readme(), "yaml");
        let yaml = blocks.iter().find(|block| block.contains("role: amp-server")).expect("a wirecert.yaml");
        fs::write(dir.path().join("wirecert.yaml"), yaml).expect("the file");
    }
    dir
}

/// Something small of every role.
const AREAS: &str = "area(read-file) | area(selection) | area(meta) | area(health) | area(catalogs)";

/// Runs a command line of the README in a user's project, only as far as a few scenarios.
fn run(dir: &Path, line: &str) -> std::process::Output {
    let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap_or_default());
    // The whole suite is played elsewhere; here it is the words of the command that count.
    let line = &line.replace("--observe 30s", "--observe 300ms");
    let line = match line.split_once(" -- ") {
        // A client that is watched plays one scenario, and is watched for a short time only.
        _ if line.contains("--observe") => line.to_owned(),
        Some((before, after)) => {
            format!("{before} --filter '{AREAS}' --retries 3 -- {after}")
        }
        None if line.starts_with("certify") => {
            format!("{line} --filter '{AREAS}' --retries 3")
        }
        None => line.to_owned(),
    };
    let shell = format!("exec {} {line}", wirecert_program());
    Command::new("sh").args(["-c", &shell]).current_dir(dir).env("PATH", path).output().expect("sh runs")
}

#[test]
fn every_command_works_as_it_stands() {
    let commands = commands();
    assert!(commands.len() >= 3, "{commands:?}");
    let (described, bare) = (project(true), project(false));
    for line in commands.iter().filter(|line| !["mock", "init", "doctor"].iter().any(|word| line.starts_with(word))) {
        let names_it = line.contains(" --self") || line.contains(" -- ") || line.contains(" --module ");
        let output = run(if names_it { bare.path() } else { described.path() }, line);
        let reported =
            format!("{line}\n{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{reported}");
        assert!(reported.contains("partial"), "{reported}");
    }
}

#[test]
fn a_project_is_described_and_looked_at() {
    let commands = commands();
    let steps = ["init", "doctor", "certify"].map(str::to_owned);
    assert!(commands.windows(3).any(|lines| lines == steps), "{commands:?}");
    let plugin = TempDir::new().expect("a temporary folder");
    fs::create_dir(plugin.path().join("lua")).expect("a folder");
    fs::write(plugin.path().join("lua/mine.lua"), "").expect("a plugin");
    assert!(run(plugin.path(), "init").status.success());
    assert!(plugin.path().join("wirecert.yaml").is_file() && plugin.path().join("wirecert.lua").is_file());
    let output = run(project(true).path(), "doctor");
    let reported = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && reported.contains("ok    stimulus select"), "{reported}");
}

#[test]
fn every_mock_says_where_it_is() {
    let mocks: Vec<String> = commands().into_iter().filter(|line| line.starts_with("mock ")).collect();
    assert!(!mocks.is_empty());
    for line in mocks {
        // Somebody else may have the port that people are told of.
        let words = line.split(' ').map(|word| if word.parse::<u16>().is_ok() { "0" } else { word });
        let mut mock = std::process::Command::new(wirecert_program());
        let mut mock = mock.args(words).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut reported = String::new();
        let read = BufReader::new(mock.stdout.take().expect("its stdout")).read_line(&mut reported);
        mock.kill().expect("it is there");
        mock.wait().expect("it ends");
        assert!(read.is_ok() && reported.contains("127.0.0.1"), "{line}: {reported}");
    }
}

#[test]
fn its_subject_file_certifies_the_editor_it_describes() {
    let dir = project(true);
    let output = run(dir.path(), "certify");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stdout}\n{stderr}");
    assert!(stdout.starts_with("partial  my-editor (amp-server, edition cli)"), "{stdout}");
    // The stimuli of the file are what makes the editor's selection move.
    assert!(stderr.contains("PASS") && stderr.contains("selection"), "{stderr}");
}

#[test]
fn every_link_leads_to_a_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["README.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root.join(file)).expect("it is there");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !target.contains("://") {
                assert!(root.join(target).exists(), "{file} links to {target}, which is not there");
            }
        }
    }
}
