//! Every rule: a trace that breaks it, and sound ones that it must not accuse.

mod clients;
mod frames;
mod handshakes;
mod requests;

use serde_json::json;

use crate::protocol::amp::testing::{TraceBuilder, request, response};
use crate::trace::opcode;
use crate::trace::{Direction, EventKind, Exited};

/// A trace of one `readFile`, in the shape of an edition.
fn read(edition: &'static str, id: &str) -> TraceBuilder {
    TraceBuilder::open().client_sends(request(edition, id, "readFile", json!({"path": "/a"}))).server_sends(response(
        edition,
        id,
        "readFile",
        json!({"success": true, "content": "c"}),
    ))
}

#[test]
fn an_ordinary_session_breaks_nothing_in_either_edition() {
    for edition in ["cli", "guide"] {
        let trace = read(edition, "1")
            .client_frame(opcode::PING, b"p")
            .server_frame(opcode::PONG, b"p")
            .client_closes(1000)
            .server_closes(1000)
            .ends();
        assert_eq!(trace.broken(edition), [""; 0], "{edition}");
        for short in ["framing/pong", "framing/close-answered", "framing/tcp-closed", "envelope/answered"] {
            assert!(trace.assessed(edition, short), "{edition}: {short}");
        }
    }
}

fn exits(code: Option<i32>, signal: Option<i32>, asked: bool) -> EventKind {
    EventKind::Exited(Exited { pid: 1, code, signal, asked })
}

#[test]
fn a_crash_after_a_client_came_is_held_against_the_editor() {
    assert_eq!(TraceBuilder::open().add(None, exits(None, Some(11), false)).broken("cli"), ["robustness/alive"]);
    assert_eq!(TraceBuilder::open().add(None, exits(Some(101), None, false)).broken("guide"), ["robustness/alive"]);
    assert_eq!(TraceBuilder::open().add(None, exits(Some(134), None, false)).broken("cli"), ["robustness/alive"]);
}

#[test]
fn an_exit_that_somebody_wanted_is_no_crash() {
    for exit in [exits(Some(0), None, false), exits(None, Some(15), false), exits(Some(130), None, false)] {
        assert_eq!(TraceBuilder::open().add(None, exit).broken("cli"), [""; 0]);
    }
    assert_eq!(TraceBuilder::open().add(None, exits(Some(1), None, true)).broken("cli"), [""; 0]);
    assert_eq!(
        TraceBuilder::new().add(None, exits(Some(1), None, false)).broken("cli"),
        [""; 0],
        "no client was there"
    );
    let quit = crate::trace::Stimulus {
        name: "quit".to_owned(),
        params: serde_json::Map::new(),
        command: vec![],
        outcome: "0".to_owned(),
    };
    let trace = TraceBuilder::open().add(None, EventKind::Stimulus(quit)).add(None, exits(Some(1), None, false));
    assert_eq!(trace.broken("cli"), [""; 0]);
}

#[test]
fn what_a_connection_left_behind_is_forgotten_when_its_name_comes_again() {
    let ping = json!({"message": "m"});
    let trace = TraceBuilder::open().client_sends(request("cli", "1", "ping", ping.clone())).connect("main");
    let trace =
        trace.client_sends(request("cli", "1", "ping", ping.clone())).server_sends(response("cli", "1", "ping", ping));
    assert_eq!(
        trace.wait(60).add(Some(Direction::ToClient), EventKind::Bytes { bytes: b"".as_slice().into() }).broken("cli"),
        [""; 0]
    );
}

#[test]
fn a_trace_that_begins_in_the_middle_accuses_nobody_of_what_came_before() {
    let part = |opcode, fin, text: &str| {
        let frame = super::super::testing::frame(opcode, text.as_bytes());
        EventKind::Frame(crate::trace::Frame { fin, rsv: 0, ..frame })
    };
    for edition in ["cli", "guide"] {
        let complete = || {
            read(edition, "1")
                .client_frame(opcode::PING, b"p")
                .server_frame(opcode::PONG, b"p")
                .server(part(opcode::TEXT, false, "caf\u{e9}"))
                .server(part(opcode::CONTINUATION, false, "{}"))
                .server(part(opcode::CONTINUATION, true, "\u{e9}"))
                .client_closes(1000)
                .server_closes(1000)
                .ends()
        };
        for begin in 0..complete().events.len() {
            let mut trace = complete();
            trace.events.drain(..begin);
            trace.events.iter_mut().zip(0..).for_each(|(event, i)| event.i = i);
            let mut broken = trace.broken(edition);
            // That is how it was sent.
            broken.retain(|short| short != "framing/one-frame");
            assert_eq!(broken, [""; 0], "{edition}, from event {begin} on");
        }
    }
}
