//! tokio-tungstenite, behaving as the programs in this folder do.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};
use wirecert::wire::tcp::Address;

pub struct Server {
    pub address: Address,
    /// One event for each connection that ended.
    pub closed: mpsc::Receiver<Value>,
}

impl Server {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let (tell, closed) = mpsc::channel(16);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, tell.clone()));
            }
        });
        Self { address: Address::new("localhost", port), closed }
    }
}

fn check(request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
    if request.uri().path() == "/refuse" {
        let mut refusal = ErrorResponse::new(Some("not you\n".into()));
        *refusal.status_mut() = StatusCode::FORBIDDEN;
        return Err(refusal);
    }
    if request.headers().get("sec-websocket-protocol").is_some_and(|offered| offered == "chat") {
        response.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("chat"));
    }
    Ok(response)
}

async fn serve(stream: TcpStream, tell: mpsc::Sender<Value>) {
    let Ok(mut socket) = accept_hdr_async(stream, check).await else { return };
    let mut end = json!({"closed": [1006, ""]});
    while let Some(Ok(message)) = socket.next().await {
        match message {
            Message::Close(frame) => end = ended(frame),
            Message::Pong(_) => send(&mut socket, Message::text("ponged")).await,
            Message::Text(text) => answer(&mut socket, text.as_str()).await,
            Message::Binary(data) => send(&mut socket, Message::Binary(data)).await,
            _ => {}
        }
    }
    let _ = tell.send(end).await;
}

async fn answer(socket: &mut WebSocketStream<TcpStream>, text: &str) {
    match text.split(' ').collect::<Vec<_>>()[..] {
        ["fragments"] => {
            for (text, opcode, last) in
                [("one ", Data::Text, false), ("two ", Data::Continue, false), ("three", Data::Continue, true)]
            {
                send(socket, Message::Frame(Frame::message(text, OpCode::Data(opcode), last))).await;
            }
        }
        ["ping"] => send(socket, Message::Ping("marco".into())).await,
        ["close", code, reason] => {
            let code: u16 = code.parse().expect("a test says a code");
            let frame = CloseFrame { code: code.into(), reason: reason.to_owned().into() };
            send(socket, Message::Close(Some(frame))).await;
        }
        _ => send(socket, Message::text(text)).await,
    }
}

/// A connection that is gone shows when it is read.
async fn send<S>(socket: &mut WebSocketStream<S>, message: Message)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let _ = socket.send(message).await;
}

fn ended(frame: Option<CloseFrame>) -> Value {
    match frame {
        Some(frame) => json!({"closed": [u16::from(frame.code), frame.reason.as_str()]}),
        None => json!({"closed": [1005, ""]}),
    }
}

pub struct Client {
    pub orders: mpsc::Sender<Value>,
    pub events: mpsc::Receiver<Value>,
}

impl Client {
    pub fn start(url: String) -> Self {
        let (orders, obey) = mpsc::channel(16);
        let (tell, events) = mpsc::channel(16);
        tokio::spawn(play(url, obey, tell));
        Self { orders, events }
    }
}

async fn play(url: String, mut orders: mpsc::Receiver<Value>, tell: mpsc::Sender<Value>) {
    use tokio_tungstenite::tungstenite::client::IntoClientRequest;
    let mut request = url.into_client_request().expect("a test gives a URL");
    request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("chat"));
    let mut socket = match tokio_tungstenite::connect_async(request).await {
        Ok((socket, response)) => {
            let protocol = response.headers().get("sec-websocket-protocol").and_then(|v| v.to_str().ok());
            let _ = tell.send(json!({ "open": protocol })).await;
            socket
        }
        Err(_) => {
            let _ = tell.send(json!({"refused": true})).await;
            return;
        }
    };
    let mut end = json!({"closed": [1006, ""]});
    loop {
        let event = tokio::select! {
            Some(order) = orders.recv() => {
                for message in messages(&order) {
                    send(&mut socket, message).await;
                }
                continue;
            }
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) if text.len() > 1000 => json!({"big": text.len()}),
                Some(Ok(Message::Text(text))) => json!({"text": text.as_str()}),
                Some(Ok(Message::Pong(data))) => json!({"pong": String::from_utf8_lossy(&data)}),
                Some(Ok(Message::Close(frame))) => {
                    end = ended(frame);
                    continue;
                }
                Some(Ok(_)) => continue,
                Some(Err(Error::Protocol(_) | Error::Utf8(_))) => {
                    end = json!({"closed": [1006, "protocol"]});
                    break;
                }
                Some(Err(_)) | None => break,
            },
        };
        let _ = tell.send(event).await;
    }
    let _ = tell.send(end).await;
}

fn messages(order: &Value) -> Vec<Message> {
    let text = |key: &str| order.get(key).and_then(Value::as_str);
    if let Some(text) = text("send") {
        return vec![Message::text(text)];
    }
    if let Some(data) = text("ping") {
        return vec![Message::Ping(data.to_owned().into())];
    }
    if let Some(size) = order.get("big").and_then(Value::as_u64) {
        return vec![Message::text("x".repeat(usize::try_from(size).expect("a test says a small size")))];
    }
    if let Some(parts) = order.get("parts").and_then(Value::as_array) {
        let part = |(i, part): (usize, &Value)| {
            let opcode = OpCode::Data(if i == 0 { Data::Text } else { Data::Continue });
            let text = part.as_str().unwrap_or_default().to_owned();
            Message::Frame(Frame::message(text, opcode, i + 1 == parts.len()))
        };
        return parts.iter().enumerate().map(part).collect();
    }
    let code = order.pointer("/close/0").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let reason = order.pointer("/close/1").and_then(Value::as_str).unwrap_or_default().to_owned();
    let frame = CloseFrame { code: code.unwrap_or(1000).into(), reason: reason.into() };
    vec![Message::Close(Some(frame))]
}
