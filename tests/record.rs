//! `wirecert record`, as it is called: what passes, what stands in the trace, and what neither end may notice.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::line_process::LineProcess;

use crate::program::wirecert_program;

/// Far longer than anything here takes; a test that waits for so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn wirecert() -> Command {
    let mut command = Command::new(wirecert_program());
    for variable in ["AMP_DATA_HOME", "XDG_DATA_HOME"] {
        command.env_remove(variable);
    }
    command
}

pub fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Starts a recording, whose stderr is read at its end.
pub fn started(command: &mut Command) -> LineProcess {
    LineProcess::start(command.stderr(Stdio::piped()))
}

/// The lines of a trace; the last one first checked to be the end of a whole trace.
pub fn whole(trace: &Path) -> Vec<Value> {
    let lines = lines(trace);
    let (end, events) = lines.split_last().unwrap();
    assert_eq!(end["end"], "complete", "the trace is cut");
    assert_eq!(end["events"], json!(events.len() - 1));
    events[1..].to_vec()
}

pub fn lines(trace: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(trace).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"))).collect()
}

pub fn kinds(events: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    events
        .iter()
        .map(|event| format!("{} {} {}", text(&event["conn"]), text(&event["dir"]), text(&event["kind"])))
        .collect()
}

pub fn check(trace: &Path) -> Output {
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
fn before(address: SocketAddr, trace: &Path, more: &[&str]) -> (LineProcess, SocketAddr) {
    let upstream = format!("http://{address}");
    let mut recording =
        started(wirecert().args(["record", "openctx", "--upstream", &upstream, "--out", path(trace)]).args(more));
    let ready = recording.receive();
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

fn interrupted(recording: LineProcess) -> String {
    recording.signal(Signal::INT);
    let (code, stderr) = recording.finish();
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
    recording.finish();
    assert_eq!(kinds(&lines(&trace)[1..]).last().map(String::as_str), Some("x1 c2s message"));
    let output = check(&trace);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("was cut after 4 events"), "{text}");
}

fn lines_so_far(trace: &Path) -> usize {
    std::fs::read_to_string(trace).unwrap().matches('\n').count()
}

#[test]
fn a_client_of_a_url_is_told_it_and_what_it_says_is_judged() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("t.trace");
    let mut provider = started(wirecert().args(["mock", "openctx-provider"]));
    let url = provider.receive()["url"].as_str().unwrap().trim_end_matches('/').to_owned();
    let binary = wirecert_program();
    let mut recording = started(
        wirecert()
            .args(["record", "openctx", "--upstream", &url, "--out", path(&trace), "--redact", "query", "--"])
            .args([binary, "mock", "openctx-client", "--url", "{url}/"]),
    );
    recording.send(&json!({"id": 1, "call": "mentions", "params": {"query": "very-private"}}));
    while recording.receive().get("id").is_none() {}
    recording.send(&json!({"close": true}));
    let (code, stderr) = recording.finish();
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
