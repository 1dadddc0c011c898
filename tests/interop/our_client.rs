//! Our client, their servers.

use serde_json::json;
use wirecert::trace::{Closed, Direction, End, EventKind, Message, Payload};
use wirecert::wire::Limits;
use wirecert::wire::websocket::{
    ClientRequest, FrameSpec, HandshakeOutcome, Incoming, Mask, SendOptions, Socket, connect,
};

use super::kept::Kept;
use super::theirs::{Server, Theirs, soon};

/// Connects to a server of theirs.
async fn opened(server: &Server, request: ClientRequest) -> (HandshakeOutcome, Kept) {
    let kept = Kept::default();
    let opened = connect(&server.address(), &request, kept.tap(End::Client), &Limits::default()).await;
    (opened.expect("it listens"), kept)
}

async fn session(theirs: Theirs) -> (Server, Socket, Kept) {
    let server = Server::start(theirs).await;
    let (opened, kept) = opened(&server, ClientRequest::new("/")).await;
    assert_eq!(opened.why_not, None);
    (server, opened.socket, kept)
}

async fn say(socket: &Socket, frame: FrameSpec) {
    socket.sender.send(&frame, None).await.expect("it is read");
}

async fn message(socket: &mut Socket) -> Message {
    soon(socket.incoming.message()).await.expect("a message comes")
}

fn text(text: &str, frames: u64) -> Message {
    Message { text: true, json: None, payload: Some(Payload::Text(text.into())), frames }
}

async fn talk_goes_both_ways(theirs: Theirs) {
    let (_server, mut socket, _) = session(theirs).await;
    say(&socket, FrameSpec::text("{\"a\": \"☃\"}")).await;
    assert_eq!(message(&mut socket).await.json, Some(json!({"a": "☃"})));
    say(&socket, FrameSpec::binary([0, 255])).await;
    let payload = Some(Payload::Binary(vec![0, 255]));
    assert_eq!(message(&mut socket).await, Message { text: false, json: None, payload, frames: 1 });
    let split = SendOptions { split: Some(1), ..SendOptions::default() };
    socket.sender.send_in(&FrameSpec::text("in pieces"), &split).await.expect("it is read");
    assert_eq!(message(&mut socket).await, text("in pieces", 1));
}

async fn fragments_are_joined_on_either_side(theirs: Theirs) {
    let (_server, mut socket, kept) = session(theirs).await;
    say(&socket, FrameSpec::text("to").unfinished()).await;
    say(&socket, FrameSpec::ping("between")).await;
    say(&socket, FrameSpec::continuation("geth").unfinished()).await;
    say(&socket, FrameSpec::continuation("er")).await;
    assert_eq!(message(&mut socket).await, text("together", 1));
    say(&socket, FrameSpec::text("fragments")).await;
    let parts = message(&mut socket).await;
    assert_eq!((&parts.payload, parts.frames >= 3), (&text("one two three", 3).payload, true), "{parts:?}");
    let sent: Vec<_> = kept.frames(Direction::ToServer).iter().map(|f| (f.opcode, f.fin, f.masked)).collect();
    assert_eq!(sent[..4], [(1, false, true), (9, true, true), (0, false, true), (0, true, true)]);
}

async fn pings_are_answered_on_either_side(theirs: Theirs) {
    let (_server, mut socket, kept) = session(theirs).await;
    say(&socket, FrameSpec::ping("who?")).await;
    let Some(Incoming::Frame(pong)) = soon(socket.incoming.recv()).await else { panic!("a frame comes") };
    assert_eq!((pong.opcode, pong.payload.as_text()), (10, Some("who?")));
    say(&socket, FrameSpec::text("ping")).await;
    assert_eq!(message(&mut socket).await, text("ponged", 1));
    let ours = kept.frames(Direction::ToServer).pop().expect("a pong was sent");
    assert_eq!((ours.opcode, ours.payload.as_text()), (10, Some("marco")));
}

async fn our_close_code_reaches_them_and_is_echoed(theirs: Theirs) {
    let (mut server, socket, kept) = session(theirs).await;
    say(&socket, FrameSpec::close(Some(4000), "bye")).await;
    assert_eq!(server.closed().await, (4000, "bye".into()));
    soon(socket.sender.ended()).await;
    assert_eq!(kept.close(Direction::ToClient).map(|(code, _)| code), Some(4000));
    let ends = kept.events().into_iter().filter(|event| event.kind == EventKind::Closed(Closed::Eof));
    assert_eq!(ends.map(|event| event.dir).next(), Some(Some(Direction::ToClient)), "the server closes first");
}

async fn their_close_code_reaches_us_and_is_echoed(theirs: Theirs) {
    let (mut server, socket, kept) = session(theirs).await;
    say(&socket, FrameSpec::text("close 4001 done")).await;
    assert_eq!(server.closed().await.0, 4001);
    soon(socket.sender.ended()).await;
    assert_eq!(kept.close(Direction::ToClient), Some((4001, "done".into())));
    assert_eq!(kept.close(Direction::ToServer).map(|(code, _)| code), Some(4001));
}

async fn a_megabyte_goes_both_ways(theirs: Theirs) {
    let (_server, mut socket, _) = session(theirs).await;
    let big = "☃".repeat((1 << 20) / 3);
    say(&socket, FrameSpec::text(&big)).await;
    assert_eq!(message(&mut socket).await.payload, Some(Payload::Text(big)));
}

async fn a_subprotocol_is_agreed_on(theirs: Theirs) {
    let request = ClientRequest { subprotocols: vec!["chat".into()], ..ClientRequest::new("/") };
    let server = Server::start(theirs).await;
    let (opened, _) = opened(&server, request).await;
    assert_eq!(opened.why_not, None);
    let response = opened.response.expect("it answers");
    assert_eq!(response.header("sec-websocket-protocol").collect::<Vec<_>>(), ["chat"]);
}

async fn a_refusal_is_told_with_its_status_and_text(theirs: Theirs) {
    let server = Server::start(theirs).await;
    let (opened, _) = opened(&server, ClientRequest::new("/refuse")).await;
    assert!(!opened.accepted);
    let response = opened.response.expect("it answers");
    assert_eq!(response.status(), Some(403));
    assert_eq!(response.body.as_ref().and_then(Payload::as_text), Some("not you\n"));
}

/// Sends what no client may send; gives the code with which they close.
async fn abused(server: &Server, frame: FrameSpec) -> Option<u16> {
    let (HandshakeOutcome { socket, .. }, kept) = opened(server, ClientRequest::new("/")).await;
    socket.sender.send(&frame, Some("abuse")).await.expect("it is read");
    soon(socket.sender.ended()).await;
    kept.close(Direction::ToClient).map(|(code, _)| code)
}

async fn abuse_is_answered_with_the_close_code_for_it(theirs: Theirs) {
    let server = Server::start(theirs).await;
    // tungstenite cuts the connection without a word.
    let code = |code| if theirs == Theirs::Tungstenite { None } else { Some(code) };
    let hello = || FrameSpec::text("hello");
    assert_eq!(abused(&server, hello().masked(Mask::Off)).await, code(1002), "unmasked");
    assert_eq!(abused(&server, FrameSpec { rsv: 2, ..hello() }).await, code(1002), "a reserved bit");
    assert_eq!(abused(&server, FrameSpec { opcode: 3, ..hello() }).await, code(1002), "a reserved opcode");
    assert_eq!(abused(&server, FrameSpec::continuation("?")).await, code(1002), "a continuation of nothing");
    assert_eq!(abused(&server, FrameSpec::ping(vec![0; 126])).await, code(1002), "a long ping");
    assert_eq!(abused(&server, FrameSpec::ping("").unfinished()).await, code(1002), "a fragmented ping");
    assert_eq!(abused(&server, FrameSpec::new(1, [0xc3, 0x28])).await, code(1007), "no UTF-8");
}

super::against_all! {
    talk_goes_both_ways
    fragments_are_joined_on_either_side
    pings_are_answered_on_either_side
    our_close_code_reaches_them_and_is_echoed
    their_close_code_reaches_us_and_is_echoed
    a_megabyte_goes_both_ways
    a_subprotocol_is_agreed_on
    a_refusal_is_told_with_its_status_and_text
    abuse_is_answered_with_the_close_code_for_it
}
