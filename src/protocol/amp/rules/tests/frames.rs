//! Frames, pings and close frames.

use crate::protocol::amp::testing::{TraceBuilder, close_payload, request_head, response_head};
use crate::trace::opcode;
use crate::trace::{Closed, EventKind, Frame, Payload};

fn server(frames: impl IntoIterator<Item = Frame>) -> TraceBuilder {
    frames.into_iter().fold(TraceBuilder::open(), |trace, frame| trace.server(EventKind::Frame(frame)))
}

fn client(frames: impl IntoIterator<Item = Frame>) -> TraceBuilder {
    let masked = frames.into_iter().map(|frame| Frame { masked: true, ..frame });
    masked.fold(TraceBuilder::open(), |trace, frame| trace.client(EventKind::Frame(frame)))
}

fn text(payload: &str) -> Frame {
    Frame::unmasked(opcode::TEXT, payload.as_bytes())
}

fn part(opcode: u8, fin: bool, payload: &[u8]) -> Frame {
    Frame { fin, ..Frame::unmasked(opcode, payload) }
}

#[test]
fn each_bit_of_a_frame_is_judged() {
    let cases = [
        (Frame { rsv: 4, ..text("{}") }, "reserved-bits"),
        (Frame::unmasked(3, b""), "opcode"),
        (Frame::unmasked(11, b""), "opcode"),
        (Frame { length_bits: Some(16), ..text("{}") }, "shortest-length"),
        (Frame::unmasked(opcode::PING, &[b'a'; 126]), "control-length"),
        (part(opcode::PING, false, b""), "control-whole"),
        (Frame::unmasked(opcode::BINARY, b"{}"), "text-frames"),
        (Frame::unmasked(opcode::CLOSE, b"\x03"), "close-payload"),
        (Frame::unmasked(opcode::CLOSE, &close_payload(1005, "")), "close-code"),
        (Frame::unmasked(opcode::CLOSE, &close_payload(999, "")), "close-code"),
        (Frame::unmasked(opcode::CLOSE, b"\x03\xe8\xff"), "close-reason"),
        (Frame::unmasked(opcode::TEXT, b"\xff"), "utf8"),
        (Frame::unmasked(opcode::CONTINUATION, b""), "fragments"),
    ];
    for (wrong, slug) in cases {
        assert_eq!(server([wrong.clone()]).broken("cli"), [format!("framing/{slug}")], "{wrong:?}");
        assert_eq!(client([wrong.clone()]).broken("guide"), [format!("framing/client-{slug}")], "{wrong:?}");
    }
}

#[test]
fn sound_frames_break_nothing() {
    let sound = [
        text("{}"),
        text(""),
        Frame::unmasked(opcode::PING, &[b'a'; 125]),
        Frame::unmasked(opcode::PONG, b""),
        Frame::unmasked(opcode::CLOSE, &close_payload(1001, "bye")),
    ];
    assert!(server(sound).broken("cli").is_empty());
    for code in [1000, 1003, 1007, 1011, 1012, 3000, 4999] {
        assert!(server([Frame::unmasked(opcode::CLOSE, &close_payload(code, ""))]).broken("cli").is_empty(), "{code}");
    }
    assert!(server([Frame::unmasked(opcode::CLOSE, b"")]).broken("cli").is_empty());
}

#[test]
fn the_client_masks_and_the_server_does_not() {
    let masked = Frame { masked: true, ..text("{}") };
    assert_eq!(server([masked]).broken("cli"), ["framing/unmasked"]);
    assert_eq!(TraceBuilder::open().client(EventKind::Frame(text("{}"))).broken("cli"), ["framing/client-masked"]);
}

#[test]
fn a_message_in_parts_is_against_the_guide_only_a_should_for_the_cli() {
    let parts =
        || [part(opcode::TEXT, false, b"{"), part(opcode::PING, true, b""), part(opcode::CONTINUATION, true, b"}")];
    assert_eq!(server(parts()).broken("guide"), ["framing/one-frame"]);
    assert_eq!(server(parts()).broken("cli"), ["framing/one-frame"]);
}

#[test]
fn a_message_within_another_is_no_continuation() {
    let trace = server([part(opcode::TEXT, false, b"{"), text("{}")]);
    assert_eq!(trace.broken("cli"), ["framing/one-frame", "framing/fragments"]);
}

#[test]
fn utf8_is_judged_over_all_parts() {
    let euro = "€".as_bytes();
    let sound = client([part(opcode::TEXT, false, &euro[..1]), part(opcode::CONTINUATION, true, &euro[1..])]);
    assert_eq!(sound.broken("cli"), ["framing/client-one-frame"]);
    assert!(sound.assessed("cli", "framing/client-utf8"));
    let cut = client([part(opcode::TEXT, false, &euro[..1]), part(opcode::CONTINUATION, true, b"")]);
    assert_eq!(cut.broken("cli"), ["framing/client-one-frame", "framing/client-utf8"]);
}

#[test]
fn a_payload_that_was_not_kept_whole_is_not_judged() {
    let cut = Frame { length: 1000, payload: Payload::from(b"\xe2\x82".as_slice()), ..text("") };
    assert!(server([cut]).broken("cli").is_empty());
}

#[test]
fn nothing_but_control_frames_follows_a_close() {
    let close = Frame::unmasked(opcode::CLOSE, b"");
    assert_eq!(server([close.clone(), text("{}")]).broken("cli"), ["framing/close-last"]);
    assert!(server([close, Frame::unmasked(opcode::PONG, b"")]).broken("cli").is_empty());
}

#[test]
fn an_extension_that_was_agreed_on_may_use_the_reserved_bits() {
    let extension = [("Sec-WebSocket-Extensions", "permessage-deflate")];
    let trace = TraceBuilder::new()
        .client(EventKind::Handshake(request_head(&extension)))
        .server(EventKind::Handshake(response_head(&extension)))
        .server(EventKind::Frame(Frame { rsv: 4, ..Frame::unmasked(opcode::TEXT, b"\xff\x00") }));
    assert!(trace.broken("cli").is_empty());
}

#[test]
fn a_bad_close_code_that_is_only_sent_back_breaks_no_must() {
    let sent_back = |theirs, ours| {
        TraceBuilder::open()
            .client_frame(opcode::CLOSE, &close_payload(theirs, ""))
            .deliberate()
            .server_frame(opcode::CLOSE, &close_payload(ours, ""))
    };
    let clients = "framing/client-close-code";
    assert_eq!(sent_back(1005, 1005).broken("cli"), [clients, "framing/close-refused"]);
    assert_eq!(sent_back(1005, 1006).broken("cli"), [clients, "framing/close-code"]);
    assert_eq!(sent_back(1005, 1002).broken("cli"), [clients]);
}

#[test]
fn a_control_frame_that_only_sends_back_what_was_wrong_with_the_other_one_breaks_no_must() {
    let ping = |payload: &[u8]| Frame::unmasked(opcode::PING, payload);
    let pong = |payload: &[u8]| Frame::unmasked(opcode::PONG, payload);
    let close = |payload: &[u8]| Frame::unmasked(opcode::CLOSE, payload);
    let long = [b'a'; 126];
    let cases = [
        (ping(&long), pong(&long), "framing/control-refused"),
        (Frame { rsv: 1, ..ping(b"p") }, Frame { rsv: 1, ..pong(b"p") }, "framing/reserved-bits-refused"),
        (Frame { fin: false, ..ping(b"p") }, Frame { fin: false, ..pong(b"p") }, "framing/control-refused"),
        (Frame { rsv: 4, ..close(b"") }, Frame { rsv: 4, ..close(b"") }, "framing/reserved-bits-refused"),
        (close(b"\x03"), close(b"\x03"), "framing/close-refused"),
        (close(b"\x03\xe8\xff"), close(b"\x03\xe8\xff"), "framing/close-refused"),
        // Of its own making:
        (ping(&long[1..]), pong(&long), "framing/control-length"),
        (Frame { rsv: 1, ..ping(b"p") }, Frame { rsv: 2, ..pong(b"p") }, "framing/reserved-bits"),
        (ping(b"p"), Frame { rsv: 1, ..pong(b"p") }, "framing/reserved-bits"),
        (ping(&long), Frame { fin: false, ..pong(b"") }, "framing/control-whole"),
        (close(b"\x03\xe8\xff"), close(b"\x03\xe8\xfe"), "framing/close-reason"),
        (close(b"\x03\xe8\xff"), close(b"\x03"), "framing/close-payload"),
        (close(b"\x03\xe8\xff"), close(&close_payload(1006, "")), "framing/close-code"),
    ];
    for (theirs, ours, broken) in cases {
        let trace =
            TraceBuilder::open().client(EventKind::Frame(Frame { masked: true, ..theirs.clone() })).deliberate();
        let trace = trace.server(EventKind::Frame(ours.clone()));
        let found: Vec<String> =
            trace.broken("cli").into_iter().filter(|short| !short.starts_with("framing/client-")).collect();
        assert_eq!(found, [broken], "{theirs:?} {ours:?}");
    }
}

fn pinged() -> TraceBuilder {
    TraceBuilder::open().client_frame(opcode::PING, b"a")
}

/// Something that says how late it is.
fn later(trace: TraceBuilder, seconds: u64) -> TraceBuilder {
    trace.wait(seconds).client_frame(opcode::PONG, b"")
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
    let trace = pinged().server_frame(opcode::PONG, b"beat").server_frame(opcode::PONG, b"a");
    assert!(later(trace, 60).broken("cli").is_empty());
    assert!(later(TraceBuilder::open().server_frame(opcode::PONG, b"beat"), 60).broken("cli").is_empty());
}

#[test]
fn the_latest_pong_answers_for_those_before() {
    let trace = pinged().client_frame(opcode::PING, b"b").server_frame(opcode::PONG, b"b");
    assert!(later(trace, 60).broken("cli").is_empty());
    let trace = pinged().client_frame(opcode::PING, b"b").server_frame(opcode::PONG, b"a");
    assert_eq!(later(trace, 60).broken("cli"), ["framing/pong"]);
}

#[test]
fn after_an_abuse_no_pong_is_owed() {
    assert!(
        later(pinged().client_frame(3, b"").deliberate(), 60).broken("cli").iter().all(|short| short != "framing/pong")
    );
}

#[test]
fn a_close_frame_is_answered_before_the_connection_ends() {
    assert_eq!(TraceBuilder::open().client_closes(1000).ends().broken("cli"), ["framing/close-answered"]);
    assert_eq!(later(TraceBuilder::open().client_closes(1000), 30).broken("cli"), ["framing/close-answered"]);
}

#[test]
fn a_close_frame_that_may_be_within_another_is_no_missing_one() {
    let bytes = EventKind::Bytes { bytes: Payload::Text("half a frame".into()) };
    let within = TraceBuilder::open().client_closes(1000).server(bytes).ends();
    assert_eq!(within.broken("cli"), ["framing/shortest-length"]);
}

#[test]
fn a_close_frame_may_answer_one_from_before_the_trace() {
    assert!(TraceBuilder::new().client_closes(1000).ends().broken("cli").is_empty());
    assert!(later(TraceBuilder::new().client_closes(1000), 60).broken("cli").is_empty());
    assert!(later(TraceBuilder::new().server_closes(1000), 60).broken("cli").is_empty());
    let spoke = TraceBuilder::new().server_frame(opcode::PONG, b"").client_closes(1000).ends();
    assert_eq!(spoke.broken("cli"), ["framing/close-answered"], "after a close frame there would be no pong");
}

#[test]
fn an_end_that_may_have_swallowed_the_response_is_no_fault() {
    let reset = TraceBuilder::open().client_closes(1000).server(EventKind::Closed(Closed::Reset));
    assert!(reset.broken("cli").is_empty());
    let gone = TraceBuilder::open()
        .client_closes(1000)
        .client(EventKind::Closed(Closed::Eof))
        .server(EventKind::Closed(Closed::Eof));
    assert!(gone.broken("cli").is_empty());
    assert!(later(TraceBuilder::open().client_closes(1000), 29).broken("cli").is_empty());
}

#[test]
fn the_response_carries_the_code() {
    assert_eq!(
        TraceBuilder::open().client_closes(1000).server_closes(1011).ends().broken("cli"),
        ["framing/close-echoed"]
    );
    assert!(TraceBuilder::open().client_closes(1000).server_closes(1001).ends().broken("cli").is_empty());
    let without = TraceBuilder::open().client_frame(opcode::CLOSE, b"").server_closes(1000).ends();
    assert!(without.broken("cli").is_empty());
}

#[test]
fn a_server_that_closes_first_owes_no_echo() {
    let trace = TraceBuilder::open().server_closes(1001).client_closes(1001).ends();
    assert!(trace.broken("cli").is_empty());
    assert!(trace.assessed("cli", "framing/tcp-closed"));
}

#[test]
fn the_tcp_connection_is_closed_after_both_close_frames() {
    let closed = TraceBuilder::open().client_closes(1000).server_closes(1000);
    assert_eq!(later(closed, 30).broken("cli"), ["framing/tcp-closed"]);
    let closed =
        TraceBuilder::open().client_closes(1000).server_closes(1000).wait(30).client(EventKind::Closed(Closed::Eof));
    assert_eq!(closed.broken("cli"), ["framing/tcp-closed"]);
    let closed = TraceBuilder::open().client_closes(1000).server_closes(1000).client(EventKind::Closed(Closed::Eof));
    assert!(later(closed, 60).broken("cli").is_empty(), "the client was faster");
}

#[test]
fn after_an_abuse_any_end_will_do() {
    let abused = || TraceBuilder::open().client_frame(opcode::PING, b"").deliberate();
    assert!(abused().client_closes(1000).ends().broken("cli").is_empty());
    assert!(abused().client_closes(1000).server_closes(1002).ends().broken("cli").is_empty());
    assert!(later(abused().client_closes(1000), 60).broken("cli").is_empty());
}

#[test]
fn a_fault_of_the_client_ends_the_connection_with_a_close_frame() {
    let faulty = || TraceBuilder::open().client_frame(3, b"").deliberate();
    let is_charged = |trace: TraceBuilder| trace.broken("cli").iter().any(|short| short == "framing/failure-code");
    assert!(is_charged(faulty().ends()));
    assert!(!is_charged(faulty().server_closes(1002).ends()));
    assert!(!is_charged(faulty().server(EventKind::Closed(Closed::Reset))), "a reset may swallow it");
    let legal = TraceBuilder::open().client_frame(opcode::PING, b"").deliberate();
    assert!(!is_charged(legal.ends()), "what is legal is no fault");
}
