//! Plain servers with the answers of wirecert's mocks: hyper for HTTP and event streams, tokio-tungstenite for WebSockets.
//! They keep no rules, check nothing, and record nothing: what a mock takes longer than they do is the price of the mock.

use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, stream};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

const USAGE: &str = "usage: bare KIND [DELTAS [FILE]]

Serves at a free port of 127.0.0.1 until it is killed. The first line on stdout is {\"port\":N}.

KIND  amplifier  REST, event streams and WebSockets: hyper. A prompt is answered with DELTAS events (default 100)
      amp        WebSockets: tokio-tungstenite. Answers `ping`
      openctx    POST with JSON: hyper. Answers every request with the JSON of FILE";

/// How many events may wait for a subscriber.
const WAITING: usize = 4096;
const CREATED: &str = "2026-01-02T03:04:05.678Z";

type Body = BoxBody<Bytes, Infallible>;

struct Server {
    started: Instant,
    deltas: usize,
    /// What every request to a provider is answered with.
    answer: Value,
    sessions: Mutex<HashMap<String, Session>>,
    prompts: AtomicU64,
}

#[derive(Default)]
struct Session {
    subscribers: Vec<mpsc::Sender<Utf8Bytes>>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().map(String::as_str).unwrap_or_default();
    if !["amplifier", "amp", "openctx"].contains(&kind) {
        let asked = matches!(kind, "--help" | "-h");
        println!("{USAGE}");
        std::process::exit(if asked { 0 } else { 2 });
    }
    let server = Arc::new(Server {
        started: Instant::now(),
        deltas: arguments.get(1).map_or(Ok(100), |text| text.parse())?,
        answer: match arguments.get(2) {
            Some(file) => serde_json::from_str(&std::fs::read_to_string(file)?)?,
            None => Value::Null,
        },
        sessions: Mutex::default(),
        prompts: AtomicU64::new(0),
    });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("{}", json!({"port": listener.local_addr()?.port()}));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        match kind {
            "amp" => drop(tokio::spawn(serve_amp(stream))),
            "openctx" => drop(tokio::spawn(serve_http(stream, server.clone(), true))),
            _ => drop(tokio::spawn(serve_http(stream, server.clone(), false))),
        }
    }
}

/// Serves one connection of HTTP.
async fn serve_http(stream: TcpStream, server: Arc<Server>, provider: bool) {
    let service = service_fn(move |request| {
        let server = server.clone();
        async move {
            let response = if provider { provide(&server, request).await } else { amplifier(&server, request).await };
            Ok::<_, Infallible>(response)
        }
    });
    let http = hyper::server::conn::http1::Builder::new();
    let _ = http.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
}

/// Answers a request to a provider: its JSON is read, and the answer is written anew.
async fn provide(server: &Server, request: Request<Incoming>) -> Response<Body> {
    match read_json(request).await {
        Some(asked) if asked["method"].is_string() => respond(StatusCode::OK, &server.answer),
        _ => respond(StatusCode::BAD_REQUEST, &json!({"error": {"code": 400, "message": "no JSON with a method"}})),
    }
}

/// Answers a request to a server with an agent.
async fn amplifier(server: &Arc<Server>, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (request.method(), parts.as_slice()) {
        (&Method::GET, ["health"]) => {
            let health = json!({
                "status": "healthy",
                "version": "0.1.0",
                "uptime_seconds": server.started.elapsed().as_secs(),
                "active_sessions": server.sessions().len(),
            });
            respond(StatusCode::OK, &health)
        }
        (&Method::POST, ["sessions"]) => create(server, request).await,
        (&Method::GET, ["sessions", id]) if server.sessions().contains_key(*id) => respond(
            StatusCode::OK,
            &json!({"session_id": id, "status": "active", "profile": "dev", "created_at": CREATED}),
        ),
        (&Method::DELETE, ["sessions", id]) if server.sessions().remove(*id).is_some() => {
            respond(StatusCode::OK, &json!({"session_id": id, "status": "stopped"}))
        }
        (&Method::POST, ["sessions", id, "prompt"]) => prompt(server, id, request).await,
        (&Method::GET, ["sessions", id, "events"]) => match server.subscribe(id) {
            Some(events) => stream_events(events),
            None => unknown(),
        },
        (&Method::GET, ["sessions", id, "ws"]) => match server.subscribe(id) {
            Some(events) => upgrade(request, events),
            None => unknown(),
        },
        _ => unknown(),
    }
}

impl Server {
    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<String, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new subscription to a session, with its first event in it; nothing where there is no such session.
    fn subscribe(&self, id: &str) -> Option<mpsc::Receiver<Utf8Bytes>> {
        let (sender, receiver) = mpsc::channel(WAITING);
        let mut sessions = self.sessions();
        let session = sessions.get_mut(id)?;
        let data = json!({"session_id": id, "profile": "dev", "timestamp": CREATED});
        let _ = sender.try_send(event("session:start", data));
        session.subscribers.push(sender);
        Some(receiver)
    }

    /// Sends an event to who follows a session.
    async fn tell(&self, subscribers: &[mpsc::Sender<Utf8Bytes>], name: &str, data: Value) {
        let text = event(name, data);
        for subscriber in subscribers {
            let _ = subscriber.send(text.clone()).await;
        }
    }
}

async fn create(server: &Server, request: Request<Incoming>) -> Response<Body> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if !read_json(request).await.is_some_and(|asked| asked["profile"].is_string()) {
        return respond(
            StatusCode::BAD_REQUEST,
            &json!({"error": {"code": "INVALID_REQUEST", "message": "no profile"}}),
        );
    }
    let id = format!("00000000-0000-4000-8000-{:012x}", NEXT.fetch_add(1, Ordering::Relaxed));
    server.sessions().insert(id.clone(), Session::default());
    respond(
        StatusCode::CREATED,
        &json!({"session_id": id, "status": "created", "profile": "dev", "created_at": CREATED}),
    )
}

/// Accepts a prompt, and has the agent answer it.
async fn prompt(server: &Arc<Server>, id: &str, request: Request<Incoming>) -> Response<Body> {
    let Some(subscribers) = server.sessions().get(id).map(|session| session.subscribers.clone()) else {
        return unknown();
    };
    let asked = read_json(request).await.unwrap_or_default();
    let request_id = format!("req-{}", server.prompts.fetch_add(1, Ordering::Relaxed));
    let accepted = json!({"request_id": request_id, "status": "processing", "message": "Prompt submitted, subscribe to events for response"});
    let (server, id) = (server.clone(), id.to_owned());
    tokio::spawn(async move {
        let told = json!({"session_id": id, "request_id": request_id, "prompt": asked["prompt"]});
        server.tell(&subscribers, "prompt:submit", told).await;
        let block = json!({"session_id": id, "block_type": "text", "block_index": 0});
        server.tell(&subscribers, "content_block:start", block).await;
        let mut whole = String::new();
        for _ in 0..server.deltas {
            whole.push_str("word ");
            let delta = json!({"session_id": id, "block_index": 0, "delta": "word "});
            server.tell(&subscribers, "content_block:delta", delta).await;
        }
        let block = json!({"session_id": id, "block_index": 0});
        server.tell(&subscribers, "content_block:end", block).await;
        let usage = json!({"input_tokens": 2, "output_tokens": whole.len() / 4 + 1});
        let done = json!({"session_id": id, "request_id": request_id, "response": whole, "token_usage": usage});
        server.tell(&subscribers, "prompt:complete", done).await;
    });
    respond(StatusCode::ACCEPTED, &accepted)
}

/// Events as an event stream, a chunk each.
fn stream_events(events: mpsc::Receiver<Utf8Bytes>) -> Response<Body> {
    let frames = stream::unfold(events, |mut events| async {
        let text = events.recv().await?;
        let frame = Frame::data(Bytes::from(format!("data: {}\n\n", text.as_str())));
        Some((Ok::<_, Infallible>(frame), events))
    });
    let mut response = Response::new(BodyExt::boxed(StreamBody::new(frames)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// Events over a WebSocket, a message each.
fn upgrade(mut request: Request<Incoming>, mut events: mpsc::Receiver<Utf8Bytes>) -> Response<Body> {
    let key = request.headers().get("sec-websocket-key").map(|key| derive_accept_key(key.as_bytes()));
    let Some(accept) = key.and_then(|key| HeaderValue::from_str(&key).ok()) else {
        return respond(
            StatusCode::BAD_REQUEST,
            &json!({"error": {"code": "INVALID_REQUEST", "message": "no WebSocket"}}),
        );
    };
    tokio::spawn(async move {
        let Ok(upgraded) = hyper::upgrade::on(&mut request).await else { return };
        let (mut out, mut incoming) =
            WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await.split();
        loop {
            tokio::select! {
                text = events.recv() => {
                    let Some(text) = text else { break };
                    if out.send(Message::Text(text)).await.is_err() {
                        break;
                    }
                }
                message = incoming.next() => if !matches!(message, Some(Ok(_))) { break },
            }
        }
    });
    let mut response = Response::new(BodyExt::boxed(Full::new(Bytes::new())));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert("upgrade", HeaderValue::from_static("websocket"));
    headers.insert("connection", HeaderValue::from_static("Upgrade"));
    headers.insert("sec-websocket-accept", accept);
    response
}

/// Serves one connection of AMP: answers `ping`.
async fn serve_amp(stream: TcpStream) {
    let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else { return };
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else { continue };
        let Ok(asked) = serde_json::from_str::<Value>(&text) else { break };
        let request = &asked["clientRequest"];
        let response = json!({"serverResponse": {"id": request["id"], "ping": request["ping"]}});
        if socket.send(Message::Text(response.to_string().into())).await.is_err() {
            break;
        }
    }
}

async fn read_json(request: Request<Incoming>) -> Option<Value> {
    let bytes = request.into_body().collect().await.ok()?.to_bytes();
    serde_json::from_slice(&bytes).ok()
}

fn event(name: &str, data: Value) -> Utf8Bytes {
    json!({"event": name, "data": data}).to_string().into()
}

fn unknown() -> Response<Body> {
    respond(StatusCode::NOT_FOUND, &json!({"error": {"code": "NOT_FOUND", "message": "there is no such thing"}}))
}

fn respond(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(BodyExt::boxed(Full::new(Bytes::from(body.to_string()))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
