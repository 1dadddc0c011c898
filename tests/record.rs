//! `wirecert record`, as it is called: what passes, what stands in the trace, and what neither end may notice.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Far longer than anything here takes; a test that waits for so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn wirecert() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("wirecert"));
    for variable in ["AMP_DATA_HOME", "XDG_DATA_HOME"] {
        command.env_remove(variable);
    }
    command
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A process that is killed when the test is over.
struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout }
    }

    /// The next line that it writes, which is JSON.
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"))
    }

    fn say(&mut self, line: &Value) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Its exit code, and what it wrote to stderr.
    fn ended(mut self) -> (Option<i32>, String) {
        let mut stderr = String::new();
        drop(self.stdin.take());
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap().code(), stderr)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of a trace; the last one first checked to be the end of a whole trace.
fn whole(trace: &Path) -> Vec<Value> {
    let lines = lines(trace);
    let (end, events) = lines.split_last().unwrap();
    assert_eq!(end["end"], "complete", "the trace is cut");
    assert_eq!(end["events"], json!(events.len() - 1));
    events[1..].to_vec()
}

fn lines(trace: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(trace).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

fn kinds(events: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    events
        .iter()
        .map(|event| format!("{} {} {}", text(&event["conn"]), text(&event["dir"]), text(&event["kind"])))
        .collect()
}

fn check(trace: &Path) -> Output {
    wirecert().arg("check").arg(trace).output().unwrap()
}

/// A server of one connection, which hands it over.
fn server() -> (SocketAddr, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (give, streams) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            if give.send(stream).is_err() {
                break;
            }
        }
    });
    (address, streams)
}

/// A recording of HTTP in front of a server.
fn before(address: SocketAddr, trace: &Path, more: &[&str]) -> (Running, SocketAddr) {
    let upstream = format!("http://{address}");
    let mut recording = Running::start(
        wirecert().args(["record", "openctx", "--upstream", &upstream, "--out", path(trace)]).args(more),
    );
    let ready = recording.hear();
    let port = u16::try_from(ready["port"].as_u64().unwrap()).unwrap();
    assert_eq!(ready["url"], format!("http://127.0.0.1:{port}"));
    (recording, SocketAddr::from(([127, 0, 0, 1], port)))
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn read(stream: &mut TcpStream, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

fn interrupted(recording: Running) -> String {
    recording.signal(Signal::INT);
    let (code, stderr) = recording.ended();
    assert_eq!(code, Some(130), "{stderr}");
    stderr
}

#[test]
fn every_byte_passes_as_it_came_in_both_directions_and_so_do_the_ends() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.trace");
    let (address, streams) = server();
    let (recording, door) = before(address, &trace, &[]);
    let mut client = connect(door);
    let odd = b"GET /\xff HTTP/1.1\nHost:x\r\n  folded \r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: 1\r\n\r\n";
    client.write_all(odd).unwrap();
    let mut server = streams.recv_timeout(PATIENCE).unwrap();
    assert_eq!(read(&mut server, odd.len()), odd);
    // The client says no more, and is answered all the same.
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(server.read(&mut [0]).unwrap(), 0);
    let answer = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n\x00\x01not gzip at all";
    server.write_all(answer).unwrap();
    drop(server);
    let mut came = vec![];
    client.read_to_end(&mut came).unwrap();
    assert_eq!(came, answer);
    interrupted(recording);
    let events = whole(&trace);
    assert_eq!(events[0]["address"], address.to_string());
    let expected = [
        "x1 c2s connected",
        "x1 c2s http_request",
        "x1 c2s body",
        "x1 c2s message",
        "x1 c2s closed",
        "x1 s2c http_response",
        "x1 s2c body",
        "x1 s2c body",
        "x1 s2c message",
    ];
    assert_eq!(kinds(&events), expected);
}

#[test]
fn what_is_written_comes_before_anything_follows_it_and_an_abort_comes_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.trace");
    let (address, streams) = server();
    let (recording, door) = before(address, &trace, &[]);
    let mut client = connect(door);
    client.write_all(b"GET /stream HTTP/1.1\r\n\r\n").unwrap();
    let mut server = streams.recv_timeout(PATIENCE).unwrap();
    read(&mut server, 20);
    server.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n").unwrap();
    read(&mut client, 52);
    for piece in ["data: on", "e\n", "\n", "data: two\n\n"] {
        server.write_all(piece.as_bytes()).unwrap();
        assert_eq!(read(&mut client, piece.len()), piece.as_bytes(), "it came before the next piece was sent");
    }
    // With RST, as by a crash: it has not read everything.
    drop(server);
    let error = client.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    interrupted(recording);
    let events = whole(&trace);
    let reported: Vec<&Value> = events.iter().filter(|e| e["kind"] == "stream_event").map(|e| &e["data"]).collect();
    assert_eq!(reported, ["one", "two"]);
    let last = events.last().unwrap();
    assert_eq!((&last["dir"], &last["kind"], &last["how"]), (&json!("s2c"), &json!("closed"), &json!("reset")));
}

#[test]
fn a_client_that_goes_on_writing_to_a_server_that_has_left_is_cut_off_as_by_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.trace");
    let (address, streams) = server();
    let (recording, door) = before(address, &trace, &[]);
    let mut client = connect(door);
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut server = streams.recv_timeout(PATIENCE).unwrap();
    read(&mut server, 18);
    drop(server);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    // Nobody reads this, and the system of the server says so.
    client.write_all(b"more").unwrap();
    let given_up = std::time::Instant::now() + PATIENCE;
    while client.take_error().unwrap().is_none() {
        assert!(std::time::Instant::now() < given_up, "it is not reported");
        thread::yield_now();
    }
    interrupted(recording);
    whole(&trace);
}

#[test]
fn connections_side_by_side_have_names_of_their_own_and_a_server_that_is_not_there_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.trace");
    let (address, streams) = server();
    let (recording, door) = before(address, &trace, &[]);
    let mut clients: Vec<TcpStream> = (0..20).map(|_| connect(door)).collect();
    for client in &mut clients {
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    }
    for _ in 0..clients.len() {
        let mut server = streams.recv_timeout(PATIENCE).unwrap();
        read(&mut server, 18);
        server.write_all(b"HTTP/1.1 204 No\r\n\r\n").unwrap();
    }
    for client in &mut clients {
        assert_eq!(read(client, 19), b"HTTP/1.1 204 No\r\n\r\n");
    }
    interrupted(recording);
    let mut names: Vec<String> =
        whole(&trace).iter().filter(|e| e["kind"] == "http_response").map(|e| e["conn"].to_string()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 20);

    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (recording, door) = before(gone, &trace, &[]);
    let mut client = connect(door);
    assert!(client.read(&mut [0]).is_err(), "it is cut off");
    interrupted(recording);
    let events = whole(&trace);
    assert_eq!((events.len(), &events[0]["mark"]), (1, &json!("unreachable")));
}

#[test]
fn a_recorder_that_is_killed_leaves_what_was_said_until_then() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.trace");
    let (address, streams) = server();
    let (recording, door) = before(address, &trace, &[]);
    let mut client = connect(door);
    client.write_all(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}").unwrap();
    let mut server = streams.recv_timeout(PATIENCE).unwrap();
    read(&mut server, 40);
    // Written a moment after it has passed.
    while lines_so_far(&trace) < 5 {
        thread::yield_now();
    }
    recording.signal(Signal::KILL);
    recording.ended();
    assert_eq!(kinds(&lines(&trace)[1..]).last().map(String::as_str), Some("x1 c2s message"));
    let output = check(&trace);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("was cut after 4 events"), "{text}");
}

fn lines_so_far(trace: &Path) -> usize {
    std::fs::read_to_string(trace).unwrap().matches('\n').count()
}

/// An editor, and what a client needs to find it: the folder, its data home, and its workspace.
struct Editor {
    _running: Running,
    dir: TempDir,
    ready: Value,
}

impl Editor {
    fn start(flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("workspace")).unwrap();
        std::fs::write(dir.path().join("workspace/a.txt"), "hello\n").unwrap();
        let mut command = wirecert();
        command.args(["mock", "amp-server", "--workspace"]).arg(dir.path().join("workspace"));
        command.arg("--data-home").arg(dir.path().join("data")).args(flags);
        let mut running = Running::start(&mut command);
        let ready = running.hear();
        Self { _running: running, dir, ready }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `wirecert record amp` of it, with these options and this client.
    fn record(&self, options: &[&str], client: &[&str]) -> Command {
        let mut command = wirecert();
        command.args(["record", "amp", "--out"]).arg(self.at("t.trace")).arg("--data-home").arg(self.at("data"));
        command.args(options).arg("--").args(client).current_dir(self.at("workspace"));
        command
    }

    fn token(&self) -> String {
        let lockfile = std::fs::read_to_string(self.ready["lockfile"].as_str().unwrap()).unwrap();
        serde_json::from_str::<Value>(&lockfile).unwrap()["authToken"].as_str().unwrap().to_owned()
    }
}

/// Our own client, which is driven over stdin, and finds editors as its environment says.
fn client(edition: &str) -> Vec<String> {
    let binary = assert_cmd::cargo::cargo_bin!("wirecert");
    [path(binary), "mock", "amp-client", "--edition", edition].map(str::to_owned).to_vec()
}

/// Records our client while it reads a file of an editor.
fn recorded(editor: &Editor, edition: &str, options: &[&str]) -> (Option<i32>, String) {
    let client = client(edition);
    let client: Vec<&str> = client.iter().map(String::as_str).collect();
    let mut recording = Running::start(&mut editor.record(options, &client));
    let params = json!({"path": editor.at("workspace/a.txt")});
    recording.say(&json!({"id": 1, "call": "readFile", "params": params}));
    while recording.hear().get("id").is_none() {}
    recording.say(&json!({"close": true}));
    recording.ended()
}

#[test]
fn a_client_finds_the_editor_through_us_in_both_editions_and_its_token_is_not_told() {
    for edition in ["cli", "guide"] {
        let editor = Editor::start(&["--edition", edition]);
        let (code, stderr) = recorded(&editor, edition, &[]);
        assert_eq!(code, Some(0), "{stderr}");
        let trace = editor.at("t.trace");
        let text = std::fs::read_to_string(&trace).unwrap();
        assert!(!text.contains(&editor.token()));
        let header = &lines(&trace)[0];
        assert_eq!((&header["protocol"], &header["edition"]), (&json!("amp"), &json!(edition)));
        let events = whole(&trace);
        let address = format!("127.0.0.1:{}", editor.ready["port"]);
        assert!(events.iter().any(|e| e["kind"] == "connected" && e["address"] == address), "{text}");
        assert!(events.iter().any(|e| e["kind"] == "handshake" && e["dir"] == "s2c"), "{text}");
        assert!(text.contains("hello\\n"), "the file was read: {text}");
        let pids: Vec<&Value> =
            events.iter().filter(|e| e["kind"] == "launched" || e["kind"] == "exited").map(|e| &e["pid"]).collect();
        assert!(matches!(pids[..], [began, ended] if began == ended), "{pids:?}");
        if edition == "guide" {
            let offered = events.iter().find(|e| e["mark"] == "offered").unwrap()["text"].as_str().unwrap();
            let port: u16 = offered.rsplit(':').next().unwrap().parse().unwrap();
            assert!((8000..=8100).contains(&port), "{offered}");
        }
        let output = check(&trace);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(Path::new(editor.ready["lockfile"].as_str().unwrap()).exists(), "the editor's own is untouched");
    }
}

#[test]
fn live_findings_are_told_as_they_come_and_the_verdict_is_that_of_check() {
    let editor = Editor::start(&["--edition", "cli", "--flaw", "id-as-number"]);
    let client = client("cli");
    let client: Vec<&str> = client.iter().map(String::as_str).collect();
    let mut recording = Running::start(&mut editor.record(&["--check", "--color", "never"], &client));
    recording.say(&json!({"id": 1, "call": "ping", "params": {"message": "hi"}}));
    let mut stderr = BufReader::new(recording.child.stderr.take().unwrap());
    let mut line = String::new();
    // The client still runs.
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("server  must    amp/cli/envelope/id-string"), "{line}");
    recording.say(&json!({"close": true}));
    drop(recording.stdin.take());
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(recording.child.wait().unwrap().code(), Some(1), "{rest}");
    let output = check(&editor.at("t.trace"));
    assert_eq!(output.status.code(), Some(1));
    let verdict = String::from_utf8(output.stdout).unwrap();
    assert!(rest.ends_with(&verdict), "{rest}\n--- check says:\n{verdict}");
}

#[test]
fn the_data_home_of_the_client_looks_like_the_real_one_but_for_the_lockfiles() {
    let editor = Editor::start(&["--edition", "cli"]);
    std::fs::write(editor.at("data/amp/settings"), "mine").unwrap();
    std::fs::write(editor.at("data/amp/ide/1.json"), "{torn").unwrap();
    let script = "cat $XDG_DATA_HOME/amp/settings $AMP_DATA_HOME/amp/ide/1.json; ls $XDG_DATA_HOME/amp/ide; \
                  echo {data_home} $XDG_DATA_HOME; echo new > $XDG_DATA_HOME/amp/login; exit 7";
    let output = editor.record(&[], &["sh", "-c", script]).output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("exit code 7"), "{stderr}");
    let words: Vec<&str> = stdout.split_whitespace().collect();
    let [files, ours, placeholder, variable] = words[..] else { panic!("{stdout}") };
    assert_eq!(files, "mine{torn1.json", "the two files, and the first name: {stdout}");
    assert_eq!(placeholder, variable);
    assert_ne!(ours, format!("{}.json", editor.ready["port"]));
    assert_eq!(std::fs::read_to_string(editor.at("data/amp/login")).unwrap(), "new\n");
    assert!(!Path::new(variable).exists(), "it is cleaned up");
}

#[test]
fn without_a_command_it_is_told_what_to_set_and_an_editor_that_comes_later_is_offered() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("data");
    let trace = dir.path().join("t.trace");
    let mut recording = Running::start(wirecert().args([
        "record",
        "amp",
        "--edition",
        "cli",
        "--data-home",
        path(&home),
        "--out",
        path(&trace),
    ]));
    let ready = recording.hear();
    assert_eq!(ready["env"]["AMP_DATA_HOME"], ready["env"]["XDG_DATA_HOME"]);
    let ours = PathBuf::from(ready["env"]["AMP_DATA_HOME"].as_str().unwrap()).join("amp/ide");
    assert!(ours.is_dir() && std::fs::read_dir(&ours).unwrap().next().is_none());
    let folder = home.join("amp/ide");
    std::fs::create_dir_all(&folder).unwrap();
    let content = json!({
        "port": 9, "authToken": "a-secret-token", "pid": std::process::id(), "ideName": "ed", "workspaceFolders": ["/w"],
    });
    std::fs::write(folder.join("part"), content.to_string()).unwrap();
    std::fs::rename(folder.join("part"), folder.join("9.json")).unwrap();
    let copy = loop {
        if let Some(Ok(entry)) = std::fs::read_dir(&ours)
            .unwrap()
            .find(|e| e.as_ref().is_ok_and(|e| e.path().extension().is_some_and(|e| e == "json")))
        {
            break entry.path();
        }
        thread::yield_now();
    };
    let mut shown: Value = serde_json::from_slice(&std::fs::read(&copy).unwrap()).unwrap();
    let port = shown["port"].take();
    assert_eq!(copy.file_name().unwrap().to_str().unwrap(), format!("{port}.json"));
    shown["port"] = json!(9);
    assert_eq!(shown, content);
    std::fs::remove_file(folder.join("9.json")).unwrap();
    while copy.exists() {
        thread::yield_now();
    }
    recording.signal(Signal::TERM);
    let (code, stderr) = recording.ended();
    assert_eq!(code, Some(0), "{stderr}");
    let events = whole(&trace);
    assert_eq!(kinds(&events), ["- - file", "- - mark", "- - file"]);
    assert_eq!((&events[0]["change"], &events[2]["change"]), (&json!("read"), &json!("removed")));
    assert!(!std::fs::read_to_string(&trace).unwrap().contains("a-secret-token"));
}

#[test]
fn a_client_of_a_url_is_told_it_and_what_it_says_is_judged() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.trace");
    let mut provider = Running::start(wirecert().args(["mock", "openctx-provider"]));
    let url = provider.hear()["url"].as_str().unwrap().trim_end_matches('/').to_owned();
    let binary = assert_cmd::cargo::cargo_bin!("wirecert");
    let mut recording = Running::start(
        wirecert()
            .args(["record", "openctx", "--upstream", &url, "--out", path(&trace), "--redact", "query", "--"])
            .args([path(binary), "mock", "openctx-client", "--url", "{url}/"]),
    );
    recording.say(&json!({"id": 1, "call": "mentions", "params": {"query": "very-private"}}));
    while recording.hear().get("id").is_none() {}
    recording.say(&json!({"close": true}));
    let (code, stderr) = recording.ended();
    assert_eq!(code, Some(0), "{stderr}");
    let text = std::fs::read_to_string(&trace).unwrap();
    assert!(text.contains("mentions") && !text.contains("very-private"), "{text}");
    let output = check(&trace);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn what_cannot_be_recorded_is_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.trace");
    let home = dir.path().join("data");
    let refused = |arguments: &[&str], code: i32, reason: &str| {
        let output = wirecert().arg("record").args(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
    };
    let out = path(&trace);
    refused(&["ampp", "--out", out], 2, "did you mean `amp`?");
    refused(&["openctx", "--out", out], 2, "--upstream http://127.0.0.1:PORT");
    refused(&["openctx", "--out", out, "--upstream", "https://127.0.0.1:1"], 2, "is encrypted");
    refused(&["openctx", "--out", out, "--upstream", "http://example.org"], 2, "leads to another machine");
    refused(&["amp", "--out", out, "--upstream", "http://127.0.0.1:1"], 2, "`--upstream` means nothing here");
    refused(&["amp", "--out", out, "--edition", "clii"], 2, "no edition `clii`");
    refused(&["amp", "--out", "/nowhere/t.trace", "--data-home", path(&home)], 2, "create its folder first");
    refused(
        &["amp", "--out", out, "--data-home", path(&home), "--", "no-such-program"],
        3,
        "cannot start `no-such-program`",
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    refused(&["openctx", "--out", out, "--upstream", "http://127.0.0.1:1", "--listen", &listen], 3, "cannot listen on");
}
