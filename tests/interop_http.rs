//! Our HTTP client and server against the stacks of node and python, and the package `eventsource`.
//! `tests/interop/setup` installs what does not come with them.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use wirecert::trace::{Clock, End, Recorder, StreamEvent};
use wirecert::wire::http::{
    BYTE_ORDER_MARK, Broken, Client, Content, EventWriter, Exchanges, Handler, Limits, LineEnd, Piece, Received,
    Request, Responder, Response, Server, Whole,
};
use wirecert::wire::tcp::Address;

/// A bound that only a hang reaches.
const LONG: Duration = Duration::from_secs(60);

fn program(name: &str, arg: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let installed = root.join("target/interop");
    assert!(installed.join("installed").exists(), "what we talk to is not installed: run tests/interop/setup");
    let mut command = Command::new(if name.ends_with(".py") { "python3" } else { "node" });
    command.arg(root.join("tests/interop").join(name)).arg(arg).env("INTEROP", installed);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

fn exchanges(us: End) -> Exchanges {
    Exchanges::new(Recorder::new(Clock::start(), vec![]), us)
}

/// A server of theirs, killed when dropped, and our client for it.
async fn theirs(name: &str, arg: &str) -> (Child, Client) {
    let mut child = program(name, arg).spawn().expect("the interpreter can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let line = timeout(LONG, lines.next_line()).await.expect("it starts").expect("text").expect("a line");
    let address = Address::new("127.0.0.1", line.parse().expect("it prints its port"));
    (child, Client::new(address, exchanges(End::Client), Limits::default()))
}

async fn ask(client: &Client, request: Request) -> Result<Whole, Broken> {
    let exchange = client.send(None, &request).await.expect("it listens");
    timeout(LONG, exchange.whole()).await.expect("it ends")
}

async fn get(client: &Client, path: &str) -> Whole {
    ask(client, Request::new("GET", path)).await.expect("a whole response")
}

#[tokio::test]
async fn our_client_understands_a_node_server() {
    let (_child, client) = theirs("http_server.mjs", "").await;
    let first = client.send(None, &Request::new("GET", "/")).await.expect("it listens");
    let tcp = first.control.tcp();
    assert_eq!(first.whole().await.expect("whole").head.status(), Some(204));
    let pieces = || vec![Piece::now("[1,"), Piece::after(Duration::from_millis(5), "2]")];
    for (content, was) in [
        (Content::Whole(b"[1,2]".to_vec()), "length"),
        (Content::Chunked { pieces: pieces(), trailers: vec![("X-A".into(), "b".into())] }, "chunked"),
    ] {
        let exchange = client.send(None, &Request::new("POST", "/echo").content(content)).await.expect("it listens");
        assert_eq!(exchange.control.tcp(), tcp, "the connection is kept");
        let whole = exchange.whole().await.expect("whole");
        assert_eq!(whole.message.and_then(|m| m.json), Some(json!([1, 2])));
        assert_eq!(whole.head.header("x-was").collect::<Vec<_>>(), [was]);
    }
    let chunked = get(&client, "/chunked").await;
    assert_eq!((&chunked.body[..], chunked.trailers), (&b"abcd"[..], vec![("X-Sum".into(), "1".into())]));
    let gzip = get(&client, "/gzip").await;
    assert_eq!(gzip.message.and_then(|m| m.json), Some(json!({"long": "x".repeat(100_000)})));
    let early = get(&client, "/early").await;
    assert_eq!((early.interim[0].status(), &early.body[..]), (Some(103), &b"late"[..]));
    let expecting = Request::new("POST", "/echo").header("Expect", "100-continue").json(&json!(1));
    assert_eq!(ask(&client, expecting).await.expect("whole").interim[0].status(), Some(100));
    let cut = ask(&client, Request::new("GET", "/cut")).await;
    assert!(matches!(cut, Err(Broken::Closed { reused: false, .. })), "{cut:?}");
    let nonsense =
        Request { raw: Some(b"GET / HTTP/1.1\r\nHost: x\r\nNo colon\r\n\r\n".to_vec()), ..Request::new("", "") };
    assert_eq!(ask(&client, nonsense).await.expect("a refusal").head.status(), Some(400));
    let events = get(&client, "/events").await.events;
    let none = StreamEvent::default;
    assert_eq!(
        events,
        [
            StreamEvent { retry: Some(10), ..none() },
            StreamEvent { comment: Some(" hello".into()), ..none() },
            StreamEvent { id: Some("1".into()), ..StreamEvent::data("a\nü") },
            StreamEvent { event: Some("other".into()), ..StreamEvent::data("b") },
        ]
    );
}

#[tokio::test]
async fn our_client_understands_a_python_server_of_either_version() {
    for version in ["HTTP/1.0", "HTTP/1.1"] {
        let (_child, client) = theirs("http_server.py", version).await;
        assert_eq!(get(&client, "/").await.body, b"as long as the connection", "{version}");
        let head = ask(&client, Request::new("HEAD", "/")).await.expect("whole");
        assert_eq!((head.body.len(), head.head.header("content-length").next()), (0, Some("12")), "{version}");
        for n in 0..3 {
            let whole = ask(&client, Request::new("POST", "/").json(&json!(n))).await.expect("whole");
            assert_eq!(whole.message.and_then(|m| m.json), Some(json!(n)), "{version}");
        }
    }
}

/// Our server.
struct Ours;

impl Handler for Ours {
    async fn handle(&self, request: Received, answer: Responder) {
        let ok = Response::new("200 OK");
        let response = match request.head.path() {
            "/echo" => ok.json(&request.message.and_then(|m| m.json).unwrap_or_default()),
            "/chunked" => ok.header("Trailer", "X-Sum").content(Content::Chunked {
                pieces: vec![Piece::now("ab"), Piece::after(Duration::from_millis(5), "cd")],
                trailers: vec![("X-Sum".into(), "1".into())],
            }),
            "/until-close" => ok.header("Connection", "close").content(Content::Raw(vec![Piece::now("abcd")])),
            "/too-short" => ok.header("Content-Length", "9").text("abcd"),
            "/bad-chunk" => {
                ok.header("Transfer-Encoding", "chunked").content(Content::Raw(vec![Piece::now("2\r\nabXX")]))
            }
            "/gzip" => {
                use std::io::Write as _;
                let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::default());
                encoder.write_all(b"{\"z\":1}").expect("memory takes it");
                ok.header("Content-Encoding", "gzip")
                    .content(Content::Whole(encoder.finish().expect("memory takes it")))
            }
            "/events" => {
                let mut stream = answer.start(&Response::event_stream()).await.expect("sent");
                stream.write(BYTE_ORDER_MARK, None).await.expect("sent");
                for (n, line_end) in [LineEnd::Lf, LineEnd::Cr, LineEnd::CrLf].into_iter().enumerate() {
                    let event = StreamEvent { id: Some(n.to_string()), ..StreamEvent::data("zwei\nZeilen 𝄞") };
                    let bytes = EventWriter { line_end, space: n != 1 }.write(&event);
                    // Every byte by itself: within lines, line ends and characters.
                    for byte in bytes {
                        stream.write(&[byte], None).await.expect("sent");
                    }
                }
                let comment = StreamEvent { comment: Some(" nothing".into()), ..StreamEvent::default() };
                stream.event(&comment).await.expect("sent");
                let other = StreamEvent { event: Some("other".into()), ..StreamEvent::data("the end") };
                stream.event(&other).await.expect("sent");
                stream.gone().await;
                return;
            }
            "/reset" => return answer.reset(None),
            "/close" => return answer.close(None),
            _ => Response::new("404 Not Found"),
        };
        // Fails where the client is gone on purpose.
        let _ = answer.send(&response).await;
    }
}

/// What their client says that it got from our server.
async fn reported(name: &str) -> Value {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("there is a free port");
    let server = Server::start(listener, Arc::new(Ours), exchanges(End::Server), Limits::default());
    let server = server.expect("it starts");
    let url = format!("http://{}", server.address());
    let output = timeout(LONG, program(name, &url).output()).await.expect("it ends").expect("it runs");
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}

#[tokio::test]
async fn clients_of_node_understand_our_server() {
    let reported = reported("http_client.mjs").await;
    let answer = |body: &str, reused: bool| json!({"status": 200, "body": body, "trailers": {}, "reused": reused});
    assert_eq!(reported["length"], answer("[1]", false));
    assert_eq!(reported["chunked"], answer("[2]", true));
    assert_eq!(reported["expect"], answer("[3]", true));
    assert_eq!(
        reported["trailers"],
        json!({"status": 200, "body": "abcd", "trailers": {"x-sum": "1"}, "reused": true})
    );
    assert_eq!(reported["head"], answer("", true));
    assert_eq!(reported["short"], json!({"status": 200, "broken": "ECONNRESET"}));
    assert_eq!(reported["reset"], json!({"failed": "ECONNRESET"}));
    assert!(reported["chunk"]["broken"].is_string() || reported["chunk"]["failed"].is_string(), "{reported}");
    assert_eq!(reported["fetch"], json!({"status": 200, "json": {"ü": "𝄞"}}));
    assert_eq!(reported["gzip"], json!({"z": 1}));
    // It gives an event its own id only, where the standard wants the last one.
    let data = "zwei\nZeilen 𝄞";
    let events =
        json!([["message", data, "0"], ["message", data, "1"], ["message", data, "2"], ["other", "the end", ""]]);
    assert_eq!(reported["events"], events);
}

#[tokio::test]
async fn clients_of_python_understand_our_server() {
    let reported = reported("http_client.py").await;
    let expected = json!({
        "length": [200, "[1]"],
        "chunked": [200, "[2]"],
        "head": [200, ""],
        "pieces": "abcd",
        "short": "IncompleteRead",
        "reset": "ConnectionResetError",
        "chunk": "IncompleteRead",
        "cut": "RemoteDisconnected",
        "urllib": [200, "abcd"],
    });
    assert_eq!(reported, expected);
}
