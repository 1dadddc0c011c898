//! The command line from outside: whole stdout, stderr and exit code of the real binary.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::wirecert_program;

/// The binary with an environment of its own.
fn wirecert(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(wirecert_program());
    command.current_dir(dir).args(args);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command
}

/// Everything that a command gave, as one text.
fn outcome(dir: &Path, args: &[&str]) -> String {
    let output = wirecert(dir, args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    format!(
        "$ wirecert {}\nexit code: {}\n--- stdout\n{}--- stderr\n{}",
        args.join(" "),
        output.status.code().map_or("none".to_owned(), |c| c.to_string()),
        text(&output.stdout),
        text(&output.stderr)
    )
}

fn outcomes(dir: &Path, commands: &[&[&str]]) -> String {
    commands.iter().map(|args| outcome(dir, args)).collect::<Vec<_>>().join("\n")
}

#[test]
fn wrong_usage_says_what_was_expected_and_what_was_meant() {
    let dir = tempfile::tempdir().unwrap();
    insta::assert_snapshot!(outcomes(
        dir.path(),
        &[
            &["requirement"],
            &["--colour", "always", "doctor"],
            &["doctor", "--color=sometimes"],
            &["doctor", "-q", "-v"],
            &["requirements", "amp/cli/ping/ecco"],
            &["requirements", "aera(ping)"],
            &["requirements", "area(nowhere)"],
            &["requirements", "--role", "amp-servre"],
            &["requirements", "--edition", "clj"],
            &["init", "amp"],
        ]
    ));
}

#[test]
fn a_mock_in_an_edition_that_there_is_not_says_which_there_are() {
    let dir = tempfile::tempdir().unwrap();
    for (role, there) in [
        ("amp-server", "there are cli and guide"),
        ("amp-client", "there are cli and guide"),
        ("openctx-provider", "there is 0.1"),
        ("amplifier-client", "there is 2025-12-09"),
    ] {
        let mock = wirecert(dir.path(), &["mock", role, "--edition", "9"]).output().unwrap();
        let stderr = String::from_utf8(mock.stderr).unwrap();
        assert_eq!(mock.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(&format!("there is no edition `9`; {there}")), "{stderr}");
    }
}

#[test]
fn where_there_is_no_subject_none_of_ours_is_taken_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let scenario =
        "wirecert: 1\ntitle: t\nrole: amp-server\nedition: cli\nsteps:\n  - connect: {}\n  - expect: { close: {} }\n";
    std::fs::write(dir.path().join("mine.yaml"), scenario).unwrap();
    let commands: [&[&str]; 5] = [
        &["certify"],
        &["certify", "amp-server"],
        &["certify", "amp-server", "--settings", "s.json"],
        &["run", "mine.yaml"],
        &["fuzz", "amp-client"],
    ];
    insta::assert_snapshot!(outcomes(dir.path(), &commands));
    // A pipeline is told the same.
    let certify = |args: &[&str]| wirecert(dir.path(), args).env("CI", "true").output().unwrap();
    assert_eq!(certify(&["certify", "amp-server"]).status.code(), Some(2));
    // What there is to be played can be looked at before there is a subject.
    for list in
        [&["certify", "amp-server", "--list"][..], &["run", "mine.yaml", "--list"], &["fuzz", "amp-server", "--list"]]
    {
        assert_eq!(certify(list).status.code(), Some(0), "{list:?}");
    }
}

#[test]
fn a_filter_that_leaves_one_role_is_silent_about_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let certified = |filter: &str| {
        let output =
            wirecert(dir.path(), &["certify", "--self", "--progress", "none", "--filter", filter]).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (_, one) = certified("id(openctx-client/0.1/meta/minimal)");
    assert!(one.contains("1 passed") && !one.contains("not judged"), "{one}");
    let (code, none) = certified("id(nothing*)");
    assert_eq!((code, none.matches("error").count()), (Some(2), 1), "{none}");
}

#[test]
fn where_nothing_is_judged_the_run_is_not_green_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = |name: &str, rest: &str| {
        let text = format!("wirecert: 1\ntitle: t\nrole: openctx-provider\nedition: '0.1'\n{rest}");
        std::fs::write(dir.path().join(name), text).unwrap();
    };
    scenario("skipped.yaml", "requires: [ 'capability:mentions' ]\nsteps:\n  - never: { response: {}, until: 1ms }\n");
    scenario("vain.yaml", "steps:\n  - never: { response: {}, until: 1ms }\n");
    std::fs::write(dir.path().join("s.yaml"), "name: it\nrole: openctx-provider\nmissing: [mentions]\n").unwrap();
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    let nothing = "no scenario for openctx-provider in edition 0.1 is left by what was asked for";
    let own: [(&[&str], i32, &str); 6] = [
        (&["certify", "--filter", "id(nothing*)"], 2, nothing),
        (&["certify", "--filter", "area(meta)", "--shard", "90/90"], 2, nothing),
        (&["run", "vain.yaml", "--filter", "id(nothing)"], 2, nothing),
        (&["run", "empty"], 2, "there are no scenario files"),
        (&["run", "vain.yaml"], 4, "incomplete"),
        (&["run", "skipped.yaml", "--subject", "s.yaml"], 4, "nothing was judged"),
    ];
    for (args, code, why) in own {
        let mut args = args.to_vec();
        if args[0] == "certify" {
            args.insert(1, "openctx-provider");
        }
        let wirecert_itself = wirecert_program();
        args.extend(["--", wirecert_itself, "mock", "openctx-provider", "--port", "{port}"]);
        let output = wirecert(dir.path(), &args).output().unwrap();
        let reported = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {reported}");
        assert!(reported.contains(why), "{args:?}: {reported}");
    }
}

#[test]
fn a_description_of_another_role_or_under_another_name_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("wirecert.yaml");
    std::fs::write(&file, "role: amp-server\nlaunch: [its]\n").unwrap();
    let other = outcome(dir.path(), &["certify", "amp-client"]);
    std::fs::rename(&file, dir.path().join("wirecert.yml")).unwrap();
    let named = outcomes(dir.path(), &[&["certify"], &["certify", "amp-server", "--list"]]);
    insta::assert_snapshot!([other, named].join("\n"));
    let own = ["certify", "openctx-provider", "--self", "--filter", "area(meta)", "--progress", "none"];
    assert_eq!(wirecert(dir.path(), &own).output().unwrap().status.code(), Some(0), "--self needs no file");
}

#[test]
fn a_misspelt_format_is_recognised() {
    let dir = tempfile::tempdir().unwrap();
    let output = wirecert(dir.path(), &["schema", "reprot"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("did you mean `report`?"));
}

#[test]
fn help_and_version_are_results() {
    let dir = tempfile::tempdir().unwrap();
    for args in [&["--help"][..], &["-h"], &["--version"], &["schema", "--help"]] {
        let output = wirecert(dir.path(), args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{args:?}");
    }
    let bare = wirecert(dir.path(), &[]).output().unwrap();
    assert_eq!(bare.status.code(), Some(2));
    assert!(bare.stdout.is_empty() && !bare.stderr.is_empty());
}

#[test]
fn a_requirement_is_explained_by_its_whole_or_its_short_name() {
    let dir = tempfile::tempdir().unwrap();
    let commands: [&[&str]; 2] = [&["requirements", "amp/cli/ping/echo"], &["requirements", "ping/echo", "--json"]];
    // What proves and breaks it grows with the suite.
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"(?ms)^  scenarios .*?^--- stderr", "  scenarios   […]\n--- stderr");
    settings.add_filter(r#"(?s)"scenarios": \[.*?\n    \]"#, r#""scenarios": […]"#);
    settings.add_filter(r#"(?s)"flaws": \[.*?\]"#, r#""flaws": […]"#);
    settings.bind(|| insta::assert_snapshot!(outcomes(dir.path(), &commands)));
}

#[test]
fn the_catalogue_comes_whole_and_by_role_and_edition() {
    let dir = tempfile::tempdir().unwrap();
    let lines = |args: &[&str]| -> Vec<String> {
        let output = wirecert(dir.path(), &[&["requirements"], args].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter(|line| line.starts_with("  ")).map(str::to_owned).collect()
    };
    let output = wirecert(dir.path(), &["requirements", "--json"]).output().unwrap();
    let entries: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let all = lines(&[]);
    assert_eq!(all.len(), entries.len());
    for (line, entry) in all.iter().zip(&entries) {
        assert_eq!(line.split_whitespace().nth(1), entry["id"].as_str());
    }
    let cli = lines(&["--edition", "cli"]);
    let others = ["guide", "0.1", "2025-12-09"].map(|edition| lines(&["--edition", edition]).len());
    assert_eq!(all.len(), cli.len() + others.iter().sum::<usize>());
    assert!(cli.iter().all(|line| line.contains(" amp/cli/")) && !cli.is_empty());
    assert!(lines(&["--role", "amp-server"]).len() < all.len());
}

#[test]
fn colours_appear_only_where_they_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let coloured = |args: &[&str]| wirecert(dir.path(), args).output().unwrap().stdout.contains(&0x1b);
    assert!(!coloured(&["requirements"]));
    assert!(coloured(&["requirements", "--color", "always"]));
    assert!(coloured(&["--color=always", "requirements"]));
    assert!(!coloured(&["requirements", "--color", "never"]));
    let errors = |args: &[&str]| wirecert(dir.path(), args).output().unwrap().stderr.contains(&0x1b);
    assert!(errors(&["--color", "always", "nonsense"]) && !errors(&["--color", "never", "nonsense"]));
    assert!(!errors(&["nonsense"]));
}

#[test]
fn the_schema_of_the_report_is_draft_7_and_names_the_contract() {
    let dir = tempfile::tempdir().unwrap();
    let output = wirecert(dir.path(), &["schema", "report"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    let keys: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let always = ["version", "suite", "verdict", "notes", "subjects"];
    assert_eq!(keys, [&always[..], &["run", "unjudged"]].concat());
    assert_eq!(schema["required"], serde_json::json!(always));
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut child =
        wirecert(dir.path(), &["requirements"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = wirecert(dir.path(), &["requirements"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "error[output]: cannot write the result to stdout: No space left on device (os error 28)\n");
}

#[test]
fn init_writes_a_subject_once() {
    let dir = tempfile::tempdir().unwrap();
    insta::assert_snapshot!(outcomes(
        dir.path(),
        &[
            &["init", "amp-server"],
            &["init", "amp-server"],
            &["init", "amp-server", "--out", "no/such/folder.yaml"],
            &["-q", "init", "amp-server", "--out", "other.yaml"],
        ]
    ));
    let written = std::fs::read_to_string(dir.path().join("wirecert.yaml")).unwrap();
    assert_eq!(written, std::fs::read_to_string(dir.path().join("other.yaml")).unwrap());
    insta::assert_snapshot!(written);
}

#[test]
fn init_takes_a_project_for_what_its_files_say() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("plugin/lua/mine/init.lua", "");
    write("provider/package.json", r#"{"devDependencies": {"@openctx/provider": "1"}, "main": "./out/provider.js"}"#);
    write("server/app.py", "app = FastAPI()\n@app.post('/sessions')\n");
    write("both/app.py", "app = FastAPI()\n@app.post('/sessions')\n");
    write("both/lua/mine.lua", "");
    write("nothing/readme.md", "");
    let in_folder = |folder: &str, args: &[&str]| outcomes(&dir.path().join(folder), &[args]);
    insta::assert_snapshot!(
        [
            in_folder("plugin", &["init", "--ci", "github"]),
            in_folder("plugin", &["init", "--out", "other.yaml"]),
            in_folder("provider", &["init"]),
            in_folder("server", &["init", "--ci", "gitlab"]),
            in_folder("both", &["init"]),
            in_folder("both", &["init", "amplifier-server"]),
            in_folder("nothing", &["init"]),
        ]
        .concat()
    );
    for path in ["plugin/wirecert.yaml", "provider/wirecert.yaml", "server/wirecert.yaml"] {
        insta::assert_snapshot!(path, std::fs::read_to_string(dir.path().join(path)).unwrap());
    }
    assert!(dir.path().join("plugin/.github/workflows/wirecert.yml").is_file());
    assert!(dir.path().join("plugin/wirecert.lua").is_file());
    assert!(!dir.path().join("plugin/other.yaml").exists(), "the script was there already");
    assert!(dir.path().join("server/.gitlab-ci.yml").is_file());
}

#[test]
fn export_writes_the_suite_and_replaces_nothing_unless_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let code = |args: &[&str]| wirecert(dir.path(), args).output().unwrap().status.code();
    assert_eq!(code(&["export", "out/suite"]), Some(0));
    let readme = dir.path().join("out/suite/README.md");
    let original = std::fs::read_to_string(&readme).unwrap();
    assert_eq!(code(&["export", "out/suite"]), Some(0), "the same files are not in the way");
    std::fs::write(&readme, "mine").unwrap();
    insta::assert_snapshot!(outcome(dir.path(), &["export", "out/suite"]));
    assert_eq!(std::fs::read_to_string(&readme).unwrap(), "mine");
    assert_eq!(code(&["export", "out/suite", "--force"]), Some(0));
    assert_eq!(std::fs::read_to_string(&readme).unwrap(), original);
}

#[test]
fn doctor_tells_each_check_in_a_line_and_a_bad_one_by_its_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let output = wirecert(dir.path(), &["doctor"]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stdout}");
    assert!(stdout.lines().all(|line| line.starts_with("ok  ") || line.starts_with("warn")), "{stdout}");
    let nowhere = wirecert(dir.path(), &["doctor"]).env("TMPDIR", dir.path().join("nowhere")).output().unwrap();
    let stdout = String::from_utf8(nowhere.stdout).unwrap();
    assert_eq!(nowhere.status.code(), Some(3));
    assert!(stdout.contains("bad   temporary folder ") && stdout.contains("point TMPDIR"), "{stdout}");
}

/// Asks bash what it would complete a command line to, whose last word is unfinished.
fn completed(dir: &Path, line: &[&str]) -> Vec<String> {
    let script = "source completions; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
                  _wirecert wirecert \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; \
                  printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    let output = bash.current_dir(dir).args(["--norc", "-c", script, "bash"]).args(line).output().unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(stderr, "");
    stdout.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_commands_options_and_names() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = wirecert(dir.path(), &["completions", shell]).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{shell}");
        let script = String::from_utf8(output.stdout).unwrap();
        // The generators for PowerShell and Elvish know commands and options alone.
        let edition = if ["powershell", "elvish"].contains(&shell) { "" } else { "guide" };
        for word in ["certify", "baseline", edition] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        if shell == "bash" {
            std::fs::write(dir.path().join("completions"), script).unwrap();
        }
    }
    assert_eq!(completed(dir.path(), &["wirecert", "cert"]), ["certify"]);
    assert_eq!(completed(dir.path(), &["wirecert", "certify", "amp-"]), ["amp-server", "amp-client"]);
    assert_eq!(completed(dir.path(), &["wirecert", "certify", "--base"]), ["--baseline"]);
    assert_eq!(completed(dir.path(), &["wirecert", "mock", "--edition", "g"]), ["guide"]);
    assert_eq!(completed(dir.path(), &["wirecert", "export", "openapi", "amplif"]), ["amplifier"]);
}

#[test]
fn every_command_has_a_manual_page_and_help() {
    let dir = tempfile::tempdir().unwrap();
    let output = wirecert(dir.path(), &["man", "--out", "share/man"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b""[..]));
    let page = |name: &str| std::fs::read_to_string(dir.path().join("share/man").join(name)).unwrap();
    assert!(page("wirecert.1").contains("130"), "the exit codes");
    assert!(page("wirecert-certify.1").contains("\\-\\-baseline"));
    assert!(page("wirecert-report-merge.1").contains("shards"));
    let help = wirecert(dir.path(), &["help", "certify"]).output().unwrap();
    let flag = wirecert(dir.path(), &["certify", "--help"]).output().unwrap();
    assert_eq!((help.status.code(), help.stdout), (Some(0), flag.stdout));
    std::fs::write(dir.path().join("file"), "").unwrap();
    let output = wirecert(dir.path(), &["man", "--out", "file/man"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write manual pages to file/man: "));
}
