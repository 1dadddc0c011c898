use crate::protocol::amp::opcode;
use crate::protocol::amp::testing::Play;
use crate::trace::{Closed, EventKind};

fn pinged() -> Play {
    Play::open().client_frame(opcode::PING, b"a")
}

/// Something that says how late it is.
fn later(play: Play, seconds: u64) -> Play {
    play.wait(seconds).client_frame(opcode::PONG, b"")
}

#[test]
fn a_ping_that_is_never_answered_is_missed() {
    assert_eq!(later(pinged(), 30).broken("cli"), ["framing/pong"]);
    assert_eq!(pinged().wait(30).client_closes(1000).server_closes(1000).ends().broken("guide"), ["framing/pong"]);
}

#[test]
fn a_ping_may_wait_for_a_while() {
    assert!(later(pinged(), 29).broken("cli").is_empty());
    let closed = pinged().client_closes(1000).server_closes(1000).ends();
    assert!(later(closed, 60).broken("cli").is_empty(), "the connection was closed before");
    assert!(later(pinged().server(EventKind::Closed(Closed::Reset)), 60).broken("cli").is_empty());
}

#[test]
fn a_pong_with_another_payload_answers_nothing() {
    assert_eq!(later(pinged().server_frame(opcode::PONG, b"b"), 30).broken("cli"), ["framing/pong-payload"]);
}

#[test]
fn a_heartbeat_is_no_wrong_answer() {
    let play = pinged().server_frame(opcode::PONG, b"beat").server_frame(opcode::PONG, b"a");
    assert!(later(play, 60).broken("cli").is_empty());
    assert!(later(Play::open().server_frame(opcode::PONG, b"beat"), 60).broken("cli").is_empty());
}

#[test]
fn the_latest_pong_answers_for_those_before() {
    let play = pinged().client_frame(opcode::PING, b"b").server_frame(opcode::PONG, b"b");
    assert!(later(play, 60).broken("cli").is_empty());
    let play = pinged().client_frame(opcode::PING, b"b").server_frame(opcode::PONG, b"a");
    assert_eq!(later(play, 60).broken("cli"), ["framing/pong"]);
}

#[test]
fn after_an_abuse_no_pong_is_owed() {
    assert!(
        later(pinged().client_frame(3, b"").deliberate(), 60).broken("cli").iter().all(|short| short != "framing/pong")
    );
}
