//! Our client and our server, with each other and with raw bytes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;
use crate::trace::{Closed, Direction, End, Event, EventKind, HttpRequest, Mark, StreamEvent};
use crate::wire::tcp::Address;
use crate::wire::testing::{MemoryTrace, listen};
use crate::wire::websocket::{self, ClientRequest, FrameSpec, SendOptions};

/// Answers by the path of the request.
struct Play;

impl Handler for Play {
    fn on_head(&self, request: &HttpRequest) -> OnHead {
        match request.path() {
            "/at-once" => OnHead::Answer,
            "/socket" => OnHead::Upgrade,
            _ => OnHead::Read,
        }
    }

    async fn handle(&self, request: Received, mut responder: Responder) {
        let ok = Response::new("200 OK");
        let pieces = || vec![Piece::now("ab"), Piece::after(Duration::from_millis(5), "cd")];
        let flawed = |response: Response| response.deliberate(Some("flaw"));
        let response = match request.head.path() {
            "/echo" => ok.json(&request.message.and_then(|m| m.json).unwrap_or_default()),
            "/chunked" => {
                ok.content(Content::Chunked { pieces: pieces(), trailers: vec![("X-Sum".into(), "1".into())] })
            }
            "/until-close" => ok.header("Connection", "close").content(Content::Raw(pieces())),
            "/empty" => Response::new("204 No Content"),
            "/early" => {
                responder.interim(&Response::new("103 Early Hints").header("Link", "<x>")).await.expect("sent");
                ok.text("late")
            }
            "/early-often" => {
                // Fails once the client has had enough.
                while responder.interim(&Response::new("103 Early Hints")).await.is_ok() {}
                return;
            }
            "/huge" => ok.text("x".repeat(17 << 20)),
            "/huge-until-close" => {
                ok.header("Connection", "close").content(Content::Raw(vec![Piece::now("x".repeat(17 << 20))]))
            }
            "/too-long" => flawed(ok.header("Content-Length", "2").text("abcd")),
            "/too-short" => flawed(ok.header("Content-Length", "9").text("abcd")),
            "/bad-chunk" => {
                let raw = Content::Raw(vec![Piece::now("2\r\nabXX")]);
                flawed(ok.header("Transfer-Encoding", "chunked").content(raw))
            }
            "/cut" => {
                let send_options = SendOptions { deliberate: Some("flaw".into()), cut: Some(20), split: None };
                Response { send_options, ..ok.text("abcd") }
            }
            "/no-http" => flawed(Response { raw: Some(b"hello there\r\n\r\n".to_vec()), ..ok }),
            "/reset" => return responder.reset(Some("flaw")),
            "/close" => return responder.close(None),
            "/never" => return responder.never(Some("flaw")),
            "/events" => {
                let mut stream = responder.start(&Response::event_stream()).await.expect("sent");
                for n in 0..3 {
                    stream.event(&StreamEvent::data(n.to_string())).await.expect("sent");
                }
                stream.gone().await;
                return;
            }
            "/at-once" => Response::new("417 Expectation Failed"),
            _ => ok.text(request.head.path()),
        };
        // Fails where the client is gone on purpose.
        let _ = responder.send(&response).await;
    }

    async fn upgrade(&self, request: websocket::Request) {
        let reply = websocket::Reply::accepting(&request);
        let mut socket = request.reply(&reply).await.expect("sent");
        while let Some(message) = socket.incoming.message().await {
            let text = message.json.expect("it is JSON").to_string();
            socket.sender.send(&FrameSpec::text(text), None).await.expect("sent");
        }
    }
}

struct Both {
    client: Client,
    client_trace: MemoryTrace,
    server: Server,
    server_trace: MemoryTrace,
}

async fn both_within(limits: Limits) -> Both {
    let (client_trace, server_trace) = (MemoryTrace::default(), MemoryTrace::default());
    let (listener, address) = listen().await;
    let server = Server::start(listener, Arc::new(Play), server_trace.exchanges(End::Server), limits);
    let client = Client::new(address, client_trace.exchanges(End::Client), limits);
    Both { client, client_trace, server: server.expect("it starts"), server_trace }
}

async fn both() -> Both {
    both_within(Limits::default()).await
}

impl Both {
    async fn exchange(&self, request: &Request) -> Result<Whole, Broken> {
        let exchange = self.client.send(None, request).await.expect("the server listens");
        timeout(Duration::from_secs(20), exchange.whole()).await.expect("it ends")
    }

    async fn get(&self, path: &str) -> Result<Whole, Broken> {
        self.exchange(&Request::new("GET", path)).await
    }

    /// What the server sends back for these bytes, until it closes.
    async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.server.address().to_string()).await.expect("it listens");
        stream.write_all(bytes).await.expect("sent");
        let mut response = vec![];
        timeout(Duration::from_secs(20), stream.read_to_end(&mut response)).await.expect("it ends").expect("read");
        String::from_utf8_lossy(&response).into_owned()
    }
}

/// Waits until something is in a trace.
async fn until(there: impl Fn() -> bool) {
    let waiting = async {
        while !there() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), waiting).await.expect("it comes");
}

#[tokio::test]
async fn both_ends_record_the_same_exchange_and_keep_the_connection() {
    let both = both().await;
    let request = Request::new("POST", "/echo").json(&json!({"a": 1}));
    for _ in 0..2 {
        let whole = both.exchange(&request).await.expect("a response");
        assert_eq!(whole.head.status(), Some(200));
        assert_eq!(whole.message.and_then(|m| m.json), Some(json!({"a": 1})));
    }
    let expected = [
        "→ connected",
        "→ POST /echo HTTP/1.1",
        "→ body {\\\"a\\\":1}.",
        "→ json {\"a\":1}",
        "← HTTP/1.1 200 OK",
        "← body {\\\"a\\\":1}.",
        "← json {\"a\":1}",
    ];
    let [connected, rest @ ..] = &expected;
    assert_eq!(both.client_trace.words_of("x1")[0], *connected);
    for trace in [&both.client_trace, &both.server_trace] {
        assert_eq!(trace.words_of("x1"), expected);
        assert_eq!(trace.words_of("x2"), *rest);
        let tcp = trace.events().into_iter().filter_map(|event| match event.kind {
            EventKind::HttpRequest(head) => Some(head.tcp),
            _ => None,
        });
        assert_eq!(tcp.collect::<Vec<_>>(), [1, 1]);
    }
}

#[tokio::test]
async fn every_way_to_end_a_body_is_read() {
    let both = both().await;
    let chunked = both.get("/chunked").await.expect("whole");
    assert_eq!((&chunked.body[..], chunked.trailers), (&b"abcd"[..], vec![("X-Sum".into(), "1".into())]));
    assert_eq!(both.get("/until-close").await.expect("whole").body, b"abcd");
    let empty = both.get("/empty").await.expect("whole");
    assert_eq!((empty.body.len(), empty.message), (0, None));
    let early = both.get("/early").await.expect("whole");
    assert_eq!((early.interim.len(), &early.body[..]), (1, &b"late"[..]));
    let head = both.exchange(&Request::new("HEAD", "/chunked")).await.expect("whole");
    assert_eq!((head.body.len(), head.head.status()), (0, Some(200)));
    let connected = both.client_trace.words().iter().filter(|word| *word == "→ connected").count();
    assert_eq!(connected, 2, "only the end of a connection costs a new one: {:?}", both.client_trace.words());
}

#[tokio::test]
async fn what_exceeds_a_bound_ends_the_exchange_and_is_not_recorded_as_wrong() {
    let both = both().await;
    assert_eq!(both.get("/early-often").await, Err(Broken::Fault(HttpError::TooManyInterim(1000))));
    for huge in ["/huge", "/huge-until-close"] {
        let before = both.client_trace.events().len();
        assert_eq!(both.get(huge).await, Err(Broken::Fault(HttpError::BodyTooLong(16 << 20))), "{huge}");
        let events = both.client_trace.events().split_off(before);
        let too_long = |e: &Event| matches!(&e.kind, EventKind::Mark(mark) if mark.mark == Mark::TOO_LONG);
        assert_eq!(events.iter().filter(|event| too_long(event)).count(), 1, "{huge}");
        let of_subject = |e: &Event| e.dir == Some(Direction::ToClient) && matches!(e.kind, EventKind::Message(_));
        assert!(!events.iter().any(of_subject), "{huge}: a part of a message is none");
    }
    assert!(!both.client_trace.events().iter().any(|event| matches!(event.kind, EventKind::Bytes { .. })));
}

#[tokio::test]
async fn what_a_server_breaks_is_told_and_recorded_and_marked_as_its_purpose() {
    let both = both().await;
    let closed = |how| Err(Broken::Closed { how, reused: false });
    assert_eq!(both.get("/too-short").await, closed(Closed::Eof));
    assert!(matches!(both.get("/bad-chunk").await, Err(Broken::Fault(HttpError::Chunk(_)))));
    assert_eq!(both.get("/cut").await, closed(Closed::Eof));
    assert_eq!(both.get("/no-http").await, Err(Broken::Fault(HttpError::NotHttp)));
    assert_eq!(both.get("/reset").await, closed(Closed::Reset));
    assert_eq!(both.get("/close").await, closed(Closed::Eof));
    let whole = both.get("/too-long").await.expect("what was announced came");
    assert_eq!(whole.body, b"ab");
    let client = |n: usize| both.client_trace.words_of(&format!("x{n}")).split_off(3);
    assert_eq!(client(1), ["← HTTP/1.1 200 OK", "← body abcd…", "← Eof"]);
    assert_eq!(client(2)[..3], ["← HTTP/1.1 200 OK", "← body ab…", "← bytes XX"]);
    assert_eq!(client(3), ["← bytes HTTP/1.1 200 OK\\r\\nDat", "← Eof"]);
    assert_eq!(client(4)[..1], ["← bytes hello there\\r\\n\\r\\n"]);
    assert_eq!(client(5), ["← Reset"]);
    assert_eq!(client(6), ["← Eof"]);
    let server = |n: usize| both.server_trace.words_of(&format!("x{n}")).split_off(3);
    assert_eq!(server(1), ["← !HTTP/1.1 200 OK", "← !body abcd…", "← !Eof"]);
    assert_eq!(server(3), ["← !bytes HTTP/1.1 200 OK\\r\\nDat", "← !Eof"]);
    assert_eq!(server(5), ["← !Reset"]);
    assert_eq!(server(6), ["← Eof"]);
}

#[tokio::test]
async fn a_response_that_never_comes_is_given_up_in_time() {
    let both = both_within(Limits { head_within: Duration::from_millis(50), ..Limits::default() }).await;
    let within = Duration::from_millis(50);
    assert_eq!(both.get("/never").await, Err(Broken::Late { part: "head", within }));
    assert_eq!(both.client_trace.words_of("x1").last().map(String::as_str), Some("→ Eof"));
}

#[tokio::test]
async fn a_response_that_never_ends_is_given_up_in_time_also_where_there_is_always_something_to_read() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    // All of it is there before the client reads, and its time is up with the head.
    let limits = Limits { body_within: Duration::ZERO, body: 32 << 10, ..Limits::default() };
    let address = Address::new(address.ip().to_string(), address.port());
    let client = Client::new(address, MemoryTrace::default().exchanges(End::Client), limits);
    let exchange = client.send(None, &Request::new("GET", "/")).await.expect("it listens");
    let (mut stream, _) = listener.accept().expect("it came");
    let response = ["HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_owned(), "x".repeat(96 << 10)].concat();
    std::io::Write::write_all(&mut stream, response.as_bytes()).expect("the system keeps it");
    drop(stream);
    let whole = timeout(Duration::from_secs(20), exchange.whole()).await.expect("it ends");
    assert_eq!(whole, Err(Broken::Late { part: "body", within: Duration::ZERO }));
}

#[tokio::test]
async fn a_client_may_cut_a_stream_and_the_server_notices() {
    let both = both().await;
    let mut exchange = both.client.send(Some("sub"), &Request::new("GET", "/events")).await.expect("it listens");
    let mut events = 0;
    while events < 3 {
        events += u32::from(matches!(exchange.recv().await, Some(Incoming::Event(_))));
    }
    exchange.control.reset(Some("cut")).await;
    assert_eq!(
        exchange.recv().await.and_then(|one| match one {
            Incoming::Broken(broken) => Some(broken),
            _ => None,
        }),
        Some(Broken::Ours)
    );
    let words = both.client_trace.words_of("sub");
    assert!(words.contains(&"← event message 2".to_owned()), "{words:?}");
    assert_eq!(words.last().map(String::as_str), Some("→ !Reset"));
    until(|| both.server_trace.words().contains(&"→ Reset".to_owned())).await;
}

#[tokio::test]
async fn a_request_whose_client_leaves_at_once_reaches_the_server() {
    let both = both().await;
    let exchange = both.client.send(Some("gone"), &Request::new("GET", "/never")).await.expect("it listens");
    exchange.control.close(Some("leaves")).await;
    let words = both.client_trace.words_of("gone");
    assert!(words.contains(&"→ GET /never HTTP/1.1".to_owned()), "{words:?}");
    assert_eq!(words.last().map(String::as_str), Some("→ !Eof"));
    until(|| both.server_trace.words().contains(&"→ GET /never HTTP/1.1".to_owned())).await;
}

#[tokio::test]
async fn what_is_recorded_is_delivered_also_after_the_client_has_left() {
    /// More events than wait for a receiver that is behind.
    fn many(_: &Received) -> Response {
        let events: String = (0..200).map(|n| format!("data: {n}\n\n")).collect();
        let pieces = vec![Piece::now(events), Piece::after(Duration::from_secs(60), "")];
        Response { content: Content::Chunked { pieces, trailers: vec![] }, ..Response::event_stream() }
    }
    let (listener, address) = listen().await;
    let (client_trace, server_trace) = (MemoryTrace::default(), MemoryTrace::default());
    let exchanges = server_trace.exchanges(End::Server);
    let _server = Server::start(listener, Arc::new(many), exchanges, Limits::default()).expect("it starts");
    let client = Client::new(address, client_trace.exchanges(End::Client), Limits::default());
    let mut exchange = client.send(Some("sub"), &Request::new("GET", "/")).await.expect("it listens");
    until(|| client_trace.words_of("sub").contains(&"← event message 199".to_owned())).await;
    exchange.control.close(Some("leaves")).await;
    let (mut events, mut last) = (0, None);
    while let Some(incoming) = exchange.recv().await {
        events += u32::from(matches!(incoming, Incoming::Event(_)));
        last = Some(incoming);
    }
    assert_eq!(events, 200);
    assert!(matches!(last, Some(Incoming::Broken(Broken::Ours))), "{last:?}");
}

/// Between its start and its own program, a process has copies of all sockets.
#[tokio::test]
async fn a_stopped_server_gives_its_port_up_also_where_a_process_that_is_being_started_has_a_copy_of_the_listener() {
    let (listener, address) = listen().await;
    let _copy = std::os::fd::AsFd::as_fd(&listener).try_clone_to_owned().expect("copied");
    let exchanges = MemoryTrace::default().exchanges(End::Server);
    let server = Server::start(listener, Arc::new(Play), exchanges, Limits::default()).expect("it starts");
    server.stop().await;
    assert!(TcpStream::connect(address.to_string()).await.is_err());
    crate::wire::tcp::listen((std::net::Ipv4Addr::LOCALHOST, address.port)).expect("the port is free");
}

#[tokio::test]
async fn dropping_an_exchange_closes_its_connection() {
    let both = both().await;
    let exchange = both.client.send(None, &Request::new("GET", "/never")).await.expect("it listens");
    let control = exchange.control.clone();
    drop(exchange);
    assert!(!control.is_over(), "a clone keeps it");
    drop(control);
    until(|| both.client_trace.words_of("x1").last().is_some_and(|word| word == "→ Eof")).await;
}

#[tokio::test]
async fn a_request_may_be_sent_in_any_way() {
    let both = both().await;
    let post = || Request::new("POST", "/echo");
    let pieces = vec![Piece::now("{\"a\""), Piece::after(Duration::from_millis(5), ":2}")];
    let chunked = post().content(Content::Chunked { pieces, trailers: vec![] });
    assert_eq!(both.exchange(&chunked).await.expect("whole").body, b"{\"a\":2}");
    let split =
        Request { send_options: SendOptions { split: Some(7), ..SendOptions::default() }, ..post().json(&json!([1])) };
    assert_eq!(both.exchange(&split).await.expect("whole").body, b"[1]");
    let expecting = post().header("Expect", "100-continue").json(&json!([2]));
    let whole = both.exchange(&expecting).await.expect("whole");
    assert_eq!((whole.interim.len() <= 1, &whole.body[..]), (true, &b"[2]"[..]));
    let at_once = Request::new("POST", "/at-once").header("Content-Length", "100").content(Content::Raw(vec![]));
    assert_eq!(both.exchange(&at_once).await.expect("whole").head.status(), Some(417));
    let raw = Request { raw: Some(b"GET /raw HTTP/1.1\nhost:x\n\n".to_vec()), ..Request::new("", "") };
    assert_eq!(both.exchange(&raw).await.expect("whole").body, b"/raw");
    let wrong = Request { raw: Some(b"what?\r\n\r\n".to_vec()), ..Request::new("", "") };
    assert_eq!(both.exchange(&wrong).await.expect("whole").head.status(), Some(400));
    let closing = Request { ending: Ending::Close, ..post().json(&json!([3])) };
    assert_eq!(both.exchange(&closing).await.expect("whole").body, b"[3]", "half a connection is enough to respond on");
    let short = post().header("Content-Length", "100").content(Content::Raw(vec![Piece::now("x")]));
    let short = Request { ending: Ending::Close, ..short };
    assert_eq!(both.exchange(&short).await, Err(Broken::Closed { how: Closed::Eof, reused: false }));
    let reset = Request { ending: Ending::Reset, ..post() };
    assert_eq!(both.exchange(&reset).await, Err(Broken::Ours));
}

#[tokio::test]
async fn responses_to_requests_in_a_row_come_in_order() {
    let both = both().await;
    let responses = both
        .raw(b"GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 1\r\n\r\nx\r\nGET /3 HTTP/1.0\r\n\r\n")
        .await;
    let bodies: Vec<&str> =
        responses.split("\r\n\r\n").skip(1).map(|text| text.split("HTTP/").next().unwrap_or("")).collect();
    assert_eq!(bodies, ["/1", "/2", "/3"], "{responses}");
    assert_eq!(both.server_trace.words_of("x3")[..2], ["→ bytes \\r\\n", "→ GET /3 HTTP/1.0"]);
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_recorded() {
    let both = both().await;
    let huge = [b"GET / HTTP/1.1\r\nA: ".to_vec(), vec![b'x'; 1 << 17], b"\r\n\r\n".to_vec()].concat();
    let cases: [(&[u8], &str); 5] = [
        (b"\x16\x03\x01\x00", "HTTP/1.1 400 "),
        (b"GET\r\n\r\n", "HTTP/1.1 400 "),
        (b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 400 "),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 501 "),
        (&huge, "HTTP/1.1 431 "),
    ];
    for (bytes, status) in cases {
        let response = both.raw(bytes).await;
        assert!(response.starts_with(status), "{response}");
    }
    assert_eq!(both.server_trace.words_of("x1")[..2], ["→ connected", "→ bytes \\x16\\x03\\x01\\x00"]);
}

#[tokio::test]
async fn a_websocket_opens_on_the_same_port_after_other_exchanges() {
    let both = both().await;
    both.get("/before").await.expect("whole");
    let tap = both.client_trace.tap(End::Client);
    let limits = crate::wire::testing::limits();
    let opened = websocket::connect(both.server.address(), &ClientRequest::new("/socket"), tap, &limits).await;
    let mut opened = opened.expect("it listens");
    assert!(opened.accepted, "{:?}", opened.why_not);
    opened.socket.sender.send(&FrameSpec::text("[1]"), None).await.expect("sent");
    assert_eq!(opened.socket.incoming.message().await.and_then(|m| m.json), Some(json!([1])));
    let words = both.server_trace.words_of("x2");
    assert_eq!(words[..3], ["→ connected", "→ GET /socket HTTP/1.1", "← HTTP/1.1 101 Switching Protocols"]);
    let kinds: Vec<_> = both.server_trace.events().iter().map(|event| event.kind.kind()).collect();
    assert!(kinds.contains(&"handshake") && kinds.contains(&"frame"), "{kinds:?}");
    let (elsewhere, tap) = (ClientRequest::new("/elsewhere"), both.client_trace.tap(End::Client));
    let refused = websocket::connect(both.server.address(), &elsewhere, tap, &limits).await;
    assert!(!refused.expect("it listens").accepted);
}

#[tokio::test]
async fn a_stopped_server_has_let_go_of_everything() {
    let Both { client, server, .. } = both().await;
    let exchange = client.send(None, &Request::new("GET", "/never")).await.expect("it listens");
    server.stop().await;
    let whole = exchange.whole().await;
    assert!(matches!(whole, Err(Broken::Closed { .. })), "{whole:?}");
    assert!(client.send(None, &Request { fresh: true, ..Request::new("GET", "/") }).await.is_err());
}

#[tokio::test]
async fn a_server_that_closes_takes_nothing_new_and_finishes_what_has_begun() {
    let Both { client, server, .. } = both().await;
    let held = client.send(None, &Request::new("GET", "/never")).await.expect("it listens");
    assert!(client.send(None, &Request::new("GET", "/")).await.expect("it listens").whole().await.is_ok());
    server.close();
    // Neither on the connection that was kept alive nor on a new one.
    for fresh in [false, true] {
        let response = match client.send(None, &Request { fresh, ..Request::new("GET", "/") }).await {
            Ok(exchange) => exchange.whole().await.is_ok(),
            Err(_) => false,
        };
        assert!(!response, "fresh: {fresh}");
    }
    let mut whole = std::pin::pin!(held.whole());
    assert!(timeout(Duration::from_millis(20), &mut whole).await.is_err(), "it was cut");
    server.stop().await;
    assert!(whole.await.is_err());
}

#[tokio::test]
async fn a_long_stream_leaves_nothing_behind() {
    /// Counts, and keeps nothing.
    fn endless(_: &Received) -> Response {
        let event = EventWriter::default().write(&StreamEvent::data("x".repeat(1000)));
        let pieces = (0..100).map(|_| Piece::now(event.repeat(100))).collect();
        Response { content: Content::Chunked { pieces, trailers: vec![] }, ..Response::event_stream() }
    }
    let (listener, address) = listen().await;
    let silent = |us| Exchanges::new(crate::trace::Recorder::new(crate::trace::Clock::start(), vec![]), us);
    let limits = Limits { message: 1000, event: 2000, ..Limits::default() };
    let _server = Server::start(listener, Arc::new(endless), silent(End::Server), limits).expect("it starts");
    let client = Client::new(address, silent(End::Client), limits);
    let mut exchange = client.send(None, &Request::new("GET", "/")).await.expect("it listens");
    let mut events = 0;
    while let Some(incoming) = exchange.recv().await {
        match incoming {
            Incoming::Event(event) => {
                assert_eq!(event.data.map(|data| data.len()), Some(1000));
                events += 1;
            }
            Incoming::Body(body) => assert!(body.bytes.as_bytes().len() <= 16 << 10),
            Incoming::Broken(broken) => panic!("{broken}"),
            _ => {}
        }
    }
    assert_eq!(events, 10_000);
}
