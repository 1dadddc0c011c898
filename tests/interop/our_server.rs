//! Our server, their clients.

use serde_json::json;
use tokio::net::TcpListener;
use wirecert::trace::{Direction, End, Message, Payload};
use wirecert::wire::Limits;
use wirecert::wire::tcp::Address;
use wirecert::wire::websocket::{FrameSpec, Incoming, Mask, Reply, Request, Socket, accept};

use super::kept::Kept;
use super::theirs::{Client, Theirs, open, soon};

/// A client of theirs that waits for the response to its handshake.
async fn asked(theirs: Theirs) -> (Client, Request, Kept) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("there is a free port");
    let port = listener.local_addr().expect("a bound socket has an address").port();
    let client = Client::start(theirs, &Address::new("127.0.0.1", port));
    let kept = Kept::default();
    let (stream, _) = soon(listener.accept()).await.expect("it connects");
    let request = accept(stream, kept.tap(End::Server), &Limits::default()).await.expect("it asks");
    assert_eq!(request.fault(), None);
    (client, request, kept)
}

/// A client of theirs that is connected.
async fn session(theirs: Theirs) -> (Client, Socket, Kept) {
    let (mut client, request, kept) = asked(theirs).await;
    let mut reply = Reply::accepting(&request);
    reply.head.headers.push(("Sec-WebSocket-Protocol".into(), "chat".into()));
    let socket = request.reply(&reply).await.expect("it is read");
    assert_eq!(client.event().await, open());
    (client, socket, kept)
}

async fn say(socket: &Socket, frame: FrameSpec) {
    socket.sender.send(&frame, None).await.expect("it is read");
}

async fn message(socket: &mut Socket) -> Message {
    soon(socket.incoming.message()).await.expect("a message comes")
}

async fn talk_goes_both_ways(theirs: Theirs) {
    let (mut client, mut socket, kept) = session(theirs).await;
    client.order(json!({"send": "[1]"})).await;
    assert_eq!(message(&mut socket).await.json, Some(json!([1])));
    say(&socket, FrameSpec::text("☃")).await;
    assert_eq!(client.event().await, json!({"text": "☃"}));
    assert!(kept.frames(Direction::ToServer).iter().all(|frame| frame.masked));
    assert!(kept.frames(Direction::ToClient).iter().all(|frame| !frame.masked));
}

async fn fragments_are_joined_on_either_side(theirs: Theirs) {
    let (mut client, mut socket, _) = session(theirs).await;
    client.order(json!({"parts": ["a", "b", "c"]})).await;
    let parts = message(&mut socket).await;
    assert_eq!(parts.payload, Some(Payload::Text("abc".into())));
    assert!(parts.frames >= 3, "{parts:?}");
    say(&socket, FrameSpec::text("x").unfinished()).await;
    say(&socket, FrameSpec::continuation("y")).await;
    assert_eq!(client.event().await, json!({"text": "xy"}));
}

async fn pings_are_answered_on_either_side(theirs: Theirs) {
    let (mut client, mut socket, _) = session(theirs).await;
    client.order(json!({"ping": "who?"})).await;
    assert_eq!(client.event().await, json!({"pong": "who?"}));
    say(&socket, FrameSpec::ping("marco")).await;
    loop {
        let Some(Incoming::Frame(frame)) = soon(socket.incoming.recv()).await else { panic!("a frame comes") };
        if frame.opcode == 10 {
            assert_eq!(frame.payload.as_text(), Some("marco"));
            break;
        }
    }
}

async fn our_close_code_reaches_them_and_is_echoed(theirs: Theirs) {
    let (mut client, socket, kept) = session(theirs).await;
    say(&socket, FrameSpec::close(Some(4000), "bye")).await;
    assert_eq!(client.closed().await, (4000, "bye".into()));
    soon(socket.sender.ended()).await;
    assert_eq!(kept.close(Direction::ToServer).map(|(code, _)| code), Some(4000));
}

async fn their_close_code_reaches_us_and_is_echoed(theirs: Theirs) {
    let (mut client, socket, kept) = session(theirs).await;
    client.order(json!({"close": [4001, "done"]})).await;
    assert_eq!(client.closed().await.0, 4001);
    soon(socket.sender.ended()).await;
    assert_eq!(kept.close(Direction::ToServer), Some((4001, "done".into())));
    assert_eq!(kept.close(Direction::ToClient).map(|(code, _)| code), Some(4001));
}

async fn a_megabyte_goes_both_ways(theirs: Theirs) {
    let (mut client, mut socket, _) = session(theirs).await;
    client.order(json!({"big": 1 << 20})).await;
    assert_eq!(message(&mut socket).await.payload, Some(Payload::Text("x".repeat(1 << 20))));
    say(&socket, FrameSpec::text("y".repeat(1 << 20))).await;
    assert_eq!(client.event().await, json!({"big": 1 << 20}));
}

async fn a_refusal_and_a_wrong_accept_key_give_them_no_session(theirs: Theirs) {
    let (mut client, request, _) = asked(theirs).await;
    let socket = request.reply(&Reply::refusing("401 Unauthorized", "no")).await.expect("it is read");
    socket.sender.shutdown().await;
    assert_eq!(client.event().await, json!({"refused": true}));
    let (mut client, request, _) = asked(theirs).await;
    let mut reply = Reply::accepting(&request);
    reply.head.headers[2].1 = "AAAAAAAAAAAAAAAAAAAAAAAAAAA=".into();
    let socket = request.reply(&reply).await.expect("it is read");
    socket.sender.shutdown().await;
    assert_eq!(client.event().await, json!({"refused": true}));
}

/// Sends what no server may send; gives the code with which they close.
async fn abused(theirs: Theirs, frame: FrameSpec) -> Option<u16> {
    let (_client, socket, kept) = session(theirs).await;
    socket.sender.send(&frame, Some("abuse")).await.expect("it is read");
    soon(socket.sender.ended()).await;
    kept.close(Direction::ToServer).map(|(code, _)| code)
}

async fn abuse_is_answered_with_the_close_code_for_it(theirs: Theirs) {
    // tungstenite cuts the connection without a word.
    let code = |code| if theirs == Theirs::Tungstenite { None } else { Some(code) };
    let hello = || FrameSpec::text("hello");
    assert_eq!(abused(theirs, hello().masked(Mask::Fresh)).await, code(1002), "masked");
    assert_eq!(abused(theirs, FrameSpec { rsv: 2, ..hello() }).await, code(1002), "a reserved bit");
    assert_eq!(abused(theirs, FrameSpec { opcode: 11, ..hello() }).await, code(1002), "a reserved opcode");
    assert_eq!(abused(theirs, FrameSpec::new(1, [0xff])).await, code(1007), "no UTF-8");
}

super::against_all! {
    talk_goes_both_ways
    fragments_are_joined_on_either_side
    pings_are_answered_on_either_side
    our_close_code_reaches_them_and_is_echoed
    their_close_code_reaches_us_and_is_echoed
    a_megabyte_goes_both_ways
    a_refusal_and_a_wrong_accept_key_give_them_no_session
    abuse_is_answered_with_the_close_code_for_it
}
