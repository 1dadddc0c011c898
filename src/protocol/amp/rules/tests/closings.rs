use crate::protocol::amp::opcode;
use crate::protocol::amp::testing::Play;
use crate::trace::{Closed, EventKind};

fn later(play: Play, seconds: u64) -> Play {
    play.wait(seconds).client_frame(opcode::PONG, b"")
}

#[test]
fn a_close_frame_is_answered_before_the_connection_ends() {
    assert_eq!(Play::open().client_closes(1000).ends().broken("cli"), ["framing/close-answered"]);
    assert_eq!(later(Play::open().client_closes(1000), 30).broken("cli"), ["framing/close-answered"]);
}

#[test]
fn a_close_frame_may_answer_one_from_before_the_trace() {
    assert!(Play::new().client_closes(1000).ends().broken("cli").is_empty());
    assert!(later(Play::new().client_closes(1000), 60).broken("cli").is_empty());
    assert!(later(Play::new().server_closes(1000), 60).broken("cli").is_empty());
    let spoke = Play::new().server_frame(opcode::PONG, b"").client_closes(1000).ends();
    assert_eq!(spoke.broken("cli"), ["framing/close-answered"], "after a close frame there would be no pong");
}

#[test]
fn an_end_that_may_have_swallowed_the_answer_is_no_fault() {
    let reset = Play::open().client_closes(1000).server(EventKind::Closed(Closed::Reset));
    assert!(reset.broken("cli").is_empty());
    let gone =
        Play::open().client_closes(1000).client(EventKind::Closed(Closed::Eof)).server(EventKind::Closed(Closed::Eof));
    assert!(gone.broken("cli").is_empty());
    assert!(later(Play::open().client_closes(1000), 29).broken("cli").is_empty());
}

#[test]
fn the_answer_carries_the_code() {
    assert_eq!(Play::open().client_closes(1000).server_closes(1011).ends().broken("cli"), ["framing/close-echoed"]);
    assert!(Play::open().client_closes(1000).server_closes(1001).ends().broken("cli").is_empty());
    let without = Play::open().client_frame(opcode::CLOSE, b"").server_closes(1000).ends();
    assert!(without.broken("cli").is_empty());
}

#[test]
fn a_server_that_closes_first_owes_no_echo() {
    let play = Play::open().server_closes(1001).client_closes(1001).ends();
    assert!(play.broken("cli").is_empty());
    assert!(play.assessed("cli", "framing/tcp-closed"));
}

#[test]
fn the_tcp_connection_is_closed_after_both_close_frames() {
    let closed = Play::open().client_closes(1000).server_closes(1000);
    assert_eq!(later(closed, 30).broken("cli"), ["framing/tcp-closed"]);
    let closed = Play::open().client_closes(1000).server_closes(1000).wait(30).client(EventKind::Closed(Closed::Eof));
    assert_eq!(closed.broken("cli"), ["framing/tcp-closed"]);
    let closed = Play::open().client_closes(1000).server_closes(1000).client(EventKind::Closed(Closed::Eof));
    assert!(later(closed, 60).broken("cli").is_empty(), "the client was faster");
}

#[test]
fn after_an_abuse_any_end_will_do() {
    let abused = || Play::open().client_frame(opcode::PING, b"").deliberate();
    assert!(abused().client_closes(1000).ends().broken("cli").is_empty());
    assert!(abused().client_closes(1000).server_closes(1002).ends().broken("cli").is_empty());
    assert!(later(abused().client_closes(1000), 60).broken("cli").is_empty());
}

#[test]
fn a_fault_of_the_client_ends_the_connection_with_a_close_frame() {
    let faulty = || Play::open().client_frame(3, b"").deliberate();
    let is_charged = |play: Play| play.broken("cli").iter().any(|short| short == "framing/failure-code");
    assert!(is_charged(faulty().ends()));
    assert!(!is_charged(faulty().server_closes(1002).ends()));
    assert!(!is_charged(faulty().server(EventKind::Closed(Closed::Reset))), "a reset may swallow it");
    let legal = Play::open().client_frame(opcode::PING, b"").deliberate();
    assert!(!is_charged(legal.ends()), "what is legal is no fault");
}
