//! Starting and attaching: what is found, and what is reported where nothing is.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::{Access, EditionChoice, Launch, SeedFile, SubjectSpec, Target, TerminalSize};
use crate::subject::testing::{TestTrace, launch, spec};
use crate::subject::{RunDir, Running, Start, SubjectError, tree};
use crate::trace::{EventKind, Exited};

use super::{refusal, run_dir, server, sh, start, with};

#[tokio::test]
async fn a_server_is_started_found_and_stopped_as_it_wishes() {
    let (spec, trace) = (server(&[]), TestTrace::new());
    let run_dir = run_dir(&spec);
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    assert_eq!(running.lock().unwrap().token, "hush-hush");
    assert_eq!(running.lock().unwrap().pid, running.pid());
    assert_eq!(running.editions().iter().map(|edition| edition.id()).collect::<Vec<_>>(), ["one", "two"]);
    assert!(running.is_ours() && running.alive().await && running.lockfile().exists);
    let pid = running.pid().unwrap();
    let stopped = running.stop().await;
    assert_eq!(stopped.exited, Some(Exited { pid, code: Some(0), signal: None, asked: true }));
    assert_eq!((stopped.graceful, stopped.left, stopped.clean), (true, 0, true));
    assert_eq!(trace.kinds(), "launched file:read output exited file:absent");
    let root = run_dir.root().to_owned();
    run_dir.remove().unwrap();
    assert!(!root.exists());
}

#[tokio::test]
async fn a_server_may_have_a_terminal_which_closes_with_it() {
    let look = "exec 3> seen; stty size >&3; echo $TERM >&3
        test -t 0 && test -t 1 && test -t 2 && : > /dev/tty && echo all >&3; exec 3>&-; echo shown; exec \"$@\"";
    let spec = with(spec(&["sh", "-c", look, "sh", "python3", "-c", super::SERVER]), |launch| {
        launch.pty = Some(TerminalSize { rows: 40, columns: 100 });
    });
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let seen = std::fs::read_to_string(run_dir.workspace().join("seen")).unwrap();
    assert_eq!(seen, "40 100\nxterm-256color\nall\n");
    let pid = running.pid().unwrap();
    let stopped = running.stop().await;
    assert_eq!(stopped.exited, Some(Exited { pid, code: Some(0), signal: None, asked: true }));
    assert_eq!((stopped.graceful, stopped.left, stopped.clean), (true, 0, true));
    let shown: String = trace.output().into_iter().map(|(_, text)| text).collect();
    assert!(shown.contains("shown\r\n"), "{shown:?}");
}

#[tokio::test]
async fn a_server_lives_in_a_run_directory_and_knows_it() {
    let arguments = ["env", "{port}", "{url}", "{workspace}/a", "{run_dir}", "{data_home}", "{edition}", "{{port}}"];
    let spec = with(server(&arguments), |launch| {
        launch.env = BTreeMap::from([
            ("MINE".to_owned(), Some("{workspace}!".to_owned())),
            ("PORT".to_owned(), None),
            ("FROM_SCENARIO".to_owned(), Some("file".to_owned())),
        ]);
        launch.home = vec![SeedFile { path: ".config/x/init".to_owned(), content: b"set".to_vec() }];
        launch.files = vec![SeedFile { path: "src/a.txt".to_owned(), content: b"text".to_vec() }];
    });
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let env = BTreeMap::from([
        ("FROM_SCENARIO".to_owned(), Some("scenario".to_owned())),
        ("EMPTY".to_owned(), Some(String::new())),
        ("XDG_STATE_HOME".to_owned(), None),
    ]);
    let recorder = trace.recorder();
    let start = Start {
        spec: &spec,
        run_dir: &run_dir,
        scenario: Some("test-server/one/a/b"),
        workspace: None,
        env: &env,
        server: None,
        recorder,
    };
    let running = Running::launch(start).await.unwrap();
    let seen: Value = serde_json::from_slice(&std::fs::read(run_dir.workspace().join("env.json")).unwrap()).unwrap();
    let root = run_dir.root().to_str().unwrap();
    let env = &seen["env"];
    let port = env["WIRECERT_PORT"].as_str().unwrap();
    for (name, value) in [
        ("HOME", format!("{root}/home")),
        ("XDG_DATA_HOME", format!("{root}/home/.local/share")),
        ("TEST_DATA_HOME", format!("{root}/home/.local/share")),
        ("XDG_CONFIG_HOME", format!("{root}/home/.config")),
        ("XDG_CACHE_HOME", format!("{root}/home/.cache")),
        ("WIRECERT_WORKSPACE", format!("{root}/workspace")),
        ("PWD", format!("{root}/workspace")),
        ("WIRECERT_RUN_DIR", root.to_owned()),
        ("WIRECERT_URL", format!("ws://127.0.0.1:{port}")),
        ("WIRECERT_EDITION", "auto".to_owned()),
        ("WIRECERT_SCENARIO", "test-server/one/a/b".to_owned()),
        ("MINE", format!("{root}/workspace!")),
        ("FROM_SCENARIO", "scenario".to_owned()),
        ("EMPTY", String::new()),
    ] {
        assert_eq!(env[name], value, "{name}");
    }
    assert_eq!((&env["PORT"], &env["XDG_STATE_HOME"]), (&Value::Null, &Value::Null));
    let path = std::env::var("PATH").unwrap();
    assert!(env["PATH"].as_str().unwrap().ends_with(&path), "the rest is inherited");
    assert_eq!(seen["cwd"], format!("{root}/workspace"));
    let arguments = json!([
        "env",
        port,
        format!("ws://127.0.0.1:{port}"),
        format!("{root}/workspace/a"),
        root,
        format!("{root}/home/.local/share"),
        "auto",
        "{port}"
    ]);
    assert_eq!(seen["argv"], arguments);
    assert_eq!(std::fs::read(run_dir.home().join(".config/x/init")).unwrap(), b"set");
    assert_eq!(std::fs::read(run_dir.workspace().join("src/a.txt")).unwrap(), b"text");
    running.stop().await;
}

#[tokio::test]
async fn a_command_that_is_not_there_is_reported_with_what_to_do() {
    let (error, trace) = refusal(&spec(&["no-such-editor", "a b"])).await;
    assert!(error.to_string().starts_with("could not start the subject with `no-such-editor 'a b'`: "), "{error}");
    assert_eq!(error.diagnostic().help, ["install `no-such-editor`, or give its path: it is in no folder of PATH"]);
    assert_eq!(trace.kinds(), "");
}

#[tokio::test]
async fn one_that_ends_at_once_is_reported_with_its_exit_code_and_last_lines() {
    let (error, trace) = refusal(&sh("echo no licence >&2; exit 3")).await;
    assert_eq!(error.to_string(), "the subject ended before it was ready: exit code 3");
    assert_eq!(error.diagnostic().notes, ["it wrote last:\nno licence"]);
    assert_eq!(trace.kinds(), "launched output exited");
}

#[tokio::test]
async fn a_file_named_from_where_wirecert_is_but_not_the_subject_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("server.sh"), "exit 0").unwrap();
    let spec = SubjectSpec { config_dir: folder.path().to_owned(), ..spec(&["sh", "server.sh"]) };
    let (error, _) = refusal(&spec).await;
    let expected = format!(
        "`server.sh` is in {}, but it runs in its workspace: write `{{config_dir}}/server.sh`",
        folder.path().display()
    );
    assert_eq!(error.diagnostic().notes[0], expected);
}

#[tokio::test]
async fn one_that_never_becomes_ready_is_reported_with_where_was_looked_and_leaves_nothing() {
    let spec = with(spec(&["sleep", "600"]), |launch| launch.ready.within = Duration::from_millis(50));
    let (error, trace) = refusal(&spec).await;
    let text = error.to_string();
    assert!(text.starts_with("the subject was not ready within 50ms: no lockfile came in /"), "{text}");
    assert!(text.ends_with("/home/.local/share/test/ide"), "{text}");
    let named = |error: &SubjectError| error.diagnostic().help.iter().any(|help| help.contains("`--edition one` or"));
    assert!(named(&error), "{:?}", error.diagnostic().help);
    let (error, _) =
        refusal(&SubjectSpec { edition: EditionChoice::Given(spec.protocol.default_edition()), ..spec.clone() }).await;
    assert!(!named(&error), "which edition it is was said");
    let [EventKind::Launched(launched), EventKind::Exited(exited)] = &trace.events()[..] else {
        panic!("{}", trace.kinds())
    };
    assert_eq!((launched.pid, exited.signal), (exited.pid, Some(9)));
    assert!(!tree::is_alive(launched.pid));
}

#[tokio::test]
async fn useless_lockfiles_are_reported_each_with_its_reason_and_kept_for_the_rules() {
    let script = r#"
        cd "$XDG_DATA_HOME"; mkdir -p test/ide; cd test/ide
        printf '{"port":' > 1.json
        printf '{"port":"8123"}' > 2.json
        mkfifo 3.json
        mkdir 4.json
        ln -s nowhere 5.json
        echo '{"port":1}' > ignored.txt
        exit 4"#;
    let (error, trace) = refusal(&sh(script)).await;
    let notes = error.diagnostic().notes;
    assert!(notes[0].starts_with("lockfile 1.json is there but: it is no JSON: EOF"), "{notes:?}");
    assert_eq!(notes[1], "lockfile 2.json is there but: `port` is a string");
    assert_eq!(notes[2], "lockfile 3.json is there but: it is no regular file");
    assert_eq!(notes[3], "lockfile 4.json is there but: it is no regular file");
    assert!(notes[4].starts_with("lockfile 5.json is there but: No such file"), "{notes:?}");
    assert_eq!(notes.len(), 5);
    let contents: Vec<_> = trace
        .events()
        .into_iter()
        .filter_map(
            |what| if let EventKind::File(f) = what { Some(f.content.map(|c| c.as_bytes().to_vec())) } else { None },
        )
        .collect();
    assert_eq!(contents[..2], [Some(br#"{"port":"#.to_vec()), Some(br#"{"port":"8123"}"#.to_vec())]);
}

#[tokio::test]
async fn a_lockfile_whose_port_nobody_serves_does_not_count() {
    let script = r#"mkdir -p "$XDG_DATA_HOME/test/ide"; echo '{"port":1}' > "$XDG_DATA_HOME/test/ide/1.json""#;
    let (error, _) = refusal(&sh(script)).await;
    assert_eq!(error.diagnostic().notes, ["lockfile 1.json is there but nothing accepts at port 1"]);
}

#[tokio::test]
async fn the_right_lockfile_is_found_among_hundreds_of_stale_ones_and_a_newer_decoy() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let spec = with(server(&["foreign"]), |launch| {
        launch.home = (0..500)
            .map(|i| SeedFile {
                path: format!(".local/share/test/ide/{i}.json"),
                content: format!(r#"{{"port":{port},"pid":{i}}}"#).into_bytes(),
            })
            .collect();
    });
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    assert_eq!(running.lock().unwrap().token, "hush-hush");
    running.stop().await;
}

#[tokio::test]
async fn thousands_of_lockfiles_take_no_longer_than_a_subject_may() {
    let script = r#"mkdir -p "$XDG_DATA_HOME/test/ide"; cd "$XDG_DATA_HOME/test/ide"
        for i in $(seq 4000); do echo "{\"port\":1,\"pid\":400$i}" > $i.json; done
        exec sleep 600"#;
    let spec = with(sh(script), |launch| launch.ready.within = Duration::from_secs(1));
    let began = std::time::Instant::now();
    let (error, _) = refusal(&spec).await;
    assert!(error.to_string().starts_with("the subject was not ready within 1s: its lockfile is there"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_token_that_no_request_has_room_for_makes_a_lockfile_useless() {
    let script = r#"cd "$XDG_DATA_HOME"; mkdir -p test/ide; cd test/ide
        printf '{"port":1,"secret":"%s"}' "$(head -c 9000 /dev/zero | tr '\0' t)" > 1.json"#;
    let (error, _) = refusal(&sh(script)).await;
    assert_eq!(error.diagnostic().notes, ["lockfile 1.json is there but: its token is longer than 8 KiB"]);
}

#[test]
fn a_run_directory_that_cannot_be_made_is_reported_with_what_to_do() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for place in [Path::new("/proc"), file.path()] {
        let launch = Launch { run_dir: Some(place.to_owned()), ..launch(&["true"]) };
        let error = RunDir::create(&launch).err().unwrap();
        assert!(error.to_string().contains(place.to_str().unwrap()), "{error}");
    }
    let outside = SeedFile { path: "../x".to_owned(), content: vec![] };
    let launch = Launch { home: vec![outside], ..launch(&["true"]) };
    assert!(matches!(RunDir::create(&launch).err().unwrap(), SubjectError::Path { .. }));
}

#[test]
fn a_run_directory_goes_unless_it_is_to_be_kept() {
    let base = tempfile::tempdir().unwrap();
    let launch = |keep| Launch { run_dir: Some(base.path().join("runs")), keep_run_dir: keep, ..launch(&["true"]) };
    let kept = RunDir::create(&launch(true)).unwrap().root().to_owned();
    let gone = RunDir::create(&launch(false)).unwrap().root().to_owned();
    assert!(kept.join("workspace").is_dir() && !gone.exists());
}

#[test]
fn a_run_directory_that_is_renewed_is_as_if_it_were_fresh() {
    let seed = |path: &str| SeedFile { path: path.to_owned(), content: b"seeded".to_vec() };
    let launch = Launch { home: vec![seed(".config/a.json")], files: vec![seed("b.txt")], ..launch(&["true"]) };
    let run_dir = RunDir::create(&launch).unwrap();
    let (inside, link) = (run_dir.data_home().join("amp/ide"), run_dir.workspace_by_link());
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::write(inside.join("1.json"), "{}").unwrap();
    std::fs::write(run_dir.home().join(".config/a.json"), "changed").unwrap();
    std::fs::remove_file(run_dir.workspace().join("b.txt")).unwrap();
    std::fs::remove_dir(run_dir.cache_home()).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("precious"), "").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), run_dir.workspace().join("leads-out")).unwrap();
    let scenario_dir = run_dir.scenario_dir("play").unwrap();
    scenario_dir.write("c.txt", b"").unwrap();

    run_dir.renew(&launch).unwrap();
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(run_dir.root()), ["home", "link-to-workspace", "workspace"]);
    assert_eq!(names(&run_dir.workspace()), ["b.txt"]);
    assert_eq!(names(&run_dir.data_home()), Vec::<String>::new());
    assert!(run_dir.cache_home().is_dir());
    assert_eq!(std::fs::read(run_dir.home().join(".config/a.json")).unwrap(), b"seeded");
    assert!(elsewhere.path().join("precious").exists());
    assert_eq!(std::fs::read_link(link).unwrap(), run_dir.workspace());
    assert_ne!(run_dir.scenario_dir("play").unwrap().path(), scenario_dir.path());
}

fn attached(target: Target) -> SubjectSpec {
    SubjectSpec { access: Access::Attach { target, workspace: None }, ..spec(&["true"]) }
}

#[tokio::test]
async fn one_that_runs_already_is_found_and_left_alone() {
    let spec = server(&[]);
    let (run_dir, trace) = (run_dir(&spec), TestTrace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let url = format!("ws://127.0.0.1:{}?secret=hush-hush", running.lock().unwrap().port);
    let lockfile = running.lockfile_path().unwrap().to_owned();
    for target in [Target::Url(url), Target::Lockfile(lockfile), Target::DataHome(run_dir.data_home())] {
        let trace = TestTrace::new();
        let other = Running::attach(&attached(target.clone()), trace.recorder()).await.unwrap();
        assert_eq!(
            (other.lock().unwrap().port, other.lock().unwrap().token.as_str()),
            (running.lock().unwrap().port, "hush-hush")
        );
        assert!(!other.is_ours() && other.alive().await && other.workspace().is_none());
        assert!(other.signal("TERM").is_err());
        other.stop().await;
        assert!(running.alive().await, "{target:?}");
    }
    running.stop().await;
}

#[tokio::test]
async fn what_cannot_be_attached_to_is_reported_with_what_was_seen() {
    async fn error(target: Target) -> SubjectError {
        Running::attach(&attached(target), TestTrace::new().recorder()).await.err().unwrap()
    }
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("test/ide");
    std::fs::create_dir_all(&folder).unwrap();
    let none = error(Target::DataHome(home.path().to_owned())).await;
    assert_eq!(none.to_string(), format!("could not attach: no live lockfile in {}", folder.display()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for name in ["a.json", "b.json"] {
        std::fs::write(folder.join(name), format!(r#"{{"port":{port}}}"#)).unwrap();
    }
    let two = error(Target::DataHome(home.path().to_owned())).await;
    assert_eq!(two.to_string(), format!("could not attach: 2 of them run in {}", folder.display()));
    assert_eq!(two.diagnostic().help, ["choose one with `--lockfile FILE`"]);
    let dead = error(Target::Url("ws://127.0.0.1:1?secret=x".to_owned())).await;
    assert_eq!(dead.to_string(), "could not attach: nothing accepts connections at port 1 of this machine");
    let torn = folder.join("torn.json");
    std::fs::write(&torn, "{").unwrap();
    let torn = error(Target::Lockfile(torn)).await;
    assert!(torn.to_string().contains("torn.json is of no use: it is no JSON"), "{torn}");
}
