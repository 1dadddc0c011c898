//! Subjects of all kinds, as real processes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::testing::{Trace, launch, spec};
use super::{RunDir, Running, Start, SubjectError, tree};
use crate::config::{Access, CommandLine, Launch, SeedFile, StopHow, SubjectSpec, Target};
use crate::trace::{Exited, What};

const SERVER: &str = include_str!("tests/server.py");

/// The server of `server.py`, with these arguments.
fn server(arguments: &[&str]) -> SubjectSpec {
    spec(&[&["python3", "-c", SERVER][..], arguments].concat())
}

fn with(spec: SubjectSpec, change: impl FnOnce(&mut Launch)) -> SubjectSpec {
    let mut launch = spec.launch().unwrap().clone();
    change(&mut launch);
    SubjectSpec { access: Access::Launch(launch), ..spec }
}

fn sh(script: &str) -> SubjectSpec {
    spec(&["sh", "-c", script])
}

fn run_dir(spec: &SubjectSpec) -> RunDir {
    RunDir::create(spec.launch().unwrap()).unwrap()
}

async fn start(spec: &SubjectSpec, run_dir: &RunDir, trace: &Trace) -> Result<Running, SubjectError> {
    let env = BTreeMap::new();
    Running::launch(Start { spec, run_dir, scenario: None, env: &env, recorder: trace.recorder() }).await
}

/// What stopped a start.
async fn refusal(spec: &SubjectSpec) -> (SubjectError, Trace) {
    let (run_dir, trace) = (run_dir(spec), Trace::new());
    let error = start(spec, &run_dir, &trace).await.err().expect("it should not start");
    (error, trace)
}

fn pids(run_dir: &RunDir) -> Vec<u32> {
    let text = std::fs::read_to_string(run_dir.workspace().join("pids")).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[tokio::test]
async fn a_server_is_started_found_and_stopped_as_it_wishes() {
    let (spec, trace) = (server(&[]), Trace::new());
    let run_dir = run_dir(&spec);
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    assert_eq!(running.lock().unwrap().token, "hush-hush");
    assert_eq!(running.lock().unwrap().pid, running.pid());
    assert_eq!(running.editions(), ["one", "two"]);
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
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let env =
        BTreeMap::from([("FROM_SCENARIO".to_owned(), "scenario".to_owned()), ("PATHX".to_owned(), String::new())]);
    let recorder = trace.recorder();
    let start = Start { spec: &spec, run_dir: &run_dir, scenario: Some("test-server/one/a/b"), env: &env, recorder };
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
        ("XDG_STATE_HOME", format!("{root}/home/.local/state")),
        ("WIRECERT_WORKSPACE", format!("{root}/workspace")),
        ("WIRECERT_RUN_DIR", root.to_owned()),
        ("WIRECERT_URL", format!("ws://127.0.0.1:{port}")),
        ("WIRECERT_EDITION", "auto".to_owned()),
        ("WIRECERT_SCENARIO", "test-server/one/a/b".to_owned()),
        ("MINE", format!("{root}/workspace!")),
        ("FROM_SCENARIO", "scenario".to_owned()),
    ] {
        assert_eq!(env[name], value, "{name}");
    }
    assert_eq!(env["PORT"], Value::Null);
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
async fn a_command_that_is_not_there_is_told_with_what_to_do() {
    let (error, trace) = refusal(&spec(&["no-such-editor", "a b"])).await;
    assert!(error.to_string().starts_with("could not start the subject with `no-such-editor 'a b'`: "), "{error}");
    assert_eq!(error.diagnostic().help, ["install `no-such-editor`, or give its path: it is in no folder of PATH"]);
    assert_eq!(trace.kinds(), "");
}

#[tokio::test]
async fn one_that_ends_at_once_is_told_with_its_exit_code_and_last_lines() {
    let (error, trace) = refusal(&sh("echo no licence >&2; exit 3")).await;
    assert_eq!(error.to_string(), "the subject ended before it was ready: exit code 3");
    assert_eq!(error.diagnostic().notes, ["it wrote last:\nno licence"]);
    assert_eq!(trace.kinds(), "launched output exited");
}

#[tokio::test]
async fn a_file_named_from_where_wirecert_is_but_not_the_subject_is_told() {
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
async fn one_that_never_becomes_ready_is_told_with_where_was_looked_and_leaves_nothing() {
    let spec = with(spec(&["sleep", "600"]), |launch| launch.ready.within = Duration::from_millis(50));
    let (error, trace) = refusal(&spec).await;
    let text = error.to_string();
    assert!(text.starts_with("the subject was not ready within 50ms: no lockfile came in /"), "{text}");
    assert!(text.ends_with("/home/.local/share/test/ide"), "{text}");
    let [What::Launched(launched), What::Exited(exited)] = &trace.events()[..] else { panic!("{}", trace.kinds()) };
    assert_eq!((launched.pid, exited.signal), (exited.pid, Some(9)));
    assert!(!tree::is_alive(launched.pid));
}

#[tokio::test]
async fn useless_lockfiles_are_told_each_with_its_reason_and_kept_for_the_rules() {
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
        .filter_map(|what| if let What::File(f) = what { Some(f.content.map(|c| c.as_bytes().to_vec())) } else { None })
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
    let spec = with(server(&["decoy"]), |launch| {
        launch.home = (0..500)
            .map(|i| SeedFile {
                path: format!(".local/share/test/ide/{i}.json"),
                content: format!(r#"{{"port":{port},"pid":{i}}}"#).into_bytes(),
            })
            .collect();
    });
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    assert_eq!(running.lock().unwrap().token, "hush-hush");
    running.stop().await;
}

#[tokio::test]
async fn one_that_ignores_sigterm_is_killed() {
    let spec = with(server(&["deaf"]), |launch| launch.stop.within = Duration::from_millis(50));
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let pid = running.pid().unwrap();
    let stopped = running.stop().await;
    assert_eq!((stopped.graceful, stopped.clean), (false, true));
    assert_eq!(stopped.exited, Some(Exited { pid, code: None, signal: Some(9), asked: true }));
    assert_eq!(trace.kinds(), "launched file:read exited file:read");
}

#[tokio::test]
async fn one_that_was_halted_is_stopped_all_the_same() {
    let spec = server(&[]);
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    running.signal("STOP").unwrap();
    let stopped = running.stop().await;
    assert!(stopped.graceful && stopped.clean);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_daemon_that_left_session_parent_and_environment_is_found_and_killed() {
    let spec = server(&["daemon"]);
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let daemons = pids(&run_dir);
    assert!(daemons.iter().all(|pid| tree::is_alive(*pid)));
    let stopped = running.stop().await;
    assert_eq!((stopped.graceful, stopped.left, stopped.clean), (true, 1, true));
    assert!(!daemons.iter().any(|pid| tree::is_alive(*pid)));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_swarm_of_sessions_is_killed_to_the_last() {
    let spec = server(&["swarm"]);
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let stopped = running.stop().await;
    let swarm = pids(&run_dir);
    assert_eq!(swarm.len(), 160);
    assert_eq!((stopped.left, stopped.clean), (160, true));
    assert!(!swarm.iter().any(|pid| tree::is_alive(*pid)));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn one_that_puts_itself_into_the_background_is_told_so_and_leaves_nothing() {
    let (error, trace) = refusal(&sh("setsid sleep 600 & exit 0")).await;
    assert_eq!(error.to_string(), "the subject ended before it was ready: exit code 0");
    let note = &error.diagnostic().notes[0];
    assert!(note.starts_with("it left another process running in the background (process "), "{note}");
    assert_eq!(trace.kinds(), "launched exited");
    let pid: u32 = note.split(['(', ')', ' ']).find_map(|word| word.parse().ok()).unwrap();
    assert!(!tree::is_alive(pid));
}

#[tokio::test]
async fn a_flood_of_output_hinders_nothing_and_fills_nothing() {
    let mut spec = server(&["flood"]);
    spec.limits.output = 10_000;
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let stopped = running.stop().await;
    assert!(stopped.clean);
    let output: usize = trace.output().iter().map(|(_, text)| text.len()).sum();
    assert!(output <= 3 * 10_000, "{output}");
}

#[tokio::test]
async fn dropping_it_kills_it() {
    let spec = server(&["deaf"]);
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let pid = running.pid().unwrap();
    drop(running);
    assert!(!tree::is_alive(pid));
}

#[tokio::test]
async fn giving_up_a_start_kills_it() {
    let spec = sh("echo $$ > pids; sleep 600");
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let file = run_dir.workspace().join("pids");
    let written = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while !std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')) {
            ticks.tick().await;
        }
    };
    tokio::select! {
        _ = start(&spec, &run_dir, &trace) => panic!("it cannot become ready"),
        () = written => {}
    }
    assert!(!tree::is_alive(pids(&run_dir)[0]));
}

#[tokio::test]
async fn an_end_that_nobody_asked_for_is_marked_so() {
    let spec = server(&["crash"]);
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    std::fs::write(run_dir.workspace().join("crash"), "").unwrap();
    let exited = running.wait(Duration::from_secs(30)).await.unwrap();
    assert_eq!((exited.code, exited.asked), (Some(7), false));
    assert!(!running.alive().await);
    assert_eq!(running.exited(), Some(exited));
    assert_eq!(running.last_output(), ["it broke"]);
    assert!(running.signal("TERM").is_err());
    assert!(running.stop().await.clean);
    assert_eq!(trace.kinds(), "launched file:read output exited file:read");
}

#[tokio::test]
async fn it_is_started_again_in_the_same_place_with_another_environment() {
    let spec = server(&["env", "messy"]);
    let run_dir = run_dir(&spec);
    let (first, second) = (Trace::new(), Trace::new());
    let before = start(&spec, &run_dir, &first).await.unwrap();
    let stale = before.lockfile_path().unwrap().to_owned();
    before.stop().await;
    assert!(stale.exists());
    let elsewhere = run_dir.root().join("elsewhere").display().to_string();
    let env = BTreeMap::from([("TEST_DATA_HOME".to_owned(), String::new()), ("XDG_DATA_HOME".to_owned(), elsewhere)]);
    let recorder = second.recorder();
    let start = Start { spec: &spec, run_dir: &run_dir, scenario: None, env: &env, recorder };
    let after = Running::launch(start).await.unwrap();
    assert!(after.lockfile_path().unwrap().starts_with(run_dir.root().join("elsewhere/test/ide")));
    after.stop().await;
}

#[tokio::test]
async fn output_goes_to_the_trace_that_is_current() {
    let spec = server(&[]);
    let (run_dir, first, second) = (run_dir(&spec), Trace::new(), Trace::new());
    let running = start(&spec, &run_dir, &first).await.unwrap();
    running.record_to(second.recorder());
    running.stop().await;
    assert_eq!((first.kinds().as_str(), second.kinds().as_str()), ("launched file:read", "output exited file:absent"));
}

fn stimulus(spec: SubjectSpec, command: &[&str]) -> SubjectSpec {
    let line = CommandLine(command.iter().map(|s| (*s).to_owned()).collect());
    SubjectSpec { stimuli: BTreeMap::from([("poke", line)]), ..spec }
}

async fn poked(spec: &SubjectSpec, params: Value) -> (Result<(), SubjectError>, Trace, RunDir) {
    let (run_dir, trace) = (run_dir(spec), Trace::new());
    let running = start(spec, &run_dir, &trace).await.unwrap();
    let Value::Object(params) = params else { panic!("params are a map") };
    let result = running.stimulate("poke", &params).await;
    running.stop().await;
    (result, trace, run_dir)
}

#[tokio::test]
async fn a_stimulus_is_a_command_with_its_parameters() {
    let script = r#"printf '%s|' "$@" "$HOME" > poked"#;
    let spec =
        stimulus(server(&[]), &["sh", "-c", script, "sh", "{path}", "{line}", "{items}", "{nothing}", "{run_dir}"]);
    let (result, trace, run_dir) = poked(&spec, json!({"path": "a b", "line": 3, "items": [{"x": "y"}]})).await;
    result.unwrap();
    let root = run_dir.root().display();
    let written = std::fs::read_to_string(run_dir.workspace().join("poked")).unwrap();
    assert_eq!(written, format!(r#"a b|3|[{{"x":"y"}}]||{root}|{root}/home|"#));
    let event = trace.events().into_iter().find_map(|what| if let What::Stimulus(s) = what { Some(s) } else { None });
    let event = event.unwrap();
    assert_eq!((event.name.as_str(), event.outcome.as_str(), &event.params["line"]), ("poke", "exit 0", &json!(3)));
    assert_eq!(event.command[4..7], ["a b", "3", r#"[{"x":"y"}]"#]);
}

#[tokio::test]
async fn a_failed_stimulus_is_told_with_its_output() {
    let spec = stimulus(server(&[]), &["sh", "-c", "echo no such window; exit 2"]);
    let (result, trace, _run_dir) = poked(&spec, json!({})).await;
    let error = result.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the stimulus `poke` failed: `sh -c 'echo no such window; exit 2'` ended with exit code 2"
    );
    assert_eq!(error.diagnostic().notes, ["it wrote last:\nno such window"]);
    assert!(trace.kinds().contains("stimulus"));
}

#[tokio::test]
async fn a_stimulus_that_hangs_or_is_not_there_ends_in_an_error() {
    let mut spec = stimulus(server(&[]), &["sh", "-c", "trap '' TERM; echo $$ > pids; setsid sleep 600 & wait"]);
    spec.timeouts.stimulus = Duration::from_millis(300);
    let (result, _trace, _run_dir) = poked(&spec, json!({})).await;
    assert!(result.unwrap_err().to_string().ends_with("did not end within 300ms"));
    let spec = stimulus(server(&[]), &["no-such-tool"]);
    let (result, _trace, _run_dir) = poked(&spec, json!({})).await;
    assert!(result.unwrap_err().to_string().contains("could not be run: "));
}

#[tokio::test]
async fn what_a_stimulus_leaves_running_goes_with_the_subject() {
    let script = "sleep 600 >/dev/null 2>&1 & echo $! > pids";
    let spec = stimulus(server(&[]), &["sh", "-c", script]);
    let (result, _trace, run_dir) = poked(&spec, json!({})).await;
    result.unwrap();
    assert!(!pids(&run_dir).into_iter().any(tree::is_alive));
}

#[tokio::test]
async fn a_stimulus_that_is_not_described_is_told_by_name() {
    let spec = server(&[]);
    let (result, _trace, _run_dir) = poked(&spec, json!({})).await;
    let error = result.unwrap_err().to_string();
    assert_eq!(error, "the subject has no stimulus `poke`; add it to `stimuli:` of its subject file");
}

#[tokio::test]
async fn it_is_stopped_by_the_command_that_it_names() {
    let spec = with(server(&[]), |launch| {
        let stop = ["sh", "-c", "kill -TERM $(sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/' {data_home}/test/ide/*.json)"];
        launch.stop.how = StopHow::Command(CommandLine(stop.map(str::to_owned).to_vec()));
    });
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let stopped = running.stop().await;
    assert!(stopped.graceful && stopped.clean, "{stopped:?}");
    assert!(trace.kinds().contains("stimulus"), "{}", trace.kinds());
}

fn attached(target: Target) -> SubjectSpec {
    SubjectSpec { access: Access::Attach { target, workspace: None }, ..spec(&["true"]) }
}

#[tokio::test]
async fn one_that_runs_already_is_found_and_left_alone() {
    let spec = server(&[]);
    let (run_dir, trace) = (run_dir(&spec), Trace::new());
    let running = start(&spec, &run_dir, &trace).await.unwrap();
    let url = format!("ws://127.0.0.1:{}?secret=hush-hush", running.lock().unwrap().port);
    let lockfile = running.lockfile_path().unwrap().to_owned();
    for target in [Target::Url(url), Target::Lockfile(lockfile), Target::DataHome(run_dir.data_home())] {
        let trace = Trace::new();
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
async fn what_cannot_be_attached_to_is_told_with_what_was_seen() {
    async fn error(target: Target) -> SubjectError {
        Running::attach(&attached(target), Trace::new().recorder()).await.err().unwrap()
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

#[test]
fn a_run_directory_that_cannot_be_made_is_told_with_what_to_do() {
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
