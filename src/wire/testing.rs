//! Helpers of the tests of [`wire`](crate::wire): a trace in memory, and a pair of connected sockets.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::TcpListener;

use crate::trace::{Clock, End, Event, EventKind, Recorder, Sink};

use super::http::Exchanges;
use super::tcp::Address;
use super::websocket::{ClientRequest, HandshakeOutcome, Reply, Socket, accept, connect};
use super::{Limits, Tap};

/// A trace in memory. Clones share it.
#[derive(Clone, Default)]
pub struct MemoryTrace(Arc<Mutex<Vec<Event>>>);

impl Sink for MemoryTrace {
    fn event(&mut self, event: &Arc<Event>) {
        self.0.lock().push(Event::clone(event));
    }
}

impl MemoryTrace {
    /// A tap that records into this trace, for a connection of the name `main`.
    pub fn tap(&self, us: End) -> Tap {
        Tap::new(Recorder::new(Clock::start(), vec![Box::new(self.clone())]), "main", us)
    }

    /// Exchanges that are recorded into this trace.
    pub fn exchanges(&self, us: End) -> Exchanges {
        Exchanges::new(Recorder::new(Clock::start(), vec![Box::new(self.clone())]), us)
    }

    /// One text for each event of one connection, as [`MemoryTrace::words`].
    pub fn words_of(&self, conn: &str) -> Vec<String> {
        self.events().iter().filter(|event| event.conn.as_deref() == Some(conn)).map(word).collect()
    }

    /// The recorded events.
    pub fn events(&self) -> Vec<Event> {
        self.0.lock().clone()
    }

    /// One text for each event, with an arrow for its direction, and a `!` if it is deliberate.
    pub fn words(&self) -> Vec<String> {
        self.events().iter().map(word).collect()
    }
}

fn word(event: &Event) -> String {
    let what = match &event.kind {
        EventKind::Connected { .. } => "connected".into(),
        EventKind::Handshake(head) => head.start.clone(),
        EventKind::Frame(frame) => {
            let fin = if frame.fin { "" } else { "…" };
            format!("frame {} {}{fin}", frame.opcode, show(frame.payload.as_bytes()))
        }
        EventKind::Message(message) => match (&message.json, &message.payload) {
            (Some(json), _) => format!("json {json}"),
            (_, payload) => format!("message {}", show(payload.as_ref().map_or(b"", |p| p.as_bytes()))),
        },
        EventKind::HttpRequest(head) => head.start.clone(),
        EventKind::HttpResponse(head) => head.start.clone(),
        EventKind::Body(body) => format!("body {}{}", show(body.bytes.as_bytes()), if body.last { "." } else { "…" }),
        EventKind::StreamEvent(event) => {
            format!("event {} {}", event.event_type(), event.data.as_deref().unwrap_or("without data"))
        }
        EventKind::Bytes { bytes } => format!("bytes {}", show(bytes.as_bytes())),
        EventKind::Closed(how) => format!("{how:?}"),
        other => format!("{other:?}"),
    };
    let arrow = match event.dir {
        Some(crate::trace::Direction::ToServer) => "→ ",
        Some(crate::trace::Direction::ToClient) => "← ",
        None => "",
    };
    format!("{arrow}{}{what}", if event.deliberate.is_some() { "!" } else { "" })
}

fn show(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// A client and a server of ours, connected to each other.
pub struct Pair {
    /// The client's end.
    pub client: Socket,
    /// What the client recorded.
    pub client_trace: MemoryTrace,
    /// The server's end.
    pub server: Socket,
    /// What the server recorded.
    pub server_trace: MemoryTrace,
}

/// Bounds that make a hanging test fail soon.
pub fn limits() -> Limits {
    Limits { handshake: std::time::Duration::from_secs(5), ..Limits::default() }
}

/// A client connected to a server that accepts it.
pub async fn pair(limits: &Limits) -> Pair {
    let (client_trace, server_trace) = (MemoryTrace::default(), MemoryTrace::default());
    let (listener, address) = listen().await;
    let serving = async {
        let (stream, _) = listener.accept().await.expect("the listener works");
        let request = accept(stream, server_trace.tap(End::Server), limits).await.expect("a request comes");
        let reply = Reply::accepting(&request);
        request.reply(&reply).await.expect("the reply is sent")
    };
    let request = ClientRequest::new("/");
    let connecting = connect(&address, &request, client_trace.tap(End::Client), limits);
    let (server, opened) = tokio::join!(serving, connecting);
    let HandshakeOutcome { accepted, socket, why_not, .. } = opened.expect("the server is there");
    assert!(accepted, "{why_not:?}");
    Pair { client: socket, client_trace, server, server_trace }
}

/// A listener on a free port, and how to reach it.
pub async fn listen() -> (TcpListener, Address) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("there is a free port");
    let port = listener.local_addr().expect("a bound socket has an address").port();
    (listener, Address::new("127.0.0.1", port))
}
