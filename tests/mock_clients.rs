//! `wirecert mock` of a client: driven over stdin and stdout, for one life after another.

use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use super::line_process::LineProcess;

use crate::program::wirecert_program;

/// A mock that is driven by hand.
fn started(arguments: &[&str], url: &str) -> LineProcess {
    let mut command = Command::new(wirecert_program());
    LineProcess::start(command.arg("mock").args(arguments).env("WIRECERT_URL", url))
}

/// Ends its stdin; gives its exit code.
fn ended(mock: &mut LineProcess) -> Option<i32> {
    mock.end_stdin();
    mock.exit_code()
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
    let mut mock = started(&["openctx-client"], &one);
    mock.send(&json!({"id": 1, "call": "meta"}));
    let (mut open, _) = first.accept().expect("it connects");
    mock.send(&json!({"reset": true}));
    assert_eq!(mock.receive(), json!({"reset": true}));
    // The connection of the life before is closed, though its request was never answered.
    std::io::copy(&mut open, &mut std::io::sink()).expect("it ends");
    // Whoever waits to begin makes no call.
    mock.send(&json!({"id": 2, "call": "meta"}));
    mock.send(&json!({"begin": {"url": two, "scenario": "x"}}));
    mock.send(&json!({"id": 3, "call": "meta"}));
    drop(second.accept().expect("it connects there"));
    assert_eq!(mock.receive()["id"], 3);
    first.set_nonblocking(true).expect("it can be set");
    assert!(first.accept().is_err(), "nobody calls the first server again");
    assert_eq!(ended(&mut mock), Some(0));
}

#[test]
fn what_waits_to_begin_ends_when_it_is_told_to() {
    for last in [json!({"close": true}), Value::Null] {
        let mut mock = started(&["amplifier-client"], "http://127.0.0.1:1/");
        mock.send(&json!({"reset": true}));
        assert_eq!(mock.receive(), json!({"reset": true}));
        if last.is_object() {
            mock.send(&last);
        }
        assert_eq!(ended(&mut mock), Some(0));
    }
}

#[test]
fn lives_follow_each_other_as_often_as_they_are_begun() {
    let mut mock = started(&["openctx-client"], "http://127.0.0.1:1/");
    for id in 1..=50 {
        mock.send(&json!({"id": id, "call": "none-such"}));
        assert_eq!(mock.receive(), json!({"id": id, "unsupported": true}));
        mock.send(&json!({"reset": true}));
        assert_eq!(mock.receive(), json!({"reset": true}));
        mock.send(&json!({"begin": {}}));
    }
    assert_eq!(ended(&mut mock), Some(0));
}

#[test]
fn the_time_that_a_client_takes_to_start_is_not_counted_against_it() {
    for (role, scenario) in [
        ("openctx-client", "openctx-client/0.1/http/request"),
        ("amplifier-client", "amplifier-client/2025-12-09/stream/accept"),
        ("amp-client", "amp-client/cli/discovery/finds"),
    ] {
        let mut command = Command::new(wirecert_program());
        command.args(["certify", role, "--no-confirm", "--timeout", "600ms", "--filter", &format!("id({scenario})")]);
        if role == "amp-client" {
            command.args(["--edition", "cli"]);
        }
        // What stands for a slow interpreter is slower than any response may be.
        let slow = format!("sleep 1.5; exec \"$0\" mock {role}");
        let output = command.args(["--", "sh", "-c", &slow, wirecert_program()]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{role}: {said}");
        assert!(said.contains("1 passed"), "{role}: {said}");
    }
}
