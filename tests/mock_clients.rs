//! `wirecert mock` of a client: driven over stdin and stdout, for one life after another.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A mock that is driven by hand.
struct Mock {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Mock {
    fn start(arguments: &[&str], url: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirecert"));
        command.arg("mock").args(arguments).env("WIRECERT_URL", url);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Self { stdin: child.stdin.take(), stdout, child }
    }

    fn say(&mut self, line: &Value) {
        writeln!(self.stdin.as_mut().expect("open"), "{line}").expect("it reads");
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("text");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line:?}: {e}"))
    }

    fn end(&mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().expect("it can be waited for").code()
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port where somebody listens and never answers, with its URL.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("bound"));
    (listener, url)
}

#[test]
fn each_life_talks_with_the_server_that_it_was_begun_with_and_its_end_takes_all_along() {
    let ((first, one), (second, two)) = (silent(), silent());
    let mut mock = Mock::start(&["openctx-client"], &one);
    mock.say(&json!({"id": 1, "call": "meta"}));
    let (mut open, _) = first.accept().expect("it connects");
    mock.say(&json!({"reset": true}));
    assert_eq!(mock.hear(), json!({"reset": true}));
    // The connection of the life before is closed, though its request was never answered.
    std::io::copy(&mut open, &mut std::io::sink()).expect("it ends");
    // Whoever waits to begin makes no call.
    mock.say(&json!({"id": 2, "call": "meta"}));
    mock.say(&json!({"begin": {"url": two, "scenario": "x"}}));
    mock.say(&json!({"id": 3, "call": "meta"}));
    drop(second.accept().expect("it connects there"));
    assert_eq!(mock.hear()["id"], 3);
    first.set_nonblocking(true).expect("it can be set");
    assert!(first.accept().is_err(), "nobody calls the first server again");
    assert_eq!(mock.end(), Some(0));
}

#[test]
fn what_waits_to_begin_ends_when_it_is_told_to() {
    for last in [json!({"close": true}), Value::Null] {
        let mut mock = Mock::start(&["amplifier-client"], "http://127.0.0.1:1/");
        mock.say(&json!({"reset": true}));
        assert_eq!(mock.hear(), json!({"reset": true}));
        if last.is_object() {
            mock.say(&last);
        }
        assert_eq!(mock.end(), Some(0));
    }
}

#[test]
fn lives_follow_each_other_as_often_as_they_are_begun() {
    let mut mock = Mock::start(&["openctx-client"], "http://127.0.0.1:1/");
    for id in 1..=50 {
        mock.say(&json!({"id": id, "call": "none-such"}));
        assert_eq!(mock.hear(), json!({"id": id, "unsupported": true}));
        mock.say(&json!({"reset": true}));
        assert_eq!(mock.hear(), json!({"reset": true}));
        mock.say(&json!({"begin": {}}));
    }
    assert_eq!(mock.end(), Some(0));
}

#[test]
fn the_time_that_a_client_takes_to_start_is_not_counted_against_it() {
    for (role, scenario) in [
        ("openctx-client", "openctx-client/0.1/http/request"),
        ("amplifier-client", "amplifier-client/2025-12-09/stream/accept"),
        ("amp-client", "amp-client/cli/discovery/finds"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wirecert"));
        command.args(["certify", role, "--no-confirm", "--timeout", "600ms", "--filter", &format!("id({scenario})")]);
        if role == "amp-client" {
            command.args(["--edition", "cli"]);
        }
        // What stands for a slow interpreter is slower than any response may be.
        let slow = format!("sleep 1.5; exec \"$0\" mock {role}");
        let output = command.args(["--", "sh", "-c", &slow, env!("CARGO_BIN_EXE_wirecert")]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{role}: {said}");
        assert!(said.contains("1 passed"), "{role}: {said}");
    }
}
