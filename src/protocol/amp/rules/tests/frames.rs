use crate::protocol::amp::opcode;
use crate::protocol::amp::testing::{Play, close_payload, frame, request_head, response_head};
use crate::trace::{EventKind, Frame, Payload};

fn server(frames: impl IntoIterator<Item = Frame>) -> Play {
    frames.into_iter().fold(Play::open(), |play, frame| play.server(EventKind::Frame(frame)))
}

fn client(frames: impl IntoIterator<Item = Frame>) -> Play {
    let masked = frames.into_iter().map(|frame| Frame { masked: true, ..frame });
    masked.fold(Play::open(), |play, frame| play.client(EventKind::Frame(frame)))
}

fn text(payload: &str) -> Frame {
    frame(opcode::TEXT, payload.as_bytes())
}

fn part(opcode: u8, fin: bool, payload: &[u8]) -> Frame {
    Frame { fin, ..frame(opcode, payload) }
}

#[test]
fn each_bit_of_a_frame_is_judged() {
    let cases = [
        (Frame { rsv: 4, ..text("{}") }, "reserved-bits"),
        (frame(3, b""), "opcode"),
        (frame(11, b""), "opcode"),
        (Frame { length_bits: Some(16), ..text("{}") }, "shortest-length"),
        (frame(opcode::PING, &[b'a'; 126]), "control-length"),
        (part(opcode::PING, false, b""), "control-whole"),
        (frame(opcode::BINARY, b"{}"), "text-frames"),
        (frame(opcode::CLOSE, b"\x03"), "close-payload"),
        (frame(opcode::CLOSE, &close_payload(1005, "")), "close-code"),
        (frame(opcode::CLOSE, &close_payload(999, "")), "close-code"),
        (frame(opcode::CLOSE, b"\x03\xe8\xff"), "close-reason"),
        (frame(opcode::TEXT, b"\xff"), "utf8"),
        (frame(opcode::CONTINUATION, b""), "fragments"),
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
        frame(opcode::PING, &[b'a'; 125]),
        frame(opcode::PONG, b""),
        frame(opcode::CLOSE, &close_payload(1001, "bye")),
    ];
    assert!(server(sound).broken("cli").is_empty());
    for code in [1000, 1003, 1007, 1011, 1012, 3000, 4999] {
        assert!(server([frame(opcode::CLOSE, &close_payload(code, ""))]).broken("cli").is_empty(), "{code}");
    }
    assert!(server([frame(opcode::CLOSE, b"")]).broken("cli").is_empty());
}

#[test]
fn the_client_masks_and_the_server_does_not() {
    let masked = Frame { masked: true, ..text("{}") };
    assert_eq!(server([masked]).broken("cli"), ["framing/unmasked"]);
    assert_eq!(Play::open().client(EventKind::Frame(text("{}"))).broken("cli"), ["framing/client-masked"]);
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
    let play = server([part(opcode::TEXT, false, b"{"), text("{}")]);
    assert_eq!(play.broken("cli"), ["framing/one-frame", "framing/fragments"]);
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
    let close = frame(opcode::CLOSE, b"");
    assert_eq!(server([close.clone(), text("{}")]).broken("cli"), ["framing/close-last"]);
    assert!(server([close, frame(opcode::PONG, b"")]).broken("cli").is_empty());
}

#[test]
fn an_extension_that_was_agreed_on_may_use_the_reserved_bits() {
    let extension = [("Sec-WebSocket-Extensions", "permessage-deflate")];
    let play = Play::new()
        .client(EventKind::Handshake(request_head(&extension)))
        .server(EventKind::Handshake(response_head(&extension)))
        .server(EventKind::Frame(Frame { rsv: 4, ..frame(opcode::TEXT, b"\xff\x00") }));
    assert!(play.broken("cli").is_empty());
}

#[test]
fn a_bad_close_code_that_is_only_sent_back_breaks_no_must() {
    let sent_back = |theirs, ours| {
        Play::open()
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
    let ping = |payload: &[u8]| frame(opcode::PING, payload);
    let pong = |payload: &[u8]| frame(opcode::PONG, payload);
    let close = |payload: &[u8]| frame(opcode::CLOSE, payload);
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
        let play = Play::open().client(EventKind::Frame(Frame { masked: true, ..theirs.clone() })).deliberate();
        let play = play.server(EventKind::Frame(ours.clone()));
        let found: Vec<String> =
            play.broken("cli").into_iter().filter(|short| !short.starts_with("framing/client-")).collect();
        assert_eq!(found, [broken], "{theirs:?} {ours:?}");
    }
}
